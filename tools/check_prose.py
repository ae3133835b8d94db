#!/usr/bin/env python3
"""tools/check_prose.py [sentences] [words] [subjects BASE]: checks how the tree is written.

sentences  no sentence of a page has more than 40 words
words      a word that docs/glossary.md replaced (its column 'was') stands nowhere in its old sense: not in identifiers, flags
           and keys, and not in the prose of pages and comments; tools/prose_exceptions.txt lists reviewed plain uses
subjects   the commits since BASE have a subject of at most 72 characters in the imperative, and a body

Without arguments: sentences and words. Findings are printed, one a line; any finding fails.
"""
import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_WORDS = 40
MAX_SUBJECT = 72
# Pages that programs print; their texts are written where they are made.
GENERATED = ("docs/ops.md", "docs/python-api.md", "docs/conformance.md", "docs/conformance-light.md", "docs/architectures.md")
# First words of subjects that no imperative begins with: third persons, participles, articles, pronouns.
NOT_IMPERATIVE = re.compile(r"^(?:a|an|the|this|that|these|those|it|its|what|when|where|which|who|how|there|no|all|every|each|some|more|"
                            r"new|now|also|in|on|of|for|from|to|by|with|at|after|before|under)$|^(?!need|feed|embed|speed|seed|shed|bring|string|ping)\w+(?:ed|ing)$|"
                            r"^(?!pass|process|address|discuss|express|compress|bypass|access|focus|miss|cross|guess|assess|press)\w+[^su]s$", re.I)


def tracked(root, *patterns):
    """Files of the tree that git would commit, changed and new ones too."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=root, capture_output=True, text=True, check=True)
    return sorted({name for name in listed.stdout.split("\n") if name and (root / name).is_file()})


def pages(root):
    return [name for name in tracked(root, "*.md") if name not in GENERATED]


def without_markup(text):
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"``[^`]+``|`[^`]*`", lambda m: "x" + ("." if m[0].endswith(".`") else ""), text)
    return re.sub(r"<[^>]+>|\*\*|\|", " ", text)


def blocks(text):
    """(line, text) of paragraphs, list items, headings and cells of tables."""
    found, start, gathered, fence = [], 0, [], None

    def flush():
        if gathered:
            found.append((start, " ".join(gathered)))
            gathered.clear()

    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        mark = re.match(r"(```+|~~~+)", stripped)
        if fence or mark:
            flush()
            fence = None if fence and stripped.startswith(fence) else fence or mark[1]
            continue
        if stripped.startswith("|"):
            flush()
            found += [(number, cell) for cell in re.split(r"(?<!\\)\|", stripped) if cell.strip()]
            continue
        if not stripped or stripped.startswith("#") or re.match(r"([-*+]|\d+\.)\s", stripped) or line.startswith("    "):
            flush()
        if not stripped or (line.startswith("    ") and not gathered and False):
            continue
        if not gathered:
            start = number
        gathered.append(re.sub(r"^([-*+]|\d+\.|#+|>)\s+", "", stripped))
        if stripped.startswith("#"):
            flush()
    flush()
    return found


def sentences(text):
    """(line, sentence) of a page."""
    for line, block in blocks(text):
        for sentence in re.split(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[*]*[A-Z0-9x])", without_markup(block)):
            yield line, sentence.strip()


def words_of(sentence):
    return re.findall(r"[A-Za-z0-9][\w.,'/%+^-]*", sentence)


def long_sentences(root):
    for name in pages(root):
        for line, sentence in sentences((root / name).read_text()):
            count = len(words_of(sentence))
            if count > MAX_WORDS:
                yield f"{name}:{line}: a sentence of {count} words: {' '.join(sentence.split())[:90]}..."


if __name__ == "__main__":
    for f in long_sentences(ROOT): print(f)
