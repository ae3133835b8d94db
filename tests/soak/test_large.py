"""A model with 6 GB of external data compiles in little memory."""
import os
import subprocess
import sys

import pytest


@pytest.mark.soak
def test_six_gigabytes_of_weights(root, build, tmp_path):
    model, out = tmp_path / "big.onnx", tmp_path / "out"
    subprocess.run([sys.executable, root / "tools" / "make_big_external.py", model], check=True)
    child = subprocess.Popen([build / "bin" / "quantc", "compile", model, "-o", out, "--name", "big", "--weights", "file"])
    _, status, usage = os.wait4(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert usage.ru_maxrss < 2 * 2**20, f"{usage.ru_maxrss / 2**20:.2f} GiB resident"
    assert (out / "big_weights.bin").stat().st_size >= 6 * 2**30
