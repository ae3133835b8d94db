"""Names that are no UTF-8, or hold what a terminal must not print, from Python."""
import io
import sys

import numpy as np
import pytest
from package import ROOT

import quantc

sys.path.insert(0, str(ROOT))
from tests.support.onnx_models import build, node, value, weight  # noqa: E402

PLACE, BROKEN = b"ZZZZZZZZZZZ", b"not\xff\xfeutf8\xc3!"


@pytest.fixture(scope="module")
def graph() -> quantc.Graph:
    """One product; its input, its node and its output have names of bytes."""
    nodes = [node("MatMul", ["ZZZZZZZZZZZ", "w"], ["out ZZZZZZZZZZZ"], name="fc ZZZZZZZZZZZ\x1b[1m")]
    model = build(nodes, [value("ZZZZZZZZZZZ", [2, 4])], [value("out ZZZZZZZZZZZ", [2, 4])],
                  [weight("w", np.eye(4, dtype=np.float32))])
    return quantc.load(model.SerializeToString().replace(PLACE, BROKEN))


def test_names_come_as_names_of_files_do_and_go_back(graph):
    name = graph.inputs[0].name
    assert name == BROKEN.decode("utf-8", "surrogateescape") and name.encode("utf-8", "surrogateescape") == BROKEN
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert graph.run({name: x}).tobytes() == graph.run_reference({name: x}).tobytes() == x.tobytes()
    explained = graph.explain()
    assert explained.nodes[0].names[0].encode("utf-8", "surrogateescape").startswith(b"fc " + BROKEN)
    with pytest.raises(quantc.UserError) as raised:
        graph.run(other=x)
    str(raised.value).encode()


def test_what_is_printed_is_plain_utf8(graph, tmp_path):
    data = [np.ones((2, 4), np.float32)] * 2
    quantized = graph.quantize(graph.calibrate(data, progress=False))
    texts = [repr(graph), str(quantized.explain()), quantized.explain()._repr_html_(), quantized.explain().json, quantized.text(),
             str(quantized.validate(data[0], targets=["portable"])), str(quantc.compare(graph, quantized, data[0]))]
    analysis = quantized.report(tmp_path / "page.html", data)
    texts += [str(analysis), analysis._repr_html_(), analysis.json, (tmp_path / "page.html").read_text(encoding="utf-8")]

    class Sees(quantc.Pass):
        def run(self, editor):
            for n in editor.nodes:
                texts.extend([repr(n), repr(n.outputs[0])])
    graph.transform(Sees())
    for text in texts:
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        printed.write(text)
        assert all(c.isprintable() or c in "\n\t" for c in text), text
    assert any("\\xff" in text for text in texts[:2])


def test_rules_and_options_take_such_names(graph, tmp_path):
    rules = graph.calibrate([np.ones((2, 4), np.float32)], progress=False)
    rules.save(tmp_path / "rules.toml")
    assert quantc.read_rules(tmp_path / "rules.toml")
    assert graph.quantize(str(tmp_path / "rules.toml")).explain().nodes
    folder = tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape")
    graph.compile(folder, name="net", target="portable", build=False)
    assert (folder / "net.c").exists()
