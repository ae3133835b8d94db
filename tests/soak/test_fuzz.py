"""Under AddressSanitizer and UBSan: each libFuzzer target runs for ten minutes without a finding (QUANTC_FUZZ_SECONDS
sets another time), many mutated models and every damaged one are survived."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parent.parent / "fuzz"
sys.path.insert(0, str(FUZZ.parent.parent))
from tests.fuzz.replay_files import failures

TARGETS = sorted(p.stem.removeprefix("fuzz_") for p in FUZZ.glob("fuzz_*.cpp"))
SECONDS = os.environ.get("QUANTC_FUZZ_SECONDS", "600")
MUTATIONS = {"onnx": 20000, "pt2": 5000}
LIMITS = ["-rss_limit_mb=4096", "-timeout=20"]


@pytest.fixture(scope="module")
def fuzzers(root) -> Path:
    build = root / "build-fuzz"
    flags = "-O1 -gline-tables-only"
    if not (build / "build.ninja").exists():
        subprocess.run(["cmake", "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                        f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_C_COMPILER=clang",
                        "-DCMAKE_CXX_COMPILER=clang++", "-DQUANTC_FUZZ=ON", "-DQUANTC_SANITIZE=address,undefined"], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "damage_test", *[f"fuzz_{t}" for t in TARGETS]], check=True)
    return build / "bin"


@pytest.mark.soak
@pytest.mark.parametrize("target", TARGETS)
def test_fuzz(fuzzers, root, tmp_path, target):
    corpus = tmp_path / "corpus"  # what is found goes here; the committed corpus is only read
    corpus.mkdir()
    committed = root / "tests" / "fuzz" / "corpus" / target
    command = [fuzzers / f"fuzz_{target}", f"-max_total_time={SECONDS}", *LIMITS, f"-artifact_prefix={tmp_path}/", corpus, committed]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stderr[-4000:]


SEEDS = {
    "onnx": sorted((FUZZ / "corpus" / "onnx").glob("op_*.onnx")),
    "pt2": sorted((FUZZ.parent / "data" / "pt2").glob("t*.pt2")) + [FUZZ.parent / "models" / f"{n}.pt2" for n in ("gru", "lstm")],
}


@pytest.mark.soak
@pytest.mark.parametrize("kind", SEEDS)
def test_mutated_models(fuzzers, tmp_path, kind):
    subprocess.run([sys.executable, FUZZ / f"mutate_{kind}.py", tmp_path, str(MUTATIONS[kind]), "1", *SEEDS[kind]], check=True)
    found = failures(fuzzers / f"fuzz_{kind}", sorted(tmp_path.glob(f"*.{kind}")), *LIMITS)
    assert not found, "\n".join(f"{path}: {text}" for path, text in found.items())


@pytest.mark.soak
def test_commands_on_mutated_files(build, tmp_path):
    """The program itself, with limits of memory and time; -rA shows the slowest and the largest files."""
    count, seed = os.environ.get("QUANTC_SOAK_FILES", "200000"), os.environ.get("QUANTC_SOAK_SEED", "1")
    done = subprocess.run([sys.executable, FUZZ / "command_soak.py", build / "bin" / "fork_server", tmp_path, count, seed],
                          capture_output=True, text=True)
    print(done.stdout[-20000:])
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-4000:]


@pytest.mark.soak
def test_damaged_models(fuzzers, root):
    subprocess.run([fuzzers / "damage_test"], cwd=root, check=True)
