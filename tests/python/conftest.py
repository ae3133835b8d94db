"""Tests of the installed package: tools/package_venv makes the environment they run in."""
import subprocess
from pathlib import Path

import numpy as np
import pytest
from package import ROOT

import quantc


@pytest.fixture(scope="session")
def command():
    """The command line that the package brings."""
    program = Path(quantc.__file__).parent / "bin" / "quantc"

    def call(*args, status=0):
        done = subprocess.run([str(program), *map(str, args)], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout
    return call


@pytest.fixture(scope="session")
def digits() -> quantc.Graph:
    return quantc.from_onnx(ROOT / "tests" / "models" / "digits.onnx", target="portable")


@pytest.fixture(scope="session")
def image() -> np.ndarray:
    with np.load(ROOT / "tests" / "models" / "digits.npz") as arrays:
        return np.ascontiguousarray(arrays[arrays.files[0]], dtype=np.float32)
