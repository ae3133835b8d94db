"""The demo's compiled classifiers: the float one is as accurate as PyTorch's network on every bundled image, the
integer one at most 0.3 points less, in 0.3 of the memory."""
import json
import re
import subprocess


def test_demo(root, build):
    done = subprocess.run([root / "tools" / "demo", build], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = json.loads((root / "examples" / "digits" / "accuracy.json").read_text())
    found = re.search(r"^accuracy +(\d+) of (\d+) .*? (\d+) of (\d+) ", done.stdout, re.M)
    assert found, done.stdout
    right, images, right8, images8 = map(int, found.groups())
    assert (right, images) == (expected["correct"], expected["images"]) and images8 == images
    assert 100 * (right - right8) / images <= 0.3
    sizes = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^(\w+) +(\d+) bytes +(\d+) bytes", done.stdout, re.M)}
    assert set(sizes) == {"arena", "stack", "weights", "code"}
    assert sizes["arena"][1] <= 0.3 * sizes["arena"][0]
    assert sizes["weights"][1] <= 0.3 * sizes["weights"][0]
    printed = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^(\w+) +(\d+) bytes +(\d+) bytes", (root / "README.md").read_text(), re.M)}
    assert set(printed) == set(sizes) and all(printed[k] == sizes[k] for k in printed if k != "code"), "README.md has other figures"
    assert all(abs(a - b) <= 0.1 * a for a, b in zip(printed["code"], sizes["code"])), "compilers differ, but not by so much"
    assert found[0][:-1] in (root / "README.md").read_text()
    times = r" +[\d.]+ us per image +[\d.]+ us per image +"
    for line in (f"^time{times}--target portable$", f"^{times}--target native$", r"^files +\S*float:", r"^files +\S*int8:", r"^files +\S*int8-native:"):
        assert re.search(line, done.stdout, re.M), f"{line}\n{done.stdout}"
