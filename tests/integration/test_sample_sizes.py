"""Samples of several sizes: run, validate, calibrate and analyze take them in one command, and one Program serves them."""
import json
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

SIZES = {3: 2, 5: 1, 17: 3, 32: 1, 40: 2}  # length -> samples


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """Two linear layers around a softmax over x x^T: lengths meet in it. A file of samples for each length."""
    folder = tmp_path_factory.mktemp("sizes")
    rng = np.random.default_rng(1)
    weights = [numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32) / 2, n) for n in ("w1", "w2")]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", "seq", 8]) for n in "xy"]
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"), helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
             helper.make_node("MatMul", ["a", "t"], ["s"], name="scores"), helper.make_node("Softmax", ["s"], ["p"], axis=-1),
             helper.make_node("MatMul", ["p", "a"], ["v"], name="values"), helper.make_node("MatMul", ["v", "w2"], ["y"], name="last")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], initializer=weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "net.onnx")
    for size, count in SIZES.items():
        np.savez(folder / f"s{size}.npz", x=(rng.standard_normal((count, size, 8)) * (1 + size / 20)).astype(np.float32))
    return folder


def data(net, sizes=SIZES):
    return [word for size in sizes for word in ("--data", net / f"s{size}.npz")]


@pytest.mark.parametrize("threads", [[], ["--threads", 2]])
def test_run_answers_each_file_as_it_would_alone(quantc, net, tmp_path, threads):
    said = quantc("run", net / "net.onnx", *data(net), *threads, "-o", tmp_path / "all.npz").stdout
    got = np.load(tmp_path / "all.npz")
    for i, (size, count) in enumerate(SIZES.items()):
        quantc("run", net / "net.onnx", *data(net, [size]), "-o", tmp_path / "one.npz")
        np.testing.assert_array_equal(got[f"{i}/y"], np.load(tmp_path / "one.npz")["y"])
        assert f"{i}/y f32[{count}, {size}, 8]" in said


@pytest.mark.parametrize("dims", [[], ["--dim", "seq=1..64", "--dim", "batch=1"], ["--dim", "seq=1..40:buckets=8,40", "--dim", "batch=1"]])
def test_validate_runs_every_size_in_every_way(quantc, net, root, tmp_path, dims):
    """Expected answers are those of the runs alone. Sizes that nothing was said about have the range of the samples."""
    expected = []
    for size in SIZES:
        quantc("run", net / "net.onnx", *data(net, [size]), "-o", tmp_path / f"e{size}.npz")
        expected += ["-e", tmp_path / f"e{size}.npz"]
    said = quantc("validate", net / "net.onnx", *dims, *data(net), *expected).stdout
    found = re.findall(r"^(interpreter|in process|portable) +(expected|interpreter) +y .* (yes|no)  (\S+)$", said, re.M)
    assert len(found) == 5 and {tuple(row[2:]) for row in found} == {("yes", "ok")}, said
    assert "9 samples" in said and "samples 3 to 5: " in said and "seq=17" in said
    report = json.loads(quantc("validate", net / "net.onnx", *dims, *data(net), "--json").stdout)
    assert [(s["first"], s["count"]) for s in report["sets"]] == [(0, 2), (2, 1), (3, 3), (6, 1), (7, 2)]
    few = quantc("validate", net / "net.onnx", *data(net), *expected[:4], status=1).stderr
    assert "expected outputs are 2 sets, the samples are 5: give a file of -e for each file of --data" in few


def test_a_size_outside_the_range_is_named(quantc, net):
    for command in ("validate", "run"):
        said = quantc(command, net / "net.onnx", "--dim", "seq=1..32", *data(net), status=1).stderr
        assert "dimension 'seq' of the inputs is 40, outside its range 1 to 32" in said


def scales(path):
    return {name: float(scale) for name, scale in re.findall(r"pattern = '(.*?)'.*?\nscale = (\S+)", path.read_text(), re.S)}


@pytest.mark.parametrize("flags", [[], ["--reference"], ["--method", "mse"]])
def test_calibration_sees_all_sizes(quantc, net, tmp_path, flags):
    """Ranges of minmax are the union of those of each file; rules serve every size."""
    def calibrated(name, sizes):
        quantc("calibrate", net / "net.onnx", *data(net, sizes), *flags, "--activations", "int8", "-o", tmp_path / name)
        return scales(tmp_path / name)
    both, short, long = calibrated("both.toml", [3, 40]), calibrated("short.toml", [3]), calibrated("long.toml", [40])
    assert both.keys() == short.keys() == long.keys() and len(both) >= 4
    if "mse" not in flags:
        for name, scale in both.items():
            assert scale >= max(short[name], long[name]) * (1 - 1e-6), name
        assert any(abs(both[n] - long[n]) < 1e-9 for n in both), "the longer samples are the larger ones"
    said = quantc("validate", net / "net.onnx", "--rules", tmp_path / "both.toml", *data(net)).stdout
    assert len(re.findall(r"interpreter +y .* yes  ok$", said, re.M)) == 2, said


def test_analysis_sees_all_sizes(quantc, net, tmp_path):
    quantc("calibrate", net / "net.onnx", *data(net), "-o", tmp_path / "r.toml")
    report = json.loads(quantc("analyze", net / "net.onnx", "--rules", tmp_path / "r.toml", *data(net), "--json").stdout)
    assert report["runs"] == 9 and report["layers"]
