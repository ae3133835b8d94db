"""What from_fx takes because from_torch takes it: interpolation in every spelling, results in dicts; arrays as users have them."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import quantc

X3, X4, X5 = (1, 3, 8), (1, 3, 6, 5), (1, 2, 3, 4, 4)
INTERPOLATIONS = [
    (X4, lambda x: F.interpolate(x, scale_factor=2)), (X4, lambda x: F.interpolate(x, (9, 7))), (X3, lambda x: F.interpolate(x, 12)),
    (X5, lambda x: F.interpolate(x, scale_factor=(2, 1.5, 2))), (X4, lambda x: F.interpolate(x, size=(9, 7), mode="nearest-exact")),
    (X3, lambda x: F.interpolate(x, scale_factor=1.5, mode="linear")),
    (X4, lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=False)),
    (X4, lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)),
    (X4, lambda x: F.interpolate(x, size=(3, 9), mode="bilinear", align_corners=True)),
    (X4, lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True)),
    (X4, lambda x: F.interpolate(x, size=(3, 9), mode="bicubic")), (X5, lambda x: F.interpolate(x, size=(5, 3, 2), mode="trilinear")),
    (X4, lambda x: F.interpolate(x, size=(3, 2), mode="area")), (X4, lambda x: F.interpolate(x, scale_factor=0.5, mode="area")),
    (X4, lambda x: F.interpolate(x, size=x.shape[2:], mode="nearest") + F.interpolate(x, size=(x.shape[2], x.shape[3]))),
]


class Net(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("case", range(len(INTERPOLATIONS)))
def test_interpolation_is_that_of_an_export(case):
    shape, function = INTERPOLATIONS[case]
    x = torch.linspace(-2, 3, int(np.prod(shape))).reshape(shape)
    traced, exported = quantc.from_fx(Net(function), (x,)), quantc.from_torch(Net(function), (x,))
    assert traced.run(x).equal(exported.run(x))
    assert [n.op for n in traced.nodes] == [n.op for n in exported.nodes]


def test_modules_that_interpolate():
    x = torch.linspace(-2, 3, 90).reshape(1, 3, 6, 5)
    for up in (nn.Upsample(scale_factor=2.0, mode="bilinear"), nn.Upsample(size=4), nn.UpsamplingBilinear2d(scale_factor=2)):
        net = nn.Sequential(nn.Conv2d(3, 4, 1), up).eval()
        traced = quantc.from_fx(net, (x,))
        assert traced.run(x).equal(quantc.from_torch(net, (x,)).run(x)) and traced.nodes[-1].name == "1"


@pytest.mark.parametrize("keys, steps", [(dict(scale_factor=2), 0), (dict(size=(9, 7), mode="nearest-exact"), 0), (dict(size=(9, 7), mode="bilinear"), 1)])
def test_interpolation_of_quantized_tensors(keys, steps):
    """Codes stay codes; PyTorch's own kernel truncates where the result lies between two."""
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
    torch.manual_seed(0)
    x = torch.randn(1, 3, 8, 8)
    net = Net(lambda x: x)
    net.conv, net.function = nn.Conv2d(3, 4, 3), lambda x: F.interpolate(net.conv(x), **keys)
    prepared = prepare_fx(net.eval(), get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    converted = convert_fx(prepared)
    graph = quantc.from_fx(converted, (x,))
    apart = (graph.run(x) - converted(x)).abs().max() / converted.conv.scale
    assert apart < steps + 0.01 and "qconv" in {n.op for n in graph.explain().nodes}


@pytest.mark.parametrize("keys, message", [(dict(scale_factor=2, mode="trilinear"), "interpolation 'trilinear' of f32"),
                                           (dict(size=(2, 2, 2)), "3 sizes or scale factors for 2 axes")])
def test_interpolation_that_torch_refuses_too(keys, message):
    graph = torch.fx.symbolic_trace(Net(lambda x: F.interpolate(x, **keys)))
    with pytest.raises(quantc.QuantcError, match=message):
        quantc.from_fx(graph, (torch.zeros(X4),))


def test_results_in_dicts():
    def function(x):
        return {"sum": x + 1, "both": (x * 2, {"last": x - 3})}

    x = torch.arange(6.0).reshape(2, 3)
    traced, exported = quantc.from_fx(Net(function), (x,)), quantc.from_torch(Net(function), (x,))
    mine, theirs = traced.run(x), exported.run(x)
    assert len(mine) == 3 and all(a.equal(b) for a, b in zip(mine, theirs))
    assert mine[0].equal(x + 1) and mine[2].equal(x - 3)


def test_arrays_of_the_other_byte_order(digits, image):
    assert np.array_equal(digits.run(image.astype(">f4")), digits.run(image))
    swapped = image.astype(image.dtype.newbyteorder())
    assert np.array_equal(digits.run(np.asfortranarray(swapped)), digits.run(image))


@pytest.mark.parametrize("array, message", [
    ([[0.0] * 64], "is a list, not an array: pass a NumPy array, such as numpy.asarray"), (1.0, "is a float, not an array"),
    (np.zeros((1, 1, 8, 8), object), "elements of NumPy's type 'object', which quantc does not take"),
    (np.zeros((1, 1, 8, 8), "U4"), "elements of NumPy's type '<U4'"), (np.zeros((1, 1, 8, 8), ">U4"), "elements of NumPy's type '>U4'"),
    (np.zeros((1, 1, 8, 8), "datetime64[s]"), "elements of NumPy's type 'datetime64"),
    (np.zeros((1, 1, 8, 8), [("a", "f4")]), "elements of NumPy's type")])
def test_what_is_no_array_of_numbers(digits, array, message):
    with pytest.raises(quantc.UserError) as e:
        digits.run(array)
    assert message in str(e.value) and e.value.code == "input"
