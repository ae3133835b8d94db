"""Makes what quantc is built with from the kernel folders, ROOT/kernels/*/.

usage: kernel_tables.py [--portable-only] OUTPUT_DIR ROOT...

A folder holds FOLDER.h (parameter structs and the contract), portable.c (bodies) and kernels.sig, its signatures:

  # a comment
  kernel NAME[selector, ...](operand, optional?, ...) -> (result, ...)
    params STRUCT
    epilogue STAGE, ...
    [units NAME PREFIX [scratch RESULT] [vectors BYTES,...]]
    [means copy BYTES | means list VALUES COUNT | means test COUNT | means check NUMBER] [if CONDITION ...]
    body SYMBOL [in FILE] [stack BYTES]
  stage NAME(operand, optional?, ...)
    params STRUCT
    [from KERNEL of COUNT [if CONDITION ...] [with MEMBER=VALUE[|VALUE] ...]]
    [joined by KERNEL of COUNT [if CONDITION ...] [with MEMBER=VALUE ...]]

Parameter structs hold numbers, arrays of numbers, and other such structs as members. A stage is what kernels may do with a
result before they store it. Those that `epilogue` lists can follow each other in this order; the kernel has optional
operands of the names that they have, and one member, at any depth, that is the stage's struct. A kernel without bodies is what ops call and variants (*.variant.cpp of the folder) turn into calls of others; its struct
is in FOLDER/call.h. A call names the kernel and gives each selector a value; they say which body computes it. SYMBOL is the name of the C
function, with a group {selector=value,value:text,...} for each selector: it stands for one body per value,
and for the value's text (the value itself unless stated) in the name. A body that, with all it calls, may take more than
1024 bytes of stack says so. A body of a kernel with the selector `machine` needs that feature of the target and is in
MACHINE.c (MACHINE.cu where the folder has it), others in portable.c, unless FILE is given. Arguments of a body are
(parameters, operands..., results...); those of a body in a .cu file are (parameters, unit, operands..., results...), and
SYMBOL_units(parameters) says how many units there are, SYMBOL_shared(parameters), where a block of threads computes a
unit, how much shared memory that takes (kernels/common/cuda.h).
A kernel whose calls can be split among threads names its units, for the bodies after that line; PREFIX_units and
PREFIX_subrange in FOLDER/split.c count them and make calls of some of them (kernels/common/units.h). {selector} in PREFIX
stands for the value of a body, {selector.bytes} for the bytes of an element of that type. With `scratch` each unit has
that result for itself: PREFIX_subrange moves it on, and only devices split such calls, which then have room for all units. With
`vectors` units are elements of so many bytes, of operands and result, and a thread of a device takes 16 bytes of the largest of
them at once: PREFIX_advance and PREFIX_spans say how operands lie (kernels/common/vectors.h).

What passes over Programs may do with calls of a kernel is said here too; CONDITION is NAME=VALUE,... of a selector, a
member, or a member of the stage before (`before.NAME`), and all of them must hold.
  from       A call of the kernel becomes the stage of the call that makes one of its operands, whose COUNT elements it reads
             one by one; its other operands become the stage's. A member of the stage is the call's member of that name, or
             what `with` says: a number, inf, or a member; A|B is A if the product is the first operand, else B.
  joined by  A call of the kernel, of one operand, changes members of the stage that makes it.
  means      The call does no more than copy so many bytes, write the numbers of a member, say whether one is not 0, or check indices under a number.

Written to OUTPUT_DIR:
  FOLDER_table.c    thunks, the kernels and the bodies of the folder
  FOLDER/params.h   a C++ struct per parameter struct, with Dims for its integers
  FOLDER/calls.h    a C++ struct per kernel: its parameters, operands, results and selectors as members
  FOLDER/selectors.h   a C++ struct per kernel with selectors: their values in a call, by name
  FOLDER/operands.h where operands and results of kernels with units stand, for FOLDER/split.c
  FOLDER_MACHINE_table.c  thunks of the bodies for that machine
  folders.inc, machines.inc, variants.inc   the lists of folders, of machine tables, of *.variant.cpp
  dots.inc          the folders with bodies whose dot products are as the program says (kernels/numerics/dot.h)
  sources.inc       the sources of all bodies, taken apart (kernel_chunks.py), and the headers that backends print whole:
                    some of kernels/common, and the runtimes of generated code, ROOT/runtime/*/*.h
  isa.inc, isa.cmake, common/*.h    what the tables of instruction sets say (isa_tables.py)
Files are rewritten only when they change, so nothing rebuilds without need.
With --portable-only the lists name the portable variants of the first root (portable*.variant.cpp), and no bodies for machines.
"""
import itertools
import pathlib
import re
import sys

import isa_tables
from kernel_chunks import read_chunks

STRUCT = re.compile(r"typedef struct \{(.*?)\}\s*(qk_\w+);", re.S)
FIELD = re.compile(r"\b(int32_t|int64_t|float|qk_\w+)\s+([^;]+);")
MEMBER = re.compile(r"(\w+)(?:\[(\d+)\])?\Z")
LETTERS = {"int32_t": "i", "int64_t": "l", "float": "f"}
KERNEL = re.compile(r"^kernel (\w+)(?:\[([\w, ]+)\])?\(([\w, ?]*)\) -> \(([\w, ?]*)\)$")
STAGE = re.compile(r"^stage (\w+)\(([\w, ?]*)\)$")
EPILOGUE = re.compile(r"^epilogue ([\w, ]+)$")
PARAMS = re.compile(r"^params (\w+)$")
UNITS = re.compile(r"^units (\w+) (\S+)(?: scratch (\w+))?(?: vectors (\S+))?$")
FUSION = re.compile(r"^(from|joined by) (\w+) of (\w+)(?: if ((?:(?!with )\S+ ?)+))?(?:with (.+))?$")
MEANS = re.compile(r"^means (copy \w+|list \w+ \w+|test \w+|check \w+)(?: if (.+))?$")
NUMBER = re.compile(r"-?(\d+(\.\d+)?|inf)$")
VECTOR_BYTES = 16
BODY = re.compile(r"^body (\S+)(?: in (\S+))?(?: stack (\d+))?$")
GROUP = re.compile(r"\{(\w+)=([^}]*)\}")
DEFAULT_STACK = 1024
# Headers of kernels that backends print whole, in front of the kernels that a program calls.
WHOLE_HEADERS = [f"kernels/common/{name}.h" for name in ("cuda", "vectors", "processor", "target")]


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Struct:
    """A parameter struct: its members in order as (type, name, elements of an array or None)."""
    def __init__(self, name, body, where):
        self.name, self.where, self.members = name, where, []
        if left := FIELD.sub("", body).strip():
            sys.exit(f"{where}: {name} may hold int32_t, int64_t and float members and such structs only, found: {left}")
        for kind, names in FIELD.findall(body):
            for member in map(str.strip, names.split(",")):
                found = MEMBER.match(member)
                if not found or (found[2] and kind not in LETTERS):
                    sys.exit(f"{where}: {name}: a member is a number, an array of numbers or a struct, found: {kind} {member}")
                self.members.append((kind, *found.groups()))

    def walk(self, structs, path=""):
        """Every member at every depth, by its full name: structs before what is in them."""
        for kind, name, count in self.members:
            yield kind, path + name, count
            if kind not in LETTERS:
                if kind not in structs:
                    sys.exit(f"{self.where}: {self.name}: no header declares {kind}")
                yield from structs[kind].walk(structs, f"{path}{name}.")

    def fields(self, structs):
        """The numbers: "i n,i epilogue.add.kind,f eps[2]"."""
        return ",".join(f"{LETTERS[kind]} {name}{f'[{count}]' if count else ''}"
                        for kind, name, count in self.walk(structs) if kind in LETTERS)

    def groups(self, structs):
        """The members that are structs: "qk_epilogue epilogue,qk_add_stage epilogue.add"."""
        return ",".join(f"{kind} {name}" for kind, name, _ in self.walk(structs) if kind not in LETTERS)

    def offsets(self, structs):
        return [f"offsetof({self.name}, {name})" for kind, name, _ in self.walk(structs) if kind in LETTERS]


def read_structs(text, where):
    return {name: Struct(name, body, where)
            for body, name in STRUCT.findall(re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S))}


def items(text):
    return [t.strip() for t in (text or "").split(",") if t.strip()]


class Value(str):
    """A value of a selector; of an element type, `bytes` are those of an element in memory."""
    @property
    def bytes(self):
        return max(1, int(re.search(r"\d+|$", self)[0] or 8) // 8) if not self.startswith(("f8", "f4")) else 1


class Kernel:
    def __init__(self, folder, name, selectors, inputs, outputs, stage=False):
        self.folder, self.name, self.selectors, self.stage, self.epilogue = folder, name, items(selectors), stage, []
        self.inputs, self.outputs = items(inputs), items(outputs)
        self.params, self.bodies = None, []  # bodies: (symbol, values of the selectors, file, stack, elements of a vector_width, split)
        self.unit = self.prefix = self.scratch = self.vectors = self.means = ""
        self.fusions = []  # of a stage: (whether it is there, kernel, member that counts, conditions, members of the stage)

    def add_bodies(self, pattern, file, stack, where):
        groups = GROUP.findall(pattern)
        if sorted(name for name, _ in groups) != sorted(self.selectors):
            sys.exit(f"{where}: {pattern} must have one group for each of {', '.join(self.selectors) or 'no selectors'}")
        choices = [[(name, *(v.split(":", 1) if ":" in v else (v, v))) for v in map(str.strip, values.split(","))]
                   for name, values in groups]
        for choice in itertools.product(*choices):
            texts = iter(text for _, _, text in choice)
            values = {name: value for name, value, _ in choice}
            symbol = GROUP.sub(lambda _: next(texts), pattern)
            own = file or self.file_of(values.get("machine", "portable"))
            named = {s: Value(v) for s, v in values.items()}
            split = self.prefix.format(**named)  # what the functions that split calls of it are named after
            vector_width = VECTOR_BYTES // max(map(int, self.vectors.format(**named).split(","))) if self.vectors else 0
            self.bodies.append((symbol, [values[s] for s in self.selectors], own, stack, vector_width, split))

    def add_fusion(self, kind, kernel, count, conditions, members, where):
        pairs = dict(pair.split("=", 1) for pair in (members or "").split())
        self.fusions.append((kind == "joined by", kernel, count, (conditions or "").split(), pairs, where))

    def file_of(self, machine):
        return f"{machine}.cu" if (self.folder / f"{machine}.cu").exists() else f"{machine}.c"

    def machine_of(self, values):
        return values[self.selectors.index("machine")] if "machine" in self.selectors else ""


def signatures(path, structs):
    """The kernels of a kernels.sig."""
    kernels = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where, line = f"{path}:{number}", line.strip()
        if not line or line.startswith("#"):
            continue
        if match := KERNEL.match(line):
            kernels.append(Kernel(path.parent, *match.groups()))
        elif match := STAGE.match(line):
            kernels.append(Kernel(path.parent, match[1], "", match[2], "", stage=True))
        elif kernels and kernels[-1].params and (match := EPILOGUE.match(line)):
            kernels[-1].epilogue = items(match[1])
        elif kernels and (match := PARAMS.match(line)):
            if match[1] not in structs:
                sys.exit(f"{where}: no header declares {match[1]}")
            kernels[-1].params = match[1]
            members = {name for _, name, _ in structs[match[1]].members}
            names = [n.rstrip("?") for n in kernels[-1].inputs + kernels[-1].outputs + kernels[-1].selectors]
            if twice := members & set(names) or {n for n in names if names.count(n) > 1}:
                sys.exit(f"{where}: {', '.join(twice)}: a name stands for one thing only")
        elif kernels and kernels[-1].params and (match := UNITS.match(line)):
            kernels[-1].unit, kernels[-1].prefix, kernels[-1].scratch, kernels[-1].vectors = match[1], match[2], match[3] or "", match[4] or ""
            if kernels[-1].scratch and kernels[-1].scratch not in kernels[-1].outputs:
                sys.exit(f"{where}: {kernels[-1].name} has no result {kernels[-1].scratch}")
        elif kernels and kernels[-1].params and kernels[-1].stage and (match := FUSION.match(line)):
            kernels[-1].add_fusion(*match.groups(), where)
        elif kernels and kernels[-1].params and (match := MEANS.match(line)):
            kernels[-1].means = " ".join(filter(None, match.groups()))
            check_names(kernels[-1], match[1].split()[1:], (match[2] or "").split(), structs, where)
        elif kernels and kernels[-1].params and (match := BODY.match(line)):
            kernels[-1].add_bodies(match[1], match[2], int(match[3] or DEFAULT_STACK), where)
        else:
            sys.exit(f"{where}: expected `kernel` or `stage`, then `params`, then `epilogue`, `units`, `from`, `joined by`, `means` or `body`, found: {line}")
    return kernels


def check_names(kernel, members, conditions, structs, where):
    """The kernel has these members, and the members and selectors of these conditions."""
    own = {name for _, name, _ in structs[kernel.params].walk(structs)}
    asked = {c.split("=")[0] for c in conditions}
    if wrong := set(members) - own | {c for c in asked if not c.startswith("before.")} - own - set(kernel.selectors):
        sys.exit(f"{where}: {kernel.name} has no {', '.join(sorted(wrong))}")


def fusion(stage, kernels, structs, given):
    """A row of the table of which calls become a stage."""
    joins, name, count, conditions, pairs, where = given
    if not (kernel := kernels.get(name)):
        sys.exit(f"{where}: there is no kernel {name}")
    fields = [member for kind, member, _ in structs[stage.params].walk(structs) if kind in LETTERS]
    if wrong := set(pairs) - set(fields):
        sys.exit(f"{where}: stage {stage.name} has no member {', '.join(sorted(wrong))}")
    members = {f: pairs.get(f, f) for f in fields}
    check_names(kernel, {v for m in members.values() for v in m.split("|") if not NUMBER.match(v)} | {count}, conditions, structs, where)
    return (f'{{"{name}", {int(joins)}, "{count}", "{" ".join(conditions)}", '
            f'"{" ".join(f"{m}={v}" for m, v in members.items())}"}}')


def thunk(kernel, symbol, file="portable.c"):
    """Calls a body; one that computes a unit is called for each, one after another."""
    arguments = [f"in[{i}]" for i in range(len(kernel.inputs))] + [f"out[{i}]" for i in range(len(kernel.outputs))]
    params, by_unit = f"(const {kernel.params} *)p", file.endswith(".cu")
    if by_unit:
        arguments.insert(0, "unit")
    return "\n".join([f"static void run_{symbol}(const void *p, const void *const *in, void *const *out) {{",
                      "  (void)in;\n  (void)out;",
                      *([f"  const int64_t units = {symbol}_units({params});",
                         "  for (int64_t unit = 0; unit < units; ++unit)"] if by_unit else []),
                      f"  {symbol}({', '.join([params] + arguments)});\n}}"])


def splitters(kernels):
    """Functions that split calls, once for each prefix."""
    found = {split: k.params for k in kernels for *_, split in k.bodies if split}
    for prefix, params in found.items():
        yield "\n".join([f"static int32_t units_{prefix}(const void *p) {{",
                         f"  return {prefix}_units((const {params} *)p);\n}}",
                         f"static int32_t part_{prefix}(void *p, const void **in, void **out, int32_t *units) {{",
                         f"  return {prefix}_subrange(({params} *)p, in, out, units);\n}}"])


def table(folder, kernels, structs, named):
    name = folder.name
    out = [f'#include "kernels/{name}/{"portable.c" if (folder / "portable.c").exists() else name + ".h"}"']
    if (folder / "call.h").exists():
        out.append(f'#include "kernels/{name}/call.h"')
    if any(k.unit for k in kernels):
        out.append(f'#include "kernels/{name}/split.c"')
    out += ['#include "kernels/table.h"', "", *splitters(kernels)]
    out += [f"static const size_t offsets_{s}[] = {{{', '.join(structs[s].offsets(structs))}}};"
            for s in sorted({k.params for k in kernels})]
    rows, entries = [], []
    for k in kernels:
        if k.fusions:
            out.append(f"static const qk_fusion fusions_{k.name}[] = {{{', '.join(fusion(k, named, structs, f) for f in k.fusions)}}};")
        for symbol, values, file, stack, vector_width, split in k.bodies:
            machine = k.machine_of(values)
            if not machine:
                out.append(thunk(k, symbol))
            rows.append(f'  {{"{symbol}", "{k.name}", "{",".join(values)}", "kernels/{name}/{file}", "{machine}", {stack}, '
                        f'{"NULL" if machine else "run_" + symbol}, "{split}", {f"units_{split}" if split else "NULL"}, '
                        f'{f"part_{split}" if split else "NULL"}, {vector_width}}},')
        entries.append(f'  {{"{k.name}", "{name}", "{",".join(k.selectors)}", "{",".join(k.inputs)}", '
                       f'"{",".join(k.outputs)}", "{k.params}", "{structs[k.params].fields(structs)}", '
                       f'"{structs[k.params].groups(structs)}", offsets_{k.params}, sizeof({k.params}), '
                       f'"{",".join(k.epilogue)}", {int(k.stage)}, "{k.unit}{" with " + k.scratch if k.scratch else ""}", '
                       f'{f"fusions_{k.name}" if k.fusions else "NULL"}, {len(k.fusions)}, "{k.means}"}},')
    out += ["", f"const qk_kernel qk_kernels_{name}[] = {{", *entries, "};",
            f"const size_t qk_kernel_count_{name} = {len(entries)};",
            f"const qk_body qk_bodies_{name}[] = {{", *(rows or ["  {0},"]), "};",
            f"const size_t qk_body_count_{name} = {len(rows)};", ""]
    return "\n".join(out)


def machine_tables(folder, kernels):
    """The text of a table of thunks for each machine that has bodies here."""
    found = {}
    for k in kernels:
        for symbol, values, file, *_ in k.bodies:
            if machine := k.machine_of(values):
                found.setdefault(machine, []).append((k, symbol, file))
    for machine, bodies in found.items():
        out = [f'#include "kernels/{folder.name}/{file}"' for file in sorted({file for _, _, file in bodies})]
        out += ['#include "kernels/table.h"', "", *(thunk(k, symbol, file) for k, symbol, file in bodies), "",
                f"const qk_thunk qk_thunks_{folder.name}_{machine}[] = {{",
                *(f'  {{"{symbol}", run_{symbol}}},' for _, symbol, _ in bodies), "};",
                f"const size_t qk_thunk_count_{folder.name}_{machine} = {len(bodies)};", ""]
        yield machine, "\n".join(out)


def operands(folder, kernels):
    """Where operands and results of the kernels of a folder stand among those of a call, for what splits calls."""
    split = [k for k in kernels if k.prefix]
    if not split:
        return ""
    check_splits(split)
    guard = f"QK_{folder.upper()}_OPERANDS_H"
    out = [f"#ifndef {guard}", f"#define {guard}"]
    for k in split:
        for way, names in (("IN", k.inputs), ("OUT", k.outputs)):
            if names:
                own = [f"QK_{k.name}_{way}_{name.rstrip('?')}".upper() for name in names]
                out += ["", "enum {", *(f"  {name}," for name in own[:-1]), f"  {own[-1]}", "};"]
    return "\n".join([*out, "", "#endif", ""])


def check_splits(kernels):
    """What splits calls of several kernels finds what they have in common at the same places."""
    known = {}
    for k in kernels:
        for prefix in {split for *_, split in k.bodies if split}:
            for names in (k.inputs, k.outputs):
                for at, name in enumerate(n.rstrip("?") for n in names):
                    if known.setdefault((prefix, name), at) != at:
                        sys.exit(f"kernel {k.name}: {name} stands elsewhere in another kernel that {prefix} splits")


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def twin(struct):
    """The C++ struct of a parameter struct."""
    return camel(struct.removeprefix("qk_"))


def params(folder, own, homes):
    """A twin in C++ of each struct: its integers may depend on free dimensions."""
    out = [f"// Parameters of the kernels of kernels/{folder}, with sizes that may be free; made from its headers.",
           "#pragma once", "", '#include "program/program.h"']
    used = {homes[kind] for s in own for kind, *_ in s.members if kind not in LETTERS} - {folder}
    out += [f'#include "kernels/{home}/params.h"' for home in sorted(used)]
    out += ["", "namespace qc::params {"]
    types = {"int32_t": "Dim", "int64_t": "Dim", "float": "float"}
    for struct in own:
        out += ["", f"struct {twin(struct.name)} {{",
                *(f"  {types.get(kind) or twin(kind)} {name}{f'[{count}]' if count else ''}{' = {}' if kind == 'float' else ''};"
                  for kind, name, count in struct.members),
                "  template <class Self, class F>", "  static void members(Self& p, F&& visit) {",
                *(f"    visit(p.{name});" for _, name, _ in struct.members), "  }", "};"]
    return "\n".join(out + ["", "}  // namespace qc::params", ""])


def calls(folder, kernels, homes):
    """A struct per kernel that op folders fill and hand to Lowering::emit."""
    name = folder.name
    out = [f"// Calls of the kernels of kernels/{name}; made from kernels.sig.", "#pragma once", "",
           f'#include "kernels/{name}/{name}.h"']
    if (folder / "call.h").exists():
        out.append(f'#include "kernels/{name}/call.h"')
    out += [f'#include "kernels/{home}/params.h"' for home in sorted({homes[k.params] for k in kernels})]
    space = ""
    for k in sorted(kernels, key=lambda k: not k.stage):
        if space != ("stage" if k.stage else "kernel"):
            out += ["", f"}}  // namespace qc::{space}"] * bool(space)
            space = "stage" if k.stage else "kernel"
            out += ["", f"namespace qc::{space} {{"]
        members = ["  std::vector<Stage> stages;"] if k.epilogue else []
        title, base = camel(k.name), f"params::{twin(k.params)}"
        views = [v.rstrip("?") for v in k.inputs + k.outputs]
        out += ["", f"struct {title} : {base} {{", f'  static constexpr const char* kName = "{k.name}";',
                f"  {title}() = default;", f"  explicit {title}({base} p) : {base}(std::move(p)) {{}}"]
        out += [f"  std::string {s};" for s in k.selectors] + [f"  View {v};" for v in views] + members
        out += [f"  std::vector<std::string_view> select() const {{ return {{{', '.join(k.selectors)}}}; }}",
                f"  std::vector<View> operand_views() const {{ return {{{', '.join(v.rstrip('?') for v in k.inputs)}}}; }}",
                f"  std::vector<View> result_views() const {{ return {{{', '.join(v.rstrip('?') for v in k.outputs)}}}; }}",
                "};"]
    return "\n".join(out + ["", f"}}  // namespace qc::{space}"] * bool(space) + [""])


def selectors(folder, kernels):
    """A struct per kernel with selectors: what a call of it selects, by name."""
    out = [f"// What calls of the kernels of kernels/{folder.name} select; made from kernels.sig.", "#pragma once", "",
           '#include "program/selectors.h"', "", "namespace qc::selectors {"]
    for k in (k for k in kernels if k.selectors):
        out += ["", f"struct {camel(k.name)} {{", f"  explicit {camel(k.name)}(const Call& call)",
                "      : " + ",\n        ".join(f'{s}(selector(call, "{s}"))' for s in k.selectors) + " {",
                f'    QC_CHECK(call.kernel->name == "{k.name}", "a call of another kernel");', "  }",
                *(f"  const std::string& {s};" for s in k.selectors), "};"]
    return "\n".join(out + ["", "}  // namespace qc::selectors", ""])


def check_epilogues(kernels, structs):
    """Kernels have the operands and the structs of the stages they take."""
    stages = {k.name: k for k in kernels if k.stage}
    for k in kernels:
        kinds = [kind for kind, *_ in structs[k.params].walk(structs)]
        for name in k.epilogue:
            if name not in stages:
                sys.exit(f"kernel {k.name}: there is no stage {name} (stages: {', '.join(stages)})")
            if wanted := {i.rstrip("?") + "?" for i in stages[name].inputs} - set(k.inputs):
                sys.exit(f"kernel {k.name} takes stage {name} and lacks {', '.join(sorted(wanted))}")
            if kinds.count(stages[name].params) != 1:
                sys.exit(f"kernel {k.name} takes stage {name} and has {kinds.count(stages[name].params)} members {stages[name].params}, not one")


def raw_literal(text):
    """C++ raw strings of at most 8 KiB, joined: longer literals exceed compilers' limits. `sv` gives compilers the length, which
    gcc otherwise counts character by character in its evaluator of constant expressions."""
    return "\n".join(f'R"qk({text[i:i + 8192]})qk"sv' for i in range(0, len(text), 8192)) or '""sv'


def folders_with_dots(parts, needs, defined):
    """The folders of bodies {(symbol, file, machine): parts} that need QN_DOT_MUL_ADD to say how they sum."""
    found = set()
    for (symbol, file, machine), own in defined.items():
        left, seen = list(own), set()
        while left:
            part = left.pop()
            if part not in seen:
                seen.add(part)
                left += needs[part]
        if any("defined(QN_DOT_MUL_ADD)" in parts[part] for part in seen):
            if machine:
                sys.exit(f"{file}: {symbol} has dot products as the program says; only bodies in portable.c may")
            found.add(file.split("/")[1])
    return sorted(found)


def sources(texts, whole, bodies):
    """C++ tables of the headers {path: text} that are printed whole, of the parts that the sources of functions
    (symbol, file, machine) consist of, and of what each needs; and the folders whose bodies have dot products as the
    program says."""
    # What splits calls comes last, so that it moves nothing in code that splits none.
    # What all machines of a language share is written once: kernels for GPUs may be in one program.
    lists = [(file, "cuda" if file.endswith(".cu") else machine) for _, file, machine in bodies]
    files = [sorted({file for file, of in lists if of == name}, key=lambda f: (f.endswith("/split.c"), f))
             for name in sorted({"", *(of for _, of in lists)})]
    parts, needs, defining = read_chunks(texts, WHOLE_HEADERS, files)
    out = ["const Header kHeaders[] = {", *(f'{{"{path}", {raw_literal(text)}}},' for path, text in sorted(whole.items())), "};",
           "const Part kParts[] = {"]
    at = 0
    for text, needed in zip(parts, needs):
        out.append(f"{{{raw_literal(text)}, {at}, {at + len(needed)}}},")
        at += len(needed)
    out += ["};", "const int kNeeds[] = {", *(",".join(map(str, needed)) + "," for needed in needs if needed), "};",
            "const Definition kDefinitions[] = {"]
    defined = {}
    for symbol, file, machine in sorted(bodies):
        found = defined[symbol, file, machine] = []
        for name in [symbol, f"{symbol}_units"] if file.endswith(".cu") else [symbol]:
            if not defining(file, name):
                sys.exit(f"{file} does not define {name}")
            found += defining(file, name)
        found += defining(file, f"{symbol}_shared") or []
        out += [f'{{"{symbol}"sv, {part}}},' for part in found]
    # Scalar functions, for kernels that are added when the program runs.
    names = {name for path, text in texts.items() if path.startswith("kernels/numerics/") for name in re.findall(r"\bqn_\w+", text)}
    out += [f'{{"{name}"sv, {part}}},' for name in sorted(names) for part in defining(None, name)]
    return "\n".join(out + ["};", ""]), folders_with_dots(parts, needs, defined)


def headers_and_sources(roots):
    """The files of the kernel folders as (file, path below its root), and all texts by path: those made from tables, too."""
    files = sorted(((p, p.relative_to(root).as_posix()) for root in roots for suffix in ("h", "c", "cu", "inc")
                    for p in (root / "kernels").glob(f"*/*.{suffix}")), key=lambda f: f[1])
    texts = {path: f.read_text() for f, path in files}
    texts |= {f"kernels/{path}": text for path, text in isa_tables.outputs(roots).items() if path.endswith(".h")}
    return files, texts


def runtime_headers(roots):
    """The runtimes of generated code, by path: session, launches, graphs and measurements of a device."""
    return {p.relative_to(root).as_posix(): p.read_text() for root in roots for p in (root / "runtime").glob("*/*.h")}


def main():
    arguments = [a for a in sys.argv[1:] if a != "--portable-only"]
    portable_only = len(arguments) < len(sys.argv) - 1
    output, roots = pathlib.Path(arguments[0]), [pathlib.Path(p) for p in arguments[1:]]
    folders = sorted((p.parent for root in roots for p in (root / "kernels").glob("*/kernels.sig")),
                     key=lambda p: p.name)
    files, texts = headers_and_sources(roots)
    structs, homes = {}, {}  # by name: the members, and the folder
    for header, _ in files:
        if header.suffix == ".h":
            found = read_structs(header.read_text(), header)
            structs.update(found)
            homes.update(dict.fromkeys(found, header.parent.name))
    machines, bodies = [], []
    signed = {folder: signatures(folder / "kernels.sig", structs) for folder in folders}
    check_epilogues([k for kernels in signed.values() for k in kernels], structs)
    named = {k.name: k for kernels in signed.values() for k in kernels if not k.stage}
    for folder, kernels in signed.items():
        bodies += [(symbol, f"kernels/{folder.name}/{file}", k.machine_of(values))
                   for k in kernels for symbol, values, file, *_ in k.bodies]
        bodies += sorted({(f"{split}_{what}", f"kernels/{folder.name}/split.c", "")
                          for k in kernels for *_, vector_width, split in k.bodies if split
                          for what in ("subrange", "units", *(["advance", "spans"] if vector_width else []))})
        write(output / f"{folder.name}_table.c", table(folder, kernels, structs, named))
        write(output / folder.name / "calls.h", calls(folder, kernels, homes))
        write(output / folder.name / "selectors.h", selectors(folder, kernels))
        if positions := operands(folder.name, kernels):
            texts[f"kernels/{folder.name}/operands.h"] = positions
            write(output / folder.name / "operands.h", positions)
        for machine, text in [] if portable_only else machine_tables(folder, kernels):
            write(output / f"{folder.name}_{machine}_table.c", text)
            machines.append((folder.name, machine))
    used = {k.params for kernels in signed.values() for k in kernels}
    used |= {kind for name in used for kind, *_ in structs[name].walk(structs) if kind not in LETTERS}
    for home in sorted({homes[s] for s in used}):  # in the order of the headers: what a struct is made of comes before it
        write(output / home / "params.h", params(home, [s for name, s in structs.items() if name in used and homes[name] == home], homes))
    write(output / "folders.inc", "".join(f"QK_FOLDER({f.name})\n" for f in folders))
    write(output / "machines.inc", "".join(f"QK_MACHINE({f}, {m})\n" for f, m in machines))
    variants = sorted(f"{p.parent.name}_{p.name.removesuffix('.variant.cpp')}"
                      for root in roots for p in (root / "kernels").glob("*/*.variant.cpp")
                      if not portable_only or root != roots[0] or p.name.startswith("portable"))
    write(output / "variants.inc", "".join(f"QC_VARIANTS({v})\n" for v in variants))
    for path, made in isa_tables.outputs(roots).items():
        write(output / path, made)
    whole = {path: texts[path] for path in WHOLE_HEADERS} | runtime_headers(roots)
    text, dots = sources(texts, whole, bodies)
    write(output / "sources.inc", text)
    write(output / "dots.inc", "".join(f"QK_DOTS({f})\n" for f in dots))


if __name__ == "__main__":
    main()
