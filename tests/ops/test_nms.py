"""Non-maximum suppression: what ONNX Runtime keeps, in the interpreter and in C, with a fixed bound and a count."""
import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from tests.support.onnx_models import build, node, save, value, weight

SHAPES = [(1, 1, 1), (1, 1, 60), (2, 3, 25), (3, 1, 7), (1, 4, 40)]  # batches, classes, boxes


def suppression(i: int, shape, center: int, rng):
    """Node i with its operands: boxes and scores with ties, often without a threshold or a limit that binds."""
    batches, classes, boxes = shape
    corners = rng.integers(0, 12, (batches, boxes, 4)).astype(np.float32)
    positions = rng.random((batches, boxes, 4), dtype=np.float32) * 10
    arrays = {f"b{i}": np.where(rng.random((batches, boxes, 1)) < 0.3, corners, positions).astype(np.float32),
              f"s{i}": np.round(rng.random((batches, classes, boxes)) * (8 if i % 2 else 100)).astype(np.float32) / 8}
    constants = [weight(f"m{i}", np.array([rng.choice([2, 8, 1000, 1000])], np.int64)),
                 weight(f"i{i}", np.array([rng.choice([0.0, 0.1, 0.25, 0.5])], np.float32))]
    operands = [f"b{i}", f"s{i}", f"m{i}", f"i{i}"]
    if i % 3:
        constants.append(weight(f"t{i}", np.array([rng.choice([0.0, 0.5, 3.0])], np.float32)))
        operands.append(f"t{i}")
    return node("NonMaxSuppression", operands, [f"y{i}"], center_point_box=center), arrays, constants


def limit_of(constants) -> int:
    return int(np.frombuffer(constants[0].raw_data, np.int64)[0])


# arithmetic.md: S17
def test_random_boxes_as_onnx_runtime_keeps_them(quantc, tmp_path):
    rng = np.random.default_rng(11)
    cases = [suppression(i, shape, center, rng) for i, (shape, center, _) in enumerate(itertools.product(SHAPES, (0, 1), range(2)))]
    arrays = {name: a for _, given, _ in cases for name, a in given.items()}
    outputs = [value(f"y{i}", [None, 3], TensorProto.INT64) for i in range(len(cases))]
    model = build([n for n, _, _ in cases], [value(name, a.shape) for name, a in arrays.items()], outputs,
                  [c for _, _, constants in cases for c in constants])
    model.ir_version = 10  # what ONNX Runtime knows
    onnx.save(model, tmp_path / "nms.onnx")
    retained = onnxruntime.InferenceSession(tmp_path / "nms.onnx", providers=["CPUExecutionProvider"]).run(None, arrays)
    expected = {}
    for i, (_, given, constants) in enumerate(cases):
        batches, classes, boxes = given[f"s{i}"].shape
        rows = np.full((batches * classes * min(limit_of(constants), boxes), 3), -1, np.int64)
        rows[:len(retained[i])] = retained[i]
        expected |= {f"y{i}": rows, f"y{i}_count": np.array(len(retained[i]))}
    assert sum(0 < expected[f"y{i}_count"] < len(expected[f"y{i}"]) for i in range(len(cases))) >= 8
    np.savez(tmp_path / "in.npz", **arrays)
    np.savez(tmp_path / "expected.npz", **expected)
    quantc("validate", tmp_path / "nms.onnx", "-i", tmp_path / "in.npz", "-e", tmp_path / "expected.npz")


BOXES = [value("b", [1, 6, 4]), value("s", [1, 1, 6])]
CONSTANTS = [weight("m", np.array([4], np.int64)), weight("i", np.array([0.5], np.float32))]
ROWS = value("y", [None, 3], TensorProto.INT64)
SUPPRESSION = node("NonMaxSuppression", ["b", "s", "m", "i"], ["y"])


def refusal(quantc, path, nodes, output, inputs=BOXES) -> str:
    """What quantc says to a model that it does not support."""
    return quantc("inspect", save(path / "net.onnx", nodes, inputs, [output], CONSTANTS), status=2).stderr


def test_the_count_follows_the_outputs_of_the_model(quantc, tmp_path):
    nodes = [SUPPRESSION, node("Relu", ["s"], ["y_count"]), node("Identity", ["s"], ["z"])]
    save(tmp_path / "net.onnx", nodes, BOXES, [ROWS, value("y_count", [1, 1, 6]), value("z", [1, 1, 6])], CONSTANTS)
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "in.npz", b=rng.random((1, 6, 4), dtype=np.float32), s=rng.random((1, 1, 6), dtype=np.float32))
    quantc("run", tmp_path / "net.onnx", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    out = np.load(tmp_path / "out.npz")
    assert out.files == ["y", "y_count", "z", "y_count_1"]
    assert out["y"].shape == (4, 3) and out["y_count_1"].shape == ()
    assert (out["y"][int(out["y_count_1"]):] == -1).all() and (out["y"][:int(out["y_count_1"])] >= 0).all()


@pytest.mark.parametrize("reader", [
    [node("Cast", ["y"], ["z"], to=TensorProto.INT32)], [node("Shape", ["y"], ["z"])], [node("Identity", ["y"], ["z"])],
    [node("SequenceConstruct", ["y"], ["q"]), node("ConcatFromSequence", ["q"], ["z"], axis=0)]])
def test_nothing_in_the_model_reads_the_padding(quantc, tmp_path, reader):
    said = refusal(quantc, tmp_path, [SUPPRESSION, *reader], value("z", None, 0))
    assert "reads 'y'" in said and "can only be an output of the model" in said


def test_no_branch_reads_the_padding(quantc, tmp_path):
    branch = build([node("ReduceMax", ["y"], ["r"])], [], [value("r", [1, 1], TensorProto.INT64)]).graph
    other = build([node("ReduceMin", ["y"], ["r"])], [], [value("r", [1, 1], TensorProto.INT64)]).graph
    nodes = [SUPPRESSION, node("If", ["c"], ["z"], then_branch=branch, else_branch=other)]
    said = refusal(quantc, tmp_path, nodes, value("z", None, 0), [*BOXES, value("c", [], TensorProto.BOOL)])
    assert "reads 'y'" in said


def test_no_branch_has_rows_to_count(quantc, tmp_path):
    branch = build([SUPPRESSION], [], [ROWS]).graph
    said = refusal(quantc, tmp_path, [node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)], value("z", None, 0),
                   [*BOXES, value("c", [], TensorProto.BOOL)])
    assert "in the body of a loop or branch" in said


@pytest.mark.parametrize("at, name, kind", [(2, "max_output_boxes_per_class", TensorProto.INT64), (3, "iou_threshold", TensorProto.FLOAT),
                                            (4, "score_threshold", TensorProto.FLOAT)])
def test_limits_are_constants(quantc, tmp_path, at, name, kind):
    operands = ["b", "s", "m", "i", ""]
    operands[at] = "given"
    said = refusal(quantc, tmp_path, [node("NonMaxSuppression", operands, ["y"])], ROWS, [*BOXES, value("given", [1], kind)])
    assert f"{name} is computed at run time" in said


def test_constant_boxes_give_exactly_what_onnx_means(quantc, tmp_path):
    """Rows that are known when compiling have no padding, so other nodes may read them."""
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [3, 3, 4, 4]]], np.float32)
    constants = [*CONSTANTS, weight("b", boxes), weight("s", np.array([[[0.5, 0.75, 0.25]]], np.float32))]
    nodes = [SUPPRESSION, node("Gather", ["y", "two"], ["box"], axis=1), node("Gather", ["x", "box"], ["z"])]
    save(tmp_path / "net.onnx", nodes, [value("x", [3])], [value("z", None)], [*constants, weight("two", np.array(2))])
    np.savez(tmp_path / "in.npz", x=np.array([5, 6, 7], np.float32))
    quantc("run", tmp_path / "net.onnx", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert np.load(tmp_path / "out.npz")["z"].tolist() == [6, 7]


def test_none_wanted_gives_nothing(quantc, tmp_path):
    arrays = {"b": np.ones((1, 6, 4), np.float32), "s": np.ones((1, 1, 6), np.float32)}
    np.savez(tmp_path / "in.npz", **arrays)
    np.savez(tmp_path / "expected.npz", y=np.zeros((0, 3), np.int64), y_count=np.array(0))
    model = save(tmp_path / "net.onnx", [node("NonMaxSuppression", ["b", "s"], ["y"])], BOXES, [ROWS])
    quantc("validate", model, "-i", tmp_path / "in.npz", "-e", tmp_path / "expected.npz")
