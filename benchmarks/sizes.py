"""Programs whose sizes each run chooses beside those that were compiled for the numbers: run time, compile time, code and arena.

Both programs run in rounds, and the least processor time of each counts, so that what else the machine does matters little.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# Times the static program takes, built for size; built for speed it has every size as a constant, and the ratio is only printed.
RUN_BAR, COMPILE_BAR, CODE_BAR, ARENA_BAR = 1.05, 3.0, 1.5, 1.02
ROUNDS, RUNS = 14, 8


DYNAMIC = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nskip_unsupported = true\n"


def spent_by(*command, **options):
    """What a process took."""
    child = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{command[0]} failed")
    return usage


class Sizes:
    def __init__(self, bench, run) -> None:
        self.bench, self.run = bench, run
        sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
        self.dynamic = bench.work / "dynamic.toml"
        self.dynamic.write_text(DYNAMIC)

    def exported(self, name: str, make, example, dims: dict) -> tuple[Path, list]:
        """The network as a .pt2 file, with ranges for some axes of its input, and the names of all its axes there."""
        import torch

        path = self.bench.work / f"{name}_free.pt2"
        if not path.exists():
            torch.manual_seed(0)
            axes = {axis: torch.export.Dim(f"d{axis}", min=low, max=high) for axis, (low, high) in dims.items()}
            with torch.no_grad():
                torch.export.save(torch.export.export(make().eval(), (example,), dynamic_shapes=(axes,), strict=False), path)
        return path, re.search(r"\[([^]]*)\]", self.run(self.bench.quantc, "inspect", path).stdout)[1].split(", ")

    def minilm(self) -> None:
        import torch
        from make_network import NETWORKS

        dims, shape = {0: (1, 8), 1: (1, 512)}, (1, 128, 384)
        model = self.exported("minilm", NETWORKS["minilm"][0], torch.zeros(2, 16, 384), dims)
        self.beside("minilm", model, dims, shape)
        self.beside("minilm dynamic int8", model, dims, shape, "--rules", self.dynamic)

    def resnet18(self) -> None:
        import torch
        from tests.support.resnet import ResNet18

        dims, shape = {0: (1, 8)}, (4, 3, 224, 224)
        model = self.exported("resnet18", ResNet18, torch.zeros(2, 3, 224, 224), dims)
        self.beside("resnet18", model, dims, shape)
        rules, data = self.bench.work / "resnet18_free.toml", self.bench.work / "resnet18_samples.npz"
        np.savez(data, in_0=np.random.default_rng(1).standard_normal((2, 3, 224, 224)).astype(np.float32))
        self.run(self.bench.quantc, "calibrate", model[0], "--data", data, "-o", rules, "--force")
        self.beside("resnet18 static int8", model, dims, shape, "--rules", rules)

    def networks(self) -> None:
        """Compiling, code and arena of small networks that have the layers of large ones."""
        from tests.models.test_free_networks import NETWORKS, rules_of

        def quantc(*flags):
            return self.run(self.bench.quantc, *flags)

        for name, (make, inputs, axes, _) in NETWORKS.items():
            dims = {axis: (low, high) for axis, low, high in axes.values()}
            some = {d: min(high, max(low, 128 if high > 8 else 4)) for d, (_, low, high) in axes.items()}
            model, symbols = self.exported(f"net_{name}", make, inputs(**{d: low + 11 if high > 8 else 3 for d, (_, low, high) in axes.items()}), dims)
            free, largest = self.ranges(symbols, dims), self.numbers(symbols, {axis: high for axis, (_, high) in dims.items()})
            static = self.numbers(symbols, {axes[d][0]: size for d, size in some.items()})
            spent = self.compile_times(model, free, static)
            self.bench.bar(f"{name}, free sizes: compiling", spent[0] / spent[1], COMPILE_BAR, "x", False)
            for kind in ("float", "dynamic", "static"):
                folder = self.bench.work / f"rules_{name}_{kind}"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                rules = rules_of(kind, quantc, model, inputs, axes, folder)
                for target in ("native", "portable"):
                    flags = [*rules, "--target", target]
                    ours, theirs = (self.project("net", model, *d, *flags) for d in (free, static))
                    self.bench.bar(f"{name} {kind}, free sizes: code for {target}", ours[0] / theirs[0], CODE_BAR, "x", False)
                most = self.compile("net", model, *largest, *flags)[1]
                self.bench.bar(f"{name} {kind}, free sizes: arena", ours[1] / most, ARENA_BAR, "x", False)

    def long_sequences(self) -> None:
        """seq=1..65536 beside seq=128, and beside 65,536 alone, which reads and writes as large a table of positions. What is refused for
        the size of a value at the end of the range is printed."""
        import torch
        import transformers
        from tests.models import test_free_networks, test_free_sizes

        nets = {"decoder of 32": lambda: test_free_sizes.Transformer(True), "encoder of 32": lambda: test_free_sizes.Transformer(False)}
        nets |= {name: test_free_networks.NETWORKS[name][0] for name in ("llama", "mistral", "t5")}
        table = transformers.BertConfig(**{**test_free_networks.SIZES, "max_position_embeddings": 65536})
        nets["bert"] = test_free_networks.hidden(transformers.BertModel, table, add_pooling_layer=False)
        for name, make in nets.items():
            model, symbols = self.exported(f"long_{name.split()[0]}", make, torch.zeros(2, 12, dtype=torch.int64), {1: (1, 65536)})
            free, static = self.ranges(symbols, {1: (1, 65536)}), self.numbers(symbols, {1: 128})
            refused = self.refusal(model, free)
            if refused:
                print(f"  {name}, seq=1..65536: {refused}")
                continue
            spent = self.compile_times(model, free, static, self.numbers(symbols, {1: 65536}))
            print(f"  {name}, seq=1..65536: compiling {spent[0] / spent[2]:.2f} times as long as for 65,536")
            self.bench.bar(f"{name}, seq=1..65536: compiling", spent[0] / spent[1], COMPILE_BAR, "x", False)

    @staticmethod
    def ranges(symbols: list, dims: dict) -> list:
        return [f for axis, (low, high) in dims.items() for f in ("--dim", f"{symbols[axis]}={low}..{high}")]

    @staticmethod
    def numbers(symbols: list, sizes: dict) -> list:
        return [f for axis, size in sizes.items() for f in ("--dim", f"{symbols[axis]}={size}")]

    def refusal(self, model: Path, sizes: list) -> str:
        """What quantc says where it does not compile the model for these sizes; else nothing."""
        out = self.bench.work / "refused"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([str(a) for a in (self.bench.quantc, "compile", model, "-o", out, "--name", "net", *sizes)], capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr.strip().splitlines()[0].removeprefix(f"{model}: ")

    def compile_times(self, model: Path, *sizes: list) -> list:
        """Least processor seconds of compiling the model with each of the sizes, in rounds."""
        out, best = self.bench.work / "timed", [1e9] * len(sizes)
        for _ in range(ROUNDS):
            for i, flags in enumerate(sizes):
                shutil.rmtree(out, ignore_errors=True)
                usage = spent_by(self.bench.quantc, "compile", model, "-o", out, "--name", "net", *flags)
                best[i] = min(best[i], usage.ru_utime + usage.ru_stime)
        return best

    def compile(self, name: str, model: Path, *flags) -> tuple[Path, int]:
        """The folder, and bytes of the arena."""
        out = self.bench.work / name.replace(" ", "_")
        shutil.rmtree(out, ignore_errors=True)
        said = self.run(self.bench.quantc, "compile", model, "-o", out, "--name", "net", "--weights", "incbin", *flags).stdout
        return out, int(re.search(r"arena (\d+) bytes", said)[1])

    def project(self, name: str, model: Path, *flags, goals=()) -> tuple[int, int, Path]:
        """Bytes of code and of the arena, and the folder."""
        out, arena = self.compile(name, model, *flags)
        self.run("make", "-s", "-C", out, "CFLAGS=-O2", "net.o", *goals)
        return int(self.run("size", out / "net.o").stdout.splitlines()[1].split()[0]), arena, out

    @staticmethod
    def run_times(*projects: Path) -> list:
        """Processor seconds of RUNS runs of each: the least of a program that runs the network once more than that, less the least of one run."""
        def spent(out: Path, runs: int) -> float:
            return spent_by(out / "net_test", runs, cwd=out).ru_utime

        rounds = [[(spent(out, RUNS + 1), spent(out, 1)) for out in projects] for _ in range(ROUNDS)]
        return [min(round_[i][0] for round_ in rounds) - min(round_[i][1] for round_ in rounds) for i in range(len(projects))]

    def beside(self, name: str, exported: tuple, dims: dict, shape: tuple, *rules) -> None:
        model, symbols = exported
        vectors = self.bench.work / "free_vectors.npz"
        np.savez(vectors, in_0=np.random.default_rng(0).standard_normal(shape).astype(np.float32))
        free, static = self.ranges(symbols, dims), self.numbers(symbols, {axis: shape[axis] for axis in dims})
        for kind in ("size", "speed"):
            flags = [*rules, "--specialise", kind]
            ours, theirs = (self.project(f"{name} {tag}", model, *flags, "--vectors", vectors, *d, goals=["net_test"])
                            for tag, d in (("free", free), ("static", static)))
            best = self.run_times(ours[2], theirs[2])
            print(f"  {name:20} for {kind:5}: {RUNS} runs free {best[0]:.3f} s, static {best[1]:.3f} s, ratio {best[0] / best[1]:.3f}")
            if kind == "size":
                largest = self.compile(f"{name} largest", model, *flags, *self.numbers(symbols, {axis: high for axis, (_, high) in dims.items()}))
                flags += ["--weights", "incbin"]  # as text they are 100 MB
                spent = self.compile_times(model, [*flags, *free], [*flags, *static])
                self.bench.bar(f"{name}, free sizes: run", best[0] / best[1], RUN_BAR, "x", False)
                self.bench.bar(f"{name}, free sizes: compiling", spent[0] / spent[1], COMPILE_BAR, "x", False)
                self.bench.bar(f"{name}, free sizes: code", ours[0] / theirs[0], CODE_BAR, "x", False)
                self.bench.bar(f"{name}, free sizes: arena", ours[1] / largest[1], ARENA_BAR, "x", False)
