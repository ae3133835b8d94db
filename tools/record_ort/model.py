"""A model under construction, with data sets that show wrong roundings."""
import numpy as np
import onnx
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


def four_bit(name: str, array) -> onnx.TensorProto:
    kind = FOUR_BITS[name][0]
    return helper.make_tensor("", kind, np.asarray(array).shape, np.asarray(array).reshape(-1).astype(int).tolist())


CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function
