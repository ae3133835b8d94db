#!/usr/bin/env python3
"""check_includes.py [ROOT]: files of op folders that would not compile alone.

The sources of an op folder are compiled as one, so that one may use what only another includes or defines. This looks
for names that a source uses and that neither it nor a header it includes, directly or not, declares. Prints what it
finds; the status is 1 then. It reads laid out text and knows names declared at the beginning of a line only.
"""
import re
import sys
from pathlib import Path

TYPE = re.compile(r"^(?:template <.*> ?\n?)?(?:class|struct|enum class|enum) (\w+)(?: final)?(?: :|\n? *\{| \{)", re.M)
ALIAS = re.compile(r"^using (\w+) =", re.M)
FUNCTION = re.compile(r"^(?! |return|else|case|using|typedef|#|//|\}|namespace|extern)(?:[\w:<>,*&\[\] ]+?)[ *&](\w+)\((?!\))?", re.M)
CONSTANT = re.compile(r"^(?:inline |static )?(?:constexpr|const) [\w:<>\*, ]+?[ *&](\w+)(?:\[\w*\])? ?[={]", re.M)
MACRO = re.compile(r"^ *#define (\w+)", re.M)
MENTIONED = re.compile(r"\b(?:class|struct) (\w+)[;,>]")  # declared before it is defined; parameters of templates
MEMBER = re.compile(r"^ +(?:(?:class|struct|enum class|enum|using) (\w+)|(?! |return|else|case)[\w:<>,*&\[\] ]+?[ *&](\w+)\()", re.M)
KEYWORDS = {"static_assert", "if", "for", "while", "switch", "sizeof", "decltype", "defined"}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def bare(text: str) -> str:
    """Without comments and the contents of strings."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def declared(text: str) -> tuple[set, set]:
    """Types, constants and macros; functions."""
    body = bare(text)
    words = {m for pattern in (TYPE, ALIAS, CONSTANT, MACRO) for m in pattern.findall(body)}
    return words, set(FUNCTION.findall(body))


class Tree:
    def __init__(self, root: Path):
        self.root = root
        self.texts, self.names = {}, {}
        for path in (*root.glob("src/**/*.h"), *root.glob("src/ops/*/*.cpp"), *root.glob("kernels/numerics/*.h")):
            key = path.relative_to(root / "src").as_posix() if path.is_relative_to(root / "src") else path.relative_to(root).as_posix()
            self.texts[key] = path.read_text()
            self.names[key] = declared(self.texts[key])

    def reached(self, key: str) -> set:
        """All files that a file includes, with those that they include."""
        seen, todo = set(), [key]
        while todo:
            at = todo.pop()
            for name in INCLUDE.findall(self.texts.get(at, "")):
                if name.endswith("/calls.h"):  # made by the build
                    name = "program/program.h"
                elif "/" not in name:  # beside the file
                    name = f"{at.rsplit('/', 1)[0]}/{name}"
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        return seen

    def missing(self, key: str) -> list[str]:
        """Names that a source uses, declared in headers or beside it, but not where it looks."""
        body = bare(self.texts[key])
        body = re.sub(r"(?:\.|->|\bstd::|\bkernel::|::)\s*(?:template )?\w+", " ", body)
        own = {key} | self.reached(key)
        known = set().union(*(names for k in own if k in self.names for names in self.names[k])) | KEYWORDS
        known |= {m for k in own for m in MENTIONED.findall(self.texts.get(k, ""))}
        folder = key.rsplit("/", 1)[0]
        bases = [k for k in own if k.startswith((folder + "/", "ops/common/", "quant/", "ir/node.h", "ir/capability.h"))]
        known |= {m for k in bases for pair in MEMBER.findall(self.texts.get(k, "")) for m in pair}
        called = set(re.findall(r"(?<![\w:])(\w+)(?:<[\w:, ]*>)?\(", body)) - known
        used = set(re.findall(r"\b\w+\b(?! ?[=;,)](?!=))", body)) - known
        # A variable, parameter, lambda or member function of that name stands in the file itself.
        local = set(re.findall(r"(?:[\w>&*\]] |[&*\[])(\w+)(?: = |\(|[;,)\]{])", re.sub(r"\b(?:return|else|case) ", "", body)))
        found = []
        siblings = {k for k in self.texts if k.endswith(".cpp") and k.rsplit("/", 1)[0] == folder}
        for other in siblings.union(*(self.reached(k) for k in siblings)) & self.names.keys() - own:
            words, functions = self.names[other]
            found += [(name, other) for name in (words & used | functions & called) - local]
        return [f"src/{key}: {name} of {where}" for name, where in sorted(found)]


def check(root: Path) -> list[str]:
    tree = Tree(root)
    return [line for key in sorted(tree.texts) if key.startswith("ops/")
            for line in tree.missing(key)]


if __name__ == "__main__":
    lines = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    print("\n".join(lines))
    sys.exit(1 if lines else 0)
