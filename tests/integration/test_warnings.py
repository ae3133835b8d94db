"""What is not done as asked, or costs more than it seems to, is said without being asked for."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def save(path, nodes, constants, x=(2, 64), y=(2, 48), opset=23):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, x)], [helper.make_tensor_value_info("y", FLOAT, y)],
        [c if isinstance(c, onnx.TensorProto) else numpy_helper.from_array(c, k) for k, c in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11), path)
    return path


@pytest.fixture
def linear(tmp_path):
    w = np.random.default_rng(0).normal(size=(64, 128)).astype(np.float32)
    return save(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], {"w": w}, y=(2, 128))


def warnings_of(done):
    return [line.split("warning: ", 1)[1] for line in done.stderr.splitlines() if "warning: " in line]


@pytest.mark.parametrize("kind", ["kind = 'dynamic'", "scale = 0.1\ninput_scale = 0.1"])
def test_groups_of_weights_beside_quantized_activations_are_not_passed_over(quantc, linear, kind):
    rules = linear.parent / "r.toml"
    rules.write_text(f"[[rule]]\npattern = 'fc'\ngroup = 32\n{kind}\n")
    said = [f"{rules}:1 asks for integers, but linear 'fc' stays float: "
            "its weights have a scale per group, which only float activations can use"]
    assert warnings_of(quantc("compile", linear, "--rules", rules, "-o", linear.parent / "out")) == said
    done = quantc("explain", linear, "--rules", rules, "--json")
    assert warnings_of(done) == said and json.loads(done.stdout)["warnings"] == said


def test_a_rule_that_is_followed_gives_no_warning(quantc, linear):
    rules = linear.parent / "r.toml"
    rules.write_text("[[rule]]\npattern = 'fc'\nkind = 'dynamic'\nper_channel = true\n")
    assert not warnings_of(quantc("compile", linear, "--rules", rules, "-o", linear.parent / "out"))
