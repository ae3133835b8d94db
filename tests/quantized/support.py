"""Cases whose answers must be met bit for bit."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.cases import Cases, Outcome, Sets  # noqa: F401

def check(outcome: Outcome) -> None:
    assert outcome.passes, f"{outcome.stage}: {outcome.reason}"
