#!/usr/bin/env python3
"""Records small quantized models with ONNX Runtime's answers: python tools/record_ort OUT [NAME ...].

Each model becomes OUT/NAME.onnx and OUT/NAME.npz: inputs SET/in_I and outputs SET/out_I of every data set. The answers are
those of a processor whose integer dot products are exact (VNNI); on others ONNX Runtime saturates sums of u8 and s8, so the
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


def machine_is_exact() -> bool:
    """Whether u8 times s8 sums are exact here: two products of 255 * 127 exceed 16 bits."""
    m = Model(0)
    y = m.node("MatMulInteger", m.input(np.full((8, 64), 255, np.uint8)), m.constant(np.full((64, 8), 127, np.int8)))
    m.output(y)
    return int(answers(m)[0][0].flat[0]) == 64 * 255 * 127


def answers(m: Model) -> list[list[np.ndarray]]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(m.proto().SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [session.run(None, feeds) for feeds in m.sets]


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
        arrays = {}
        for i, (feeds, results) in enumerate(zip(m.sets, answers(m))):
            arrays |= {f"{i}/{k}": v for k, v in feeds.items()}
            arrays |= {f"{i}/out_{k}": v for k, v in enumerate(results)}
        (out / f"{name}.onnx").write_bytes(m.proto().SerializeToString())
        np.savez_compressed(out / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
