"""Runs cases (folders with models and data sets, see tests/conformance/runner.cpp) and collects the outcomes."""
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


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


def run_cases(build: Path, cases: Path, text: str = "") -> list[Outcome]:
    """Runs every case of the folder whose name contains `text`, on every core."""
    out = cases.with_name(cases.name + "_out")
    out.mkdir(parents=True, exist_ok=True)
    shards = max(2, os.cpu_count() or 2)
    runners = [subprocess.Popen([build / "bin" / "conformance", cases, out, "--shard", f"{k}/{shards}", "--filter", text])
               for k in range(shards)]
    if any([runner.wait() != 0 for runner in runners]):
        raise SystemExit("the case runner failed")

    results = {}
    for k in range(shards):
        for line in (out / f"results_{k}.tsv").read_text().splitlines():
            name, level, frozen, stage, reason = line.split("\t")
            results[name] = (int(level), frozen == "frozen", stage, reason)
    outcomes = []
    for line in (cases / "cases.tsv").read_text().splitlines():
        name, group, *_, reason = line.split("\t")
        if text not in name:
            continue
        if reason:
            outcomes.append(Outcome(name, group, stage="type", reason=reason))
        else:
            outcomes.append(Outcome(name, group, *results[name]))
    return outcomes


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
