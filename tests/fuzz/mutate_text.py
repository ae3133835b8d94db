"""Text files (.ir, rule files, quantc.toml) with tokens changed: numbers at their corners, words exchanged with others of
the same file, lines doubled, left out and moved, brackets nested. The same seed gives the same texts."""
import random
import re

NUMBERS = ["0", "1", "-1", "2", "7", "64", "65536", "2147483647", "2147483648", "4294967296", "1099511627776",
           "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e38", "1e400",
           "nan", "inf", "-0.0", "0.5", "''", "[]", "true"]
SIZES = ["n", "2*n + 1", "n*m", "floordiv(n, 2)", "mod(n, 0)", "floordiv(n + 9223372036854775807, -1)", "max(n, min(m, 3))",
         "(n + m)*(n + 1)*(m + 2)", "n - 9"]
NUMBER = re.compile(r"(?<![\w.%@'\"])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
TOKEN = re.compile(r"[A-Za-z_][\w.]*|\d[\w.]*|'[^'\n]*'|\"[^\"\n]*\"")


TYPES = ["f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"]


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

    def everywhere(self, text: str) -> str:
        """Another number, element type or word wherever one stands."""
        found = TOKEN.findall(text)
        if not found:
            return text
        r, old = self.random, self.random.choice(found)
        new = r.choice(TYPES) if old in TYPES else r.choice(["1", "2", "3", "7", "n", "n + 1", "64"]) if old.isdigit() else r.choice(self.words)
        return re.sub(rf"(?<![\w.%@]){re.escape(old)}(?![\w.])", lambda _: new, text)

    def near(self, text: str) -> str:
        """A number beside the one that was there."""
        found = list(NUMBER.finditer(text))
        if not found:
            return text
        r, at = self.random, self.random.choice(found)
        if at[0].isdigit():
            new = str(r.choice([int(at[0]) + 1, int(at[0]) - 1, int(at[0]) * 2, int(at[0]) // 2, -int(at[0])]))
        else:
            new = repr(float(at[0]) * r.choice([-1, 0, 0.5, 2, 1e6, 1e-6, 1e-30, 1e30]))
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
        for _ in range(self.random.choice([1, 1, 1, 1, 2, 3, 6])):
            change = self.random.choices([self.token, self.near, self.everywhere, self.lines, self.characters], [25, 25, 25, 17, 8])[0]
            out = change(out)
        return out
