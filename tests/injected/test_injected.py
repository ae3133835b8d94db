"""Whatever is refused while a command runs (memory, a file, the budget), it ends with a status and a message and leaves nothing behind.
See sweep.py. `make test` takes a sample of the places where something can fail, `make soak` each of them once."""
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.conftest import QUANTC
from tests.injected.sweep import COMMANDS, Sweep, build, every, findings, prepare, sample

SAMPLE = 72  # of each command: 500 together


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("injected")
    (folder / "prepared").mkdir()
    prepare(QUANTC, folder / "prepared")
    return folder


@pytest.fixture(scope="module")
def library(prepared):
    return build(prepared)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_sample_of_failures(prepared, library, name):
    sweep = Sweep(QUANTC, library, prepared / "prepared", prepared / name, name)
    injections = sample(sweep.steps(), SAMPLE, seed=1)
    assert len(injections) == SAMPLE
    assert not (wrong := findings(sweep, injections)), "\n".join(wrong)


@pytest.mark.soak
@pytest.mark.parametrize("name", COMMANDS)
def test_every_failure(prepared, library, name):
    """One failure for each distinct stack of calls."""
    jobs = os.cpu_count()
    sweeps = [Sweep(QUANTC, library, prepared / "prepared", prepared / f"{name}{i}", name) for i in range(jobs)]
    injections = every(sweeps[0].steps())
    print(f"{name}: {len(injections)} failures")
    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(findings, sweeps, [injections[i::jobs] for i in range(jobs)])
    assert not (wrong := [text for part in parts for text in part]), "\n".join(wrong)
