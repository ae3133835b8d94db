"""Names and pages use the words of docs/glossary.md, and the checker finds what does not."""
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def checker(root):
    sys.path.insert(0, str(root / "tools"))
    import check_prose

    return check_prose


def test_the_tree_uses_the_words_of_the_glossary(checker, root):
    assert list(checker.old_words(root)) == []


@pytest.fixture
def tree(tmp_path):
    for folder in ("docs", "src", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs/glossary.md").write_text("| word | was | means |\n|---|---|---|\n| rotation | `turn`, `turns` | a rotation |\n")
    (tmp_path / "tools/prose_exceptions.txt").write_text("# reviewed\nnames src/* take_turns\nprose * \\bturns into\\b\n")
    (tmp_path / "src/a.h").write_text("int rotation();\n")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "Add a rotation", "It is needed.")
    return tmp_path


def git(tree, *arguments):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments], cwd=tree, check=True, capture_output=True)


def commit(tree, *message):
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--allow-empty", *(word for paragraph in message for word in ("-m", paragraph)))


def test_a_clean_tree(checker, tree):
    assert list(checker.old_words(tree)) == []


@pytest.mark.parametrize("file,text,found", [
    ("src/a.h", "int a();\nint turn_left();\n", "src/a.h:2: the name 'turn_left'"),
    ("src/a.h", "struct LeftTurn {};\n", "src/a.h:1: the name 'LeftTurn'"),
    ("src/a.h", 'add("--best-turn");\n', "src/a.h:1: the name 'best_turn'"),
    ("src/a.h", "// A turn to the left.\n", "src/a.h:1: the word 'turn'"),
    ("docs/a.md", "Two turns.\n", "docs/a.md:1: the word 'turns'"),
    ("src/a.py", "x = TURNS\n", "src/a.py:1: the name 'TURNS'"),
])
def test_earlier_words_are_found(checker, tree, file, text, found):
    (tree / file).write_text(text)
    assert [line.split(" (")[0] for line in checker.old_words(tree)] == [found]


@pytest.mark.parametrize("text", ["int take_turns();\n", "// What turns into codes.\n", "int returns();\n", '// "turnover"\n', 'say("in their turn");\n'])
def test_reviewed_uses_are_not(checker, tree, text):
    (tree / "src/a.h").write_text(text)
    assert list(checker.old_words(tree)) == []


@pytest.mark.parametrize("message,said", [
    (["Rotate rows", "They lie better."], []),
    (["Rotate rows"], ["no body"]),
    (["Rotates rows", "Why."], ["imperative"]),
    (["The rows are rotated", "Why."], ["imperative"]),
    (["Rotated rows", "Why."], ["imperative"]),
    (["Rotate " + "x" * 70, "Why."], ["77 characters"]),
])
def test_subjects(checker, tree, message, said):
    commit(tree, *message)
    found = list(checker.bad_subjects(tree, "HEAD~1"))
    assert len(found) == len(said) and all(word in line for word, line in zip(said, found)), found
