"""No ONNX case that ever passed is lost, and the reports in docs/ say what is true."""
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from conformance import ALL, LIGHT, Suite


def summary(report: str) -> str:
    """A report without the numbers of cases that differ: onnx computes what it expects on the machine itself."""
    return re.sub(r"\| differs \| .*", "| differs |", report)


def check(suite: Suite, outcomes) -> None:
    """Nothing is lost, and the report says what this run says."""
    assert suite.regressions(outcomes) == []
    assert set(suite.passing.read_text().split()) == {o.name for o in outcomes if o.passes}
    assert summary(suite.report_file.read_text()) == summary(suite.report(outcomes)), "run tests/conformance/conformance.py BUILD --bless"


@pytest.fixture(scope="module")
def outcomes(build):
    return ALL.run(build)


# arithmetic.md: S23
def test_cases(outcomes):
    check(ALL, outcomes)


def test_enough_node_cases_pass(outcomes):
    assert sum(o.passes for o in outcomes if o.group == "node") >= 1200


@pytest.mark.soak
def test_light_networks(build):
    check(LIGHT, LIGHT.run(build))


def test_a_lost_case_is_found(outcomes, monkeypatch, tmp_path):
    failing = next(o.name for o in outcomes if not o.passes)
    listed = tmp_path / "passing.txt"
    listed.write_text(f"{failing}\nno_such_case\n")
    monkeypatch.setattr(Suite, "passing", listed)
    assert [line.split(":")[0] for line in ALL.regressions(outcomes)] == sorted([failing, "no_such_case"])
