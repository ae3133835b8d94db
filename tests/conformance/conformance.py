#!/usr/bin/env python3
"""Runs the ONNX conformance cases and reports: conformance.py BUILD [--light] [--filter TEXT] [--bless] [--summary].

Without options it compares the outcome with tests/conformance/passing.txt: a case listed there must pass. --bless rewrites that
list and docs/conformance.md; --filter runs and prints single cases; --summary groups failures by reason. --light does all this
for the networks of onnx's group `light`, which take minutes, with passing-light.txt and docs/conformance-light.md.
"""
import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))
from tests.support.cases import Outcome, print_summary, run_cases  # noqa: E402

INTRODUCTION = """# ONNX conformance{title}

Made by `tests/conformance/conformance.py BUILD --bless{flag}`; a test keeps it true. Every case runs in the interpreter and as
compiled C, with onnx's own tolerances, and the C must give the interpreter's bits. The node tests feed shapes, axes and the like at
run time; where static shapes need them, they are given as constants: small integers, then everything of rank 0 and 1, then all
inputs.
"""


@dataclass
class Suite:
    """A set of cases with its list of those that pass and its report."""

    suffix: str  # "" or "-light"
    groups: list[str]

    @property
    def passing(self) -> Path:
        return HERE / f"passing{self.suffix}.txt"

    @property
    def report_file(self) -> Path:
        return ROOT / "docs" / f"conformance{self.suffix}.md"

    def run(self, build: Path, text: str = "") -> list[Outcome]:
        """Exports the cases when needed and runs them."""
        cases = build / "conformance" / f"cases{self.suffix}"
        cases.mkdir(parents=True, exist_ok=True)
        flags = ["--light"] if self.suffix else []
        subprocess.run([sys.executable, HERE / "export_cases.py", cases, *flags], check=True)
        return run_cases(build, cases, text)

    def report(self, outcomes: list[Outcome]) -> str:
        lines = [INTRODUCTION.format(title=": light networks" if self.suffix else "", flag=" --light" if self.suffix else ""),
                 "| group | cases | pass | of these with all inputs constant |", "|---|---|---|---|"]
        for group in self.groups:
            mine = [o for o in outcomes if o.group == group]
            good = [o for o in mine if o.passes]
            lines.append(f"| {group} | {len(mine)} | {len(good)} | {sum(o.frozen for o in good)} |")
        lines += ["", "## Cases that do not pass", "", "| case | stage | reason |", "|---|---|---|"]
        for o in outcomes:
            if not o.passes:
                lines.append(f"| {o.name} | {o.stage} | {o.reason.replace('|', '/')[:200]} |")
        return "\n".join(lines) + "\n"

    def regressions(self, outcomes: list[Outcome]) -> list[str]:
        """Cases listed as passing that no longer do."""
        listed = set(self.passing.read_text().split()) if self.passing.exists() else set()
        by_name = {o.name: o for o in outcomes}
        return [f"{name}: {by_name[name].stage}: {by_name[name].reason}" if name in by_name else f"{name}: gone"
                for name in sorted(listed) if name not in by_name or not by_name[name].passes]

    def bless(self, outcomes: list[Outcome]) -> None:
        self.passing.write_text("".join(o.name + "\n" for o in outcomes if o.passes))
        self.report_file.write_text(self.report(outcomes))


ALL = Suite("", ["node", "simple", "pytorch-operator", "pytorch-converted"])
LIGHT = Suite("-light", ["light"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    suite = LIGHT if options.light else ALL
    outcomes = suite.run(options.build.resolve(), options.filter)
    if options.filter:
        for o in outcomes:
            print(f"{o.name}\tvariant {o.level}\t{o.stage}\t{o.reason}")
        return
    if options.summary:
        print_summary(outcomes)
    if options.bless:
        suite.bless(outcomes)
    print(f"{sum(o.passes for o in outcomes)} of {len(outcomes)} pass")
    if lost := suite.regressions(outcomes):
        raise SystemExit("no longer passing:\n  " + "\n  ".join(lost))


if __name__ == "__main__":
    main()
