"""Each libFuzzer target runs for ten minutes without a finding (QUANTC_FUZZ_SECONDS sets another time)."""
import os
import subprocess
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parent.parent / "fuzz"
TARGETS = sorted(p.stem.removeprefix("fuzz_") for p in FUZZ.glob("fuzz_*.cpp"))
SECONDS = os.environ.get("QUANTC_FUZZ_SECONDS", "600")


@pytest.fixture(scope="module")
def fuzzers(root) -> Path:
    build = root / "build-fuzz"
    if not (build / "build.ninja").exists():
        subprocess.run(["cmake", "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                        "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++", "-DQUANTC_FUZZ=ON",
                        "-DQUANTC_SANITIZE=address,undefined,fuzzer-no-link"], check=True)
    subprocess.run(["cmake", "--build", build, "--target", *[f"fuzz_{t}" for t in TARGETS]], check=True)
    return build / "bin"


@pytest.mark.soak
@pytest.mark.parametrize("target", TARGETS)
def test_fuzz(fuzzers, root, tmp_path, target):
    corpus = tmp_path / "corpus"  # what is found goes here; the committed corpus is only read
    corpus.mkdir()
    committed = root / "tests" / "fuzz" / "corpus" / target
    command = [fuzzers / f"fuzz_{target}", f"-max_total_time={SECONDS}", "-rss_limit_mb=4096", "-timeout=20",
               f"-artifact_prefix={tmp_path}/", corpus, *([committed] if committed.exists() else [])]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
