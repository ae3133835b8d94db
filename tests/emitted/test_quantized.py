"""The integer C of the digits network: warnings, sanitizers, sizes, flags that must not change a bit."""
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.frames import ARM_SETS, STACK_OPTIONS, measure, pairwise
from tests.emitted.test_emitted import ALLOWED, STRICT, sh
from tests.support.processor import can_run


@pytest.fixture(scope="module")
def folder(quantc, root, models, tmp_path_factory) -> Path:
    """Rules calibrated on a hundred images, the float project and the integer project with recorded vectors."""
    made = tmp_path_factory.mktemp("quantized")
    with np.load(root / "examples" / "digits" / "test.npz") as data:
        np.savez(made / "samples.npz", in_0=data["images"][:100])
    model, vectors = models / "digits.pt2", models / "digits.npz"
    quantc("calibrate", model, "--data", made / "samples.npz", "-o", made / "rules.toml", "--per-channel")
    quantc("compile", model, "-o", made / "float", "--name", "net")
    for name, flags in {"int8": [], "dynamic": ["--rules", made / "dynamic.toml"], "q31": ["--arithmetic", "exact,rescale=q31"]}.items():
        (made / "dynamic.toml").write_text("[[rule]]\nkind = 'dynamic'\npattern = '.*'\ndtype = 'int8'\nskip_unsupported = true\n")
        rules = [] if "--rules" in flags else ["--rules", made / "rules.toml"]
        quantc("compile", model, *rules, *flags, "-o", made / name, "--name", "net", "--vectors", vectors)
    return made


def number(out: Path, name: str) -> int:
    return int(re.search(rf"#define NET_{name} *\(?(\d+)", (out / "net.h").read_text())[1])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", ["int8", "dynamic", "q31"])
def test_clean_under_strict_warnings(folder, name, compiler, tmp_path):
    level = "-O2" if name == "int8" else "-O1"
    sh(compiler, *STRICT.split(), level, "-c", folder / name / "net.c", "-o", tmp_path / "net.o")


SANITIZED = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
FLAGS = ["-O0", "-O3 -march=haswell", "-O3 -march=skylake-avx512 -ffp-contract=fast", "-Os", SANITIZED]
BUILDS = [("int8", compiler, flags) for compiler in ("gcc", "clang") for flags in FLAGS]
BUILDS += [(name, "gcc", SANITIZED) for name in ("dynamic", "q31")] + [(name, "clang", FLAGS[2]) for name in ("dynamic", "q31")]


# arithmetic.md: G3
@pytest.mark.parametrize("name, compiler, flags", BUILDS)
def test_no_flag_changes_a_bit(folder, name, compiler, flags, tmp_path):
    out = folder / name
    program = tmp_path / name
    sh(compiler, "-std=c11", *flags.split(), f"-I{out}", out / "net.c", out / "net_weights.c", out / "net_test.c", "-lm", "-o", program)
    assert not can_run(flags) or "bits equal" in sh(program)


def test_arena_and_weights_shrink(folder):
    assert number(folder / "int8", "ARENA_BYTES") <= 0.3 * number(folder / "float", "ARENA_BYTES")
    parameters = 16 * 9 + 32 * 16 * 9 + 32 * 32 * 9 + 10 * 128
    biases = 4 * (16 + 32 + 32 + 10)
    assert number(folder / "int8", "WEIGHT_BYTES") <= 1.02 * parameters + 4 * biases + 16 * 64  # alignment of small arrays


@pytest.mark.parametrize("name, compiler, options", pairwise(["int8", "dynamic", "q31"], ["gcc", "clang"], STACK_OPTIONS))
def test_stack_stays_within_the_stated_bound(folder, name, compiler, options, tmp_path):
    if options.endswith(ARM_SETS):
        compiler = "clang"  # which compiles for Arm
    _, chains = measure(compiler, options, folder / name / "net.c", tmp_path)
    assert chains["net_invoke"] + 256 <= number(folder / name, "STACK_BYTES")


def test_stack_of_kernels_and_no_variable_arrays(folder, tmp_path):
    for name in ("int8", "dynamic", "q31"):
        sh("gcc", "-std=c11", "-O2", "-fstack-usage", "-c", folder / name / "net.c", "-o", tmp_path / "net.o")
        for line in (tmp_path / "net.su").read_text().splitlines():
            function, size, kind = line.split("\t")
            assert int(size) <= 1024, f"{name}: {function} takes {size} bytes of stack"
            assert kind in ("static", "dynamic,bounded"), f"{name}: {function} has a stack of unknown size"


# arithmetic.md: G2
def test_needs_only_exact_functions_of_c(folder, tmp_path):
    sh("gcc", "-std=c11", "-O2", "-c", folder / "int8" / "net.c", "-o", tmp_path / "net.o")
    wanted = {line.split()[-1] for line in subprocess.run(["nm", "-u", tmp_path / "net.o"], capture_output=True, text=True).stdout.splitlines()}
    assert {w for w in wanted if not w.startswith("net_")} <= ALLOWED | {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
