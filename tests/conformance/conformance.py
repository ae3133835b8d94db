#!/usr/bin/env python3
"""Runs the ONNX conformance cases and reports: conformance.py BUILD [--filter TEXT] [--bless] [--summary].

Without options it compares the outcome with tests/conformance/passing.txt (a case listed there must pass) and with
docs/conformance.md. --bless rewrites both; --filter runs and prints single cases; --summary groups failures by reason.
"""
import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))
from tests.support.cases import Outcome, print_summary, run_cases  # noqa: E402

PASSING = HERE / "passing.txt"
REPORT = ROOT / "docs" / "conformance.md"
GROUPS = ["node", "simple", "pytorch-operator", "pytorch-converted", "light"]


def run_onnx_cases(build: Path, text: str = "") -> list[Outcome]:
    """Exports the ONNX cases when needed and runs them."""
    cases = build / "conformance" / "cases"
    cases.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, HERE / "export_cases.py", cases], check=True)
    return run_cases(build, cases, text)


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    outcomes = run_onnx_cases(options.build, options.filter)
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
