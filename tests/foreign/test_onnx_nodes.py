"""Random models of one ONNX node against ONNX Runtime: nothing differs that differences.txt does not explain. `make test` takes four
models of every operation and what was once found wrong, `make soak` hundreds."""
from collections import Counter

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime")
from tests.foreign.onnx_networks import MAKERS  # noqa: E402
from tests.foreign.onnx_nodes import Node, Refused, answer  # noqa: E402
from tests.foreign.suite import run_nodes, unexplained  # noqa: E402
from tests.support.aten import close  # noqa: E402

SEEDS, MANY, STEP = range(4), range(300), 20


def ramp(*shape):
    return np.linspace(-2, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def ints(*values):
    return np.array(values, np.int64)


# Once wrong or refused.
FORMER = {
    "shrink of a negative threshold": Node("Shrink", [ramp(9)], {"lambd": -0.5, "bias": 0.5}),
    "backwards through nothing": Node("Slice", [ramp(0, 2), ints(-2**31), ints(1), ints(0), ints(-2)], {}, (1, 2, 3, 4)),
    "logarithms of integers": Node("ReduceLogSum", [np.array([1, 8, 21], np.int32)], {"noop_with_empty_axes": 1}),
    "codes of NaN": Node("QuantizeLinear", [np.array([1, np.nan, -1], np.float32), np.array(0.5, np.float32), np.array(3, np.int8)]),
    "bytes between bytes": Node("Resize", [np.array([[[9, 5, 9, 2, -7, 1], [8, 3, 8, 0, 1, 1]]], np.int8), None, np.array([1, 1, 3], np.float32)], {"mode": "linear"}, (1, 2)),
    "hardmax of nothing": Node("Hardmax", [ramp(3, 0)], {"axis": 1}),
}


@pytest.mark.parametrize("name", FORMER)
def test_former(name, quantc, tmp_path):
    node = FORMER[name]
    model = node.model()
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", **node.fed())
    quantc("run", tmp_path / "m.onnx", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    got = np.load(tmp_path / "out.npz")
    for want, key in zip(answer(model, node.fed()), got.files, strict=True):
        close(want, got[key], name)


def test_integers_are_refused_by_name(quantc, tmp_path):
    onnx.save(Node("Shrink", [np.arange(4)]).model(), tmp_path / "m.onnx")
    assert "Shrink of i64" in quantc("inspect", tmp_path / "m.onnx", status=2).stderr


def test_regions_of_doubles_are_refused(quantc, tmp_path):
    """They were computed in single precision without a word."""
    onnx.save(Node("RoiAlign", [np.ones((1, 1, 4, 4)), np.array([[0.0, 0, 3, 3]]), ints(0)]).model(), tmp_path / "m.onnx")
    assert "regions of f64" in quantc("inspect", tmp_path / "m.onnx", status=2).stderr


def test_random_nodes(build):
    results = run_nodes(MAKERS, MAKERS, SEEDS, build)
    assert len(results) > len(MAKERS)
    assert not unexplained("onnx", results)


@pytest.mark.soak
def test_many_random_nodes(build):
    """The first of five steps is also compiled as C."""
    results = []
    for start in MANY[::STEP]:
        results += run_nodes(MAKERS, MAKERS, range(start, start + STEP), build, compiled=start // STEP % 5 == 0)
    print(len(results), Counter("refused" if r.refused else r.stage for r in results))
    assert {r.op for r in results if r.passes} == set(MAKERS)
    assert not unexplained("onnx", results)


def test_a_wrong_model_is_no_case():
    with pytest.raises(Refused):
        Node("Add", [ramp(2), ramp(3)]).model()
