"""The tutorial, followed to the letter: its files are written and its commands run, in the order of the page."""
import os
import re
import subprocess
import sys

from tests.conftest import QUANTC


def blocks(page):
    """(language, file name or nothing, text) of the fenced blocks"""
    return re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", page, re.M | re.S)


def test_the_tutorial_goes_from_a_module_to_running_c(root, tmp_path):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "quantc").symlink_to(QUANTC)
    python = f"exec {sys.executable} \"$@\"\n"
    (bin_folder / "python").write_text("#!/bin/sh\n" + python)
    (bin_folder / "python").chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    said = {}
    page = (root / "docs/tutorial.md").read_text()
    for language, name, text in blocks(page):
        if name:
            (folder / name).write_text(text)
        elif language == "sh":
            for command in text.splitlines():
                done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
                assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
                said[command.split(" -")[0]] = done.stdout
    assert len(said) == 9, list(said)
    verdicts = re.findall(r"^(interpreter|in process|native) +expected +\S+ +\S+ +([\d.]+) +([\d.]+) .* ok$", said["quantc validate net.pt2"], re.M)
    assert [v[0] for v in verdicts] == ["interpreter", "in process", "native"] and all(float(v[1]) > 20 and float(v[2]) > 97 for v in verdicts)
    assert "497 samples" in said["quantc validate net.pt2"]
    assert ": bits equal" in said["make"] or "net:" in said["make"]
    right, all_, arena, weights = map(int, re.findall(r"\d+", said["./classify"]))
    assert all_ == 497 and right > 470 and 0 < arena < 65536 and weights > 0
    assert "dtype = 'int16'" in (folder / "rules16.toml").read_text() and "dtype = 'int16'" not in (folder / "rules.toml").read_text()
