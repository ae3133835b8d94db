"""A graph layer by layer beside what it was made of."""
import math
import sys

import numpy as np
import onnxruntime
import pytest
import torch
from package import ROOT, RULES
from torch import nn

import quantc

MODEL = ROOT / "tests/models/digits.onnx"


class Net(nn.Module):
    """Modules, functions, a module that is called twice and one of several nodes."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.conv, self.bn = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.fc, self.twice, self.norm = nn.Linear(8 * 16, 12), nn.Linear(12, 12), nn.LayerNorm(12)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn(self.conv(x))), 2)
        x = torch.tanh(self.fc(torch.flatten(x, 1)))
        return self.norm(x + self.twice(torch.relu(self.twice(x))))


@pytest.fixture(scope="module")
def net():
    return Net().eval()


X = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def test_a_module(net):
    rows = quantc.compare(net, quantc.from_torch(net, (X,)), X)
    by_name = {r.layer.split("+")[-1]: r for r in rows.layers}
    assert {"relu", "max_pool2d", "tanh", "relu_1", "twice/linear_2", "norm"} <= {n.split("#")[0] for n in by_name}, str(rows)
    assert all(r.sqnr_db is not None and r.sqnr_db > 100 and r.cosine > 0.999999 for r in rows.layers), str(rows)
    assert rows.first_bad is None and rows.layers[-1].op == "output"
    assert "no layer that was compared is below 20 dB" in str(rows) and rows._repr_html_().startswith("<table>")


def test_the_first_bad_layer(net):
    graph = quantc.from_torch(net, (X,))
    rules = quantc.calibrate(graph, [X], per_channel=True, progress=False)
    good = quantc.compare(net, graph.quantize(rules), X)
    assert good.first_bad is None, str(good)
    victim = next(r for r in rules if "fc" in r.pattern)
    victim.__setstate__({**victim.keys, "scale": [s * 60 for s in victim.keys["scale"]]})
    q = graph.quantize(rules)
    for other in (net, graph):
        rows = quantc.compare(other, q, X)
        assert "fc" in rows.first_bad.layer.split("+"), str(rows)
        assert f"first below 20 dB: {rows.first_bad.layer}" in str(rows)


def test_figures_are_those_of_numpy(digits, image):
    q = digits.quantize(RULES)
    last = quantc.compare(digits, q, image).layers[-1]
    want, got = digits.run(image).astype(float), q.run(image).astype(float)
    assert last.sqnr_db == pytest.approx(10 * np.log10((want ** 2).sum() / ((want - got) ** 2).sum()), abs=1e-6)
    assert last.max_abs == np.abs(want - got).max() and (last.least, last.greatest) == (want.min(), want.max())
    same = quantc.compare(digits, digits, image)
    assert all(r.sqnr_db == math.inf and r.max_abs == 0 for r in same.layers)


@pytest.mark.parametrize("source", [str(MODEL), MODEL.read_bytes()], ids=["path", "bytes"])
def test_a_session(digits, image, source):
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    rows = quantc.compare(session, digits, image)
    assert [r.layer for r in rows.layers][:2] == ["node_Conv_50+node_relu", "node_Conv_52+node_relu_1"]
    assert all(r.sqnr_db is not None and r.sqnr_db > 100 for r in rows.layers), str(rows)


def test_layers_without_a_partner_say_so(digits, image, net):
    rows = quantc.compare(digits, digits.quantize(RULES), image)
    assert all(r.sqnr_db is not None for r in rows.layers), str(rows)
    rows = quantc.compare(quantc.from_torch(net, (X,)), quantc.from_torch(Net().eval(), (X,), name="x"), X)
    assert rows.first_bad is None
    rows = quantc.compare(digits, quantc.from_torch(net, (X,)), image)
    assert rows.layers[0].sqnr_db is None and "not compared" in str(rows)


def test_what_cannot_be_compared(digits, image):
    with pytest.raises(quantc.UserError, match="not a str"):
        quantc.compare("model", digits, image)
    with pytest.raises(quantc.UserError, match="second argument"):
        quantc.compare(digits, "model", image)
    with pytest.raises(quantc.UserError) as e:
        quantc.compare(digits, digits, image[:, :, :4])
    assert e.value.code == "input"


def test_rows_of_pandas_and_a_plot(digits, image, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    q = digits.quantize(RULES)
    middle = float(np.median([r.sqnr_db for r in quantc.compare(digits, q, image).layers]))
    rows = quantc.compare(digits, q, image, bad_db=middle)
    table, axes = rows.to_pandas(), rows.plot()
    assert list(table.columns) == list(quantc.LayerRow._fields) and list(table["layer"]) == [r.layer for r in rows.layers]
    assert np.allclose(table["sqnr_db"], [r.sqnr_db for r in rows.layers])
    heights = [bar.get_height() for bar in axes.patches]
    assert np.allclose(heights, [r.sqnr_db for r in rows.layers])
    red = [bar.get_facecolor()[0] > bar.get_facecolor()[2] for bar in axes.patches]
    assert red == [r.sqnr_db < middle for r in rows.layers] and True in red and False in red
    assert rows.plot(axes) is axes


@pytest.mark.parametrize("package, call", [("pandas", "to_pandas"), ("matplotlib", "plot")])
def test_packages_that_are_not_there_are_named(digits, image, package, call, monkeypatch):
    rows = quantc.compare(digits, digits.quantize(RULES), image)
    for name in [n for n in sys.modules if n.split(".")[0] == package] + [package]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(rows, call)()


def test_validating_layer_by_layer_is_comparing_with_the_float_graph(digits, image):
    q = digits.quantize(RULES)
    found = q.validate(image, per_layer=True)
    assert found and "no layer is below 20 dB of float" in str(found) and not found.first_bad
    rows = {row.layer: row for row in quantc.compare(digits, q, image).layers if row.op != "output"}
    assert [layer.against for layer in found.layers] == ["float"] * len(rows)
    for layer in found.layers:
        row = rows["+".join(layer.names)]
        assert row.op == layer.op and row.sqnr_db == pytest.approx(layer.error.sqnr_db, abs=1e-3)
        assert row.cosine == pytest.approx(layer.error.cosine, abs=1e-6) and row.max_abs == pytest.approx(layer.error.max_abs, abs=1e-6)
    last = found.layers[-1]
    wanted = digits.run(image)
    again = q.validate(image, per_layer=True, atol=10.0, expected={"scores": wanted, last.names[-1]: wanted - 100})
    assert [layer.names for layer in again.first_bad] == [last.names] and again.first_bad[0].against == "expected"
    assert not q.validate(image).layers
