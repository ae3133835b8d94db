"""QDQ networks with signed activations, as ONNX Runtime runs them on x86 by default.

It makes signed codes unsigned where one node reads them and leaves convolutions between signed and unsigned codes, and sums of
both, in float. We compute all of them in integers. Three things are shown of every network: what ONNX Runtime makes of it means
the same to us, bit for bit; each of its steps between codes, fed its own codes, gives its bits; and where it sums a convolution
in float, a code differs, by one, only if the exact value lies so near to a tie that float rounding explains the difference."""
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
UNIT = 2.0**-24  # of float rounding



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


def test_float_operations_of_onnx_runtime(made, tmp_path):
    """What this file is about: float convolutions and sums at the default, none with kernels for signed codes."""
    for name, net in made.items():
        ops = Counter(n.op_type for n in net.model.graph.node)
        assert (ops["Conv"], ops["QLinearConv"], ops["Add"]) == ((11, 9, 8) if "resnet" in name else (17, 35, 11))
        integer = Counter(n.op_type for n in networks.optimised(net.path, tmp_path / "integer.onnx", True).graph.node)
        assert integer["Conv"] == integer["Add"] == 0 and integer["QLinearConv"] == ops["Conv"] + ops["QLinearConv"]


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
    for outcome in cases.run(build, compiled=granularity == "channel").values():
        check(outcome)


def sums(x: np.ndarray, w: np.ndarray, conv: onnx.NodeProto) -> np.ndarray:
    """The convolution of these numbers in double."""
    torch = pytest.importorskip("torch")
    attributes = {a.name: helper.get_attribute_value(a) for a in conv.attribute}
    return torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(w), stride=attributes["strides"],
                                      padding=attributes["pads"][:2], groups=attributes["group"]).numpy()


def exact_and_bound(net: Network, code: str, conv: onnx.NodeProto) -> tuple[np.ndarray, np.ndarray]:
    """The result in steps of its codes with no rounding in between (double, sums of integers exact), and how far float may be."""
    quantize = net.producer(code)
    x_node, w_node, b_node = (net.producer(i) for i in conv.input)
    per_channel = (-1, 1, 1, 1)
    x = net.codes_at(x_node.input[0]).astype(float) - net.constant(x_node.input[2])
    w = net.constant(w_node.input[0]).astype(float)
    sx, sy = float(net.constant(x_node.input[1])), float(net.constant(quantize.input[1]))
    sw = net.constant(w_node.input[1]).astype(float).reshape(per_channel)
    bias = net.constant(b_node.input[0]) * net.constant(b_node.input[1]).astype(float)
    assert not np.any(net.constant(w_node.input[2])) and not np.any(net.constant(b_node.input[2]))
    to_steps = sx * sw.reshape(1, -1, 1, 1) / sy
    bias = bias.reshape(1, -1, 1, 1) / sy
    exact = sums(x, w, conv) * to_steps + bias
    size = sums(np.abs(x), np.abs(w), conv) * to_steps + np.abs(bias)
    # Two roundings of every product's operands, one per product and addition in any order, those of the bias and the quotient.
    return exact, (w[0].size + 6) * UNIT * size


@pytest.mark.parametrize("name", NAMES)
def test_float_convolutions(quantc, made, tmp_path, name):
    net = made[name]
    ends = {c: conv for c in net.codes if (conv := net.float_convolution(c))}
    names = net.fed(list(ends), path := tmp_path / "float.onnx")
    differ = total = 0
    for (code, conv), got in zip(ends.items(), run(quantc, path, net.feeds(names), tmp_path)):
        want = net.codes[code]
        exact, bound = exact_and_bound(net, code, conv)
        assert bound.max() < 0.05  # far below half a step, so that the claim says something
        to_tie = np.abs(exact - np.floor(exact) - 0.5)
        distance = np.abs(got.astype(int) - want.astype(int))
        assert distance.max() <= 1
        assert np.all((to_tie <= bound)[distance > 0]), f"{code}: a difference that rounding does not explain"
        differ, total = differ + np.count_nonzero(distance), total + distance.size
    assert total > 100000 and differ <= 1e-4 * total
