"""Residual additions rescaled by integers go into the convolution before them, as those rescaled in float do."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from networks import quantized, resnet18

RECORDS = ["exact,rescale=q31", "exact,rescale=q31,combine=f32"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("residuals") / "resnet.onnx"
    quantized(resnet18(32, 1), path, operators=False, signed=True, per_channel=True)
    return path


def steps(quantc, model, *flags):
    """Kernel calls of the program, by name."""
    text = quantc("compile", model, "-o", model.parent / "out", "--force", "--print-ir-after", "select_kernels", *flags).stdout
    return [line.split("[")[0].split("(")[0] for line in text.splitlines() if " : qk_" in line]


def test_fewer_steps(quantc, model):
    """Every one of the eight sums follows a convolution."""
    fused = steps(quantc, model, "--arithmetic", RECORDS[0])
    apart = steps(quantc, model, "--arithmetic", RECORDS[0], "--disable-pass", "fuse_epilogues")
    assert sum(s.startswith("qbinary") for s in apart) == 8
    assert len(apart) - len(fused) == 8 and not any(s.startswith("qbinary") for s in fused)


# arithmetic.md: E4
@pytest.mark.parametrize("flags", [[], ["--no-float"], ["--disable-pass", "fuse_epilogues"]], ids=["fused", "no_float", "apart"])
@pytest.mark.parametrize("record", RECORDS)
def test_same_bits(quantc, model, record, flags):
    """Interpreter, kernels in process and C agree. Sums that are added in float need floats beside integer products."""
    if "--no-float" in flags and "combine" in record:
        message = quantc("compile", model, "-o", model.parent / "out", "--arithmetic", record, *flags, status=1).stderr
        assert "Add_" in message
        return
    quantc("validate", model, "--arithmetic", record, "--random", "1", "--cflags", "-O1", *flags)
