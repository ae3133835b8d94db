"""The tutorial runs as it is written."""
import re
import subprocess
import sys

from package import ROOT


def test_the_tutorial(tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "tutorial.py"), str(tmp_path / "out")], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    right = {name: float(value) for name, value in re.findall(r"^(torch|float|int8|C) +([\d.]+) %$", done.stdout, re.M)}
    assert right["float"] > 90 and abs(right["torch"] - right["float"]) < 0.5 and abs(right["int8"] - right["float"]) < 2 and right["C"] == right["int8"]
    assert "the same bits: True" in done.stdout and " 0 float" in done.stdout
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {"rules.toml", "report.html", "c"}
