"""Axes of free sizes cut into parts, and names of what a model returns."""
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from tests.support.quantized import module

AUTO = torch.export.Dim.AUTO


def saved(path, inputs, outputs, nodes):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def exported(path, forward, *shape):
    with torch.no_grad():
        program = torch.export.export(module(lambda m, x: forward(x)), (torch.randn(*shape),), dynamic_shapes=(({0: AUTO},),))
    torch.export.save(program, path)
    return path


def run(quantc, model, x, *flags, status=0):
    np.savez(model.parent / "in.npz", in_0=x)
    done = quantc("run", model, "-i", model.parent / "in.npz", "-o", model.parent / "out.npz", *flags, status=status)
    return list(np.load(model.parent / "out.npz").items()) if status == 0 else done.stderr


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_split_of_a_free_size_loses_nothing(quantc, tmp_path, parts):
    names = [f"y{i}" for i in range(parts)]
    model = saved(tmp_path / "m.onnx", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
                  [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names],
                  [helper.make_node("Split", ["x"], names, num_outputs=parts, axis=0)])
    for n in range(1, 10):
        x = np.arange(2 * n, dtype="float32").reshape(n, 2)
        size = -(-n // parts)
        for (_, got), i in zip(run(quantc, model, x), range(parts), strict=True):
            np.testing.assert_array_equal(got, x[min(i * size, n):min((i + 1) * size, n)])


def test_split_of_a_free_size_in_c(quantc, tmp_path):
    model = saved(tmp_path / "m.onnx", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
                  [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("a", "b")],
                  [helper.make_node("Split", ["x"], ["a", "b"], num_outputs=2, axis=0)])
    quantc("validate", model, "--random", "1", "--dim", "n=5", "--cflags", "-O0")


def test_chunks_of_a_free_size(quantc, tmp_path):
    model = exported(tmp_path / "m.pt2", lambda x: torch.chunk(x, 3, 0), 12, 2)
    for n in (8, 12, 13, 14, 20):
        x = torch.arange(2.0 * n).reshape(n, 2)
        for (_, got), want in zip(run(quantc, model, x.numpy()), torch.chunk(x, 3, 0), strict=True):
            np.testing.assert_array_equal(got, want.numpy())
    # Four rows make two chunks: another number of results than the file has.
    assert "the model holds only where" in run(quantc, model, np.zeros((4, 2), "float32"), status=1)


def test_sections_of_a_free_size(quantc, tmp_path):
    model = exported(tmp_path / "m.pt2", lambda x: torch.tensor_split(x, 3, 0), 12, 2)
    for n in (9, 12, 15):
        x = torch.arange(2.0 * n).reshape(n, 2)
        for (_, got), want in zip(run(quantc, model, x.numpy()), torch.tensor_split(x, 3, 0), strict=True):
            np.testing.assert_array_equal(got, want.numpy())


def test_outputs_have_names_of_their_own(quantc, tmp_path):
    def forward(x):
        y = x + 1
        return y, y, y + 2
    model = exported(tmp_path / "m.pt2", forward, 3, 2)
    x = np.ones((3, 2), "float32")
    got = run(quantc, model, x)
    assert [name for name, _ in got] == ["add", "add_2", "add_1"]
    for (_, y), want in zip(got, (x + 1, x + 1, x + 3)):
        np.testing.assert_array_equal(y, want)
    twice = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("y", "y", "y_1")]
    model = saved(tmp_path / "m.onnx", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], twice,
                  [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y_1"])])
    assert [name for name, _ in run(quantc, model, np.ones(2, "float32"))] == ["y", "y_2", "y_1"]


def test_numbers_are_outputs(quantc, tmp_path):
    model = exported(tmp_path / "m.pt2", lambda x: (x.sum().item(), x * 2, x.shape[1], 2.5, x.shape[0]), 4, 2)
    x = np.arange(10, dtype="float32").reshape(5, 2)
    (item, total), (_, doubled), (_, columns), (_, half), (_, rows) = run(quantc, model, x)
    assert item == "item" and total.shape == () and total == 45
    np.testing.assert_array_equal(doubled, 2 * x)
    assert (columns, half, rows) == (2, 2.5, 5)
