#!/usr/bin/env python3
"""Runs the ONNX conformance cases and reports: conformance.py BUILD [--filter TEXT] [--bless] [--summary].

Without options it compares the outcome with tests/conformance/passing.txt (a case listed there must pass) and with
docs/conformance.md. --bless rewrites both; --filter runs and prints single cases; --summary groups failures by reason.
"""
import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PASSING = HERE / "passing.txt"
REPORT = ROOT / "docs" / "conformance.md"
GROUPS = ["node", "simple", "pytorch-operator", "pytorch-converted", "light"]


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


def run_cases(build: Path, text: str = "") -> list[Outcome]:
    """Exports the cases when needed, runs them on every core, and returns all outcomes."""
    work = build / "conformance"
    cases, out = work / "cases", work / "out"
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, HERE / "export_cases.py", cases], check=True)
    shards = max(2, os.cpu_count() or 2)
    runners = [subprocess.Popen([build / "bin" / "conformance", cases, out, "--shard", f"{k}/{shards}", "--filter", text])
               for k in range(shards)]
    if any(runner.wait() != 0 for runner in runners):
        raise SystemExit("the conformance runner failed")

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


def report(outcomes: list[Outcome]) -> str:
    lines = ["# ONNX conformance", "",
             "Made by `tests/conformance/conformance.py --bless`; a test keeps it true. Every case of the ONNX backend tests runs in the",
             "interpreter and as compiled C, with onnx's own tolerances. The node tests feed shapes, axes and the like at run time; where",
             "static shapes need them, they are given as constants: small integers, then everything of rank 0 and 1, then all inputs.", "",
             "| group | cases | pass | of these with all inputs constant |", "|---|---|---|---|"]
    for group in GROUPS:
        mine = [o for o in outcomes if o.group == group]
        good = [o for o in mine if o.passes]
        lines.append(f"| {group} | {len(mine)} | {len(good)} | {sum(o.frozen for o in good)} |")
    lines += ["", "## Cases that do not pass", "", "| case | stage | reason |", "|---|---|---|"]
    for o in outcomes:
        if not o.passes:
            lines.append(f"| {o.name} | {o.stage} | {o.reason.replace('|', '/')[:200]} |")
    return "\n".join(lines) + "\n"


def passing(outcomes: list[Outcome]) -> list[str]:
    return sorted(o.name for o in outcomes if o.passes)


def regressions(outcomes: list[Outcome]) -> list[str]:
    """Cases listed as passing that no longer do."""
    listed = set(PASSING.read_text().split()) if PASSING.exists() else set()
    by_name = {o.name: o for o in outcomes}
    return [f"{name}: {by_name[name].stage}: {by_name[name].reason}" if name in by_name else f"{name}: gone"
            for name in sorted(listed) if name not in by_name or not by_name[name].passes]


def print_summary(outcomes: list[Outcome]) -> None:
    missing = Counter(op for o in outcomes for op in set(re.findall(r"([\w.]+) \(opset", o.reason)))
    print("missing operations and the cases they stop: " + ", ".join(f"{op} {n}" for op, n in missing.most_common()))
    counts = Counter((o.stage, generalised(o.reason)) for o in outcomes if not o.passes and "(opset" not in o.reason)
    for (stage, reason), count in counts.most_common(80):
        example = next(o.name for o in outcomes if o.stage == stage and generalised(o.reason) == reason)
        print(f"{count:5} {stage}: {reason[:150]}  ({example})")
    print(f"{len(passing(outcomes))} of {len(outcomes)} pass, {sum(o.frozen for o in outcomes if o.passes)} with all inputs constant")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    outcomes = run_cases(options.build, options.filter)
    if options.filter:
        for o in outcomes:
            print(f"{o.name}\tvariant {o.level}\t{o.stage}\t{o.reason}")
    if options.summary:
        print_summary(outcomes)
    if options.filter or options.summary:
        return
    lost = regressions(outcomes)
    if options.bless:
        PASSING.write_text("".join(name + "\n" for name in passing(outcomes)))
        REPORT.write_text(report(outcomes))
    print(f"{len(passing(outcomes))} of {len(outcomes)} pass")
    if lost and not options.bless:
        raise SystemExit("no longer passing:\n  " + "\n  ".join(lost))


if __name__ == "__main__":
    main()
