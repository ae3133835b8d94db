"""Layouts of QDQ models, at the default optimisation level."""
import numpy as np

from model import case, F, four_bit, FOUR_BITS, Pairs


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
