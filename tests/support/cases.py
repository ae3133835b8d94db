"""Runs cases (folders with models and data sets, see tests/conformance/runner.cpp) and collects the outcomes."""
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SHARDS = max(2, os.cpu_count() or 2)


@dataclass
class Outcome:
    name: str
    group: str
    level: int = 0
    frozen: bool = False
    stage: str = ""
    reason: str = ""

    @property
    def passes(self) -> bool:
        return self.stage == "pass"


def in_shards(build: Path, *args) -> None:
    """Runs the case runner once per core, each on its share."""
    runners = [subprocess.Popen([build / "bin" / "conformance", *args, "--shard", f"{k}/{SHARDS}"]) for k in range(SHARDS)]
    if any([runner.wait() != 0 for runner in runners]):
        raise SystemExit("the case runner failed")


def read_rows(out: Path, pattern: str) -> list[list[str]]:
    return [line.split("\t") for path in sorted(out.glob(pattern)) for line in path.read_text().splitlines()]


def results_of(cases: Path) -> Path:
    return cases.with_name(cases.name + "_out")


def run_cases(build: Path, cases: Path, text: str = "", compiled: bool = True) -> list[Outcome]:
    """Runs every case of the folder whose name contains `text`: interpreter, Program and, if `compiled`, C."""
    out = results_of(cases)
    shutil.rmtree(out, ignore_errors=True)
    (out / "c").mkdir(parents=True)
    in_shards(build, "run", cases, out, "--filter", text)
    bad_c: dict[str, tuple[str, str]] = {}
    if compiled:
        subprocess.run([build / "bin" / "conformance", "build", out, "--jobs", str(SHARDS)], check=True)
        in_shards(build, "check", out)
        bad_c = {name: ("compile", reason) for name, reason in read_rows(out, "build.tsv")}
        bad_c |= {name: ("c", reason) for name, reason in read_rows(out, "check_*.tsv") if reason}

    results = {name: (int(level), frozen == "frozen", stage, reason)
               for name, level, frozen, stage, reason in read_rows(out, "run_*.tsv")}
    outcomes = []
    for index, line in enumerate((cases / "cases.tsv").read_text().splitlines()):
        name, group, _, _, _, _, reason, *_ = line.split("\t")
        if text not in name:
            continue
        outcome = Outcome(name, group, stage="type", reason=reason) if reason else Outcome(name, group, *results[name])
        bad_sets = [fault for name, fault in bad_c.items() if name.rsplit("_", 1)[0] == f"m{index}"]
        if outcome.passes and bad_sets:
            outcome.stage, outcome.reason = bad_sets[0]
        outcomes.append(outcome)
    return outcomes


Sets = list[tuple[list[np.ndarray], list[np.ndarray]]]  # inputs and expected outputs


class Cases:
    """Models with data sets, collected in a folder and run together."""

    def __init__(self, folder: Path):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.lines: list[str] = []

    def add(self, name: str, model: Path, sets: Sets, arithmetic: str = "", group: str = "quantized",
            rtol: float = 0.0, atol: float = 0.0, tolerances: list[list[tuple[float, float]]] | None = None) -> None:
        """`tolerances`: of every output of every set, as (relative, absolute); without them `rtol` and `atol` hold for all."""
        folder = self.folder / name
        folder.mkdir()
        (folder / f"model_0{model.suffix}").symlink_to(model.resolve())
        for i, (inputs, outputs) in enumerate(sets):
            arrays = {f"in_{k}": a for k, a in enumerate(inputs)} | {f"out_{k}": a for k, a in enumerate(outputs)}
            if tolerances:
                arrays |= {f"tol_{k}": np.array(t) for k, t in enumerate(tolerances[i])}
            np.savez(folder / f"set_{i}.npz", **arrays)
        order = ",".join(str(k) for k in range(len(sets[0][0])))
        self.lines.append("\t".join([name, group, repr(rtol), repr(atol), str(len(sets)), f"0:{order}", "", arithmetic]))

    def run(self, build: Path, compiled: bool = True) -> dict[str, Outcome]:
        (self.folder / "cases.tsv").write_text("\n".join(self.lines) + "\n")
        return {o.name: o for o in run_cases(build, self.folder, compiled=compiled)}

    def remove(self) -> None:
        """The folder and what running wrote beside it."""
        shutil.rmtree(self.folder)
        shutil.rmtree(results_of(self.folder), ignore_errors=True)


def generalised(reason: str) -> str:
    """The reason without what differs from case to case."""
    return re.sub(r"'[^']*'|\b-?\d[\d.e+-]*\b|\binf\b|\bnan\b", "_", reason)


def print_summary(outcomes: list[Outcome]) -> None:
    missing = Counter(op for o in outcomes for op in set(re.findall(r"([\w.]+)(?: \(opset|: \d+ use)", o.reason)))
    print("missing operations and the cases they stop: " + ", ".join(f"{op} {n}" for op, n in missing.most_common()))
    counts = Counter((o.stage, generalised(o.reason)) for o in outcomes if not o.passes and "unsupported_op" not in o.reason)
    for (stage, reason), count in counts.most_common(80):
        example = next(o.name for o in outcomes if o.stage == stage and generalised(o.reason) == reason)
        print(f"{count:5} {stage}: {reason[:150]}  ({example})")
    print(f"{sum(o.passes for o in outcomes)} of {len(outcomes)} pass, {sum(o.frozen for o in outcomes if o.passes)} with all inputs constant")
