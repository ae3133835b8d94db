"""Code for size is no larger than code for speed, and gives the same bits."""
import re
import shutil

import pytest
from frames import options_for

from tests.emitted.test_emitted import sh

NETWORKS = {"digits": [], "digits on codes": ["--rules", "examples/digits/rules.toml"], "cnn_mnist_pytorch": [],
            "micro_kws_m_fp32": [], "gru": []}


COMPILERS = {"clang": ["clang", *options_for("clang", "cortex-m4").split()],
             "gcc": ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]}


def size(compiler, out, folder) -> int:
    """Bytes of code and constants for a Cortex-M4, without the weights."""
    sh(*compiler, "-std=c11", "-Os", "-c", out / "net.c", "-o", folder / "net.o")
    return sum(int(n) for n in re.findall(r"^\.(?:text|rodata)\S*\s+(\d+)", sh("size", "-A", folder / "net.o"), re.M))


@pytest.mark.parametrize("name", NETWORKS)
def test_size_is_no_larger_than_speed(quantc, root, models, name, tmp_path):
    model = models / f"{name.split()[0]}.onnx"
    for mode in ("speed", "size"):
        quantc("compile", model, "-o", tmp_path / mode, "--name", "net", "--specialise", mode, "--vectors", model.with_suffix(".npz"),
               *NETWORKS[name], cwd=root)
    for compiler in COMPILERS.values():
        if shutil.which(compiler[0]):
            assert size(compiler, tmp_path / "size", tmp_path) <= size(compiler, tmp_path / "speed", tmp_path), compiler[0]
    out = tmp_path / "size"
    sh("gcc", "-std=c11", "-O1", f"-I{out}", out / "net.c", out / "net_weights.c", out / "net_test.c", "-lm", "-o", tmp_path / "test")
    assert "bits equal" in sh(tmp_path / "test")


def test_calls_share_functions_and_what_is_equal_is_no_parameter(quantc, models, tmp_path):
    """Two convolutions that differ in their channels: one function, handed two numbers; what is called once holds its own."""
    quantc("compile", models / "digits.onnx", "-o", tmp_path, "--name", "net", "--specialise", "size")
    source = (tmp_path / "net.c").read_text()
    assert source.count("  qk_conv_nhwc_f32(&p, x, w, bias, NULL, y);") == 1
    assert re.search(r"typedef struct \{ int32_t ic; int32_t oc; \} \w+_values;", source)
    assert "static const qk_" not in source
