"""Documents that are made from the program are what the program says now."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.soak.architecture_table import KINDS  # noqa: E402


def test_ops_md(quantc, root):
    assert quantc("ops").stdout == (root / "docs/ops.md").read_text(), "run: build/bin/quantc ops > docs/ops.md"


def test_every_command_has_examples(quantc):
    for command in ("compile", "run", "validate", "inspect", "ops", "explain", "calibrate", "targets", "passes", "help", "completion"):
        assert "Example" in quantc(command, "--help").stdout
    assert quantc("--version").stdout.startswith("quantc ")


def test_figures_of_the_readme_are_those_of_the_benchmarks(root):
    readme, bench = (root / "README.md").read_text(), (root / "docs/benchmarks.md").read_text()
    digits, resnet = re.search(r"takes ([\d.]+) of the time of the float one, on a ResNet-18 at 64x64\s+([\d.]+)", readme).groups()
    table = bench.split("time of int8 / time of float")[1]
    assert f"| digits | {digits} |" in table and f"| ResNet-18 at 64x64 | {resnet} |" in table


def test_configuration_md_lists_every_key(quantc, root, models, tmp_path):
    (tmp_path / "c.toml").write_text("nothing = 1\n")
    said = quantc("inspect", models / "digits.onnx", "--config", tmp_path / "c.toml", status=1).stderr
    known = re.search(r"\(known: ([^)]*)\)", said)[1].split(", ")
    page = (root / "docs/configuration.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.M) == known
    flags = quantc("compile", "--help").stdout
    assert not [flag for flag in re.findall(r"\| `(-[\w-]+)` \|$", page, re.M) if f"{flag} " not in flags and f"{flag}," not in flags]


def test_links_between_pages_lead_somewhere(root):
    for page in [root / "README.md", *(root / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"


def test_pages_name_kernels_and_files_that_exist(root, build):
    """Bodies by their whole names, files by their paths; `<kernel>` and `*` stand for others."""
    sources = "".join(p.read_text(errors="replace") for folder in (root / "kernels", root / "runtime", build / "generated/kernels") for p in folder.rglob("*") if p.is_file())
    made_up = {"qk_name", "qk_params"}  # of the page that says how such functions look
    for page in [*root.glob("*.md"), *(root / "docs").rglob("*.md")]:
        text = page.read_text()
        missing = [n for n in re.findall(r"\bqk_[a-z0-9_]*[a-z0-9]\b", text) if n not in sources and n not in made_up]
        missing += [n for n in re.findall(r"`((?:src|kernels|runtime|tests|tools|cmake|benchmarks|examples|include)/[\w/-]+\.\w+)`", text) if not (root / n).exists()]
        assert not missing, (page.name, missing)


def test_one_version_everywhere(quantc, root):
    version = quantc("--version").stdout.split()[1]
    assert re.search(r"^project\(quantc VERSION (\S+)", (root / "CMakeLists.txt").read_text(), re.M)[1] == version
    assert re.search(r'^version = "(.*)"$', (root / "pyproject.toml").read_text(), re.M)[1] == version
    assert re.search(r"^## (\S+)$", (root / "CHANGELOG.md").read_text(), re.M)[1] == version


def test_the_licence_frees_generated_code(root):
    text = (root / "LICENSE").read_text()
    assert "Apache License" in text and "Version 2.0" in text and "Exception for generated code" in text


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
