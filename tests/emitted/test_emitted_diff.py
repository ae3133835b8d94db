"""tools/emitted_diff finds no difference between a program and itself, and every other one."""
import subprocess
import sys

import pytest
from conftest import QUANTC

# What another program does: %s is quantc, its arguments are those of compile.
OTHER_CODE = """#!/bin/sh
%s "$@" || exit
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo "int other_code(int x) { return 3 * x; }" >> "$2/model.c"; shift; done
"""
OTHER_TEXT = OTHER_CODE.replace("int other_code(int x) { return 3 * x; }", "/* other text */")
# One from before there were targets; it generates what is now the portable code.
NO_TARGETS = """#!/bin/sh
for a in "$@"; do case $a in --help) exec echo "-o, --output DIR";; --target) exit 1;; esac; done
exec %s "$@" --target portable
"""


@pytest.fixture
def differences(root, build, tmp_path):
    def call(old, *flags):
        program = tmp_path / "old"
        program.write_text(old % QUANTC)
        program.chmod(0o755)
        done = subprocess.run([sys.executable, root / "tools/emitted_diff", "HEAD", "--old", program, "--build", build, "--quick",
                               "--models", "quantized/vectors/qlinear_conv_ranks.onnx", *flags], capture_output=True, text=True)
        assert not done.stderr
        return done.returncode, done.stdout
    return call


ITSELF = '#!/bin/sh\nexec %s "$@"\n'


@pytest.mark.parametrize("old, flags", [(ITSELF, []), (ITSELF, ["--", "--target", "x86-avx2", "-O", "1"]), (NO_TARGETS, [])],
                         ids=["itself", "itself with flags", "before targets"])
def test_the_same_code_is_no_difference(differences, old, flags):
    status, text = differences(old, *flags)
    assert status == 0, text
    assert text.startswith("1 models: 1 with the same text, 0 with other text and the same object code and weights, 0 that differ")


def test_other_text_alone_is_none(differences):
    status, text = differences(OTHER_TEXT)
    assert status == 0, text
    assert "0 with the same text, 1 with other text and the same object code and weights, 0 that differ" in text


def test_other_code_is_one(differences):
    status, text = differences(OTHER_CODE)
    assert status == 1 and "speed: gcc -O2 ('model.c', '.text*')" in text and "1 that differ" in text
