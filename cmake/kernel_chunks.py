"""Takes the sources of the kernels apart, so that a program is written with the parts it needs and no others.

A part is a function, type, table, macro, include, or a line of a conditional. The files are read in the order in which
they would be written, each header once; macro calls that make several definitions are replaced by them, and so are bodies
that are included for each of several types (kernels/common/body.h). A part needs
  - what its text names, as defined above it, after macros in it are replaced;
  - all lines of the conditionals around it, and the macros that these ask for;
  - for a macro, the #undef that ends it;
  - what its file includes from C's library, the errors it raises, and the comment that heads it.
Where conditions choose between definitions of a name, all of them are needed. What this cannot read is an error.
"""
import pathlib
import re
import sys

from c_macros import Macro, arguments_at, is_blank, is_name, names_in, next_token, tokens_of

GUARD = re.compile(r"#ifndef (\w+)\n#define \1\n(.*)#endif[^\n]*\n\Z", re.S)
QUALIFIERS = {"__attribute__", "_Alignas"}
LINE_OR_TEXT = re.compile(r"^(#.*\n)|((?:(?!#).*\n)+)", re.M)
HEADING = re.compile(r"\A/\*.*?\*/\n", re.S)  # for readers of the file
DIRECTIVE = re.compile(r'#(define|undef|include) "?([\w./]+)"? ?(.*)\n')
JOIN = re.compile(r"QK_JOIN\d?\(([\w,\s]*)\)")


class Part:
    def __init__(self, text, where):
        self.text, self.where, self.needs, self.chains, self.is_definition = text, where, set(), [], False


class Source:
    """A file: `scope` is the file whose own names its names are, None for headers, which everybody sees."""

    def __init__(self, path, scope):
        self.path, self.scope, self.common, self.includes, self.heading = path, scope, [], [], None
        self.needed = None  # what is common to it and all it includes


def with_comment(comment, text):
    return f"{comment}\n{text}" if comment else text


def laid_out(text):
    """Without the indentation that lines had inside a macro."""
    first, *rest = text.strip().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first, *(line[margin:].rstrip() for line in rest)])


def defined_names(tokens, where):
    """The names that a declaration at the top of a file defines."""
    words = [t for t in tokens if not is_blank(t)]
    depth, names, plain = 0, [], []  # plain: what stands outside of all brackets
    for i, word in enumerate(words):
        if word in "([{":
            if depth == 0:
                plain.append((word, i))
            depth += 1
        elif word in ")]}":
            depth -= 1
        elif depth == 0:
            plain.append((word, i))
        if word in ("struct", "union", "enum") and depth == 0 and is_name(words[i + 1]):
            names.append(words[i + 1])
        if depth == 1 and words[i - 1] in "{," and is_name(word) and "enum" in words[:i]:
            names.append(word)
    if words[0] == "typedef":
        return names + [[w for w, _ in plain if is_name(w)][-1]]
    for (word, i), (follower, _) in zip(plain, plain[1:]):
        if is_name(word) and follower in "([=;" and word not in QUALIFIERS | {"enum"}:
            return names + [word]
    if not names:
        sys.exit(f"{where}: cannot tell what this defines: {''.join(tokens)[:80]}")
    return names


class Reader:
    def __init__(self, texts):
        self.texts = texts      # path -> text of every file
        self.parts, self.sources, self.system = [], {}, {}
        self.macros = {}        # name -> definitions in force
        self.replaced = {}      # of headers, in the file with bodies that is read
        self.names = {None: {}}  # scope -> name -> parts that define it
        self.chains = []        # conditionals around the place that is read: lists of parts; None: left out
        self.dead = 0           # conditionals around it that cannot hold

    def read(self, path, scope=None):
        """Reads a file with all it includes; a header that was read before is not read again."""
        if path in self.sources and scope is None:
            return
        source = self.sources[path] = Source(path, scope)
        text = self.texts[path]
        start = text.find("#ifndef")
        if (match := GUARD.match(text, start)) if start >= 0 and not text[:start].count("#") else None:
            text = text[:start] + match[2]
        self.scan(tokens_of(text), source, lambda *definition: self.add_definition(*definition, source))

    def read_body_file(self, path):
        """A file with bodies: what it defines is not seen by the files after it."""
        self.names[path] = {}
        self.read(path, path)
        for name, definitions in list(self.macros.items()):
            self.macros[name] = [m for m in definitions if m.part.where.scope is None]
        self.macros.update(self.replaced)
        self.replaced = {}

    def beside(self):
        """A reader that goes on from here and that others do not see, save that its parts are added to the same list."""
        other = Reader(self.texts)
        other.parts, other.sources, other.system = self.parts, dict(self.sources), dict(self.system)
        other.macros = dict(self.macros)
        other.names = {scope: {n: list(p) for n, p in names.items()} for scope, names in self.names.items()}
        return other

    # ---- parts ----

    def add(self, text, source, needs=()):
        part = Part(text, source)
        part.needs.update(needs)
        part.chains = [chain for chain in self.chains if chain is not None]
        self.parts.append(part)
        return part

    def needs_of(self, tokens, source):
        names, used = names_in(tokens, self.macros)
        needs = {macro.part for macro in used}
        for scope in {None, source.scope}:
            for name in names:
                needs.update(self.names[scope].get(name, ()))
        return needs

    def add_definition(self, tokens, comment, names, source):
        text = with_comment(comment, laid_out("".join(tokens)))
        part = self.add("\n" + text if "\n" in text else text, source, self.needs_of(tokens, source))
        part.is_definition = True
        if source.heading:
            part.needs.add(source.heading)
        for name in names:
            self.names[source.scope].setdefault(name, []).append(part)

    # ---- reading ----

    def scan(self, tokens, source, take, in_file=True):
        """Calls take(tokens, comment, names) for each definition."""
        at, pending, comment, depth, lines, chosen = 0, [], "", 0, 2, False
        while at < len(tokens):
            token = tokens[at]
            if not pending and token.isspace():
                lines = lines + 1 if token == "\n" else lines
                if lines >= 2 and comment:  # it heads what follows
                    source.heading = self.add("\n" + comment, source)
                    comment = ""
                at += 1
            elif not pending and is_blank(token):
                comment, lines = f"{comment}\n{token}".strip(), 0
                at += 1
            elif not pending and token == "#":
                end = at
                while end < len(tokens) and (tokens[end] != "\n" or tokens[end - 1] == "\\"):
                    end += 1
                self.directive("".join(tokens[at:end]), comment, source)
                at, comment, lines = end, "", 0
            elif self.dead:
                at += 1
            elif depth == 0 and (found := self.call_at(tokens, at)):
                macro, made, end = found
                if pending:  # a part of a definition
                    tokens[at:end] = made
                    continue
                definitions = []
                self.scan(made, source, lambda *d: definitions.append(d), in_file=False)
                if in_file and len(definitions) == 1:
                    take(tokens[at:end], comment, definitions[0][2])
                else:
                    for i, (made, own, names) in enumerate(definitions):
                        take(made, own or (comment or macro.comment if i == 0 else ""), names)
                at, comment, lines = end, "", 0
            else:
                pending.append(token)
                depth += (token in "([{") - (token in ")]}")
                chosen = chosen or depth == 0 and token in ("=", "typedef", "enum", "struct", "union")
                at += 1
                if depth == 0 and (token == ";" or token == "}" and not chosen):
                    at = self.same_line(tokens, at, pending)
                    take(pending, comment, defined_names(pending, source.path))
                    pending, comment, lines, chosen = [], "", 0, False
        if pending:
            sys.exit(f"{source.path}: a definition has no end: {''.join(pending)[:80]}")

    def call_at(self, tokens, at):
        """The macro called here with its replacement and the index behind the call; None where none is."""
        macros = [m for m in self.macros.get(tokens[at], ()) if m.params is not None]
        after = next_token(tokens, at + 1)
        if not macros or after == len(tokens) or tokens[after] != "(":
            return None
        if len(macros) > 1:
            sys.exit(f"a definition is made with {tokens[at]}, of which several forms are in force")
        arguments, end = arguments_at(tokens, after)
        return macros[0], tokens_of(macros[0].replaced(arguments).strip()), end

    @staticmethod
    def same_line(tokens, at, pending):
        """Takes a comment behind a definition to it."""
        end = at
        while end < len(tokens) and tokens[end] != "\n" and is_blank(tokens[end]):
            end += 1
        if end < len(tokens) and tokens[end] == "\n":
            pending.extend(tokens[at:end])
            return end
        return at

    def directive(self, text, comment, source):
        word = re.match(r"#\s*(\w+)", text)[1]
        if word in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self.conditional(word, text, comment, source)
        elif self.dead:
            return
        elif word == "include":
            self.include(text, source)
        elif word == "define":
            self.define_macro(text, comment, source)
        elif word == "undef":
            self.end_macro(text, source)
        else:
            source.common.append(self.add(text, source))

    def conditional(self, word, text, comment, source):
        if word in ("if", "ifdef", "ifndef"):
            surely = any(not m.part.chains for m in self.macros.get(text.split()[1], ()))
            self.chains.append(None if self.dead or (word == "ifndef" and surely) else [])
            self.dead += self.chains[-1] is None
        if self.chains[-1] is not None:
            part = self.add(with_comment(comment, text), source, self.needs_of(tokens_of(text), source))
            self.chains[-1].append(part)
        if word == "endif":
            self.dead -= self.chains.pop() is None

    def include(self, text, source):
        quoted = re.match(r'#include "(.*)"', text)
        if not quoted:
            known = None if self.chains else self.system.get(text)
            part = known or self.add(text, source)
            if not self.chains:
                self.system[text] = part
            source.common.append(part)
            return
        path = quoted[1]
        if path not in self.texts:
            path = f"{pathlib.PurePosixPath(source.path).parent}/{path}"
        if path not in self.texts:
            sys.exit(f"{source.path}: {quoted[1]} is not a file under kernels")
        if path.endswith(".inc") and self.macros.get("QK_WITH"):
            self.include_body(path, source)
            return
        self.read(path, source.scope if path.endswith(".inc") else None)
        source.includes.append(self.sources[path])

    def include_body(self, path, source):
        """A body that is included for a type or size (kernels/common/body.h). One that makes several definitions is replaced
        by them, one that makes a single definition is a macro again: it may be wanted for many sizes."""
        values = arguments_at(["(", *self.macros["QK_WITH"][0].tokens, ")"], 0)[0]
        definitions = []
        self.scan(tokens_of(self.body_with(path, values, {})), source, lambda *d: definitions.append(d), in_file=False)
        if len(definitions) == 1:
            tokens, _, names = definitions[0]
            definitions = [(tokens_of(f"{self.body_macro(path, source)}({', '.join(values)})"), "", names)]
        for definition in definitions:
            self.add_definition(*definition, source)
        self.set_macros("QK_WITH", [], source)

    def body_macro(self, path, source):
        """The macro that a body is, which stands in front of all conditionals around its first use."""
        name = "QK_BODY_" + re.sub(r"\W", "_", path.removeprefix("kernels/").removesuffix(".inc")).upper()
        if not self.macros.get(name):
            text = HEADING.sub("", self.texts[path])
            given = ", ".join(re.findall(r"#define (\w+) QK_ARG", text))
            text = JOIN.sub(lambda m: re.sub(r",\s*", "##", m[1]), re.sub(r"#.*\n", "", text)).strip()
            comment, text = re.match(r"((?:/\*.*?\*/\s*)?)(.*)", text, re.S).groups()
            text = f"#define {name}({given}) \\\n" + re.sub(r" *\n", r" \\\n", text)
            part = Part(with_comment(comment.strip(), text), source)
            first = next((chain[0] for chain in self.chains if chain), None)
            self.parts.insert(self.parts.index(first) if first else len(self.parts), part)
            self.set_macros(name, [Macro(text, "", part)], source)
        return name

    def body_with(self, path, values, names):
        """The text of a body (kernels/common/body.h) with its names, and the bodies it includes, replaced by what they are."""
        out = []
        for line, text in LINE_OR_TEXT.findall(HEADING.sub("", self.texts[path])):
            word, name, value = DIRECTIVE.match(line).groups() if line else ("", "", text)
            value = re.sub(r"QK_ARG_(\d+)\(QK_WITH\)", lambda m: values[int(m[1]) - 1], value)
            value = "".join(names.get(token, token) for token in tokens_of(value))
            while (joined := JOIN.sub(lambda m: re.sub(r",\s*", "", m[1]), value)) != value:
                value = joined
            if word == "define":
                names[name] = value
            elif word == "undef":
                names.pop(name, None)
            elif word:
                out.append(self.body_with(name, values, names))
            else:
                out.append(value)
        return "".join(out)

    def end_macro(self, text, source):
        name, end = text.split()[1], None
        for macro in self.macros.get(name, ()):
            end = end or self.add(text, source)
            macro.part.needs.add(end)
        self.set_macros(name, [], source)

    def set_macros(self, name, macros, source):
        old = [m for m in self.macros.get(name, ()) if m.part.where.scope is None]
        if source.scope is not None and old:
            self.replaced.setdefault(name, old)
        self.macros[name] = macros

    def define_macro(self, text, comment, source):
        macro = Macro(text, comment)
        macro.part = self.add(with_comment(comment, text), source)
        others = self.macros.get(macro.name, []) if macro.part.chains else []
        self.set_macros(macro.name, [*others, macro], source)

    # ---- the result ----

    def finish(self):
        """The needs of every part as indices."""
        number = {part: i for i, part in enumerate(self.parts)}
        for part in self.parts:
            for chain in part.chains:
                part.needs.update(chain)
            if part.is_definition:
                part.needs.update(self.common(part.where))
        return [sorted(number[n] for n in part.needs if n is not part) for part in self.parts]

    def common(self, source):
        """What the file and all it includes have from C's library, and their errors."""
        if source.needed is None:
            source.needed = set(source.common)
            for other in source.includes:
                source.needed |= self.common(other)
        return source.needed


def read_chunks(texts, apart, files):
    """The texts of the parts of these files, the needs of each, and a function that says which parts define a name of
    a file. `files` are lists: what is in the first is seen by all, what is in another (the files of one machine) by
    that one only. The files `apart` are left out: whoever needs them writes them in front of all parts."""
    reader = Reader(texts)
    reader.sources.update({path: Source(path, None) for path in apart})
    common, *others = files
    for path in common:
        reader.read_body_file(path)
    found = dict(reader.names)
    for some in others:
        alone = reader.beside()
        for path in some:
            alone.read_body_file(path)
        found.update({path: alone.names[path] for path in some})
    number = {part: i for i, part in enumerate(reader.parts)}

    def defining(path, name):
        return [number[part] for part in found[path].get(name, ())]
    return [part.text for part in reader.parts], reader.finish(), defining
