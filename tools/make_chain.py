#!/usr/bin/env python3
"""Writes a chain of N alternating Sigmoid and Add nodes: make_chain.py N OUT.onnx."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main() -> None:
    count, out = int(sys.argv[1]), sys.argv[2]
    nodes = []
    for i in range(count):
        source, target = f"v{i}", f"v{i + 1}"
        if i % 2 == 0:
            nodes.append(helper.make_node("Sigmoid", [source], [target], name=f"n{i}"))
        else:
            nodes.append(helper.make_node("Add", [source, "bias"], [target], name=f"n{i}"))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16])
    bias = numpy_helper.from_array(np.linspace(-1, 1, 16, dtype=np.float32), "bias")
    graph = helper.make_graph(nodes, "chain", [value("v0")], [value(f"v{count}")], [bias])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, out)


if __name__ == "__main__":
    main()
