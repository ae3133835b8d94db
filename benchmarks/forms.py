"""Quantized forms beside their own float network and ONNX Runtime: recurrent layers of codes, weights of codes whose
inputs are quantized when the program runs (dynamic), weights of codes that are decoded to floats (weight-only).

Networks of tools/make_network.py, quantized by quantc's calibration (gru) or by ONNX Runtime's own tools. All code is
generated for this machine and built with plain `cc -O2`; one core, batch 1, in turns in one run.
"""
import time
from pathlib import Path

import numpy as np

# At most this many times the float network's time.
BAR = 1.5
TURNS = 6


class Forms:
    def __init__(self, bench, run) -> None:
        self.bench, self.run = bench, run

    def session(self, model: Path):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        return ort.InferenceSession(str(model), options)

    def beside_float(self, name: str, model: Path, forms: dict) -> None:
        """`forms`: name -> (model and flags of quantc compile, what ONNX Runtime runs or None)."""
        session = self.session(model)
        feeds = {i.name: np.random.default_rng(0).standard_normal(i.shape, dtype=np.float32) for i in session.get_inputs()}
        size = dict(inputs=sum(x.size for x in feeds.values()), outputs=sum(y.size for y in session.run(None, feeds)))
        programs = {"float": (model, (), model)} | forms
        best = {form: self.bench.time_quantc(f"{name}_{form}", path, size, *flags, "--target", "native", cflags="-O2")
                for form, (path, flags, _) in programs.items()}
        theirs = {form: (self.session(other), float("inf")) for form, (_, _, other) in programs.items() if other}
        for _ in range(TURNS):  # in turns: what else the machine does then meets all
            for form in programs:
                again = self.run(self.bench.work / f"{name}_{form}_quantc_time")
                best[form] = min(best[form], float(again.stdout.split()[0]))
            for form, (ort, seconds) in theirs.items():
                for _ in range(20):
                    start = time.perf_counter()
                    ort.run(None, feeds)
                    seconds = min(seconds, time.perf_counter() - start)
                theirs[form] = ort, seconds
        for form in programs:
            other = f"{theirs[form][1] * 1e6:.0f}" if form in theirs else "-"
            print(f"  {name} {form}: {best[form] * 1e6:.0f} us, ONNX Runtime {other}, {best[form] / best['float']:.2f} of float")
            self.bench.results[f"{name} {form} us"] = {"quantc": best[form] * 1e6} | (
                {"ONNX Runtime": theirs[form][1] * 1e6} if form in theirs else {})
        for form in forms:
            self.bench.bar(f"{name} {form} against float", best[form] / best["float"], BAR, "x its time", False)

    def gru(self, model: Path) -> None:
        work = self.bench.work
        shape = self.session(model).get_inputs()[0].shape
        np.savez(work / "samples.npz", in_0=np.random.default_rng(0).standard_normal((8, *shape[1:]), dtype=np.float32))
        rules = work / "gru.toml"
        self.run(self.bench.quantc, "calibrate", model, "--data", work / "samples.npz", "-o", rules)
        self.beside_float("gru", model, {"int8": (model, ("--rules", rules), None)})

    def bert(self, model: Path) -> None:
        import logging

        import onnx
        from onnxruntime.quantization import quantize_dynamic
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        logging.getLogger("onnxruntime").setLevel(logging.ERROR)
        dynamic = self.bench.work / "bert_small_dynamic.onnx"
        quantize_dynamic(str(model), str(dynamic))
        forms = {"dynamic": (dynamic, (), dynamic)}
        for bits in (8, 4):
            rules, other = self.bench.work / f"int{bits}.toml", self.bench.work / f"bert_small_int{bits}.onnx"
            rules.write_text(f"[[rule]]\nop = 'linear'\nkind = 'weight_only'\nweight_dtype = 'int{bits}'\ngroup = 32\n")
            quantizer = MatMulNBitsQuantizer(onnx.load(model), bits=bits, block_size=32, is_symmetric=True)
            quantizer.process()
            quantizer.model.save_model_to_file(str(other))
            forms[f"weights_int{bits}"] = (model, ("--rules", rules), other)
        self.beside_float("bert_small", model, forms)
