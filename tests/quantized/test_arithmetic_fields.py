"""Every field of the arithmetic at near ties: each of its values gives the codes of its formula, and others than the rest.

The formulas are docs/arithmetic.md's, written again in numpy; interpreter, Program and C must have their codes."""
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
from support import Cases, check

F, L = np.float32, np.longdouble
LO, HI = 0, 255


def fma(a, b, c):
    return (np.asarray(a, L) * np.asarray(b, L) + np.asarray(c, L)).astype(F)


def code(v, zero):
    return (np.rint(np.clip(v.astype(F), F(LO - zero), F(HI - zero))).astype(int) + zero).astype(np.uint8)


def shifted(v):
    """The zero point is part of v already."""
    return np.clip(np.rint(v), LO, HI).astype(np.uint8)


def once(numerator, denominator):
    """The quotient of integers, rounded half to even once."""
    q, rest = np.divmod(np.asarray(numerator, np.int64), np.int64(denominator))
    return q + ((rest > denominator - rest) | ((rest == denominator - rest) & (q & 1 == 1)))


def exactly(total, multiplier, zero, n=1):
    """The exact total * multiplier / n as codes."""
    m = Fraction(float(multiplier)) / n
    return np.clip(once(total * m.numerator, m.denominator) + zero, LO, HI).astype(np.uint8)


@dataclass
class Row:
    """One op between codes, and its codes under every arithmetic that is to make a difference."""
    op: str
    inputs: list[np.ndarray]
    formats: list[tuple]  # scale and zero point of every input, then of the result
    answers: dict[str, Callable[[], np.ndarray]]
    weight: tuple | None = None  # codes, scale, float bias
    attributes: dict | None = None
    through: bool = False  # inputs are floats that pass through signed codes

    def model(self) -> onnx.ModelProto:
        nodes, constants = [], []

        def constant(array):
            constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(constants)}"))
            return constants[-1].name

        def convert(op, x, params):
            y = f"{op}{len(nodes)}"
            nodes.append(helper.make_node(op, [x, constant(F(params[0])), constant(params[1])], [y]))
            return y

        operands = []
        for i, params in enumerate(self.formats[:-1]):
            x = convert("QuantizeLinear", f"in_{i}", params) if self.through or self.op == "" else f"in_{i}"
            operands.append(convert("DequantizeLinear", x, params) if self.op else x)
        if self.weight:
            codes, scale, bias = self.weight
            operands += [convert("DequantizeLinear", constant(codes), (scale, np.int8(0)))] + ([constant(bias)] if bias is not None else [])
        if self.op:
            nodes.append(helper.make_node(self.op, operands, ["y"], **(self.attributes or {})))
            operands = [convert("QuantizeLinear", "y", self.formats[-1])]
            if self.through:
                operands = [convert("DequantizeLinear", operands[0], self.formats[-1])]
        kinds = [helper.make_tensor_value_info(f"in_{i}", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for i, a in enumerate(self.inputs)]
        graph = helper.make_graph(nodes, "row", kinds, [helper.make_empty_tensor_value_info(operands[0])], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def u8(*shape, seed):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def searched(make: Callable[[np.float32], Row], unit: float) -> Row:
    """The row whose result has the first scale, of those that bring a multiple of `unit` next to half a step, for which every
    arithmetic has codes of its own."""
    for k in range(20, 40):
        for multiple in range(41, 4000, 2):
            row = make(F(unit * multiple / (k + 0.5)))
            codes = [answer() for answer in row.answers.values()]
            if all(np.any(a != b) for i, a in enumerate(codes) for b in codes[i + 1:]):
                return row
    raise AssertionError(f"no scale makes a difference to {row.op}")


def quantize() -> Row:
    s = F(0.0371)
    x = ((np.random.default_rng(1).integers(-200, 200, 4000) + 0.5) * float(s)).astype(F)
    return Row("", [x], [(s, np.uint8(120)), (s, np.uint8(120))],
               {"exact": lambda: code(x / s, 120), "exact,quantize=reciprocal": lambda: code(x * F(1 / s), 120)})


def operands(seed):
    a, b = u8(256, 1, seed=seed), u8(1, 256, seed=seed + 1)
    return a, b, a.astype(int) - 100, b.astype(int) - 31


def add() -> Row:
    """Rescaling and combining: scales a unit in the last place from powers of two, so that most sums are near ties."""
    a, b, da, db = operands(2)
    sa, sb, sy, zero = F(0.0125), F(np.nextafter(F(0.0125), F(1))), F(0.025), 77
    ra, rb = sa / sy, sb / sy
    shift = F(zero) - fma(rb, F(31), ra * F(100))  # a repeats along the last axis, so ONNX Runtime takes b as the first
    ma, mb = Fraction(float(ra)), Fraction(float(rb))
    unit = max(ma.denominator, mb.denominator)
    return Row("Add", [a, b], [(sa, np.uint8(100)), (sb, np.uint8(31)), (sy, np.uint8(zero))], {
        "exact": lambda: code(fma(db.astype(F), rb, da.astype(F) * ra), zero),
        "exact,rescale=q31": lambda: np.clip(once(da * int(ma * unit) + db * int(mb * unit), unit) + zero, LO, HI).astype(np.uint8),
        "onnxruntime": lambda: shifted(fma(b.astype(F), rb, fma(a.astype(F), ra, shift))),
        "exact,combine=f32": lambda: code((da.astype(F) * sa + db.astype(F) * sb) / sy, zero)})


def mul(sy) -> Row:
    a, b, da, db = operands(4)
    sa, sb, zero = F(0.0137), F(0.0211), 77
    m, p = (sa * sb) / sy, da * db
    return Row("Mul", [a, b], [(sa, np.uint8(100)), (sb, np.uint8(31)), (sy, np.uint8(zero))], {
        "exact": lambda: code(p.astype(F) * m, zero), "exact,rescale=q31": lambda: exactly(p, m, zero),
        "onnxruntime": lambda: shifted(p.astype(F) * m + F(zero)),
        "exact,combine=f32": lambda: code(((da.astype(F) * sa) * (db.astype(F) * sb)) / sy, zero)})


def means(x):
    """The sums of every two neighbours."""
    return x[..., 0::2] + x[..., 1::2]


def average_pool(sy) -> Row:
    x, sx, zx, zero = u8(1, 8, 4, 512, seed=6), F(0.0137), 100, 9
    d = x.astype(int) - 100
    decoded = d.astype(F) * sx
    return Row("AveragePool", [x], [(sx, np.uint8(zx)), (sy, np.uint8(zero))], {
        "exact": lambda: code(means(d).astype(F) * (sx / (sy * F(2))), zero), "exact,rescale=q31": lambda: exactly(means(d), sx / sy, zero, 2),
        "onnxruntime": lambda: shifted((means(decoded) / F(2)) / sy + F(zero)),
        "exact,combine=f32": lambda: code((means(decoded) / F(2)) / sy, zero)}, attributes=dict(kernel_shape=[1, 2], strides=[1, 2]))


def reduction(op: str) -> Callable[[np.float32], Row]:
    def row(sy) -> Row:
        x, sx, zero, mean = u8(9000, 6, seed=8), F(0.0137), 9, op == "ReduceMean"
        total = (x.astype(int) - 100).sum(-1, keepdims=True)
        m = sx / (sy * F(6)) if mean else sx / sy
        return Row(op, [x], [(sx, np.uint8(100)), (sy, np.uint8(zero))], {
            "exact": lambda: code(total.astype(F) * m, zero), "exact,rescale=q31": lambda: exactly(total, sx / sy, zero, 6 if mean else 1)},
            attributes=dict(axes_input=[-1]))
    return row


def resize(sy) -> Row:
    x, sx, zero = u8(1, 4, 40, 40, seed=9), F(0.0137), 9
    d = x.astype(np.int64) - 100

    def along(v, axis):  # twice as many, at 1/4 and 3/4 between neighbours, in 2048ths
        v = np.moveaxis(v, axis, -1)
        before, after = np.concatenate([v[..., :1], v[..., :-1]], -1), np.concatenate([v[..., 1:], v[..., -1:]], -1)
        y = np.stack([512 * before + 1536 * v, 1536 * v + 512 * after], -1).reshape(*v.shape[:-1], -1)
        return np.moveaxis(y, -1, axis)

    total, m = along(along(d, 2), 3), np.ldexp(sx / sy, -22)
    return Row("Resize", [x], [(sx, np.uint8(100)), (sy, np.uint8(zero))],
               {"exact": lambda: code(total.astype(F) * m, zero), "exact,rescale=q31": lambda: exactly(total, m, zero)},
               attributes=dict(mode="linear", scales_input=[1, 1, 2, 2]))


def product(bias: bool) -> Callable[[np.float32], Row]:
    def row(sy) -> Row:
        rng, sx, sw, zero = np.random.default_rng(10), F(0.0137), F(0.0073), 90
        x, w = u8(2000, 24, seed=11), rng.integers(-127, 128, (24, 16)).astype(np.int8)
        total = (x.astype(int) - 100) @ w.astype(int)
        m, factor, formats = (sx * sw) / sy, F(1) / (sx * sw), [(sx, np.uint8(100)), (sy, np.uint8(zero))]
        if not bias:
            return Row("MatMul", [x], formats, {"exact": lambda: code(total.astype(F) * m, zero),
                                                "exact,rescale=q31": lambda: exactly(total, m, zero)}, (w, sw, None))
        b = (rng.uniform(-3000, 3000, 16) * float(sx * sw)).astype(F)
        whole = np.rint(b / (sx * sw)).astype(int)
        return Row("Gemm", [x], formats, {"exact": lambda: code((total + whole).astype(F) * m, zero),
                                          "exact,bias=f32": lambda: code(fma(b, factor, total.astype(F)) * m, zero)}, (w, sw, b))
    return row


def softmax() -> Row:
    x, sx, sy = u8(40, 24, seed=12), F(0.05), F(1 / 255)
    d = x.astype(np.float64) * float(sx)
    e = np.exp(d - d.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return Row("Softmax", [x], [(sx, np.uint8(0)), (sy, np.uint8(0))],
               {"exact": lambda: np.rint(p / float(sy)).astype(np.uint8), "exact,softmax=onnxruntime": lambda: np.rint(p * 254).astype(np.uint8)},
               attributes=dict(axis=-1))


def signed() -> Row:
    """Signed codes whose mean has its zero point added as a float before it is rounded: near 2^7 ties round otherwise than near 0."""
    sx = F(0.0137)
    codes = np.random.default_rng(13).integers(-128, 128, (1, 8, 4, 512))
    x, sy = codes.astype(F) * sx, np.nextafter(sx, F(1))
    sums = means((codes.astype(F)) * sx)

    def answer(zero, offset):
        v = np.clip(np.rint((sums / F(2)) / sy + F(zero + offset)), -128 + offset, 127 + offset) - offset
        return ((v - zero).astype(F) * sy).astype(F)

    return Row("AveragePool", [x], [(sx, np.int8(0)), (sy, np.int8(-2))],
               {"onnxruntime,signed=kept": lambda: answer(-2, 0), "onnxruntime,signed=shifted": lambda: answer(-2, 128)},
               attributes=dict(kernel_shape=[1, 2], strides=[1, 2]), through=True)


def float_sums() -> Row:
    """A convolution between signed and unsigned codes, one sum in eight a tie: on integers, or as a chain of floats."""
    rng = np.random.default_rng(17)
    sx, sw = F(0.0137), F(0.0071)
    sy = sx * sw * F(8)
    x, w = rng.integers(-20, 21, (1, 6, 402)).astype(np.int8), rng.integers(-9, 10, (2, 6, 3)).astype(np.int8)

    def answer(values, weights, finish):
        sums = np.zeros((1, 2, 400), values.dtype)
        for channel in range(6):
            for k in range(3):
                sums = finish(values[:, channel, None, k:k + 400], weights[None, :, channel, k, None], sums)
        return sums

    return Row("Conv", [x], [(sx, np.int8(0)), (sy, np.uint8(120))],
               {"onnxruntime,signed=shifted": lambda: code(answer(x.astype(int), w.astype(int), lambda a, b, c: a * b + c).astype(F) * (sx * sw / sy), 120),
                "onnxruntime,signed=f32": lambda: code(answer(x.astype(F) * sx, w.astype(F) * sw, fma) / sy, 120)},
               weight=(w, sw, None))


ROWS = {"quantize": quantize, "add": add, "mul": lambda: searched(mul, 0.0137 * 0.0211), "softmax": softmax, "signed": signed,
        "float_sums": float_sums,
        "average_pool": lambda: searched(average_pool, 0.0137 / 2), "mean": lambda: searched(reduction("ReduceMean"), 0.0137 / 6),
        "sum": lambda: searched(reduction("ReduceSum"), 0.0137), "resize": lambda: searched(resize, 0.0137 / 2**4),
        "product": lambda: searched(product(False), 0.0137 * 0.0073), "bias": lambda: searched(product(True), 0.0137 * 0.0073)}
FIELDS = {"quantize": ["quantize"], "rescale": ["add", "mul", "average_pool", "mean", "sum", "resize", "product"],
          "combine": ["add", "mul", "average_pool"], "softmax": ["softmax"], "bias": ["bias"], "signed": ["signed", "float_sums"]}


@pytest.fixture(scope="module")
def outcomes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arithmetic")
    cases = Cases(build / "quantized_record")
    for name, make in ROWS.items():
        row = make()
        path = folder / f"{name}.onnx"
        onnx.save(with_inputs(row.model()), path)
        for fields, answer in row.answers.items():
            cases.add(f"{name}:{fields}", path, [(row.inputs, [answer()])], arithmetic=fields)
    return cases.run(build)


def with_inputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """Attributes NAME_input become constant operands, where ONNX has them there."""
    for node in model.graph.node:
        for a in [a for a in node.attribute if a.name.endswith("_input")]:
            values = helper.get_attribute_value(a)
            node.attribute.remove(a)
            scales = a.name == "scales_input"
            model.graph.initializer.append(numpy_helper.from_array(np.array(values, F if scales else np.int64), a.name))
            node.input.extend(["", a.name] if scales else [a.name])
    return model


# arithmetic.md: Q2, Q10, Q30, Q32, Q33, Q34, Q39, Q50, Q51, Q52, Q53, Q54, Q55, Q56, Q58, Q59, Q60, Q61, M9, M10
@pytest.mark.parametrize("name", ROWS)
def test_formulas(outcomes, name):
    for case, outcome in outcomes.items():
        if case.split(":")[0] == name:
            check(outcome)


# arithmetic.md: Q20, Q61
def test_bilinear_resize_is_integer(quantc, tmp_path):
    onnx.save(with_inputs(ROWS["resize"]().model()), path := tmp_path / "resize.onnx")
    quantc("explain", path, "--arithmetic", "exact", "--require-integer")
    quantc("explain", path, "--arithmetic", "exact,combine=f32", "--require-integer", status=1)


# arithmetic.md: Q2
@pytest.mark.parametrize("field", FIELDS)
def test_every_value_makes_a_difference(field):
    for name in FIELDS[field]:
        answers = {arithmetic: answer() for arithmetic, answer in ROWS[name]().answers.items()}
        wanted = [r for r in answers if relevant(field, r)]
        assert len(wanted) > 1
        for i, first in enumerate(wanted):
            for second in wanted[i + 1:]:
                assert np.any(answers[first] != answers[second]), f"{name}: {first} and {second} agree everywhere"


def relevant(field: str, arithmetic: str) -> bool:
    return arithmetic == "exact" or f"{field}=" in arithmetic or (field == "combine" and arithmetic == "onnxruntime")
