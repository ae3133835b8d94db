"""Text files (.ir, rule files, quantc.toml) with tokens changed: numbers at their corners, words exchanged with others of
the same file, lines doubled, left out and moved, brackets nested. The same seed gives the same texts."""
import random
import re

NUMBERS = ["0", "1", "-1", "2", "7", "64", "65536", "2147483647", "2147483648", "4294967296", "1099511627776",
           "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e38", "1e400",
           "nan", "inf", "-0.0", "0.5", "''", "[]", "true"]
SIZES = ["n", "2*n + 1", "n*m", "floordiv(n, 2)", "mod(n, 0)", "floordiv(n + 9223372036854775807, -1)", "max(n, min(m, 3))",
         "(n + m)*(n + 1)*(m + 2)", "n - 9"]
TOKEN = re.compile(r"[A-Za-z_][\w.]*|\d[\w.]*|'[^'\n]*'|\"[^\"\n]*\"")


class Mutator:
    def __init__(self, seed: int, texts: list[str]) -> None:
        self.random = random.Random(seed)
        self.texts = texts
        self.words = sorted({w for t in texts for w in TOKEN.findall(t)})

    def token(self, text: str) -> str:
        found = list(TOKEN.finditer(text))
        if not found:
            return text
        r, at = self.random, self.random.choice(found)
        choice = r.random()
        if choice < 0.4:
            new = r.choice(NUMBERS)
        elif choice < 0.5:
            new = r.choice(SIZES)
        else:
            new = r.choice(self.words)
        return text[:at.start()] + new + text[at.end():]

    def lines(self, text: str) -> str:
        r, lines = self.random, text.split("\n")
        at, action = r.randrange(len(lines)), r.randrange(4)
        if action == 0:
            del lines[at]
        elif action == 1:
            lines[at:at] = [lines[at]] * r.choice([1, 2, 50])
        elif action == 2:
            lines.insert(r.randrange(len(lines) + 1), lines.pop(at))
        else:
            lines[at] += r.choice(r.choice(self.texts).split("\n"))
        return "\n".join(lines)

    def characters(self, text: str) -> str:
        r = self.random
        at = r.randrange(len(text) + 1)
        return text[:at] + r.choice(["(", ")", "[", "]", "{", "}", "'", '"', "=", ".", "-", "%", "@", "\0", "\x1b", "é", "[" * 99]) + text[at:]

    def text(self) -> str:
        out = self.random.choice(self.texts)
        for _ in range(self.random.choice([1, 1, 1, 2, 3, 6])):
            action = self.random.random()
            change = self.token if action < 0.6 else self.lines if action < 0.85 else self.characters
            out = change(out)
        return out
