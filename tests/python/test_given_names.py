"""Names that users gave stay: of dimensions, of outputs; and what is said where they are wrong."""
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

import quantc


class Net(nn.Module):
    """Outputs in a dict, one of them a tuple; two inputs share a dimension."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.head = nn.Linear(4, 3)

    def forward(self, x, y):
        return {"logits": self.head(x), "hidden": (y + 1, x * 2)}


X, Y = torch.randn(3, 5, 4), torch.randn(5, 2)


def free(top=64):
    return {"x": {0: Dim("batch", min=2, max=top), 1: Dim("seq")}, "y": {0: Dim("seq")}}


@pytest.fixture(scope="module")
def program():
    return torch.export.export(Net(), (X, Y), dynamic_shapes=free())


def shapes(ports):
    return {p.name: p.shape for p in ports}


@pytest.mark.parametrize("made", ["module", "program", "file"])
def test_dimensions_and_outputs_keep_their_names(program, made, tmp_path):
    if made == "module":
        graph = quantc.from_torch(Net(), (X, Y), dynamic_shapes=free())
    elif made == "program":
        graph = quantc.from_exported(program)
    else:
        quantc.save_exported(program, str(tmp_path / "m.pt2"))
        graph = quantc.load(tmp_path / "m.pt2")
        assert torch.equal(torch.export.load(str(tmp_path / "m.pt2")).module()(X, Y)["hidden"][1], X * 2)
    assert shapes(graph.inputs) == {"x": ["batch", "seq", "4"], "y": ["seq", "2"]}
    assert shapes(graph.outputs) == {"logits": ["batch", "seq", "3"], "hidden_0": ["seq", "2"], "hidden_1": ["batch", "seq", "4"]}
    for a, b in zip(graph.run(X, Y), (Net()(X, Y)["logits"], Y + 1, X * 2)):
        torch.testing.assert_close(a, b)
    assert repr(graph.inputs[0]) == "<quantc.Port x: f32[batch, seq, 4]>"


def test_ranges_are_those_of_the_dim_and_said_in_words(program):
    graph = quantc.from_exported(program)
    for dims, text in (({"batch": 65}, "dimension 'batch' cannot be 65: the model allows 2 to 64"),
                       ({"batch": (1, 4)}, "dimension 'batch' cannot be 1: the model allows 2 to 64")):
        with pytest.raises(quantc.UserError, match=re.escape(text)):
            graph.with_options(dims={"seq": 5, **dims}).explain()
    with pytest.raises(quantc.UserError, match="dimension 'batch' is 65, the model allows 2 to 64"):
        graph.run(torch.randn(65, 5, 4), Y)
    open_end = quantc.from_torch(nn.Linear(4, 2), (torch.randn(5, 4),), dynamic_shapes=({0: Dim("n", min=3)},))
    with pytest.raises(quantc.UserError, match="dimension 'n' is 2, the model allows 3 and more$"):
        open_end.run(torch.randn(2, 4))
    assert "9223372036854775807" not in str(open_end)


def test_a_wrong_name_is_refused_at_once(program):
    graph = quantc.from_exported(program)
    with pytest.raises(quantc.UserError, match="no dimension is named 'bacth'; the inputs have batch, seq.*did you mean 'batch'"):
        graph.with_options(dims={"bacth": 4})
    with pytest.raises(quantc.UserError, match="no dimension is named 'sqe'"):
        graph.with_options(dims={"sqe": (1, 4)})
    assert shapes(quantc.from_exported(program, dims={"batch": 4}).with_options(name="a").inputs)["x"] == ["4", "seq", "4"]


class Pairs(nn.Module):
    def forward(self, x, y):
        return x[1:] + y if x.shape[0] != 1 else y


def test_relations_are_said_in_words(tmp_path):
    n = Dim("n", min=2, max=32)
    graph = quantc.from_torch(Pairs(), (torch.randn(6, 2), torch.randn(5, 2)), dynamic_shapes={"x": {0: n + 1}, "y": {0: n}})
    x, y = torch.randn(9, 2), torch.randn(8, 2)
    torch.testing.assert_close(graph.run(x, y), x[1:] + y)
    module = graph.compile(tmp_path / "out", dims={"n": (2, 16)}, name="net")
    torch.testing.assert_close(module(x, y), x[1:] + y)
    header = (tmp_path / "out/net.h").read_text()
    for line in re.findall(r"The model holds only where (.*)\.", header):
        left, right = re.split(r" is (?:not |at most |at least |less than |more than )?", line)
        assert left != right, line


def test_a_name_that_another_symbol_has_is_not_taken(tmp_path):
    """A file whose names would join two dimensions is refused; from_torch leaves such a name out."""
    import io
    import json
    program = torch.export.export(Net(), (X, Y), dynamic_shapes={"x": {0: Dim("batch", max=64), 1: Dim("seq")}, "y": {0: Dim("seq")}})
    other = sorted(shapes(quantc.from_pt2(saved(program)).inputs)["x"][:2])
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"quantc_dims.json": json.dumps({other[0]: other[1]})})
    with pytest.raises(quantc.UserError, match=f"'{other[1]}' is the name of two dimensions"):
        quantc.from_pt2(file.getvalue())
    for broken in ('{"s0": "a b"}', '{"s0": "u3"}', '{"s0": 4}', "[", '{"s0": ""}'):
        file = io.BytesIO()
        torch.export.save(program, file, extra_files={"quantc_dims.json": broken})
        with pytest.raises(quantc.UserError):
            quantc.from_pt2(file.getvalue())


def saved(program):
    import io
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


def test_results_that_are_no_dict_keep_the_names_of_their_nodes():
    class Two(nn.Module):
        def forward(self, x):
            return x.relu(), (x.exp(), None), {"a": [x + 1, x + 2], 3: x}
    graph = quantc.from_torch(Two(), (torch.randn(3),))
    assert [p.name for p in graph.outputs] == ["relu", "exp", "a_0", "a_1", "3"]
    x = np.ones(3, np.float32)
    assert all(np.array_equal(a, b) for a, b in zip(graph.run(x)[2:], (x + 1, x + 2, x)))


def test_a_language_model(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, max_position_embeddings=64)
    model = transformers.LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 64, (2, 8))
    with pytest.raises(quantc.UserError, match=r"model.config.use_cache = False"):
        quantc.from_torch(model, (ids,))
    model.config.use_cache = False
    graph = quantc.from_torch(model, (), {"input_ids": ids}, dynamic_shapes={"input_ids": {0: Dim("batch", min=2, max=8), 1: Dim("seq", min=2, max=16)}})
    assert shapes(graph.inputs) == {"input_ids": ["batch", "seq"]} and [p.name for p in graph.outputs] == ["logits"]
    wanted = model(ids).logits.detach()
    torch.testing.assert_close(graph.run(ids), wanted, atol=1e-4, rtol=1e-4)
    with pytest.warns(quantc.QuantcWarning, match="input 'input_ids' is i64, elements of i32 are cast"):
        torch.testing.assert_close(graph.run(ids.int()), wanted, atol=1e-4, rtol=1e-4)
    # No layer of a correct float model is accused, and the table fits a terminal.
    rows = quantc.compare(model, graph, ids)
    assert rows.first_bad is None and all(r.sqnr_db is None or r.sqnr_db > 60 for r in rows.layers), str(rows)
    assert sum(r.sqnr_db is not None for r in rows.layers) > 20 and rows.layers[-1].layer == "logits"
    assert max(map(len, str(rows).splitlines())) <= 100
    q = graph.quantize([quantc.KeyRule(pattern=".*proj.*", kind="dynamic", per_token=True)])
    bad = quantc.compare(model, q, ids)
    assert bad.layers[-1].sqnr_db > 15 and any(r.sqnr_db is not None and 10 < r.sqnr_db < 60 for r in bad.layers)
    found = q.validate(ids, expected=wanted, min_sqnr=90)
    assert not found and "SQNR is" in found.failed[0] and "the bar is 90 dB" in found.failed[0]
    found = q.validate(ids, expected=wanted, min_sqnr=10, min_top1=50, perplexity="input_ids")
    assert found and found.comparisons[0].top1 > 50 and found.comparisons[0].perplexity == pytest.approx(found.comparisons[0].wanted_perplexity, rel=0.5)
    assert q.validate(ids, expected=wanted) and not any(c.judged for c in q.validate(ids).comparisons if c.against == "float")
