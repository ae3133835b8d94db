"""A block of a transformer whose norms and gate write codes: what explain shows, and the same bits without the pass."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
WIDTH, HIDDEN = 32, 48
DYNAMIC = "[[rule]]\nkind = 'dynamic'\ndtype = 'int8'\n{}\nskip_unsupported = true\npattern = '.*'\n"


def block(path, post_norm=False):
    """norm1 -> q, k, v -> o -> + -> norm2 -> silu(gate) * up -> down -> +, or with norms behind the sums."""
    rng = np.random.default_rng(0)
    sizes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH), "gate": (WIDTH, HIDDEN),
             "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}
    parts = {f"w_{name}": rng.normal(size=size).astype(np.float32) / 6 for name, size in sizes.items()}
    parts |= {f"{p}{i}": rng.normal(size=WIDTH).astype(np.float32) for p in "gb" for i in (1, 2)}

    def node(op, inputs, name, **attributes):
        return helper.make_node(op, inputs, [name], name=name, **attributes)

    def norm(x, i):
        return node("LayerNormalization", [x, f"g{i}", f"b{i}"], f"norm{i}", axis=-1, epsilon=1e-6)

    def product(x, name):
        return node("MatMul", [x, f"w_{name}"], name)

    start = "x" if post_norm else "norm1"
    gated = "norm1" if post_norm else "norm2"
    nodes = [] if post_norm else [norm("x", 1)]
    nodes += [product(start, n) for n in "qkv"]
    nodes += [node("Add", ["q", "k"], "qk"), node("Add", ["qk", "v"], "qkv"), product("qkv", "o"), node("Add", ["x", "o"], "sum1")]
    nodes += [norm("sum1", 1 if post_norm else 2), product(gated, "gate"), product(gated, "up"), node("Sigmoid", ["gate"], "sigmoid"),
              node("Mul", ["gate", "sigmoid"], "silu"), node("Mul", ["silu", "up"], "gated"), product("gated", "down"),
              node("Add", [gated if post_norm else "sum1", "down"], "y")]
    shape = [2, 5, WIDTH]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", FLOAT, shape)],
                              [helper.make_tensor_value_info("y", FLOAT, shape)],
                              [numpy_helper.from_array(v, k) for k, v in parts.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


@pytest.fixture
def rules(tmp_path):
    def write(how):
        path = tmp_path / "r.toml"
        path.write_text(DYNAMIC.format(how))
        return path
    return write


@pytest.mark.parametrize("post_norm", [False, True])
def test_explain_shows_one_node_per_norm_and_gate(quantc, tmp_path, rules, post_norm):
    block(tmp_path / "m.onnx", post_norm)
    done = quantc("explain", tmp_path / "m.onnx", "--rules", rules("per_token = true\nsymmetric = true"), "--json")
    nodes = {n["op"]: n["names"] for n in json.loads(done.stdout)["nodes"]}
    ops = [n["op"] for n in json.loads(done.stdout)["nodes"]]
    assert ops.count("layer_norm_quantize_dynamic") == (1 if post_norm else 2), ops
    assert ops.count("activation_quantize_dynamic") == 1, ops
    assert "layer_norm" not in ops and "silu" not in ops and "mul" not in ops
    # Before q, k and v (where no norm is), and before o: sums of products.
    assert ops.count("quantize_dynamic") == (2 if post_norm else 1), ops
    assert nodes["activation_quantize_dynamic"][-1] == "gated"
    assert "sum1" in nodes["layer_norm_quantize_dynamic"]


@pytest.mark.parametrize("how, post_norm", [("per_token = true\nsymmetric = true", False), ("per_token = true", True), ("", False)])
def test_same_bits_without_the_pass(quantc, tmp_path, rules, how, post_norm):
    block(tmp_path / "m.onnx", post_norm)
    dtype = "int8" if "symmetric" in how else "uint8"
    rules = rules(how)
    rules.write_text(rules.read_text().replace("int8", dtype))
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(1).normal(size=(2, 5, WIDTH)).astype(np.float32))
    quantc("run", tmp_path / "m.onnx", "--rules", rules, "-i", tmp_path / "x.npz", "-o", tmp_path / "y.npz")
    done = quantc("validate", tmp_path / "m.onnx", "--rules", rules, "-i", tmp_path / "x.npz", "-e", tmp_path / "y.npz", "--json",
                  "--disable-pass", "fuse_quantize")
    compared = json.loads(done.stdout)["comparisons"]
    assert compared and all(c["bits_equal"] for c in compared), compared
