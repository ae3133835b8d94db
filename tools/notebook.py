"""tools/notebook.py: writes examples/tutorial.ipynb from examples/tutorial.py, the one text of both.

Functions and classes stand in the first cells; each numbered step of `main` is a cell, its comment the heading.
"""
import json
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def cells_of(script: str) -> list:
    """(kind, text) of each cell."""
    doc, rest = re.match(r'"""(.*?)"""\n(.*)', script, re.S).groups()
    before, main = rest.split("def main(folder: Path) -> None:\n")
    main = textwrap.dedent(main.split('\n\nif __name__ == "__main__":')[0])
    out = [("markdown", doc.split("\n\n")[0].strip()), ("code", before.strip()),
           ("code", 'folder = Path(tempfile.mkdtemp(prefix="tutorial-"))')]
    for title, code in re.findall(r"^# (\d+\. .*)\n((?:(?!^# \d).*\n?)*)", main, re.M):
        out += [("markdown", f"## {title}"), ("code", code.strip())]
    return out


def notebook(script: str) -> str:
    cells = []
    for i, (kind, text) in enumerate(cells_of(script)):
        cell = {"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": text.splitlines(keepends=True)}
        if kind == "code":
            cell.update(execution_count=None, outputs=[])
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


if __name__ == "__main__":
    (ROOT / "examples" / "tutorial.ipynb").write_text(notebook((ROOT / "examples" / "tutorial.py").read_text()))
