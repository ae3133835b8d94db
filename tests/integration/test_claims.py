"""What pages and schemas say about numbers of a report is so."""
import json
import re

import pytest


def test_float_steps_are_counted_for_every_model_and_target(quantc, models, root, tmp_path):
    """Also where no note says so: of a float model, and of code that names its instructions."""
    digits, rules = models / "digits.onnx", ("--rules", root / "examples/digits/rules.toml")
    counted = {}
    for name, args in {"float": (), "int8": rules, "none": (*rules, "--no-float")}.items():
        for target in ("portable", "x86-avx2"):
            out = quantc("compile", digits, *args, "--target", target, "--json", "-o", tmp_path / f"{name}-{target}").stdout
            counted[name, target] = json.loads(out)["float_steps"]
            header = (tmp_path / f"{name}-{target}" / "digits.h").read_text()
            assert ("USES FLOATS" in header) == (name == "int8" and target == "portable")
    assert counted["float", "portable"] > counted["int8", "portable"] > 0 == counted["none", "portable"]
    assert all(counted[name, "portable"] == counted[name, "x86-avx2"] for name, _ in counted)


def test_numbers_that_reports_give_are_described(root):
    schema = json.loads((root / "docs/schema/compile.json").read_text())["properties"]
    assert all("description" in schema[key] for key in ("float_steps", "macs_slow_without_fma"))


@pytest.mark.parametrize("command", ["compile", "explain", "inspect", "run", "validate"])
def test_help_names_every_kind_of_model(quantc, command):
    said = " ".join(quantc(command, "--help").stdout.split())
    assert all(suffix in re.search(r"MODEL.*?(?=\s-|$)", said)[0] for suffix in (".onnx", ".pt2", ".fx.json", ".ir"))


def test_sizes_in_the_header_are_those_that_the_page_names(quantc, models, root, tmp_path):
    quantc("compile", models / "digits.onnx", "--target", "portable", "-o", tmp_path)
    header = (tmp_path / "digits.h").read_text()
    assert all(f"DIGITS_{what}_BYTES" in header for what in ("ARENA", "STATE", "STACK", "WEIGHT"))
    page = " ".join((root / "docs/integration.md").read_text().split())
    assert "the sizes of all but the code" in page and "CODE_BYTES" not in header
