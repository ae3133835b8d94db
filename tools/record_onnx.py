#!/usr/bin/env python3
"""Records seeded inputs and ONNX Runtime's outputs of a model: record_onnx.py MODEL.onnx OUT.npz."""
import sys

import numpy as np
import onnxruntime as ort


def main() -> None:
    model, out = sys.argv[1:3]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options)
    rng = np.random.default_rng(0)
    feeds = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in value.shape]
        feeds[value.name] = rng.random(shape, dtype=np.float32)
    results = session.run(None, feeds)
    arrays = {f"in_{i}": a for i, a in enumerate(feeds.values())}
    arrays |= {f"out_{i}": a for i, a in enumerate(results)}
    np.savez(out, **arrays)


if __name__ == "__main__":
    main()
