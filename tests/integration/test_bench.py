"""What `quantc bench` says, never how fast anything is."""
import json
import stat
import sys

import pytest

from tests.support.json_schema import problems

QUICK = ("--rounds", "2", "--cflags", "-O0", "--target", "portable")


@pytest.fixture(scope="module")
def rules(root):
    return ("--rules", root / "examples/digits/rules.toml")


@pytest.fixture
def peers(monkeypatch):
    """The Python of the tests has peers."""
    monkeypatch.setenv("QUANTC_PYTHON", sys.executable)


def check(report, root):
    schema = json.loads((root / "docs/schema/bench.json").read_text())
    assert not problems(report, schema)
    for key in report:
        less = {k: v for k, v in report.items() if k != key}
        assert problems(less, schema) and problems({**report, key: 0.5}, schema)


def test_runs_beside_others(quantc, models, root, rules, peers):
    call = ("bench", models / "digits.onnx", *rules, *QUICK, "--against", "onnxruntime", "--per-layer")
    report = json.loads(quantc(*call, "--json").stdout)
    check(report, root)
    own, peer = report["own"], report["peers"][0]
    assert report["macs"] == report["integer_macs"] == 452864 and report["bytes"] > 20000
    assert own["runs"] == peer["runs"] == 2 and peer["what"].startswith("onnxruntime ") and not report["missing"]
    assert 0 < own["least_ms"] <= own["median_ms"] and own["ratio"] == 1
    assert peer["ratio"] == pytest.approx(peer["least_ms"] / own["least_ms"], rel=1e-3)
    assert own["gmacs"] == pytest.approx(452864 / own["least_ms"] * 1e-6, rel=1e-3)
    names = [name for layer in report["layers"] for name in layer["names"]]
    assert {"image", "node_Conv_50", "node_Conv_54", "node_linear"} <= set(names)
    assert all(layer["variant"].startswith("qk_") and layer["us"] >= 0 for layer in report["layers"])
    assert sum(layer["macs"] for layer in report["layers"]) == 452864
    table = quantc(*call).stdout
    assert "least ms" in table and "onnxruntime" in table and "####" in table and "node_Conv_52+node_relu_1" in table
    assert max(map(len, table.splitlines())) <= 100 and "\x1b" not in table


def test_torch_runs_its_own_files(quantc, models, root, peers):
    report = json.loads(quantc("bench", models / "digits.pt2", *QUICK, "--against", "torch,onnxruntime", "--trust-model", "--json").stdout)
    check(report, root)
    assert [p["name"] for p in report["peers"]] == ["torch"] and report["integer_macs"] == 0
    assert report["missing"] == [{"name": "onnxruntime", "why": "onnxruntime runs .onnx files"}]


def test_what_is_missing_is_said(quantc, models, monkeypatch, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\nexec {sys.executable} -S -E \"$@\"\n")
    bare.chmod(bare.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("QUANTC_PYTHON", str(bare))
    said = quantc("bench", models / "digits.onnx", *QUICK, "--against", "onnxruntime").stdout
    assert "onnxruntime did not run: onnxruntime is missing" in said and "pip install onnxruntime" in " ".join(said.split())
    assert "there is no 'tensorrt': use one of onnxruntime, openvino, torch" in quantc(
        "bench", models / "digits.onnx", "--against", "tensorrt", status=1).stderr


def test_cuda_is_measured_on_the_host(quantc, models, root, rules):
    report = json.loads(quantc("bench", models / "digits.onnx", *rules, "--rounds", "2", "--target", "cuda", "--host", "--per-layer", "--json").stdout)
    check(report, root)
    machine = report["machine"]
    assert report["target"] == "cuda" and machine["launches"] == len(report["layers"]) > 5 and report["own"]["share_of_limit"] > 0
    assert min(machine["int8_gmacs"], machine["float_gmacs"], machine["copy_gbytes"], machine["copied_us"]) > 0
    assert [layer["variant"] for layer in report["layers"]] == ["qk_quantize_i8", "qk_qtile_mma", "qk_qtile_mma", "qk_max_pool_cuda_i8", "qk_qtile_mma",
                                                                "qk_max_pool_cuda_i8", "qk_qtile_mma", "qk_dequantize_i8"]
    assert all(layer["us"] > 0 and layer["share_of_limit"] > 0 for layer in report["layers"])
    assert sum(layer["macs"] for layer in report["layers"]) == report["macs"] == 452864
    assert report["bytes"] == sum(layer["bytes"] for layer in report["layers"])
    table = quantc("bench", models / "digits.onnx", *rules, "--rounds", "2", "--target", "cuda:sm_75", "--host", "--per-layer").stdout
    assert "TOPS" in table and "TB/s" in table and "qk_qtile_dp4a" in table and "####" in table and "limit of this machine, measured now" in table


def test_cuda_is_measured_at_the_size_of_its_inputs(quantc, root, tmp_path):
    """With a free batch, each layer is that of the bucket that is taken."""
    sys.path.insert(0, str(root / "tests/emitted"))
    from cuda_projects import batch_model
    model = batch_model(tmp_path / "net.onnx")
    call = ("bench", model, "-i", model.with_suffix(".npz"), "--rounds", "1", "--target", "cuda:sm_75", "--host", "--per-layer", "--json", "--dim")
    reports = [json.loads(quantc(*call, dim).stdout) for dim in ("batch=8", "batch=1..8", "batch=1..8:buckets=4,8")]
    for report in reports:
        check(report, root)
        assert sum(layer["macs"] for layer in report["layers"]) == reports[0]["macs"] == 8 * (4 * 27 * 36 + 144 * 5)


def test_without_nvcc(quantc, models, monkeypatch, tmp_path):
    monkeypatch.setenv("NVCC", str(tmp_path / "nvcc"))
    said = quantc("bench", models / "digits.onnx", "--target", "cuda", status=2).stderr
    assert "built by nvcc" in said and "--host" in said
