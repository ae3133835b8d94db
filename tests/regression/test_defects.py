"""Defects of earlier quantizing compilers, each as a test that fails on it."""
import numpy as np
import pytest
import torch
from torch import nn

from tests.support.quantized import Bench, filled, module

ALL = "[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = {}\noffset = {}\n"


@pytest.fixture
def bench(quantc, tmp_path):
    torch.manual_seed(0)
    return Bench(quantc, tmp_path)


def test_relu_rescales_instead_of_relabelling(bench):
    # |min| is ten times max: the input needs a scale ten times that of the output.
    x = torch.linspace(-10, 1, 1000)
    bench.export(module(lambda m, x: torch.relu(x)), x)
    ran = bench.run("[[rule]]\npattern = '.*relu.*'\ndtype = 'int8'\nscale = 0.0078\ninput_scale = 0.0788\n")
    assert ran.error() <= 0.0788 / 2 + 0.0078
    assert ran.outputs[0].max() > 0.9


def test_zero_points_are_not_dropped(bench):
    # All inputs at the value of the zero point: real zero, so the result is the bias.
    layer = filled(nn.Linear(4, 2), 0.5, 1.0)
    bench.export(module(lambda m, x: m.fc(x), fc=layer), torch.zeros(1, 4))
    ran = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'uint8'\nscale = 0.01\noffset = 77\ninput_scale = 0.02\ninput_offset = 100\n")
    np.testing.assert_allclose(ran.outputs[0], 1.0, atol=0.005)


def test_fused_relu_clamps_at_the_zero_point(bench):
    conv = filled(nn.Conv2d(1, 2, 1), torch.tensor([1.0, -1.0]).view(2, 1, 1, 1))
    bench.export(module(lambda m, x: torch.relu(m.conv(x)), conv=conv), torch.tensor([[[[1.0, -1.0]]]]))
    ran = bench.run("[[rule]]\npattern = '.*conv.*'\ndtype = 'int8'\nscale = 0.01\noffset = -100\ninput_scale = 0.01\n")
    np.testing.assert_allclose(ran.outputs[0].ravel(), [1.0, 0.0, 0.0, 1.0], atol=0.006)
    assert "qconv" in ran.ops() and "clamp" not in ran.ops()


def test_add_with_another_reader_survives_fusing_its_relu(bench):
    def forward(m, x, y):
        s = x + y
        return torch.relu(s), s * 0.5
    x, y = torch.rand(2, 3, 4, 4) * 4 - 2, torch.rand(2, 3, 4, 4) * 4 - 2
    bench.export(module(forward), x, y)
    ran = bench.run(ALL.format(4 / 127, 0))
    assert ran.error(0) < 0.03 and ran.error(1) < 0.03


@pytest.mark.parametrize("forward", [
    lambda m, x, y: torch.add(x, y, alpha=3), lambda m, x, y: x.add(y, alpha=3), lambda m, x, y: x + 2.5,
    lambda m, x, y: torch.sub(x, y, alpha=0.5), lambda m, x, y: 1 - x])
def test_alpha_and_scalars_of_add(bench, forward):
    bench.export(module(forward), torch.rand(5, 7) * 4 - 2, torch.rand(5, 7) * 4 - 2)
    assert bench.run(ALL.format(8 / 127, 0)).error() < 0.035


@pytest.mark.parametrize("relu", [torch.relu, nn.functional.relu, lambda x: x.relu(), lambda x: x.clone().relu_(),
                                  lambda x: nn.ReLU()(x), lambda x: nn.ReLU(inplace=True)(x.clone()), lambda x: torch.clamp(x, min=0)])
def test_every_spelling_of_relu_is_fused_and_quantized(bench, relu):
    bench.export(module(lambda m, x: relu(m.conv(x)), conv=nn.Conv2d(3, 4, 3)), torch.randn(1, 3, 8, 8))
    ran = bench.run("[[rule]]\npattern = '.*conv.*'\ndtype = 'int8'\nscale = 0.02\ninput_scale = 0.03\n")
    assert ran.ops() == ["quantize", "qconv", "dequantize"]
    assert ran.psnr() > 35


@pytest.mark.parametrize("per_channel", ["true", "false"])
@pytest.mark.parametrize("channels", [1, 5])
def test_per_tensor_weights_and_one_output_channel(bench, per_channel, channels):
    bench.export(module(lambda m, x: m.conv(x), conv=nn.Conv2d(3, channels, 3)), torch.randn(1, 3, 9, 9))
    ran = bench.run(f"[[rule]]\npattern = '.*conv.*'\ndtype = 'int8'\nscale = 0.02\ninput_scale = 0.03\nper_channel = {per_channel}\n")
    assert "qconv" in ran.ops() and ran.psnr() > 35


@pytest.mark.parametrize("groups,inner", [(2, 8), (8, 8), (8, 16)])
def test_grouped_and_depthwise_convolutions_stay_grouped(bench, groups, inner):
    conv = nn.Conv2d(8, inner, 3, padding=1, groups=groups)
    bench.export(module(lambda m, x: m.conv(x), conv=conv), torch.randn(2, 8, 7, 7))
    ran = bench.run("[[rule]]\npattern = '.*conv.*'\ndtype = 'int8'\nscale = 0.02\ninput_scale = 0.03\nper_channel = true\n")
    assert f"groups = {groups}" in ran.ir and "qconv" in ran.ops()
    assert ran.psnr() > 35


@pytest.mark.parametrize("conv,shape", [(nn.Conv2d(3, 8, 3), (1, 3, 11, 11)), (nn.Conv2d(16, 32, 3, stride=2, padding=1), (1, 16, 13, 13)),
                                        (nn.Conv1d(5, 7, 3), (2, 5, 20)), (nn.Conv3d(2, 3, 2), (1, 2, 5, 5, 5))])
def test_accuracy_is_that_of_an_integer_convolution(bench, conv, shape):
    # Not of one that was left in float because its channels do not fit.
    bench.export(module(lambda m, x: m.conv(x), conv=conv), torch.randn(*shape))
    ran = bench.run("[[rule]]\npattern = '.*conv.*'\ndtype = 'int8'\nscale = 0.02\ninput_scale = 0.03\nper_channel = true\n", "--require-integer")
    assert ran.ops() == ["quantize", "qconv", "dequantize"] and ran.psnr() > 35


def test_int16_sums_do_not_overflow(bench):
    layer = filled(nn.Linear(8, 1, bias=False), 1.0)
    bench.export(module(lambda m, x: m.fc(x), fc=layer), torch.ones(1, 8))
    ran = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int16'\nscale = 0.00030517578125\ninput_scale = 0.000030517578125\n")
    np.testing.assert_allclose(ran.outputs[0], 8.0, atol=0.001)


def test_dynamic_weights_use_their_whole_range(bench):
    layer = filled(nn.Linear(2, 1, bias=False), 2.0)
    bench.export(module(lambda m, x: m.fc(x), fc=layer), torch.ones(1, 2))
    ran = bench.run("[[rule]]\nkind = 'dynamic'\npattern = '.*fc.*'\ndtype = 'int8'\n")
    np.testing.assert_allclose(ran.outputs[0], 4.0, rtol=0.01)


def test_zero_point_of_the_weights_counts(bench):
    layer = filled(nn.Linear(1, 1, bias=False), 1.0)
    bench.export(module(lambda m, x: m.fc(x), fc=layer), torch.ones(1, 1))
    ran = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int8'\nscale = 0.01\noffset = 5\ninput_scale = 0.01\ninput_offset = -20\n"
                    "weight_scale = 0.01\nweight_offset = 7\n")
    np.testing.assert_allclose(ran.outputs[0], 1.0, atol=0.006)


def test_a_whole_number_as_scale_compiles(bench):
    bench.export(module(lambda m, x: m.fc(x), fc=filled(nn.Linear(3, 2), 3.0)), torch.tensor([[1.0, 2.0, 3.0]]))
    ran = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int8'\nscale = 1\ninput_scale = 1\nweight_scale = 1\n")
    np.testing.assert_array_equal(ran.outputs[0], [[18.0, 18.0]])


def test_flatten_after_a_convolution_keeps_the_order_of_elements(bench):
    parts = dict(conv=nn.Conv2d(2, 3, 3, padding=1), fc=nn.Linear(3 * 4 * 5, 4))
    bench.export(module(lambda m, x: m.fc(torch.flatten(m.conv(x), 1)), **parts), torch.randn(1, 2, 4, 5))
    ran = bench.run("[[rule]]\npattern = '.*(conv|fc).*'\ndtype = 'int16'\nscale = 0.0005\nper_channel = true\n")
    assert ran.error() < 0.01


def test_relu_in_place_leaves_other_readers_alone(bench):
    def forward(m, x):
        y = m.conv(x)
        return torch.relu(y) + y
    bench.export(module(forward, conv=nn.Conv2d(3, 4, 1)), torch.randn(1, 3, 5, 5))
    assert bench.run(ALL.format(0.03, 0)).error() < 0.05


def test_x_plus_x(bench):
    bench.export(module(lambda m, x: x + x), torch.randn(40))
    assert bench.run(ALL.format(0.04, 0)).error() < 0.02


def test_an_op_without_a_quantized_form_is_refused(bench, quantc):
    bench.export(module(lambda m, x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))), torch.randn(4, 4))
    done = quantc("run", bench.folder / "model.pt2", "-i", bench.folder / "in.npz", "-o", bench.folder / "o.npz",
                  "--rules", bench.rules(ALL.format(0.1, 0)), status=1)
    assert "error[rule]" in done.stderr and "rules.toml:1" in done.stderr and "skip_unsupported" in done.stderr
    bench.run(ALL.format(0.1, 0) + "skip_unsupported = true\n")


@pytest.mark.parametrize("make,shape", [
    (lambda: nn.Conv2d(3, 4, 3, dilation=2), (1, 3, 9, 9)),
    (lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), (1, 3, 6, 6)),
    (lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), (1, 3, 6, 6)),
    (lambda: nn.Softmax(dim=1), (2, 5, 3)), (lambda: nn.Softmax(dim=0), (4, 3)),
    (lambda: nn.AvgPool2d(3, stride=2), (1, 2, 9, 9)), (lambda: nn.AdaptiveAvgPool2d((2, 3)), (1, 2, 6, 9)),
    (lambda: nn.MaxPool2d(2), (1, 2, 6, 6))])
def test_dilation_padding_mode_axis_and_size_are_respected(bench, make, shape):
    bench.export(module(lambda m, x: m.layer(x), layer=make()), torch.randn(*shape).clamp(-2.5, 2.5))
    assert bench.run(ALL.format(0.02, 0)).psnr() > 33


def test_linear_computes_every_row(bench):
    bench.export(module(lambda m, x: m.fc(x), fc=nn.Linear(6, 4)), torch.randn(5, 3, 6))
    ran = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int8'\nscale = 0.02\ninput_scale = 0.03\n")
    assert ran.outputs[0].shape == (5, 3, 4) and ran.psnr() > 30


def test_tiny_weights_are_not_lost(bench):
    layer = filled(nn.Linear(4, 3, bias=False), 1e-9 * torch.arange(1, 13).view(3, 4))
    bench.export(module(lambda m, x: m.fc(x), fc=layer), torch.ones(1, 4))
    ran = bench.run("[[rule]]\npattern = '.*fc.*'\ndtype = 'int8'\nscale = 4e-10\ninput_scale = 0.01\nper_channel = true\n")
    assert ran.error() < 0.02


def test_several_inputs_outputs_and_a_batch(bench):
    def forward(m, a, b):
        s = m.conv(a) + b
        return s, m.conv(b[:, :3])
    bench.export(module(forward, conv=nn.Conv2d(3, 5, 3, padding=1)), torch.randn(3, 3, 6, 6), torch.randn(3, 5, 6, 6))
    ran = bench.run(ALL.format(0.03, 0))
    assert ran.psnr(0) > 33 and ran.psnr(1) > 33


def test_conv_bn_relu_add_stay_on_codes(bench):
    parts = dict(conv1=nn.Conv2d(3, 8, 3, padding=1, bias=False), bn1=nn.BatchNorm2d(8), conv2=nn.Conv2d(8, 8, 3, padding=1), bn2=nn.BatchNorm2d(8))
    net = module(lambda m, x: torch.relu(m.bn2(m.conv2(y := torch.relu(m.bn1(m.conv1(x))))) + y), **parts)
    with torch.no_grad():
        net.train()
        for _ in range(5):
            net(torch.randn(8, 3, 8, 8))
    bench.export(net, torch.randn(1, 3, 8, 8))
    ran = bench.run(ALL.format(0.03, 0), "--require-integer")
    assert sorted(ran.ops()) == ["dequantize", "qadd", "qconv", "qconv", "quantize"]
    assert ran.psnr() > 33
