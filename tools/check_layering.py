#!/usr/bin/env python3
"""Checks the folders of src/, kernels/, runtime/ and tests/ against the layering tables of ARCHITECTURE.md.

The tables have the columns `folder` and `may include`. Folders of src/ stand there without `src/`. Every folder must have a row,
every #include of another folder must be allowed by it, and the rows must not form a cycle. A row may name a file that stands
below its folder. `kernels/*` is the row of every folder of kernels/ without an own one; among what another row may include it
means all that this row says, and `src/*` all folders of src/. Code for devices and C includes nothing of src/, src/ nothing of
tests/, and no header only includes others but the contract of a kernel, kernels/NAME/NAME.h. Of kernels/ the folders of src/ above them include scalar
arithmetic and generated calls only. Prints each finding; exits 1 when there is one.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.M)


def read_table(text: str) -> dict[str, set[str]]:
    """Folder -> folders it may include, from the rows under each header `| folder | may include |`."""
    rows: dict[str, set[str]] = {}
    inside = False
    for line in text.splitlines():
        cells = [c.strip().replace("`", "") for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[:2] == ["folder", "may include"]:
            inside = True
        elif inside and not line.startswith("|"):
            inside = False
        elif inside and not set(cells[0]) <= set("-: "):
            rows[cells[0]] = {c for c in re.split(r"[,\s]+", cells[1]) if c and c != "-"}
    every = {"src/*": {row for row in rows if "/" not in row or row.split("/")[0] in ("frontends", "backends")},
             "kernels/*": rows.get("kernels/*", set())}
    return {row: {below for name in allowed for below in every.get(name, {name})} for row, allowed in rows.items()}


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
    """The row that a path belongs to: the longest one that is the path or a folder above it."""
    parts = path.split("/")
    for n in range(len(parts), 0, -1):
        name = "/".join(parts[:n])
        if name in rows:
            return name
        if n == 2 and len(parts) > 2 and parts[0] == "kernels" and "kernels/*" in rows:
            return "kernels/*"
    return None


TOPS = ("src", "kernels", "runtime", "tests")
CODE = (".h", ".c", ".cpp", ".cu", ".inc")


def same(here: str, there: str, name: str, target: str) -> bool:
    """Whether a file and what it includes lie in one folder."""
    return here == there and (here != "kernels/*" or name.split("/")[1] == target.split("/")[1])


def check_file(path: str, text: str, rows: dict[str, set[str]]) -> list[str]:
    """Findings of one file, whose path begins with one of TOPS."""
    top = path.split("/")[0]
    name = path.removeprefix("src/")
    here = folder_of(name, rows)
    if here is None:
        return [f"{path}: its folder has no row in the table"] if top == "src" or re.search(r'#include "\w+/', text) else []
    findings = []
    for target in INCLUDE.findall(text):
        there = folder_of(target, rows) if "/" in target else None
        outside = target.split("/")[0] in TOPS
        if top == "src" and outside:
            if target.startswith("tests/"):
                findings.append(f"{path}: includes {target}, but nothing outside tests/ includes tests")
            continue  # what folders above the kernels take from them has a rule of its own
        if there and not same(here, there, name, target) and there not in rows[here]:
            own = "/".join(name.split("/")[:2]) if here == "kernels/*" else here
            findings.append(f"{path}: includes {target}, but {own} may not include {there}")
        elif there and not outside and top in ("kernels", "runtime") and not path.endswith((".h", ".cpp")):
            findings.append(f"{path}: includes {target}, but code for devices and C includes nothing of src/")
    return findings


def only_forwards(text: str) -> bool:
    """Whether a header holds nothing but includes of other files."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    lines = [line.strip() for line in bare.splitlines() if line.strip()]
    guards = re.compile(r"#\s*(pragma once|ifndef \w+_H\b|define \w+_H\b|endif|include\b)")
    return any("include" in line for line in lines) and all(guards.match(line) for line in lines)


def check(root: Path) -> list[str]:
    rows = read_table((root / "ARCHITECTURE.md").read_text())
    if not rows:
        return ["ARCHITECTURE.md: no table with the columns 'folder' and 'may include'"]
    findings = []
    if cycle := find_cycle(rows):
        findings.append("ARCHITECTURE.md: the table has a cycle: " + " -> ".join(cycle))
    for top in TOPS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in CODE:
                continue
            path, text = file.relative_to(root).as_posix(), file.read_text()
            findings += check_file(path, text, rows)
            contract = top == "kernels" and file.stem == file.parent.name  # says in words what its kernels compute
            if file.suffix == ".h" and not contract and only_forwards(text):
                findings.append(f"{path}: only includes other headers")
    return findings


# Folders above the kernels: they know scalar arithmetic, what is made from signatures and the lists of kernels, and no kernel's code.
ABOVE_KERNELS = ("ops", "passes", "program")
MADE_OR_SCALAR = re.compile(r"kernels/(numerics/\w+\.(h|inc)|\w+/calls\.h|kernels\.h|added\.h|variants\.inc)")


def check_kernels(root: Path) -> list[str]:
    """Includes of kernels/ in the folders above them."""
    return [f"{file.relative_to(root).as_posix()}: includes {target}, but may include kernels/numerics/ and generated calls only"
            for folder in ABOVE_KERNELS for file in sorted((root / "src" / folder).rglob("*")) if file.suffix in (".h", ".cpp", ".inc")
            for target in INCLUDE.findall(file.read_text()) if target.startswith("kernels/") and not MADE_OR_SCALAR.fullmatch(target)]


if __name__ == "__main__":
    tree = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    found = check(tree) + check_kernels(tree)
    print("\n".join(found) if found else "layering: clean")
    sys.exit(1 if found else 0)
