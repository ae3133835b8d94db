"""A build without the variants for instruction sets and accelerators has all it needs, and passes the quick tests."""
import re
import subprocess
import sys

import pytest


def sh(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def portable(root):
    """The host files of variants that need nothing of a target."""
    return sorted((root / "kernels").glob("*/portable*.variant.cpp"))


def listed(root):
    """What variants.inc is to say."""
    return "".join(sorted(f"QC_VARIANTS({p.parent.name}_{p.name.removesuffix('.variant.cpp')})\n" for p in portable(root)))


def rows(path):
    """(kernel, feature) of each variant in a host file."""
    return re.findall(r'\{\.kernel = "?(\w+)"?,\s*\.name = "\w+",(?:\s*\.feature = "(\w*)",)?', path.read_text())


def without_bodies(root):
    """Kernels that ops call and that only variants compute."""
    for path in (root / "kernels").glob("*/kernels.sig"):
        for text in re.split(r"^(?=kernel |stage )", path.read_text(), flags=re.M):
            if text.startswith("kernel ") and not re.search(r"^ *body ", text, flags=re.M):
                yield re.match(r"kernel (\w+)", text)[1]


def test_portable_variants_are_listed(root, tmp_path):
    sh(sys.executable, root / "cmake/kernel_tables.py", "--portable-only", tmp_path, root)
    assert (tmp_path / "variants.inc").read_text() == listed(root)
    assert (tmp_path / "machines.inc").read_text() == ""


def test_portable_variants_compute_every_kernel(root):
    """A file is called portable exactly when its variants need no feature, and each kernel without bodies has one."""
    for path in (root / "kernels").glob("*/*.variant.cpp"):
        found = rows(path)
        assert found, f"{path}: no variant was found"
        assert {feature == "" for _, feature in found} == {path in portable(root)}, path
    kernels = set(without_bodies(root))
    assert {"qgemm", "qconv", "wgemm", "qgrouped"} <= kernels
    assert kernels <= {kernel for path in portable(root) for kernel, _ in rows(path)}


@pytest.mark.soak
def test_portable_variants_suffice(root, tmp_path):
    sh("cmake", "-S", root, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DQUANTC_PORTABLE_ONLY=ON")
    lists = {name: (tmp_path / "generated/kernels" / f"{name}.inc").read_text() for name in ("variants", "machines", "runnable")}
    assert lists == {"variants": listed(root), "machines": "", "runnable": ""}
    sh("cmake", "--build", tmp_path)
    sh("ctest", "--test-dir", tmp_path, "--output-on-failure", "-j2", "--no-tests=error", "-LE", "slow")
