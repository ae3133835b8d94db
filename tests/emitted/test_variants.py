"""Vector variants of kernels: each kernel folder's own test, built with plain -O2 for every instruction set."""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# All shapes with one compiler, some with the other: they share the source. qemu is slow.
CASES = [
    ("gcc", "qgemm", "AVX512VNNI", ["2000", "1"]),
    ("gcc", "qgemm", "AVX2", ["2000", "1"]),
    ("clang", "qgemm", "AVX512VNNI", ["200", "20"]),
    ("clang", "qgemm", "AVX2", ["200", "20"]),
    ("gcc", "qconv", "AVX512VNNI", ["1000"]),
    ("gcc", "qconv", "AVX2", ["1000"]),
    ("clang", "qconv", "AVX512VNNI", ["300"]),
    ("clang", "qconv", "AVX2", ["300"]),
    ("aarch64-linux-gnu-gcc", "qgemm", "NEON_DOTPROD", ["30", "200"]),
    ("clang --target=aarch64-linux-gnu", "qgemm", "NEON_DOTPROD", ["30", "200"]),
]


def build(compiler, source, target, out, *more):
    flags = ["-std=gnu11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", f"-DQK_TARGET_{target}", f"-I{ROOT}"]
    static = ["-static"] if target.startswith("NEON") else []
    command = [*compiler.split(), *flags, *static, *more, str(ROOT / source), "-o", str(out), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler, kernel, target, shapes", CASES)
def test_variant_has_the_bits_of_plain_loops(tmp_path, compiler, kernel, target, shapes):
    """Where the machine lacks the instructions, the program says so and only what is packed is checked."""
    needed = [compiler.split()[0]] + (["aarch64-linux-gnu-gcc"] if target.startswith("NEON") else [])
    for tool in needed:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    build(compiler, f"kernels/{kernel}/test.c", target, tmp_path / "test")
    run = [str(tmp_path / "test"), *shapes]
    if target.startswith("NEON"):
        if not shutil.which("qemu-aarch64"):
            print("compiled only: qemu-aarch64 is not installed")
            return
        run = ["qemu-aarch64", "-cpu", "max", *run]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kernel, target", [("qgemm", "AVX512VNNI"), ("qgemm", "AVX2"), ("qconv", "AVX512VNNI"),
                                            ("qconv", "AVX2")])
def test_benchmark_is_right_c(tmp_path, kernel, target):
    build("gcc", f"kernels/{kernel}/bench.c", target, tmp_path / "bench", "-fsyntax-only")
