"""Programs whose sizes each run chooses beside those that were compiled for the numbers: run time, compile time, code and arena.

Both programs run in turns, so that what else the machine does meets both; the best run of each counts.
"""
import re
import shutil
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# Times the static program takes, built for size; built for speed it has every size as a constant, and the ratio is only printed.
RUN_BAR, COMPILE_BAR, CODE_BAR, ARENA_BAR = 1.05, 3.0, 1.5, 1.02
TURNS = 8


class Sizes:
    def __init__(self, bench, run) -> None:
        self.bench, self.run = bench, run

    def exported(self, name: str, make, shape: tuple, dims: dict) -> Path:
        """The network as a .pt2 file, with ranges for some axes of its input."""
        import torch

        path = self.bench.work / f"{name}_free.pt2"
        if not path.exists():
            torch.manual_seed(0)
            axes = {axis: torch.export.Dim(f"d{axis}", min=low, max=high) for axis, (low, high) in dims.items()}
            torch.export.save(torch.export.export(make().eval(), (torch.zeros(shape),), dynamic_shapes=(axes,)), path)
        return path

    def minilm(self) -> None:
        sys.path.insert(0, str(ROOT / "tools"))
        from make_network import NETWORKS

        dims = {0: (1, 8), 1: (1, 512)}
        self.beside("minilm", self.exported("minilm", NETWORKS["minilm"][0], (2, 16, 384), dims), dims, (1, 128, 384))

    def resnet18(self) -> None:
        sys.path.insert(0, str(ROOT))
        from tests.support.resnet import ResNet18

        dims = {0: (1, 8)}
        self.beside("resnet18", self.exported("resnet18", ResNet18, (2, 3, 224, 224), dims), dims, (4, 3, 224, 224))

    def compiled(self, name: str, *flags) -> tuple[Path, float, int, int]:
        """The folder, processor seconds of compiling, bytes of code and of the arena."""
        out = self.bench.work / name
        spent = []
        for _ in range(3):
            shutil.rmtree(out, ignore_errors=True)
            start = time.perf_counter()
            said = self.run(self.bench.quantc, "compile", flags[0], "-o", out, "--name", "net", "--weights", "incbin", *flags[1:]).stdout
            spent.append(time.perf_counter() - start)
        self.run("make", "-s", "-C", out, "net_test", "net.o")
        code = int(self.run("size", out / "net.o").stdout.splitlines()[1].split()[0])
        return out, min(spent), code, int(re.search(r"arena (\d+) bytes", said)[1])

    def beside(self, name: str, model: Path, dims: dict, shape: tuple) -> None:
        symbols = re.search(r"\[([^]]*)\]", self.run(self.bench.quantc, "inspect", model).stdout)[1].split(", ")
        vectors = self.bench.work / f"{name}_vectors.npz"
        np.savez(vectors, in_0=np.random.default_rng(0).standard_normal(shape).astype(np.float32))
        free = [f for axis, (low, high) in dims.items() for f in ("--dim", f"{symbols[axis]}={low}..{high}")]
        static = [f for axis in dims for f in ("--dim", f"{symbols[axis]}={shape[axis]}")]
        largest = [f for axis, (_, high) in dims.items() for f in ("--dim", f"{symbols[axis]}={high}")]
        for kind in ("size", "speed"):
            flags = ["--vectors", vectors, "--specialise", kind]
            ours, theirs = (self.compiled(f"{name}_{tag}", model, *flags, *d) for tag, d in (("free", free), ("static", static)))
            at_most = self.compiled(f"{name}_largest", model, *flags[2:], *largest)
            best = [1e9, 1e9]
            for _ in range(TURNS):
                for i, out in enumerate((ours[0], theirs[0])):
                    said = self.run(out / "net_test", "3", cwd=out).stdout
                    best[i] = min(best[i], float(re.search(r"best run ([\d.]+)", said)[1]))
            print(f"  {name:10} for {kind:5}: free {best[0]:10.1f} us, static {best[1]:10.1f} us, ratio {best[0] / best[1]:.3f}")
            if kind == "size":
                self.bench.bar(f"{name}, free sizes: run", best[0] / best[1], RUN_BAR, "x", False)
                self.bench.bar(f"{name}, free sizes: compiling", ours[1] / theirs[1], COMPILE_BAR, "x", False)
                self.bench.bar(f"{name}, free sizes: code", ours[2] / theirs[2], CODE_BAR, "x", False)
                self.bench.bar(f"{name}, free sizes: arena", ours[3] / at_most[3], ARENA_BAR, "x", False)
