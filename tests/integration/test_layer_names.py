"""Tables of layers: names that differ at their ends stay apart, indices are no integer layers, suggestions are not so already."""
import json
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.conftest import QUANTC

PATH = "/model/decoder/layers.0/self_attn/attention/"
PARTS = ("q_proj", "k_proj", "v_proj", "o_proj")
QUICK = ("--rounds", "1", "--cflags", "-O0", "--target", "portable")


@pytest.fixture(scope="module")
def attention(tmp_path_factory):
    """Rows of a large table by ids + 1, through four linear layers with long names."""
    folder = tmp_path_factory.mktemp("attention")
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((4096, 8)).astype(np.float32), "table"), numpy_helper.from_array(np.int64([1]), "one")]
    nodes = [helper.make_node("Add", ["ids", "one"], ["next"], name="/model/position"),
             helper.make_node("Gather", ["table", "next"], ["x0"], name="/model/embed")]
    for i, part in enumerate(PARTS):
        weights.append(numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), part))
        nodes.append(helper.make_node("MatMul", [f"x{i}", part], [f"x{i + 1}"], name=f"{PATH}{part}/MatMul"))
    values = [helper.make_tensor_value_info("ids", TensorProto.INT64, [3]), helper.make_tensor_value_info("x4", TensorProto.FLOAT, [3, 8])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], weights), opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    np.savez(folder / "ids.npz", ids=np.int64([[0, 7, 4094], [5, 6, 7]]))
    (folder / "r.toml").write_text("[[rule]]\npattern = '.*_proj.*'\nscale = 2.0\ninput_scale = 2.0\nper_channel = true\n")
    return folder


def on_a_terminal(*command):
    text = subprocess.run(["script", "-qec", f"stty cols 90; {' '.join(map(str, (QUANTC, *command)))}", "/dev/null"], capture_output=True, text=True).stdout
    return text.replace("\r", "")


def test_names_are_whole_in_pipes_and_apart_on_terminals(quantc, attention):
    model, rules, data = attention / "m.onnx", ("--rules", attention / "r.toml"), ("--data", attention / "ids.npz")
    for command in (("explain", model), ("explain", model, *rules), ("analyze", model, *rules, *data), ("bench", model, "--random", 1, "--per-layer", *QUICK)):
        piped, shown = quantc(*command).stdout, on_a_terminal(*command)
        for part in PARTS:
            assert f"{PATH}{part}/MatMul" in piped, (command, piped)
            assert re.search(rf"(?<!/){part}/MatMul|layers.0/self_attn/attention/{part}/MatMul", shown), (command, shown)
        assert "names are without '/model/" in shown and "names are without" not in piped
        assert max(map(len, shown.splitlines())) <= 90, command


def test_additions_of_indices_are_no_integer_layers(quantc, attention, root):
    report = json.loads(quantc("explain", attention / "m.onnx", "--json").stdout)
    kinds = {node["names"][-1]: node["computes"] for node in report["nodes"]}
    assert kinds["/model/position"] == "indices" and kinds["/model/embed"] == "moves"
    assert report["totals"] == {"nodes": 6, "integer": 0, "float": 4, "moves": 1, "converts": 0, "indices": 1}
    assert "6 nodes: 0 integer, 4 float, 1 move elements, 0 convert, 1 on indices" in quantc("explain", attention / "m.onnx").stdout


def test_suggestions_are_not_so_already(quantc, attention, tmp_path):
    """Scales of 2 lose much: what is tried next is neither per_channel where it is, nor a scale that is no smaller."""
    def suggested(rule):
        (tmp_path / "r.toml").write_text(f"[[rule]]\npattern = '.*_proj.*'\n{rule}")
        found = json.loads(quantc("analyze", attention / "m.onnx", "--rules", tmp_path / "r.toml", "--data", attention / "ids.npz", "--json").stdout)
        return {layer["suggestion"] for layer in found["layers"]} - {""}
    every = suggested("scale = 8.0\ninput_scale = 8.0\nper_channel = true\n")
    assert every and not any("per_channel" in s for s in every), every
    wide = suggested("dtype = 'int16'\nscale = 8.0\ninput_scale = 8.0\nper_channel = true\n")
    assert wide and not any("int16" in s or "per_channel" in s for s in wide), wide


def test_bytes_of_a_gather_are_those_it_reads(quantc, attention):
    """Three rows of 32 bytes, not a table of 131,072; nothing is above the limit of the machine for it."""
    report = json.loads(quantc("bench", attention / "m.onnx", "--random", 1, "--per-layer", *QUICK, "--json").stdout)
    gather = next(layer for layer in report["layers"] if "/model/embed" in layer["names"])
    assert gather["bytes"] == 2 * 3 * 32 + 3 * 8
    assert report["bytes"] < 5000
    assert report["bytes"] == sum(layer["bytes"] for layer in report["layers"])


def test_rules_for_weights_leave_what_has_none(quantc, models, tmp_path):
    """docs/rules.md: weight_only and dynamic rules are for nodes with weights, whatever else they match: here rotary embeddings."""
    for kind in ("weight_only", "dynamic"):
        (tmp_path / "r.toml").write_text(f"[[rule]]\npattern = '.*'\nkind = '{kind}'\n")
        report = json.loads(quantc("explain", models / "hf_llama.onnx", "--rules", tmp_path / "r.toml", "--json").stdout)
        ops = {node["op"]: node["computes"] for node in report["nodes"]}
        assert ops["rotary"] == "float" and any(op.startswith("qlinear") for op in ops), ops
