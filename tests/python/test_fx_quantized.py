"""Models that torch.ao quantized through FX: imported with their scales, in each of the forms that torch.ao gives them."""
import copy
import sys
import warnings

import numpy as np
import pytest
import torch
from package import ROOT
from torch import nn

import quantc

warnings.filterwarnings("ignore", category=DeprecationWarning)
quantize_fx = pytest.importorskip("torch.ao.quantization.quantize_fx")
from torch.ao.quantization import QConfigMapping, get_default_qconfig_mapping  # noqa: E402

CONVERSIONS = {"reference": quantize_fx.convert_to_reference_fx,
         "decomposed": quantize_fx._convert_to_reference_decomposed_fx,
         "quantized": quantize_fx.convert_fx}


class Convs(nn.Module):
    """Fused layers, a residual, pools, and what moves codes."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.deep = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 8, 1, bias=False)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(x)))
        y = self.point(self.deep(x))
        y = self.pool(torch.relu(x + y))
        return self.fc(torch.flatten(y, 1))


class Mixed(nn.Module):
    """Spellings beside modules: cat, clamps, slices, chunks, functions of one value, products."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(12, 16)
        self.b = nn.Linear(16, 16)
        self.c = nn.Linear(8, 6)
        self.act = nn.ReLU6()

    def forward(self, x):
        x = self.act(self.a(x))
        y = nn.functional.relu(self.b(x), inplace=True)
        z = torch.cat([x, y], 1)
        u, v = z.chunk(2, 1)
        w = (u * v)[:, 2:10].clamp(-1.0, 2.5)
        return torch.sigmoid(self.c(w.reshape(-1, 8)))


def calibrated(model, shape, engine):
    torch.manual_seed(3)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    example = torch.randn(shape)
    prepared = quantize_fx.prepare_fx(model.eval(), get_default_qconfig_mapping(engine), (example,))
    for _ in range(8):
        prepared(torch.randn(shape))
    return prepared


@pytest.fixture(scope="module")
def prepared():
    torch.manual_seed(1)
    return {"convs": (calibrated(Convs(), (4, 2, 8, 8), "fbgemm"), (4, 2, 8, 8)),
            "mixed": (calibrated(Mixed(), (4, 12), "fbgemm"), (4, 12)),
            "tensor": (calibrated(Convs(), (4, 2, 8, 8), "qnnpack"), (4, 2, 8, 8))}


def last_scale(model) -> float:
    """Of the codes that the output stands for."""
    for node in reversed(list(model.graph.nodes)):
        if node.op == "call_function" and "quantize_per_tensor" in str(node.target):
            scale = node.args[1]
            return float(scale if isinstance(scale, float) else getattr(model, scale.target))
        if node.op == "call_module" and hasattr(model.get_submodule(node.target), "scale"):
            return float(model.get_submodule(node.target).scale)
        if "sigmoid" in str(node.target):
            return 1 / 256
    raise AssertionError(model.graph)


# arithmetic.md: P5
@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("network", ["convs", "mixed", "tensor"])
def test_the_answer_is_pytorchs(prepared, network, conversion):
    """PyTorch's own integer kernels give our codes; where it computes the reference in floats, a code may be one off."""
    source, shape = prepared[network]
    with torch.no_grad():
        model = CONVERSIONS[conversion](copy.deepcopy(source))
        graph = quantc.from_fx(model, (torch.zeros(shape),))
        computed = [n.computes for n in graph.explain().nodes]
        assert "float" not in computed and computed.count("integer") >= 4, graph.explain()
        step = last_scale(model)
        different = total = 0
        for seed in range(6):
            torch.manual_seed(100 + seed)
            x = torch.randn(shape)
            want, got = model(x), graph.run(x)
            off = ((want - got).abs() / step).round()
            assert off.max() <= 1, (off.max(), want, got)
            different += int((off > 0).sum())
            total += off.numel()
            assert torch.equal(got, graph.run_reference(x))
    assert different == 0 if conversion == "quantized" else different <= 0.02 * total, (different, total)


class Linear(nn.Linear):
    """A class of one's own that only shares a name with PyTorch's."""

    def forward(self, x):
        return super().forward(x) * 2


def test_modules_are_known_by_their_packages():
    """What has a known name in another package is refused: it may compute anything."""
    class Tracer(torch.fx.Tracer):
        def is_leaf_module(self, module, path):
            return True

    net = nn.Sequential(Linear(3, 2)).eval()
    with pytest.raises(quantc.Unsupported, match="not supported") as caught:
        quantc.from_fx(torch.fx.GraphModule(net, Tracer().trace(net)), (torch.zeros(1, 3),))
    assert "test_fx_quantized.Linear" in str(caught.value)
    with pytest.raises(quantc.Unsupported, match="FakeQuantize|Observer"):
        quantc.from_fx(calibrated(Mixed(), (4, 12), "fbgemm"), (torch.zeros(4, 12),))


def test_what_pytorch_has_no_codes_for():
    class Odd(nn.Module):
        def forward(self, x):
            return torch.exp(torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)).dequantize()

    with pytest.raises(quantc.Unsupported, match="exp of a quantized tensor"):
        quantc.from_fx(Odd(), (torch.zeros(1, 3),))


class Dynamic(nn.Module):
    """Linear layers with and without bias and relu, of rank 2 and 3."""

    def __init__(self):
        super().__init__()
        self.a, self.relu = nn.Linear(24, 40), nn.ReLU()
        self.b, self.c = nn.Linear(40, 40, bias=False), nn.Linear(40, 7)

    def forward(self, x):
        y = self.relu(self.a(x))
        return self.c(torch.tanh(self.b(y) + y))


@pytest.fixture
def engine(request):
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = request.param
    yield request.param
    torch.backends.quantized.engine = before


# arithmetic.md: P6, M8
@pytest.mark.parametrize("engine, per_channel", [("x86", False), ("x86", True), ("fbgemm", True), ("qnnpack", False)], indirect=["engine"])
def test_dynamic_layers_have_the_bits_of_pytorch(engine, per_channel):
    """Scales and zero points of activations are found in each run, as PyTorch's kernels find them."""
    torch.manual_seed(7)
    which = torch.ao.quantization.per_channel_dynamic_qconfig if per_channel else torch.ao.quantization.default_dynamic_qconfig
    for shape in ((5, 24), (2, 3, 24)):
        source = quantize_fx.prepare_fx(Dynamic().eval(), QConfigMapping().set_global(which), (torch.zeros(shape),))
        model = quantize_fx.convert_fx(source)
        graph = quantc.from_fx(model, (torch.zeros(shape),))
        assert [n.op for n in graph.explain().nodes].count("qlinear") == 3
        for layer in ("a", "b", "c"):
            one = quantc.from_fx(nn.Sequential(getattr(model, layer)).eval(), (torch.zeros(*shape[:-1], 24 if layer == "a" else 40),))
            for seed, size in enumerate((1.0, 30.0, 1e-4, 1e-9, 0.0)):
                torch.manual_seed(seed)
                x = torch.randn(*shape[:-1], 24 if layer == "a" else 40) * size + size * torch.randn(1)
                assert torch.equal(getattr(model, layer)(x), one.run(x)), (layer, size)
                assert torch.equal(one.run(x), one.run_reference(x))
        x = torch.randn(shape)
        assert (model(x) - graph.run(x)).abs().max() < 1e-5  # tanh is each one's own


def test_dynamic_layers_that_stay_out_are_named():
    for net, shape, name in ((nn.LSTM(3, 2), (4, 1, 3), "dynamic.modules.rnn.LSTM"), (nn.GRU(3, 2), (4, 1, 3), "dynamic.modules.rnn.GRU")):
        model = torch.ao.quantization.quantize_dynamic(nn.Sequential(net).eval(), {nn.LSTM, nn.GRU}, torch.qint8)

        class Tracer(torch.fx.Tracer):
            def is_leaf_module(self, module, path):
                return True

        with pytest.raises(quantc.Unsupported, match=name):
            quantc.from_fx(torch.fx.GraphModule(model, Tracer().trace(model)), (torch.zeros(shape),))
    half = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(3, 2)).eval(), {nn.Linear}, torch.float16)
    with pytest.raises(quantc.Unsupported, match="no codes of 8 bits"):
        quantc.from_fx(half, (torch.zeros(1, 3),))


@pytest.mark.parametrize("network, dynamic", [("residual", False), ("layers", False), ("layers", True)])
def test_pt2e_through_every_front_end(network, dynamic):
    """Results and the codes of every quantize: what convert_pt2e makes, as it is and exported once more."""
    pytest.importorskip("torchao")
    sys.path.insert(0, str(ROOT / "tests" / "quantized"))
    import torch_models
    model, shape = torch_models.converted(network, dynamic, reduced=False)
    torch.manual_seed(5)
    x = torch.randn(shape)
    graphs = [quantc.from_fx(model, (x,)), quantc.from_fx(model), quantc.from_torch(model, (x,)),
              quantc.from_exported(torch.export.export(model, (x,))), quantc.from_fx(torch.export.export(model, (x,)).module())]
    for y in (x, x * 3):
        answers = [[t.numpy().tobytes() for t in graph.run(y)] for graph in graphs]
        assert len(answers[0]) > 1 and answers.count(answers[0]) == len(graphs)
    assert len({graph.explain().totals for graph in graphs}) == 1
    assert any(n.computes == "integer" for n in graphs[0].explain().nodes)
    torch.testing.assert_close(graphs[0].run(x)[0], model(x)[0].detach(), rtol=0, atol=0.05)
