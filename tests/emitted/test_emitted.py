"""The generated C itself: warnings, sanitizers, symbols, stack, forms of weights, identical output."""
import filecmp
import re
import shutil
import subprocess

import pytest
from frames import ARM_SETS, STACK_OPTIONS, measure, pairwise

from tests.support.processor import can_run

STRICT = "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
# Functions of C whose results are exact or that only move bytes.
ALLOWED = {"memcpy", "memmove", "memset", "fma", "fmaf", "sqrt", "sqrtf", "floor", "floorf", "ceil", "ceilf", "trunc",
           "truncf", "rint", "rintf", "nearbyint", "nearbyintf", "fmod", "fmodf", "fabs", "fabsf", "ldexp", "ldexpf"}
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
NETWORKS = ["digits.onnx", "unetlet.pt2", "lstm.onnx", "timm_test_vit.onnx"]
# Each network with one compiler, the small one with both.
PAIRS = [("digits.onnx", "gcc"), ("digits.onnx", "clang"), ("unetlet.pt2", "gcc"), ("lstm.onnx", "clang"), ("timm_test_vit.onnx", "clang")]


def sh(*command, cwd=None, status=0, **options):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, **options)
    assert done.returncode == status, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def emitted(quantc, models, tmp_path_factory):
    """emitted(network, flags...) -> folder with the generated project, made once."""
    made = {}

    def make(network, *flags):
        key = (network, *flags)
        if key not in made:
            out = tmp_path_factory.mktemp("emitted") / "out"
            vectors = models / (network.rsplit(".", 1)[0] + ".npz")
            quantc("compile", models / network, "-o", out, "--name", "net", "--vectors", vectors, *flags)
            made[key] = out
        return made[key]
    return make


def test_both_compilers_are_here():
    assert COMPILERS == ["gcc", "clang"]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_clean_under_strict_warnings(emitted, network, compiler, tmp_path):
    out = emitted(network)
    level = "-O2" if network == "digits.onnx" else "-O1"
    sh(compiler, *STRICT.split(), level, "-c", out / "net.c", "-o", tmp_path / "net.o")
    sh(compiler, *STRICT.split(), "-fsyntax-only", out / "net_test.c", f"-I{out}")


@pytest.mark.parametrize("network, compiler", PAIRS)
def test_sanitizers_find_nothing(emitted, network, compiler, tmp_path):
    out = emitted(network)
    program = tmp_path / "test"
    sh(compiler, "-std=c11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{out}",
       out / "net.c", out / "net_weights.c", out / "net_test.c", "-lm", "-o", program)
    assert "bits equal" in sh(program)


FLAGS = ["-O0", "-O3 -march=haswell", "-O3 -march=skylake-avx512 -ffp-contract=fast", "-O3 -ffp-contract=fast", "-Os"]


# arithmetic.md: G3
@pytest.mark.parametrize("network, compiler, flags", pairwise(["digits.onnx", "unetlet.pt2"], COMPILERS, FLAGS))
def test_the_same_bits_under_any_flags(emitted, network, compiler, flags, tmp_path):
    out = emitted(network)
    program = tmp_path / "test"
    sh(compiler, "-std=gnu11", *flags.split(), f"-I{out}", out / "net.c", out / "net_weights.c", out / "net_test.c",
       "-lm", "-o", program)
    assert not can_run(flags) or "bits equal" in sh(program), network


@pytest.mark.parametrize("weights, specialise", [("literal", "speed"), ("incbin", "speed"), ("file", "speed"), ("literal", "size")])
def test_every_form_builds_by_make_and_cmake(emitted, weights, specialise, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(emitted("digits.onnx", "--weights", weights, "--specialise", specialise), out)
    sh("make", "-C", out, "CFLAGS=-O1", "all")
    assert {"libnet.a", "libnet.so", "net_test"} <= {p.name for p in out.iterdir()}
    assert "bits equal" in sh("make", "-s", "-C", out, "CFLAGS=-O1", "test")
    sh("cmake", "-S", out, "-B", tmp_path / "b", "-DCMAKE_BUILD_TYPE=None")
    sh("cmake", "--build", tmp_path / "b")
    assert "bits equal" in sh(tmp_path / "b" / "net_test", cwd=out)


@pytest.mark.parametrize("network", NETWORKS)
def test_no_allocation_no_io_no_written_globals(emitted, network, tmp_path):
    out = emitted(network)
    sh("gcc", "-std=c11", "-O2", "-c", out / "net.c", "-o", tmp_path / "net.o")
    sh("gcc", "-std=c11", "-O0", "-c", out / "net_weights.c", "-o", tmp_path / "w.o")
    undefined = {line.split()[-1] for line in sh("nm", "-u", tmp_path / "net.o").splitlines() if line.strip()}
    assert undefined - ALLOWED - {"net_weights", "_GLOBAL_OFFSET_TABLE_"} == set()
    for name in ("net.o", "w.o"):
        sections = sh("size", "-A", tmp_path / name)
        written = sum(int(m) for m in re.findall(r"^\.(?:data|bss)\S*\s+(\d+)", sections, re.M) )
        constant = sum(int(m) for m in re.findall(r"^\.data\.rel\.ro\S*\s+(\d+)", sections, re.M))
        assert written - constant == 0, sections


@pytest.mark.parametrize("network, compiler, options", pairwise(NETWORKS, COMPILERS, STACK_OPTIONS))
def test_stack_stays_within_the_stated_bound(emitted, network, compiler, options, tmp_path):
    if options.endswith(ARM_SETS):
        compiler = "clang"  # which compiles for Arm
    out = emitted(network)
    bound = int(re.search(r"#define NET_STACK_BYTES (\d+)", (out / "net.h").read_text())[1])
    frames, chains = measure(compiler, options, out / "net.c", tmp_path)
    kernels = max(size for name, size in chains.items() if name.startswith("net_") and not name.startswith("net_invoke"))
    entry = chains["net_invoke"] - kernels
    assert entry <= 512, entry
    assert chains["net_invoke"] + 256 <= bound <= 4096, (chains["net_invoke"], bound)


def test_output_is_the_same_bytes_every_time(quantc, models, tmp_path):
    for network in ("digits.pt2", "timm_test_resnet.onnx"):
        outs = []
        for i, locale in enumerate(["C", "de_DE.UTF-8", "tr_TR.UTF-8"]):
            out = tmp_path / f"{network}{i}"
            quantc("compile", models / network, "-o", out, "--name", "net", env={"LC_ALL": locale, "PATH": "/usr/bin:/bin"})
            outs.append(out)
        names = sorted(p.name for p in outs[0].iterdir())
        for other in outs[1:]:
            assert sorted(p.name for p in other.iterdir()) == names
            assert filecmp.cmpfiles(outs[0], other, names, shallow=False)[0] == names


def test_two_models_link_into_one_cpp_program(quantc, models, tmp_path):
    objects = []
    for name, network in (("digits", "digits.onnx"), ("keywords", "micro_kws_m_fp32.onnx")):
        out = tmp_path / name
        quantc("compile", models / network, "-o", out, "--name", name)
        sh("make", "-s", "-C", out, "CFLAGS=-O1", f"lib{name}.a")
        objects.append(out / f"lib{name}.a")
    main = tmp_path / "main.cpp"
    main.write_text("""
#include "digits.h"
#include "keywords.h"
#include <cstdio>
alignas(64) static unsigned char a[DIGITS_ARENA_BYTES + 64], b[KEYWORDS_ARENA_BYTES + 1];
static float x[DIGITS_INPUT_0_ELEMENTS], y[DIGITS_OUTPUT_0_ELEMENTS], u[KEYWORDS_INPUT_0_ELEMENTS], v[KEYWORDS_OUTPUT_0_ELEMENTS];
int main() {
  if (digits_run(x, y, a) != DIGITS_OK || keywords_run(u, v, b) != KEYWORDS_OK) return 1;
  if (digits_invoke_args(nullptr) != DIGITS_NULL_POINTER) return 2;
  if (digits_run(nullptr, y, a) != DIGITS_NULL_POINTER) return 3;
  if (digits_run(x, y, a + 1) != DIGITS_MISALIGNED) return 4;
  std::puts(DIGITS_INPUT_0_NAME);
  return 0;
}
""")
    sh("g++", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path / 'digits'}", f"-I{tmp_path / 'keywords'}", main, *objects, "-lm",
       "-o", tmp_path / "main")
    sh(tmp_path / "main")


# arithmetic.md: G8
def test_optimisation_levels_never_change_an_answer(quantc, models):
    for level, specialise in ((0, "speed"), (1, "size"), (2, "speed")):
        quantc("validate", models / "digits.onnx", "--random", 5, "-O", level, "--specialise", specialise, "--cflags", "-O1")
