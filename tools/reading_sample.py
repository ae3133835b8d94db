#!/usr/bin/env python3
"""tools/reading_sample.py SEED: picks ten pages and twenty comments for a reader who did not write them.

The reader lists every sentence that had to be read twice. The same seed and the same tree give the same list.
"""
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_prose import ROOT, pages, tracked  # noqa: E402

PAGES, COMMENTS = 10, 20
MIN_WORDS = 8


def comments(root):
    """(file, line, text) of every comment of several words."""
    for name in tracked(root, "*.h", "*.cpp", "*.c", "*.cu"):
        if name.startswith("tests/fuzz/corpus"):
            continue
        start, gathered = 0, []
        for number, line in enumerate([*(root / name).read_text(errors="replace").split("\n"), ""], 1):
            said = re.match(r"\s*(?://+|/\*+|\*(?!/))\s?(.*?)(?:\*/)?\s*$", line)
            if said:
                start = start if gathered else number
                gathered.append(said[1])
            elif gathered:
                text = " ".join(gathered)
                if len(text.split()) >= MIN_WORDS:
                    yield name, start, text
                gathered = []


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    chosen = random.Random(int(sys.argv[1]))
    for page in sorted(chosen.sample(pages(ROOT), PAGES)):
        print(page)
    for name, line, text in sorted(chosen.sample(sorted(comments(ROOT)), COMMENTS)):
        print(f"{name}:{line}: {text}")


if __name__ == "__main__":
    main()
