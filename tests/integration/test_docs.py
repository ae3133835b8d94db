"""Documents that are made from the program are what the program says now."""
import re


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
