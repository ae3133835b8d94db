"""Small torch modules through quantc with rules: export, run in the interpreter and as C, and look at the graph."""
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch


@dataclass
class Ran:
    outputs: list[np.ndarray]
    expected: list[np.ndarray]  # what torch gives in float
    ir: str  # the contract graph

    def ops(self) -> list[str]:
        return re.findall(r" = (\w+)\(", self.ir)

    def error(self, i: int = 0) -> float:
        """The largest difference from float, relative to the largest magnitude."""
        return float(np.abs(self.outputs[i] - self.expected[i]).max() / np.abs(self.expected[i]).max())

    def psnr(self, i: int = 0) -> float:
        """-20 log10(RMSE / range of the reference)."""
        want = self.expected[i].astype(np.float64)
        rmse = float(np.sqrt(np.mean((self.outputs[i] - want) ** 2)))
        return float("inf") if rmse == 0 else -20 * np.log10(rmse / float(want.max() - want.min()))


class Bench:
    """One folder with a model, its inputs and its rules."""

    def __init__(self, quantc, folder: Path):
        self.quantc, self.folder = quantc, folder

    def export(self, module: torch.nn.Module, *inputs: torch.Tensor) -> Path:
        module = module.eval()
        path = self.folder / "model.pt2"
        torch.export.save(torch.export.export(module, inputs), path)
        np.savez(self.folder / "in.npz", **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
        with torch.no_grad():
            out = module(*inputs)
        self.expected = [t.numpy() for t in (out if isinstance(out, (tuple, list)) else [out])]
        return path

    def rules(self, text: str) -> Path:
        path = self.folder / "rules.toml"
        path.write_text(text)
        return path

    def run(self, rules: str, *flags: str, model: Path | None = None) -> Ran:
        """The interpreter's outputs; C must give the same bits."""
        model, given = model or self.folder / "model.pt2", self.folder / "in.npz"
        common = [*(["--rules", self.rules(rules)] if rules else []), *flags]
        self.quantc("run", model, "-i", given, "-o", self.folder / "out.npz", *common)
        self.quantc("validate", model, "-i", given, "--cflags=-O1", *common)  # other flags: tests/emitted, tests/random
        ir = self.quantc("inspect", model, "--ir", *common).stdout
        with np.load(self.folder / "out.npz") as arrays:
            outputs = [arrays[name] for name in arrays.files]
        return Ran(outputs, self.expected, ir)

    def calibrated(self, samples: dict[str, np.ndarray], *flags: str) -> str:
        np.savez(self.folder / "samples.npz", **samples)
        out = self.folder / "calibrated.toml"
        self.quantc("calibrate", self.folder / "model.pt2", "--data", self.folder / "samples.npz", "-o", out, *flags)
        return out.read_text()


def module(forward, **parts) -> torch.nn.Module:
    """A module with these parts and this forward(self, ...)."""
    class Made(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, *args):
            return forward(self, *args)
    return Made()


def filled(layer: torch.nn.Module, weight, bias=None) -> torch.nn.Module:
    """The layer with these weights."""
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weight).expand_as(layer.weight))
        if layer.bias is not None:
            layer.bias.copy_(torch.as_tensor(0.0 if bias is None else bias).expand_as(layer.bias))
    return layer
