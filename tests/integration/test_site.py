"""The pages of the tree before `make docs` makes a site of them: every link leads somewhere, every page is listed and reached."""
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/docs_site"))
import pages  # noqa: E402


def test_links_and_index():
    assert len(pages.pages(ROOT)) > 60
    assert list(pages.findings(ROOT)) == []


def test_what_is_broken_is_found(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Top\n\n[all](docs/README.md), `[code](none.md)`\n\n```\n[code](none.md)\n```\n")
    (tmp_path / "docs/README.md").write_text("# All\n\n## How-to\n\n- [A](a.md): one page, [top](../README.md#top), [gone](gone.md)\n")
    (tmp_path / "docs/a.md").write_text("# A `b`, c\n\n[to c](c.md#no-such) and [here](#a-b-c)\n")
    (tmp_path / "docs/b.md").write_text("# Alone\n")
    (tmp_path / "docs/c.md").write_text("# C\n")
    subprocess.run([shutil.which("git"), "init", "-q"], cwd=tmp_path, check=True)
    assert sorted(pages.findings(tmp_path)) == [
        "docs/README.md:5: gone.md is not in the tree",
        "docs/a.md:3: docs/c.md has no heading for #no-such",
        "docs/b.md: no path of links leads here from docs/README.md",
        "docs/c.md: docs/README.md does not list it",
    ]
    assert [name for name, _ in pages.contents(tmp_path)] == ["How-to"]


def test_the_reading_sample_follows_its_seed():
    def sample(seed):
        return subprocess.run([sys.executable, ROOT / "tools/reading_sample.py", seed], capture_output=True, text=True, check=True).stdout
    assert sample("1") == sample("1") != sample("2")
    listed = sample("1").splitlines()
    assert len(listed) == 30 and all((ROOT / line.split(":")[0]).is_file() for line in listed)
