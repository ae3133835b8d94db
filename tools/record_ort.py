#!/usr/bin/env python3
"""Records small quantized models with ONNX Runtime's answers: record_ort.py OUT [NAME ...].

Each model becomes OUT/NAME.onnx and OUT/NAME.npz: inputs SET/in_I and outputs SET/out_I of every data set. The answers are
those of a processor whose integer dot products are exact (VNNI); on others ONNX Runtime saturates sums of u8 and s8, so the
script refuses to run there. Inputs are random, at the ends of the ranges, and near ties: multipliers a few units in the last
place from a power of two, values within two units of half a step.
"""
import sys
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

F = np.float32
TYPES = {"u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "s32": np.int32}
FOUR_BITS = {"u4": (TensorProto.UINT4, 0, 15), "s4": (TensorProto.INT4, -8, 7)}


class Model:
    """A model under construction: nodes, constants, inputs, outputs and data sets."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.sets: list[dict[str, np.ndarray]] = [{}]
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self, array) -> str:
        name = self.name()
        tensor = array if isinstance(array, onnx.TensorProto) else numpy_helper.from_array(np.asarray(array))
        tensor.name = name
        self.constants.append(tensor)
        return name

    def input(self, *arrays) -> str:
        """An input with its array in every data set."""
        name = f"in_{len(self.inputs)}"
        kind = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, arrays[0].shape))
        self.sets += [{} for _ in range(len(arrays) - len(self.sets))]
        for one, array in zip(self.sets, arrays):
            one[name] = array
        return name

    def node(self, op: str, *inputs, domain="", outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"{op}_{names[0]}", domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def output(self, *names: str) -> None:
        self.outputs += names

    def proto(self) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "recorded", self.inputs, [helper.make_empty_tensor_value_info(o) for o in self.outputs],
                                  self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    # Codes, scales and values that show wrong roundings.

    def codes(self, kind: str, *shape) -> np.ndarray:
        info = np.iinfo(TYPES[kind])
        out = self.rng.integers(info.min, info.max + 1, shape).astype(TYPES[kind])
        flat = out.reshape(-1)
        ends = self.rng.random(flat.size) < 0.05
        flat[ends] = self.rng.choice([info.min, info.max], int(ends.sum())).astype(flat.dtype)
        return out

    def zero(self, kind: str):
        info = np.iinfo(TYPES[kind])
        return np.asarray(self.rng.choice([info.min, info.max, 0, int(self.rng.integers(info.min, info.max + 1))]), TYPES[kind])

    def scale(self, lo=-8.0, hi=0.0) -> np.float32:
        return F(2.0 ** self.rng.uniform(lo, hi))

    def near_power(self, product, exponent: int) -> np.float32:
        """A scale whose quotient product / scale lies a few units in the last place from a power of two."""
        out = F(F(product) * F(2.0 ** exponent))
        for _ in range(int(self.rng.integers(0, 4))):
            out = np.nextafter(out, F(np.inf) if self.rng.random() < 0.5 else F(0))
        return out

    def near_ties(self, scale, n: int, lo: int, hi: int) -> np.ndarray:
        """Values whose quotient by `scale` is near half a step; a few far outside and some anywhere."""
        steps = self.rng.integers(lo - 4, hi + 5, n).astype(np.float64) + 0.5
        out = (steps * float(scale)).astype(F)
        for _ in range(2):
            out = np.where(self.rng.random(n) < 0.3, np.nextafter(out, F(np.inf)), out)
            out = np.where(self.rng.random(n) < 0.3, np.nextafter(out, F(-np.inf)), out)
        free = self.rng.random(n) < 0.3
        out[free] = (self.rng.uniform(lo * 1.2 - 3, hi * 1.2 + 3, n) * float(scale)).astype(F)[free]
        return out.astype(F)

    def pair(self, scale, zero) -> tuple[str, str]:
        return self.constant(np.asarray(scale, F)), self.constant(zero)


CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


# Quantize and dequantize.

@case
def quantize_tensor(m):
    for kind in ("u8", "s8", "u16", "s16"):
        info = np.iinfo(TYPES[kind])
        scale, zero = m.scale(), m.zero(kind)
        x = m.near_ties(scale, 1500, info.min - int(zero), info.max - int(zero))
        x[:6] = [np.inf, -np.inf, 3e38, -3e38, 0, -0.0]
        m.output(m.node("QuantizeLinear", m.input(x), *m.pair(scale, zero)))


@case
def quantize_axis(m):
    for kind in ("u8", "s8", "u16", "s16"):
        scales = np.array([m.scale() for _ in range(5)], F)
        zeros = np.array([m.zero(kind) for _ in range(5)], TYPES[kind])
        info = np.iinfo(TYPES[kind])
        x = np.stack([m.near_ties(s, 120, info.min - int(z), info.max - int(z)) for s, z in zip(scales, zeros)])
        x = np.ascontiguousarray(x.reshape(5, 2, 60).transpose(1, 0, 2))
        m.output(m.node("QuantizeLinear", m.input(x), *m.pair(scales, zeros), axis=1))


@case
def quantize_blocked(m):
    for kind, axis in (("u8", 1), ("s8", 1), ("u8", 0), ("s16", 0)):
        shape, block = (12, 40), 4
        count = tuple(n // block if i == axis else n for i, n in enumerate(shape))
        scales = (2.0 ** m.rng.uniform(-8, 0, count)).astype(F)
        zeros = m.codes(kind, *count)
        x = (m.rng.uniform(-150, 150, shape) * np.repeat(scales, block, axis)).astype(F)
        m.output(m.node("QuantizeLinear", m.input(x), *m.pair(scales, zeros), axis=axis, block_size=block))


def four_bit(name: str, array) -> onnx.TensorProto:
    kind = FOUR_BITS[name][0]
    return helper.make_tensor("", kind, np.asarray(array).shape, np.asarray(array).reshape(-1).astype(int).tolist())


@case
def quantize_four_bits(m):
    for name, (_, lo, hi) in FOUR_BITS.items():
        scale, zero = m.scale(), int(m.rng.integers(lo, hi + 1))
        x = m.near_ties(scale, 512, lo - zero, hi - zero)
        y = m.node("QuantizeLinear", m.input(x), m.constant(scale), m.constant(four_bit(name, zero)))
        m.output(m.node("DequantizeLinear", y, m.constant(F(1))))


@case
def dequantize(m):
    for kind in ("u8", "s8", "u16", "s16"):
        m.output(m.node("DequantizeLinear", m.input(m.codes(kind, 800)), *m.pair(m.scale(), m.zero(kind))))
        scales, zeros = np.array([m.scale() for _ in range(4)], F), m.codes(kind, 4)
        m.output(m.node("DequantizeLinear", m.input(m.codes(kind, 3, 4, 20)), *m.pair(scales, zeros), axis=1))
        scales, zeros = (2.0 ** m.rng.uniform(-8, 0, (6, 5))).astype(F), m.codes(kind, 6, 5)
        m.output(m.node("DequantizeLinear", m.input(m.codes(kind, 6, 40)), *m.pair(scales, zeros), axis=1, block_size=8))
    wide = m.rng.integers(-2**31, 2**31, 800).astype(np.int32)
    m.output(m.node("DequantizeLinear", m.input(wide), m.constant(m.scale())))


@case
def dequantize_four_bits(m):
    for name, (_, lo, hi) in FOUR_BITS.items():
        codes = m.rng.integers(lo, hi + 1, (8, 32))
        scales = (2.0 ** m.rng.uniform(-8, 0, (8, 4))).astype(F)
        zeros = four_bit(name, m.rng.integers(lo, hi + 1, (8, 4)))
        x = m.input(m.rng.normal(size=(8, 32)).astype(F))
        y = m.node("DequantizeLinear", m.constant(four_bit(name, codes)), m.constant(scales), m.constant(zeros), axis=1, block_size=8)
        m.output(m.node("Add", x, y))


@case
def dynamic_quantize(m):
    arrays = [(m.rng.normal(size=(16, 9)) * 10.0 ** m.rng.uniform(-6, 6)).astype(F) for _ in range(24)]
    arrays[1:4] = [np.zeros((16, 9), F), np.abs(arrays[1]), -np.abs(arrays[2])]
    for i in range(4, 10):  # the zero point is an exact tie
        steps = m.rng.integers(-int(m.rng.integers(1, 255)) * 2, 100, (16, 9)) / F(2)
        arrays[i] = np.clip(steps, -(i * 8 + 0.5), 254.5 - i * 8).astype(F) * F(2.0 ** -i)
        arrays[i].reshape(-1)[:2] = F(-(i * 8 + 0.5)) * F(2.0 ** -i), F(254.5 - i * 8) * F(2.0 ** -i)
    m.output(*m.node("DynamicQuantizeLinear", m.input(*arrays), outputs=3))


# Products.

@case
def matmul_integer(m):
    for a, b in (("u8", "u8"), ("u8", "s8"), ("s8", "s8")):
        columns = m.rng.random() < 0.5
        zb = m.codes(b, 17) if columns else m.zero(b)
        y = m.node("MatMulInteger", m.input(m.codes(a, 2, 6, 33)), m.input(m.codes(b, 33, 17)), m.constant(m.zero(a)), m.constant(zb))
        m.output(y)


@case
def conv_integer(m):
    for a, b in (("u8", "u8"), ("u8", "s8")):
        y = m.node("ConvInteger", m.input(m.codes(a, 1, 4, 9, 8)), m.constant(m.codes(b, 6, 2, 3, 3)), m.constant(m.zero(a)),
                   m.constant(m.zero(b)), pads=[1, 0, 1, 2], strides=[2, 1], group=2)
        m.output(y)


def weights(m, kind: str, channels: int, per_channel: bool, shape, axis: int):
    """Codes, scales and zero points of weights whose largest sums stay in reach of the result's codes."""
    n = channels if per_channel else 1
    scales = np.array([m.scale() for _ in range(n)], F)
    zeros = np.array([m.zero(kind) if m.rng.random() < 0.5 else 0 for _ in range(n)], TYPES[kind])
    if not per_channel:
        scales, zeros = scales[0], zeros[0]
    return m.codes(kind, *shape), scales, zeros


@case
def qlinear_matmul(m):
    for i, (a, b) in enumerate((("u8", "u8"), ("u8", "s8"), ("s8", "s8")) * 2):
        per_column = i >= 3
        w, sb, zb = weights(m, b, 23, per_column, (40, 23), 1)
        sa = m.scale()
        sy = m.near_power(sa * (sb[0] if per_column else sb), int(m.rng.integers(7, 12)))
        y = m.node("QLinearMatMul", m.input(m.codes(a, 2, 12, 40)), *m.pair(sa, m.zero(a)), m.constant(w), *m.pair(sb, zb),
                   *m.pair(sy, m.zero(a)))
        m.output(y)


@case
def qlinear_matmul_activations(m):
    for a in ("u8", "s8"):
        sa, sb = m.scale(), m.scale()
        y = m.node("QLinearMatMul", m.input(m.codes(a, 3, 9, 24)), *m.pair(sa, m.zero(a)), m.input(m.codes(a, 3, 24, 11)),
                   *m.pair(sb, m.zero(a)), *m.pair(m.near_power(sa * sb, 9), m.zero(a)))
        m.output(y)


def conv(m, x, w, x_shape, w_shape, per_channel, bias, exponent, domain="", **attributes):
    codes, sw, zw = weights(m, w, w_shape[0], per_channel, w_shape, 0)
    sx = m.scale()
    sy = m.near_power(sx * (sw[0] if per_channel else sw), exponent)
    operands = [m.input(m.codes(x, *x_shape)), *m.pair(sx, m.zero(x)), m.constant(codes), *m.pair(sw, zw), *m.pair(sy, m.zero(x))]
    if bias:
        operands.append(m.constant(m.rng.integers(-4000, 4000, w_shape[0]).astype(np.int32)))
    m.output(m.node("QLinearConv", *operands, domain=domain, **attributes))


@case
def qlinear_conv(m):
    conv(m, "u8", "u8", (1, 3, 9, 8), (7, 3, 3, 3), False, True, 9)
    conv(m, "u8", "s8", (1, 4, 11, 9), (6, 2, 3, 2), True, True, 9, group=2, strides=[2, 1], pads=[1, 0, 2, 1])
    conv(m, "s8", "s8", (1, 4, 10, 10), (5, 4, 3, 3), True, False, 9, dilations=[2, 2], pads=[2, 2, 2, 2])
    conv(m, "s8", "s8", (2, 6, 7, 7), (6, 1, 3, 3), False, True, 7, group=6, pads=[1, 1, 1, 1])
    conv(m, "u8", "s8", (1, 3, 8, 8), (6, 1, 3, 3), True, True, 7, group=3, pads=[1, 1, 1, 1])


@case
def qlinear_conv_ranks(m):
    conv(m, "u8", "s8", (2, 5, 30), (4, 5, 5), True, True, 9, pads=[2, 1], strides=[2])
    conv(m, "u8", "u8", (1, 2, 6, 5, 6), (3, 2, 2, 3, 2), False, True, 9, pads=[1, 0, 1, 0, 1, 0])


@case
def qlinear_conv_channels_last(m):
    conv(m, "u8", "s8", (1, 8, 9, 4), (6, 4, 3, 3), True, True, 9, "com.microsoft", channels_last=1, pads=[1, 1, 1, 1])


@case
def qgemm(m):
    for i, (a, b) in enumerate((("u8", "u8"), ("u8", "s8"), ("s8", "s8"), ("u8", "s8"))):
        per_column, alpha, turned = i % 2 == 1, [1.0, 1.0, 0.75, 1.0][i], i > 1
        w, sb, zb = weights(m, b, 19, per_column, (19, 36) if turned else (36, 19), 0)
        sa = m.scale()
        sy = m.near_power(F(F(alpha) * sa) * (sb[0] if per_column else sb), 8)
        bias = m.rng.integers(-3000, 3000, 19).astype(np.int32)
        operands = [m.input(m.codes(a, 13, 36)), *m.pair(sa, m.zero(a)), m.constant(w), *m.pair(sb, zb), m.constant(bias)]
        attributes = dict(domain="com.microsoft", alpha=alpha, transB=int(turned))
        m.output(m.node("QGemm", *operands, *m.pair(sy, m.zero(a)), **attributes))
        m.output(m.node("QGemm", *operands, **attributes))


@case
def qgemm_matrix_bias(m):
    sa, sb = m.scale(), m.scale()
    operands = [m.input(m.codes("u8", 7, 30)), *m.pair(sa, m.zero("u8")), m.constant(m.codes("s8", 30, 9)), *m.pair(sb, np.int8(0)),
                m.constant(m.rng.integers(-3000, 3000, (7, 9)).astype(np.int32)), *m.pair(m.near_power(sa * sb, 8), m.zero("u8"))]
    m.output(m.node("QGemm", *operands, domain="com.microsoft"))


@case
def qlinear_run_time_weights(m):
    sx, sw = m.scale(), m.scale()
    m.output(m.node("QLinearConv", m.input(m.codes("u8", 1, 3, 8, 7)), *m.pair(sx, m.zero("u8")), m.input(m.codes("u8", 4, 3, 3, 3)),
                    *m.pair(sw, m.zero("u8")), *m.pair(m.near_power(sx * sw, 9), m.zero("u8"))))


@case
def qlinear_matmul_long(m):
    sa, sb = m.scale(), m.scale()
    m.output(m.node("QLinearMatMul", m.input(m.codes("u8", 2, 5000)), *m.pair(sa, m.zero("u8")), m.constant(m.codes("s8", 5000, 2)),
                    *m.pair(sb, np.int8(0)), *m.pair(m.near_power(sa * sb, 13), m.zero("u8"))))


@case
def matmul_integer_to_float(m):
    for a, b, per_column in (("u8", "u8", False), ("u8", "s8", True), ("s8", "s8", True)):
        w, sb, zb = weights(m, b, 15, per_column, (28, 15), 1)
        bias = m.rng.normal(size=15).astype(F)
        m.output(m.node("MatMulIntegerToFloat", m.input(m.codes(a, 8, 28)), m.constant(w), m.constant(np.asarray([m.scale()], F)),
                        m.constant(np.atleast_1d(sb)), m.constant(np.atleast_1d(m.zero(a))), m.constant(np.atleast_1d(zb)),
                        m.constant(bias), domain="com.microsoft"))


@case
def dynamic_quantize_matmul(m):
    arrays = [(m.rng.normal(size=(7, 28)) * 10.0 ** m.rng.uniform(-3, 3)).astype(F) for _ in range(8)]
    x = m.input(*arrays)
    for b, per_column in (("u8", False), ("s8", True)):
        w, sb, zb = weights(m, b, 15, per_column, (28, 15), 1)
        m.output(m.node("DynamicQuantizeMatMul", x, m.constant(w), m.constant(np.atleast_1d(sb)), m.constant(np.atleast_1d(zb)),
                        m.constant(m.rng.normal(size=15).astype(F)), domain="com.microsoft"))


# Elementwise and tables.

def binary(m, op: str, kind: str, a, b, product: bool):
    sa, sb = m.scale(-4, 0), m.scale(-4, 0)
    sy = m.near_power(sa * sb, 7) if product else m.near_power(sa, int(m.rng.integers(0, 2)))
    m.output(m.node(op, m.input(a), *m.pair(sa, m.zero(kind)), m.input(b), *m.pair(sb, m.zero(kind)), *m.pair(sy, m.zero(kind)),
                    domain="com.microsoft"))


def every_pair(kind: str):
    codes = np.arange(256).astype(np.uint8).view(TYPES[kind])
    return codes.reshape(256, 1), codes.reshape(1, 256)


@case
def qlinear_add_pairs(m):
    binary(m, "QLinearAdd", "u8", *every_pair("u8"), False)
    binary(m, "QLinearAdd", "s8", *every_pair("s8"), False)


@case
def qlinear_add(m):
    for kind in ("u8", "s8"):
        for a, b in (((4, 9, 21), (4, 9, 21)), ((4, 9, 21), (9, 1)), ((4, 9, 21), ()), ((1,), (4, 9, 21)), ((21,), (4, 9, 21))):
            binary(m, "QLinearAdd", kind, m.codes(kind, *a), m.codes(kind, *b), False)


@case
def qlinear_mul_pairs(m):
    binary(m, "QLinearMul", "u8", *every_pair("u8"), True)
    binary(m, "QLinearMul", "s8", *every_pair("s8"), True)


@case
def qlinear_mul(m):
    for kind in ("u8", "s8"):
        for a, b in (((4, 9, 21), (4, 9, 21)), ((4, 9, 21), (9, 1)), ((4, 9, 21), ()), ((1,), (4, 9, 21))):
            binary(m, "QLinearMul", kind, m.codes(kind, *a), m.codes(kind, *b), True)


def table(m, op: str, scale_y, **attributes):
    for kind in ("u8", "s8") * 4:
        codes = np.arange(256).astype(np.uint8).view(TYPES[kind])
        m.output(m.node(op, m.input(codes), *m.pair(m.scale(-7, -2), m.zero(kind)), *m.pair(scale_y(), m.zero(kind)),
                        domain="com.microsoft", **attributes))


@case
def qlinear_leaky_relu(m):
    table(m, "QLinearLeakyRelu", lambda: m.scale(-7, -2), alpha=0.1)


@case
def qlinear_sigmoid(m):
    table(m, "QLinearSigmoid", lambda: m.scale(-9, -6))


@case
def qlinear_concat(m):
    for kind in ("u8", "s8"):
        same = (m.scale(), m.zero(kind))
        parts = [(m.scale(), m.zero(kind)), same, (m.scale(), m.zero(kind))]
        operands = [*m.pair(*same)]
        for scale, zero in parts:
            operands += [m.input(m.codes(kind, 3, 60)), *m.pair(scale, zero)]
        m.output(m.node("QLinearConcat", *operands, domain="com.microsoft", axis=1))


@case
def qlinear_where(m):
    for kind in ("u8", "s8"):
        condition = m.input(m.rng.random((12, 50)) < 0.5)
        a = [m.input(m.codes(kind, 12, 50)), *m.pair(m.scale(), m.zero(kind))]
        b = [m.input(m.codes(kind, 12, 50)), *m.pair(m.scale(), m.zero(kind))]
        m.output(m.node("QLinearWhere", condition, *a, *b, *m.pair(m.scale(), m.zero(kind)), domain="com.microsoft"))


@case
def qlinear_softmax(m):
    for kind, scale, opset in (("u8", 1 / 256, 13), ("s8", 1 / 256, 13), ("u8", 1 / 255, 13), ("u8", 1 / 100, 11)):
        zero = np.asarray(np.iinfo(TYPES[kind]).min, TYPES[kind])
        for shape, axis in (((6, 37), 1), ((2, 5, 3, 4), 1 if opset == 11 else 3)):
            m.output(m.node("QLinearSoftmax", m.input(m.codes(kind, *shape)), *m.pair(m.scale(-6, -3), m.zero(kind)),
                            *m.pair(F(scale), zero), domain="com.microsoft", axis=axis, opset=opset))


# Pools and movement.

@case
def qlinear_global_average_pool(m):
    for kind, last in (("u8", 0), ("s8", 0), ("u8", 1), ("s8", 1)):
        sx = m.scale()
        shape = (2, 7, 6, 33) if last else (2, 33, 7, 6)
        m.output(m.node("QLinearGlobalAveragePool", m.input(m.codes(kind, *shape)), *m.pair(sx, m.zero(kind)),
                        *m.pair(m.near_power(sx, 0) / F(8), m.zero(kind)), domain="com.microsoft", channels_last=last))


@case
def qlinear_average_pool(m):
    for i, kind in enumerate(("u8", "s8", "u8", "s8", "u8", "s8")):
        last = int(i >= 4)
        attributes = [dict(kernel_shape=[2, 2], strides=[2, 2]), dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
                      dict(kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
                      dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), dict(kernel_shape=[2, 3], strides=[2, 2]),
                      dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])][i]
        sx = m.scale()
        shape = (1, 11, 10, 6) if last else (1, 6, 11, 10)
        m.output(m.node("QLinearAveragePool", m.input(m.codes(kind, *shape)), *m.pair(sx, m.zero(kind)),
                        *m.pair(m.near_power(sx, 0), m.zero(kind)), domain="com.microsoft", channels_last=last, **attributes))


@case
def codes_moved(m):
    for kind in ("u8", "s8"):
        x = m.input(m.codes(kind, 1, 8, 6, 10))
        m.output(m.node("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]))
        m.output(m.node("MaxPool", x, kernel_shape=[2, 2], dilations=[2, 2]))
        m.output(m.node("NhwcMaxPool", x, domain="com.microsoft", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]))
        m.output(m.node("Transpose", x, perm=[0, 2, 3, 1]))
        m.output(m.node("Slice", x, m.constant(np.array([1, 2])), m.constant(np.array([7, 5])), m.constant(np.array([1, 2]))))
        m.output(m.node("Gather", x, m.constant(np.array([3, 0, 3])), axis=1))
        m.output(*m.node("Split", x, axis=1, outputs=2, num_outputs=2))
        m.output(m.node("Tile", x, m.constant(np.array([1, 2, 1, 1]))))
        m.output(m.node("DepthToSpace", x, blocksize=2))
        m.output(m.node("Resize", x, "", m.constant(np.array([1, 1, 2, 3], F)), mode="nearest"))


# Layouts of QDQ models, at the default optimisation level.

class Pairs(Model):
    """Helpers for quantize and dequantize nodes around float ops."""

    def q(self, x: str, scale, zero) -> str:
        return self.node("QuantizeLinear", x, *self.pair(scale, zero))

    def dq(self, x: str, scale, zero, **attributes) -> str:
        return self.node("DequantizeLinear", x, *self.pair(scale, zero), **attributes)

    def through(self, x: str, scale, zero) -> str:
        return self.dq(self.q(x, scale, zero), scale, zero)

    def activation(self, kind: str, *shape):
        """An input that passes through codes: its decoded value and its scale."""
        scale, zero = self.scale(-6, -3), self.zero(kind)
        info = np.iinfo(TYPES[kind])
        codes = self.rng.integers(info.min, info.max + 1, shape).astype(np.float64) - int(zero)
        return self.through(self.input((codes * float(scale)).astype(F)), scale, zero), scale

    def weight(self, kind: str, shape, axis: int | None):
        codes = self.codes(kind, *shape)
        if axis is None:
            scale = self.scale()
            return self.dq(self.constant(codes), scale, np.asarray(0, TYPES[kind])), scale
        scales = np.array([self.scale() for _ in range(shape[axis])], F)
        return self.dq(self.constant(codes), scales, np.zeros(shape[axis], TYPES[kind]), axis=axis), scales

    def bias(self, n: int, sx, sw) -> str:
        scale = np.asarray(F(sx) * np.asarray(sw, F), F)
        codes = self.rng.integers(-3000, 3000, n).astype(np.int32)
        return self.dq(self.constant(codes), scale, np.zeros(scale.shape, np.int32), **({"axis": 0} if scale.ndim else {}))

    def result(self, y: str, kind: str, scale, zero=None) -> None:
        self.output(self.through(y, scale, self.zero(kind) if zero is None else zero))

    def lowest(self, kind: str):
        return np.asarray(np.iinfo(TYPES[kind]).min, TYPES[kind])


@case
def qdq_conv(m):
    for kind, per_channel, relu in (("u8", False, False), ("s8", True, True), ("u8", True, True), ("s8", False, False)):
        x, sx = m.activation(kind, 1, 4, 9, 9)
        w, sw = m.weight("s8", (6, 4, 3, 3), 0 if per_channel else None)
        y = m.node("Conv", x, w, m.bias(6, sx, sw), pads=[1, 1, 1, 1])
        if relu:
            y = m.node("Relu", y)
        m.result(y, kind, m.near_power(sx * np.max(sw), 9), m.lowest(kind) if relu else None)


@case
def qdq_conv_clip(m):
    for kind in ("u8", "s8"):
        x, sx = m.activation(kind, 1, 4, 9, 9)
        w, sw = m.weight("s8", (4, 1, 3, 3), None)
        y = m.node("Conv", x, w, m.bias(4, sx, sw), pads=[1, 1, 1, 1], group=4)
        scale = F(6 / 255)
        y = m.node("Clip", y, m.constant(F(0)), m.constant(F(6)))
        m.result(y, kind, scale, m.lowest(kind))


@case
def qdq_conv_float_bias(m):
    for kind, axis in (("u8", None), ("s8", 0)):
        x, sx = m.activation(kind, 1, 3, 8, 8)
        w, sw = m.weight("s8", (5, 3, 3, 3), axis)
        y = m.node("Conv", x, w, m.constant((m.rng.normal(size=5) * 40 * float(sx)).astype(F)))
        m.result(y, kind, m.near_power(sx * np.max(sw), 9))


@case
def qdq_gemm(m):
    for kind, axis, with_result in (("u8", None, True), ("s8", 0, True), ("u8", 0, False)):
        x, sx = m.activation(kind, 9, 30)
        w, sw = m.weight("s8", (12, 30), axis)
        y = m.node("Gemm", x, w, m.bias(12, sx, sw), transB=1)
        if with_result:
            m.result(y, kind, m.near_power(sx * np.max(sw), 9))
        else:
            m.output(y)


@case
def qdq_matmul(m):
    for kind, axis in (("u8", None), ("s8", 1), ("u8", 1), ("s8", None)):
        x, sx = m.activation(kind, 2, 9, 30)
        w, sw = m.weight("s8", (30, 12), axis)
        m.result(m.node("MatMul", x, w), kind, m.near_power(sx * np.max(sw), 9))


@case
def qdq_matmul_activations(m):
    for kind in ("u8", "s8"):
        a, sa = m.activation(kind, 2, 9, 30)
        b, sb = m.activation(kind, 2, 30, 7)
        m.result(m.node("MatMul", a, b), kind, m.near_power(sa * sb, 9))


@case
def qdq_add(m):
    for kind, op in (("u8", "Add"), ("s8", "Add"), ("u8", "Mul"), ("s8", "Mul")):
        a, sa = m.activation(kind, 3, 8, 21)
        b, sb = m.activation(kind, 3, 8, 21)
        m.result(m.node(op, a, b), kind, m.near_power(sa * sb, 7) if op == "Mul" else m.near_power(sa, 1))


@case
def qdq_add_relu(m):
    for kind, low in (("u8", True), ("s8", True), ("u8", False), ("s8", False)):
        a, sa = m.activation(kind, 3, 8, 21)
        b, _ = m.activation(kind, 3, 8, 21)
        m.result(m.node("Relu", m.node("Add", a, b)), kind, m.near_power(sa, 1), m.lowest(kind) if low else m.zero(kind))


@case
def qdq_add_constant(m):
    for kind in ("u8", "s8"):
        a, sa = m.activation(kind, 3, 8, 21)
        b = m.dq(m.constant(m.codes(kind, 21)), m.scale(-6, -3), m.zero(kind))
        m.result(m.node("Add", a, b), kind, m.near_power(sa, 1))
        c, sc = m.activation(kind, 3, 8, 21)
        m.result(m.node("Add", c, m.constant(m.rng.normal(size=21).astype(F))), kind, m.near_power(sc, 1))


@case
def qdq_float_ops(m):
    for op in ("Sub", "Div", "Max"):
        for kind in ("u8", "s8"):
            a, sa = m.activation(kind, 3, 60)
            b, _ = m.activation(kind, 3, 60)
            m.result(m.node(op, a, m.node("Add", b, m.constant(F(40)))) if op == "Div" else m.node(op, a, b), kind, m.near_power(sa, 0))


@case
def qdq_add_wide(m):
    for kind, op in (("u16", "Add"), ("s16", "Mul"), ("u16", "Concat")):
        scale, zero = F(2.0 ** -10.3), m.zero(kind)
        a = m.through(m.input(m.rng.normal(size=(3, 200)).astype(F) * F(9)), scale, zero)
        b = m.through(m.input(m.rng.normal(size=(3, 200)).astype(F) * F(9)), F(scale * F(1.37)), zero)
        m.result(m.node(op, a, b, **({"axis": 1} if op == "Concat" else {})), kind, m.near_power(scale, 1))


@case
def qdq_pools(m):
    for kind in ("u8", "s8"):
        for op, attributes in (("AveragePool", dict(kernel_shape=[2, 2], strides=[2, 2])),
                               ("AveragePool", dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])), ("GlobalAveragePool", {})):
            x, sx = m.activation(kind, 1, 7, 10, 9)
            m.result(m.node(op, x, **attributes), kind, m.near_power(sx, 0))
        scale, zero = m.scale(-6, -3), m.zero(kind)
        x = m.through(m.input(m.rng.normal(size=(1, 4, 10, 10)).astype(F)), scale, zero)
        m.result(m.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), kind, scale, zero)


@case
def qdq_tables(m):
    for kind in ("u8", "s8"):
        for op, attributes in (("Sigmoid", {}), ("LeakyRelu", {"alpha": 0.2})):
            x, _ = m.activation(kind, 400)
            m.result(m.node(op, x, **attributes), kind, m.scale(-9, -6))
        x, _ = m.activation(kind, 6, 40)
        m.result(m.node("Softmax", x, axis=-1), kind, F(1 / 256), m.lowest(kind))
        x, _ = m.activation(kind, 6, 40)
        m.result(m.node("Softmax", x, axis=-1), kind, F(1 / 255), m.lowest(kind))


@case
def qdq_joins(m):
    for kind in ("u8", "s8"):
        a, _ = m.activation(kind, 3, 50)
        b, _ = m.activation(kind, 3, 50)
        m.result(m.node("Concat", a, b, axis=1), kind, m.scale(-6, -3))
        c, _ = m.activation(kind, 3, 50)
        d, _ = m.activation(kind, 3, 50)
        m.result(m.node("Where", m.input(m.rng.random((3, 50)) < 0.5), c, d), kind, m.scale(-6, -3))


@case
def qdq_moved(m):
    for kind in ("u8", "s8", "u16"):
        for op, extra, attributes in (("Transpose", (), {"perm": [0, 2, 3, 1]}), ("Reshape", (np.array([8, -1]),), {}),
                                      ("Slice", (np.array([1]), np.array([5]), np.array([1])), {}),
                                      ("Gather", (np.array([2, 0]),), {"axis": 1})):
            scale, zero = F(2.0 ** (-11.3 if kind == "u16" else -4.3)), m.zero(kind)
            x = m.through(m.input(m.rng.normal(size=(1, 8, 6, 5)).astype(F) * F(3)), scale, zero)
            y = m.node(op, x, *[m.constant(e) for e in extra], **attributes)
            m.result(y, kind, scale, zero)
    for kind in ("u8", "s8"):  # other parameters after the move: a rounding of its own
        x, sx = m.activation(kind, 1, 8, 6, 5)
        m.result(m.node("Transpose", x, perm=[0, 2, 3, 1]), kind, m.near_power(sx, 0))


@case
def qdq_ordered(m):
    for kind in ("u8", "s8"):
        scale, zero = m.scale(-6, -3), m.zero(kind)
        x = m.through(m.input(m.rng.normal(size=(1, 8, 6, 4)).astype(F) * F(2)), scale, zero)
        for op, extra, attributes in (("ReduceMax", (np.array([1]),), {}), ("ReduceMin", (np.array([2, 3]),), {"keepdims": 0}),
                                      ("DepthToSpace", (), {"blocksize": 2}), ("Tile", (np.array([1, 1, 2, 1]),), {}),
                                      ("Expand", (np.array([2, 8, 6, 4]),), {}), ("Squeeze", (np.array([0]),), {})):
            m.result(m.node(op, x, *[m.constant(e) for e in extra], **attributes), kind, scale, zero)
        m.result(m.node("Resize", x, "", m.constant(np.array([1, 1, 2, 2], F)), mode="nearest"), kind, scale, zero)
        m.output(m.node("ArgMax", x, axis=1))


# Layouts of other tools. Scales are powers of two where ONNX Runtime leaves a float product: its sums are exact then.

@case
def layout_pytorch(m):
    """Pairs around every op; weights per channel; one decoded value read by two ops."""
    x, sx = m.activation("s8", 1, 3, 10, 10)
    w, sw = m.weight("s8", (4, 3, 3, 3), 0)
    s1 = m.near_power(sx * np.max(sw), 9)
    y = m.through(m.node("Relu", m.node("Conv", x, w, m.bias(4, sx, sw), pads=[1, 1, 1, 1])), s1, m.lowest("s8"))
    w, sw = m.weight("s8", (4, 4, 1, 1), 0)
    s2 = m.near_power(s1 * np.max(sw), 8)
    z = m.through(m.node("Conv", y, w, m.bias(4, s1, sw)), s2, np.int8(3))
    s3 = m.near_power(s2, 1)
    z = m.through(m.node("Add", z, y), s3, np.int8(-5))
    z = m.through(m.node("Flatten", m.node("GlobalAveragePool", z)), s3, np.int8(-5))
    w, sw = m.weight("s8", (6, 4), 0)
    m.result(m.node("Gemm", z, w, m.bias(6, s3, sw), transB=1), "s8", m.near_power(s3 * np.max(sw), 6))


@case
def layout_nncf(m):
    """Unsigned activations with zero point 0, pairs before convolutions only, weights as float constants behind a pair."""
    scale, zero = F(2.0 ** -5), np.uint8(0)
    x = m.through(m.input(np.abs(m.rng.normal(size=(1, 3, 9, 9))).astype(F)), scale, zero)
    w = m.through(m.constant(m.rng.normal(size=(5, 3, 3, 3)).astype(F)), F(2.0 ** -6), np.int8(0))
    y = m.node("Relu", m.node("Conv", x, w))
    y = m.through(m.node("MaxPool", y, kernel_shape=[2, 2]), F(2.0 ** -3), zero)
    w = m.through(m.constant(m.rng.normal(size=(4, 5, 2, 2)).astype(F)), F(2.0 ** -6), np.int8(0))
    m.output(m.node("Conv", y, w))


@case
def layout_aimet(m):
    """Pairs on every activation and parameter, the bias with a scale of its own, 16-bit activations in one layer."""
    x, sx = m.activation("u8", 4, 20)
    w = m.through(m.constant(m.rng.normal(size=(12, 20)).astype(F)), F(2.0 ** -6), np.int8(0))
    bias = m.constant(m.rng.normal(size=12).astype(F))
    y = m.through(m.node("Gemm", x, w, bias, transB=1), F(sx * F(2.0 ** 0)), np.uint8(128))
    y = m.through(m.node("Sigmoid", y), F(1 / 256), np.uint8(0))
    m.output(m.through(y, F(2.0 ** -15), np.uint16(0)))


@case
def layout_tensorrt(m):
    """Symmetric s8 before convolutions on both operands; results and the residual stay float until the next pair."""
    def pair(v, exponent):
        return m.through(v, F(2.0 ** exponent), np.int8(0))
    x = m.input((m.rng.normal(size=(1, 4, 8, 8))).astype(F))
    q = pair(x, -5)
    y = m.node("Conv", q, pair(m.constant(m.rng.normal(size=(4, 4, 3, 3)).astype(F)), -6), pads=[1, 1, 1, 1])
    y = m.node("Relu", m.node("Add", y, q))
    y = pair(y, -3)
    m.output(m.node("Conv", y, pair(m.constant(m.rng.normal(size=(6, 4, 1, 1)).astype(F)), -6)))


@case
def layout_int4(m):
    """Weights of 4 bits in blocks along K, float activations."""
    x = m.input(m.rng.integers(-64, 64, (5, 32)).astype(F) * F(2.0 ** -4))
    for name, (_, lo, hi) in FOUR_BITS.items():
        codes, zeros = m.rng.integers(lo, hi + 1, (32, 12)), m.rng.integers(lo, hi + 1, (4, 12))
        scales = (2.0 ** m.rng.integers(-6, -2, (4, 12))).astype(F)
        w = m.node("DequantizeLinear", m.constant(four_bit(name, codes)), m.constant(scales), m.constant(four_bit(name, zeros)),
                   axis=0, block_size=8)
        m.output(m.node("MatMul", x, w))


@case
def layout_shared(m):
    """One decoded value with several readers, next to a second decoding of the same codes."""
    scale, zero = m.scale(-6, -3), np.uint8(100)
    q = m.q(m.input(m.rng.normal(size=(1, 4, 8, 8)).astype(F) * F(3)), scale, zero)
    a, b = m.dq(q, scale, zero), m.dq(q, scale, zero)
    w, sw = m.weight("s8", (4, 4, 3, 3), 0)
    s1 = m.near_power(scale * np.max(sw), 9)
    y = m.through(m.node("Conv", a, w, m.bias(4, scale, sw), pads=[1, 1, 1, 1]), s1, np.uint8(90))
    m.result(m.node("Add", y, b), "u8", s1)
    m.result(m.node("MaxPool", a, kernel_shape=[2, 2]), "u8", scale, zero)


@case
def layout_double(m):
    """Scales that are codes themselves, decoded by another node."""
    scales = m.dq(m.constant(np.array([3, 9, 27, 81], np.uint8)), F(2.0 ** -9), np.uint8(0))
    codes = m.constant(m.codes("s8", 4, 6))
    w = m.node("DequantizeLinear", codes, scales, axis=0)
    m.output(m.node("Add", m.input(m.rng.normal(size=(4, 6)).astype(F)), w))


def machine_is_exact() -> bool:
    """Whether u8 times s8 sums are exact here: two products of 255 * 127 exceed 16 bits."""
    m = Model(0)
    y = m.node("MatMulInteger", m.input(np.full((8, 64), 255, np.uint8)), m.constant(np.full((64, 8), 127, np.int8)))
    m.output(y)
    return int(answers(m)[0][0].flat[0]) == 64 * 255 * 127


def answers(m: Model) -> list[list[np.ndarray]]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(m.proto().SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [session.run(None, feeds) for feeds in m.sets]


def main() -> None:
    out, names = Path(sys.argv[1]), sys.argv[2:]
    if not machine_is_exact():
        raise SystemExit("this processor saturates sums of u8 and s8; record on one with VNNI")
    out.mkdir(parents=True, exist_ok=True)
    for name, build in CASES.items():
        if names and name not in names:
            continue
        m = Pairs(zlib.crc32(name.encode()))
        build(m)
        arrays = {}
        for i, (feeds, results) in enumerate(zip(m.sets, answers(m))):
            arrays |= {f"{i}/{k}": v for k, v in feeds.items()}
            arrays |= {f"{i}/out_{k}": v for k, v in enumerate(results)}
        (out / f"{name}.onnx").write_bytes(m.proto().SerializeToString())
        np.savez_compressed(out / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
