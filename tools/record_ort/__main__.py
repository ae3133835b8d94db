#!/usr/bin/env python3
"""Records small quantized models with ONNX Runtime's answers: python tools/record_ort OUT [NAME ...].

Each model becomes OUT/NAME.onnx and OUT/NAME.npz: inputs SET/in_I and outputs SET/out_I of every data set; quantized networks
of tests/models (NETWORKS) become OUT/NAME.npz, with seeded inputs. The answers are those of a processor whose integer dot products are exact (VNNI); on others ONNX Runtime saturates sums of u8 and s8, so the
script refuses to run there. Inputs are random, at the ends of the ranges, and near ties: multipliers a few units in the last
place from a power of two, values within two units of half a step.
"""
import sys
import zlib
from pathlib import Path

import numpy as np
import onnxruntime as ort

import edges  # noqa: F401  registers its cases
import kernels  # noqa: F401
import layouts  # noqa: F401
from model import CASES, Model, Pairs

NETWORKS = ("micro_kws_m_qdq", "micro_kws_m_qoperator")
MODELS = Path(__file__).resolve().parents[2] / "tests" / "models"
INPUTS = 20


def machine_is_exact() -> bool:
    """Whether u8 times s8 sums are exact here: two products of 255 * 127 exceed 16 bits."""
    m = Model(0)
    y = m.node("MatMulInteger", m.input(np.full((8, 64), 255, np.uint8)), m.constant(np.full((64, 8), 127, np.int8)))
    m.output(y)
    return int(answers(m.proto().SerializeToString(), m.sets)[0][0].flat[0]) == 64 * 255 * 127


def session(model: bytes) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def answers(model: bytes, sets: list[dict[str, np.ndarray]]) -> list[list[np.ndarray]]:
    runner = session(model)
    return [runner.run(None, feeds) for feeds in sets]


def seeded_inputs(model: bytes) -> list[dict[str, np.ndarray]]:
    """Data sets for a network with one input; free dimensions are 1."""
    (wanted,) = session(model).get_inputs()
    shape = [d if isinstance(d, int) else 1 for d in wanted.shape]
    rng = np.random.default_rng(7)
    # Multiples of 2^-6: small files.
    return [{wanted.name: (np.rint(rng.normal(size=shape) * rng.uniform(32, 128)) / 64).astype(np.float32)} for _ in range(INPUTS)]


def record(path: Path, model: bytes, sets: list[dict[str, np.ndarray]]) -> None:
    arrays = {}
    for i, (feeds, results) in enumerate(zip(sets, answers(model, sets))):
        arrays |= {f"{i}/in_{k}": v for k, v in enumerate(feeds.values())}
        arrays |= {f"{i}/out_{k}": v for k, v in enumerate(results)}
    np.savez_compressed(path, **arrays)


def main() -> None:
    out, names = Path(sys.argv[1]), sys.argv[2:]
    if not machine_is_exact():
        raise SystemExit("this processor saturates sums of u8 and s8; record on one with VNNI")
    out.mkdir(parents=True, exist_ok=True)
    for name, build in CASES.items():
        if names and name not in names:
            continue
        m = Pairs(zlib.crc32(name.encode()))
        build(m)
        model = m.proto().SerializeToString()
        (out / f"{name}.onnx").write_bytes(model)
        record(out / f"{name}.npz", model, m.sets)
    for name in NETWORKS:
        if not names or name in names:
            model = (MODELS / f"{name}.onnx").read_bytes()
            record(out / f"{name}.npz", model, seeded_inputs(model))


if __name__ == "__main__":
    main()
