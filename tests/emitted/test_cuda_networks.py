"""Blocks of newer CNNs in int8 as generated CUDA: nothing is refused, the bits are the interpreter's, memory is near what lives; what is refused is listed."""
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.one_thread import kernels_of_one_thread

CHANNELS, SIZE = 16, 10


class Net:
    """A float network in ONNX with seeded weights."""
    def __init__(self):
        self.rng, self.nodes, self.constants = np.random.default_rng(3), [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{len(self.nodes)}"], name=f"{op}{len(self.nodes)}", **attributes))
        return self.nodes[-1].output[0]

    def conv(self, x, cin, cout, k=1, group=1):
        w = self.rng.normal(size=(cout, cin // group, k, k)) / np.sqrt(cin // group * k * k)
        return self.node("Conv", x, self.constant(w), self.constant(self.rng.normal(size=cout) * 0.1), pads=[k // 2] * 4, group=group, kernel_shape=[k, k])

    def linear(self, x, n, m):
        return self.node("Add", self.node("MatMul", x, self.constant(self.rng.normal(size=(n, m)) / np.sqrt(n))), self.constant(self.rng.normal(size=m) * 0.1))

    def squeeze_excite(self, x, channels, act, gate):
        y = act(self.conv(self.node("GlobalAveragePool", x), channels, channels // 4))
        return self.node("Mul", x, gate(self.conv(y, channels // 4, channels)))

    def silu(self, x):
        return self.node("Mul", x, self.node("Sigmoid", x))

    def hard_sigmoid(self, x):
        return self.node("HardSigmoid", x, alpha=1 / 6, beta=0.5)

    def gelu(self, x):
        erf = self.node("Erf", self.node("Div", x, self.constant(np.sqrt(2.0))))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.constant(1.0))), self.constant(0.5))

    def norm_channels_first(self, x, channels):
        mean = self.node("ReduceMean", x, axes=[1])
        apart = self.node("Sub", x, mean)
        deviation = self.node("Sqrt", self.node("Add", self.node("ReduceMean", self.node("Mul", apart, apart), axes=[1]), self.constant(1e-6)))
        scaled = self.node("Mul", self.node("Div", apart, deviation), self.constant(1 + self.rng.normal(size=(1, channels, 1, 1)) * 0.1))
        return self.node("Add", scaled, self.constant(self.rng.normal(size=(1, channels, 1, 1)) * 0.1))

    def save(self, y, path, batch):
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, CHANNELS, SIZE, SIZE]) for name in ("x", y)]
        graph = helper.make_graph(self.nodes, "net", ports[:1], ports[1:], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        np.savez(path.with_suffix(".npz"), in_0=self.rng.normal(size=(batch, CHANNELS, SIZE, SIZE)).astype(np.float32))
        return path


def mobilenet_v3(net):
    """Hard swish, a depthwise layer of 5 x 5, squeeze and excitation."""
    y = net.node("HardSwish", net.conv("x", CHANNELS, 24))
    y = net.node("HardSwish", net.conv(y, 24, 24, 5, 24))
    y = net.squeeze_excite(y, 24, lambda v: net.node("Relu", v), net.hard_sigmoid)
    return net.node("Add", "x", net.conv(y, 24, CHANNELS))


def efficientnet(net):
    """SiLU everywhere, gates by sigmoid."""
    y = net.silu(net.conv("x", CHANNELS, 32))
    y = net.silu(net.conv(y, 32, 32, 3, 32))
    y = net.squeeze_excite(y, 32, net.silu, lambda v: net.node("Sigmoid", v))
    return net.node("Add", "x", net.conv(y, 32, CHANNELS))


def convnext(net):
    """A norm over channels that come first, depthwise 7 x 7, a norm over the last axis, two products with a GELU between them."""
    y = net.norm_channels_first("x", CHANNELS)
    y = net.node("Transpose", net.conv(y, CHANNELS, CHANNELS, 7, CHANNELS), perm=[0, 2, 3, 1])
    y = net.node("LayerNormalization", y, net.constant(np.ones(CHANNELS)), net.constant(np.zeros(CHANNELS)), axis=-1)
    y = net.linear(net.gelu(net.linear(y, CHANNELS, 4 * CHANNELS)), 4 * CHANNELS, CHANNELS)
    y = net.node("Mul", y, net.constant(net.rng.normal(size=CHANNELS)))
    return net.node("Add", "x", net.node("Transpose", y, perm=[0, 3, 1, 2]))


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("block", [mobilenet_v3, efficientnet, convnext])
def test_a_block_in_int8(block, batch, quantc, tmp_path):
    """For sm_90, where tensor cores compute it: threads run one after another here."""
    net = Net()
    model = net.save(block(net), tmp_path / "net.onnx", batch)
    vectors, rules = model.with_suffix(".npz"), tmp_path / "rules.toml"
    quantc("calibrate", model, "--data", vectors, "-o", rules)
    done = quantc("compile", model, "--rules", rules, "--target", "cuda:sm_90", "-o", tmp_path / "out", "--name", "net", "--vectors", vectors)
    arena, live, weights = map(int, re.search(r"arena (\d+) bytes, of which (\d+) are live together, weights (\d+)", done.stdout).groups())
    assert live > 0 and arena + weights <= 1.05 * (live + weights), done.stdout
    source = (tmp_path / "out/net.cu").read_text()
    assert "cudaLaunchHostFunc(queue" not in source and "qk_qtile_mma" in source and "qk_qdepthwise_cuda" in source
    made = subprocess.run(["make", "-C", tmp_path / "out", "HOST=1", "CFLAGS=-O1 -Wall -Wextra -Werror", "test"], capture_output=True, text=True)
    assert "bits equal" in made.stdout, made.stdout + made.stderr


TOKEN = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nper_token = true\nsymmetric = true\nper_channel = true\nskip_unsupported = true\n"
FILES = ["hf_llama", "timm_test_resnet", "timm_test_vit", "tv_mobilenet_v2_025", "unetlet"]


@pytest.mark.parametrize("kind", ["static", "token"])
@pytest.mark.parametrize("network", [*FILES, mobilenet_v3, efficientnet, convnext], ids=lambda n: n if isinstance(n, str) else n.__name__)
def test_no_kernel_is_left_to_one_thread(network, kind, quantc, models, tmp_path):
    net = Net()
    model = models / f"{network}.onnx" if isinstance(network, str) else net.save(network(net), tmp_path / "net.onnx", 3)
    rules = tmp_path / "rules.toml"
    if kind == "token":
        rules.write_text(TOKEN)
    else:
        quantc("calibrate", model, "--data", model.with_suffix(".npz"), "-o", rules)
    assert kernels_of_one_thread(quantc, model, "--rules", rules) == set()


def test_all_branches_that_values_decide_are_refused_by_name(quantc, tmp_path):
    def arm(op, name):
        return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])])
    nodes = [helper.make_node("If", [c], [y], name=name, then_branch=arm("Exp", f"{name}_a"), else_branch=arm("Abs", f"{name}_b"))
             for c, y, name in (("c", "y", "first"), ("d", "z", "second"))]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]), *(helper.make_tensor_value_info(n, TensorProto.BOOL, []) for n in "cd")]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "yz"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports, results)), tmp_path / "m.onnx")
    done = quantc("compile", tmp_path / "m.onnx", "--target", "cuda", "-o", tmp_path / "out", status=2)
    assert "'first'" in done.stderr and "layer 'second': code for target cuda has no branches and loops that values decide" in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_other_commands_take_steps_of_the_host(quantc, models):
    """`inspect` shows them as compile makes them; they are compared and measured, too."""
    flags = ["--target", "cuda:sm_75", "--allow-host"]
    text = quantc("inspect", models / "lstm.onnx", "--program", *flags).stdout
    assert text.count("copy %") > quantc("inspect", models / "lstm.onnx", "--program", *flags[:-1]).stdout.count("copy %") == 2, text
    done = quantc("validate", models / "lstm.onnx", "-i", models / "lstm.npz", *flags, "--host", "--atol", "0")
    assert re.search(r"cuda:sm_75 .* yes +ok", done.stdout), done.stdout
