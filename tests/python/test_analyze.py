"""Which layer hurts."""
import html
import json
from html.parser import HTMLParser

import numpy as np
import onnx
import pytest
import torch
from package import ROOT, RULES
from torch import nn

import quantc

MODEL = ROOT / "tests/models/digits.onnx"


@pytest.fixture(scope="module")
def data():
    with np.load(ROOT / "examples/digits/calibration.npz") as arrays:
        return arrays[arrays.files[0]][:12]


def decibels(wanted, got):
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    return 10 * np.log10((wanted ** 2).sum() / ((wanted - got) ** 2).sum())


def test_figures_are_those_of_numpy(digits, data):
    q = digits.quantize(RULES)
    found = q.analyze([data])
    assert found.runs == 12 and len(found.layers) == 5
    last = next(layer for layer in found.layers if "node_linear" in layer.names)
    plain = np.concatenate([digits.run(x[None]) for x in data])
    quantized = np.concatenate([q.run(x[None]) for x in data])
    assert abs(last.cumulative.sqnr_db - decibels(plain, quantized)) < 1e-3
    assert last.cumulative.max_abs == pytest.approx(np.abs(plain - quantized).max(), abs=1e-6)
    cosine = (plain.astype(float) * quantized).sum() / np.linalg.norm(plain.astype(float)) / np.linalg.norm(quantized.astype(float))
    assert last.cumulative.cosine == pytest.approx(cosine, abs=1e-6)
    assert last.least == plain.min() and last.greatest == plain.max() and last.elements == plain.size
    assert sum(last.histogram) == last.elements
    order = [layer.alone.sqnr_db for layer in found.layers]
    assert order == sorted(order) and min(order) > 20
    assert "node_linear" in str(found) and found._repr_html_().startswith("<table>")


def layer_values(graph, data):
    """What each layer computes on all samples, by its last name."""
    runs = [{names[-1]: value for names, _, output, value in graph._core.layers([x[None]], []) if output == 0} for x in data]
    return {name: np.concatenate([run[name] for run in runs]).astype(np.float64) for name in runs[0]}


def test_figures_of_all_layers_are_those_of_numpy(digits, data):
    q = digits.quantize(RULES)
    plain, quantized = layer_values(digits, data), layer_values(q, data)
    layers = q.analyze([data]).layers
    assert len(layers) == 5
    for layer in layers:
        wanted, got, e = plain[layer.names[-1]], quantized[layer.names[-1]], layer.cumulative
        assert abs(e.sqnr_db - decibels(wanted, got)) < 1e-3, layer.names
        assert e.max_abs == pytest.approx(np.abs(wanted - got).max(), rel=1e-6)
        assert e.cosine == pytest.approx((wanted * got).sum() / np.linalg.norm(wanted) / np.linalg.norm(got), abs=1e-6)
        assert (layer.least, layer.greatest, layer.elements) == (wanted.min(), wanted.max(), wanted.size)


def test_a_layer_in_the_middle_alone_is_what_numpy_computes(digits, data):
    """Floats of the layer before become codes, weights become codes, sums are exact, results become codes."""
    def codes(x, scale, zero, least=-128):
        return np.clip(np.rint(x / scale) + zero, least, 127)

    rule = next(r for r in quantc.read_rules(RULES) if "Conv_52" in r.pattern)
    (sx,), (zx,), (sy,), (zy,) = (rule.keys[k] for k in ("input_scale", "input_offset", "scale", "offset"))
    stored = {t.name: onnx.numpy_helper.to_array(t).astype(np.float64) for t in onnx.load(MODEL).graph.initializer}
    node = next(n for n in onnx.load(MODEL).graph.node if n.name == "node_Conv_52")
    weight, bias = (stored[name] for name in node.input[1:])
    plain = layer_values(digits, data)
    x = (codes(plain["node_relu"], sx, zx) - zx).astype(np.int64)
    sw = np.float32(np.abs(weight).max((1, 2, 3)) / 127).astype(np.float64)
    w = codes(weight, sw[:, None, None, None], 0, -127).astype(np.int64)
    b = np.rint((bias + np.asarray(rule.keys["bias_correction"])) / (sx * sw)).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    sums = np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None]
    y = (np.maximum(codes(sums * (sx * sw / sy)[:, None, None], 1.0, zy), zy) - zy) * sy
    layer = next(layer for layer in digits.quantize(RULES).analyze([data]).layers if "node_Conv_52" in layer.names)
    assert abs(layer.alone.sqnr_db - decibels(plain["node_relu_1"], y)) < 1e-3
    assert abs(layer.alone.sqnr_db - layer.cumulative.sqnr_db) > 0.1  # what comes in has no error of its own


def test_a_layer_alone_is_what_rules_for_it_alone_give(digits, data):
    """The first layer reads the image: with a rule for it only, nothing else is quantized."""
    rules = [r for r in quantc.read_rules(RULES)]
    first = next(r for r in rules if "Conv_50" in r.pattern)
    q = digits.quantize([first])
    alone, = q.analyze([data]).layers
    both = next(layer for layer in digits.quantize(RULES).analyze([data]).layers if layer.names == alone.names)
    assert alone.alone.sqnr_db == pytest.approx(alone.cumulative.sqnr_db, abs=1e-6)
    assert both.alone.sqnr_db == pytest.approx(alone.alone.sqnr_db, abs=1e-6)


@pytest.mark.parametrize("bad, factor, word", [("node_Conv_54", 12.0, "few of the codes"), ("node_Conv_52", 0.05, "beyond the codes")])
def test_a_bad_scale_is_found(digits, data, bad, factor, word):
    rules = quantc.read_rules(RULES)
    for rule in rules:
        if bad in rule.pattern:
            rule.__setstate__({**rule.keys, "scale": [s * factor for s in rule.keys["scale"]]})
    found = digits.quantize(rules).analyze([data])
    assert bad in found.layers[0].names and word in found.layers[0].suggestion
    assert found.layers[1].alone.sqnr_db > found.layers[0].alone.sqnr_db + 6


class Inverted(nn.Module):
    """A network like MobileNet."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        layers = [nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6()]
        for n, m in ((8, 12), (12, 16)):
            layers += [nn.Conv2d(n, 2 * n, 1), nn.ReLU6(), nn.Conv2d(2 * n, 2 * n, 3, padding=1, groups=2 * n), nn.ReLU6(),
                       nn.Conv2d(2 * n, m, 1)]
        self.features, self.fc = nn.Sequential(*layers), nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def test_a_bad_layer_of_a_larger_network():
    net = Inverted().eval()
    x = torch.randn(6, 3, 16, 16)
    graph = quantc.from_torch(net, (x[:1],))
    rules = quantc.calibrate(graph, [x], per_channel=True, progress=False)
    victim = next(r for r in rules if "features.8" in r.pattern.replace("\\", ""))
    victim.__setstate__({**victim.keys, "scale": [s * 20 for s in victim.keys["scale"]]})
    found = graph.quantize(rules).analyze([x])
    assert any("features.8" in n for n in found.layers[0].names)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        assert not any(k in ("src", "href") and v and v.startswith("http") for k, v in attrs)
        if tag not in ("meta", "polygon", "path", "ellipse", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("meta", "polygon", "path", "ellipse", "rect"):
            assert self.open.pop() == tag


def test_pages_and_the_command_line(digits, data, command, tmp_path):
    np.savez(tmp_path / "data.npz", in_0=data)
    out = command("analyze", MODEL, "--rules", RULES, "--data", tmp_path / "data.npz", "--json", "--html", tmp_path / "a.html")
    found = digits.quantize(RULES).analyze([data])
    mine = json.loads(found.json)
    theirs = json.loads(out)
    assert [layer["alone"] for layer in theirs["layers"]] == [layer["alone"] for layer in mine["layers"]]
    assert theirs["runs"] == 12
    table = command("analyze", MODEL, "--rules", RULES, "--data", tmp_path / "data.npz")
    assert table.endswith("5 layers, 12 runs\n")
    digits.quantize(RULES).report(tmp_path / "b.html", [data])
    digits.quantize(RULES).report(tmp_path / "c.html")
    for name in ("a", "b", "c"):
        page = Page()
        page.feed((tmp_path / f"{name}.html").read_text())
        page.close()
        assert not page.open and page.seen.count("svg") >= 6 and page.seen.count("tr") == 6
        text = html.unescape((tmp_path / f"{name}.html").read_text())
        assert text.count("[[rule]]") == 5 and "pattern = 'node_Conv_54$'\n" in text and "scale = 0.038419943\noffset = 6\n" in text
        assert "[[rule]]  # rules.toml:8\n" in text
    assert "random inputs" in (tmp_path / "c.html").read_text()
