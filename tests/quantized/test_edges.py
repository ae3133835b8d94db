"""Integer forms where codes, scales and sizes are at their ends, against formulas in Python's integers and fractions.

All cases are parts of one model: codes in, one op between DequantizeLinear and QuantizeLinear, codes out. The formulas are
those of docs/arithmetic.md for `exact`; `f32` rounds a fraction as IEEE 754 does.
"""
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

RANGE = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}
TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16, "uint16": TensorProto.UINT16}


def f32(v: Fraction) -> Fraction:
    """The nearest f32, ties to even."""
    if v == 0:
        return Fraction(0)
    exponent = abs(v.numerator).bit_length() - v.denominator.bit_length()
    if abs(v) < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, -126) - 23)
    return round(v / step) * step


def code(v: Fraction, q: "Q") -> int:
    return min(max(round(v) + q.zero, q.lo), q.hi)


@dataclass
class Q:
    """A format: type, scale (or one per channel) and zero point."""
    dtype: str = "int8"
    scale: float | list[float] = 1.0
    zero: int = 0

    @property
    def lo(self): return RANGE[self.dtype][0]

    @property
    def hi(self): return RANGE[self.dtype][1]

    def of(self, channel: int = 0) -> Fraction:
        s = self.scale[channel] if isinstance(self.scale, list) else self.scale
        return Fraction(float(np.float32(s)))


@dataclass
class Case:
    op: str  # the row of ORACLES
    x: tuple[int, ...]  # shape of operand 0
    qx: Q
    qy: Q
    w: tuple[int, ...] = ()  # of operand 1
    qw: Q | None = None
    attrs: dict = field(default_factory=dict)
    fill: str = "any"  # codes: any, lowest, highest, mixed (x highest, weights alternate between their ends)
    zero_channels: tuple[int, ...] = ()


def rescaled(total: int, sx: Fraction, sw: Fraction, qy: Q) -> int:
    return code(f32(f32(Fraction(total)) * f32(f32(sx * sw) / qy.of())), qy)


def convolution(case, x, w):
    kernel = w.shape[2:]
    strides, pads = case.attrs.get("strides", [1, 1]), case.attrs.get("pads", [0, 0, 0, 0])
    groups = case.attrs.get("group", 1)
    x = np.pad(x - case.qx.zero, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    w = w - case.qw.zero
    each, outs = w.shape[1], w.shape[0] // groups
    size = [(x.shape[2 + i] - kernel[i]) // strides[i] + 1 for i in range(2)]
    y = np.zeros((x.shape[0], w.shape[0], *size), np.int64)
    for n, o, i, j in np.ndindex(*y.shape):
        g, at = o // outs, (i * strides[0], j * strides[1])
        part = x[n, g * each:(g + 1) * each, at[0]:at[0] + kernel[0], at[1]:at[1] + kernel[1]]
        y[n, o, i, j] = rescaled(int((part * w[o]).sum()), case.qx.of(), case.qw.of(o), case.qy)
    return y


def product(case, x, w, channels=True):
    sums = (x - case.qx.zero) @ (w - case.qw.zero)
    y = np.zeros(sums.shape, np.int64)
    for at in np.ndindex(*sums.shape):
        y[at] = rescaled(int(sums[at]), case.qx.of(), case.qw.of(at[-1] if channels else 0), case.qy)
    return y


def each(function):
    return np.vectorize(function, otypes=[np.int64])


def addition(case, a, b):
    ra, rb = f32(case.qx.of() / case.qy.of()), f32(case.qw.of() / case.qy.of())
    return each(lambda p, q: code(f32((int(q) - case.qw.zero) * rb + f32((int(p) - case.qx.zero) * ra)), case.qy))(a, b)


def multiplication(case, a, b):
    return each(lambda p, q: rescaled((int(p) - case.qx.zero) * (int(q) - case.qw.zero), case.qx.of(), case.qw.of(),
                                      case.qy))(a, b)


def mean_code(case, codes):
    total, n = int((codes - case.qx.zero).sum()), codes.size
    return code(f32(f32(Fraction(total)) * f32(case.qx.of() / f32(case.qy.of() * n))), case.qy)


def mean(case, x):
    return np.apply_along_axis(lambda row: mean_code(case, row), -1, x)[..., None]


def pool(case, x):
    (k,), (s,) = case.attrs["kernel_shape"], case.attrs["strides"]
    return np.stack([np.apply_along_axis(lambda row: mean_code(case, row), -1, x[..., i:i + k])
                     for i in range(0, x.shape[-1] - k + 1, s)], -1)


def softmax(case, x):
    """Computed in float: at most a step from this."""
    v = (x - case.qx.zero).astype(np.float64) * float(case.qx.of())
    e = np.exp(v - v.max(-1, keepdims=True))
    return each(lambda p: code(Fraction(float(p)) / case.qy.of(), case.qy))(e / e.sum(-1, keepdims=True))


ORACLES = {
    "Conv": convolution, "Gemm": product, "MatMul": lambda c, a, b: product(c, a, b, False), "Add": addition,
    "Mul": multiplication, "ReduceMean": mean, "AveragePool": pool, "Softmax": softmax,
}
UNARY = {"ReduceMean", "AveragePool", "Softmax"}
SMALL, LARGE = 2.0 ** -20, 2.0 ** 10


def cases() -> list[Case]:
    out = []
    pads = {"pads": [1, 0, 2, 1], "strides": [1, 2]}
    for low, high in ((Q("int8", 0.05, -128), Q("int8", 0.07, 127)), (Q("uint8", 0.05, 255), Q("uint8", 0.07, 0))):
        # Zero points at both ends of every operand.
        for qx, qy in ((low, high), (high, low)):
            qw = Q("uint8", 0.02, 255 if qx is low else 0)
            out += [Case("Conv", (2, 3, 5, 6), qx, qy, (4, 3, 3, 2), qw, pads),
                    Case("Conv", (1, 4, 5, 5), qx, qy, (4, 1, 3, 3), qw, {"group": 4}),
                    Case("Gemm", (3, 17), qx, qy, (17, 5), qw),
                    Case("MatMul", (2, 3, 7), qx, qy, (2, 7, 4), Q(qx.dtype, 0.01, qx.zero)),
                    Case("Add", (2, 37), qx, qy, (2, 37), Q(qx.dtype, 0.03, qy.zero)),
                    Case("Mul", (2, 37), qx, qy, (2, 37), Q(qx.dtype, 0.03, qy.zero)),
                    Case("ReduceMean", (3, 19), qx, qy), Case("Softmax", (3, 9), qx, Q(qy.dtype, 1 / 255, qy.lo)),
                    Case("AveragePool", (1, 2, 11), qx, qy, attrs={"kernel_shape": [3], "strides": [2]})]
    # Weights and codes at their ends only.
    for fill in ("lowest", "highest", "mixed"):
        qx, qy, qw = Q("uint8", 0.02, 3), Q("int8", 2.0, -5), Q("int8", 0.01)
        out += [Case("Conv", (1, 17, 4, 3), qx, qy, (18, 17, 2, 2), qw, fill=fill),
                Case("Gemm", (2, 33), qx, qy, (33, 18), qw, fill=fill),
                Case("MatMul", (2, 33), qx, qy, (33, 18), Q("uint8", 0.01, 255), fill=fill),
                Case("Add", (5,), qx, qy, (5,), Q("uint8", 0.3, 255), fill=fill),
                Case("Mul", (5,), qx, qy, (5,), Q("uint8", 0.3, 255), fill=fill),
                Case("ReduceMean", (2, 21), qx, qy, fill=fill), Case("Softmax", (2, 21), qx, Q("uint8", 1 / 256), fill=fill)]
    # Sums beyond 32 bits.
    wide = Q("uint8", 2.0 ** -9, 0), Q("int16", 2.0, 7)
    out += [Case("Gemm", (1, 66000), *wide, (66000, 2), Q("int8", 2.0 ** -8), fill="lowest_weights"),
            Case("Conv", (1, 66000, 1, 2), *wide, (2, 66000, 1, 1), Q("int8", 2.0 ** -8), fill="lowest_weights"),
            Case("MatMul", (1, 33100), Q("uint8", 2.0 ** -9, 0), wide[1], (33100, 2), Q("uint8", 2.0 ** -9, 0), fill="highest"),
            Case("Gemm", (2, 40), Q("int16", 0.001, -32768), wide[1], (40, 3), Q("int16", 0.001), fill="mixed"),
            Case("Mul", (9,), Q("uint16", 0.001, 0), wide[1], (9,), Q("uint16", 0.01, 0), fill="highest"),
            Case("ReduceMean", (1, 33000), Q("uint16", 0.001, 0), Q("uint16", 0.002, 1), fill="highest"),
            Case("AveragePool", (1, 1, 33001), Q("uint16", 0.001, 0), Q("uint16", 0.0011, 65535), fill="highest",
                 attrs={"kernel_shape": [33000], "strides": [1]})]
    # Scales at their ends.
    for sx, sw, sy in ((SMALL, SMALL, SMALL), (LARGE, LARGE, LARGE), (SMALL, LARGE, 2.0 ** -6), (LARGE, SMALL, 0.0371),
                       (SMALL, 1.0, LARGE), (LARGE, 0.3, SMALL)):
        qx, qw, qy = Q("int8", sx, 4), Q("int8", sw), Q("uint8", sy, 100)
        out += [Case("Conv", (1, 2, 3, 3), qx, qy, (3, 2, 2, 2), qw), Case("Gemm", (2, 9), qx, qy, (9, 3), qw),
                Case("MatMul", (2, 9), qx, qy, (9, 3), qw), Case("Add", (17,), qx, qy, (17,), qw),
                Case("Mul", (17,), qx, qy, (17,), qw), Case("ReduceMean", (2, 7), qx, qy),
                Case("AveragePool", (1, 2, 7), qx, qy, attrs={"kernel_shape": [3], "strides": [1]}),
                Case("Softmax", (2, 7), qx, Q("uint8", sy))]
    # Channels whose weights are all zero, one scale per channel.
    qx, qy = Q("uint8", 0.02, 31), Q("int8", 0.5, 3)
    out += [Case("Conv", (1, 3, 4, 4), qx, qy, (4, 3, 2, 2), Q("int8", [0.01, 1.0, 0.02, 1.0]), zero_channels=(1, 3)),
            Case("Gemm", (2, 9), qx, qy, (9, 3), Q("int8", [1.0, 0.02, 1.0]), zero_channels=(0, 2)),
            Case("Gemm", (2, 9), qx, qy, (9, 2), Q("int8", 1.0), zero_channels=(0, 1))]
    # One channel, one element.
    out += [Case("Conv", (1, 1, 1, 1), qx, qy, (1, 1, 1, 1), Q("int8", 0.3)), Case("Gemm", (1, 1), qx, qy, (1, 1), Q("int8", 0.3)),
            Case("Conv", (1, 1, 5, 4), qx, qy, (1, 1, 3, 3), Q("int8", [0.1])),
            Case("MatMul", (1, 1), qx, qy, (1, 1), Q("uint8", 0.3, 7)), Case("Add", (1,), qx, qy, (1,), Q("uint8", 0.3, 7)),
            Case("Mul", (1,), qx, qy, (1,), Q("uint8", 0.3, 7)), Case("ReduceMean", (1, 1), qx, qy),
            Case("AveragePool", (1, 1, 1), qx, qy, attrs={"kernel_shape": [1], "strides": [1]}),
            Case("Softmax", (1, 1), qx, Q("uint8", 1 / 255))]
    return out


def filled(rng, shape, q, how, second):
    if how == "lowest" or (how == "lowest_weights" and second):
        codes = np.full(shape, q.lo)
    elif how in ("highest", "lowest_weights") or (how == "mixed" and not second):
        codes = np.full(shape, q.hi)
    elif how == "mixed":
        codes = np.where(np.arange(math.prod(shape)).reshape(shape) % 3 == 1, q.lo, q.hi)
    else:
        codes = rng.integers(q.lo, q.hi + 1, shape)
        codes.flat[0], codes.flat[-1] = q.lo, q.hi
    return codes.astype(np.int64)


class Model:
    """All cases side by side."""

    def __init__(self):
        self.nodes, self.inputs, self.outputs, self.constants, self.arrays = [], [], [], [], {}

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def input(self, name, codes, q):
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[q.dtype], codes.shape))
        self.arrays[f"in_{len(self.arrays)}"] = codes.astype(q.dtype)
        return name

    def numbers(self, name, q):
        zero = np.full(len(q.scale), q.zero) if isinstance(q.scale, list) else np.array(q.zero)
        return [self.constant(name + "_s", np.array(q.scale, np.float32)), self.constant(name + "_z", zero.astype(q.dtype))]

    def decoded(self, name, codes, q, constant=False, axis=0):
        source = self.constant(name, codes.astype(q.dtype)) if constant else self.input(name, codes, q)
        self.nodes.append(helper.make_node("DequantizeLinear", [source, *self.numbers(name, q)], [name + "_f"], axis=axis))
        return name + "_f"

    def add(self, i, case, x, w):
        operands = [self.decoded(f"x{i}", x, case.qx)]
        if w is not None:
            constant = case.op in ("Conv", "Gemm")
            operands.append(self.decoded(f"w{i}", w, case.qw, constant, axis=1 if case.op == "Gemm" else 0))
        attrs = dict(case.attrs)
        if case.op == "ReduceMean":
            operands.append(self.constant(f"axes{i}", np.array([-1])))
        self.nodes.append(helper.make_node(case.op, operands, [f"f{i}"], name=f"op{i}", **attrs))
        self.nodes.append(helper.make_node("QuantizeLinear", [f"f{i}", *self.numbers(f"y{i}", case.qy)], [f"y{i}"]))
        self.outputs.append(helper.make_tensor_value_info(f"y{i}", TYPES[case.qy.dtype], None))

    def save(self, path, opset=21):
        graph = helper.make_graph(self.nodes, "edges", self.inputs, self.outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)
        return path


# arithmetic.md: Q1, Q3, Q4, Q30
def test_ends_of_codes_scales_and_sizes(quantc, tmp_path):
    rng = np.random.default_rng(11)
    model, wanted, table = Model(), [], cases()
    for i, case in enumerate(table):
        x = filled(rng, case.x, case.qx, case.fill, False)
        w = None if case.op in UNARY else filled(rng, case.w, case.qw, case.fill, True)
        for channel in case.zero_channels:
            w[(channel,) if case.op == "Conv" else (slice(None), channel)] = case.qw.zero
        model.add(i, case, x, w)
        wanted.append(ORACLES[case.op](case, x, *([] if w is None else [w])))
    path = model.save(tmp_path / "edges.onnx")
    np.savez(tmp_path / "in.npz", **model.arrays)
    common = ["--arithmetic", "exact"]
    quantc("run", path, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz", *common)
    with np.load(tmp_path / "out.npz") as arrays:
        outputs = [arrays[name] for name in arrays.files]
    for case, got, want in zip(table, outputs, wanted, strict=True):
        assert got.shape == want.shape, case
        assert np.abs(got.astype(np.int64) - want).max() <= (1 if case.op == "Softmax" else 0), case
    quantc("validate", path, "-i", tmp_path / "in.npz", "--cflags=-O1", *common)  # C: the same bits
    floats = quantc("run", path, "-i", tmp_path / "in.npz", "-o", tmp_path / "no.npz", *common, "--require-integer",
                    status=1).stderr
    assert {table[int(n)].op for n in re.findall(r"op(\d+) \(", floats)} == {"Softmax"}
    assert "(softmax_quantize): its quantized form computes in float" in floats
    reports = quantc("explain", path, *common).stdout
    assert reports.count("i64") >= 5  # the sums that need it


def normalised(op, v, scale, bias):
    """In double precision; groups are pairs of channels."""
    rows = v.reshape(v.shape[0], 2, -1) if op == "GroupNormalization" else v
    mean = 0 if op == "RMSNormalization" else rows.mean(-1, keepdims=True)
    y = ((rows - mean) / np.sqrt(((rows - mean) ** 2).mean(-1, keepdims=True) + 1e-5)).reshape(v.shape)
    if op == "GroupNormalization":
        return y * scale[:, None] + bias[:, None]
    return y * scale + (0 if op == "RMSNormalization" else bias)


# arithmetic.md: Q20
def test_norms_are_within_a_step_of_the_exact_function(quantc, tmp_path):
    """They compute in float between codes: 8 and 16 bits, zero points at the ends, rows of equal codes."""
    rng = np.random.default_rng(12)
    model, wanted = Model(), []
    formats = [(Q("int8", 0.05, -128), Q("int8", 0.04, 127)), (Q("uint8", 2.0 ** -20, 0), Q("uint8", 0.03, 255)),
               (Q("int16", 2.0 ** 10, 5), Q("int16", 2.0 ** -12, 0)), (Q("uint16", 0.001, 65535), Q("uint16", 2.0 ** -12, 32768))]
    for op in ("LayerNormalization", "GroupNormalization", "RMSNormalization"):
        for fill in ("any", "highest"):
            for qx, qy in formats:
                i, shape = len(wanted), (2, 4, 7) if op == "GroupNormalization" else (3, 19)
                size = shape[1] if op == "GroupNormalization" else shape[-1]
                x = filled(rng, shape, qx, fill, False)
                scale, bias = (rng.uniform(0.5, 1.5, size).astype(np.float32) for _ in range(2))
                operands = [model.decoded(f"x{i}", x, qx), model.constant(f"s{i}", scale)]
                if op != "RMSNormalization":
                    operands.append(model.constant(f"b{i}", bias))
                attrs = {"num_groups": 2} if op == "GroupNormalization" else {"axis": -1}
                model.nodes.append(helper.make_node(op, operands, [f"f{i}"], name=f"op{i}", epsilon=1e-5, **attrs))
                model.nodes.append(helper.make_node("QuantizeLinear", [f"f{i}", *model.numbers(f"y{i}", qy)], [f"y{i}"]))
                model.outputs.append(helper.make_tensor_value_info(f"y{i}", TYPES[qy.dtype], None))
                v = (x - qx.zero).astype(np.float64) * float(qx.of())
                exact = normalised(op, v, scale.astype(np.float64), bias.astype(np.float64))
                wanted.append(each(lambda p: code(Fraction(float(p)) / qy.of(), qy))(exact))
    path = model.save(tmp_path / "norms.onnx", opset=23)
    np.savez(tmp_path / "in.npz", **model.arrays)
    quantc("run", path, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        for node, name, want in zip(model.nodes[1::3], arrays.files, wanted, strict=True):
            assert np.abs(arrays[name].astype(np.int64) - want).max() <= 1, node
    quantc("validate", path, "-i", tmp_path / "in.npz", "--cflags=-O1")


def test_blocks_of_scales_after_a_convolution(quantc, tmp_path):
    """A convolution wants channels last; blocks of channels are in the model's order."""
    rng = np.random.default_rng(13)
    scales = rng.uniform(0.01, 0.1, (1, 4, 12, 12)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("QuantizeLinear", ["c", "s", "z"], ["q"], axis=1, block_size=4),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1, block_size=4)]
    weights = rng.normal(size=(16, 16, 3, 3)).astype(np.float32)
    constants = [numpy_helper.from_array(a, n) for n, a in (("w", weights), ("s", scales), ("z", np.zeros(scales.shape, np.int8)))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 12, 12])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 12, 12])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", in_0=rng.normal(size=(1, 16, 12, 12)).astype(np.float32))
    quantc("validate", tmp_path / "m.onnx", "-i", tmp_path / "in.npz", "--cflags=-O1")


@pytest.mark.parametrize("op", ORACLES)
def test_an_empty_batch_is_refused(quantc, tmp_path, op):
    case = next(c for c in cases() if c.op == op)
    model = Model()
    empty = (0, *case.x[1:])
    w = None if op in UNARY else np.zeros((0, *case.w[1:]) if op in ("Add", "Mul", "MatMul") else case.w, np.int64)
    model.add(0, case, np.zeros(empty, np.int64), w)
    path = model.save(tmp_path / "empty.onnx")
    message = quantc("compile", path, "-o", tmp_path / "out", status=1).stderr
    assert "x0" in message and "empty" in message
