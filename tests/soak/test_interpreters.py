"""The package on other Pythons than that of the tests: those of this machine from 3.9 on, each in an environment of its own. From 3.12
on they share one wheel, which the stable ABI allows."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def call(*args, **how):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **how)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def interpreters() -> dict:
    """Those found on PATH or kept by pyenv, by minor version; one that is only a name is left out."""
    found = {}
    retained = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(9, 30):
        name = f"python3.{minor}"
        for path in [*retained.glob(f"3.{minor}.*/bin/{name}"), shutil.which(name)]:
            if path is None or (3, minor) == sys.version_info[:2]:
                continue
            done = subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True)
            if done.returncode == 0:
                found[minor] = path
                break
    return found


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    out = tmp_path_factory.mktemp("prefix")
    call("cmake", "--install", build, "--prefix", out)
    return out


@pytest.mark.soak
def test_every_python_of_this_machine(root, prefix, tmp_path):
    found = interpreters()
    if not found:
        pytest.skip("no other Python from 3.9 on is on PATH or kept by pyenv")
    shared = None
    for minor, interpreter in found.items():
        folder = tmp_path / str(minor)
        call(interpreter, "-m", "venv", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        wheel = shared
        if wheel is None:
            env = {**os.environ, "CMAKE_PREFIX_PATH": str(prefix), "SKBUILD_BUILD_DIR": str(folder / "build")}
            call(python, "-m", "pip", "wheel", root, "-q", "--disable-pip-version-check", "--no-deps", "-w", folder, cwd=folder, env=env)
            wheel = next(folder.glob("*.whl"))
            assert ("-cp312-abi3-" if minor >= 12 else f"-cp3{minor}-cp3{minor}-") in wheel.name
            shared = wheel if minor >= 12 else None
        call(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel)
        assert call(python, root / "tests/python/smoke.py", cwd=folder) == f"it works on 3.{minor}\n"
        assert call(python, root / "tests/python/bad_input.py", cwd=folder).endswith("all refused\n")
