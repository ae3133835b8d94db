"""run and validate over many samples: answers, top-1 agreement, SQNR, the worst sample, bars."""
import json
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

WAYS = ("interpreter", "in process", "portable")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """1,000 images as samples of digits.onnx, whose input is one image."""
    folder = tmp_path_factory.mktemp("digits")
    images = (load_digits().images[:1000] / 16).astype(np.float32).reshape(1000, 1, 8, 8)
    np.savez(folder / "samples.npz", in_0=images)
    np.savez(folder / "stacked.npz", in_0=images[:20, None])
    return folder


def rows(table):
    """(run, against) -> the columns after the output's name"""
    lines = re.findall(r"^(interpreter|in process|portable) +(expected|float|interpreter) +\S+ +(.*)$", table, re.M)
    return {(run, against): rest.split() for run, against, rest in lines}


def test_a_thousand_digits_in_all_ways(quantc, models, root, digits, tmp_path):
    rules = ("--rules", root / "examples/digits/rules.toml")
    quantc("run", models / "digits.onnx", "--data", digits / "samples.npz", "--threads", 2, "-o", tmp_path / "float.npz")
    answers = next(iter(np.load(tmp_path / "float.npz").values()))
    assert answers.shape == (1000, 10)
    np.savez(tmp_path / "e.npz", out_0=answers)
    common = ("validate", models / "digits.onnx", *rules, "--data", digits / "samples.npz")
    by_file = quantc(*common, "-e", tmp_path / "e.npz", "--min-sqnr", 20, "--min-top1", 99).stdout
    by_float = quantc(*common, "--min-sqnr", 20, "--min-top1", 99).stdout
    assert max(map(len, by_file.splitlines())) <= 100 and "1000 samples" in by_file
    for way in WAYS:
        cells = rows(by_file)[way, "expected"]
        assert cells == rows(by_float)[way, "float"], "the float model is what was expected"
        largest, sqnr, top1, worst, least, equal, verdict = cells
        assert 20 < float(sqnr) < 60 and float(top1) >= 99 and float(least) < float(sqnr) and verdict == "ok" and equal == "no"
    assert rows(by_file)["portable", "interpreter"] == ["0", "inf", "100.00", "-", "yes", "ok"]
    # The worst sample is the one that numpy finds.
    quantc("run", models / "digits.onnx", *rules, "--data", digits / "samples.npz", "-o", tmp_path / "int8.npz")
    got = next(iter(np.load(tmp_path / "int8.npz").values())).astype(np.float64)
    ratio = 10 * np.log10((answers.astype(np.float64) ** 2).sum(1) / ((got - answers) ** 2).sum(1))
    cells = rows(by_file)["interpreter", "expected"]
    assert int(cells[3]) == ratio.argmin() and abs(float(cells[4]) - ratio.min()) < 0.06
    assert abs(float(cells[2]) - 100 * (got.argmax(1) == answers.argmax(1)).mean()) < 0.006
    assert abs(float(cells[1]) - 10 * np.log10((answers.astype(np.float64) ** 2).sum() / ((got - answers) ** 2).sum())) < 0.06


def test_bars_decide(quantc, models, root, digits):
    common = ("validate", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--data", digits / "stacked.npz")
    said = quantc(*common).stdout
    assert {rows(said)[way, "float"][-1] for way in WAYS} == {"-"} and "20 samples" in said
    failed = quantc(*common, "--min-sqnr", 90, status=1)
    assert {rows(failed.stdout)[way, "float"][-1] for way in WAYS} == {"FAIL"} and "results differ by more than allowed" in failed.stderr
    quantc(*common, "--min-top1", 100.5, status=1)
    report = json.loads(quantc(*common, "--min-top1", 50, "--json").stdout)
    assert report["ok"] and report["samples"] == 20 and {c["against"] for c in report["comparisons"]} == {"float", "interpreter"}


def test_runs_of_the_models_own_batch(quantc, tmp_path):
    """y = x + x of [2, 3]: 6 samples are 3 runs; with a free batch, --dim says how many are one."""
    for name, batch in (("fixed", 2), ("free", "batch")):
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [batch, 3]) for n in "xy"]
        graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", values[:1], values[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / f"{name}.onnx")
    x = np.arange(18, dtype=np.float32).reshape(6, 3)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", x + x)
    for name, flags, runs in (("fixed", [], 3), ("free", ["--dim", "batch=3"], 2), ("free", [], 6)):
        for threads in ([], ["--threads", 1]):
            quantc("run", tmp_path / f"{name}.onnx", *flags, "--data", tmp_path / "x.npy", "-o", tmp_path / "out.npz", *threads)
            np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["y"], x + x)
        said = quantc("validate", tmp_path / f"{name}.onnx", *flags, "--data", tmp_path / "x.npy", "-e", tmp_path / "y.npy").stdout
        assert f"{runs} samples" in said and "FAIL" not in said
        quantc("calibrate", tmp_path / f"{name}.onnx", *flags, "--data", tmp_path / "x.npy", "-o", tmp_path / "r.toml")
    np.save(tmp_path / "y.npy", (x + x)[:5])
    assert "expected outputs of shape [5, 3] for 3 samples of [2, 3]" in quantc(
        "validate", tmp_path / "fixed.onnx", "--data", tmp_path / "x.npy", "-e", tmp_path / "y.npy", status=1).stderr
    assert "give one of --input, --data and --random" in quantc("run", tmp_path / "fixed.onnx", "--data", tmp_path / "x.npy", "--random", 1, status=1).stderr


def test_tensor_files_match_by_name_or_place(quantc, tmp_path):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "abcd"]
    nodes = [helper.make_node("Sub", ["a", "b"], ["c"]), helper.make_node("Mul", ["a", "b"], ["d"])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:2], values[2:]), opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    a, b = np.float32([3, 5]), np.float32([1, 2])
    for name, array, inner in (("a", a, ""), ("b", b, ""), ("c", a - b, ""), ("d", a * b, ""), ("na", a, "a"), ("nb", b, "b")):
        (tmp_path / f"{name}.pb").write_bytes(numpy_helper.from_array(array, inner).SerializeToString())
    files = {n: str(tmp_path / f"{n}.pb") for n in ("a", "b", "c", "d", "na", "nb")}
    said = quantc("validate", tmp_path / "m.onnx", "-i", files["a"], "-i", files["b"], "-e", files["c"], "-e", files["d"]).stdout
    assert "FAIL" not in said
    quantc("validate", tmp_path / "m.onnx", "-i", files["nb"], "-i", files["na"], "-e", files["c"], "-e", files["d"])
    quantc("validate", tmp_path / "m.onnx", "-i", files["b"], "-i", files["a"], "-e", files["c"], "-e", files["d"], status=1)


@pytest.mark.parametrize("command", ["run", "validate"])
def test_many_samples_given_as_one_are_told_where_to_go(quantc, models, tmp_path, command):
    np.savez(tmp_path / "x.npz", image=np.zeros((5, 1, 8, 8), np.float32))
    said = quantc(command, models / "digits.onnx", "-i", tmp_path / "x.npz", status=1).stderr
    assert "got f32[5, 1, 8, 8]: for a run on each of many samples give the file with --data" in said


def test_any_nan_is_as_good_as_another(quantc, tmp_path):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in "xy"]
    onnx.save(helper.make_model(helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", values[:1], values[1:]), opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    x = np.array([0x7FC00000, 0xFFC01234, 0x3F800000], np.uint32)
    np.savez(tmp_path / "i.npz", x=x.view(np.float32), y=(x ^ np.uint32([0x80000001, 0x77, 0])).view(np.float32))
    said = quantc("validate", tmp_path / "m.onnx", "-i", tmp_path / "i.npz", "-e", tmp_path / "i.npz").stdout
    assert {cells[3] for cells in rows(said).values()} == {"yes"}
    np.savez(tmp_path / "e.npz", y=np.float32([np.nan, 2, 1]))
    assert "FAIL" in quantc("validate", tmp_path / "m.onnx", "-i", tmp_path / "i.npz", "-e", tmp_path / "e.npz", status=1).stdout


def test_the_budget_is_counted_for_each_sample(quantc, models, root, tmp_path):
    """Many samples of a small file, which together cost more than one of them may."""
    samples = np.load(root / "examples/digits/calibration.npz")["in_0"]
    np.savez(tmp_path / "many.npz", in_0=np.resize(samples, (1000, 1, 8, 8)))
    said = quantc("analyze", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--data", tmp_path / "many.npz").stdout
    assert "1000 runs" in said


def test_layers_without_anything_to_compare_with_are_said(quantc, models):
    said = quantc("validate", models / "digits.onnx", "--random", 1, "--per-layer").stderr
    assert "--per-layer has no layers to compare with: give --rules, --float-model" in said
