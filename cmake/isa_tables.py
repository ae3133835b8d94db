"""Reads the tables of instruction sets, ROOT/kernels/isa.table, and makes of them what the build and generated code need.

  isa NAME [on PROCESSOR]        a value of the selector `machine`; without PROCESSOR every machine runs its bodies in process
    needs FEATURE ...            what the processor must have: words of __builtin_cpu_supports on x86_64, `feature` rows elsewhere
    gcc TEXT, clang TEXT         of `#pragma GCC target` and clang's target attribute; on x86_64 they follow from `needs`
    option FLAG ...              of a compiler of the whole file; on x86_64 they follow from `needs`
    macro NAME ...               that kernels ask for: the first selects the instruction set, the rest are defined with it
    rebuild                      the portable bodies of hot kernels are compiled again with it, to run in process
    target NAME "SUMMARY" OFFER ...   code can be generated for it; OFFERs are the features of variants it takes
    facts "MACHINE" KEY=NUMBER ...    of that target: members of Facts (src/target/facts.h); others are those of a nominal core
  feature NAME on PROCESSOR      a predicate qk_processor_has_NAME()
    linux NAME                   HWCAP_ or HWCAP2_ bit
    apple NAME                   sysctl
    predefined MACRO             of a compiler that may assume the feature, on other systems

Comments begin with #. Rows of later tables follow those of earlier ones.
"""
import pathlib
import re
import shlex
import sys

FACTS = ("clock_ghz", "vector_bytes", "f32_gmacs", "i16_gmacs", "i8_gmacs", "memory_gbs")  # in the order of the members
FACT = re.compile(rf"^({'|'.join(FACTS)})=(\d+(\.\d+)?)$")
HEAD = re.compile(r"^(isa|feature) (\w+)(?: on (\w+))?$")


class Row:
    def __init__(self, kind, name, processor):
        self.kind, self.name, self.processor = kind, name, processor or ""
        self.needs, self.option, self.macro, self.target, self.facts = [], [], [], [], []
        self.gcc = self.clang = self.linux = self.apple = self.predefined = ""
        self.rebuild = False

    def set(self, key, words, where):
        kinds = {"isa": ("needs", "option", "macro", "target", "facts", "gcc", "clang", "rebuild"),
                 "feature": ("linux", "apple", "predefined")}[self.kind]
        if key not in kinds:
            sys.exit(f"{where}: `{self.kind}` takes {', '.join(kinds)}, found: {key}")
        if key == "rebuild":
            self.rebuild = True
        elif isinstance(getattr(self, key), list):
            setattr(self, key, words)
        elif len(words) == 1:
            setattr(self, key, words[0])
        else:
            sys.exit(f"{where}: `{key}` takes one word")

    def finish(self, where):
        if self.kind == "isa" and self.processor == "x86_64":
            self.gcc = self.gcc or ",".join(self.needs)
            self.clang = self.clang or ",".join(self.needs)
            self.option = self.option or [f"-m{feature}" for feature in self.needs]
        if self.target and (len(self.target) < 2 or not self.macro or not self.processor):
            sys.exit(f'{where}: isa {self.name}: a target is NAME "SUMMARY" OFFER ..., of a processor, and has a macro')
        if self.facts and (not self.target or not all(FACT.match(fact) for fact in self.facts[1:])):
            sys.exit(f'{where}: isa {self.name}: facts are "MACHINE" KEY=NUMBER ... of a target, with keys {", ".join(FACTS)}')
        if self.kind == "feature" and not (self.processor and self.linux and self.apple and self.predefined):
            sys.exit(f"{where}: feature {self.name}: needs a processor, linux, apple and predefined")


def read(roots):
    """All rows, in the order of the tables."""
    rows = []
    for path in (pathlib.Path(root) / "kernels" / "isa.table" for root in roots):
        if not path.exists():
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path}:{number}"
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if match := HEAD.match(" ".join(words)):
                if any(row.kind == match[1] and row.name == match[2] for row in rows):
                    sys.exit(f"{where}: there is another {match[1]} {match[2]}")
                rows.append(Row(*match.groups()))
            elif rows and line[0].isspace():
                rows[-1].set(words[0], words[1:], where)
            else:
                sys.exit(f"{where}: expected `isa NAME` or `feature NAME`, found: {line}")
        for row in rows:
            row.finish(path)
    return rows


def isas(rows):
    return [row for row in rows if row.kind == "isa"]


def by_processor(rows):
    """Rows of each processor that has any."""
    names = dict.fromkeys(row.processor for row in rows if row.processor)
    return [(name, [row for row in rows if row.processor == name]) for name in names]


def has(row_processor, feature):
    """A C expression."""
    return f'__builtin_cpu_supports("{feature}")' if row_processor == "x86_64" else f"qk_processor_has_{feature}()"


def target_header(rows):
    """kernels/common/target.h: the instructions that follow may be used by functions of a file compiled without options."""
    coded = [row for row in isas(rows) if row.target]
    out = ["/* Before the kernels of one instruction set, in a file that is compiled without options for it: with the macro of",
           " * the instruction set defined, all functions that follow may use its instructions. System headers come first, for",
           " * they are not to change. The functions end with QK_TARGET_END. */",
           "#ifndef QK_TARGET_H", "#define QK_TARGET_H", "",
           "#include <math.h>", "#include <stddef.h>", "#include <stdint.h>", "#include <string.h>",
           "#if defined(__x86_64__)", "#include <immintrin.h>", "#elif defined(__aarch64__)", "#include <arm_neon.h>", "#endif", ""]
    word = "if"
    for row in coded:
        out.append(f"#{word} defined({row.macro[0]})")
        out += [f"#define {macro} 1" for macro in row.macro[1:]]
        if row.clang:
            out += ["#if defined(__clang__)", '#define QK_TARGET_END _Pragma("clang attribute pop")',
                    f'#pragma clang attribute push(__attribute__((target("{row.clang}"))), apply_to = function)',
                    "#else", '#define QK_TARGET_END _Pragma("GCC pop_options")',
                    "#pragma GCC push_options", f'#pragma GCC target("{row.gcc}")', "#endif"]
        else:
            out.append("#define QK_TARGET_END")
        word = "elif"
    return "\n".join([*out, "#else", "#define QK_TARGET_END", "#endif", "", "#endif", ""])


def processor_header(rows):
    """kernels/common/processor.h: predicates of features, and of whole instruction sets."""
    features = [row for row in rows if row.kind == "feature"]
    out = ["/* What the processor that runs this has, where the compiler has no word to ask for it: on x86-64,",
           " * __builtin_cpu_supports does. Linux (Android too) and Apple's systems are asked; elsewhere the compiler's",
           " * options say it. One text for quantc and for the code that it generates. */",
           "#ifndef QK_PROCESSOR_H", "#define QK_PROCESSOR_H"]
    for processor, own in by_processor(features):
        out += ["", f"#if defined(__{processor}__)", "#if defined(__linux__)", "#include <asm/hwcap.h>", "#include <sys/auxv.h>",
                "#elif defined(__APPLE__)", "#include <stddef.h>", "#include <sys/sysctl.h>", "#endif"]
        for row in own:
            vector = "AT_HWCAP2" if row.linux.startswith("HWCAP2_") else "AT_HWCAP"
            out += ["", f"static inline int qk_processor_has_{row.name}(void) {{", "#if defined(__linux__)",
                    f"  return (getauxval({vector}) & {row.linux}) != 0;", "#elif defined(__APPLE__)",
                    "  int has = 0;", "  size_t size = sizeof has;",
                    f'  return sysctlbyname("{row.apple}", &has, &size, NULL, 0) == 0 && has;',
                    f"#elif defined({row.predefined})", "  return 1;", "#else", "  return 0;", "#endif", "}"]
        out.append("#endif")
    return "\n".join([*out, "", "#endif", ""])


def testing_header(rows):
    """isa_testing.h: what tests and benchmarks in C, compiled for one instruction set by its macro, ask for."""
    out = ["/* Whether this machine has the instructions that the macro of an instruction set means. */",
           "static inline int qk_machine_has_target(void) {"]
    word = "if"
    for row in (row for row in isas(rows) if row.target and row.needs):
        out += [f"#{word} defined({row.macro[0]})", f"  return {' && '.join(has(row.processor, f) for f in row.needs)};"]
        word = "elif"
    return "\n".join([*out, "#else" if word == "elif" else "", "  return 1;", "#endif" if word == "elif" else "", "}", ""])


def cpp_rows(rows):
    """isa.inc: QK_HAS(FEATURE, EXPRESSION) of the processor that this is compiled for, QK_ISA rows of what code is generated for."""
    out = ["#if defined(QK_HAS)"]
    for processor, own in by_processor(isas(rows)):
        out.append(f"#if defined(__{processor}__)")
        out += [f'QK_HAS("{feature}", {has(processor, feature)})' for feature in dict.fromkeys(f for row in own for f in row.needs)]
        out.append("#endif")
    out += ["#endif", "#if defined(QK_ISA)"]
    for row in (row for row in isas(rows) if row.target):
        name, summary, *offers = row.target
        quoted = [", ".join(f'"{word}"' for word in words) for words in (offers, row.needs)]
        facts = dict(fact.split("=") for fact in row.facts[1:])
        figures = [f'.machine = "{row.facts[0]}"'] * bool(row.facts) + [f".{key} = {facts[key]}" for key in FACTS if key in facts]
        out.append(f'QK_ISA("{name}", "{summary}", "{row.macro[0]}", "__{row.processor}__", QK_LIST({quoted[0]}), QK_LIST({quoted[1]}), {", ".join(figures)})')
    return "\n".join([*out, "#endif", ""])


def cmake_rows(rows):
    """isa.cmake: names of the instruction sets of each processor, and per name flags, features and whether it rebuilds."""
    out = [f"set(qc_isas_any {' '.join(row.name for row in isas(rows) if not row.processor)})"]
    for processor, own in by_processor(isas(rows)):
        out.append(f"set(qc_isas_{processor} {' '.join(row.name for row in own)})")
        out.append(f"set(qc_rebuilds_{processor} {' '.join(row.name for row in own if row.rebuild)})")
    for row in isas(rows):
        flags = " ".join([*row.option, *(f"-D{macro}=1" for macro in row.macro if macro != "QK_TARGET_FMA")])
        out += [f"set(qc_isa_flags_{row.name} {flags})", f'set(qc_isa_needs_{row.name} "{",".join(row.needs)}")']
    return "\n".join([*out, ""])


def outputs(roots):
    """Path below the output folder -> text."""
    rows = read(roots)
    return {"common/target.h": target_header(rows), "common/processor.h": processor_header(rows),
            "common/isa_testing.h": testing_header(rows), "isa.inc": cpp_rows(rows), "isa.cmake": cmake_rows(rows)}
