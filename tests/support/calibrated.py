"""Small ONNX networks that are calibrated, and run in float and by the rules that came of it."""
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def save(path, nodes, constants, inputs, outputs):
    def ports(shapes):
        return [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items()]

    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs),
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def sqnr(got, want):
    return 10 * np.log10(np.sum(want.astype(np.float64) ** 2) / max(np.sum((want.astype(np.float64) - got) ** 2), 1e-30))


class Case:
    """A model with samples, run in float and by rules."""

    def __init__(self, quantc, folder):
        self.quantc, self.folder, self.rules = quantc, folder, folder / "r.toml"

    def calibrate(self, samples, *flags, **options):
        np.savez(self.folder / "s.npz", **samples)
        return self.quantc("calibrate", self.folder / "m.onnx", "--data", self.folder / "s.npz", "-o", self.rules, *flags, **options)

    def run(self, inputs, *flags):
        np.savez(self.folder / "i.npz", **inputs)
        done = self.quantc("run", self.folder / "m.onnx", "-i", self.folder / "i.npz", "-o", self.folder / "o.npz", *flags)
        return dict(np.load(self.folder / "o.npz")), done

    def ratio(self, inputs):
        want, _ = self.run(inputs)
        got, _ = self.run(inputs, "--rules", self.rules)
        return min(sqnr(got[k], want[k]) for k in want)

    def validate(self, inputs):
        np.savez(self.folder / "i.npz", **inputs)
        np.savez(self.folder / "e.npz", **self.run(inputs, "--rules", self.rules)[0])
        done = self.quantc("validate", self.folder / "m.onnx", "-i", self.folder / "i.npz", "-e", self.folder / "e.npz", "--rules",
                           self.rules, "--cflags", "-O1")
        assert re.search(r"interpreter\s.*yes\s+ok", done.stdout), done.stdout
