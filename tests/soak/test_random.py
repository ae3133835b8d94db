"""Many more random graphs than `make test` runs, from other seeds."""
import os
import subprocess

import pytest


@pytest.mark.soak
def test_random_graphs(build, root):
    settings = {**os.environ, "QUANTC_RANDOM_GRAPHS": "3000", "QUANTC_RANDOM_SEED": "1000"}
    done = subprocess.run([build / "bin" / "random_test", "--gtest_filter=*Agree*"], cwd=root, env=settings,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
