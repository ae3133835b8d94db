"""The example of docs/tutorial-transformers.md, followed to the letter: its files are written, its commands run, and they say what the page says."""
import os
import re
import subprocess
import sys

import pytest

from tests.conftest import QUANTC

pytest.importorskip("transformers")


def test_the_example_goes_from_a_configuration_to_running_c(root, tmp_path):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "quantc").symlink_to(QUANTC)
    (bin_folder / "python").write_text(f"#!/bin/sh\nexec {sys.executable} \"$@\"\n")
    (bin_folder / "python").chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "CFLAGS": "-O0"}
    page = (root / "docs/tutorial-transformers.md").read_text()
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.M | re.S):
        (folder / name).write_text(text)
    commands = re.search(r"^```\n(\$ python export.py\n.*?)^```$", page, re.M | re.S)[1]
    for command, said in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", commands, re.M):
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout == said, command
