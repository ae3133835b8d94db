"""A program with types, checked strictly; sources that the oldest Python we name can read."""
import ast
import inspect
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
            if not member.startswith("_") and (inspect.isroutine(value) or inspect.isdatadescriptor(value)):
                assert value.__doc__ or any(getattr(base, member, None) and getattr(base, member).__doc__
                                            for base in thing.__mro__[1:]), f"{name}.{member}"
    assert inspect.isdatadescriptor(quantc.Node.op) and inspect.isdatadescriptor(quantc.Value.shape)


def members(body):
    """The public names that statements of a stub define, by class; those of the module under ''."""
    out = {"": set()}
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            out[statement.name] = members(statement.body)[""]
        elif isinstance(statement, ast.FunctionDef):
            out[""].add(statement.name)
        elif isinstance(statement, ast.AnnAssign):
            out[""].add(statement.target.id)
    return {key: {n for n in names if not n.startswith("_")} for key, names in out.items()}


def test_the_stub_says_what_the_extension_has():
    from quantc import _core
    stub = members(ast.parse((Path(_core.__file__).parent / "_core.pyi").read_text()).body)
    public = {n: getattr(_core, n) for n in dir(_core) if not n.startswith("_")}
    classes = {n: c for n, c in public.items() if isinstance(c, type)}
    assert set(stub) - {""} == set(classes) and stub[""] == set(public) - set(classes)
    for name, thing in classes.items():
        inherited = {m for base in thing.__mro__[1:] for m in stub.get(base.__name__, ())}
        assert stub[name] | inherited == {m for m in dir(thing) if not m.startswith("_")}, name


def test_importing_takes_little_processor_time():
    """What others do on the machine hardly counts as processor time, and of several imports one was not disturbed."""
    code = "import time; t = time.process_time(); import quantc; print(time.process_time() - t)"
    seconds = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert min(seconds) < 0.1, seconds


def test_sources_are_of_the_oldest_python(root):
    """No newer grammar, and annotations stay text, so that newer types in them do no harm."""
    for source in sorted((root / "python" / "quantc").glob("*.py")):
        text = source.read_text()
        tree = ast.parse(text, feature_version=(3, 9))
        annotated = any(isinstance(n, ast.AnnAssign) or getattr(n, "returns", None) or getattr(n, "annotation", None) for n in ast.walk(tree))
        assert not annotated or "from __future__ import annotations" in text, source.name
