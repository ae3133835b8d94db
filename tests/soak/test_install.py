"""`pip install .` from nothing: a clone and a fresh environment, build requirements from pyproject.toml."""
import subprocess
import sys

import pytest


@pytest.mark.soak
def test_a_fresh_clone_installs_into_a_fresh_environment(root, tmp_path):
    def call(*args, **how):
        done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **how)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout
    call("git", "clone", "-q", root, tmp_path / "clone")
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    call(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", ".", cwd=tmp_path / "clone")
    program = ("import sys, quantc, numpy; assert 'torch' not in sys.modules; g = quantc.from_onnx(sys.argv[1]); "
               "print(g.run(numpy.zeros((1, 1, 8, 8), numpy.float32)).shape)")
    assert call(python, "-c", program, root / "tests/models/digits.onnx", cwd=tmp_path) == "(1, 10)\n"
    assert "scores" in call(tmp_path / "venv" / "bin" / "quantc", "inspect", root / "tests/models/digits.onnx", cwd=tmp_path)
