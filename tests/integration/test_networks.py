"""The networks of tests/models, as .pt2 and as .onnx: interpreter, Program and C give the recorded answers."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.cases import run_cases

SKIPPED = ("micro_kws_m_qdq", "micro_kws_m_qoperator")  # integer networks


def networks(models: Path) -> list[Path]:
    found = [p for ext in ("pt2", "onnx") for p in sorted(models.glob(f"*.{ext}"))]
    return [p for p in found if p.stem not in SKIPPED]


@pytest.fixture(scope="module")
def outcomes(build, models):
    """Runs all networks at once and returns the outcomes by file name."""
    cases = build / "networks"
    cases.mkdir(parents=True, exist_ok=True)
    lines = []
    for path in networks(models):
        folder = cases / path.name
        folder.mkdir(exist_ok=True)
        for link, target in ((f"model_0{path.suffix}", path), ("set_0.npz", path.with_suffix(".npz"))):
            (folder / link).unlink(missing_ok=True)
            (folder / link).symlink_to(target)
        arrays = np.load(path.with_suffix(".npz"))
        largest = max(float(np.abs(arrays[k]).max()) for k in arrays if k.startswith("out_"))
        inputs = ",".join(k.removeprefix("in_") for k in arrays if k.startswith("in_"))
        lines.append("\t".join([path.name, "network", "0.0", repr(1e-4 * largest), "1", f"0:{inputs}", ""]))
    (cases / "cases.tsv").write_text("\n".join(lines) + "\n")
    return {o.name: o for o in run_cases(build, cases)}


MODELS = Path(__file__).resolve().parent.parent / "models"


@pytest.mark.parametrize("name", [p.name for p in networks(MODELS)])
def test_network(outcomes, name):
    outcome = outcomes[name]
    assert outcome.passes, f"{outcome.stage}: {outcome.reason}"
