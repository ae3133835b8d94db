"""No ONNX case that ever passed is lost, and docs/conformance.md says what is true."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance


@pytest.fixture(scope="module")
def outcomes(build):
    return conformance.run_onnx_cases(build)


def test_no_passing_case_is_lost(outcomes):
    assert conformance.regressions(outcomes) == []


def test_report_is_current(outcomes):
    assert conformance.REPORT.read_text() == conformance.report(outcomes), (
        "run tests/conformance/conformance.py BUILD --bless")


def test_a_lost_case_is_found(outcomes, monkeypatch, tmp_path):
    listed = tmp_path / "passing.txt"
    failing = next(o.name for o in outcomes if not o.passes)
    listed.write_text(f"{failing}\nno_such_case\n")
    monkeypatch.setattr(conformance, "PASSING", listed)
    assert [line.split(":")[0] for line in conformance.regressions(outcomes)] == sorted([failing, "no_such_case"])
