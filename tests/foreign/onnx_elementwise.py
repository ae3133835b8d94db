"""Makers of random nodes: arithmetic on single elements, casts, reductions and normalisations."""
import numpy as np
from onnx import helper

from tests.foreign.onnx_nodes import Node
from tests.foreign.onnx_values import ALL, FLOATS, INTEGERS, NUMBERS

MAKERS = {}


def maker(*ops):
    def add(function):
        for op in ops:
            MAKERS[op] = lambda d, opset, op=op: function(d, opset, op)
        return function
    return add


def ints(values):
    return np.array(values, np.int64)


@maker("Abs", "Neg", "Sign", "Relu", "Identity", "Not", "BitwiseNot")
def plain(d, opset, op):
    types = ["bool"] if op == "Not" else INTEGERS if op == "BitwiseNot" else ALL if op == "Identity" else NUMBERS
    return Node("", [d.array(d.dtype(types), d.shape(), 0.4)])


@maker("Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh",
       "Asinh", "Acosh", "Atanh", "Erf", "Sigmoid", "Softplus", "Softsign", "HardSwish", "Mish", "IsNaN")
def float_function(d, opset, op):
    return Node("", [d.array(d.dtype(FLOATS), d.shape(), 0.4)])


@maker("IsInf")
def is_inf(d, opset, op):
    return Node("", [d.array(d.dtype(FLOATS), d.shape(), 0.9)], {"detect_negative": d.int(0, 1), "detect_positive": d.int(0, 1)})


@maker("Elu", "LeakyRelu", "ThresholdedRelu", "Celu", "Selu", "HardSigmoid", "Shrink", "Gelu")
def with_numbers(d, opset, op):
    number = lambda: d.one(0.0, 1.0, 0.5, -0.5, 3.0, 1e-3)  # noqa: E731
    named = {"Selu": ["alpha", "gamma"], "HardSigmoid": ["alpha", "beta"], "Shrink": ["lambd", "bias"]}.get(op, ["alpha"])
    attributes = {"approximate": d.one("none", "tanh")} if op == "Gelu" else {name: number() for name in named if d.some(0.7)}
    if op == "Celu" and attributes.get("alpha", 1) <= 0:
        attributes["alpha"] = 2.0
    return Node("", [d.array(d.dtype(NUMBERS if op == "Shrink" else FLOATS), d.shape(), 0.3)], attributes)


@maker("Clip")
def clip(d, opset, op):
    dtype = d.dtype() if opset >= 12 else "float32"
    x = d.array(dtype, d.shape(), 0.3)
    low, high = (d.array(dtype, [], 0.3) if d.some(0.7) else None for _ in range(2))
    if opset < 11:
        return Node("", [x], {n: float(v) for n, v in (("min", low), ("max", high)) if v is not None and np.isfinite(v)})
    return Node("", [x, low, high][:1 if low is None and high is None else 3 if high is not None else 2])


@maker("Cast")
def cast(d, opset, op):
    to = d.dtype(ALL)
    values = d.array(d.dtype(ALL), d.shape(high=3), 0.0, 40.0)
    if values.dtype.kind == "f" and np.dtype(to).kind == "u":
        values = np.abs(values)
    return Node("", [values], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(to))})


@maker("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor",
       "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift")
def binary(d, opset, op):
    types = (["bool"] if op in ("And", "Or", "Xor") else INTEGERS if op.startswith("Bitwise") else
             ["uint8", "uint16", "uint32", "uint64"] if op == "BitShift" else ALL if op == "Equal" else NUMBERS)
    dtype, shape = d.dtype(types), d.shape()
    corners = 0.0 if op in ("Pow", "Mod", "BitShift", "Div") and dtype not in FLOATS else 0.3
    a, b = d.array(dtype, shape, corners), d.array(dtype, d.part(shape), corners)
    attributes = {}
    if op in ("Div", "Mod") and dtype not in FLOATS:
        b = np.where(b == 0, 3, b).astype(dtype)
    if op == "Mod":
        attributes = {"fmod": 1 if dtype in FLOATS else d.int(0, 1)}
    if op == "Pow":
        b = np.abs(b) if dtype not in FLOATS else d.array(dtype, b.shape).round() if d.some() else b
        a, b = (np.asarray(v).astype(dtype) for v in (a, np.minimum(b, 5) if dtype not in FLOATS else b))
    if op == "BitShift":
        b, attributes = (np.abs(b) % 8).astype(dtype), {"direction": d.one("LEFT", "RIGHT")}
    swap = op not in ("PRelu", "Div", "Mod", "Pow", "BitShift") and d.some(0.3)
    return Node("", [b, a] if swap else [a, b], attributes)


@maker("Min", "Max", "Sum", "Mean")
def variadic(d, opset, op):
    dtype, shape = d.dtype(FLOATS if op in ("Sum", "Mean") else NUMBERS), d.shape(high=4)
    return Node("", [d.array(dtype, d.part(shape), 0.3 if op in ("Min", "Max") else 0) for _ in range(d.int(1, 4))])


@maker("Where")
def where(d, opset, op):
    dtype, shape = d.dtype(ALL), d.shape(high=4)
    return Node("", [d.array("bool", d.part(shape)), d.array(dtype, d.part(shape)), d.array(dtype, d.part(shape))])


@maker("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
       "ReduceSumSquare")
def reduction(d, opset, op):
    x = d.array(d.dtype(["float32", "float64", "int32", "int64", "int8", "uint8", "float16", "bool"]), d.shape(), 0.0, 1.5)
    if op == "ReduceLogSum" and x.dtype.kind == "f":
        x = np.abs(x) + x.dtype.type(0.1)
    attributes = {"keepdims": d.int(0, 1)} if d.some(0.8) else {}
    axes = None if x.ndim == 0 or d.some(0.2) else d.axes(x.ndim)
    if opset < (13 if op == "ReduceSum" else 18):
        return Node("", [x], attributes | ({"axes": axes} if axes else {}))
    if d.some(0.3):
        attributes["noop_with_empty_axes"] = d.int(0, 1)
    if axes is None:
        return Node("", [x, ints([])] if d.some() else [x], attributes, (1,))
    return Node("", [x, ints(axes)], attributes, (1,))


@maker("ArgMax", "ArgMin")
def arg(d, opset, op):
    x = d.array(d.dtype(["float32", "float64", "int32", "int8", "uint8", "float16", "int64"]), d.shape(1))
    attributes = {"axis": d.axis(x.ndim), "keepdims": d.int(0, 1)}
    return Node("", [x], attributes | ({"select_last_index": d.int(0, 1)} if opset >= 12 else {}))


@maker("Softmax", "LogSoftmax", "Hardmax")
def softmax(d, opset, op):
    x = d.array(d.dtype(FLOATS), d.shape(1), 0.0, 4.0)
    axis = d.axis(x.ndim)
    return Node("", [x], {"axis": axis if opset >= 11 else abs(axis) % x.ndim} if d.some(0.8) else {})


@maker("CumSum")
def cumsum(d, opset, op):
    x = d.array(d.dtype(["float32", "float64", "int32", "int64"]), d.shape(1))
    return Node("", [x, np.array(d.axis(x.ndim), d.one(np.int32, np.int64))], {"exclusive": d.int(0, 1), "reverse": d.int(0, 1)}, (1,))


@maker("TopK")
def topk(d, opset, op):
    x = d.array(d.dtype(["float32", "float64", "int64", "int32"]), d.shape(1, empty=0))
    if x.dtype.kind == "i":
        x = d.rng.permutation(x.size).reshape(x.shape).astype(x.dtype)
    axis = d.axis(x.ndim) if opset >= 11 else d.int(0, x.ndim - 1)
    attributes = {"axis": axis} | ({"largest": d.int(0, 1), "sorted": 1} if opset >= 11 else {})
    return Node("", [x, ints([d.int(0, x.shape[axis])])], attributes, (1,), 2)


@maker("LpNormalization")
def lp_normalization(d, opset, op):
    x = d.array(d.dtype(FLOATS), d.shape(1))
    return Node("", [x], {"axis": d.axis(x.ndim), "p": d.one(1, 2)})


@maker("LayerNormalization", "RMSNormalization")
def layer_norm(d, opset, op):
    x = d.array(d.dtype(FLOATS), d.shape(1, 4, 0))
    axis = d.axis(x.ndim)
    shape = x.shape[axis % x.ndim:]
    operands = [x, d.array(x.dtype, shape)] + ([d.array(x.dtype, shape)] if op[0] == "L" and d.some() else [])
    return Node("", operands, {"axis": axis, "epsilon": d.one(1e-5, 1e-2, 0.5)}, outputs=d.one(1, 3) if op[0] == "L" and x.dtype == "float32" else 1)


@maker("InstanceNormalization", "BatchNormalization", "GroupNormalization")
def channel_norm(d, opset, op):
    channels = d.one(1, 2, 4, 6)
    x = d.array(d.dtype(FLOATS), [d.one(1, 2, 3), channels, *d.shape(1 if op[0] == "I" else 0, 3, 0)])
    if op[0] == "G":
        groups = d.one(*[g for g in (1, 2, 3, 4, 6) if channels % g == 0])
        per = groups if opset < 21 else channels
        return Node("", [x, d.array(x.dtype, [per]), d.array(x.dtype, [per])], {"num_groups": groups, "epsilon": d.one(1e-5, 0.1)})
    operands = [x, d.array(x.dtype, [channels]), d.array(x.dtype, [channels])]
    if op[0] == "B":
        operands += [d.array(x.dtype, [channels]), d.positive(x.dtype, [channels])]
    return Node("", operands, {"epsilon": d.one(1e-5, 0.1)})


@maker("LRN", "MeanVarianceNormalization")
def planes_norm(d, opset, op):
    x = d.array("float32", [d.one(1, 2), d.int(1, 7), *d.shape(2, 2, 0)])
    if op == "LRN":
        return Node("", [x], {"size": d.one(1, 3, 5, 2, 4), "alpha": d.one(1e-4, 0.5), "beta": d.one(0.75, 0.5), "bias": d.one(1.0, 2.0)})
    return Node("", [x], {"axes": sorted(a % 4 for a in d.axes(4))} if d.some() else {})


@maker("QuantizeLinear", "DequantizeLinear")
def quantize(d, opset, op):
    codes = d.one("int8", "uint8")
    shape = d.shape(1, 4, 0)
    axis, per_axis = d.axis(len(shape)), opset >= 13 and d.some()
    parameters = [shape[axis]] if per_axis else []
    scale, zero = d.positive("float32", parameters) / np.float32(4), d.array(codes, parameters)
    if op == "DequantizeLinear" and d.some(0.2):
        codes, zero = "int32", None
    x = d.array("float32", shape, 0.1, 20.0) if op[0] == "Q" else d.array(codes, shape, 0.5)
    return Node("", [x, scale] + ([zero] if zero is not None and d.some(0.8) else []), {"axis": axis} if per_axis else {})


@maker("DynamicQuantizeLinear")
def dynamic_quantize(d, opset, op):
    return Node("", [d.array("float32", d.shape(1, 3, 0), 0.0, d.one(0.1, 3.0, 100.0))], outputs=3)
