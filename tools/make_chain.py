#!/usr/bin/env python3
"""Writes a chain of N alternating Sigmoid and Add nodes: make_chain.py N OUT.onnx."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.support import grown  # noqa: E402

if __name__ == "__main__":
    grown.write(Path(sys.argv[2]), grown.chain, int(sys.argv[1]))
