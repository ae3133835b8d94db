"""Indices of 32 bits for inputs of 64 are cast, and a note says so."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IDS = np.int32([[3, 0, 2], [1, 1, 4]])


def test_indices_of_32_bits_are_cast_with_a_note(quantc, tmp_path):
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    values = [helper.make_tensor_value_info("ids", TensorProto.INT64, [2, 3]), helper.make_tensor_value_info("rows", TensorProto.FLOAT, [2, 3, 2])]
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["rows"])], "g", values[:1], values[1:], [numpy_helper.from_array(table, "table")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    for dtype, count in ((np.int32, 1), (np.uint8, 1), (np.int64, 0)):
        np.savez(tmp_path / "ids.npz", ids=IDS.astype(dtype))
        for flag in ("-i", "--data"):
            done = quantc("run", tmp_path / "m.onnx", flag, tmp_path / "ids.npz", "-o", tmp_path / "y.npz")
            np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["rows"].reshape(2, 3, 2), table[IDS])
            assert done.stderr.count("input 'ids' is i64, elements of") == count, done.stderr
    np.savez(tmp_path / "ids.npz", ids=IDS.astype(np.float32))
    assert "ids" in quantc("run", tmp_path / "m.onnx", "-i", tmp_path / "ids.npz", "-o", tmp_path / "y.npz", status=1).stderr
