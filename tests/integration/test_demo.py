"""The demo's compiled classifier is as accurate as PyTorch's network, on every bundled image."""
import json
import re
import subprocess


def test_demo(root, build):
    done = subprocess.run([root / "tools" / "demo", build], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = json.loads((root / "examples" / "digits" / "accuracy.json").read_text())
    found = re.search(r"accuracy (\d+) of (\d+)", done.stdout)
    assert found, done.stdout
    assert (int(found[1]), int(found[2])) == (expected["correct"], expected["images"])
    for line in (r"^time +[\d.]+ us per image", r"^RAM +\d+ bytes \(arena \d+ \+ stack \d+\)",
                 r"^flash +\d+ bytes \(weights \d+ \+ code \d+\)", r"^files +\S*digits:"):
        assert re.search(line, done.stdout, re.M), f"{line}\n{done.stdout}"
