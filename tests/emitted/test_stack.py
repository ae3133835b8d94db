"""Kernels run on small cores: at most 1 KiB of stack in any function, and a bound on a kernel with all it calls."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from frames import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = sorted(p.parent.name for p in (ROOT / "kernels/c").glob("*/kernels.inc"))
# One element at a time, a handful of scalars: one compiler is enough.
ELEMENTWISE = {"binary", "cast", "clamp", "compare", "copy", "gather", "one_hot", "pad", "scan", "scatter", "strided",
               "trilu", "unary", "where"}
LIMIT = 1024
TILED = [f for f in FAMILIES if f not in ELEMENTWISE]
CASES = [("gcc", f, "-O2") for f in FAMILIES]
CASES += [(c, f, o) for c, o in (("gcc", "-Os"), ("clang", "-O2"), ("clang", "-Os")) for f in TILED]
VECTORS = "-O3 -mavx2 -mfma"  # tiles of vector registers
CASES += [("gcc", f, VECTORS) for f in ("attention", "conv", "gemm", "qconv", "qgemm", "rnn")]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    out = tmp_path_factory.mktemp("tables")
    subprocess.run([sys.executable, ROOT / "cmake/kernel_tables.py", ROOT, out], check=True)
    return out


def declared(family):
    line = re.match(r"QK_STACK\((\d+)\)", (ROOT / f"kernels/c/{family}/kernels.inc").read_text())
    return int(line[1]) if line else LIMIT


@pytest.mark.parametrize("compiler, family, options", CASES)
def test_stack_of_each_kernel(tables, tmp_path, compiler, family, options):
    if compiler == "clang" and not shutil.which("clang"):
        pytest.skip("clang is not installed")
    assert shutil.which(compiler), f"{compiler} reports stack usage"
    frames, chains = measure(compiler, options, tables / f"{family}_table.c", tmp_path, [ROOT])
    for name, size in frames.items():
        assert size <= LIMIT, f"{name}: {size} bytes"
    kernels = {name: size for name, size in chains.items() if name.startswith("run_")}
    assert kernels
    for name, size in kernels.items():
        assert size <= declared(family), f"{name} with all it calls: {size} bytes"
