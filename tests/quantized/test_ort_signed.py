"""QDQ networks with signed activations, as ONNX Runtime runs them on x86 by default.

It makes signed codes unsigned where one node reads them and leaves convolutions between signed and unsigned codes, and sums of
both, in float. Under `signed=f32` so do we, with its order of sums: final outputs are equal, and so are the codes of every float
convolution fed with ONNX Runtime's own. Without it those convolutions are integer; every other step has ONNX Runtime's bits."""
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
import networks
from support import Cases, check
from test_ort_networks import INPUTS, make, samples

NAMES = [f"{net}-qdq-s8s8-{granularity}" for net in ("resnet18", "mobilenet_v2") for granularity in ("tensor", "channel")]
CODE_OPS = ("QuantizeLinear", "QLinearConv", "QLinearAdd", "QLinearGlobalAveragePool", "QGemm")
AS_ON_X86 = "onnxruntime,signed=f32"


@dataclass
class Network:
    path: Path  # of quantize_static
    optimised: Path
    model: onnx.ModelProto  # the optimised one
    x: np.ndarray
    answer: np.ndarray
    codes: dict[str, np.ndarray]  # ONNX Runtime's, at every node that gives codes

    def producer(self, name: str) -> onnx.NodeProto:
        return next(n for n in self.model.graph.node if name in n.output)

    def constant(self, name: str) -> np.ndarray:
        return numpy_helper.to_array(next(i for i in self.model.graph.initializer if i.name == name))

    def codes_at(self, name: str) -> np.ndarray:
        """Codes as a node reads them: those of a node that gives codes, perhaps transposed."""
        if name in self.codes:
            return self.codes[name]
        node = self.producer(name)
        assert node.op_type == "Transpose"
        return self.codes_at(node.input[0]).transpose(helper.get_attribute_value(node.attribute[0]))

    def float_convolution(self, code: str) -> onnx.NodeProto | None:
        """The float convolution whose result these codes are."""
        node = self.producer(code)
        if node.op_type != "QuantizeLinear" or node.input[0] == "x":
            return None
        source = self.producer(node.input[0])
        return source if source.op_type == "Conv" else None

    def fed(self, ends: list[str], path: Path) -> list[str]:
        """Writes the model of the steps that give the codes `ends`, every step fed through inputs: their names."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        graph = model.graph
        for node in graph.node:
            for i, name in enumerate(node.input):
                if name in self.codes:
                    node.input[i] = f"{name}_fed"
        graph.input.extend(self.info(name, f"{name}_fed") for name in self.codes)
        del graph.output[:]
        graph.output.extend(self.info(name, name) for name in ends)
        needed, rest, producers = set(), list(ends), {o: n for n in graph.node for o in n.output}
        while rest:
            name = rest.pop()
            if name not in needed:
                needed.add(name)
                rest += producers[name].input if name in producers else []
        nodes = [n for n in graph.node if needed & {*n.output}]
        del graph.node[:]
        graph.node.extend(nodes)
        inputs = [i for i in graph.input if i.name in needed]
        del graph.input[:]
        graph.input.extend(inputs)
        onnx.save(model, path)
        return [i.name for i in inputs]

    def info(self, name: str, shown: str):
        array = self.codes[name]
        return helper.make_tensor_value_info(shown, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    def feeds(self, names: list[str]) -> list[np.ndarray]:
        return [self.x if n == "x" else self.codes[n.removesuffix("_fed")] for n in names]


def read(folder: Path, name: str) -> Network:
    path, optimised = make(folder, name, 64, INPUTS), folder / f"{name}.optimised.onnx"
    model = networks.optimised(path, optimised)
    x = np.concatenate(samples((1, 3, 64, 64), INPUTS))
    names = [n.output[0] for n in model.graph.node if n.op_type in CODE_OPS]
    shown, shown_path = onnx.ModelProto(), folder / f"{name}.shown.onnx"
    shown.CopyFrom(model)
    shown.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in names)
    onnx.save(shown, shown_path)
    ((answer,),) = networks.answers(path, [x])
    ((same, *codes),) = networks.answers(shown_path, [x], as_written=True)
    assert np.array_equal(answer, same)
    return Network(path, optimised, model, x, answer, dict(zip(names, codes)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signed")
    return {name: read(folder, name) for name in NAMES}


def run(quantc, path: Path, inputs: list[np.ndarray], folder: Path) -> list[np.ndarray]:
    np.savez(folder / "in.npz", **{f"in_{i}": a for i, a in enumerate(inputs)})
    quantc("run", path, "-i", folder / "in.npz", "-o", folder / "out.npz")
    return list(np.load(folder / "out.npz").values())


# arithmetic.md: P3
def test_float_operations_of_onnx_runtime(made, tmp_path):
    """What this file is about: float convolutions and sums at the default, none with kernels for signed codes."""
    for name, net in made.items():
        ops = Counter(n.op_type for n in net.model.graph.node)
        assert (ops["Conv"], ops["QLinearConv"], ops["Add"]) == ((11, 9, 8) if "resnet" in name else (17, 35, 11))
        integer = Counter(n.op_type for n in networks.optimised(net.path, tmp_path / "integer.onnx", True).graph.node)
        assert integer["Conv"] == integer["Add"] == 0 and integer["QLinearConv"] == ops["Conv"] + ops["QLinearConv"]


# arithmetic.md: M10
@pytest.mark.parametrize("name", NAMES)
def test_means_the_same(quantc, made, tmp_path, name):
    net = made[name]
    (own,), (optimised,) = (run(quantc, path, [net.x], tmp_path) for path in (net.path, net.optimised))
    assert np.array_equal(own, optimised)


@pytest.mark.parametrize("granularity", ["tensor", "channel"])
def test_integer_steps(build, made, tmp_path, granularity):
    cases = Cases(build / f"quantized_signed_{granularity}")
    for name in NAMES:
        if not name.endswith(granularity):
            continue
        net = made[name]
        ends = [c for c in net.codes if not net.float_convolution(c)]
        assert len(ends) > 15
        names = net.fed(ends, path := tmp_path / f"{name}.onnx")
        cases.add(name, path, [(net.feeds(names), [net.codes[c] for c in ends])])
    for outcome in cases.run(build, compiled=False).values():
        check(outcome)


@pytest.fixture(scope="module")
def outcomes(build, made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("float")
    cases, fed = Cases(build / "quantized_signed_f32"), Cases(build / "quantized_signed_fed")
    for name, net in made.items():
        cases.add(name, net.path, [([net.x], [net.answer])], arithmetic=AS_ON_X86)
        ends = [c for c in net.codes if net.float_convolution(c)]
        assert len(ends) == (11 if "resnet" in name else 17)
        names = net.fed(ends, path := folder / f"{name}.onnx")
        fed.add(name, path, [(net.feeds(names), [net.codes[c] for c in ends])], arithmetic=AS_ON_X86)
    return cases.run(build), fed.run(build, compiled=False)


# arithmetic.md: P3, M9, M11
@pytest.mark.parametrize("name", NAMES)
def test_equals_onnx_runtime(outcomes, name):
    check(outcomes[0][name])


# arithmetic.md: M11
@pytest.mark.parametrize("name", NAMES)
def test_float_convolutions(outcomes, name):
    check(outcomes[1][name])


# arithmetic.md: M11
@pytest.mark.parametrize("name", NAMES)
def test_float_convolutions_are_reported(quantc, made, tmp_path, name):
    path, count = made[name].path, 11 if "resnet" in name else 17
    result = quantc("compile", path, "-o", tmp_path, "--arithmetic", AS_ON_X86, "--require-integer", status=1)
    assert f"{count} operations compute in float" in result.stderr


@dataclass
class Convolution:
    """One convolution of codes that ONNX Runtime leaves in float."""
    weights: tuple[int, ...]
    size: tuple[int, ...]
    groups: int = 1
    stride: int = 1
    type: type = np.int8
    relu: bool = False

    def codes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, weights and bias. The later half of the products nearly cancels the first, and one sum in eight is a tie but for
        the rounding of floats, so that the order of sums shows."""
        rng = np.random.default_rng(5)
        middle = 128 * (self.type == np.uint8)
        outputs, inputs = self.weights[:2]
        x = rng.integers(-120, 121, (2, inputs * self.groups, *self.size))
        w = rng.integers(-127, 128, self.weights)
        half = inputs // 2
        w[:, half:2 * half] = -w[:, :half]
        for g in range(0, inputs * self.groups, inputs):
            x[:, g + half:g + 2 * half] = x[:, g:g + half] + rng.integers(-1, 2, x[:, :half].shape)
        return (x + middle).astype(self.type), w.astype(np.int8), rng.integers(-300, 301, outputs).astype(np.int32)

    def write(self, path: Path) -> np.ndarray:
        """Writes the model from codes to codes: the codes of its input."""
        x, w, b = self.codes()
        sx, sw = np.float32(0.0137), np.float32(0.0071)
        zero, rank = self.type(128 * (self.type == np.uint8)), len(self.size)
        constants = {"sx": sx, "sw": sw, "sb": sx * sw, "sy": sx * sw * 8, "z": zero, "w": w, "zw": np.int8(0), "b": b, "zb": np.int32(0)}
        nodes = [helper.make_node("DequantizeLinear", ["x", "sx", "z"], ["xf"]), helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wf"]),
                 helper.make_node("DequantizeLinear", ["b", "sb", "zb"], ["bf"]),
                 helper.make_node("Conv", ["xf", "wf", "bf"], ["c"], group=self.groups, strides=[self.stride] * rank,
                                  pads=[w.shape[2] // 2] * (2 * rank))]
        if self.relu:
            nodes.append(helper.make_node("Relu", ["c"], ["r"]))
        nodes.append(helper.make_node("QuantizeLinear", ["r" if self.relu else "c", "sy", "z"], ["y"]))
        code = helper.np_dtype_to_tensor_dtype(np.dtype(self.type))
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", code, x.shape)],
                                  [helper.make_tensor_value_info("y", code, None)],
                                  [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        return x


CONVOLUTIONS = {
    "more_positions_than_products": Convolution((8, 40, 3, 3), (20, 20)),
    "chains_of_256": Convolution((16, 64, 3, 3), (8, 8)),
    "chains_of_512": Convolution((40, 128, 3, 3), (10, 9), stride=2),
    "chains_of_1024": Convolution((8, 240, 3, 3), (4, 4)),
    "pointwise": Convolution((12, 300, 1, 1), (18, 18)),
    "groups": Convolution((12, 50, 3, 3), (13, 13), groups=3),
    "one_axis": Convolution((6, 70, 5), (300,)),
    "three_axes": Convolution((4, 10, 3, 3, 3), (7, 7, 8)),
    "a_channel_per_group": Convolution((200, 1, 3, 3), (16, 16), groups=200),
    "one_output_three_left": Convolution((1, 35, 1, 1), (50, 50)),
    "one_output_two_left": Convolution((1, 30, 1, 1), (50, 50)),
    "a_clamp_that_limits": Convolution((8, 40, 3, 3), (20, 20), type=np.uint8, relu=True),
}


# arithmetic.md: Q39, M12
def test_orders_of_sums(quantc, build, tmp_path):
    """The order by the sizes of a convolution, and that exact sums give other codes."""
    cases = Cases(build / "quantized_signed_orders")
    for name, convolution in CONVOLUTIONS.items():
        x = convolution.write(path := tmp_path / f"{name}.onnx")
        ((want,),) = networks.answers(path, [x])
        assert "Conv" in {n.op_type.removeprefix("Fused") for n in networks.optimised(path, tmp_path / "optimised.onnx").graph.node}
        (exact,) = run(quantc, path, [x], tmp_path)
        assert np.any(exact != want), name
        cases.add(name, path, [([x], [want])], arithmetic=AS_ON_X86)
    for outcome in cases.run(build).values():
        check(outcome)
