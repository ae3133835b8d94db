"""Generated code for every target: built with plain -O2, the interpreter's bits; compiled where it cannot run."""
import re
import shutil
import subprocess

import pytest

from tests.emitted.frames import pairwise
from tests.emitted.test_emitted import sh

X86 = ["x86-avx2", "x86-avx512vnni"]
ARM = ["aarch64", "aarch64-dotprod"]


@pytest.fixture(scope="module")
def runs_here(quantc) -> set:
    return {line.split()[0] for line in quantc("targets").stdout.splitlines() if line.rstrip().endswith("runs here")}


def projects(root, models) -> dict:
    """Networks with integer convolutions, residuals, products, recurrent layers, attention and floats."""
    rules = ["--rules", root / "examples/digits/rules.toml"]
    return {"digits": (models / "digits.onnx", rules), "float": (models / "digits.onnx", []),
            "lstm": (models / "lstm.onnx", [])}


@pytest.fixture(scope="module")
def made():
    """Folders of projects that were made, by network."""
    return {}


@pytest.fixture(params=["digits", "float", "lstm"])
def project(request, made, quantc, root, models, tmp_path_factory):
    """A project per target, each with recorded vectors."""
    if request.param not in made:
        model, flags = projects(root, models)[request.param]
        out = made[request.param] = tmp_path_factory.mktemp("targets")
        for target in ["portable", *X86, "x86", *ARM]:
            quantc("compile", model, "-o", out / target, "--name", "net", "--target", target, "--vectors", model.with_suffix(".npz"), *flags)
    return made[request.param]


def build(compiler, out, program, *flags):
    sources = sorted(out.glob("*.c"))
    sh(*compiler.split(), "-std=c11", "-O2", *flags, f"-I{out}", *sources, "-lm", "-o", program)


# arithmetic.md: G8
@pytest.mark.parametrize("project, compiler, target", pairwise(["digits", "float", "lstm"], ["gcc", "clang"], X86), indirect=["project"])
def test_x86_gives_the_interpreters_bits(project, runs_here, compiler, target, tmp_path):
    build(compiler, project / target, tmp_path / "net")
    assert target not in runs_here or "bits equal" in sh(tmp_path / "net")


@pytest.mark.parametrize("project, compiler", [("digits", "gcc"), ("digits", "clang"), ("float", "gcc"), ("lstm", "clang")], indirect=["project"])
def test_x86_takes_the_best_that_the_processor_has(project, compiler, tmp_path):
    """A processor without AVX, one with AVX2, and this one: each runs another part, all have the same bits."""
    build(compiler, project / "x86", tmp_path / "net", "-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror", "-static")
    assert "bits equal" in sh(tmp_path / "net")
    for processor in ("qemu64", "max") if shutil.which("qemu-x86_64") else ():
        assert "bits equal" in sh("qemu-x86_64", "-cpu", processor, tmp_path / "net")


def test_files_for_another_machine_say_so(project, tmp_path):
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("aarch64-linux-gnu-gcc is not installed")
    for target in [*X86, "x86"]:
        done = subprocess.run(["aarch64-linux-gnu-gcc", "-c", project / target / "net.c", "-o", tmp_path / "net.o"], capture_output=True, text=True)
        assert done.returncode != 0 and "was generated for another machine" in done.stderr, done.stderr


# arithmetic.md: G8
@pytest.mark.parametrize("target", ARM)
def test_arm_gives_the_interpreters_bits(project, target, tmp_path):
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("aarch64-linux-gnu-gcc is not installed")
    build("aarch64-linux-gnu-gcc", project / target, tmp_path / "net", "-static")
    if not shutil.which("qemu-aarch64"):
        return
    assert "bits equal" in sh("qemu-aarch64", "-cpu", "max", tmp_path / "net")
    older = subprocess.run(["qemu-aarch64", "-cpu", "cortex-a57", tmp_path / "net"], capture_output=True, text=True)
    if target == "aarch64":
        assert "bits equal" in older.stdout
    else:  # it has no dot products
        assert (older.returncode, older.stdout + older.stderr) == (1, "net: failed with code 4\n")
        assert "NET_BAD_PROCESSOR 4" in (project / target / "net.h").read_text()


def test_a_bad_name_lists_the_good_ones(quantc, models, tmp_path):
    done = quantc("compile", models / "digits.onnx", "-o", tmp_path / "out", "--target", "x86-avx1", status=1)
    assert "portable, x86-avx2, x86-avx512vnni" in done.stderr, done.stderr


def test_native_is_one_of_the_targets(quantc, models, runs_here, tmp_path):
    out = quantc("compile", models / "digits.onnx", "-o", tmp_path / "out", "--target", "native").stdout
    assert re.search(r"for target (\S+)", out)[1] in runs_here


def test_foreign_processors_are_refused(quantc, models, tmp_path):
    """The check stands before anything else."""
    quantc("compile", models / "digits.onnx", "-o", tmp_path / "out", "--name", "net", "--target", "x86-avx512vnni")
    source = (tmp_path / "out" / "net.c").read_text()
    body = source[source.index("int net_invoke_args"):]
    assert body.splitlines()[1].strip().startswith('if (!(__builtin_cpu_supports("avx2")'), body[:300]
    assert "NET_BAD_PROCESSOR 4" in (tmp_path / "out" / "net.h").read_text()


def test_kernels_can_be_chosen_by_hand(quantc, root, models, tmp_path):
    rules = ["--rules", root / "examples/digits/rules.toml", "--target", "x86-avx512vnni"]
    shown = quantc("inspect", models / "digits.onnx", *rules, "--kernels").stdout
    layer = re.search(r"^(\S+)(?: \+ \S+)*: qconv by", shown, re.M)[1]
    chosen = quantc("inspect", models / "digits.onnx", *rules, "--kernels", "--kernel", f"{layer}=portable_nhwc").stdout
    assert shown.count("qk_qconv_avx512vnni") == chosen.count("qk_qconv_avx512vnni") + 1 and "not avx512vnni: another was asked for" in chosen, chosen
    out = ["-o", tmp_path / "out", "--vectors", models / "digits.npz", "--name", "net"]
    quantc("compile", models / "digits.onnx", *rules, "--kernel", f"{layer}=portable_nhwc", *out)
    assert "qk_qconv_nhwc(" in (tmp_path / "out" / "net.c").read_text()
    for text, message in ((f"{layer}=melted", "'qconv' has no variant 'melted': use one of avx2, avx512vnni,"),
                          (f"{layer}=portable_depthwise", "'portable_depthwise' cannot compute it: groups have several channels"),
                          ("nowhere=portable", "no layer 'nowhere' has variants to choose from"),
                          ("portable", "'portable' does not say which variant computes a layer: use LAYER=VARIANT")):
        done = quantc("compile", models / "digits.onnx", *rules, "--kernel", text, "-o", tmp_path / "no", status=1)
        assert message in done.stderr, done.stderr


def test_a_choice_is_for_the_kernels_of_a_layer_that_have_it(quantc, root, models):
    """The classifier is a product and what makes floats of its results: only the first has variants for processors."""
    shown = quantc("inspect", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--target", "x86-avx512vnni", "--kernels").stdout
    layer = re.search(r"^(\S+)(?: \+ \S+)*: qgemm by qk_qgemm_avx512vnni", shown, re.M)[1]
    chosen = quantc("inspect", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--target", "x86-avx512vnni", "--kernels",
                    "--kernel", f"{layer}=portable").stdout
    assert re.search(rf"^{re.escape(layer)}(?: \+ \S+)*: qgemm by qk_qgemm \(portable\)", chosen, re.M), chosen


def test_choices_are_explained(quantc, root, models):
    rules = ["--rules", root / "examples/digits/rules.toml"]
    portable = quantc("inspect", models / "digits.onnx", *rules, "--kernels", "--target", "portable").stdout
    chosen = re.search(r"qconv by qk_qconv_nhwc \(portable_nhwc\), estimated ([\d.]+) us\n  not avx2: target portable has no avx2\n", portable)
    assert chosen and float(chosen[1]) < float(re.search(r"not portable: estimated ([\d.]+) us", portable)[1]), portable
    assert "  not portable_depthwise: groups have several channels\n" in portable, portable
    assert re.search(r"^  not portable: estimated [\d.]+ us$", portable, re.M), portable
    vnni = quantc("inspect", models / "digits.onnx", *rules, "--kernels", "--target", "x86-avx512vnni").stdout
    assert vnni.count("qconv by qk_qconv_avx512vnni (avx512vnni)") == 3 and "qgemm by qk_qgemm_avx512vnni" in vnni, vnni
    every = quantc("inspect", models / "digits.onnx", *rules, "--kernels", "--target", "x86").stdout
    assert "for x86-avx512vnni:\n" + vnni in every and every.endswith("for portable:\n" + portable), every
