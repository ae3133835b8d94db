"""python tools/docs_site BUILD: builds the site of all pages into BUILD/site/html, with search and the demo's output.

Pages keep their paths, so that links between them hold. Other files that a page links to become pages with their text.
Any warning of mkdocs (a broken link, a page without an entry) fails.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pages as tree  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".json": "json", ".cu": "cpp"}
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"


def fenced(text, name):
    mark = "`" * max(3, 1 + max((len(run) for run in text.split("\n") if run and set(run) == {"`"}), default=0))
    return f"{mark} {LANGUAGES.get(Path(name).suffix, 'text')}\n{text.rstrip()}\n{mark}\n"


def notebook(text):
    """A notebook as a page: prose, code and what it printed."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else fenced(source, ".py"))
        parts += [fenced("".join(out["text"]), ".txt") for out in cell.get("outputs", []) if "text" in out]
    return "\n\n".join(parts) + "\n"


def source_page(path):
    """The page that shows a file, or the files of a folder."""
    if path.endswith(".ipynb"):
        return notebook((ROOT / path).read_text())
    if (ROOT / path).is_file():
        return f"{HIDDEN}# {path}\n\n" + fenced((ROOT / path).read_text(), path)
    files = tree.tracked(ROOT, path)
    return f"{HIDDEN}# {path}\n\n" + "\n".join(f"## {os.path.relpath(name, path)}\n\n{fenced((ROOT / name).read_text(), name)}" for name in files)


def is_source(path):
    return not path.endswith((".md", *tree.PICTURES))


def page_of(path):
    """Where the site shows what stands at a path of the tree."""
    return f"files/{path}.md" if is_source(path) else path


def for_site(page, text):
    """The text with links to files pointing at their pages, in the dialect of the site's Markdown."""
    lines = []
    for _, line, outside in tree.prose(text):
        if outside:
            spans = [match for match in tree.LINK.finditer(tree.without_code(line)) if ":" not in match[2]]
            for match in reversed(spans):
                path, anchor = tree.resolve(page, match[2])
                if is_source(path):
                    to = os.path.relpath(page_of(path), os.path.dirname(page) or ".")
                    line = line[:match.start(2)] + to + line[match.end(2):]
            bullet = line.lstrip().startswith(("- ", "1. "))
            indent = len(line) - len(line.lstrip())
            if bullet and indent and indent < 4:
                line = " " * 4 + line.lstrip()  # GitHub takes two or three spaces, this Markdown four
            if bullet and not indent and lines and lines[-1].strip() and not lines[-1].startswith((" ", "- ", "1. ")) and lines[-1][:1] != "#":
                lines.append("")  # a list directly below a paragraph
        lines.append(line)
    return "\n".join(lines)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def stage(out):
    """Copies the pages, the pictures and the files they link to."""
    shutil.rmtree(out, ignore_errors=True)
    sources = {path for _, entries in tree.contents(ROOT) for _, path in entries if is_source(path)}
    for page in tree.pages(ROOT):
        text = (ROOT / page).read_text()
        write(out / page, for_site(page, text))
        sources |= {path for path, _ in (tree.resolve(page, target) for _, target in tree.links(text)) if is_source(path)}
    for path in sorted(sources):
        write(out / page_of(path), source_page(path))
    for picture in tree.tracked(ROOT, *(f"docs/*{kind}" for kind in tree.PICTURES)):
        write(out / picture, "")
        shutil.copyfile(ROOT / picture, out / picture)
    write(out / "assets/site.css", (HERE / "site.css").read_text())
    return sorted(sources)


def run(*command):
    # The variable silences mkdocs-material's advertisement of its successor.
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def demo(build, out):
    """The page of the demo's output: figures, the quantized graph and the report of its analysis."""
    printed = run(ROOT / "tools/demo", build).split("digits classifier, compiled from")[1]
    figures = "\n".join(line for line in printed.split("\n")[1:] if not line.startswith("files")).strip("\n")
    write(out / "docs/demo.md", (HERE / "demo.md").read_text().replace("{{figures}}", figures))
    (out / "docs/demo").mkdir()
    model, rules = "tests/models/digits.onnx", "examples/digits/rules.toml"
    quantc = build / "bin/quantc"
    run(quantc, "inspect", model, "--rules", rules, "--svg", out / "docs/demo/digits_int8.svg")
    run(quantc, "analyze", model, "--rules", rules, "--data", "examples/digits/calibration.npz", "--html", out / "docs/demo/report.html")


def navigation(sources):
    """The contents of docs/README.md as mkdocs reads them (JSON is YAML)."""
    records = [tree.RECORDS + "README.md", *(page for page in tree.pages(ROOT) if page.startswith(tree.RECORDS) and not page.endswith("README.md"))]
    nav = [{"quantc": ["README.md", {"The demo": "docs/demo.md"}, {"All pages": tree.INDEX}]}]
    listed = {"README.md", tree.INDEX, *records}
    for section, entries in tree.contents(ROOT):
        nav.append({section: [{title: page_of(path)} for title, path in entries if path not in listed]})
        listed |= {path for _, path in entries}
    nav.append({"Decisions": records})
    nav.append({"Files": [page_of(path) for path in sources if path not in listed]})
    return nav


def main():
    build = Path(sys.argv[1]).resolve()
    wrong = list(tree.findings(ROOT))
    if wrong:
        sys.exit("\n".join(wrong))
    site = build / "site"
    sources = stage(site / "pages")
    demo(build, site / "pages")
    settings = (HERE / "mkdocs.yml").read_text()
    settings += f"docs_dir: {json.dumps(str(site / 'pages'))}\nsite_dir: {json.dumps(str(site / 'html'))}\nnav: {json.dumps(navigation(sources))}\n"
    (site / "mkdocs.yml").write_text(settings)
    # Not --quiet: it hides warnings from --strict, too.
    print(run(sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", site / "mkdocs.yml"), end="")
    print(f"{len(tree.pages(ROOT))} pages in {site / 'html'}; to read them: python3 -m http.server -d {build.name}/site/html")


if __name__ == "__main__":
    main()
