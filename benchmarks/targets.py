"""int8 networks in generated code for this machine beside OpenVINO, one core, batch 1, interleaved in one run.

The networks have seeded weights and are quantized by ONNX Runtime (QDQ, unsigned activations, weights per channel), so
that both compute the same. quantc's code is built with plain `cc -O2`: it names its instructions itself.
"""
import os
import subprocess
import time
from pathlib import Path

import numpy as np

# At most this many times OpenVINO's time.
BARS = {"resnet18": 1.5, "resnet50": 1.5, "tv_mobilenet_v2_025": 1.8, "mobilenet_v2": 1.8, "minilm": 1.8, "bert_base": 1.7}
ROUNDS = 6


class Targets:
    def __init__(self, bench, run) -> None:
        self.bench, self.run = bench, run

    def quantized(self, name: str, model: Path) -> Path:
        import onnxruntime as ort
        from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

        path = self.bench.work / f"{name}_qdq.onnx"
        if path.exists():
            return path
        entry = ort.InferenceSession(str(model)).get_inputs()[0]
        samples = iter(np.random.default_rng(0).standard_normal((4, *entry.shape), dtype=np.float32))

        class Reader(CalibrationDataReader):
            def get_next(self):
                x = next(samples, None)
                return None if x is None else {entry.name: x}

        quantize_static(str(model), str(path), Reader(), per_channel=True, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8)
        return path

    def beside_openvino(self, name: str, model: Path) -> None:
        import openvino

        path = self.quantized(name, model)
        core = openvino.Core()
        compiled = core.compile_model(core.read_model(str(path)), "CPU",
                                      {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"})
        shape, result = list(compiled.inputs[0].shape), list(compiled.outputs[0].shape)
        request, x = compiled.create_infer_request(), np.zeros(shape, dtype=np.float32)
        size = dict(inputs=int(np.prod(shape)), outputs=int(np.prod(result)))
        best = {"portable": self.bench.time_quantc(f"{name}_portable", path, size, "--weights", "incbin")}
        best["native"] = self.bench.time_quantc(f"{name}_native", path, size, "--weights", "incbin", "--target", "native",
                                                cflags="-O2")
        best["OpenVINO"] = float("inf")
        for _ in range(ROUNDS):  # interleaved: what else the machine does then meets all
            for _ in range(20):
                start = time.perf_counter()
                request.infer([x])
                best["OpenVINO"] = min(best["OpenVINO"], time.perf_counter() - start)
            for what in ("portable", "native"):
                again = self.run(self.bench.work / f"{name}_{what}_quantc_time")
                best[what] = min(best[what], float(again.stdout.split()[0]))
        print("  " + f"{name}: " + ", ".join(f"{what} {seconds * 1e3:.2f}" for what, seconds in best.items()))
        self.bench.results[f"{name} int8 ms"] = {what: seconds * 1e3 for what, seconds in best.items()}
        self.bench.bar(f"{name} against OpenVINO", best["native"] / best["OpenVINO"], BARS[name], "x its time", False)

    def beside_portable(self, name: str, model: Path) -> None:
        """What names its instructions itself is not slower than what the compiler's options give them to."""
        import onnxruntime as ort

        session = ort.InferenceSession(str(model))
        size = dict(inputs=int(np.prod(session.get_inputs()[0].shape)), outputs=int(np.prod(session.get_outputs()[0].shape)))
        best = {"portable": self.bench.time_quantc(f"{name}_float_portable", model, size),
                "native": self.bench.time_quantc(f"{name}_float_native", model, size, "--target", "native", cflags="-O2")}
        for _ in range(ROUNDS):
            for what in best:
                again = self.run(self.bench.work / f"{name}_float_{what}_quantc_time")
                best[what] = min(best[what], float(again.stdout.split()[0]))
        print("  " + f"{name}: " + ", ".join(f"{what} {seconds * 1e3:.3f}" for what, seconds in best.items()))
        self.bench.results[f"{name} float ms"] = {what: seconds * 1e3 for what, seconds in best.items()}
        self.bench.bar(f"{name} against portable code", best["native"] / best["portable"], 1.03, "x its time", False)

    def kernels(self, root: Path) -> None:
        """The kernels' own benchmarks, for the instruction sets of this machine."""
        flags = Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
        folders = sorted(p.parent.name for p in root.glob("kernels/*/bench.c"))
        for machine, known in (("AVX2", "avx2"), ("AVX512VNNI", "avx512_vnni")):
            for kernel in folders:
                if known not in flags:
                    continue
                program = self.bench.work / f"{kernel}_{machine}"
                self.run(os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-ffp-contract=off", f"-DQK_TARGET_{machine}", f"-I{root}",
                         f"-I{self.bench.work.parent}/generated", root / "kernels" / kernel / "bench.c", "-o", program, "-lm")
                print(f"{kernel}, {machine}")
                print(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
