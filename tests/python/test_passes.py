"""Passes written in Python: what they see, what they may change, and what happens when they fail."""
import numpy as np
import pytest
from package import ROOT, RULES, files_of

import quantc

MODELS = ROOT / "tests" / "models"


class Keep(quantc.Pass):
    """Changes nothing."""

    def run(self, graph):
        self.seen = [(n.name, n.op) for n in graph.nodes]


class Limit(quantc.Pass):
    """No result of a convolution is above `most`."""

    def __init__(self, most):
        self.most = most

    def visit(self, graph, node):
        if node.op == "conv":
            y = node.outputs[0]
            graph.replace(y, graph.insert("clamp", y, name=node.name + "_limited", lo=float("-inf"), hi=self.most))


def test_a_pass_that_changes_nothing_changes_no_byte(digits, image, tmp_path):
    keep = Keep()
    same = digits.transform(keep)
    assert ("node_Conv_50", "conv") in keep.seen and ("node_linear", "linear") in keep.seen
    assert same.text(all_constants=True) == digits.text(all_constants=True)
    for graph, folder in ((digits, "a"), (same, "b")):
        graph.quantize(RULES).compile(tmp_path / folder, build=False)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_inserted_nodes_compute_in_every_way_of_running(digits, image):
    limited = digits.transform(Limit(0.5))
    y = limited.run(image)
    assert not np.array_equal(y, digits.run(image))
    assert np.array_equal(y, limited.run_reference(image))
    assert np.array_equal(y, limited.compile()(image))
    assert np.array_equal(digits.transform(Limit(1e9)).run(image), digits.run(image))
    clamps = [n for n in limited.text().splitlines() if "conv" in n and "hi = 0.5" in n]
    assert clamps, limited.text()


def test_a_transformed_graph_keeps_rules_and_is_quantized(digits, image):
    assert "integer" in str(digits.quantize(RULES).transform(Keep()).explain())
    rules = quantc.calibrate(digits.transform(Limit(0.5)), [image] * 4)
    q = digits.transform(Limit(0.5)).quantize(rules)
    assert np.array_equal(q.run(image), q.run_reference(image))


class Scale(quantc.Pass):
    """Constants are seen, changed and replaced: the last layer's weights and bias times two."""

    def run(self, graph):
        node = [n for n in graph.nodes if n.op == "linear"][-1]
        for operand in node.inputs[1:]:
            assert operand.constant and operand.type == "f32"
            graph.replace(operand, graph.constant(operand.numpy() * 2))


class Twice(quantc.Pass):
    """The same by nodes: a chain that is inserted as a whole, and one node erased again."""

    def run(self, graph):
        out = graph.outputs[0]
        assert out.readers == 1 and out.shape[-1] == 10 and out.type == "f32"
        extra = graph.insert("neg", out, name="extra")
        doubled = graph.insert("mul", graph.insert("add", out, graph.constant(0.0)), graph.constant(2.0), name="doubled")
        graph.replace(out, doubled)
        assert graph.outputs == [doubled]
        graph.erase([n for n in graph.nodes if n.outputs[0] == extra][0])
        assert "extra" not in [n.name for n in graph.nodes]


def test_constants_and_chains(digits, image):
    want = digits.run(image) * 2
    assert np.array_equal(digits.transform(Scale()).run(image), want)
    assert np.array_equal(digits.transform(Twice()).run(image), want)
    assert np.allclose(digits.transform(Scale(), Twice()).run(image), want * 2)


def test_no_replacement_makes_a_cycle():
    """Even where a node reads what stands behind it, whoever computes a value does not read it."""
    ir = 'graph (%0 "x" : f32[2]) { %1 = neg(%0) %2 = abs(%0) %3 = exp(%2) return %1 "a", %3 "c" }'

    class Transposed(quantc.Pass):
        def run(self, graph):
            neg, magnitude, exp = graph.nodes
            graph.replace(graph.inputs[0], exp.outputs[0])  # a = -exp(|x|)
            graph.replace(magnitude.outputs[0], neg.outputs[0])  # its only reader computes neg: nothing changes
            graph.replace(exp.inputs[0], exp.outputs[0])

    x = np.array([-1.0, 0.5], np.float32)
    a, c = quantc.load(ir.encode()).transform(Transposed()).run(x)
    assert np.array_equal(a, -c) and np.allclose(c, np.exp(np.abs(x)))


def test_bodies_are_visited_too():
    ir = """graph (%0 "c" : bool[], %1 "x" : f32[2]) {
  %2 = if(%0, %1) regions {
    graph (%0 : f32[2]) { %1 = neg(%0) return %1 }
    graph (%0 : f32[2]) { %1 = abs(%0) return %1 }
  }
  return %2
}
"""
    seen = []

    class See(quantc.Pass):
        def visit(self, graph, node):
            seen.append(node.op)

    quantc.load(ir.encode()).transform(See())
    assert seen == ["if", "neg", "abs"]


def failing(body):
    class Failing(quantc.Pass):
        def visit(self, graph, node):
            if node.op == "linear":
                body(graph, node)
    return Failing()


class Own(Exception):
    pass


def test_exceptions_come_out_unchanged_with_pass_and_node(digits):
    mine = Own("mine")

    def body(graph, node):
        raise mine

    with pytest.raises(Own) as caught:
        digits.transform(failing(body))
    assert caught.value is mine
    assert caught.value.__notes__ == ["at node 'node_linear' (linear)", "in pass Failing"]


@pytest.mark.parametrize("body, code, text", [
    (lambda g, n: g.insert("nonsense", n.outputs[0]), "usage", "no op 'nonsense'"),
    (lambda g, n: g.insert("clamp", n.outputs[0], lo=2, hi=1), "attribute", "lower limit 2"),
    (lambda g, n: g.insert("clamp", n.outputs[0], low=2), "attribute", "low"),
    (lambda g, n: g.insert("concat", n.outputs[0], g.constant(np.zeros((3, 3), np.int64)), axis=0), "", "concat"),
    (lambda g, n: g.insert("neg", 3), "usage", "a int is no value"),
    (lambda g, n: g.erase(n), "usage", "still read"),
    (lambda g, n: n.outputs[0].numpy(), "usage", "no constant"),
    (lambda g, n: g.replace(n.inputs[1], g.constant(np.zeros((3, 3), np.float32))), "shape", "linear"),
    (lambda g, n: g.constant(np.zeros(3, np.complex64)), "input", "does not take"),
])
def test_wrong_edits_are_errors(digits, body, code, text):
    with pytest.raises(quantc.UserError, match=text) as caught:
        digits.transform(failing(body))
    assert not code or caught.value.code == code
    assert "Failing" in "".join(getattr(caught.value, "__notes__", []) + caught.value.notes)


def test_what_is_no_pass_and_what_is_over(digits):
    with pytest.raises(quantc.UserError, match="no pass"):
        digits.transform(lambda graph: None)
    with pytest.raises(NotImplementedError, match="neither visit"):
        digits.transform(quantc.Pass())
    retained = []
    digits.transform(failing(lambda g, n: retained.append((g, n))))
    graph, node = retained[0]
    with pytest.raises(quantc.UserError, match="the pass is over"):
        graph.nodes
    with pytest.raises(quantc.UserError, match="the pass is over"):
        node.outputs[0].shape


def test_a_pass_may_run_the_graph_it_changes(digits, image):
    class Runs(quantc.Pass):
        def run(self, graph):
            self.y = digits.run(image)
            digits.quantize(RULES)

    runs = Runs()
    digits.transform(runs)
    assert runs.y.shape[-1] == 10
