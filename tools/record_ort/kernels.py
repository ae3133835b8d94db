"""Single kernels: quantize, products, elementwise and table ops, pools."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from model import case, F, four_bit, FOUR_BITS, TYPES


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
        per_column, alpha, transposed = i % 2 == 1, [1.0, 1.0, 0.75, 1.0][i], i > 1
        w, sb, zb = weights(m, b, 19, per_column, (19, 36) if transposed else (36, 19), 0)
        sa = m.scale()
        sy = m.near_power(F(F(alpha) * sa) * (sb[0] if per_column else sb), 8)
        bias = m.rng.integers(-3000, 3000, 19).astype(np.int32)
        operands = [m.input(m.codes(a, 13, 36)), *m.pair(sa, m.zero(a)), m.constant(w), *m.pair(sb, zb), m.constant(bias)]
        attributes = dict(domain="com.microsoft", alpha=alpha, transB=int(transposed))
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
