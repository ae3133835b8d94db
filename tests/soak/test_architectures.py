"""Networks of many transformers architectures, as PyTorch exports them, give PyTorch's answers."""
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.cases import print_summary, run_cases

EXPORTED, MATCHING = 60, 55


@pytest.mark.soak
def test_architectures(build):
    cases = build / "architectures"
    cases.mkdir(parents=True, exist_ok=True)
    script = Path(__file__).with_name("architectures.py")
    subprocess.run([sys.executable, script, cases], check=True)
    outcomes = run_cases(build, cases)
    print_summary(outcomes)
    for o in outcomes:
        if not o.passes:
            print(f"{o.name}: {o.stage}: {o.reason}")
    assert sum(o.stage != "type" for o in outcomes) >= EXPORTED
    assert sum(o.passes for o in outcomes) >= MATCHING
