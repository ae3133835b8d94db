#!/usr/bin/env python3
"""Writes a model whose weights are 6 GB of external data: make_big_external.py OUT.onnx.

The data file beside it (OUT.onnx.data) is sparse: it takes almost no disk space and reads as zeros, except
for the first value of each matrix.
"""
import struct
import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

LAYERS = 24
SIZE = 8192  # one matrix: 8192 x 8192 floats, 256 MiB


def main() -> None:
    out = Path(sys.argv[1])
    data = out.with_name(out.name + ".data")
    matrix_bytes = SIZE * SIZE * 4
    nodes, weights = [], []
    with open(data, "wb") as file:
        file.truncate(LAYERS * matrix_bytes)
        for i in range(LAYERS):
            file.seek(i * matrix_bytes)
            file.write(struct.pack("<f", 1.0))
            weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[SIZE, SIZE],
                                 data_location=TensorProto.EXTERNAL)
            for key, value in (("location", data.name), ("offset", i * matrix_bytes), ("length", matrix_bytes)):
                weight.external_data.add(key=key, value=str(value))
            weights.append(weight)
            nodes.append(helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], name=f"layer{i}"))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, SIZE])
    graph = helper.make_graph(nodes, "big", [value("v0")], [value(f"v{LAYERS}")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, out)


if __name__ == "__main__":
    main()
