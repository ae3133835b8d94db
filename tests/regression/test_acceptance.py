"""What earlier systems published of themselves, as bars: the same figures or better, truly on integers."""
import re

import numpy as np
import pytest
import torch
from torch import nn

from tests.support.quantized import Bench, module
from tests.support.resnet import Block, ResNet18, TinyResNet, with_statistics

FIXED = "[[rule]]\npattern = '.*'\ndtype = '{}'\nscale = {}\nper_channel = true\n"
DYNAMIC = "[[rule]]\nkind = 'dynamic'\npattern = '.*'\ndtype = 'int8'\nper_channel = true\nskip_unsupported = true\n"

# Ops that compute on codes or only move them, and the two at the ends.
INTEGER = {"quantize", "qconv", "qadd", "qavg_pool", "qlinear", "max_pool", "reshape", "dequantize"}


@pytest.fixture
def bench(quantc, tmp_path):
    torch.manual_seed(1)
    return Bench(quantc, tmp_path)


def calibrated(bench: Bench, net: nn.Module, *inputs: torch.Tensor, integer: bool = True):
    """Quantized with scales calibrated on the inputs themselves."""
    bench.export(net, *inputs)
    rules = bench.calibrated({f"in_{i}": x.numpy() for i, x in enumerate(inputs)}, "--per-channel", "--reference")
    return bench.run(rules, *(["--require-integer"] if integer else []))


@pytest.mark.parametrize("shape", [(16, 64, 256), (1, 3, 224, 224)])
@pytest.mark.parametrize("forward", [lambda m, a, b: a + b, lambda m, a, b: torch.relu(a + b), lambda m, a, b: nn.functional.relu(a.clone().add_(b))])
def test_add_and_add_relu(bench, forward, shape):
    ran = calibrated(bench, module(forward), torch.randn(*shape), torch.randn(*shape))
    assert ran.ops() == ["quantize", "quantize", "qadd", "dequantize"] and ran.psnr() > 40


@pytest.mark.parametrize("relu", [nn.ReLU(), nn.functional.relu, torch.relu, lambda x: x.relu()])
def test_relu_alone(bench, relu):
    ran = calibrated(bench, module(lambda m, x: relu(x)), torch.randn(16, 64, 256) * 2 - 3)
    assert len(ran.ops()) == 3 and ran.psnr() > 40


CONVS = [dict(cin=16, cout=32, k=3, hw=32), dict(cin=64, cout=128, k=1, hw=16), dict(cin=3, cout=32, k=3, hw=224), dict(cin=16, cout=32, k=3, hw=17, stride=(1, 2), padding=1),
         dict(cin=16, cout=32, k=(1, 3), hw=20, padding=(0, 1), stride=(2, 1)), dict(cin=16, cout=32, k=(3, 1), hw=20, bias=False), dict(cin=15, cout=31, k=3, hw=20),
         dict(cin=16, cout=32, k=3, hw=20, groups=2), dict(cin=16, cout=16, k=3, hw=20, groups=16, padding=2)]


@pytest.mark.parametrize("tail", ["", "bn", "relu", "bn_relu"])
@pytest.mark.parametrize("case", CONVS, ids=lambda c: "_".join(f"{k}{v}".replace(" ", "") for k, v in c.items()))
def test_convolutions(bench, case, tail):
    case = dict(case)
    conv = nn.Conv2d(case.pop("cin"), cout := case.pop("cout"), case.pop("k"), **{k: v for k, v in case.items() if k != "hw"})
    parts = [conv, *([nn.BatchNorm2d(cout)] if "bn" in tail else []), *([nn.ReLU()] if "relu" in tail else [])]
    shape = (1, conv.in_channels, case["hw"], case["hw"])
    net = with_statistics(nn.Sequential(*parts), (8, *shape[1:3], shape[3]))
    ran = calibrated(bench, net, torch.randn(*shape))
    assert ran.ops() == ["quantize", "qconv", "dequantize"] and ran.psnr() > 40


@pytest.mark.parametrize("bn", [False, True])
@pytest.mark.parametrize("cin,cout", [(256, 700), (1024, 512)])
def test_linear(bench, cin, cout, bn):
    net = nn.Sequential(nn.Linear(cin, cout), *([nn.BatchNorm1d(cout)] if bn else []))
    ran = calibrated(bench, net.eval(), torch.randn(16, cin))
    assert ran.ops() == ["quantize", "qlinear", "dequantize"]
    assert ran.psnr() > 50


def test_gelu_by_table(bench):
    ran = calibrated(bench, nn.GELU(), (torch.rand(16, 256) - 0.3) * 5)
    assert ran.ops() == ["quantize", "lookup", "dequantize"] and ran.psnr() > 40


def test_mlp_in_two_buffers(bench, quantc):
    net = nn.Sequential(nn.Linear(20, 10), nn.ReLU(), nn.Linear(10, 5))
    model = bench.export(net, torch.randn(1, 20))
    assert np.abs(bench.run("").outputs[0] - bench.expected[0]).max() < 1e-5
    program = quantc("inspect", model, "--program").stdout
    assert len(re.findall(r"^ *(?:buffer|%\S+).*\b(?:arena|output)\b", program, re.M)) == 2, program


@pytest.mark.parametrize("rules", [
    FIXED.format("int8", 0.02), FIXED.format("int16", 0.001),
    "[[rule]]\npattern = '0'\ndtype = 'int8'\nscale = 0.02\n[[rule]]\npattern = '2'\ndtype = 'int16'\nscale = 0.001\n",
    "[[rule]]\npattern = '2'\ndtype = 'int8'\nscale = 0.02\n", DYNAMIC])
def test_mlp_under_five_rule_sets(bench, rules):
    bench.export(nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)), torch.randn(1, 16))
    ran = bench.run(rules)
    assert np.abs(ran.outputs[0] - ran.expected[0]).max() < 1e-1


def test_equal_neighbours_need_no_conversion_and_others_one(bench):
    net = module(lambda m, x: m.fc3(torch.relu(m.fc2(torch.relu(m.fc1(x))))), fc1=nn.Linear(784, 64), fc2=nn.Linear(64, 32), fc3=nn.Linear(32, 10))
    bench.export(net, torch.randn(1, 784))
    same = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int8'\nscale = 0.02\n", "--require-integer")
    assert same.ops() == ["quantize", "qlinear", "qlinear", "qlinear", "dequantize"]
    mixed = bench.run("".join(f"[[rule]]\npattern = '.*{name}.*'\ndtype = 'int8'\nscale = {s}\ninput_scale = {s}\n"
                              for name, s in [("fc1", 0.02), ("fc2", 0.01), ("fc3", 0.015)]), "--require-integer")
    assert mixed.ops() == ["quantize", "qlinear", "requantize", "qlinear", "requantize", "qlinear", "dequantize"]


def test_conv_flatten_linear_and_a_wide_block(bench):
    net = module(lambda m, x: m.fc(torch.flatten(torch.relu(m.conv(x)), 1)), conv=nn.Conv2d(3, 8, 3, padding=1), fc=nn.Linear(8 * 32 * 32, 10))
    ran = calibrated(bench, net, torch.randn(1, 3, 32, 32))
    assert ran.psnr() > 33
    block = with_statistics(Block(64, 64), (4, 64, 16, 16))
    assert calibrated(bench, block, torch.randn(1, 64, 32, 32)).psnr() > 40


@pytest.mark.parametrize("rules,bar", [("", 1e-6), (FIXED.format("int8", 0.02), 0.0163), (FIXED.format("int16", 0.001), 0.0007), (DYNAMIC, 0.0295)],
                         ids=["float", "int8", "int16", "dynamic"])
def test_tiny_resnet(bench, rules, bar):
    # Activations that fill the range of the one scale, 0.02 * 127, and stay inside it.
    net = with_statistics(TinyResNet(), (32, 3, 8, 8), gain=(0.1, 0.3), shift=(0.4, 0.8))
    bench.export(net, torch.randn(1, 3, 8, 8) * 0.5)
    assert bench.run(rules).error() <= bar


def test_weight_codes(bench, quantc):
    fc = nn.Linear(5, 1, bias=False)
    with torch.no_grad():
        fc.weight.copy_(torch.tensor([[0, 0.1, -0.1, 0.2, -0.2]]))
    bench.export(module(lambda m, x: m.fc(x), fc=fc), torch.ones(1, 5))
    ir = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int8'\nscale = 0.1\nweight_scale = 0.1\n").ir
    assert re.search(r"= \[0, 1, -1, 2, -2\]", ir)
    with torch.no_grad():
        fc.weight.copy_(torch.tensor([[10.0, -10, 0, 0, 0]]))
    bench.export(module(lambda m, x: m.fc(x), fc=fc), torch.ones(1, 5))
    ir = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int8'\nscale = 0.1\nweight_scale = 0.01\n").ir
    assert re.search(r"= \[127, -128, 0, 0, 0\]", ir)


def test_resnet18_is_integer_between_its_ends(bench, quantc):
    torch.manual_seed(0)
    net = with_statistics(ResNet18(), (4, 3, 224, 224), batches=2)
    samples = torch.randn(8, 3, 224, 224, generator=torch.Generator().manual_seed(5))
    bench.export(net, samples[:1])
    rules = bench.calibrated({"in_0": samples.numpy()}, "--per-channel")
    ran = bench.run(rules, "--require-integer")
    ops = ran.ops()
    assert ops[0] == "quantize" and ops[-1] == "dequantize" and ops.count("quantize") == ops.count("dequantize") == 1
    assert ops.count("qconv") == 20 and ops.count("qadd") == 8 and ops.count("qlinear") == 1
    assert set(ops) <= INTEGER
    assert ran.psnr() >= 40
    # One byte for a parameter, four for a bias.
    quantc("compile", bench.folder / "model.pt2", "--rules", bench.folder / "rules.toml", "-o", bench.folder / "c", "--weights", "file")
    parameters = sum(p.numel() for n, p in net.named_parameters() if "bn" not in n and "down.1" not in n and not n.endswith("bias"))
    biases = 4 * (sum(m.num_features for m in net.modules() if isinstance(m, nn.BatchNorm2d)) + 1000)
    weights = sum(f.stat().st_size for f in (bench.folder / "c").glob("*weights*.bin"))
    assert weights <= 1.02 * parameters + biases


def test_resnet18_of_a_quantized_model_is_integer(bench, quantc):
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    torch.manual_seed(0)
    net = with_statistics(ResNet18(), (4, 3, 224, 224), batches=2)
    samples = torch.randn(8, 3, 224, 224, generator=torch.Generator().manual_seed(5))
    model, quantized = bench.folder / "model.onnx", bench.folder / "qdq.onnx"
    torch.onnx.export(net, (samples[:1],), model, dynamo=False, input_names=["x"])  # GlobalAveragePool, which ORT quantizes

    class Reader(CalibrationDataReader):
        left = iter(samples.numpy())

        def get_next(self):
            x = next(self.left, None)
            return None if x is None else {"x": x[None]}

    quantize_static(str(model), str(quantized), Reader(), per_channel=True, activation_type=QuantType.QUInt8)
    np.savez(bench.folder / "in.npz", in_0=samples[:1].numpy())
    with torch.no_grad():
        bench.expected = [net(samples[:1]).numpy()]
    ran = bench.run("", "--require-integer", model=quantized)
    ops = ran.ops()
    assert ops.count("quantize") == ops.count("dequantize") == 1
    assert ops.count("qconv") == 20 and ops.count("qadd") == 8 and set(ops) <= INTEGER
    assert ran.psnr() >= 40
