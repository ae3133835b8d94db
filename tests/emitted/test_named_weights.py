"""Literal weights are arrays that a person can read: by the model's names, with the bytes that every other way of storing them has."""
import ctypes
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def compiled(quantc, model, out, *flags):
    quantc("compile", model, "-o", out, "--force", "--name", "net", *flags)
    return out


def bytes_in(folder, source, size):
    """What the object that the source defines holds."""
    library = folder / "w.so"
    for compiler in filter(shutil.which, ("gcc", "clang")):
        subprocess.run([compiler, *STRICT, "-c", "-o", "/dev/null", folder / source], check=True)
    subprocess.run(["cc", *STRICT, "-O1", "-shared", "-fPIC", "-o", library, folder / source, *([] if "weights" in source else ["-lm"])], check=True)
    return bytes((ctypes.c_ubyte * size).in_dll(ctypes.CDLL(str(library)), "net_weights"))


def initializers(model):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(model).graph.initializer}


@pytest.fixture(scope="module")
def digits(request):
    root = request.config.rootpath
    return root / "tests/models/digits.onnx", ["--rules", root / "examples/digits/rules.toml"]


@pytest.mark.parametrize("flags", [[], ["--target", "x86-avx512vnni"], ["--single-file"]], ids=["portable", "avx512vnni", "single_file"])
def test_the_bytes_are_those_of_the_file(quantc, tmp_path, digits, flags):
    model, rules = digits
    compiled(quantc, model, tmp_path / "file", *rules, *[f for f in flags if f != "--single-file"], "--weights", "file")
    want = (tmp_path / "file/net_weights.bin").read_bytes()
    out = compiled(quantc, model, tmp_path / "literal", *rules, *flags)
    assert bytes_in(out, "net.c" if "--single-file" in flags else "net_weights.c", len(want)) == want


def test_every_weight_is_found_by_its_name(quantc, tmp_path, digits):
    """Weights of layers by the names that PyTorch gave them; a bias has its numbers in the text."""
    model, rules = digits
    out = compiled(quantc, model, tmp_path / "out", *rules)
    header, source = (out / "net_weights.h").read_text(), (out / "net_weights.c").read_text()
    layers = {name for name in initializers(model) if name.endswith(".weight") and ".1." not in name}
    assert layers == {"stem.0.weight", "widen.0.weight", "residual.0.weight", "classify.weight"}
    for layer in layers:
        member = re.search(rf"int8_t ({layer.replace('.', '_')}\w*)\[\d+\]; /\* '{layer}[\w.]*': i8\[[\d, ]+\] \*/", header)
        assert member and re.search(rf"    \.{member[1]} = {{\n +-?\d+, ", source)
    bias = re.search(r"\.classify_bias = \{(.*?)\}", source, re.S)[1]
    assert len(bias.split(",")) == 11


def scaled(path, x, name="factors"):
    """x * a constant."""
    graph = helper.make_graph([helper.make_node("Mul", ["x", name], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(x.shape))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, list(x.shape))],
                              [numpy_helper.from_array(x, name)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_any_float_and_any_name(quantc, tmp_path):
    values = np.array([1, -0.0, 1e-45, 3.4028235e38, 0.1, np.inf, -np.inf, 16777216, 1e10], np.float32)
    model = scaled(tmp_path / "m.onnx", values, "9 */ \"int\" ??/")
    out = compiled(quantc, model, tmp_path / "out")
    header = (out / "net_weights.h").read_text()
    assert re.search(r"float w_9_int\[9\];", header)
    assert bytes_in(out, "net_weights.c", 36) == values.tobytes()


def test_many_are_bytes_with_a_table(quantc, tmp_path):
    """Compilers take long for numbers, so more than 1 MiB are bytes, and a comment says which are which."""
    model = scaled(tmp_path / "m.onnx", np.arange((1 << 18) + 1, dtype=np.float32))
    out = compiled(quantc, model, tmp_path / "out")
    assert not (out / "net_weights.h").exists()
    assert " * 0 on, 1048580 bytes: 'factors', f32[262145]\n" in (out / "net_weights.c").read_text()[:400]
    values = np.array([1, np.nan], np.float32)
    out = compiled(quantc, scaled(tmp_path / "m.onnx", values), tmp_path / "nan")
    assert not (out / "net_weights.h").exists() and bytes_in(out, "net_weights.c", 8) == values.tobytes()
    out = compiled(quantc, scaled(tmp_path / "m.onnx", np.arange(1 << 18, dtype=np.float32)), tmp_path / "named")
    assert (out / "net_weights.h").exists()
