"""Real data: the digits classifier, calibrated and compiled, on the whole test split."""
import json
import re
import subprocess

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

DYNAMIC = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nper_channel = true\n"


@pytest.fixture(scope="module")
def example(root):
    return root / "examples" / "digits"


@pytest.fixture(scope="module")
def float_right(example):
    return json.loads((example / "accuracy.json").read_text())["correct"]


@pytest.fixture
def right(quantc, models, example, tmp_path):
    """How many of the 450 images the compiled classifier gets right."""
    def call(rules, *flags) -> int:
        out = tmp_path / rules.stem
        quantc("compile", models / "digits.onnx", "-o", out, "--name", "digits", "--rules", rules, *flags)
        subprocess.run(["cc", "-O1", "-std=c11", f"-I{out}", example / "main.c", out / "digits.c", out / "digits_weights.c",
                        "-lm", "-o", out / "run"], check=True)
        done = subprocess.run([out / "run", example / "test.bin"], check=True, capture_output=True, text=True)
        found = re.match(r"accuracy (\d+) of 450 ", done.stdout)
        return int(found[1])
    return call


def calibrated(quantc, models, example, path, *flags):
    quantc("calibrate", models / "digits.onnx", "--data", example / "calibration.npz", "-o", path, *flags)
    return path


def ort_right(models, example, tmp_path) -> int:
    class Reader(CalibrationDataReader):
        def __init__(self):
            self.images = iter(np.load(example / "calibration.npz")["in_0"])

        def get_next(self):
            image = next(self.images, None)
            return None if image is None else {"image": image[None]}

    quantize_static(str(models / "digits.onnx"), str(tmp_path / "ort.onnx"), Reader(), quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, per_channel=True)
    session = ort.InferenceSession(str(tmp_path / "ort.onnx"), providers=["CPUExecutionProvider"])
    test = np.load(example / "test.npz")
    return sum(int(session.run(None, {"image": image[None]})[0].argmax()) == label
               for image, label in zip(test["images"], test["labels"]))


def test_static_int8_as_calibrated(quantc, models, example, tmp_path, right, float_right):
    """At most 0.3 points below float, at least as good as ONNX Runtime's quantizer, and the committed rules are these."""
    rules = calibrated(quantc, models, example, tmp_path / "rules.toml", "--per-channel")
    assert rules.read_text() == (example / "rules.toml").read_text()
    assert rules.with_suffix(".npz").read_bytes() == (example / "rules.npz").read_bytes()
    found = right(rules, "--require-integer")
    assert 100 * (float_right - found) / 450 <= 0.3
    assert found >= ort_right(models, example, tmp_path)


def test_int16_equals_float(quantc, models, example, tmp_path, right, float_right):
    assert right(calibrated(quantc, models, example, tmp_path / "rules.toml", "--activations", "int16")) == float_right


def test_dynamic_int8(tmp_path, right, float_right):
    (tmp_path / "dynamic.toml").write_text(DYNAMIC)
    assert 100 * (float_right - right(tmp_path / "dynamic.toml")) / 450 <= 0.3
