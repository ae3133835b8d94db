"""Every kernel of ONNX Runtime whose arithmetic docs/arithmetic.md states, and networks of tests/models: interpreter,
Program and C give its bits.

The models and answers are recorded by tools/record_ort; no ONNX Runtime is needed here."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from support import Cases, check

VECTORS = Path(__file__).resolve().parent / "vectors"
OVERFLOW = "quantize_overflow"  # where ONNX Runtime's answer is not the nearest code
NAMES = sorted(p.stem for p in VECTORS.glob("*.npz") if p.stem != OVERFLOW)


def read_sets(path: Path):
    arrays = np.load(path)
    sets = []
    while any(k.startswith(f"{len(sets)}/") for k in arrays):
        def listed(kind, s=len(sets)):
            found = []
            while (key := f"{s}/{kind}_{len(found)}") in arrays:
                found.append(arrays[key])
            return found
        sets.append((listed("in"), listed("out")))
    return sets


@pytest.fixture(scope="module")
def outcomes(build, models):
    cases = Cases(build / "quantized_vectors")
    for name in NAMES:
        model = VECTORS / f"{name}.onnx"
        cases.add(name, model if model.exists() else models / model.name, read_sets(VECTORS / f"{name}.npz"))
    return cases.run(build)


# arithmetic.md: Q11, Q16, Q38, Q60, Q62, P1, P2, M1, M2, M3, M4, M5, M6
@pytest.mark.parametrize("name", NAMES)
def test_bits(outcomes, name):
    check(outcomes[name])


# arithmetic.md: Q1
def test_overflow(build):
    """Beyond 2^31 steps ONNX Runtime gives the lowest code in two of its kernels; ours is the nearest one. All else is equal."""
    ((inputs, (blocked, odd)),) = read_sets(VECTORS / f"{OVERFLOW}.npz")
    beyond = inputs[0] > 2.0**31
    assert np.count_nonzero(beyond) == 2 and np.all(blocked[beyond] == 0) and odd[2] == -8
    blocked[beyond], odd[2] = 255, 7
    cases = Cases(build / "quantized_overflow")
    cases.add(OVERFLOW, VECTORS / f"{OVERFLOW}.onnx", [(inputs, [blocked, odd])])
    check(cases.run(build)[OVERFLOW])


def test_a_wrong_bit_is_found(build):
    sets = read_sets(VECTORS / "qlinear_matmul.npz")
    sets[0][1][0].flat[0] ^= 1
    cases = Cases(build / "quantized_wrong")
    cases.add("wrong", VECTORS / "qlinear_matmul.onnx", sets)
    assert not cases.run(build)["wrong"].passes


# arithmetic.md: Q60
def test_a_scale_that_softmax_rounds_down_is_remarked(quantc):
    """Two of the four softmax nodes have the scale 1/255, of which ONNX Runtime takes 254 steps as 1."""
    lines = quantc("explain", VECTORS / "qdq_tables.onnx").stdout.splitlines()
    assert len([line for line in lines if line.startswith("remark: ") and "takes 1 as 254 steps" in line]) == 2


# arithmetic.md: Q2
def test_arithmetic_can_be_chosen(quantc, tmp_path):
    inputs, want = read_sets(VECTORS / "qdq_pools.npz")[0]
    np.savez(tmp_path / "in.npz", **{f"in_{i}": a for i, a in enumerate(inputs)})

    def differing(*flags) -> int:
        quantc("run", VECTORS / "qdq_pools.onnx", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz", *flags)
        return sum(np.count_nonzero(a != b) for a, b in zip(np.load(tmp_path / "out.npz").values(), want))

    assert differing() == 0
    assert differing("--arithmetic", "onnxruntime") == 0
    assert differing("--arithmetic", "exact") > 0
