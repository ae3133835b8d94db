"""What every Python test can use: the built program, folders, and the marker for long runs."""
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Tests run on as many processes as there are processors: threads of PyTorch would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests of the Python package run where it is installed: tools/package_venv.
collect_ignore = [] if importlib.util.find_spec("quantc") else ["python"]

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("QUANTC_BUILD", ROOT / "build"))
QUANTC = Path(os.environ.get("QUANTC", BUILD / "bin" / "quantc"))


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="run the long tests, and only them")


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: a long run, part of `make soak`")


def pytest_collection_modifyitems(config, items):
    """`make test` leaves the long tests out, `make soak` runs only them."""
    soak = config.getoption("--soak")
    others = [item for item in items if ("soak" in item.keywords) != soak]
    items[:] = [item for item in items if ("soak" in item.keywords) == soak]
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def build() -> Path:
    return BUILD


@pytest.fixture(scope="session")
def models() -> Path:
    return ROOT / "tests" / "models"


@pytest.fixture(scope="session")
def quantc():
    """Runs the program: quantc("run", model, ...) -> CompletedProcess; fails unless the status is as expected.
    Code is generated for the portable target unless the test names one, so that it is the same on every machine."""
    def call(*args, status: int = 0, **options) -> subprocess.CompletedProcess:
        config = Path(args[args.index("--config") + 1]) if "--config" in args else None
        named = "--target" in args or config and config.exists() and "target" in config.read_text(errors="replace")
        if args[0] in ("compile", "validate") and not named and "--help" not in args:
            args = (*args, "--target", "portable")
        done = subprocess.run([str(QUANTC), *map(str, args)], capture_output=True, text=True, **options)
        assert done.returncode == status, f"quantc {' '.join(map(str, args))}: {done.returncode}\n{done.stderr}"
        return done
    return call


@pytest.fixture(scope="session")
def nvcc():
    """The compiler of the test packages, else that of an installed CUDA toolkit."""
    own = [path for folder in sys.path for path in Path(folder).glob("nvidia/cu*/bin/nvcc")]
    found = own[0] if own else shutil.which("nvcc")
    if found is None:
        pytest.skip("there is no nvcc: tools/requirements-test.txt lists its packages")
    return found
