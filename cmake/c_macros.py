"""The little of C's preprocessor that it takes to see what a fragment of kernel source names.

Text is kept as written: comments, blanks and line ends are tokens of their own, and a macro's replacement keeps the lines
of its definition, so that an expanded definition reads like one that was written by hand.
"""
import re

TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*"
                   r"|\#\#|[ \t]+|\n|.", re.S)
NAME = re.compile(r"[A-Za-z_]\w*\Z")
DEFINE = re.compile(r"#\s*define\s+(\w+)(\([^)]*\))?[ \t]*(.*)\Z", re.S)


def tokens_of(text):
    return TOKEN.findall(text)


def is_name(token):
    return token[0].isalpha() or token[0] == "_"


def is_blank(token):
    return token.isspace() or token.startswith(("/*", "//"))


class Macro:
    """A definition; params is None where it takes none. `part` is the part of the source that it is."""

    def __init__(self, directive, comment="", part=None):
        self.name, params, body = DEFINE.match(directive).groups()
        self.params = None if params is None else [p.strip() for p in params[1:-1].split(",") if p.strip()]
        if self.params and self.params[-1] == "...":
            self.params[-1] = "__VA_ARGS__"
        self.tokens = tokens_of(re.sub(r"[ \t]*\\\n", "\n", body).rstrip())
        self.comment, self.part = comment, part

    def replaced(self, arguments):
        """The replacement as text, with these texts for the parameters, which are not expanded."""
        if not self.params:
            return "".join(self.tokens)
        if self.params[-1] == "__VA_ARGS__":
            last = len(self.params) - 1
            arguments = [*arguments[:last], ",".join(arguments[last:])]
        values = dict(zip(self.params, arguments))
        out, join = [], False
        for i, token in enumerate(self.tokens):
            if token == "##":
                while out and out[-1].isspace():
                    out.pop()
                join = True
            elif join and token.isspace():
                continue
            elif token == "#" and self.tokens[i + 1:] and self.tokens[i + 1] in values:
                out.append('"' + values[self.tokens[i + 1]] + '"')
                values[token] = None
            elif i and self.tokens[i - 1] == "#" and token in values:
                continue
            else:
                out.append(values.get(token, token))
                join = False
        return "".join(out)


def next_token(tokens, at):
    """The index of the first token from `at` on that is not blank; the number of tokens if there is none."""
    while at < len(tokens) and is_blank(tokens[at]):
        at += 1
    return at


def arguments_at(tokens, at):
    """The texts between the parenthesis at `at` and its partner, and the index behind it; None where it has none."""
    out, current, depth = [], [], 0
    for i in range(at, len(tokens)):
        token = tokens[i]
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        if depth == 0:
            return [*out, "".join(current).strip()], i + 1
        if token == "," and depth == 1:
            out.append("".join(current).strip())
            current = []
        elif i > at:
            current.append(token)
    return None


def names_in(tokens, macros):
    """Every name that these tokens mention, before and after any macro in them is replaced, with the definitions of
    macros among them. `macros` gives the definitions in force for a name: several where conditions choose."""
    names, used, seen = set(), set(), set()

    def walk(tokens, active):
        for i, token in enumerate(tokens):
            if not is_name(token):
                continue
            names.add(token)
            for macro in macros.get(token, ()) if token not in active else ():
                used.add(macro)
                arguments = []
                if macro.params is not None:
                    at = next_token(tokens, i + 1)
                    found = arguments_at(tokens, at) if at < len(tokens) and tokens[at] == "(" else None
                    if not found:
                        continue
                    arguments = found[0]
                key = (macro, *arguments)
                if key not in seen:
                    seen.add(key)
                    walk(tokens_of(macro.replaced(arguments)), active | {token})

    walk(tokens, frozenset())
    return names, used
