"""`validate --per-layer` beside the float model and beside expected results of layers."""
import json
import shutil

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.support.json_schema import problems

BAD = "node_Conv_54"


@pytest.fixture(scope="module")
def digits(root, models, tmp_path_factory):
    """The rules with one scale made 12 times too large, samples, and what every node of the model gives for them."""
    folder = tmp_path_factory.mktemp("per_layer")
    rules = (root / "examples/digits/rules.toml").read_text()
    head, tail = rules.split(BAD, 1)
    scale = tail.split("scale = ", 1)[1].split("\n", 1)[0]
    tail = tail.replace(f"scale = {scale}", f"scale = {12 * float(scale)}", 1)
    (folder / "bad.toml").write_text(head + BAD + tail)
    shutil.copy(root / "examples/digits/rules.npz", folder)
    with np.load(root / "examples/digits/calibration.npz") as arrays:
        samples = arrays[arrays.files[0]][:3]
    model = onnx.load(models / "digits.onnx")
    names = {node.output[0]: node.name for node in model.graph.node}
    outputs = [o.name for o in model.graph.output]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in outputs)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    runs = [session.run(None, {"image": x[None]}) for x in samples]
    found = {o.name: np.concatenate([run[i] for run in runs]) for i, o in enumerate(session.get_outputs())}
    np.savez(folder / "data.npz", image=samples)
    np.savez(folder / "expected.npz", **{names[k]: v for k, v in found.items()}, scores=found["scores"])
    np.savez(folder / "wrong.npz", scores=found["scores"], **{BAD: np.zeros((3, 5), np.float32)})
    return folder


def test_layers_are_compared_with_the_float_model_and_with_expected_results(quantc, models, root, digits):
    call = ("validate", models / "digits.onnx", "--rules", digits / "bad.toml", "--data", digits / "data.npz", "--per-layer",
            "-e", digits / "expected.npz", "--atol", "100", "--cflags", "-O0")
    report = json.loads(quantc(*call, "--json").stdout)
    assert not problems(report, json.loads((root / "docs/schema/validate.json").read_text()))
    by = {against: [layer for layer in report["layers"] if layer["against"] == against] for against in ("float", "expected")}
    assert len(by["float"]) == len(by["expected"]) == 8 and all(layer["compared"] for layer in report["layers"])
    # ONNX Runtime's float network and quantc's differ by roundings alone.
    for mine, theirs in zip(by["float"], by["expected"]):
        assert mine["names"] == theirs["names"] and abs(mine["sqnr_db"] - theirs["sqnr_db"]) < 1e-3
        assert mine["cosine"] == pytest.approx(theirs["cosine"], abs=1e-6) and mine["max_abs"] == pytest.approx(theirs["max_abs"], abs=1e-4)
    last = next(c for c in report["comparisons"] if c["run"] == "interpreter" and c["against"] == "expected")
    assert abs(by["expected"][-1]["sqnr_db"] - last["sqnr_db"]) < 1e-3
    first = [layer for layer in report["first_bad_layers"]]
    assert [layer["against"] for layer in first] == ["expected", "float"]
    assert all(layer["names"] == [BAD] and layer["below_db"] == 20 for layer in first)
    table = quantc(*call).stdout
    assert f"first layer below 20 dB of float: {BAD} (qconv)" in table and "layer against expected" in table
    assert max(map(len, table.splitlines())) <= 100


def test_the_float_model_may_be_another_file(quantc, models, digits):
    call = ("validate", models / "digits.onnx", "--rules", digits / "bad.toml", "--random", "1", "--per-layer", "--json",
            "--cflags", "-O0")
    own, other = (json.loads(quantc(*call, *more).stdout) for more in ((), ("--float-model", models / "digits.onnx")))
    assert own == other and own["layers"]
    failed = quantc(*call, "--float-model", models / "lstm.onnx", status=1)
    assert "lstm.onnx" in failed.stderr


def test_expected_results_of_another_shape_are_refused(quantc, models, digits):
    failed = quantc("validate", models / "digits.onnx", "--rules", digits / "bad.toml", "--data", digits / "data.npz", "--per-layer",
                    "-e", digits / "wrong.npz", status=1)
    assert BAD in failed.stderr and "expected results of shape [3, 5] for 3 samples of [1, 32, 4, 4]" in failed.stderr
