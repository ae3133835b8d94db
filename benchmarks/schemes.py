"""Quantized schemes beside their own float network and ONNX Runtime: codes of 8 and 16 bits with static scales, recurrent
layers of codes, weights of codes whose inputs are quantized when the program runs (dynamic), weights of codes that are
decoded to floats (weight-only).

A convolutional network of the tests and networks of tools/make_network.py, quantized by quantc's calibration, and for
ONNX Runtime by its own tools. All code is generated for this machine and built with plain `cc -O2`; one core, batch 1,
interleaved in one run.
"""
import logging
import time
from pathlib import Path

import numpy as np

# At most this many times the float network's time. Products of codes of 16 bits have no kernel for vectors, so no bar.
BAR = 1.5
NO_BAR = {"int16"}
ROUNDS = 6


class Schemes:
    def __init__(self, bench, run) -> None:
        self.bench, self.run = bench, run
        logging.getLogger().setLevel(logging.ERROR)  # quantizers of ONNX Runtime tell of every tensor

    def session(self, model: Path):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        return ort.InferenceSession(str(model), options)

    def beside_float(self, name: str, model: Path, schemes: dict) -> None:
        """`schemes`: name -> (model and flags of quantc compile, what ONNX Runtime runs or None)."""
        session = self.session(model)
        feeds = {i.name: np.random.default_rng(0).standard_normal(i.shape, dtype=np.float32) for i in session.get_inputs()}
        size = dict(inputs=sum(x.size for x in feeds.values()), outputs=sum(y.size for y in session.run(None, feeds)))
        programs = {"float": (model, (), model)} | schemes
        best = {scheme: self.bench.time_quantc(f"{name}_{scheme}", path, size, *flags, "--target", "native", cflags="-O2")
                for scheme, (path, flags, _) in programs.items()}
        theirs = {scheme: (self.session(other), float("inf")) for scheme, (_, _, other) in programs.items() if other}
        for _ in range(ROUNDS):  # interleaved: what else the machine does then meets all
            for scheme in programs:
                again = self.run(self.bench.work / f"{name}_{scheme}_quantc_time")
                best[scheme] = min(best[scheme], float(again.stdout.split()[0]))
            for scheme, (ort, seconds) in theirs.items():
                for _ in range(20):
                    start = time.perf_counter()
                    ort.run(None, feeds)
                    seconds = min(seconds, time.perf_counter() - start)
                theirs[scheme] = ort, seconds
        for scheme in programs:
            other = f"{theirs[scheme][1] * 1e6:.0f}" if scheme in theirs else "-"
            print(f"  {name} {scheme}: {best[scheme] * 1e6:.0f} us, ONNX Runtime {other}, {best[scheme] / best['float']:.2f} of float")
            self.bench.results[f"{name} {scheme} us"] = {"quantc": best[scheme] * 1e6} | (
                {"ONNX Runtime": theirs[scheme][1] * 1e6} if scheme in theirs else {})
        for scheme in (f for f in schemes if f not in NO_BAR):
            self.bench.bar(f"{name} {scheme} against float", best[scheme] / best["float"], BAR, "x its time", False)

    def samples(self, model: Path) -> np.ndarray:
        shape = self.session(model).get_inputs()[0].shape
        return np.random.default_rng(0).standard_normal((8, *shape[1:]), dtype=np.float32)

    def calibrated(self, name: str, model: Path, codes: str, *flags: str) -> Path:
        """The rules of quantc's own calibration for codes of this type."""
        work = self.bench.work
        np.savez(work / "samples.npz", in_0=self.samples(model))
        rules = work / f"{name}_{codes}.toml"
        self.run(self.bench.quantc, "calibrate", model, "--data", work / "samples.npz", "-o", rules, "--force",
                 "--activations", codes, *flags)
        return rules

    def static(self, name: str, model: Path, bits: int = 8) -> Path:
        """The network as ONNX Runtime's quantize_static makes it: for 8 bits the fastest way it has of running codes; codes of 16 bits
        it decodes, computes in float and encodes."""
        from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

        entry = self.session(model).get_inputs()[0].name
        left = iter(self.samples(model))

        class Reader(CalibrationDataReader):
            def get_next(self):
                x = next(left, None)
                return None if x is None else {entry: x[None]}

        path = self.bench.work / f"{name}_static{bits}.onnx"
        types = {8: (QuantType.QUInt8, QuantType.QInt8), 16: (QuantType.QInt16, QuantType.QInt16)}[bits]
        quantize_static(str(model), str(path), Reader(), per_channel=True, activation_type=types[0], weight_type=types[1],
                        extra_options={"UseQDQContribOps": True} if bits == 16 else None)
        return path

    def cnn(self, name: str, model: Path) -> None:
        int8 = self.calibrated(name, model, "int8", "--per-channel")
        int16 = self.calibrated(name, model, "int16", "--per-channel")
        self.beside_float(name, model, {"int8": (model, ("--rules", int8), self.static(name, model)),
                                        "int16": (model, ("--rules", int16), self.static(name, model, 16))})

    def gru(self, model: Path) -> None:
        self.beside_float("gru", model, {"int8": (model, ("--rules", self.calibrated("gru", model, "int8")), None)})

    def bert(self, model: Path) -> None:
        import onnx
        from onnxruntime.quantization import quantize_dynamic
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        dynamic = self.bench.work / "bert_small_dynamic.onnx"
        quantize_dynamic(str(model), str(dynamic))
        rules = self.calibrated("bert_small", model, "int8", "--per-channel")
        schemes = {"int8": (model, ("--rules", rules), self.static("bert_small", model)), "dynamic": (dynamic, (), dynamic)}
        for bits in (8, 4):
            rules, other = self.bench.work / f"int{bits}.toml", self.bench.work / f"bert_small_int{bits}.onnx"
            rules.write_text(f"[[rule]]\nop = 'linear'\nkind = 'weight_only'\nweight_dtype = 'int{bits}'\ngroup = 32\n")
            quantizer = MatMulNBitsQuantizer(onnx.load(model), bits=bits, block_size=32, is_symmetric=True)
            quantizer.process()
            quantizer.model.save_model_to_file(str(other))
            schemes[f"weights_int{bits}"] = (model, ("--rules", rules), other)
        self.beside_float("bert_small", model, schemes)
