"""A program that hands the package everything that does not fit: exceptions are expected, nothing else. test_asan.py runs it
with AddressSanitizer in the extension; it uses no torch, which would take long there."""
import gc
import io
import os
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

import quantc

MODELS = Path(__file__).resolve().parent.parent / "models"


class Cuda:
    """An array in the memory of a device, as its protocol tells; its elements must not be asked for."""

    shape, dtype = (1, 1, 8, 8), np.dtype(np.float32)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **keys):
        raise BufferError("the elements are on a device")


class Lies(Cuda):
    """Says it is in the processor's memory and gives no capsule."""

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **keys):
        return "no capsule"


class Raises:
    def __dlpack_device__(self):
        raise KeyError("mine")

    def __dlpack__(self, **keys):
        raise KeyError("mine")


def wrong_arrays(x):
    unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    return {"dtype": [x.astype(np.float64)], "half": [x.astype(np.float16)], "integers": [x.astype(np.int8)],
            "shape": [x[:, :, :4]], "rank": [x[0]], "scalar": [np.float32(1)], "empty": [x[:0]], "none": [], "many": [x, x, x],
            "list": [x.tolist()], "text": ["x"], "bytes": [b"x" * 256], "None": [None], "complex": [x.astype(np.complex64)],
            "objects": [x.astype(object)], "text array": [np.array(["a"])], "cuda": [Cuda()],
            "lies": [Lies()], "raises": [Raises()], "wide": [np.broadcast_to(x[:, :, :, :1], (1, 1, 8, 9))],
            "unaligned shape": [unaligned[:, :, 1:]], "structured": [np.zeros(64, [("a", "f4")])], "dates": [np.zeros(64, "M8[s]")]}


def strange_arrays(x):
    """Arrays that fit, however they lie in memory."""
    unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    unaligned[:] = x
    fixed = x.copy()
    fixed.flags.writeable = False
    transposed = np.ascontiguousarray(x[:, :, ::-1, ::-1])[:, :, ::-1, ::-1]
    apart = np.zeros((1, 1, 8, 24), np.float32)[:, :, :, ::3]
    apart[:] = x
    return [unaligned, fixed, transposed, apart, np.asfortranarray(x), x.transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2), memoryview(x), x.astype(x.dtype.newbyteorder())]


def expect(what, call, *kinds):
    try:
        call()
    except kinds or quantc.UserError as error:
        assert getattr(error, "code", "") != "bug", (what, error)
        return
    raise AssertionError(f"{what}: no exception")


def arrays(x):
    digits = quantc.from_onnx(MODELS / "digits.onnx", target="portable")
    with tempfile.TemporaryDirectory() as folder:
        compiled = digits.compile(folder)
        want = digits.run(x)
        for run in (digits.run, digits.run_reference, compiled, compiled.benchmark):
            for what, args in wrong_arrays(x).items():
                expect(what, lambda: run(*args))
        for what, args in wrong_arrays(x).items():
            if what not in ("none", "many"):
                expect(what, lambda: digits.calibrate([args[0]], progress=False), Exception)
        for run in (digits.run, digits.run_reference, compiled):
            for strange in strange_arrays(x):
                assert run(strange).tobytes() == want.tobytes()
            expect("name", lambda: run(picture=x))
    return want


def files():
    onnx = (MODELS / "digits.onnx").read_bytes()
    closed = open(MODELS / "digits.onnx", "rb")
    closed.close()
    expect("closed file", lambda: quantc.load(closed), ValueError)
    with open(MODELS / "digits.onnx", "rb") as text:
        assert quantc.load(text).inputs
        expect("read to its end", lambda: quantc.load(text))
    expect("text", lambda: quantc.load(io.StringIO("graph")))
    expect("absent", lambda: quantc.load("/no/such/file.onnx"))
    for n in (0, 1, 7, 100, len(onnx) // 2, len(onnx) - 1):
        for load in (quantc.from_onnx, quantc.from_pt2, quantc.load):
            expect(f"{n} bytes", lambda: load(onnx[:n]), quantc.QuantcError)


def lifetimes(x, want):
    """Results, graphs, rules and views outlive what made them, and are made on several threads."""
    graph = quantc.from_onnx(MODELS / "digits.onnx")

    class Mine(quantc.QuantRule):
        def matches(self, node):
            if node.op == "linear":
                raise KeyError(node.name)
            return False

    class Keeps(quantc.Pass):
        def run(self, editor):
            self.retained = editor, editor.nodes, [v.numpy() for n in editor.nodes for v in n.inputs if v is not None and v.constant]

    keeps = Keeps()
    changed = graph.transform(keeps)
    expect("rule", lambda: graph.quantize([Mine()]), KeyError)
    y = changed.run(x)
    explained = graph.explain().nodes
    del graph, changed
    gc.collect()
    assert y.tobytes() == want.tobytes() and sum(a.size for a in keeps.retained[2]) > 1000 and explained[0].names
    expect("over", lambda: keeps.retained[0].nodes)
    expect("over", lambda: keeps.retained[1][0].outputs[0].shape)
    shared = quantc.from_onnx(MODELS / "digits.onnx")
    threads = [threading.Thread(target=lambda: [shared.run(x) for _ in range(5)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)  # the C compiler that is called has its own ways with memory
    with np.load(MODELS / "digits.npz") as recorded:
        image = np.ascontiguousarray(recorded[recorded.files[0]], dtype=np.float32)
    files()
    lifetimes(image, arrays(image))
    print("all refused", file=sys.stderr)
