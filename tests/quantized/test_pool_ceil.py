"""Average pools of codes whose last windows reach beyond the padded input, against ONNX Runtime."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node


def model(path, spelling, attributes, zero):
    constants = {"sx": np.float32(0.1), "zx": np.uint8(zero), "sy": np.float32(0.07), "zy": np.uint8(3)}
    if spelling == "operator":
        nodes = [node("QLinearAveragePool", ["x", "sx", "zx", "sy", "zy"], ["y"], name="pool", domain="com.microsoft", **attributes)]
    else:
        nodes = [node("DequantizeLinear", ["x", "sx", "zx"], ["f"]), node("AveragePool", ["f"], ["g"], name="pool", **attributes),
                 node("QuantizeLinear", ["g", "sy", "zy"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 2, 7, 6])],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8), path)


# arithmetic.md: Q56, P2
@pytest.mark.parametrize("spelling", ["operator", "qdq"])
@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [0, 2, 1, 0]])
def test_codes_are_those_of_onnx_runtime(quantc, tmp_path, spelling, ceil, include, pads):
    path = tmp_path / "m.onnx"
    model(path, spelling, {"kernel_shape": [4, 3], "strides": [3, 2], "ceil_mode": ceil, "count_include_pad": include, "pads": pads}, 0 if ceil else 5)
    x = np.random.default_rng(0).integers(100, 256, (1, 2, 7, 6)).astype(np.uint8)
    want = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.savez(tmp_path / "i.npz", x=x)
    np.savez(tmp_path / "e.npz", y=want)
    quantc("run", path, "-i", tmp_path / "i.npz", "-o", tmp_path / "o.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "o.npz")["y"], want)
    if ceil and include:
        quantc("validate", path, "-i", tmp_path / "i.npz", "-e", tmp_path / "e.npz", "--cflags", "-O1")
