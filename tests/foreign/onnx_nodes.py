"""Random models of one ONNX node with attributes at their corners, and what ONNX Runtime answers."""
import zlib
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from tests.foreign.onnx_values import Draw

OPSETS = [9, 11, 13, 15, 18, 21, 23]
# The first of these versions that has the operation, where it is a late one.
SINCE = {"Attention": 23, "RotaryEmbedding": 23, "Swish": 24, "TensorScatter": 24, "GridSample": 18, "AffineGrid": 21, "HannWindow": 18,
         "HammingWindow": 18, "BlackmanWindow": 18, "DFT": 18, "STFT": 18, "CenterCropPad": 18, "Col2Im": 18, "CastLike": 15,
         "BlockedDequantize": 21, "BlockedQuantize": 21}
TOLERANCE = {"float32": (2e-5, 1e-5), "float64": (1e-11, 1e-11), "float16": (4e-3, 2e-3)}
# Doubles of these go through single precision in ONNX Runtime, or their numbers do; quantc's answers are those of doubles.
SINGLE = {"HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Selu", "Celu", "ThresholdedRelu", "Shrink", "GroupNormalization", "Attention", "DFT", "Gelu",
          "HannWindow", "HammingWindow", "BlackmanWindow"}


class Refused(Exception):
    """ONNX Runtime does not take the model, or has no kernel for it."""


@dataclass
class Node:
    """A node with its operands. Those at `constant` are part of the model."""

    op: str
    inputs: list  # arrays; None where an optional operand is left out
    attributes: dict = field(default_factory=dict)
    constant: tuple = ()
    outputs: int = 1
    opset: int = 21

    def names(self):
        return ["" if a is None else f"in_{i}" for i, a in enumerate(self.inputs)]

    def fed(self):
        return {f"in_{i}": a for i, a in enumerate(self.inputs) if a is not None and i not in self.constant}

    def described(self):
        """Shapes of the operands, short lists of integers that are part of the model, and attributes: what makes a class of nodes."""
        def operand(i, a):
            short = i in self.constant and a.dtype == np.int64 and a.size <= 16
            return f"in_{i}={a.tolist()}" if short else f"in_{i}{list(a.shape)}" + ("nan" if a.dtype.kind == "f" and np.isnan(a).any() else "")
        operands = [operand(i, a) for i, a in enumerate(self.inputs) if a is not None]
        return " ".join([f"opset{self.opset}", *operands, *(f"{k}={v}" for k, v in sorted(self.attributes.items())), str(self.inputs[0].dtype)])

    def model(self):
        results = [f"out_{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, self.names(), results, name="node", **self.attributes)
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in self.fed().items()]
        constants = [numpy_helper.from_array(self.inputs[i], f"in_{i}") for i in self.constant if i < len(self.inputs) and self.inputs[i] is not None]
        graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=n) for n in results], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        try:
            inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
            types = [declared.type.tensor_type for declared in inferred.graph.output]
            for type_ in types:
                type_.elem_type = type_.elem_type or inputs[0].type.tensor_type.elem_type  # results of functions have none
                type_.shape.SetInParent()
            onnx.checker.check_model(inferred)
        except Exception as fault:  # noqa: BLE001  several kinds of errors of one meaning
            raise Refused(str(fault)) from None
        for type_ in types:
            type_.ClearField("shape")
        return inferred


def answer(model, fed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, fed)
    except Exception as fault:  # noqa: BLE001
        raise Refused(str(fault)) from None


def tolerance(array, op):
    if array.dtype.name not in TOLERANCE:
        return 0.0, 0.0
    relative, scaled = (1e-7, 1e-7) if op in SINGLE and array.dtype == np.float64 else TOLERANCE[array.dtype.name]
    finite = np.abs(array[np.isfinite(array)].astype("float64"))
    return relative, scaled * max(1.0, float(finite.max(initial=0.0)))


def draw_node(makers, op, seed):
    draw = Draw([seed, zlib.crc32(op.encode())])
    opset = draw.one(*[opset for opset in OPSETS if opset >= SINCE.get(op, 0)] or [SINCE[op]])
    made = makers[op](draw, opset)
    made.op, made.opset = made.op or op, opset
    return made
