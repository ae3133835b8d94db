"""README.md's transcripts: its commands are run, in order, and print what the page says. `...` stands for lines that are left out."""
import platform
import re
import subprocess

import pytest

from tests.conftest import QUANTC


def transcripts(page):
    """(command, lines that it prints)"""
    for block in re.findall(r"^```\n(\$ .*?)^```$", page, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.splitlines()
            yield command, lines


def test_what_the_readme_says_is_what_is_printed(root, tmp_path):
    if platform.machine() != "x86_64":
        pytest.skip("the transcripts are of an x86 target")
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "build/bin/quantc").symlink_to(QUANTC)
    for folder in ("tests", "examples"):
        (tmp_path / folder).symlink_to(root / folder)
    found = list(transcripts((root / "README.md").read_text()))
    assert len(found) == 4
    for command, lines in found:
        assert "compile" not in command or "--target x86-avx2" in command, "without a target it depends on the processor"
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        printed = done.stdout.splitlines()
        if "..." in lines:
            at = lines.index("...")
            assert printed[:at] == lines[:at] and printed[-len(lines[at + 1:]):] == lines[at + 1:], command
        else:
            assert printed == lines, command
