"""Quantized networks: interpreter, Program and C equal ONNX Runtime at its default level, bit for bit."""
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import networks
from support import Cases, check

INPUTS = 20
VARIANTS = list(itertools.product(("qdq", "operators"), ("u8s8", "s8s8"), ("tensor", "channel")))
# Signed QDQ activations: with ONNX Runtime's integer kernels for them here, at its default for x86 in test_ort_signed.py.
SIGNED = [f"{net}-qdq-s8s8-{granularity}" for net in ("resnet18", "mobilenet_v2") for granularity in ("tensor", "channel")]
SIGNED.append("mobilenet_v2-dedicated-s8s8-channel")
MADE = [name for net in ("resnet18", "mobilenet_v2") for variant in VARIANTS if (name := f"{net}-{'-'.join(variant)}") not in SIGNED]


def make(folder: Path, name: str, size: int, batch: int, **options) -> Path:
    net, variant, types, granularity = name.split("-")
    path = folder / f"{name}.onnx"
    networks.quantized(getattr(networks, net)(size, batch, **options), path, variant == "operators", types == "s8s8", granularity == "channel",
                       variant == "dedicated")
    return path


def samples(shape, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [(rng.normal(size=shape) * rng.uniform(0.5, 2)).astype(np.float32) for _ in range(count)]


@pytest.fixture(scope="module")
def outcomes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks")
    cases = Cases(build / "quantized_networks")
    for name in [*MADE, *SIGNED]:
        path = make(folder, name, 64, INPUTS)
        inputs = [np.concatenate(samples((1, 3, 64, 64), INPUTS))]
        signed = name in SIGNED
        (want,) = networks.answers(path, inputs, signed_kernels=signed)
        cases.add(name, path, [(inputs, want)], arithmetic="onnxruntime,signed=kept" if signed else "")
    return cases.run(build)


# arithmetic.md: P1
@pytest.mark.parametrize("name", [*MADE, *SIGNED])
def test_equals_onnx_runtime(outcomes, name):
    check(outcomes[name])


@pytest.mark.soak
def test_resnet18_at_224(build, tmp_path):
    cases = Cases(build / "quantized_224")
    inputs = samples((1, 3, 224, 224), 2)
    names = ("resnet18-qdq-u8s8-channel", "resnet18-dedicated-s8s8-channel")
    for name in names:
        path = make(tmp_path, name, 224, 1, width=64)
        signed = "-s8s8-" in name
        want = networks.answers(path, inputs, signed_kernels=signed)
        cases.add(name, path, [([x], y) for x, y in zip(inputs, want)], arithmetic="onnxruntime,signed=kept" if signed else "")
    outcomes = cases.run(build)
    for name in names:
        check(outcomes[name])
