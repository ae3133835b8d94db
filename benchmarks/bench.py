#!/usr/bin/env python3
"""Speed, compile time and memory, side by side with others: bench.py BUILD [section ...].

Sections: speed (generated C against emx-onnx-cgen's C and ONNX Runtime, one core, batch 1), compile (time and peak
memory of quantc on large models), quantize (calibration against ONNX Runtime's; int8 against float), accuracy
(quantized networks against ONNX Runtime's and PyTorch's; accuracy.py), targets (int8 code for this machine against
OpenVINO, kernels against the peak of their instructions; targets.py), schemes (codes of 8 and 16 bits, recurrent
layers of codes, dynamic and weight-only quantization against float; schemes.py), transformers (MiniLM-L6 and a block of
Llama on codes; transformers_bench.py), threads (a large product on one and two threads; threads.py), sizes (programs whose sizes each run chooses beside static ones; sizes.py), python (what calls
from Python add; python_calls.py). Each bar of the project is printed with its verdict; a missed one makes the exit
status 1.
"""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "models"
TOOLS = ROOT / "tools"
# At least this many times faster than emx-onnx-cgen.
SPEED_BARS = {"timm_test_resnet": 10.0, "tv_mobilenet_v2_025": 3.0}
INT8_BESIDE_FLOAT = (*SPEED_BARS, "digits", "micro_kws_m_fp32", "timm_test_vit", "cnn_mnist_pytorch")
FLAGS = ["-O3", "-march=native"]

TIMER = r"""
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
%(declare)s
static double now(void) {
  struct timespec t;
  clock_gettime(%(clock)s, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static float in[%(inputs)d], out[%(outputs)d];
%(state)s
int main(void) {
  double best = 1e9, total = 0;
  for (int i = 0; i < %(inputs)d; ++i) in[i] = (float)((i * 7919) %% 1000) / 500.0f - 1.0f;
  for (int n = 0; n < 10000 && (n < 5 || total < 1.5); ++n) {
    double start = now(), spent;
    %(call)s;
    spent = now() - start;
    total += spent;
    if (spent < best) best = spent;
  }
  printf("%%.9f %%g\n", best, (double)out[0]);
  return 0;
}
"""

# Runs a command and prints its seconds, its seconds of processor time and its peak resident kilobytes.
MEASURED = """
import os, sys, time
start = time.perf_counter()
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(*command, **options) -> subprocess.CompletedProcess:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def one_core(*command) -> list[str]:
    return (["taskset", "-c", "0"] if shutil.which("taskset") else []) + [str(c) for c in command]


class Bench:
    def __init__(self, build: Path) -> None:
        self.quantc = build / "bin" / "quantc"
        self.work = build / "bench"
        self.work.mkdir(parents=True, exist_ok=True)
        self.results: dict = {}
        self.missed: list[str] = []

    def bar(self, what: str, value: float, limit: float, unit: str, at_least: bool) -> None:
        good = value >= limit if at_least else value <= limit
        print(f"  {'ok  ' if good else 'MISS'} {what}: {value:.4g} {unit} (bar {'>=' if at_least else '<='} {limit:g})")
        self.results[what] = {"value": value, "bar": limit, "ok": good}
        if not good:
            self.missed.append(what)

    # -- speed -----------------------------------------------------------------------------------------------------

    def timed(self, name: str, sources: list[Path], extra: list, clock: str = "CLOCK_MONOTONIC", **text) -> float:
        """Best seconds of one call in a program built from `sources` and the timer."""
        source, program = self.work / f"{name}_time.c", self.work / f"{name}_time"
        source.write_text(TIMER % dict(text, clock=clock))
        run(os.environ.get("CC", "cc"), *FLAGS, *extra, source, *sources, "-lm", "-o", program)
        return float(run(*one_core(program)).stdout.split()[0])

    def speed(self) -> None:
        import onnxruntime as ort

        print("milliseconds per inference, batch 1, one core, best run")
        print(f"  {'model':24}{'quantc':>10}{'emx-onnx-cgen':>16}{'ONNX Runtime':>14}{'faster than emx':>17}")
        for model, bar in SPEED_BARS.items():
            path = MODELS / f"{model}.onnx"
            options = ort.SessionOptions()
            options.intra_op_num_threads = 1
            session = ort.InferenceSession(str(path), options)
            shape_in, shape_out = session.get_inputs()[0].shape, session.get_outputs()[0].shape
            size = dict(inputs=int(np.prod(shape_in)), outputs=int(np.prod(shape_out)))
            feeds = {session.get_inputs()[0].name: np.random.default_rng(0).random(shape_in, dtype=np.float32)}
            ours = self.time_quantc(model, path, size)
            emx = self.time_emx(model, path, size)
            theirs = min(self.clock(lambda: session.run(None, feeds)) for _ in range(50))
            print(f"  {model:24}{ours * 1e3:10.3f}{emx * 1e3:16.3f}{theirs * 1e3:14.3f}{emx / ours:16.1f}x")
            self.results[f"{model} ms"] = {"quantc": ours * 1e3, "emx": emx * 1e3, "onnxruntime": theirs * 1e3}
            self.bar(f"{model} against emx-onnx-cgen", emx / ours, bar, "x", True)

    @staticmethod
    def clock(call) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def time_quantc(self, model: str, path: Path, size: dict, *flags, cflags: str = " ".join(FLAGS),
                    clock: str = "CLOCK_MONOTONIC") -> float:
        """Seconds of a run of portable code with the compiler's instructions for this machine, unless flags name a target."""
        if "--target" not in flags:
            flags = (*flags, "--target", "portable")
        out = self.work / f"{model}_quantc"
        shutil.rmtree(out, ignore_errors=True)
        run(self.quantc, "compile", path, "-o", out, "--name", "net", *flags)
        run("make", "-s", "-C", out, f"CFLAGS={cflags}", "libnet.a")
        return self.timed(f"{model}_quantc", [out / "libnet.a"], [f"-I{out}"], clock, **size, declare='#include "net.h"',
                          state="static _Alignas(NET_ARENA_ALIGN) unsigned char arena[NET_ARENA_BYTES + 1];",
                          call="if (net_run(in, out, arena) != 0) return 1")

    def time_emx(self, model: str, path: Path, size: dict) -> float:
        source = self.work / f"{model}_emx.c"
        run(Path(sys.executable).with_name("emx-onnx-cgen"), "compile", "--large-weight-threshold", "0",
            "--model-name", "net", path, source)
        # -ffast-math is the fastest its code gets.
        return self.timed(f"{model}_emx", [source], ["-ffast-math"], **size, state="",
                          declare="extern void net(const float*, float*);", call="net(in, out)")

    # -- compile time ----------------------------------------------------------------------------------------------

    def make(self, script: str, name: str, *args) -> Path:
        path = self.work / name
        if not path.exists():
            run(sys.executable, TOOLS / script, *args, path)
        return path

    def compile_cost(self, path: Path, *flags) -> tuple[float, float, float]:
        """Seconds, seconds of processor time and peak resident MB of one compilation."""
        out = self.work / "compiled"
        shutil.rmtree(out, ignore_errors=True)
        # A small process of its own: a child's peak begins at that of the process it is forked from.
        command = [str(self.quantc), "compile", str(path), "-o", str(out), "--name", "net", *flags]
        seconds, busy, kilobytes = map(float, run(sys.executable, "-c", MEASURED, *command).stdout.split()[-3:])
        return seconds, busy, kilobytes / 1024

    def compile(self) -> None:
        print("time and memory of quantc compile, best of three")
        resnet = self.make("make_resnet50.py", "resnet50.onnx")
        seconds, _, memory = min(self.compile_cost(resnet, "--weights", "incbin") for _ in range(3))
        self.bar("ResNet-50 compile time", seconds, 2.0, "s", False)
        self.bar("ResNet-50 peak memory", memory, 1.3 * resnet.stat().st_size / 2**20 + 256, "MB", False)
        chain = self.make("make_chain.py", "chain_100k.onnx", 100000)
        self.bar("chain of 100,000 nodes", min(self.compile_cost(chain)[0] for _ in range(3)), 5.0, "s", False)

    # -- quantization ----------------------------------------------------------------------------------------------

    def resnet18(self, size: int) -> Path:
        import torch
        sys.path.insert(0, str(ROOT))
        from tests.support.resnet import ResNet18, with_statistics

        path = self.work / f"resnet18_{size}.onnx"
        if not path.exists():
            torch.manual_seed(0)
            net = with_statistics(ResNet18(), (4, 3, size, size), batches=2)
            torch.onnx.export(net, (torch.zeros(1, 3, size, size),), path, dynamo=True, external_data=False)
        return path

    def quantize(self) -> None:
        import onnxruntime as ort
        from onnxruntime.quantization import CalibrationDataReader, create_calibrator, quantize_static

        model = self.resnet18(64)
        name = ort.InferenceSession(str(model)).get_inputs()[0].name
        samples = np.random.default_rng(0).standard_normal((100, 3, 64, 64), dtype=np.float32)
        np.savez(self.work / "samples.npz", in_0=samples)

        class Reader(CalibrationDataReader):
            def __init__(self) -> None:
                self.left = iter(samples)

            def get_next(self):
                x = next(self.left, None)
                return None if x is None else {name: x[None]}

        def theirs() -> None:
            calibrator = create_calibrator(model, [], augmented_model_path=str(self.work / "augmented.onnx"))
            calibrator.set_execution_providers()
            calibrator.collect_data(Reader())
            calibrator.compute_data()

        rules = self.work / "rules.toml"
        ours = lambda: run(self.quantc, "calibrate", model, "--data", self.work / "samples.npz", "-o", rules, "--per-channel")
        print("calibration, ResNet-18 at 64x64, 100 inputs, seconds: best of two, in turns")
        times = [(self.clock(ours), self.clock(theirs)) for _ in range(2)]
        mine, other = min(t[0] for t in times), min(t[1] for t in times)
        print(f"  quantc {mine:.2f}, ONNX Runtime {other:.2f}")
        self.bar("calibration against ONNX Runtime", mine / other, 2.0, "x its time", False)

        print("ResNet-18 at 64x64, milliseconds, batch 1, one core, portable C")
        size = dict(inputs=3 * 64 * 64, outputs=1000)
        quantized = self.work / "resnet18_qdq.onnx"
        quantize_static(str(model), str(quantized), Reader(), per_channel=True)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        session = ort.InferenceSession(str(quantized), options)
        row = {"float": self.time_quantc("resnet18_float", model, size, "--weights", "incbin"),
               "int8": self.time_quantc("resnet18_int8", model, size, "--weights", "incbin", "--rules", rules),
               "ONNX Runtime int8": min(self.clock(lambda: session.run(None, {name: samples[:1]})) for _ in range(20))}
        print("  " + ", ".join(f"{what} {seconds * 1e3:.2f}" for what, seconds in row.items()))
        self.results["resnet18 ms"] = {what: seconds * 1e3 for what, seconds in row.items()}
        for model_name in INT8_BESIDE_FLOAT:
            self.int8_beside_float(model_name)

    def int8_beside_float(self, model: str) -> None:
        import onnxruntime as ort

        path = MODELS / f"{model}.onnx"
        session = ort.InferenceSession(str(path))
        shapes = session.get_inputs()[0].shape, session.get_outputs()[0].shape
        samples = np.random.default_rng(0).standard_normal((8, *shapes[0]), dtype=np.float32)
        np.savez(self.work / "samples.npz", in_0=samples)
        rules = self.work / f"{model}.toml"
        run(self.quantc, "calibrate", path, "--data", self.work / "samples.npz", "-o", rules, "--per-channel")
        size = dict(inputs=int(np.prod(shapes[0])), outputs=int(np.prod(shapes[1])))
        programs = {"float": [], "int8": ["--rules", rules]}
        best = {what: self.time_quantc(f"{model}_{what}", path, size, *flags) for what, flags in programs.items()}
        for _ in range(6):  # interleaved: what else the machine does then meets both
            for what in programs:
                again = run(*one_core(self.work / f"{model}_{what}_quantc_time"))
                best[what] = min(best[what], float(again.stdout.split()[0]))
        print(f"  {model}: float {best['float'] * 1e3:.3f}, int8 {best['int8'] * 1e3:.3f}, ratio {best['int8'] / best['float']:.2f}")
        self.results[f"{model} int8 ms"] = {what: seconds * 1e3 for what, seconds in best.items()}


    # -- accuracy --------------------------------------------------------------------------------------------------

    def accuracy(self) -> None:
        from accuracy import Accuracy

        print("signal to noise of answers, float against quantized; networks of tools/train_images.py and train_gpt.py")
        accuracy = Accuracy(self, run)
        accuracy.images()
        accuracy.gpt()

    # -- targets ---------------------------------------------------------------------------------------------------

    def targets(self) -> None:
        from targets import Targets

        print("int8, code for this machine built with -O2 beside OpenVINO, milliseconds, batch 1, one core")
        targets = Targets(self, run)
        targets.beside_openvino("resnet18", self.resnet18(224))
        targets.beside_openvino("resnet50", self.make("make_resnet50.py", "resnet50.onnx"))
        targets.beside_openvino("tv_mobilenet_v2_025", MODELS / "tv_mobilenet_v2_025.onnx")
        for name in ("mobilenet_v2", "minilm", "bert_base"):
            targets.beside_openvino(name, self.make("make_network.py", f"{name}.onnx", name))
        print("floats, code for this machine built with -O2 beside portable code with -O3 -march=native")
        for name in ("timm_test_resnet", "tv_mobilenet_v2_025", "timm_test_vit", "cnn_mnist_pytorch", "digits"):
            targets.beside_portable(name, MODELS / f"{name}.onnx")
        targets.kernels(ROOT)

    # -- schemes -----------------------------------------------------------------------------------------------------

    def schemes(self) -> None:
        from schemes import Schemes

        print("quantized schemes, code for this machine built with -O2 beside float, microseconds, batch 1, one core")
        schemes = Schemes(self, run)
        schemes.cnn("tv_mobilenet_v2_025", MODELS / "tv_mobilenet_v2_025.onnx")
        schemes.gru(self.make("make_network.py", "gru.onnx", "gru"))
        schemes.bert(self.make("make_network.py", "bert_small.onnx", "bert_small"))

    # -- transformers ----------------------------------------------------------------------------------------------

    def transformers(self) -> None:
        from transformers_bench import Transformers

        print("quantized transformers, code for this machine built with -O2, one core")
        transformers = Transformers(self, run)
        transformers.minilm(self.make("make_network.py", "minilm.onnx", "minilm"))
        transformers.llama()

    # -- threads ---------------------------------------------------------------------------------------------------

    def threads(self) -> None:
        from threads import ThreadsBench

        print("a large product of codes in generated code, on one and on two threads")
        ThreadsBench(self, run).product()

    # -- calls from Python -----------------------------------------------------------------------------------------

    def python(self) -> None:
        from python_calls import BARS

        print("calls from Python, an image of 1x3x224x224: the whole call of a network that computes next to nothing")
        build = self.quantc.parent.parent
        run(TOOLS / "package_venv", build)
        found = json.loads(run(build / "venv" / "bin" / "python", ROOT / "benchmarks" / "python_calls.py").stdout)
        for what, limit in BARS.items():
            milli = what.startswith("import")
            self.bar(what, found[what] * (1e3 if milli else 1e6), limit, "ms" if milli else "us", False)

    # -- sizes -----------------------------------------------------------------------------------------------------

    def sizes(self) -> None:
        from sizes import Sizes

        print("sizes that each run chooses beside numbers, code for this machine built with -O2, one core")
        sizes = Sizes(self, run)
        sizes.minilm()
        sizes.resnet18()
        sizes.networks()
        sizes.long_sequences()


def main() -> None:
    bench = Bench(Path(sys.argv[1]).resolve())
    for section in sys.argv[2:] or ["speed", "compile", "quantize", "targets", "schemes", "transformers", "threads", "sizes", "python", "accuracy"]:
        getattr(bench, section)()
    (bench.work / "results.json").write_text(json.dumps(bench.results, indent=1) + "\n")
    if bench.missed:
        raise SystemExit(f"{len(bench.missed)} bar(s) missed: {', '.join(bench.missed)}")


if __name__ == "__main__":
    main()
