"""Makers of random nodes: moving elements, products, convolutions and pools."""
import numpy as np

from tests.foreign.onnx_elementwise import MAKERS as ELEMENTWISE
from tests.foreign.onnx_elementwise import ints
from tests.foreign.onnx_nodes import Node
from tests.foreign.onnx_values import ALL, FLOATS, NUMBERS

MAKERS = dict(ELEMENTWISE)


def maker(*ops):
    def add(function):
        for op in ops:
            MAKERS[op] = lambda d, opset, op=op: function(d, opset, op)
        return function
    return add


@maker("Reshape")
def reshape(d, opset, op):
    x = d.array(d.dtype(ALL), d.shape())
    target = list(x.shape)
    d.rng.shuffle(target)
    if d.some(0.4):
        target = [x.size]
    if target and x.size and d.some(0.4):
        target[d.int(0, len(target) - 1)] = -1
    if target and d.some(0.2) and len(target) <= x.ndim and opset >= 14:
        return Node("", [x, ints(target)], {"allowzero": d.int(0, 1)}, (1,))
    return Node("", [x, ints(target)], {}, (1,))


@maker("Transpose")
def transpose(d, opset, op):
    x = d.array(d.dtype(ALL), d.shape())
    return Node("", [x], {"perm": [int(a) for a in d.rng.permutation(x.ndim)]} if x.ndim and d.some(0.8) else {})


@maker("Squeeze", "Unsqueeze")
def squeeze(d, opset, op):
    shape = d.shape(0, 3)
    if op == "Squeeze":
        for _ in range(d.int(0, 2)):
            shape.insert(d.int(0, len(shape)), 1)
        ones = [a - (len(shape) if d.some(0.3) and opset >= 11 else 0) for a, size in enumerate(shape) if size == 1 and d.some(0.7)]
    else:
        rank = len(shape) + d.int(1, 2)
        ones = [int(a) - (rank if d.some(0.3) and opset >= 11 else 0) for a in d.rng.permutation(rank)[:rank - len(shape)]]
    x = d.array(d.dtype(ALL), shape)
    if op == "Squeeze" and not ones:
        return Node("", [x])
    return Node("", [x], {"axes": ones}) if opset < 13 else Node("", [x, ints(ones)], {}, (1,))


@maker("Flatten")
def flatten(d, opset, op):
    x = d.array(d.dtype(ALL), d.shape())
    return Node("", [x], {"axis": d.int(-x.ndim if opset >= 11 else 0, x.ndim)} if d.some(0.8) else {})


@maker("Concat")
def concat(d, opset, op):
    shape, dtype = d.shape(1), d.dtype(ALL)
    axis = d.axis(len(shape))
    parts = [[d.size() if a == axis % len(shape) else size for a, size in enumerate(shape)] for _ in range(d.int(1, 4))]
    return Node("", [d.array(dtype, part) for part in parts], {"axis": axis if opset >= 11 else axis % len(shape)})


@maker("Split")
def split(d, opset, op):
    shape = d.shape(1)
    axis, count = d.axis(len(shape)), d.int(1, 4)
    sizes = [d.size(0.1) for _ in range(count)]
    shape[axis] = sum(sizes)
    attributes = {"axis": axis if opset >= 11 else axis % len(shape)}
    x = d.array(d.dtype(NUMBERS), shape)
    if opset < 13:
        return Node("", [x], attributes | {"split": sizes}, outputs=count)
    if opset >= 18 and d.some(0.4):
        return Node("", [x], attributes | {"num_outputs": count}, outputs=count)
    return Node("", [x, ints(sizes)], attributes, (1,), count)


@maker("Slice")
def slice_(d, opset, op):
    x = d.array(d.dtype(ALL), d.shape(1))
    axes = d.axes(x.ndim)
    position = lambda: d.one(0, 1, 2, -1, -2, -9, 9, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))  # noqa: E731
    starts, ends, steps = ([position() for _ in axes], [position() for _ in axes], [d.one(1, 1, 2, 3, -1, -2, 9) for _ in axes])
    if opset < 10:
        return Node("", [x], {"starts": starts, "ends": ends, "axes": [a % x.ndim for a in axes]})
    return Node("", [x, ints(starts), ints(ends), ints(axes), ints(steps)][:5 if d.some(0.8) else 4], {}, (1, 2, 3, 4))


@maker("Gather", "GatherElements")
def gather(d, opset, op):
    x = d.array(d.dtype(ALL), d.shape(1, 4, 0))
    axis = d.axis(x.ndim)
    shape = d.shape(0, 3) if op == "Gather" else [d.size() if a == axis % x.ndim else d.int(1, size) for a, size in enumerate(x.shape)]
    low = -x.shape[axis] if opset >= 11 else 0
    return Node("", [x, d.rng.integers(low, x.shape[axis], shape).astype(d.one(np.int32, np.int64))], {"axis": axis})


@maker("GatherND")
def gather_nd(d, opset, op):
    x = d.array(d.dtype(ALL), d.shape(1, 4, 0))
    batch = d.int(0, x.ndim - 1) if opset >= 12 and d.some(0.4) else 0
    depth = d.int(1, x.ndim - batch)
    count = d.int(1, 3)
    index = np.stack([d.rng.integers(-size, size, [*x.shape[:batch], count]) for size in x.shape[batch:batch + depth]], -1)
    return Node("", [x, index.astype(np.int64)], {"batch_dims": batch} if opset >= 12 else {})


@maker("ScatterElements", "ScatterND")
def scatter(d, opset, op):
    x = d.array(d.dtype(["float32", "int64", "int32", "float64", "uint8", "bool"]), d.shape(1, 4, 0))
    reduction = d.one("none", "add", "mul", *(["min", "max"] if opset >= 18 else [])) if opset >= 16 and x.dtype != bool else "none"
    attributes = {"reduction": reduction} if opset >= 16 else {}
    if op == "ScatterND":
        depth = d.int(1, x.ndim)
        positions = np.array(list(np.ndindex(*x.shape[:depth])))
        index = positions[d.rng.permutation(len(positions))[:d.int(1, min(4, len(positions)))]]
        if reduction != "none":
            index = np.concatenate([index, index[:1]])
        return Node("", [x, index.astype(np.int64), d.array(x.dtype, [len(index), *x.shape[depth:]])], attributes)
    axis = d.axis(x.ndim)
    shape = [d.int(1, size) for size in x.shape]
    order = np.argsort(d.rng.random(x.shape), axis)
    index = order[tuple(slice(0, size) for size in shape)]
    if reduction != "none":
        index = d.rng.integers(-x.shape[axis], x.shape[axis], shape)
    return Node("", [x, index.astype(d.one(np.int32, np.int64)), d.array(x.dtype, shape)], attributes | {"axis": axis})


@maker("Pad")
def pad(d, opset, op):
    mode = d.one("constant", "reflect", "edge", *(["wrap"] if opset >= 19 else []))
    x = d.array(d.dtype(ALL) if opset >= 13 else d.dtype(FLOATS), d.shape(1, 4, 0.0 if mode != "constant" else 0.04))
    pads = [d.int(-1, min(3, size - 1 if mode == "reflect" else 3)) for size in (*x.shape, *x.shape)]
    if opset < 11:
        return Node("", [x], {"mode": mode, "pads": pads} | ({"value": 1.5} if d.some() else {}))
    return Node("", [x, ints(pads)] + ([d.array(x.dtype, [], 0.3)] if mode == "constant" and d.some() else []), {"mode": mode}, (1, 2))


@maker("Tile", "Expand")
def repeat(d, opset, op):
    x = d.array(d.dtype(ALL), d.shape(high=4))
    if op == "Tile":
        return Node("", [x, ints([d.one(0, 1, 2, 3) for _ in x.shape])], {}, (1,))
    target = [d.size() if size == 1 and d.some() else d.one(1, size) for size in x.shape]
    return Node("", [x, ints((d.shape(0, 1) + target) if d.some() else target[d.int(0, len(target)):])], {}, (1,))


@maker("DepthToSpace", "SpaceToDepth")
def blocks(d, opset, op):
    block = d.one(1, 2, 3)
    n, c, h, w = d.one(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 3)
    if op == "SpaceToDepth":
        return Node("", [d.array(d.dtype(["float32", "float64", "uint8"]), [n, c, h * block, w * block])], {"blocksize": block})
    attributes = {"mode": d.one("DCR", "CRD")} if opset >= 11 and d.some(0.7) else {}
    return Node("", [d.array(d.dtype(["float32", "float64", "uint8"]), [n, c * block * block, h, w])], {"blocksize": block} | attributes)


@maker("Trilu", "EyeLike", "Shape", "Size")
def shapes(d, opset, op):
    if op in ("Trilu", "EyeLike"):
        x = d.array(d.dtype(["float32", "float64", "int64", "int32", "bool"] if op == "Trilu" else ["float32", "float64", "int64", "int32"]),
                    d.shape(2, 4 if op == "Trilu" else 2))
        if op == "EyeLike":
            return Node("", [x], {"k": d.int(-3, 3)})
        return Node("", [x, np.array(d.int(-4, 4))] if d.some(0.8) else [x], {"upper": d.int(0, 1)}, (1,))
    attributes = {n: d.int(-4, 4) for n in ("start", "end") if d.some()} if op == "Shape" and opset >= 15 else {}
    return Node("", [d.array(d.dtype(ALL), d.shape())], attributes)


@maker("OneHot")
def one_hot(d, opset, op):
    index = d.rng.integers(-6, 6, d.shape(0, 3)).astype(d.one(np.int64, np.int32, np.float32))
    depth = np.array(d.int(1, 5), d.one(np.int64, np.float32) if index.dtype == np.float32 else np.int64)
    return Node("", [index, depth, np.array([0, 1], d.one(np.float32, np.int64, np.int32)) * 3 - 1], {"axis": d.axis(index.ndim + 1)}, (1, 2))


@maker("ReverseSequence")
def reverse(d, opset, op):
    batch = d.int(0, 1)
    x = d.array(d.dtype(ALL), d.shape(2, 4, 0))
    return Node("", [x, d.rng.integers(0, x.shape[1 - batch] + 1, [x.shape[batch]])], {"batch_axis": batch, "time_axis": 1 - batch}, (1,))


@maker("MatMul")
def matmul(d, opset, op):
    dtype, k = d.dtype(["float32", "float64", "int32", "int64", "uint32", "uint64", "float16"]), d.size()
    batch = d.shape(0, 2)
    a = [k] if d.some(0.15) else [*d.part(batch), d.size(), k]
    b = [k] if d.some(0.15) else [*batch, k, d.size()]
    return Node("", [d.array(dtype, a), d.array(dtype, b)])


@maker("MatMulInteger")
def matmul_integer(d, opset, op):
    a, b = d.one("int8", "uint8"), d.one("int8", "uint8")
    m, k, n = d.int(1, 5), d.int(1, 7), d.int(1, 5)
    zeros = [d.array(a, [] if d.some() else [1]), d.array(b, [] if d.some() else [n])][:d.int(0, 2)]
    return Node("", [d.array(a, [m, k], 0.5), d.array(b, [k, n], 0.5), *zeros])


@maker("Gemm")
def gemm(d, opset, op):
    dtype, (m, k, n) = d.dtype(["float32", "float64", "float16"]), (d.size(), d.size(), d.size())
    ta, tb = d.int(0, 1), d.int(0, 1)
    c = [d.array(dtype, d.part([m, n]))] if opset < 11 or d.some(0.7) else []
    return Node("", [d.array(dtype, [k, m] if ta else [m, k]), d.array(dtype, [n, k] if tb else [k, n]), *c],
                {"transA": ta, "transB": tb, "alpha": d.one(1.0, 0.5, 0.0, -2.0), "beta": d.one(1.0, 0.5, 0.0, -2.0)})


def window(d, axes, most=3, dilated=True):
    kernel = [d.int(1, most) for _ in range(axes)]
    found = {"kernel_shape": kernel, "strides": [d.int(1, 3) for _ in range(axes)]}
    if dilated and d.some(0.4):
        found["dilations"] = [d.int(1, 2) for _ in range(axes)]
    if d.some(0.25):
        found["auto_pad"] = d.one("SAME_UPPER", "SAME_LOWER", "VALID")
    elif d.some(0.7):
        found["pads"] = [d.int(0, size - 1) for size in (*kernel, *kernel)]
    return found


@maker("Conv", "ConvTranspose", "ConvInteger")
def conv(d, opset, op):
    axes, group = d.int(1, 3), d.one(1, 1, 2, 3)
    attributes = window(d, axes) | {"group": group}
    ins, outs = group * d.int(1, 2), group * d.int(1, 2)
    x = [d.int(1, 2), ins, *[d.int(3, 8) for _ in range(axes)]]
    w = [ins, outs // group] if op == "ConvTranspose" else [outs, ins // group]
    if op == "ConvTranspose" and d.some(0.4):
        attributes["output_padding"] = [d.int(0, s - 1) for s in attributes["strides"]]
    if op == "ConvInteger":
        return Node("", [d.array("uint8", x, 0.5), d.array("uint8", w + attributes["kernel_shape"], 0.5), d.array("uint8", [])][:d.int(2, 3)], attributes)
    operands = [d.array(d.dtype(["float32", "float64", "float16"]), x)]
    operands += [d.array(operands[0].dtype, w + attributes["kernel_shape"])] + ([d.array(operands[0].dtype, [outs])] if d.some() else [])
    return Node("", operands, attributes)


@maker("MaxPool", "AveragePool", "LpPool")
def pool(d, opset, op):
    axes = d.int(1, 3)
    attributes = window(d, axes, dilated=op == "MaxPool" and opset >= 10 or opset >= (19 if op[0] == "A" else 18))
    x = d.array(d.dtype(["float32", "float64", "int8", "uint8", "float16"] if op[0] == "M" else ["float32", "float16", "float64"]),
                [d.int(1, 2), d.int(1, 3), *[d.int(3, 8) for _ in range(axes)]])
    if opset >= (22 if op[0] == "L" else 10) and d.some(0.4):
        attributes["ceil_mode"] = 1
    if op[0] == "A" and d.some():
        attributes["count_include_pad"] = 1
    if op[0] == "L":
        attributes["p"] = d.one(1, 2, 3)
    return Node("", [x], attributes, outputs=d.int(1, 2) if op[0] == "M" else 1)


@maker("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d, opset, op):
    x = d.array(d.dtype(["float32", "float64", "float16"]), [d.int(1, 2), d.int(1, 3), *d.shape(1, 3, 0)])
    return Node("", [x], {"p": d.one(1, 2, 3)} if "Lp" in op else {})


@maker("Einsum")
def einsum(d, opset, op):
    equation = d.one("ij,jk->ik", "ij->ji", "ii->i", "ii", "ij->", "bij,bjk->bik", "i,j->ij", "...ij,...jk->...ik", "ij,ij->i", "ijk->ki", "i,i", "ij,j")
    sizes = {c: d.int(1, 4) for c in "ijkb"}
    shape = lambda term: [*([2] if "..." in term else []), *[sizes[c] for c in term if c in sizes]]  # noqa: E731
    dtype = d.dtype(["float32", "float64", "int32", "int64"])
    return Node("", [d.array(dtype, shape(term)) for term in equation.split("->")[0].split(",")], {"equation": equation})


@maker("Resize")
def resize(d, opset, op):
    axes = d.int(1, 2)
    x = d.array(d.dtype(["float32", "float32", "uint8", "int8"]), [1, d.int(1, 2), *[d.int(2, 7) for _ in range(axes)]])
    mode = d.one("nearest", "linear", *(["cubic"] if axes == 2 and x.dtype == np.float32 else []))
    if opset < 11:
        return Node("", [x, np.array([1, 1, *[d.one(2.0, 3.0, 0.5) for _ in range(axes)]], np.float32)], {"mode": mode}, (1,))
    attributes = {"mode": mode, "coordinate_transformation_mode": d.one("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")}
    if mode == "nearest":
        attributes["nearest_mode"] = d.one("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": d.one(-0.75, -0.5), "exclude_outside": d.int(0, 1) if attributes["coordinate_transformation_mode"] != "align_corners" else 0}
    roi = None if opset >= 13 else np.zeros(0, np.float32)
    if d.some():
        return Node("", [x, roi, np.array([1, 1, *[d.one(2.0, 3.0, 0.5, 1.0) for _ in range(axes)]], np.float32)], attributes, (1, 2))
    scales = None if opset >= 13 else np.zeros(0, np.float32)
    return Node("", [x, roi, scales, ints([*x.shape[:2], *[d.int(1, 9) for _ in range(axes)]])], attributes, (1, 2, 3))
