"""Quantized operators whose operands are no codes they know: refused, and never found out by a failed check inside."""
import onnx
from onnx import TensorProto, helper


def test_codes_of_other_types_are_refused(quantc, tmp_path):
    scales = [helper.make_tensor(n, TensorProto.FLOAT, [], [v]) for n, v in (("s", 0.1), ("t", 0.2))]
    zeros = [helper.make_tensor(n, TensorProto.UINT8, [], [v]) for n, v in (("z", 3), ("u", 5))]
    for op, alpha in (("QLinearLeakyRelu", {"alpha": 0.5}), ("QLinearSigmoid", {}), ("DequantizeLinear", {})):
        wide = helper.make_node(op, ["x", "s", "z", *(["t", "u"] if op[0] == "Q" else [])], ["y"], domain="com.microsoft", **alpha)
        result = TensorProto.UINT8 if op[0] == "Q" else TensorProto.FLOAT
        model = tmp_path / "m.onnx"
        graph = helper.make_graph([wide], "g", [helper.make_tensor_value_info("x", TensorProto.UINT32, [1])],
                                  [helper.make_tensor_value_info("y", result, [1])], scales + zeros)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=9), model)
        for command in (["run", "--random", "1"], ["compile", "-o", tmp_path / "out"]):
            done = quantc(command[0], model, *command[1:], status=1)
            assert "u32" in done.stderr
