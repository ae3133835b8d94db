"""Small ONNX models for tests, written in a line."""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node


def value(name: str, shape, kind=TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name: str, array) -> TensorProto:
    return numpy_helper.from_array(np.asarray(array), name)


def build(nodes, inputs, outputs, initializers=(), opset=17) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def save(path: Path, nodes, inputs, outputs, initializers=(), opset=17) -> Path:
    onnx.save(build(nodes, inputs, outputs, initializers, opset), path)
    return path
