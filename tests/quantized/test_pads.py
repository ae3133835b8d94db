"""Networks whose padding is a node of its own, as TensorFlow's converters and some PyTorch models write it."""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from networks import Builder, F, answers, quantized


def padded_mobilenet(padded: bool) -> onnx.ModelProto:
    """MobileNet v1 of width 0.25 for images of 96 x 96; the pads of a 3 x 3 window are a Pad node, or the convolution's."""
    b = Builder(1)

    def conv(x, cin, cout, k, stride=1, group=1):
        pads = [0, 0, 0, 0] if k == 1 else [0, 0, 1, 1] if stride == 2 else [1, 1, 1, 1]
        if padded and k > 1:
            x = b.node("Pad", x, b.constant(np.array([0, 0, *pads[:2], 0, 0, *pads[2:]])), b.constant(F(0)))
            pads = [0, 0, 0, 0]
        w = b.rng.normal(size=(cout, cin // group, k, k)) * np.sqrt(2.0 / (cin // group * k * k))
        y = b.node("Conv", x, b.constant(w.astype(F)), b.constant((b.rng.normal(size=cout) * 0.1).astype(F)),
                   strides=[stride, stride], pads=pads, group=group, kernel_shape=[k, k])
        return b.node("Clip", y, b.constant(F(0)), b.constant(F(6)))

    x, channels = conv("x", 3, 8, 3, 2), 8
    for stride, out in [(1, 16), (2, 32), (1, 32), (2, 64), (1, 64), (2, 128), (1, 128), (2, 256), (1, 256)]:
        x = conv(conv(x, channels, channels, 3, stride, group=channels), channels, out, 1)
        channels = out
    return b.model(b.classifier(x, channels), 96, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("pads")
    x = np.random.default_rng(2).normal(size=(1, 3, 96, 96)).astype(F)
    for name in ("padded", "plain"):
        model = padded_mobilenet(name == "padded")
        onnx.save(model, at / f"{name}.onnx")
        quantized(model, at / f"{name}_codes.onnx", operators=False, signed=False, per_channel=True)
        np.savez(at / f"{name}_codes.npz", in_0=x, out_0=answers(at / f"{name}_codes.onnx", [x])[0][0])
    np.savez(at / "x.npz", in_0=x)
    return at


def arena(quantc, folder, model, *flags):
    done = quantc("compile", folder / f"{model}.onnx", "-o", folder / "out", "--json", "--force", *flags)
    return json.loads(done.stdout)["arena_bytes"]


def test_frames_take_no_memory(quantc, folder):
    assert arena(quantc, folder, "plain_codes") == arena(quantc, folder, "padded_codes") <= 56_000
    assert arena(quantc, folder, "padded_codes", "--disable-pass", "fold_code_pads") > 75_000
    assert arena(quantc, folder, "plain") == arena(quantc, folder, "padded")


def test_rules_take_no_memory_for_frames(quantc, folder):
    quantc("calibrate", folder / "padded.onnx", "--data", folder / "x.npz", "-o", folder / "rules.toml")
    assert arena(quantc, folder, "padded", "--rules", folder / "rules.toml") <= 56_000


def test_codes_keep_every_bit(quantc, folder):
    """Interpreter and generated C give the answer of ONNX Runtime, which pads first, with the pass and without."""
    expected = folder / "padded_codes.npz"
    for flags in ([], ["--disable-pass", "fold_code_pads"]):
        quantc("validate", folder / "padded_codes.onnx", "-i", expected, "-e", expected, "--atol", "0", "--cflags", "-O1", *flags)


def test_floats_of_both_spellings_agree(quantc, folder):
    outputs = []
    for model in ("padded", "plain"):
        quantc("run", folder / f"{model}.onnx", "-i", folder / "x.npz", "-o", folder / f"{model}.npz")
        outputs.append(next(iter(np.load(folder / f"{model}.npz").values())))
    assert np.array_equal(outputs[0], outputs[1])
