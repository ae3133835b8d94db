#!/usr/bin/env python3
"""Writes one tiny model per ONNX op into tests/fuzz/corpus: seed_corpus.py CASES QUANTC.

CASES is a folder that tests/conformance/export_cases.py wrote. Of the models that use an op the smallest is taken that
quantc reads, with small operands as constants where that is possible; its graph in text form goes to the text corpus.
"""
import subprocess
import sys
from pathlib import Path

import onnx

CORPUS = Path(__file__).resolve().parent / "corpus"
MAX_BYTES = 1500
VARIANTS = "2103"  # of export_cases.py, most useful first


def candidates(cases: Path) -> dict[str, list[Path]]:
    """Op -> models with it, best first."""
    found: dict[str, list] = {}
    for path in sorted(cases.glob("test_*/model_?.onnx")):
        if path.stat().st_size > MAX_BYTES:
            continue
        model = onnx.load(path)
        rank = (len(model.graph.node), VARIANTS.index(path.stem[-1]), path.stat().st_size, path.parent.name)
        for op in {n.op_type for n in model.graph.node}:
            found.setdefault(op, []).append((rank, path))
    return {op: [p for _, p in sorted(paths)] for op, paths in sorted(found.items())}


def text_of(quantc: str, model: Path) -> str | None:
    done = subprocess.run([quantc, "inspect", model, "--ir"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def main() -> None:
    cases, quantc = Path(sys.argv[1]), sys.argv[2]
    for op, paths in candidates(cases).items():
        for path in paths[:8]:
            if (text := text_of(quantc, path)) is None:
                continue
            model = onnx.load(path)
            for part in (model, model.graph):
                part.ClearField("doc_string")
            model.ClearField("producer_name")
            model.graph.name = "g"
            name = f"op_{op.lower()}"
            (CORPUS / "onnx" / f"{name}.onnx").write_bytes(model.SerializeToString())
            (CORPUS / "text" / f"{name}.ir").write_text(text)
            break


if __name__ == "__main__":
    main()
