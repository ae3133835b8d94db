"""Makes the kernel tables quantc is built with from kernels/*/.

usage: kernel_tables.py SOURCE_ROOT OUTPUT_DIR

Each family folder holds FAMILY.h (parameter structs and contract), portable.c (bodies) and
kernels.inc (one QK_KERNEL line per kernel; {a,b} in a name expands; QK_STACK(bytes) before kernels
that, with all they call, may take more than 1024 bytes of stack). Written to OUTPUT_DIR:
  FAMILY_table.c   thunks and the table of the family
  families.inc     the list of families
  sources.inc      the text of every file under kernels
Files are rewritten only when they change, so nothing rebuilds without need.
"""
import pathlib
import re
import sys

STRUCT = re.compile(r"typedef struct \{(.*?)\}\s*(qk_\w+);", re.S)
FIELD = re.compile(r"(int32_t|float)\s+([^;]+);")
KERNEL = re.compile(r"^QK_KERNEL\((.+?),\s*(\w+),\s*(\d+),\s*(\d+)\)\s*$")
STACK = re.compile(r"^QK_STACK\((\d+)\)$")


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def expand(name):
    """qk_{a,b}_{x,y} -> all combinations, in order."""
    match = re.search(r"\{([^}]*)\}", name)
    if not match:
        return [name]
    head, tail = name[: match.start()], name[match.end():]
    return [full for part in match.group(1).split(",") for full in expand(head + part.strip() + tail)]


def struct_fields(text, where):
    structs = {}
    for body, name in STRUCT.findall(re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)):
        left = FIELD.sub("", body).strip()
        if left:
            sys.exit(f"{where}: {name} may hold int32_t and float members only, found: {left}")
        fields = []
        for kind, names in FIELD.findall(body):
            for field in names.split(","):
                fields.append(("i " if kind == "int32_t" else "f ") + field.strip())
        structs[name] = ",".join(fields)
    return structs


def family_table(root, folder, structs):
    name = folder.name
    kernels, stack = [], 1024
    for line in (folder / "kernels.inc").read_text().splitlines():
        line = line.strip()
        if not line or line.startswith("//"):
            continue
        if bound := STACK.match(line):
            stack = int(bound[1])
            continue
        match = KERNEL.match(line)
        if not match:
            sys.exit(f"{folder}/kernels.inc: not a QK_KERNEL line: {line}")
        pattern, params, inputs, outputs = match.groups()
        if params not in structs:
            sys.exit(f"{folder}/kernels.inc: no header declares {params}")
        kernels += [(k, params, int(inputs), int(outputs), stack) for k in expand(pattern)]
    out = [f'#include "kernels/{name}/portable.c"', "#include <stddef.h>", ""]
    out += ["typedef struct qk_entry {", "  const char *name, *family, *params, *fields;",
            "  size_t params_size;", "  int inputs, outputs, stack;",
            "  void (*run)(const void *, const void *const *, void *const *);", "} qk_entry;", ""]
    for kernel, params, inputs, outputs, _ in kernels:
        args = [f"in[{i}]" for i in range(inputs)] + [f"out[{i}]" for i in range(outputs)]
        out.append(f"static void run_{kernel}(const void *p, const void *const *in, void *const *out) {{")
        out.append("  (void)in;\n  (void)out;")
        out.append(f"  {kernel}({', '.join(['(const ' + params + ' *)p'] + args)});\n}}")
    out.append(f"\nconst qk_entry qk_table_{name}[] = {{")
    for kernel, params, inputs, outputs, stack in kernels:
        out.append(f'  {{"{kernel}", "{name}", "{params}", "{structs[params]}", sizeof({params}), '
                   f"{inputs}, {outputs}, {stack}, run_{kernel}}},")
    out.append(f"}};\nconst size_t qk_count_{name} = {len(kernels)};\n")
    return "\n".join(out)


def raw_literal(text):
    """C++ raw strings of at most 8 KiB, joined: longer literals exceed compilers' limits."""
    return "\n".join(f'R"qk({text[i:i + 8192]})qk"' for i in range(0, len(text), 8192)) or '""'


def main():
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    folders = sorted(p.parent for p in (root / "kernels").glob("*/kernels.inc"))
    files = sorted(p for pattern in ("*/*.h", "*/*.c", "*/*.inc")
                   for p in (root / "kernels").glob(pattern) if p.suffix in (".h", ".c", ".inc"))
    structs = {}
    for header in files:
        if header.suffix == ".h":
            structs.update(struct_fields(header.read_text(), header))
    for folder in folders:
        write(output / f"{folder.name}_table.c", family_table(root, folder, structs))
    write(output / "families.inc", "".join(f"QK_FAMILY({f.name})\n" for f in folders))
    rows = [f'{{"{f.relative_to(root).as_posix()}", {raw_literal(f.read_text())}}},' for f in files]
    write(output / "sources.inc", "const Source kSources[] = {\n" + "\n".join(rows) + "\n};\n")


if __name__ == "__main__":
    main()
