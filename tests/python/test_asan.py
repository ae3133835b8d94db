"""Bad input under AddressSanitizer: the extension is built with it, and every allocation of the process, the library's and
Python's own among them, is watched. The library itself is under sanitizers in `make soak`."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from package import ROOT

import quantc

BUILD = Path(os.environ.get("QUANTC_BUILD", ROOT / "build"))


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """The package with an extension of its own; the library is the one of the build."""
    out = BUILD / "python-asan"
    venv = ROOT / ".venv" / "bin"
    flags = "-O1 -g1 -fsanitize=address -fno-omit-frame-pointer"
    env = {**os.environ, "PATH": f"{venv}:{os.environ['PATH']}"}
    subprocess.run(["cmake", "-S", ROOT / "python", "-B", out, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={flags}",
                    f"-DCMAKE_PREFIX_PATH={BUILD / 'prefix'}", f"-DPython_EXECUTABLE={venv / 'python'}"], check=True, env=env,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", out, "--target", "_core"], check=True, env=env, stdout=subprocess.DEVNULL)
    folder = tmp_path_factory.mktemp("asan")
    shutil.copytree(Path(quantc.__file__).parent, folder / "quantc", ignore=shutil.ignore_patterns("*.so*", "bin", "__pycache__"))
    for extension in out.glob("_core*.so"):
        shutil.copy(extension, folder / "quantc")
    return folder


def test_bad_input(package, tmp_path):
    # libstdc++ too: what it throws by is looked up when the sanitizer starts.
    runtime = " ".join(subprocess.run(["c++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
                       for name in ("libasan.so", "libstdc++.so"))
    env = {**os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1", "PYTHONMALLOC": "malloc",
           "PYTHONPATH": f"{package}:{os.environ.get('PYTHONPATH', '')}", "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, ROOT / "tests/python/bad_input.py"], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.endswith("all refused\n"), done.stderr[-6000:]
    probe = "import quantc._core as c; print(any('libasan' in line for line in open('/proc/self/maps')), c.__file__)"
    out = subprocess.run([sys.executable, "-c", probe], env=env, capture_output=True, text=True, check=True).stdout
    assert out.startswith(f"True {package}")
