"""A transformer block that quantize_static made: every part between codes, fed ONNX Runtime's own codes.

Parts that ONNX Runtime computes in integers must give its bits; parts it computes in float may be a step off in one element of
a thousand."""
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
import networks
from support import Cases, check

TOKENS, WIDTH, HEADS = 24, 32, 4
INTEGER = {"MatMul", "Gemm", "Add", "Mul", "Softmax"}  # between codes of 8 bits
MOVES = {"Reshape", "Transpose"}


def block() -> onnx.ModelProto:
    b = networks.Builder(9)

    def dense(x, n, m):
        w = (b.rng.normal(size=(n, m)) / np.sqrt(n)).astype(np.float32)
        return b.node("Add", b.node("MatMul", x, b.constant(w)), b.constant((b.rng.normal(size=m) * 0.1).astype(np.float32)))

    def norm(x):
        scale = (1 + 0.1 * b.rng.normal(size=WIDTH)).astype(np.float32)
        return b.node("LayerNormalization", x, b.constant(scale), b.constant(np.zeros(WIDTH, np.float32)), axis=-1)

    def heads(x, perm):
        return b.node("Transpose", b.node("Reshape", x, b.constant(np.array([1, TOKENS, HEADS, WIDTH // HEADS]))), perm=perm)

    y = norm("x")
    q, k, v = (dense(y, WIDTH, WIDTH) for _ in range(3))
    scores = b.node("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
    scores = b.node("Mul", scores, b.constant(np.float32((WIDTH // HEADS) ** -0.5)))
    mixed = b.node("MatMul", b.node("Softmax", scores, axis=-1), heads(v, [0, 2, 1, 3]))
    mixed = b.node("Reshape", b.node("Transpose", mixed, perm=[0, 2, 1, 3]), b.constant(np.array([1, TOKENS, WIDTH])))
    x = b.node("Add", "x", dense(mixed, WIDTH, WIDTH))
    y = b.node("Sigmoid", dense(norm(x), WIDTH, 4 * WIDTH))
    y = b.node("Add", x, dense(y, 4 * WIDTH, WIDTH))
    graph = helper.make_graph(b.nodes, "block", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, TOKENS, WIDTH])],
                              [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], b.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Part:
    """What lies between codes: the nodes that lead from the nearest quantize nodes to one."""

    def __init__(self, model: onnx.ModelProto, end: str):
        producers = {o: n for n in model.graph.node for o in n.output}
        constants = {i.name for i in model.graph.initializer}
        self.end, self.begins, self.ops, seen = end, [], [], set()
        rest = list(producers[end].input)
        while rest:
            name = rest.pop()
            if name in constants or name in seen or not name:
                continue
            seen.add(name)
            if name == "x" or producers[name].op_type == "QuantizeLinear":
                self.begins.append(name)
                continue
            if producers[name].op_type != "DequantizeLinear":
                self.ops.append(producers[name].op_type)
            rest += producers[name].input

    @property
    def is_integer(self) -> bool:
        """One op that ONNX Runtime has an integer kernel for, all operands of it codes."""
        return "x" not in self.begins and {*self.ops} - MOVES <= INTEGER and len([o for o in self.ops if o not in MOVES]) <= 1


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The quantized model and, for every part, its model and ONNX Runtime's codes before and after it."""
    folder = tmp_path_factory.mktemp("block")
    path = folder / "block.onnx"
    networks.quantized(block(), path, False, False, True)
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    codes = [n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"]
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.extend(helper.make_tensor_value_info(c, TensorProto.UINT8, None) for c in codes)
    onnx.save(shown, folder / "shown.onnx")
    x = np.random.default_rng(4).normal(size=(1, TOKENS, WIDTH)).astype(np.float32)
    values = {"x": x, **dict(zip(codes, networks.answers(folder / "shown.onnx", [x], codes)[0]))}
    found = []
    for name in codes:
        part = Part(model, name)
        part_path = folder / f"part_{len(found)}.onnx"
        extractor = onnx.utils.Extractor(model)
        onnx.save(extractor.extract_model(part.begins, [name]), part_path)
        found.append((part, part_path, [values[b] for b in part.begins], values[name]))
    return found


def test_integer_parts(build, parts):
    cases = Cases(build / "quantized_block")
    names = []
    for part, path, inputs, want in parts:
        if part.is_integer:
            names.append(f"{path.stem}_{'_'.join(part.ops) or 'codes'}")
            cases.add(names[-1], path, [(inputs, [want])])
    assert len(names) > 10
    outcomes = cases.run(build)
    for name in names:
        check(outcomes[name])


def test_float_parts(quantc, parts, tmp_path):
    off = total = 0
    for part, path, inputs, want in parts:
        if part.is_integer:
            continue
        np.savez(tmp_path / "in.npz", **{f"in_{i}": a for i, a in enumerate(inputs)})
        quantc("run", path, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        (got,) = np.load(tmp_path / "out.npz").values()
        distance = np.abs(got.astype(int) - want.astype(int))
        assert distance.max() <= 1, part.ops
        off, total = off + np.count_nonzero(distance), total + distance.size
    assert total > 1000 and off <= 0.001 * total
