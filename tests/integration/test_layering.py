"""The folders of src/ keep to the table in ARCHITECTURE.md, and the checker finds what breaks it."""
import re
import sys

import pytest


@pytest.fixture(scope="module")
def checker(root):
    sys.path.insert(0, str(root / "tools"))
    import check_layering

    return check_layering


def test_sources_keep_to_the_table(checker, root):
    assert checker.check(root) == []


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "src" / "low").mkdir(parents=True)
    (tmp_path / "src" / "high").mkdir()
    (tmp_path / "src" / "low" / "a.h").write_text("#pragma once\n")
    (tmp_path / "src" / "high" / "b.h").write_text('#include "low/a.h"\n')
    table = "| folder | may include |\n|---|---|\n| `low` | - |\n| `high` | low |\n"
    (tmp_path / "ARCHITECTURE.md").write_text(table)
    return tmp_path


def test_clean_tree(checker, tree):
    assert checker.check(tree) == []


def test_upward_include_is_found(checker, tree):
    (tree / "src" / "low" / "a.cpp").write_text('#include "high/b.h"\n')
    assert "low may not include high" in checker.check(tree)[0]


def test_folder_without_row_is_found(checker, tree):
    (tree / "src" / "other").mkdir()
    (tree / "src" / "other" / "c.h").write_text("")
    assert "no row" in checker.check(tree)[0]


def test_cycle_in_the_table_is_found(checker, tree):
    table = "| folder | may include |\n|---|---|\n| low | high |\n| high | low |\n"
    (tree / "ARCHITECTURE.md").write_text(table)
    assert "cycle" in checker.check(tree)[0]


def test_ops_name_kernels_not_their_functions(root):
    """Ops emit calls by signature: no C function of a kernel, no text of parameter structs, no table of bodies."""
    found = [f"{path.relative_to(root)}: {match}" for path in (root / "src" / "ops").rglob("*.cpp")
             for match in re.findall(r'"qk_(?!matmul_output_mode)\w*|\bfields\b.*"|find_body|all_bodies', path.read_text())]
    assert found == []
