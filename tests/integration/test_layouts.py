"""Layouts cost nothing where they need not: no step moves bytes between a network's last pool and its classifier."""
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FOLD = ["--disable-pass", "fold_relayouts"]


def quantized_classifier(path):
    """A convolution, Flatten and Gemm between QuantizeLinear and DequantizeLinear, for n images."""
    random = np.random.default_rng(1)
    constants = {"s": np.float32(0.05), "z": np.int8(3), "ws": np.float32(0.01), "wz": np.int8(0),
                 "w": random.integers(-127, 128, (4, 3, 3, 3), np.int8), "m": random.integers(-127, 128, (5, 144), np.int8)}
    nodes = []

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def codes(x):
        return node("DequantizeLinear", [node("QuantizeLinear", [x, "s", "z"], f"{x}_q"), "s", "z"], f"{x}_d")
    for name in ("w", "m"):
        node("DequantizeLinear", [name, "ws", "wz"], f"{name}_d")
    node("Conv", [codes("x"), "w_d"], "c", pads=[1, 1, 1, 1])
    node("Flatten", [codes("c")], "flat")
    node("Gemm", [codes("flat"), "m_d"], "g", transB=1)
    codes("g")
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 6, 6])],
                              [helper.make_tensor_value_info("g_d", TensorProto.FLOAT, ["n", 5])],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def moves(quantc, *arguments):
    """How many steps only move bytes."""
    return len(re.findall(r"^strided", quantc("inspect", *arguments, "--program", "--target", "portable").stdout, re.M))


def test_nothing_is_moved_before_a_classifier_of_codes(quantc, root, models, tmp_path):
    digits = [models / "digits.onnx", "--rules", root / "examples/digits/rules.toml"]
    assert moves(quantc, *digits) == 0
    quantc("compile", *digits, "-o", tmp_path / "without", *FOLD, "--target", "portable")
    assert "strided" in (tmp_path / "without" / "digits_kernels.h").read_text()


def test_floats_keep_their_order_of_summation(quantc, models):
    assert moves(quantc, models / "digits.onnx") == 1


def test_quantize_writes_channels_last(quantc, tmp_path):
    model = quantized_classifier(tmp_path / "net.onnx")
    program = quantc("inspect", model, "--dim", "n=2", "--program", "--target", "portable").stdout
    assert "\nquantize_transposed[" in program and "\nstrided" not in program


@pytest.mark.parametrize("flags", [[], FOLD])
def test_bits_are_the_interpreters(quantc, tmp_path, flags):
    model = quantized_classifier(tmp_path / "net.onnx")
    np.savez(tmp_path / "in.npz", x=np.random.default_rng(2).normal(size=(2, 3, 6, 6)).astype(np.float32))
    quantc("validate", model, "--dim", "n=2", "-i", tmp_path / "in.npz", "--target", "portable", *flags)


def test_sizes_chosen_by_a_run_share_the_permuted_weights(quantc, tmp_path):
    model = quantized_classifier(tmp_path / "net.onnx")
    weights = {}
    for name, dim in {"one": "n=3", "range": "n=1..3"}.items():
        done = quantc("compile", model, "-o", tmp_path / name, "--dim", dim, "--target", "portable")
        weights[name] = int(re.search(r"weights (\d+) bytes", done.stdout)[1])
    assert weights["range"] == weights["one"]
