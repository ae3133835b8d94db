"""Documents that are made from the program are what the program says now."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.soak.architecture_table import KINDS  # noqa: E402


def test_ops_md(quantc, root):
    assert quantc("ops").stdout == (root / "docs/ops.md").read_text(), "run: build/bin/quantc ops > docs/ops.md"


def test_every_command_has_examples(quantc):
    for command in ("compile", "run", "validate", "inspect", "ops", "explain", "calibrate"):
        assert "Example" in quantc(command, "--help").stdout
    assert quantc("--version").stdout.startswith("quantc ")


def test_import_rows_are_unique(quantc):
    """A name with two rows from the same version on: one of them is never used."""
    versions = re.findall(r"^- (`[^`]+`) \(from ([\d, ]+)\)$", quantc("ops").stdout, re.M)
    assert versions
    assert not [name for name, since in versions if len(set(since.split(", "))) < len(since.split(", "))]


def test_architectures_md(root):
    """What the long runs found: every architecture once, in the numbers asked for."""
    text = (root / "docs/architectures.md").read_text()
    good, total, names = re.search(r"^(\d+) of (\d+) match:\n\n(.*?)\n\n", text, re.M | re.S).groups()
    matching, others = re.split(r",\s+", names), re.findall(r"^\| ([\w-]+) \| (\w+) \| \S", text, re.M)
    assert sorted([*matching, *(name for name, _ in others)]) == sorted(name for kind in KINDS.values() for name in kind)
    assert (len(matching), len(matching) + len(others)) == (int(good), int(total))
    assert len(matching) >= 55
    assert int(total) - sum(stage == "export" for _, stage in others) >= 60
