"""A program with types, checked strictly; sources that the oldest Python we name can read."""
import ast
import subprocess
import sys
from pathlib import Path

SAMPLE = '''
from typing import List

import quantc
from quantc import DynamicQuantRulePerTensor, QuantRule, StaticQuantRule


class Mine(QuantRule):
    def matches(self, node: quantc.Node) -> bool:
        return node.op == "conv" and node.operands[1].constant

    def scheme(self, node: quantc.Node) -> QuantRule:
        return DynamicQuantRulePerTensor("", activations="float")


class Negate(quantc.Pass):
    def visit(self, graph: quantc.GraphEditor, node: quantc.GraphNode) -> None:
        operand = node.inputs[0]
        if node.op == "linear" and operand is not None and not operand.constant:
            made: quantc.Value = graph.insert("neg", operand, name=node.name + "_negated")
            graph.replace(operand, made)


def main(path: str) -> List[int]:
    graph = quantc.from_onnx(path, dims={"batch": 1}).transform(Negate())
    rules: List[QuantRule] = [Mine(), StaticQuantRule(pattern=".*fc.*", dtype="int8", scale=0.05)]
    q: quantc.Graph = graph.quantize(rules)
    try:
        print(q.explain().totals)
    except quantc.UserError as error:
        print(error.code, error.loc.nodes)
    return [len(port.shape) for port in q.inputs]
'''


def test_mypy_strict(tmp_path):
    (tmp_path / "sample.py").write_text(SAMPLE)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "sample.py"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_itself(tmp_path):
    import quantc
    folder = str(Path(quantc.__file__).parent)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), folder], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_has_a_docstring():
    import quantc
    for name in quantc.__all__:
        thing = getattr(quantc, name)
        assert thing.__doc__, name
        for member in vars(thing) if isinstance(thing, type) else ():
            value = getattr(thing, member)
            if callable(value) and not member.startswith("_") and type(value).__name__ == "function":
                assert value.__doc__ or any(getattr(base, member, None) and getattr(base, member).__doc__
                                            for base in thing.__mro__[1:]), f"{name}.{member}"


def test_sources_are_of_the_oldest_python(root):
    """No newer grammar, and annotations stay text, so that newer types in them do no harm."""
    for source in sorted((root / "python" / "quantc").glob("*.py")):
        text = source.read_text()
        tree = ast.parse(text, feature_version=(3, 9))
        annotated = any(isinstance(n, ast.AnnAssign) or getattr(n, "returns", None) or getattr(n, "annotation", None) for n in ast.walk(tree))
        assert not annotated or "from __future__ import annotations" in text, source.name
