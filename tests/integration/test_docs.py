"""Documents that are made from the program are what the program says now."""


def test_ops_md(quantc, root):
    assert quantc("ops").stdout == (root / "docs/ops.md").read_text(), "run: build/bin/quantc ops > docs/ops.md"


def test_every_command_has_examples(quantc):
    for command in ("compile", "run", "validate", "inspect", "ops", "explain", "calibrate"):
        assert "Example" in quantc(command, "--help").stdout
    assert quantc("--version").stdout.startswith("quantc ")
