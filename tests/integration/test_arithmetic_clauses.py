"""Every clause of docs/arithmetic.md names a test that holds it, and every such test carries the label of the clause."""
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/arithmetic.md"
LABEL = r"[A-Z]\d+"
MARK = re.compile(rf"arithmetic\.md: ((?:{LABEL}, )*{LABEL})\b")


def clauses(text: str) -> dict[str, list[str]]:
    """The tests that the last column of each clause names."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if re.match(rf"\| {LABEL} \|", line)]
    labels = [row[0].strip() for row in rows]
    assert len(set(labels)) == len(labels), f"labels that two clauses have: {sorted({n for n in labels if labels.count(n) > 1})}"
    return {label: re.findall(r"`([^`]+)`", row[-1]) for label, row in zip(labels, rows)}


def labels_before(text: str, at: int, comment: str) -> set[str]:
    """The labels in the comments right before a test, decorators among them."""
    found: set[str] = set()
    for line in reversed(text[:at].splitlines()):
        if not line.startswith((comment, "@")):
            break
        for mark in MARK.finditer(line):
            found |= set(mark[1].split(", "))
    return found


def labelled_tests() -> dict[str, set[str]]:
    """All tests by the names that the page uses, with the labels they carry."""
    found: dict[str, set[str]] = {}

    def add(path: Path, pattern: str, comment: str, name):
        text = path.read_text()
        for match in re.finditer(pattern, text, re.M):
            found[name(match)] = labels_before(text, match.start(), comment)

    for path in (ROOT / "tests").rglob("*.cpp"):
        add(path, r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", "//", lambda m: f"{m[1]}.{m[2]}")
    for path in (ROOT / "tests").rglob("test_*.py"):
        add(path, r"^def (test_\w+)\(", "#", lambda m: f"{path.name}::{m[1]}")
    for path in (ROOT / "src/ops").glob("*/cases.ir"):
        add(path, r'^case "(.*)"$', "//", lambda m: f"{path.parent.name}: {m[1]}")
    for path in (ROOT / "kernels").glob("*/test.c"):
        found[f"kernels/{path.parent.name}/test.c"] = {label for mark in MARK.finditer(path.read_text()) for label in mark[1].split(", ")}
    return found


@pytest.fixture(scope="module")
def tests():
    return labelled_tests()


def plain(test: str) -> str:
    """Without the case of a parametrized test."""
    return test.split("[")[0] if "::" in test else test


def test_every_clause_names_tests_that_exist(tests):
    named = clauses(PAGE.read_text())
    assert len(named) > 100
    assert not [label for label, held in named.items() if not held]
    missing = {label: [t for t in held if plain(t) not in tests] for label, held in named.items()}
    assert not {label: names for label, names in missing.items() if names}


def test_cases_of_parametrized_tests_exist():
    """The name between brackets stands in the file of the test, or is a file of its vectors."""
    for label, held in clauses(PAGE.read_text()).items():
        for file, case in (m.groups() for t in held if (m := re.fullmatch(r"(\w+\.py)::\w+\[(\w+)\]", t))):
            (path,) = (ROOT / "tests").rglob(file)
            sources = "".join(p.read_text() for p in path.parent.glob("*.py"))
            assert f'"{case}"' in sources or (path.parent / "vectors" / f"{case}.npz").exists(), (label, file, case)


def test_labels_of_tests_are_those_of_the_page(tests):
    wanted = defaultdict(set)
    for label, held in clauses(PAGE.read_text()).items():
        for test in held:
            wanted[plain(test)].add(label)
    differences = {name: (sorted(wanted[name]), sorted(labels)) for name, labels in tests.items() if wanted[name] != labels}
    assert not differences, f"(labels of the page, labels of the test): {differences}"


def test_a_clause_without_a_test_is_found():
    page = "| A1 | a contract | `Suite.Name` |\n| A2 | with \\| a bar | |\n"
    assert clauses(page) == {"A1": ["Suite.Name"], "A2": []}
    with pytest.raises(AssertionError, match="A1"):
        clauses(page.replace("A2", "A1"))
    text = "// arithmetic.md: A1, A2\n// Why.\nTEST(A, B)"
    assert labels_before(text, text.index("TEST"), "//") == {"A1", "A2"}
