"""A program that uses the package without torch, on whatever Python runs it: loading, rules and passes with their notes, running,
analysing, compiling. tests/soak/test_interpreters.py runs it."""
import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np

import quantc

ROOT = Path(__file__).resolve().parent.parent.parent


class Rule(quantc.QuantRule):
    def matches(self, node):
        raise KeyError("mine")


class Pass(quantc.Pass):
    def visit(self, graph, node):
        raise KeyError("mine")


def notes_of(call):
    try:
        call()
    except KeyError as error:
        return error.__notes__
    raise AssertionError("nothing was raised")


def main():
    graph = quantc.from_onnx(ROOT / "tests/models/digits.onnx", target="portable")
    with np.load(ROOT / "tests/models/digits.npz") as arrays:
        x = np.ascontiguousarray(arrays[arrays.files[0]], dtype=np.float32)
    q = graph.quantize(ROOT / "examples/digits/rules.toml")
    y = q.run(x)
    assert y.tobytes() == q.run_reference(x).tobytes() == q.compile(flags="-O1")(x).tobytes()
    assert q.explain().totals and q.analyze([x]).layers[0].names
    assert len(notes_of(lambda: graph.quantize([Rule()]))) == 1 and "at node '" in notes_of(lambda: graph.quantize([Rule()]))[0]
    assert [note.split()[0] for note in notes_of(lambda: graph.transform(Pass()))] == ["at", "in"]
    rule = quantc.DynamicQuantRulePerTensor("x", activations="float")
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert "torch" not in sys.modules
    if importlib.util.find_spec("torch") is None:
        try:
            quantc.from_torch(None, (1,))
            raise AssertionError("nothing was raised")
        except ImportError as error:
            assert "pip install torch" in str(error)
    print("it works on", ".".join(map(str, sys.version_info[:2])))


if __name__ == "__main__":
    main()
