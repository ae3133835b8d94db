"""Cases for the case runner (tests/conformance/runner.cpp) whose answers must be met bit for bit."""
import shutil
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.cases import Outcome, run_cases

Sets = list[tuple[list[np.ndarray], list[np.ndarray]]]  # inputs and expected outputs


class Cases:
    """Models with data sets, collected in a folder and run together."""

    def __init__(self, folder: Path):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.lines: list[str] = []

    def add(self, name: str, model: Path, sets: Sets, arithmetic: str = "") -> None:
        folder = self.folder / name
        folder.mkdir()
        (folder / f"model_0{model.suffix}").symlink_to(model.resolve())
        for i, (inputs, outputs) in enumerate(sets):
            arrays = {f"in_{k}": a for k, a in enumerate(inputs)} | {f"out_{k}": a for k, a in enumerate(outputs)}
            np.savez(folder / f"set_{i}.npz", **arrays)
        order = ",".join(str(k) for k in range(len(sets[0][0])))
        self.lines.append("\t".join([name, "quantized", "0.0", "0.0", str(len(sets)), f"0:{order}", "", arithmetic]))

    def run(self, build: Path, compiled: bool = True) -> dict[str, Outcome]:
        (self.folder / "cases.tsv").write_text("\n".join(self.lines) + "\n")
        return {o.name: o for o in run_cases(build, self.folder, compiled=compiled)}


def check(outcome: Outcome) -> None:
    assert outcome.passes, f"{outcome.stage}: {outcome.reason}"
