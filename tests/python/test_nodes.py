"""Nodes with their neighbours, and which rule is for which node."""
import subprocess
import sys

import pytest
from package import ROOT, RULES

import quantc
from quantc import DynamicQuantRulePerTensor, KeyRule, QuantRule, RuleMatcher, StaticQuantRule


def test_nodes_of_a_graph(digits):
    nodes = digits.nodes
    conv = nodes[0]
    assert conv.op_type == conv.op == "conv" and conv.name == "node_Conv_50" and conv.dtype == "f32"
    assert conv.output_shape == tuple(conv.results[0].shape) and len(conv.output_shape) == 4
    assert conv.metadata["groups" if "groups" in conv.metadata else "group"] == 1
    image, = conv.inputs
    assert image.op_type == "input" and image.inputs == [] and image.users == [conv]
    assert conv.operands[1].constant and conv.operands[1].name
    assert conv.inputs[0] == image and conv != nodes[1] and len({*nodes, *digits.nodes}) == len(nodes)
    for node in nodes:
        assert all(node in user.inputs for user in node.users) and all(node in maker.users for maker in node.inputs)
    assert nodes[-1].users == []
    assert [n.name for n in digits.quantize(RULES).nodes] == [n.name for n in nodes], "what rules see stays"


class BeforeActivations(QuantRule):
    """Convolutions whose results only an activation reads."""

    def matches(self, node):
        return node.op_type == "conv" and [user.op_type for user in node.users] == ["clamp"]

    def scheme(self, node):
        return DynamicQuantRulePerTensor("")


def test_rules_see_neighbours(digits):
    rule = BeforeActivations()
    meant = RuleMatcher([rule]).get_quantizable_nodes(digits)
    assert 0 < len(meant) < sum(n.op == "conv" for n in digits.nodes)
    made = [n.names[0] for n in digits.quantize([rule]).explain().nodes if n.op == "qconv"]
    assert made == [n.name for n in meant]


def test_the_first_rule_that_matches(digits):
    first, second = StaticQuantRule("node_Conv_50", "int8", 0.05), DynamicQuantRulePerTensor(".*Conv.*")
    matcher = RuleMatcher([first, second])
    nodes = {n.name: n for n in digits.nodes}
    assert matcher.find_matching_rule(nodes["node_Conv_50"]) is first
    assert matcher.find_matching_rule(nodes["node_Conv_52"]) is second
    assert matcher.find_matching_rule(nodes["node_linear"]) is None
    assert [n.name for n in matcher.get_quantizable_nodes(digits)] == [n for n in nodes if "Conv" in n]
    assert RuleMatcher([KeyRule(op="conv", kind="dynamic")]).get_quantizable_nodes(digits) == \
        matcher.get_quantizable_nodes(digits)
    with pytest.raises(quantc.UserError, match="a str is no rule"):
        RuleMatcher(["x"])


def test_numbers_of_rules(digits):
    rule = StaticQuantRule("x", "int8", scale=0.05, offset=3, per_channel=True)
    assert (rule.scale, rule.offset, rule.per_channel) == (0.05, 3, True)
    assert DynamicQuantRulePerTensor("x").scale is None and not DynamicQuantRulePerTensor("x").per_channel
    with pytest.raises(AttributeError):
        rule.scale = 0.1  # the rule would not change


def test_bodies_of_branches_have_nodes_too():
    from onnx import TensorProto, helper

    def body(op):
        return helper.make_graph([helper.make_node(op, ["x"], [op + "_out"], name=op + "_inner")], op, [],
                                 [helper.make_tensor_value_info(op + "_out", TensorProto.FLOAT, [4])])
    outer = [helper.make_node("If", ["c"], ["y"], name="choice", then_branch=body("Exp"), else_branch=body("Sin")),
             helper.make_node("Neg", ["y"], ["z"], name="last")]
    ports = [helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])]
    graph = quantc.from_onnx(helper.make_model(helper.make_graph(outer, "g", ports, [helper.make_tensor_value_info("z", TensorProto.FLOAT, [4])]),
                                               opset_imports=[helper.make_opsetid("", 17)]))
    nodes = {n.name: n for n in graph.nodes}
    assert [n.op for n in graph.nodes][:2] == ["if", "neg"] and {"exp", "sin"} <= {n.op for n in graph.nodes}
    assert nodes["last"].inputs == [nodes["choice"]] and nodes["choice"].users == [nodes["last"]]
    assert [maker.op for maker in nodes["Exp_inner"].inputs] == ["input"] and nodes["Exp_inner"].users == []


AT_MODULE_LEVEL = f"""
import quantc

graph = quantc.load({str(ROOT / "tests/models/digits.onnx")!r})

class Mine(quantc.QuantRule):
    def matches(self, node):
        return node.op == "linear"
    def scheme(self, node):
        return quantc.DynamicQuantRulePerTensor("")

quantized = graph.quantize([Mine()])
nodes = quantized.nodes
"""


def test_nothing_is_left_when_a_program_ends():
    """A graph holds its rules, and functions of their classes hold the module that has the graph."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", AT_MODULE_LEVEL], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
