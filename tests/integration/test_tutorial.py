"""The tutorial, followed to the letter: its files are written and its commands run, in the order of the page."""
import os
import re
import subprocess
import sys

import pytest

from tests.conftest import QUANTC


def blocks(page):
    """(language, file name or nothing, text) of the fenced blocks"""
    return re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", page, re.M | re.S)


def setting_up(page):
    """The commands of step 0, and what follows it."""
    first, rest = page.split("## 1. ", 1)
    (language, name, text), = blocks(first)
    assert (language, name) == ("sh", "")
    return text, rest


def test_step_0_provides_what_the_others_use(root):
    text, rest = setting_up((root / "docs/tutorial.md").read_text())
    lines = text.splitlines()
    assert subprocess.run(["sh", "-n"], input=text, text=True).returncode == 0
    assert lines[0].endswith(" quantc") and "make -C quantc" in lines and 'export PATH="$PWD/quantc/build/bin:$PATH"' in lines
    makefile = (root / "Makefile").read_text()
    assert re.search(r"^BUILD \?= build$", makefile, re.M) and QUANTC.parent.name == "bin", "where make puts quantc"
    installed = next(line for line in lines if line.startswith("pip install")).split()
    packages = {"sklearn": "scikit-learn", "torch": "torch", "numpy": "scikit-learn"}  # NumPy comes with it
    for module in re.findall(r"^(?:from|import) (\w+)", next(t for _, n, t in blocks(rest) if n == "export.py"), re.M):
        assert packages[module] in installed, module
    assert all(c.split()[0] in ("python", "quantc", "make", "cc", "./classify") for _, n, t in blocks(rest) if not n for c in t.splitlines())


@pytest.mark.soak
def test_the_tutorial_on_a_clean_machine(root, tmp_path):
    """The whole page as one script, from a clone on, in an empty folder, with nothing of this environment but the tools of the system."""
    script = "set -eu\n"
    for language, name, text in blocks((root / "docs/tutorial.md").read_text()):
        script += f"cat > {name} <<'END OF FILE'\n{text}END OF FILE\n" if name else text
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "QUANTC": str(root)}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    right, all_ = map(int, re.search(r"(\d+) of (\d+)", done.stdout.splitlines()[-1]).groups())
    assert all_ == 497 and right > 470


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
    _, rest = setting_up((root / "docs/tutorial.md").read_text())
    for language, name, text in blocks(rest):
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
