"""A build without the variants for instruction sets and accelerators, in a folder of its own, passes the quick tests."""
import subprocess

import pytest


def sh(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


@pytest.mark.soak
def test_portable_variants_suffice(root, tmp_path):
    sh("cmake", "-S", root, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DQUANTC_PORTABLE_ONLY=ON")
    lists = {name: (tmp_path / "generated/kernels" / f"{name}.inc").read_text() for name in ("variants", "machines", "runnable")}
    assert lists.pop("variants") == "QC_VARIANTS(qconv_portable)\nQC_VARIANTS(qgemm_portable)\n"
    assert lists == {"machines": "", "runnable": ""}
    sh("cmake", "--build", tmp_path)
    sh("ctest", "--test-dir", tmp_path, "--output-on-failure", "-j2", "--no-tests=error", "-LE", "slow")
