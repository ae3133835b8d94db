"""Makers of random nodes: recurrent layers, attention, sampling, signals, losses and products of codes."""
import numpy as np
from onnx import helper

from tests.foreign.onnx_elementwise import ints
from tests.foreign.onnx_movement import MAKERS as OTHERS
from tests.foreign.onnx_nodes import Node
from tests.foreign.onnx_values import ALL, FLOATS, NUMBERS

MAKERS = dict(OTHERS)


def maker(*ops):
    def add(function):
        for op in ops:
            MAKERS[op] = lambda d, opset, op=op: function(d, opset, op)
        return function
    return add


@maker("RNN", "GRU", "LSTM")
def recurrent(d, opset, op):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    steps, batch, ins, hidden = d.int(1, 4), d.int(1, 3), d.int(1, 4), d.int(1, 4)
    direction = d.one("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    array = lambda *shape: d.array("float32", shape, 0.0, 0.7)  # noqa: E731
    maybe = lambda value: value if d.some() else None  # noqa: E731
    operands = [array(steps, batch, ins), array(ways, gates * hidden, ins), array(ways, gates * hidden, hidden),
                maybe(array(ways, 2 * gates * hidden)), maybe(np.array([d.int(1, steps) for _ in range(batch)], np.int32)),
                maybe(array(ways, batch, hidden))]
    if op == "LSTM":
        operands += [maybe(array(ways, batch, hidden)), maybe(array(ways, 3 * hidden))]
    attributes = {"hidden_size": hidden, "direction": direction}
    if d.some(0.3):
        attributes["clip"] = d.one(0.2, 1.0, 5.0)
    if d.some(0.4):
        choose = lambda: d.one("Tanh", "Relu", "Sigmoid", "Softsign", "HardSigmoid", "LeakyRelu", "Elu", "Softplus")  # noqa: E731
        attributes["activations"] = [choose() for _ in range(ways * {"RNN": 1, "GRU": 2, "LSTM": 3}[op])]
    if op == "GRU":
        attributes["linear_before_reset"] = d.int(0, 1)
    if op == "LSTM" and d.some(0.2):
        attributes["input_forget"] = 1
    while operands[-1] is None:
        operands.pop()
    return Node("", operands, attributes, (1, 2, 3, 7), 3 if op == "LSTM" else 2)


@maker("Attention")
def attention(d, opset, op):
    heads, groups, batch, q, k, depth, width = d.one(1, 2, 4), 1, d.int(1, 2), d.int(1, 4), d.int(1, 5), d.one(2, 4), d.one(2, 3)
    groups = d.one(1, heads)
    dtype = d.dtype(["float32", "float16", "float64"])
    flat = d.some()
    shape = lambda h, n, w: [batch, n, h * w] if flat else [batch, h, n, w]  # noqa: E731
    operands = [d.array(dtype, shape(heads, q, depth)), d.array(dtype, shape(groups, k, depth)), d.array(dtype, shape(groups, k, width))]
    attributes = {"q_num_heads": heads, "kv_num_heads": groups} if flat else {}
    if d.some():
        mask = [batch, d.one(1, heads), q, k][d.int(0, 2):]
        operands.append(d.array(d.one(dtype, "bool"), mask))
        if operands[-1].dtype == bool:
            operands[-1][..., 0] = True
    for name, value in (("is_causal", 1), ("scale", d.one(0.3, 1.0)), ("softcap", d.one(2.0, 30.0))):
        if d.some(0.3):
            attributes[name] = value
    return Node("", operands, attributes)


@maker("RotaryEmbedding")
def rotary(d, opset, op):
    batch, heads, length, depth = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.one(4, 8)
    rotated = d.one(0, depth // 2) if d.some(0.3) else 0
    half = (rotated or depth) // 2
    flat, positions = d.some(), d.some()
    x = d.array(d.dtype(["float32", "float16"]), [batch, length, heads * depth] if flat else [batch, heads, length, depth])
    caches = [d.array(x.dtype, [6, half] if positions else [batch, length, half], 0.0, 0.5) for _ in range(2)]
    attributes = {"interleaved": d.int(0, 1)} | ({"num_heads": heads} if flat or rotated else {}) | ({"rotary_embedding_dim": rotated} if rotated else {})
    return Node("", [x, *caches] + ([d.rng.integers(0, 6, [batch, length])] if positions else []), attributes)


@maker("GridSample")
def grid_sample(d, opset, op):
    axes = d.int(2, 3) if opset >= 20 else 2
    x = d.array(d.dtype(["float32", "float32", "float64", "uint8"]), [d.int(1, 2), d.int(1, 3), *[d.int(1, 5) for _ in range(axes)]])
    grid = d.array(d.one("float32", "float32", str(x.dtype)) if x.dtype.kind == "f" else "float32", [x.shape[0], *[d.int(1, 4) for _ in range(axes)], axes], 0.0, d.one(0.5, 1.5))
    linear, cubic = ("linear", "cubic") if opset >= 20 else ("bilinear", "bicubic")
    mode = d.one(linear, "nearest", *([cubic] if axes == 2 else []))
    return Node("", [x, grid], {"mode": mode, "padding_mode": d.one("zeros", "border", "reflection"), "align_corners": d.int(0, 1)})


@maker("AffineGrid")
def affine_grid(d, opset, op):
    axes, batch = d.int(2, 3), d.int(1, 2)
    theta = d.array(d.dtype(["float32", "float64"]), [batch, axes, axes + 1])
    return Node("", [theta, ints([batch, 2, *[d.int(1, 5) for _ in range(axes)]])], {"align_corners": d.int(0, 1)}, (1,))


@maker("RoiAlign")
def roi_align(d, opset, op):
    x = d.array(d.dtype(["float32", "float64"]), [d.int(1, 2), d.int(1, 2), d.int(2, 6), d.int(2, 6)])
    count = d.int(1, 3)
    corners = np.sort(d.rng.uniform(-1, 7, [count, 2, 2]), axis=1).reshape(count, 4).astype(x.dtype)
    attributes = {"mode": d.one("avg", "max"), "output_height": d.int(1, 3), "output_width": d.int(1, 3), "sampling_ratio": d.one(0, 1, 2), "spatial_scale": d.one(1.0, 0.5)}
    if opset >= 16 and d.some():
        attributes["coordinate_transformation_mode"] = d.one("half_pixel", "output_half_pixel")
    return Node("", [x, corners, d.rng.integers(0, x.shape[0], [count])], attributes)


@maker("DFT")
def dft(d, opset, op):
    x = d.array(d.dtype(["float32", "float64"]), [d.int(1, 2), d.int(1, 8), d.int(1, 4), d.one(1, 2)])
    one_sided, inverse = (1, 0) if x.shape[-1] == 1 and d.some() else (0, d.int(0, 1))
    attributes = {"onesided": one_sided, "inverse": inverse}
    length = np.array(d.int(1, 9)) if d.some() else None
    if opset >= 20:
        return Node("", [x, length, np.array(d.one(1, 2, -2, -3))], attributes, (1, 2))
    return Node("", [x] + ([length] if length is not None else []), attributes | {"axis": d.one(1, 2)}, (1,))


@maker("STFT")
def stft(d, opset, op):
    dtype, frame = d.dtype(["float32", "float64"]), d.int(2, 6)
    x = d.array(dtype, [d.int(1, 2), frame + d.int(0, 9), 1])
    window = d.positive(dtype, [frame]) if d.some(0.7) else None
    return Node("", [x, np.array(d.int(1, 4)), window, np.array(frame)], {"onesided": d.int(0, 1)}, (1, 3))


@maker("HannWindow", "HammingWindow", "BlackmanWindow")
def window(d, opset, op):
    attributes = {"periodic": d.int(0, 1)} | ({"output_datatype": d.one(1, 11)} if d.some() else {})
    return Node("", [np.array(d.int(1, 9))], attributes, (0,))


@maker("CastLike", "Dropout", "Swish", "Det", "CenterCropPad", "ConstantOfShape", "Range")
def various(d, opset, op):
    if op == "CastLike":
        values = d.array(d.dtype(ALL), d.shape(high=3), 0.0, 40.0)
        like = d.array(d.dtype(ALL), d.shape(high=2))
        return Node("", [np.abs(values) if values.dtype.kind == "f" and like.dtype.kind == "u" else values, like])
    if op == "Dropout":
        x = d.array(d.dtype(FLOATS), d.shape())
        return Node("", [x], {"ratio": 0.3} if opset < 12 and d.some() else {}, outputs=d.int(1, 2))
    if op == "Swish":
        return Node("", [d.array(d.dtype(FLOATS), d.shape(), 0.3)], {"alpha": d.one(1.0, 0.5, -2.0, 0.0)} if d.some(0.7) else {})
    if op == "Det":
        size = d.int(1, 4)
        return Node("", [d.array(d.dtype(["float32", "float64"]), [*d.shape(0, 2, 0), size, size])])
    if op == "CenterCropPad":
        x = d.array(d.dtype(["float32", "int64", "uint8"]), d.shape(1, 4, 0))
        axes = d.axes(x.ndim) if d.some() else list(range(x.ndim))
        return Node("", [x, ints([d.int(1, 8) for _ in axes])], {"axes": axes} if axes != list(range(x.ndim)) or d.some() else {}, (1,))
    if op == "ConstantOfShape":
        value = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(np.dtype(t := d.dtype(NUMBERS))), [1], d.array(t, [1]).tolist())
        return Node("", [ints(d.shape())], {"value": value} if d.some(0.7) else {}, (0,))
    dtype = d.one("float32", "float64", "int32", "int64", "int16")
    return Node("", [np.array(v, dtype) for v in (d.int(-5, 5), d.int(-9, 9), d.one(1, 2, -1, -3))], {}, (0, 1, 2))


@maker("Col2Im")
def col2im(d, opset, op):
    axes = d.int(1, 2)
    block = [d.int(1, 3) for _ in range(axes)]
    strides, dilations, pads = ([d.int(1, 2) for _ in range(axes)], [d.int(1, 2) for _ in range(axes)], [d.int(0, 1) for _ in range(2 * axes)])
    image = [b * s + d.int(2, 4) for b, s in zip(block, dilations)]
    blocks = [(image[i] + pads[i] + pads[i + axes] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(axes)]
    x = d.array("float32", [d.int(1, 2), d.int(1, 2) * int(np.prod(block)), int(np.prod(blocks))])
    return Node("", [x, ints(image), ints(block)], {"strides": strides, "dilations": dilations, "pads": pads}, (1, 2))


@maker("MaxUnpool")
def max_unpool(d, opset, op):
    x = d.array("float32", [1, d.int(1, 2), d.int(1, 3), d.int(1, 3)])
    index = d.rng.permutation(x[0].size * 4)[:x.size].reshape(x.shape) % (x[0, 0].size * 4)
    return Node("", [x, index], {"kernel_shape": [2, 2], "strides": [2, 2]})


@maker("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d, opset, op):
    classes, rest = d.int(1, 5), d.shape(0, 2, 0)
    batch = d.int(1, 4)
    x = d.array(d.dtype(["float32", "float64"]), [batch, classes, *rest])
    labels = d.rng.integers(0, classes, [batch, *rest]).astype(d.one(np.int64, np.int32))
    attributes = {"reduction": d.one("mean", "sum", "none")}
    if d.some(0.4):
        attributes["ignore_index"] = d.one(0, -1, -100, classes - 1)
        labels[d.rng.random(labels.shape) < 0.2] = attributes["ignore_index"]
    return Node("", [x, labels] + ([d.positive(x.dtype, [classes])] if d.some() else []), attributes,
                outputs=d.int(1, 2) if op[0] == "S" else 1)


@maker("TensorScatter")
def tensor_scatter(d, opset, op):
    batch, length, width, new = d.int(1, 3), d.int(3, 6), d.int(1, 3), d.int(1, 3)
    past = d.array(d.dtype(["float32", "float16", "int64"]), [batch, length, width])
    mode = d.one("linear", "circular")
    positions = d.rng.integers(0, length - new + 1 if mode == "linear" else length, [batch])
    return Node("", [past, d.array(past.dtype, [batch, new, width])] + ([positions] if d.some(0.7) else []), {"mode": mode, "axis": d.one(1, -2)})


@maker("Upsample")
def upsample(d, opset, op):
    x = d.array("float32", [1, d.int(1, 2), d.int(1, 4), d.int(1, 4)])
    return Node("", [x, np.array([1, 1, d.one(1.0, 2.0, 3.0, 1.5), d.one(1.0, 2.0, 2.5)], np.float32)], {"mode": d.one("nearest", "linear")}, (1,))


@maker("QLinearMatMul")
def qlinear_matmul(d, opset, op):
    a, b = d.one("uint8", "int8"), d.one("uint8", "int8")
    m, k, n = d.int(1, 4), d.int(1, 6), d.int(1, 5)
    per_column = d.some(0.3)
    scales = lambda *shape: (d.positive("float32", shape) / np.float32(8)).astype(np.float32)  # noqa: E731
    return Node("", [d.array(a, [m, k], 0.5), scales(), d.array(a, []), d.array(b, [k, n], 0.5), scales(*[n] * per_column), d.array(b, [n] * per_column),
                     scales(), d.array(a, [])], {}, (1, 2, 4, 5, 6, 7))


@maker("QLinearConv")
def qlinear_conv(d, opset, op):
    group, axes = d.one(1, 1, 2), 2
    ins, outs = group * d.int(1, 2), group * d.int(1, 2)
    kernel = [d.int(1, 3) for _ in range(axes)]
    x_type, w_type = d.one("uint8", "int8"), d.one("uint8", "int8")
    per_channel = d.some(0.4)
    scales = lambda *shape: (d.positive("float32", shape) / np.float32(8)).astype(np.float32)  # noqa: E731
    weights = [d.array(w_type, [outs, ins // group, *kernel], 0.4), scales(*[outs] * per_channel), d.array(w_type, [outs] * per_channel) * (0 if per_channel else 1)]
    operands = [d.array(x_type, [d.int(1, 2), ins, *[d.int(3, 6) for _ in range(axes)]], 0.5), scales(), d.array(x_type, []), *weights, scales(), d.array(x_type, [])]
    if d.some():
        operands.append(d.rng.integers(-99, 99, [outs]).astype(np.int32))
    attributes = {"kernel_shape": kernel, "group": group, "strides": [d.int(1, 2) for _ in range(axes)], "pads": [d.int(0, s - 1) for s in (*kernel, *kernel)]}
    return Node("", operands, attributes, (1, 2, 3, 4, 5, 6, 7, 8))


@maker("Compress")
def compress(d, opset, op):
    x = d.array(d.dtype(["float32", "int64", "bool"]), d.shape(1, 3, 0))
    axis = d.axis(x.ndim) if d.some(0.7) else None
    length = x.size if axis is None else x.shape[axis]
    return Node("", [x, d.rng.random(d.int(1, length)) < 0.6], {} if axis is None else {"axis": axis}, (1,))


@maker("Scatter")
def old_scatter(d, opset, op):
    made = OTHERS["ScatterElements"](d, 11)
    made.attributes.pop("reduction", None)
    return made


@maker("BlockedDequantize", "BlockedQuantize")
def blocked(d, opset, op):
    """Scales of blocks, and codes of 4 bits that numpy has no type for are left to the ONNX node tests."""
    rows, block, groups = d.int(1, 4), d.one(1, 2, 4), d.int(1, 3)
    axis = d.one(0, 1)
    shape, parts = [rows, block * groups], [rows, groups]
    if axis == 0:
        shape, parts = shape[::-1], parts[::-1]
    codes = d.one("int8", "uint8", "int16", "uint16")
    x = d.array(codes, shape, 0.5) if op.endswith("Dequantize") else d.array("float32", shape, 0.1, 20.0)
    zero = [d.array(codes, parts)] if d.some(0.8) else []
    return Node("DequantizeLinear" if op.endswith("Dequantize") else "QuantizeLinear", [x, d.positive("float32", parts) / np.float32(4), *zero], {"axis": axis, "block_size": block})
