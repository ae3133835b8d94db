"""Weights of products stay codes of 8 bits in the program, whichever way a model says the product."""
import re

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.support.onnx_models import build, node, value, weight


def sizes(quantc, model, out, *flags):
    """Bytes of arena and weights of the compiled program."""
    text = quantc("compile", model, "-o", out, *flags).stdout
    return [int(re.search(rf"{what} (\d+) bytes", text)[1]) for what in ("arena", "weights")]


def run(quantc, model, folder, inputs, *flags):
    """The interpreter's outputs; C gives the same bits."""
    np.savez(folder / "in.npz", **{f"in_{i}": x for i, x in enumerate(inputs)})
    quantc("run", model, "-i", folder / "in.npz", "-o", folder / "out.npz", *flags)
    quantc("validate", model, "-i", folder / "in.npz", "--cflags=-O1", *flags)
    with np.load(folder / "out.npz") as arrays:
        return [arrays[name] for name in arrays.files]


def convolved(x, w, pad):
    """Exact sums of a convolution with stride 1."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    kh, kw = w.shape[2:]
    rows, columns = x.shape[2] - kh + 1, x.shape[3] - kw + 1
    return sum(np.einsum("nihw,oi->nohw", x[:, :, i:i + rows, j:j + columns], w[:, :, i, j].astype(np.int64))
               for i in range(kh) for j in range(kw))


# arithmetic.md: M4
def test_integer_products_are_one_node_on_codes(quantc, tmp_path):
    rng = np.random.default_rng(5)
    image = rng.integers(0, 256, (2, 6, 9, 7), np.uint8)
    rows = rng.integers(-128, 128, (5, 40), np.int8)
    floats = rng.normal(size=(5, 40)).astype(np.float32)
    kernels = rng.integers(-128, 128, (20, 6, 3, 3), np.int8)
    matrix = rng.integers(0, 256, (40, 30), np.uint8)
    zeros = rng.integers(0, 256, 30, np.uint8)
    scales = rng.uniform(0.01, 0.1, 30).astype(np.float32)
    model = helper.make_model(helper.make_graph([
        node("ConvInteger", ["image", "kernels", "zx", "zw"], ["conv"], pads=[1, 1, 1, 1]),
        node("MatMulInteger", ["rows", "matrix", "za", "zeros"], ["matmul"]),
        node("DynamicQuantizeLinear", ["floats"], ["codes", "scale", "zero"]),
        node("MatMulInteger", ["codes", "matrix", "zero", "zeros"], ["dynamic"]),
        node("DynamicQuantizeMatMul", ["floats", "matrix", "scales", "zeros"], ["dynamic_float"], domain="com.microsoft"),
        node("MatMulIntegerToFloat", ["rows", "matrix", "sa", "scales", "za", "zeros"], ["to_float"], domain="com.microsoft"),
    ], "g", [value("image", image.shape, TensorProto.UINT8), value("rows", rows.shape, TensorProto.INT8),
             value("floats", floats.shape)],
        [value("conv", [2, 20, 9, 7], TensorProto.INT32), value("matmul", [5, 30], TensorProto.INT32),
         value("dynamic", [5, 30], TensorProto.INT32), value("dynamic_float", [5, 30]), value("to_float", [5, 30])],
        [weight("kernels", kernels), weight("matrix", matrix), weight("zeros", zeros), weight("scales", scales),
         weight("zx", np.uint8(7)), weight("zw", np.int8(-3)), weight("za", np.int8(11)), weight("sa", np.float32(0.02))]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    path = tmp_path / "products.onnx"
    path.write_bytes(model.SerializeToString())

    conv, matmul, dynamic, dynamic_float, to_float = run(quantc, path, tmp_path, [image, rows, floats])
    centred = matrix.astype(np.int64) - zeros
    assert np.array_equal(conv, convolved(image.astype(np.int64) - 7, kernels.astype(np.int64) + 3, 1))
    assert np.array_equal(matmul, (rows.astype(np.int64) - 11) @ centred)
    lo, hi = min(floats.min(), np.float32(0)), max(floats.max(), np.float32(0))
    scale = np.float32((hi - lo) / np.float32(255))
    zero = np.uint8(np.clip(np.rint(np.float32(0 - lo) / scale), 0, 255))
    codes = np.clip(np.rint(floats / scale) + zero, 0, 255).astype(np.int64)
    assert np.array_equal(dynamic, (codes - zero) @ centred)
    assert np.array_equal(dynamic_float, ((codes - zero) @ centred).astype(np.float32) * (scale * scales))
    assert np.array_equal(to_float, (matmul).astype(np.float32) * (np.float32(0.02) * scales))

    graph = quantc("inspect", path, "--ir").stdout
    assert graph.count(" qconv(") == 1 and graph.count(" qlinear(") == 4
    assert not re.search(r" (conv|matmul|linear)\(", graph)
    arena, weights = sizes(quantc, path, tmp_path / "out")
    panels = 32 * 6 * 9 + 4 * 32 * 40  # a byte each, outputs in sixteens
    numbers = 4 * (20 + 4 * 30 + 4 * 30)  # multipliers, zero points
    assert weights <= panels + numbers + 64 * 4
    assert arena < 4 * (conv.size + matmul.size + dynamic.size) + 16 * 1024


def weight_only_model(path, weights):
    """A plain, a grouped and a depthwise convolution."""
    rng = np.random.default_rng(8)
    bias = rng.normal(size=24).astype(np.float32)
    nodes = [node("Conv", ["x", "w0", "b"], ["h0"], name="plain", pads=[1, 1, 1, 1]),
             node("Relu", ["h0"], ["r0"], name="relu"),
             node("Conv", ["r0", "w1"], ["h1"], name="grouped", group=2, strides=[2, 1], dilations=[1, 2]),
             node("Conv", ["h1", "w2", "b"], ["y"], name="depth", group=24, pads=[0, 1, 2, 1])]
    model = build(nodes, [value("x", [2, 16, 13, 11])], [value("y", None)],
                  [*(weight(f"w{i}", w) for i, w in enumerate(weights)), weight("b", bias)])
    path.write_bytes(model.SerializeToString())
    return path


# arithmetic.md: Q36
def test_weight_only_convolutions_decode_inside(quantc, tmp_path):
    rng = np.random.default_rng(6)
    shapes, scale = [(24, 16, 3, 3), (24, 12, 3, 3), (24, 1, 3, 3)], np.float32(0.01)
    codes = [rng.integers(-128, 128, shape).astype(np.float32) for shape in shapes]
    coded = weight_only_model(tmp_path / "coded.onnx", [c * scale for c in codes])
    x = rng.normal(size=(2, 16, 13, 11)).astype(np.float32)
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nop = 'conv'\nkind = 'weight_only'\nper_channel = false\nweight_scale = 0.01\n")
    want = run(quantc, coded, tmp_path, [x])[0]  # these weights are codes times the scale already
    got = run(quantc, coded, tmp_path, [x], "--rules", rules)[0]
    assert np.array_equal(got.view(np.int32), want.view(np.int32))
    graph = quantc("inspect", coded, "--ir", "--rules", rules).stdout
    assert graph.count(" qconv(") == 3 and "dequantize" not in graph
    floats = quantc("compile", coded, "-o", tmp_path / "no", "--rules", rules, "--require-integer", status=1).stderr
    assert floats.count("(qconv): only its weights are codes") == 3
    plain, small = sizes(quantc, coded, tmp_path / "float"), sizes(quantc, coded, tmp_path / "int8", "--rules", rules)
    assert small[0] <= plain[0]  # nothing is expanded
    assert small[1] <= 32 * 9 * (16 + 12) + 24 * 9 + 4 * (3 * 32 + 2 * 24) + 64 * 8


def test_groups_of_weights_in_convolutions(quantc, tmp_path):
    rng = np.random.default_rng(7)
    model = weight_only_model(tmp_path / "model.onnx",
                              [rng.normal(size=s).astype(np.float32) for s in [(24, 16, 3, 3), (24, 12, 3, 3), (24, 1, 3, 3)]])
    x = rng.normal(size=(2, 16, 13, 11)).astype(np.float32)
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nop = 'conv'\nkind = 'weight_only'\ngroup = 5\n")
    want = run(quantc, model, tmp_path, [x])[0]
    got = run(quantc, model, tmp_path, [x], "--rules", rules)[0]
    assert 0 < np.abs(got - want).max() < 0.02 * np.abs(want).max()
    assert quantc("inspect", model, "--ir", "--rules", rules).stdout.count(" qconv(") == 3


def transposed_model(path, weights):
    """A plain and a grouped transposed convolution."""
    bias = np.random.default_rng(8).normal(size=24).astype(np.float32)
    nodes = [node("ConvTranspose", ["x", "w0", "b"], ["h"], name="plain", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0]),
             node("Relu", ["h"], ["r"], name="relu"),
             node("ConvTranspose", ["r", "w1"], ["y"], name="grouped", group=2, strides=[1, 2], dilations=[2, 1])]
    model = build(nodes, [value("x", [2, 16, 5, 7])], [value("y", None)],
                  [*(weight(f"w{i}", w) for i, w in enumerate(weights)), weight("b", bias)])
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("rule", ["per_channel = false\nweight_scale = 0.01", "per_channel = true"])
def test_weight_only_transposed_convolutions_decode_inside(quantc, tmp_path, rule):
    rng = np.random.default_rng(6)
    codes = [rng.integers(-127, 128, shape).astype(np.float32) for shape in [(16, 24, 3, 3), (24, 10, 2, 3)]]
    coded = transposed_model(tmp_path / "coded.onnx", [c * np.float32(0.01) for c in codes])
    x = rng.normal(size=(2, 16, 5, 7)).astype(np.float32)
    rules = tmp_path / "rules.toml"
    rules.write_text(f"[[rule]]\nop = 'conv_transpose'\nkind = 'weight_only'\n{rule}\n")
    want = run(quantc, coded, tmp_path, [x])[0]  # these weights are codes times the scale already
    got = run(quantc, coded, tmp_path, [x], "--rules", rules)[0]
    if "weight_scale" in rule:
        assert np.array_equal(got.view(np.int32), want.view(np.int32))
    else:
        assert np.abs(got - want).max() < 0.02 * np.abs(want).max()
    graph = quantc("inspect", coded, "--ir", "--rules", rules).stdout
    assert graph.count(" qconv_transpose(") == 2 and "dequantize" not in graph
    np.savez(tmp_path / "x.npz", x=x)
    assert "FAIL" not in quantc("validate", coded, "--rules", rules, "-i", tmp_path / "x.npz").stdout
    plain, small = sizes(quantc, coded, tmp_path / "float"), sizes(quantc, coded, tmp_path / "int8", "--rules", rules)
    assert small[0] <= plain[0]  # nothing is expanded
    assert small[1] <= sum(c.size for c in codes) + 4 * (24 + 20 + 24) + 64 * 5
