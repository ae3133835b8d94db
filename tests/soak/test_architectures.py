"""Networks of many transformers architectures, as PyTorch exports them, give PyTorch's answers; docs/architectures.md says
which."""
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.cases import print_summary, run_cases  # noqa: E402

EXPORTED, MATCHING = 60, 55
INTRODUCTION = """# Architectures

`make soak` exports tiny networks of these transformers architectures from PyTorch (`tests/soak/architectures.py`) and runs each in the
interpreter, in process and as compiled C: within 1e-4 of the largest output of PyTorch, and bit-equal to each other. It also makes this
page (as `architectures.md` in the build folder) and fails when it says something else.
"""


def report(outcomes) -> str:
    good, bad = [o for o in outcomes if o.passes], [o for o in outcomes if not o.passes]
    lines = [INTRODUCTION, f"{len(good)} of {len(outcomes)} match:", "",
             *textwrap.wrap(", ".join(o.name for o in good), 118, break_on_hyphens=False), "", "| not matching | stage | reason |", "|---|---|---|"]
    lines += [f"| {o.name} | {'export' if o.stage == 'type' else o.stage} | {o.reason.replace('|', '/')[:180].strip()} |" for o in bad]
    return "\n".join(lines) + "\n"


@pytest.mark.soak
def test_architectures(build, root):
    cases = build / "architectures"
    cases.mkdir(parents=True, exist_ok=True)
    script = Path(__file__).with_name("architectures.py")
    subprocess.run([sys.executable, script, cases], check=True)
    outcomes = run_cases(build, cases)
    print_summary(outcomes)
    (build / "architectures.md").write_text(report(outcomes))
    assert sum(o.stage != "type" for o in outcomes) >= EXPORTED
    assert sum(o.passes for o in outcomes) >= MATCHING
    assert report(outcomes) == (root / "docs/architectures.md").read_text(), f"the page now: {build / 'architectures.md'}"
