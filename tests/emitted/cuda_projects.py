"""What tests of generated CUDA share: a small network with a free batch, and its library on the host, called by ctypes."""
import ctypes
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper

SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all"


def batch_model(path, seed=0):
    """Convolution, ReLU and a linear layer over any number of images; the inputs to calibrate it lie beside it."""
    rng = np.random.default_rng(seed)
    weights = [onnx.numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name) for name, shape in (("w", (4, 3, 3, 3)), ("l", (144, 5)))]
    weights.append(onnx.numpy_helper.from_array(np.array([0, -1], np.int64), "s"))
    nodes = [helper.make_node("Conv", ["x", "w"], ["t"], pads=[1, 1, 1, 1], name="conv"), helper.make_node("Relu", ["t"], ["u"], name="relu"),
             helper.make_node("Reshape", ["u", "s"], ["v"], name="flat"), helper.make_node("MatMul", ["v", "l"], ["y"], name="fc")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["batch", 3, 6, 6]), ("y", ["batch", 5]))]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)), path)
    np.savez(path.with_suffix(".npz"), x=rng.normal(size=(8, 3, 6, 6)).astype(np.float32))
    return path


def build_host(folder, program, flags=(), before="", after=""):
    """Compiles NAME.cu of `folder` with a C++ program behind it, without CUDA; returns the executable."""
    name = next(folder.glob("*.cu")).stem
    weights = [p.name for p in folder.glob(f"{name}_weights.[cS]")]
    (folder / "main.cpp").write_text(f'{before}#include "{name}.cu"\n{program}')
    for weight in weights:
        subprocess.run(["gcc", "-c", "-Wa,-I,.", weight, "-o", "weights.o"], cwd=folder, check=True)
    done = subprocess.run(["g++", "-std=c++20", "-O0", "-DQK_CUDA_ON_HOST", "-ffp-contract=off", *SANITIZE.split(), *flags, "main.cpp",
                           *(["weights.o"] if weights else []), "-o", "main"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "main"


class Model:
    """A library of a network with one input, one output and free sizes."""
    def __init__(self, folder, name="net"):
        done = subprocess.run(["make", "-C", folder, "HOST=1", "CFLAGS=-O1 -Wall -Wextra -Werror", f"lib{name}.so"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self.library, self.name, self.handle = ctypes.CDLL(str(folder / f"lib{name}.so")), name, ctypes.c_void_p()
        self.call("error_text").restype = ctypes.c_char_p
        assert self.call("create")(None, ctypes.byref(self.handle)) == 0, self.text()

    def call(self, function):
        return getattr(self.library, f"{self.name}_{function}")

    def text(self):
        return self.call("error_text")(self.handle).decode()

    def run(self, x, columns, dims=None):
        """The output for these rows, or the code of an error."""
        y = np.zeros((len(x), columns), np.float32)
        pointers = [(ctypes.c_void_p * 1)(a.ctypes.data) for a in (x, y)]
        sizes = (ctypes.c_int64 * 1)(len(x) if dims is None else dims)
        code = self.call("run_host")(self.handle, sizes, *pointers)
        return y if code == 0 else code

    def close(self):
        self.call("destroy")(self.handle)
