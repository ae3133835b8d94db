"""Accuracy of quantized networks beside ONNX Runtime's and PyTorch's quantizers, on three networks that tools/ trains.

Figures are the signal to noise ratio of a network's answers to test inputs (float against quantized, in dB), for the
GPT also the perplexity. quantc's are those of its generated C.
"""
import ctypes
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# What generated C exports is for the program it is linked into.
ANSWER = """#include "net.h"
int answer(const void* x, void* y, void* arena) { return net_run(x, y, arena); }
"""
CNNS = ("resnet8", "mobilenetv3")


def sqnr(want: np.ndarray, got: np.ndarray) -> float:
    noise = float(np.sum((want.astype(np.float64) - got) ** 2))
    return 10 * math.log10(float(np.sum(want.astype(np.float64) ** 2)) / max(noise, 1e-300))


def perplexity(logits: np.ndarray, following: np.ndarray) -> float:
    x = logits.reshape(-1, logits.shape[-1]).astype(np.float64)
    x -= x.max(-1, keepdims=True)
    logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
    return math.exp(-logs[np.arange(len(x)), following.ravel()].mean())


class Accuracy:
    def __init__(self, bench, run) -> None:
        self.bench, self.run, self.quantc = bench, run, bench.quantc
        self.folder = bench.work / "accuracy"
        self.builds = 0
        if not all((self.folder / f"{name}_test.npz").exists() for name in (*CNNS, "gpt")):
            for script in ("train_images.py", "train_gpt.py"):
                print(run(sys.executable, ROOT / "tools" / script, self.folder).stdout.strip())

    def test(self, name: str) -> dict:
        return dict(np.load(self.folder / f"{name}_test.npz"))

    # -- quantc ----------------------------------------------------------------------------------------------------

    def calibrated(self, name: str, *flags) -> Path:
        rules = self.folder / f"{name}.toml"
        self.run(self.quantc, "calibrate", self.folder / f"{name}.onnx", "--data",
                 self.folder / f"{name}_calibration.npz", "-o", rules, "--force", *flags)
        return rules

    def answers(self, name: str, rules: Path | None) -> np.ndarray:
        """What the generated C answers to the test inputs."""
        out, test = self.folder / "c", self.test(name)
        shutil.rmtree(out, ignore_errors=True)
        self.run(self.quantc, "compile", self.folder / f"{name}.onnx", "-o", out, "--name", "net",
                 *(["--rules", rules] if rules else []))
        arena = subprocess.run(["grep", "-o", "NET_ARENA_BYTES [0-9]*", out / "net.h"], capture_output=True, text=True)
        self.builds += 1  # a name is loaded once
        library = self.folder / f"net_{self.builds}.so"
        (out / "answer.c").write_text(ANSWER)
        self.run("make", "-s", "-C", out, "CFLAGS=-O2 -fPIC", "libnet.a")
        self.run("cc", "-O2", "-shared", "-fPIC", out / "answer.c", out / "libnet.a", "-lm", "-o", library)
        net = ctypes.CDLL(str(library))
        memory = np.zeros(int(arena.stdout.split()[1]) + 64, np.uint8)
        aligned = memory[-memory.ctypes.data % 64:]
        got = np.empty_like(test["y"])
        for i, x in enumerate(test["x"]):
            x = np.ascontiguousarray(x)
            status = net.answer(*(ctypes.c_void_p(a.ctypes.data) for a in (x, got[i], aligned)))
            if status != 0:
                raise SystemExit(f"net_run of {name}: status {status}")
        return got

    def ours(self, name: str, *flags) -> float:
        return sqnr(self.test(name)["y"], self.answers(name, self.calibrated(name, *flags)))

    # -- others ----------------------------------------------------------------------------------------------------

    def onnxruntime(self, path: Path, name: str) -> np.ndarray:
        import onnxruntime as ort
        session = ort.InferenceSession(str(path))
        return np.concatenate([session.run(None, {"x": x[None]})[0] for x in self.test(name)["x"]])

    def ort_static(self, name: str, **options) -> float:
        from onnxruntime.quantization import CalibrationDataReader, quantize_static
        samples = np.load(self.folder / f"{name}_calibration.npz")["x"]

        class Reader(CalibrationDataReader):
            left = iter(samples)

            def get_next(self):
                x = next(self.left, None)
                return None if x is None else {"x": x[None]}

        path = self.folder / f"{name}_ort.onnx"
        quantize_static(str(self.folder / f"{name}.onnx"), str(path), Reader(), **options)
        return sqnr(self.test(name)["y"], self.onnxruntime(path, name))

    def network(self, name: str):
        import torch
        sys.path.insert(0, str(ROOT / "tools"))
        import train_gpt
        import train_images
        net = train_gpt.Gpt() if name == "gpt" else train_images.NETWORKS[name][0]()
        net.load_state_dict(torch.load(self.folder / f"{name}.pt"))
        return net.eval()

    def pt2e_x86(self, name: str) -> float:
        import torch
        from torchao.quantization.pt2e import move_exported_model_to_eval
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
        from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
            X86InductorQuantizer, get_default_x86_inductor_quantization_config)
        samples = torch.from_numpy(np.load(self.folder / f"{name}_calibration.npz")["x"])
        quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
        prepared = prepare_pt2e(torch.export.export(self.network(name), (samples[:1],)).module(), quantizer)
        for x in samples:
            prepared(x[None])
        quantized = move_exported_model_to_eval(convert_pt2e(prepared))
        test = self.test(name)
        with torch.no_grad():
            got = torch.cat([quantized(torch.from_numpy(x[None])) for x in test["x"]]).numpy()
        return sqnr(test["y"], got)

    def matmul_nbits(self, name: str, symmetric: bool) -> float:
        import onnx
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        path = self.folder / f"{name}_nbits.onnx"
        quantizer = MatMulNBitsQuantizer(onnx.load(self.folder / f"{name}.onnx"), block_size=32, is_symmetric=symmetric)
        quantizer.process()
        onnx.save(quantizer.model.model, path)
        return sqnr(self.test(name)["y"], self.onnxruntime(path, name))

    # -- bars ------------------------------------------------------------------------------------------------------

    def images(self) -> None:
        for name in CNNS:
            for how, flags, options in (("", (), {}), (" per channel", ("--per-channel",), {"per_channel": True})):
                theirs = self.ort_static(name, **options)
                self.bench.bar(f"{name} int8{how} (ONNX Runtime MinMax {theirs:.2f})", self.ours(name, *flags), theirs, "dB", True)
            theirs = self.pt2e_x86(name)
            # PT2E's observers, too, look for the least squared error.
            ours = self.ours(name, "--per-channel", "--results", "float32", "--method", "mse")
            self.bench.bar(f"{name} products only (PT2E X86 {theirs:.2f})", ours, theirs - 0.5, "dB", True)
            self.bench.bar(f"{name} int16", self.ours(name, "--per-channel", "--activations", "int16"), 60, "dB", True)

    def gpt(self) -> None:
        test, theirs = self.test("gpt"), self.ort_static("gpt")
        before = perplexity(test["y"], test["following"])
        got = self.answers("gpt", self.calibrated("gpt"))
        after = perplexity(got, test["following"])
        print(f"  gpt: perplexity {before:.3f} in float, {after:.3f} in int8")
        self.bench.bar("gpt int8, perplexity over that of float", after / before, 1.01, "x", False)
        self.bench.bar(f"gpt int8 (ONNX Runtime MinMax {theirs:.2f})", sqnr(test["y"], got), theirs, "dB", True)
        for types in ("sums", "wide"):
            ratio = self.ours("gpt", "--per-channel", "--results", types)
            print(f"       gpt int8 per channel, --results {types}: {ratio:.2f} dB")
        theirs = self.pt2e_x86("gpt")
        ours = self.ours("gpt", "--per-channel", "--results", "float32", "--ops", "linear", "--method", "mse")
        self.bench.bar(f"gpt products only (PT2E X86 {theirs:.2f})", ours, theirs - 0.5, "dB", True)
        rules = self.folder / "int4.toml"
        for symmetric in (True, False):
            rules.write_text("[[rule]]\nop = 'linear'\nkind = 'weight_only'\nweight_dtype = 'int4'\ngroup = 32\n"
                             + ("" if symmetric else "weight_zero_points = true\n"))
            theirs, ours = self.matmul_nbits("gpt", symmetric), sqnr(test["y"], self.answers("gpt", rules))
            how = "symmetric" if symmetric else "zero points"
            self.bench.bar(f"gpt int4 in 32s, {how} (MatMulNBits {theirs:.2f})", ours, theirs - 0.3, "dB", True)
