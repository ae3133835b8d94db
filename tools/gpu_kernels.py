"""Writes CUDA sources in which each kernel of the tree can be launched by name (tests/cuda/replay.h), a file for each file of bodies."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "cmake"))
import kernel_tables  # noqa: E402

MACHINES = {"": "portable", "cuda": "cuda", "block": "block", "mma": "mma", "wgmma": "wgmma"}  # those of CUDA
# Folders of products, whose weights lie as the arena is aligned.
ARENA_ONLY = {"qattention", "qconv", "qgemm", "qtile"}


def kernel_folders():
    """(folder, its kernels)."""
    structs = {}
    for header in sorted(ROOT.glob("kernels/*/*.h")):
        structs.update(kernel_tables.read_structs(header.read_text(), header))
    for path in sorted(ROOT.glob("kernels/*/kernels.sig")):
        yield path.parent.name, kernel_tables.signatures(path, structs)


def kernels():
    for _, own in kernel_folders():
        yield from own


def write_made_headers(folder):
    """What the build makes of signatures for split.c."""
    for name, own in kernel_folders():
        if text := kernel_tables.operands(name, own):
            header = folder / "kernels" / name / "operands.h"
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(text)


def bodies():
    """(folder, file, kernel, symbol, machine, vector_width, split) of every body that a GPU can run."""
    for kernel in kernels():
        for symbol, values, file, _, vector_width, split in kernel.bodies:
            machine = kernel.machine_of(values)
            if not machine or file.endswith(".cu"):
                yield kernel.folder.name, file, kernel, symbol, machine, vector_width, split


def written_for_gpus():
    """The symbols of the bodies that only GPUs have."""
    return {symbol for _, _, _, symbol, machine, *_ in bodies() if machine}


def recorded(path):
    """The symbols of the calls in a file of record_calls."""
    data = path.read_bytes()
    return {symbol for _, _, _, symbol, *_ in bodies() if len(symbol).to_bytes(4, "little") + symbol.encode() in data}


def launch(kernel, symbol, machine, vector_width, split):
    """A kernel and the function that starts it."""
    params = kernel.params
    inputs, outputs = range(len(kernel.inputs)), range(len(kernel.outputs))
    if machine:
        block = machine != "cuda"
        pointers = ", ".join([f"a.in[{i}]" for i in inputs] + [f"a.out[{i}]" for i in outputs])
        run = f"  {'QK_FOR_BLOCK' if block else 'QK_FOR_UNIT'}(units) {symbol}(&p, unit, {pointers});\n"
        units, start = f"{symbol}_units(&p)", "qk_launch"
        if block:
            units, start = f"{symbol}_shared(&p), {units}", "qk_launch_blocks"
        head = f"QK_GLOBAL run_{symbol}(int64_t units, const {params} p, const replay_arguments a) {{\n"
    elif vector_width:
        pointers = "".join([f", qk_pointer{{in[{i}]}}" for i in inputs] + [f", qk_pointer{{out[{i}]}}" for i in outputs])
        run = (f"  const void *const in[] = {{{', '.join(f'a.in[{i}]' for i in inputs)}}};\n  void *const out[] = {{{', '.join(f'a.out[{i}]' for i in outputs)}}};\n"
               f"  QK_FOR_VECTORS(units, {vector_width})\n  qk_vectors<{vector_width}>(thread, units, p, in, out, QK_CALLED({split}_spans), QK_CALLED({split}_advance),\n"
               f"    [](const {params} *p, const void *const *in, void *const *out) {{ {symbol}(p{pointers}); }});\n")
        units, start = "units", f"qk_launch_vectors<{vector_width}>"
        head = f"QK_GLOBAL run_{symbol}(int64_t units, const {params} p, const replay_arguments a) {{\n"
    else:
        pointers = "".join([f", qk_pointer{{a.in[{i}]}}" for i in inputs] + [f", qk_pointer{{a.out[{i}]}}" for i in outputs])
        part = f"    int32_t own[4] = {{(int32_t)unit, (int32_t)unit + 1, 0, 0}};\n    {split}_subrange(&p, a.in, a.out, own);\n" if split else ""
        run = (f"  QK_FOR_UNIT(units) {{\n    {params} p = given;\n    replay_arguments a = all;\n    (void)a;\n{part}    {symbol}(&p{pointers});\n  }}\n")
        units, start = "units", "qk_launch"
        head = f"QK_GLOBAL run_{symbol}(int64_t units, const {params} given, const replay_arguments all) {{\n"
    return (f"{head}{run}}}\n"
            f"static cudaError_t launch_{symbol}(const qk_queue *queue, const void *params, int64_t units, const replay_arguments *a) {{\n"
            f"  {params} p;\n  (void)units;\n  memcpy(&p, params, sizeof p);\n"
            f"  return {start}(queue, run_{symbol}, {units}, p, *a);\n}}\n")


def write(folder, wanted=None):
    """The sources, for the symbols that are wanted (None: all); returns their names."""
    write_made_headers(folder)
    found = {}
    for name, file, kernel, symbol, machine, vector_width, split in bodies():
        if wanted is None or symbol in wanted:
            found.setdefault((name, file), []).append((kernel, symbol, machine, vector_width, split))
    tables = []
    for (name, file), those in found.items():
        table = f"replay_{name}_{file.split('.')[0]}"
        text = [f'#include "replay.h"\n#include "kernels/{name}/{file}"\n']
        if any(split for *_, split in those):
            text.append(f'#include "kernels/{name}/split.c"\n')
        text += [launch(*one) for one in those]
        rows = "".join(f'  {{"{symbol}", {str(name not in ARENA_ONLY).lower()}, launch_{symbol}}},\n' for _, symbol, *_ in those)
        text.append(f"extern const replay_entry {table}[];\nconst replay_entry {table}[] = {{\n{rows}  {{nullptr, false, nullptr}}}};\n")
        (folder / f"{table}.cu").write_text("".join(text))
        tables.append(table)
    externs = "".join(f"extern const replay_entry {t}[];\n" for t in tables)
    (folder / "tables.cu").write_text(f'#include "replay.h"\n{externs}const replay_entry *const replay_tables[] = {{{", ".join(tables)}, nullptr}};\n')
    return tables


def some_of_each():
    """A body of each kernel for each op and path, with the first of the types."""
    types = {"type", "from", "to", "codes", "x_codes", "w_codes", "bits", "bytes", "index", "element"}
    found = {}
    for kernel in kernels():
        for symbol, values, *_ in kernel.bodies:
            found.setdefault((kernel.name, *(v for s, v in zip(kernel.selectors, values) if s not in types)), symbol)
    return set(found.values())


def table():
    """What computes the kernels of each folder on CUDA, in Markdown."""
    rows, folders = ["| folder | a thread for each | a block of threads | one thread |", "|---|---|---|---|"], {}
    for kernel in kernels():
        machines = {kernel.machine_of(values) for _, values, *_ in kernel.bodies} & set(MACHINES)
        if not machines:
            continue
        threads, blocks, one = folders.setdefault(kernel.folder.name, ([], [], []))
        if machines & {"block", "mma", "wgmma"}:
            blocks.append(f"`{kernel.name}`")
        elif "cuda" in machines:
            threads.append(f"`{kernel.name}`: result")
        elif kernel.unit:
            unit = {"indices": "index", "all": "call"}.get(kernel.unit) or " or ".join(u.rstrip("s") for u in kernel.unit.split("_or_"))
            threads.append(f"`{kernel.name}`: {unit.replace('_', ' ')}")
        else:
            one.append(f"`{kernel.name}`")
    return "\n".join(rows + [f"| {name} | {', '.join(t)} | {', '.join(b)} | {', '.join(o)} |" for name, (t, b, o) in sorted(folders.items())])


if __name__ == "__main__":
    print(table())
