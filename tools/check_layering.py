#!/usr/bin/env python3
"""Checks the folders of src/ against the layering table of ARCHITECTURE.md.

The table has the columns `folder` and `may include`. Every folder of src/ must have a row, every #include of another
folder must be allowed by it, and the rows must not form a cycle. Prints each finding; exits 1 when there is one.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.M)


def read_table(text: str) -> dict[str, set[str]]:
    """Folder -> folders it may include, from the rows under the header `| folder | may include |`."""
    rows: dict[str, set[str]] = {}
    inside = False
    for line in text.splitlines():
        cells = [c.strip().replace("`", "") for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[:2] == ["folder", "may include"]:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not set(cells[0]) <= set("-: "):
            rows[cells[0]] = {c for c in re.split(r"[,\s]+", cells[1]) if c and c != "-"}
    return rows


def find_cycle(rows: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()

    def walk(folder: str, path: list[str]) -> list[str]:
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return []
        for below in sorted(rows.get(folder, ())):
            if cycle := walk(below, path + [folder]):
                return cycle
        done.add(folder)
        return []

    for folder in rows:
        if cycle := walk(folder, []):
            return cycle
    return []


def folder_of(path: str, rows: dict[str, set[str]]) -> str | None:
    """The row a path below src/ belongs to: the longest one that is a prefix of it."""
    parts = path.split("/")[:-1]
    for n in range(len(parts), 0, -1):
        if "/".join(parts[:n]) in rows:
            return "/".join(parts[:n])
    return None


def check(root: Path) -> list[str]:
    rows = read_table((root / "ARCHITECTURE.md").read_text())
    if not rows:
        return ["ARCHITECTURE.md: no table with the columns 'folder' and 'may include'"]
    findings = []
    if cycle := find_cycle(rows):
        findings.append("ARCHITECTURE.md: the table has a cycle: " + " -> ".join(cycle))
    for file in sorted((root / "src").rglob("*")):
        if file.suffix not in (".h", ".cpp", ".inc"):
            continue
        name = file.relative_to(root / "src").as_posix()
        here = folder_of(name, rows)
        if here is None:
            findings.append(f"src/{name}: its folder has no row in the table")
            continue
        for target in INCLUDE.findall(file.read_text()):
            there = folder_of(target, rows)
            if there and there != here and there not in rows[here]:
                findings.append(f"src/{name}: includes {target}, but {here} may not include {there}")
    return findings


if __name__ == "__main__":
    found = check(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    print("\n".join(found) if found else "layering: clean")
    sys.exit(1 if found else 0)
