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



CODE = (".h", ".c", ".cpp", ".cu", ".inc", ".py", ".pyi", ".sig", ".cmake", ".table", ".ir")
SLASHES = re.compile(r'(?P<prose>//[^\n]*|/\*.*?\*/)|(?P<text>R"(\w*)\(.*?\)\3"|"(?:\\.|[^"\\\n])*")', re.S)
HASHES = re.compile(r'(?P<prose>"""(?:\\.|[^\\])*?"""|#[^\n]*|^//[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*")', re.M)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FLAG = re.compile(r'"-{0,2}[A-Za-z_][\w-]*"')  # texts that are one word: flags, keys, names of passes
WORD_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def replaced_words(root):
    """The words of the glossary's column 'was'."""
    rows = [line.split("|") for line in (root / "docs/glossary.md").read_text().split("\n") if line.startswith("| ")]
    column = next((i for i, cell in enumerate(rows[0]) if cell.strip() == "was"), None) if rows else None
    if column is None:
        raise SystemExit("docs/glossary.md: no column 'was'")
    return {word for row in rows[1:] for word in re.findall(r"`([^`]+)`", row[column])}


def exceptions(root):
    """{"names": [(glob of paths, regular expression)], "prose": ...} of tools/prose_exceptions.txt."""
    found = {"names": [], "prose": []}
    for line in (root / "tools/prose_exceptions.txt").read_text().split("\n"):
        if line.strip() and not line.startswith("#"):
            kind, paths, pattern = line.split(None, 2)
            found[kind].append((paths, re.compile(pattern)))
    return found


def texts_of(name, text):
    """(line, is prose, text) of a file; texts of several words count as neither names nor prose."""
    if name.endswith(".md"):
        for number, line in enumerate(text.split("\n"), 1):
            yield number, True, line
        return
    regex, at = SLASHES if name.endswith((".h", ".c", ".cpp", ".cu", ".inc", ".ir")) else HASHES, 0
    for m in [*regex.finditer(text), None]:
        yield text.count("\n", 0, at) + 1, False, text[at:m.start() if m else len(text)]
        if m and m["prose"]:
            yield text.count("\n", 0, m.start()) + 1, True, m[0]
        elif m and FLAG.fullmatch(m[0]):
            yield text.count("\n", 0, m.start()) + 1, False, m[0].strip('"').lstrip("-").replace("-", "_")
        at = m.end() if m else at


def old_words(root):
    was, allowed = replaced_words(root), exceptions(root)
    plain = re.compile(r"(?<![\w./-])(" + "|".join(sorted(was)) + r")(?![\w/-])", re.I)
    for name in tracked(root, *("*" + suffix for suffix in CODE), "*.md"):
        if name in ("docs/glossary.md", "CHANGELOG.md") or name.startswith("docs/adr/"):
            continue
        own = {kind: [regex for paths, regex in rows if fnmatch.fnmatchcase(name, paths)] for kind, rows in allowed.items()}
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        said = set()
        for start, is_prose, part in texts_of(name, text):
            for offset, line in enumerate(part.split("\n")):
                if is_prose:
                    words = {m[1].lower() for m in plain.finditer(line)
                             if not any(x.start() <= m.start() < x.end() for r in own["prose"] for x in r.finditer(line))}
                else:
                    words = {word for word in NAME.findall(line) if not was.isdisjoint(p.lower() for p in WORD_OF_NAME.findall(word))
                             and not any(r.fullmatch(word) for r in own["names"])}
                for word in sorted(words - said):
                    said.add(word)
                    yield f"{name}:{start + offset}: {'the word' if is_prose else 'the name'} '{word}' (docs/glossary.md, column 'was')"


def bad_subjects(root, base):
    log = subprocess.run(["git", "log", "--no-merges", "--format=%h%x00%s%x00%b%x01", f"{base}..HEAD"],
                         cwd=root, capture_output=True, text=True, check=True).stdout
    for entry in log.split("\x01"):
        if entry.strip():
            commit, subject, body = entry.strip("\n").split("\0")
            first = re.split(r"\W", subject, maxsplit=1)[0]
            if len(subject) > MAX_SUBJECT:
                yield f"{commit}: a subject of {len(subject)} characters, at most {MAX_SUBJECT} are allowed: {subject[:60]}..."
            if NOT_IMPERATIVE.search(first):
                yield f"{commit}: the subject does not begin with an imperative: {subject}"
            if not body.strip():
                yield f"{commit}: no body that says why: {subject}"


def main(arguments):
    checks, root = arguments or ["sentences", "words"], ROOT
    found = []
    while checks:
        check, checks = checks[0], checks[1:]
        if check == "sentences":
            found += long_sentences(root)
        elif check == "words":
            found += old_words(root)
        elif check == "subjects" and checks:
            found += bad_subjects(root, checks[0])
            checks = checks[1:]
        else:
            raise SystemExit(__doc__)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
