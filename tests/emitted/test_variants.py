"""Each kernel folder's own test, built with plain -O2 for the instruction sets it names, and its benchmark."""
import pathlib
import re
import shutil
import subprocess

import pytest
from tests.conftest import BUILD

ROOT = pathlib.Path(__file__).resolve().parents[2]
# How a test is run that does not say so itself in lines `run COMPILER TARGET ARGUMENT...`; lines that begin with `soak`
# are for `make soak`.
RUNS = [("gcc", "PORTABLE", []), ("gcc", "AVX2", []), ("clang", "AVX512VNNI", [])]


def folders(name):
    return sorted(p.parent.name for p in ROOT.glob(f"kernels/*/{name}"))


def cases():
    """(folder, compiler, target, arguments) of every test.c of a kernel folder."""
    for folder in folders("test.c"):
        text = (ROOT / "kernels" / folder / "test.c").read_text()
        lines = [line.split() for line in re.findall(r"^ \* ((?:run|soak) .*)$", text, re.M)]
        for when, compiler, target, arguments in [(*line[:3], line[3:]) for line in lines] or [("run", *run) for run in RUNS]:
            yield pytest.param(folder, compiler, target, arguments, id=f"{folder}-{target}-{compiler}",
                               marks=[pytest.mark.soak] if when == "soak" else [])


def build(compiler, source, target, out, *more):
    flags = ["-std=gnu11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", f"-DQK_TARGET_{target}", f"-I{ROOT}", f"-I{BUILD}/generated"]
    static = ["-static"] if target.startswith("NEON") else []
    if compiler == "clang" and static:
        static.append("--target=aarch64-linux-gnu")
    command = [compiler, *flags, *static, *more, str(ROOT / source), "-o", str(out), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder, compiler, target, arguments", list(cases()))
def test_bodies_have_the_bits_of_plain_loops(tmp_path, folder, compiler, target, arguments):
    """Where the machine lacks the instructions, the program says so and only what is packed is checked."""
    needed = [compiler] + (["aarch64-linux-gnu-gcc"] if target.startswith("NEON") else [])
    for tool in needed:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    build(compiler, f"kernels/{folder}/test.c", target, tmp_path / "test")
    run = [str(tmp_path / "test"), *arguments]
    if target.startswith("NEON"):
        if not shutil.which("qemu-aarch64"):
            print("compiled only: qemu-aarch64 is not installed")
            return
        run = ["qemu-aarch64", "-cpu", "max", *run]
    done = subprocess.run(run, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("folder", folders("bench.c"))
@pytest.mark.parametrize("target", ["AVX512VNNI", "AVX2"])
def test_benchmark_is_right_c(tmp_path, folder, target):
    build("gcc", f"kernels/{folder}/bench.c", target, tmp_path / "bench", "-fsyntax-only")


VECTORS = re.compile(r"\bqk_(?:v16|sums|acc)_\w+\(|\b_mm(?:256|512)_\w+\(|\bv(?:dot|mla)q_\w+\(")


def test_folders_with_vector_bodies_have_a_test_and_a_benchmark():
    """Bodies that are written for vectors by hand; loops that compilers may turn into them have tests where they do real work."""
    bodies = {f for f in folders("kernels.sig") for p in (ROOT / "kernels" / f).iterdir()
              if p.suffix in (".c", ".h", ".inc") and p.stem not in ("test", "bench") and VECTORS.search(p.read_text())} - set(ELSEWHERE)
    assert bodies >= {"conv", "gemm", "pool", "qattention", "qconv", "qgemm", "qrnn", "rnn", "wconv"}
    assert bodies <= set(folders("test.c")) and bodies <= set(folders("bench.c")), (bodies - set(folders("test.c")), bodies - set(folders("bench.c")))


# Folders in which a network of `make bench` spends over 2 % of its time (quantc bench --per-layer, x86-avx512vnni).
HOT = {"activation", "attention", "binary", "clamp", "conv", "gather", "gemm", "norm", "pool", "qattention", "qbinary", "qconv", "qgemm", "qpool",
       "qrnn", "quantize", "reduce", "resize", "rnn", "rotary", "softmax", "strided", "unary", "wconv"}


def test_where_networks_spend_time_is_a_benchmark():
    assert sorted(HOT - set(folders("bench.c"))) == []


# What covers folders that hold no kernel that is called alone: tiles and headers of other kernels. Stages of epilogues are no code.
ELSEWHERE = {"common": "kernels/gather/test.c", "numerics": "tests/unit/numerics_test.cpp", "qtile": "kernels/qgemm/test.c",
             "epilogue": "tests/programs/fuse_epilogues/stages.expected.txt"}


def reached(file):
    """Headers of kernels that a file includes, with those that they include."""
    found, todo = set(), [file]
    while todo:
        at = ROOT / todo.pop()
        names = set(re.findall(r'#include "(kernels/[^"]+)"', at.read_text())) - found if at.exists() else set()
        found |= names
        todo += names
    return found


def test_every_kernel_folder_has_a_test():
    every = {p.name for p in (ROOT / "kernels").iterdir() if p.is_dir()}
    assert len(every) >= 44 and set(ELSEWHERE) <= every
    assert sorted(every - set(ELSEWHERE) - set(folders("test.c"))) == []
    for folder, test in ELSEWHERE.items():
        if folder == "epilogue":
            stages = re.findall(r"^stage (\w+)", (ROOT / "kernels/epilogue/kernels.sig").read_text(), re.M)
            assert any(f"| {stage}(" in (ROOT / test).read_text() for stage in stages)
        else:
            assert any(name.startswith(f"kernels/{folder}/") for name in reached(test)), f"{test} reaches nothing of kernels/{folder}"
