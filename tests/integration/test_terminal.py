"""What commands print: tables that fit, JSON as its schemas say, pictures, colours, completion."""
import json
import os
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.conftest import QUANTC
from tests.support.json_schema import problems


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    """A linear layer of a free batch, whose name takes 120 columns."""
    folder = tmp_path_factory.mktemp("names")
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", s]) for n, s in (("x", 8), ("y", 4))]
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="encoder/" * 14 + "linear/x")
    weights = numpy_helper.from_array(np.ones((8, 4), np.float32), "w")
    onnx.save(helper.make_model(helper.make_graph([node], "g", values[:1], values[1:], [weights]), opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    return folder / "m.onnx"


def widest(text):
    return max(map(len, text.splitlines()))


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    path = tmp_path_factory.mktemp("samples") / "x.npz"
    np.savez(path, image=np.random.default_rng(0).random((4, 1, 8, 8), np.float32))
    return path


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, models):
    """Two samples of the transformer: names of layers are long there."""
    path = tmp_path_factory.mktemp("pictures") / "x.npz"
    with np.load(models / "timm_test_vit.npz") as arrays:
        np.savez(path, in_0=np.concatenate([arrays["in_0"]] * 2))
    return path


@pytest.fixture(scope="module")
def poor(tmp_path_factory):
    """Ranges so narrow that analyze has something to suggest."""
    path = tmp_path_factory.mktemp("poor") / "r.toml"
    path.write_text("[[rule]]\npattern = '.*'\nop = 'linear'\nscale = 0.001\ninput_scale = 0.001\n")
    return path


def test_tables_fit_100_columns(quantc, models, root, long_names, samples, pictures, poor):
    rules = ("--rules", root / "examples/digits/rules.toml")
    for args in (("inspect", long_names), ("inspect", models / "hf_llama.onnx"), ("inspect", models / "timm_test_vit.pt2"), ("inspect", models / "digits.onnx", *rules),
                 ("explain", models / "digits.onnx", *rules), ("explain", models / "micro_kws_m_qdq.onnx"), ("explain", models / "timm_test_resnet.onnx"),
                 ("inspect", models / "timm_test_vit.onnx", "--kernels", "--target", "x86"), ("inspect", models / "micro_kws_m_qoperator.onnx", "--kernels"),
                 ("passes",), ("targets",), ("validate", models / "digits.onnx", *rules, "--random", 1),
                 ("analyze", models / "digits.onnx", *rules, "--data", samples), ("analyze", models / "timm_test_vit.onnx", "--rules", poor, "--data", pictures)):
        out = quantc(*args).stdout
        assert widest(out) <= 100, args
        assert not [line for line in out.splitlines() if line != line.rstrip()], args
    out = quantc("inspect", long_names).stdout
    assert "encoder/" * 11 in out, "a name is not cut at 40"


def test_tables_fit_the_terminal(models, root, samples):
    rules = f"--rules {root / 'examples/digits/rules.toml'}"
    for columns in (80, 160):
        command = (f"stty cols {columns}; {QUANTC} inspect {models / 'timm_test_vit.pt2'}; {QUANTC} explain {models / 'digits.onnx'} {rules}; "
                   f"{QUANTC} inspect {models / 'timm_test_vit.onnx'} --kernels --target x86; "
                   f"{QUANTC} analyze {models / 'digits.onnx'} {rules} --data {samples}")
        text = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True).stdout
        assert widest(text.replace("\r", "")) <= columns


def test_work_of_symbolic_models_is_counted(quantc, models, long_names):
    out = quantc("inspect", long_names).stdout
    assert "32 multiply-accumulates" in out and out.rstrip().endswith("for batch = 1")
    assert "96 multiply-accumulates" in quantc("inspect", long_names, "--dim", "batch=3").stdout


def test_json_is_as_its_schemas_say(quantc, models, root, long_names, samples, tmp_path):
    schemas = {name: json.loads((root / f"docs/schema/{name}.json").read_text()) for name in ("inspect", "explain", "validate", "compile", "analyze")}
    rules = ("--rules", root / "examples/digits/rules.toml")
    digits = models / "digits.onnx"
    calls = [("inspect", long_names), ("inspect", digits, *rules), ("inspect", models / "lstm.onnx"), ("explain", digits, *rules), ("explain", models / "micro_kws_m_qdq.onnx"),
             ("explain", digits), ("validate", digits, *rules, "--random", 1), ("validate", digits, "-i", models / "digits.npz", "-e", models / "digits.npz"),
             ("compile", digits, *rules, "-o", tmp_path / "a"), ("compile", digits, "-o", tmp_path / "b", "--target", "x86"),
             ("analyze", digits, *rules, "--data", samples)]
    for args in calls:
        report = json.loads(quantc(*args, "--json").stdout)
        assert not problems(report, schemas[args[0]]), args
        # A schema that lets everything pass would prove nothing.
        for key in report:
            less = {k: v for k, v in report.items() if k != key}
            assert problems(less, schemas[args[0]]) and problems({**report, key: 0.5}, schemas[args[0]])
    report = json.loads(quantc("inspect", digits, "--json").stdout)
    assert report["totals"]["macs"] == 452864 and report["inputs"] == [{"name": "image", "type": "f32", "shape": [1, 1, 8, 8]}]
    report = json.loads(quantc("compile", digits, *rules, "-o", tmp_path / "c", "--json").stdout)
    assert report["nodes"] == {"nodes": 10, "integer": 7, "float": 0, "moves": 1, "converts": 2, "indices": 0} and report["macs_slow_without_fma"] == 0
    assert f"ARENA_BYTES {report['arena_bytes']}\n" in (tmp_path / "c" / "digits.h").read_text()


def test_pictures_tell_integer_from_float(quantc, models, root):
    picture = quantc("inspect", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--dot").stdout
    fills = dict(re.findall(r'\[label="(\w+)\\n[^"]*", fillcolor="(#\w+)"\]', picture))
    assert fills["qconv"] != fills["quantize"] == fills["dequantize"]
    plain = dict(re.findall(r'\[label="(\w+)\\n[^"]*", fillcolor="(#\w+)"\]', quantc("inspect", models / "digits.onnx", "--dot").stdout))
    assert plain["conv"] not in fills.values() and "red: computes in float" in picture


def test_no_color(tmp_path):
    for value, painted in (("", True), ("1", False)):
        command = f"{QUANTC} inspect nowhere.onnx"
        done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True, env={**os.environ, "NO_COLOR": value})
        assert ("\033[1;31m" in done.stdout) == painted and "error[file]" in done.stdout.replace("\033[1;31m", "").replace("\033[0m", "")


def complete(quantc, line):
    words = line.split(" ")
    listed = " ".join(f"'{w}'" for w in words)
    script = f"{quantc('completion', 'bash').stdout}\nCOMP_WORDS=({listed})\nCOMP_CWORD={len(words) - 1}\n_quantc\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_shells_complete(quantc):
    assert complete(quantc, "quantc c") == ["compile", "calibrate", "completion"]
    assert complete(quantc, "quantc compile m.onnx --we") == ["--weights"]
    assert complete(quantc, "quantc compile m.onnx --weights ") == ["literal", "incbin", "file"]
    assert "x86-avx2" in complete(quantc, "quantc validate m.onnx --target x")
    assert "--svg" in complete(quantc, "quantc inspect --s") and complete(quantc, "quantc help ru") == ["run"]
    assert quantc("completion", "zsh").stdout.startswith("autoload")
    assert "complete -c quantc -n '__fish_seen_subcommand_from compile' -l weights" in quantc("completion", "fish").stdout
    assert "did you mean 'fish'?" in quantc("completion", "fissh", status=1).stderr
