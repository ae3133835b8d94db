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


def quantized(build, root, seed, count, **settings):
    env = {**os.environ, "QUANTC_QUANTIZED_GRAPHS": str(count), "QUANTC_RANDOM_SEED": str(seed), **settings}
    done = subprocess.run([build / "bin" / "quantized_test", "--gtest_filter=*Agree*"], cwd=root, env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.soak
def test_quantized_graphs(build, root):
    quantized(build, root, 100000, 5000)


@pytest.mark.soak
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", ["-O0", "-O3 -march=native", "-O3 -march=native -ffp-contract=fast",
                                   "-O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error"])
def test_quantized_graphs_of_every_build(build, root, compiler, flags):
    quantized(build, root, 200000, 250, QUANTC_RANDOM_CC=compiler, QUANTC_RANDOM_CFLAGS=flags)
