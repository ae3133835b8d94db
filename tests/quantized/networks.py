"""CNNs that ONNX Runtime's own quantize_static makes of small seeded networks, and its answers."""
import functools
import logging
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

logging.getLogger().setLevel(logging.ERROR)
F = np.float32
SAMPLES = 2


class Builder:
    """A float network in ONNX, weights seeded and scaled so that activations keep their size."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, array) -> str:
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{self.count}"))
        return f"c{self.count}"

    def node(self, op: str, *inputs: str, **attributes) -> str:
        self.count += 1
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{self.count}"], name=f"{op}_{self.count}", **attributes))
        return f"v{self.count}"

    def conv(self, x: str, cin: int, cout: int, k: int, stride: int = 1, group: int = 1, act: str = "") -> str:
        w = self.rng.normal(size=(cout, cin // group, k, k)) * np.sqrt(2.0 / (cin // group * k * k))
        w *= np.exp(self.rng.normal(size=(cout, 1, 1, 1)) * 0.3)
        y = self.node("Conv", x, self.constant(w.astype(F)), self.constant((self.rng.normal(size=cout) * 0.1).astype(F)),
                      strides=[stride, stride], pads=[k // 2] * 4, group=group, kernel_shape=[k, k])
        if act == "Relu":
            return self.node("Relu", y)
        if act == "Relu6":
            return self.node("Clip", y, self.constant(F(0)), self.constant(F(6)))
        return y

    def classifier(self, x: str, channels: int) -> str:
        x = self.node("Flatten", self.node("GlobalAveragePool", x))
        w = (self.rng.normal(size=(10, channels)) / np.sqrt(channels)).astype(F)
        return self.node("Gemm", x, self.constant(w), self.constant((self.rng.normal(size=10) * 0.1).astype(F)), transB=1)

    def model(self, y: str, size: int, batch: int) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, size, size])],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def resnet18(size: int, batch: int, width: int = 8) -> onnx.ModelProto:
    b = Builder(18)
    x = b.conv("x", 3, width, 7, 2, act="Relu")
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for stage in range(4):
        out = width << stage
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            y = b.conv(b.conv(x, channels, out, 3, stride, act="Relu"), out, out, 3)
            shortcut = b.conv(x, channels, out, 1, stride) if stride != 1 or channels != out else x
            x, channels = b.node("Relu", b.node("Add", y, shortcut)), out
    return b.model(b.classifier(x, channels), size, batch)


def mobilenet_v2(size: int, batch: int) -> onnx.ModelProto:
    b = Builder(2)
    x, channels = b.conv("x", 3, 8, 3, 2, act="Relu6"), 8
    for expand, out, count, stride in ((1, 8, 1, 1), (6, 8, 2, 2), (6, 8, 3, 2), (6, 16, 4, 2), (6, 24, 3, 1), (6, 40, 3, 2), (6, 80, 1, 1)):
        for i in range(count):
            hidden, s = channels * expand, stride if i == 0 else 1
            y = b.conv(x, channels, hidden, 1, act="Relu6") if expand != 1 else x
            y = b.conv(b.conv(y, hidden, hidden, 3, s, hidden, "Relu6"), hidden, out, 1)
            x, channels = (b.node("Add", x, y) if s == 1 and channels == out else y), out
    return b.model(b.classifier(b.conv(x, channels, 96, 1, act="Relu6"), 96), size, batch)


class Samples(CalibrationDataReader):
    def __init__(self, arrays):
        self.rest = iter([{"x": a} for a in arrays])

    def get_next(self):
        return next(self.rest, None)


def quantized(float_model: onnx.ModelProto, path: Path, operators: bool, signed: bool, per_channel: bool,
              dedicated: bool = False) -> None:
    """Writes the model that quantize_static makes: QDQ or operators, s8s8 or u8s8; dedicated: a pair for every reader.
    Weights have 7 bits where ONNX Runtime saturates sums of more, so that its answers are exact on every processor."""
    shape = [d.dim_value for d in float_model.graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(1)
    source = path.with_suffix(".float.onnx")
    onnx.save(float_model, source)
    quantize_static(source, path, Samples([rng.normal(size=shape).astype(F) for _ in range(SAMPLES)]),
                    quant_format=QuantFormat.QOperator if operators else QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=QuantType.QInt8 if signed else QuantType.QUInt8, weight_type=QuantType.QInt8,
                    reduce_range=not machine_is_exact(), extra_options={"DedicatedQDQPair": dedicated})


def session_options(signed_kernels: bool = False) -> ort.SessionOptions:
    """ONNX Runtime at its default level. signed_kernels: signed codes of QDQ models stay so and have integer kernels, which is
    its default on ARM and an option on x86."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdqisint8allowed", str(int(signed_kernels)))
    return options


def optimised(path: Path, out: Path, signed_kernels: bool = False) -> onnx.ModelProto:
    """The model that ONNX Runtime makes of this one before it runs it, also written to `out`."""
    options = session_options(signed_kernels)
    options.optimized_model_filepath = str(out)
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnx.load(out)


def answers(path: Path, inputs: list[np.ndarray], names: list[str] | None = None, signed_kernels: bool = False,
            as_written: bool = False) -> list[list[np.ndarray]]:
    """ONNX Runtime's outputs at its default level; as_written: of a model it optimised before."""
    options = session_options(signed_kernels)
    if as_written:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [session.run(names, {session.get_inputs()[0].name: x}) for x in inputs]


@functools.cache
def machine_is_exact() -> bool:
    """Whether ONNX Runtime's sums of u8 and s8 are exact here: two products of 255 * 127 exceed 16 bits."""
    w = numpy_helper.from_array(np.full((64, 8), 127, np.int8), "w")
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "probe",
                              [helper.make_tensor_value_info("x", TensorProto.UINT8, [8, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.INT32, [8, 8])], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return int(session.run(None, {"x": np.full((8, 64), 255, np.uint8)})[0].flat[0]) == 64 * 255 * 127
