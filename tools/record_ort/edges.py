"""Kernels at the edges of their arithmetic: 8-bit interpolation, wrapped sums, tiny scales, small and half types."""
import numpy as np

from model import case, F, four_bit, FOUR_BITS, TYPES

COORDINATES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")


def resize(m, kind: str, shape, coordinates: str, scales=None, sizes=None):
    operands = [m.input(m.codes(kind, *shape)), ""]
    operands += [m.constant(np.array(scales, F))] if scales else ["", m.constant(np.array(sizes, np.int64))]
    m.output(m.node("Resize", *operands, mode="linear", coordinate_transformation_mode=coordinates))


@case
def resize_linear_planes(m):
    """Channels first: float weights, truncated."""
    for kind in ("u8", "s8"):
        for coordinates in COORDINATES:
            resize(m, kind, (1, 3, 7, 6), coordinates, scales=[1, 1, 2, 3])
            resize(m, kind, (1, 2, 13, 11), coordinates, scales=[1, 1, 0.6, 1.7])
            resize(m, kind, (1, 2, 9, 8), coordinates, sizes=[1, 2, 5, 19])
        resize(m, kind, (12, 10), "half_pixel", scales=[1.5, 0.7])
        resize(m, kind, (1, 1, 5, 4), "pytorch_half_pixel", sizes=[1, 1, 1, 1])
        resize(m, kind, (1, 1, 6, 9), "half_pixel", scales=[1, 1, 1, 2.5])


@case
def resize_linear_pixels(m):
    """Channels last: weights in 1024ths, divided towards zero."""
    for kind in ("u8", "s8"):
        for coordinates in COORDINATES:
            resize(m, kind, (1, 7, 6, 3), coordinates, scales=[1, 2, 3, 1])
            resize(m, kind, (1, 13, 11, 2), coordinates, scales=[1, 0.6, 1.7, 1])
            resize(m, kind, (1, 9, 8, 2), coordinates, sizes=[1, 5, 19, 2])
        resize(m, kind, (1, 6, 9, 2), "half_pixel", scales=[1, 1, 2.5, 1])  # taken as channels first


@case
def quantize_four_bits_axis(m):
    for name, (_, lo, hi) in FOUR_BITS.items():
        for axis, block in ((0, 0), (1, 8), (0, 2)):
            count = {(0, 0): (6,), (1, 8): (6, 5), (0, 2): (3, 40)}[axis, block]
            scales, zeros = (2.0 ** m.rng.uniform(-8, 0, count)).astype(F), m.rng.integers(lo, hi + 1, count)
            whole = scales.reshape(6, 1) if block == 0 else np.repeat(scales, block, axis)
            x = (m.rng.integers(2 * lo - 4, 2 * hi + 5, (6, 40)) / F(2) * whole).astype(F)
            y = m.node("QuantizeLinear", m.input(x), m.constant(scales), m.constant(four_bit(name, zeros)), axis=axis, block_size=block)
            m.output(m.node("DequantizeLinear", y, m.constant(F(1))))


@case
def dequantize_four_bits_axis(m):
    for name, (_, lo, hi) in FOUR_BITS.items():
        codes = m.rng.integers(lo, hi + 1, (6, 20))
        x = m.input(m.rng.normal(size=(6, 20)).astype(F))
        for scales, zeros, axis in ((m.scale(), int(m.rng.integers(lo, hi + 1)), 1),
                                    ((2.0 ** m.rng.uniform(-8, 0, 6)).astype(F), m.rng.integers(lo, hi + 1, 6), 0)):
            operands = m.constant(four_bit(name, codes)), m.constant(scales), m.constant(four_bit(name, zeros))
            y = m.node("DequantizeLinear", *operands, axis=axis)
            m.output(m.node("Add", x, y))


@case
def quantize_half(m):
    """Values and scales of 16 bits: the quotient is rounded half to even."""
    for kind in ("u8", "s8"):
        for shape, axis, block in (((40,), 1, 0), ((4, 30), 0, 0), ((4, 32), 1, 8)):
            count = () if len(shape) == 1 else (4,) if block == 0 else (4, 4)
            scales = np.asarray(2.0 ** m.rng.integers(-6, 2, count), np.float16)
            zeros = m.codes(kind, *count) if count else m.zero(kind)
            whole = scales if not count else scales.reshape(4, 1) if block == 0 else np.repeat(scales, block, 1)
            x = (m.rng.integers(-600, 600, shape) / 2 * whole).astype(np.float16)
            attributes = {} if not count else dict(axis=axis, block_size=block)
            m.output(m.node("QuantizeLinear", m.input(x), m.constant(scales), m.constant(zeros), **attributes))


@case
def matmul_integer_wraps(m):
    """True sums of 4.5e9: the accumulator keeps the low 32 bits."""
    x, w = np.full((1, 70000), 255, np.uint8), np.full((70000, 2), 255, np.uint8)
    x[0, :3], w[:5, 1] = 7, 3
    m.output(m.node("MatMulInteger", m.input(x), m.input(w), m.constant(np.uint8(0)), m.constant(np.uint8(0))))


@case
def conv_integer_signed(m):
    m.output(m.node("ConvInteger", m.input(m.codes("s8", 1, 4, 9, 8)), m.constant(m.codes("s8", 6, 4, 3, 3)), m.constant(m.zero("s8")),
                    m.constant(m.zero("s8")), pads=[1, 1, 1, 1], dilations=[2, 1]))


@case
def qlinear_tiny_scales(m):
    """Subnormal products of scales are kept; products that underflow leave the zero point."""
    for sa, sb, sy in ((2.0 ** -70, 2.0 ** -70, 2.0 ** -133), (2.0 ** -75, 1.5 * 2.0 ** -66, 2.0 ** -132),
                       (2.0 ** -80, 2.0 ** -80, 2.0 ** -120)):
        m.output(m.node("QLinearMatMul", m.input(m.codes("u8", 5, 24)), *m.pair(F(sa), np.uint8(120)), m.constant(m.codes("s8", 24, 6)),
                        *m.pair(F(sb), np.int8(0)), *m.pair(F(sy), np.uint8(100))))


@case
def qlinear_matmul_very_long(m):
    sa, sb = m.scale(), m.scale()
    w = np.resize(m.codes("s8", 997), (20000, 1))
    m.output(m.node("QLinearMatMul", m.input(np.resize(m.codes("u8", 1009), (2, 20000))), *m.pair(sa, m.zero("u8")), m.constant(w),
                    *m.pair(sb, np.int8(3)), *m.pair(m.near_power(sa * sb, 14), m.zero("u8"))))


@case
def qlinear_matmul_batched(m):
    """Scales and zero points of every column of every matrix."""
    sa = m.scale()
    for b in (m.constant(m.codes("s8", 3, 24, 11)), m.input(m.codes("s8", 3, 24, 11))):
        sb = (2.0 ** m.rng.uniform(-8, -6, (3, 1, 11))).astype(F)
        m.output(m.node("QLinearMatMul", m.input(m.codes("u8", 3, 9, 24)), *m.pair(sa, m.zero("u8")), b,
                        *m.pair(sb, m.codes("s8", 3, 1, 11)), *m.pair(m.near_power(sa * sb[0, 0, 0], 9), m.zero("u8"))))


@case
def qlinear_softmax_overflow(m):
    """Short rows and many steps: the product of the largest exponential and the steps is infinite."""
    for kind, zeros in (("u8", (0, 7)), ("s8", (-128, -5, 0, 9))):
        for zero in zeros:
            for length, scale in ((1, 1 / 256), (2, 1 / 512)):
                m.output(m.node("QLinearSoftmax", m.input(m.codes(kind, 9, length)), *m.pair(m.scale(-6, -3), m.zero(kind)),
                                *m.pair(F(scale), np.asarray(zero, TYPES[kind])), domain="com.microsoft", axis=1, opset=13))


@case
def codes_reshaped(m):
    for kind in ("u8", "s8"):
        x = m.input(m.codes(kind, 1, 4, 6, 5))
        m.output(m.node("Flatten", x, axis=2))
        for op, parameter in (("Reshape", [2, -1]), ("Squeeze", [0]), ("Unsqueeze", [2]), ("Expand", [3, 4, 6, 5])):
            m.output(m.node(op, x, m.constant(np.array(parameter))))


@case
def quantize_overflow(m):
    """Where ONNX Runtime converts to 32 bits before it limits: blocks along another axis than the last, and the odd last
    element of 4-bit codes. What is beyond 2^31 steps becomes the lowest code there (not so here)."""
    x = m.rng.uniform(-100, 300, (8, 6)).astype(F)
    x[2, :4] = [1e10, np.inf, -1e10, -np.inf]
    scales, zeros = np.ones((2, 6), F), np.full((2, 6), 3, TYPES["u8"])
    m.output(m.node("QuantizeLinear", m.input(x), *m.pair(scales, zeros), axis=0, block_size=4))
    odd = np.array([1.5, -9, 3e38], F)
    y = m.node("QuantizeLinear", m.input(odd), m.constant(F(1)), m.constant(four_bit("s4", 0)))
    m.output(m.node("DequantizeLinear", y, m.constant(F(1))))
