"""Many more random graphs than `make test` runs, from other seeds.

The kernels of every build of the matrix run all graphs in process: the tests are linked once more with kernels that the
compiler and flags in question made. Whole generated programs, whose compilation takes most of the time, run once for all
graphs and for some of them in every build.
"""
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.processor import can_run

QUANTIZED, FLOAT, COMBINED = 5000, 3000, 2000
SANITIZED = "-O1 -fsanitize=undefined -fno-sanitize-recover=all"
BUILDS = [f"{compiler} {flags}" for compiler in ("gcc", "clang")
          for flags in ("-O0", "-O3 -march=haswell", "-O3 -march=skylake-avx512 -ffp-contract=fast", SANITIZED)
          if can_run(flags)]


def run(program, root, test, **settings):
    done = subprocess.run([program, f"--gtest_filter={test}"], cwd=root, env={**os.environ, **settings},
                          capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.fixture(scope="module", params=BUILDS)
def tests_of_build(request, build, root, tmp_path_factory):
    """quantized_test and random_test with kernels of another build."""
    folder = tmp_path_factory.mktemp("kernels")
    compiler, *flags = request.param.split()
    sources = sorted((build / "generated" / "kernels").glob("*_table.c"))
    objects = [folder / f"{source.stem}.o" for source in sources]

    def compile_one(source, target):
        subprocess.run([compiler, *flags, "-std=c11", "-w", "-fPIC", f"-I{root}", "-c", source, "-o", target], check=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, sources, objects))

    made = {}
    for name in ("quantized_test", "random_test"):
        commands = subprocess.run(["ninja", "-C", build, "-t", "commands", f"bin/{name}"], check=True,
                                  capture_output=True, text=True).stdout.splitlines()
        link = shlex.split(commands[-1].removeprefix(": && ").removesuffix(" && :"))
        at = link.index("-o")
        made[name] = folder / name
        link[at + 1] = str(made[name])
        link[0] = {"gcc": "g++", "clang": "clang++"}[compiler]
        # Objects come before libraries: the library's own kernels are not taken.
        extra = [*map(str, objects), *(["-fsanitize=undefined"] if "-fsanitize=undefined" in flags else [])]
        subprocess.run(link[:at] + extra + link[at:], cwd=build, check=True)
    return made


@pytest.mark.soak
def test_quantized_graphs_with_kernels_of_every_build(tests_of_build, root):
    run(tests_of_build["quantized_test"], root, "*ProgramAndCAgree*", QUANTC_RANDOM_IN_PROCESS="1",
        QUANTC_QUANTIZED_GRAPHS=str(QUANTIZED), QUANTC_RANDOM_SEED="100000")


@pytest.mark.soak
def test_float_graphs_with_kernels_of_every_build(tests_of_build, root):
    run(tests_of_build["random_test"], root, "*ProgramAndCAgree*", QUANTC_RANDOM_IN_PROCESS="1",
        QUANTC_RANDOM_GRAPHS=str(FLOAT), QUANTC_RANDOM_SEED="1000")


@pytest.mark.soak
def test_programs_of_float_graphs(build, root):
    run(build / "bin" / "random_test", root, "*ProgramAndCAgree*", QUANTC_RANDOM_GRAPHS=str(FLOAT),
        QUANTC_RANDOM_SEED="1000")


@pytest.mark.soak
def test_programs_of_quantized_graphs(build, root):
    run(build / "bin" / "quantized_test", root, "*ProgramAndCAgree*", QUANTC_QUANTIZED_GRAPHS=str(QUANTIZED),
        QUANTC_RANDOM_SEED="100000")


@pytest.mark.soak
@pytest.mark.parametrize("how", BUILDS)
def test_programs_of_every_build(build, root, how):
    compiler, flags = how.split(" ", 1)
    flags = flags.replace("-fno-sanitize-recover=all", "-fsanitize-undefined-trap-on-error")  # no run-time library to load
    run(build / "bin" / "quantized_test", root, "*ProgramAndCAgree*", QUANTC_QUANTIZED_GRAPHS="100",
        QUANTC_RANDOM_SEED="200000", QUANTC_RANDOM_CC=compiler, QUANTC_RANDOM_CFLAGS=flags)


@pytest.mark.soak
def test_graphs_like_transformers(build, root):
    run(build / "bin" / "transformers_test", root, "*", QUANTC_TRANSFORMER_GRAPHS="5000", QUANTC_TRANSFORMER_C="5000",
        QUANTC_RANDOM_SEED="100000")


@pytest.mark.soak
@pytest.mark.parametrize("target", ["portable", "x86_avx2", "x86_avx512vnni", "cuda_sm_75", "cuda_sm_80"])
def test_rules_free_sizes_and_buckets(build, root, target):
    """Every way of running has the interpreter's bits. A processor that lacks a target's instructions shows as a skipped test."""
    needed = {"x86_avx2": "haswell", "x86_avx512vnni": "avx512vnni"}.get(target, "")
    if needed and not can_run(f"-march={needed}"):
        pytest.skip(f"this processor does not run code for {target}")
    run(build / "bin" / "combined_test", root, f"*{target}", QUANTC_COMBINED_GRAPHS=str(COMBINED), QUANTC_RANDOM_SEED="1",
        QUANTC_ALL_TARGETS="1")


@pytest.mark.soak
def test_rules_free_sizes_and_buckets_in_process(build, root):
    run(build / "bin" / "combined_test", root, "CombinedGraphs.*", QUANTC_COMBINED_GRAPHS=str(COMBINED), QUANTC_RANDOM_SEED="1")
