"""Kernels run on small cores: at most 1 KiB of stack in any function, and a bound on a kernel with all it calls."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from frames import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = sorted(p.parent.name for p in (ROOT / "kernels").glob("*/portable.c"))
# One element at a time, a handful of scalars: one compiler is enough.
ELEMENTWISE = {"binary", "cast", "clamp", "compare", "copy", "gather", "one_hot", "pad", "scan", "scatter", "strided",
               "trilu", "unary", "where"}
LIMIT = 1024
TILED = [f for f in FAMILIES if f not in ELEMENTWISE]
VECTORS = ["attention", "conv", "gemm", "qconv", "qgemm", "rnn"]  # tiles of vector registers
# `make test` takes a sample: every folder with gcc -O2, those with tiles also with -Os (one compiler after the other) and with the
# vectors of 512 bits, which make the largest frames. `make soak` takes the rest.
CASES = [("gcc", f, "-O2") for f in FAMILIES]
CASES += [(("gcc", "clang")[i % 2], f, "-Os") for i, f in enumerate(TILED) if f != "reduce"]  # which takes a tenth of all the time
CASES += [("clang", f, "-O2 @znver4") for f in [*TILED, "strided", "unary"]]
CASES += [("gcc", f, "-O3 @haswell") for f in ("conv", "gemm", "rnn")] + [("gcc", f, "-O3 @znver4") for f in ("qconv", "qrnn")]
CASES += [("clang", f, "-O2 @aarch64") for f in ("conv", "qconv", "rnn")]  # Arm has other registers
CASES += [("clang", f, "-Os @cortex-m4") for f in (*VECTORS, "qrnn")]
EVERY = [(c, f, o) for f in TILED for c, o in (("gcc", "-Os"), ("clang", "-O2"), ("clang", "-Os"))]
EVERY += [("gcc", f, "-O3 @haswell") for f in VECTORS] + [("clang", "binary", "-O2 @znver4"), ("gcc", "reduce", "-O3 @znver4")]
EVERY += [("clang", f, "-O3 @skylake-avx512") for f in ("qconv", "rnn")] + [("clang", f, "-O2 @aarch64") for f in VECTORS]
EVERY += [("clang", "reduce", "-Os @cortex-m4")]


def with_the_rest(cases, every):
    """The cases, and those that are only among all of them, for `make soak`."""
    return [*cases, *(pytest.param(*case, marks=pytest.mark.soak) for case in every if case not in cases)]


MACHINES = {"avx2": "-mavx2 -mfma -DQK_TARGET_AVX2=1",
            "avx512vnni": "-mavx2 -mfma " + " ".join(f"-mavx512{x}" for x in ("f", "bw", "vl", "dq", "vnni")) + " -DQK_TARGET_AVX512VNNI=1",
            "neon_dotprod": "-march=armv8.2-a+dotprod -DQK_TARGET_NEON_DOTPROD=1"}
LARGE = ("@znver4", "@skylake-avx512", "@aarch64")  # no small cores: only the sum of all frames is bounded


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    out = tmp_path_factory.mktemp("tables") / "kernels"  # headers that the build makes of signatures are included from there
    out.mkdir()
    subprocess.run([sys.executable, ROOT / "cmake/kernel_tables.py", out, ROOT], check=True)
    return out


def declared(table, machine=""):
    """Bytes of stack the table of a folder says its portable bodies take, or those for a machine."""
    rows = re.findall(r'{"(\w+)", .*, "(\w*)", (\d+), (?:run_\w+|NULL), ', table)
    return {name: int(size) for name, own, size in rows if own == machine}


@pytest.mark.parametrize("compiler, family, options", with_the_rest(CASES, EVERY))
def test_stack_of_each_kernel(tables, tmp_path, compiler, family, options):
    if compiler == "clang" and not shutil.which("clang"):
        pytest.skip("clang is not installed")
    assert shutil.which(compiler), f"{compiler} reports stack usage"
    table = tables / f"{family}_table.c"
    frames, chains = measure(compiler, options, table, tmp_path, [ROOT, tables.parent])
    for name, size in frames.items():
        assert size <= LIMIT or options.endswith(LARGE), f"{name}: {size} bytes"
    bounds = declared(table.read_text())
    assert bounds
    over = {name: (chains[f"run_{name}"], bound) for name, bound in bounds.items() if chains[f"run_{name}"] > bound}
    assert not over, "kernels with all they call, in bytes, and what they may take"


EVERY_MACHINE = [(compiler, f"{options} {MACHINES[machine]}", folder, machine)
                 for compiler, options in (("gcc", "-O2"), ("clang", "-O2"), ("gcc", "-O3"), ("clang", "-Os"))
                 for folder in ("qgemm", "qconv") for machine in ("avx512vnni", "avx2")]
# `make test` takes half: each folder with each machine by both compilers, at one level each.
MACHINE_CASES = [case for i, case in enumerate(EVERY_MACHINE) if i % 4 in ((0, 3) if i // 4 in (0, 3) else (1, 2))]
MACHINE_CASES += [("clang", f"{options} {MACHINES['neon_dotprod']} @aarch64", "qgemm", "neon_dotprod") for options in ("-O2", "-Os")]


@pytest.mark.parametrize("compiler, options, folder, machine", with_the_rest(MACHINE_CASES, EVERY_MACHINE))
def test_stack_of_bodies_for_machines(tables, tmp_path, compiler, options, folder, machine):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    bounds = declared((tables / f"{folder}_table.c").read_text(), machine)
    assert bounds
    _, chains = measure(compiler, options, tables / f"{folder}_{machine}_table.c", tmp_path, [ROOT, tables.parent])
    over = {name: (chains[f"run_{name}"], bound) for name, bound in bounds.items() if chains[f"run_{name}"] > bound}
    assert not over, "bodies with all they call, in bytes, and what they may take"
