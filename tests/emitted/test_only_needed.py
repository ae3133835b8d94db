"""Generated files hold what the program calls and nothing else."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What compilers say about machines: each choice of parts in the kernels' conditionals is taken by one of these.
MACHINES = [[], ["__GNUC__"], ["__GNUC__", "__clang__", "__SSE2__"], ["__GNUC__", "QN_SOFT_FMA"], ["__GNUC__", "QN_DOT_MUL_ADD"],
            ["__GNUC__", "__AVX2__", "__FMA__"], ["__GNUC__", "__AVX512F__", "__AVX512VL__", "__FMA__"],
            ["__GNUC__", "__AVX512F__", "__AVX512VL__", "__AVX512BW__"], ["__GNUC__", "__aarch64__"],
            ["__GNUC__", "__arm__", "__ARM_FP"]]
# The kernel header's bytes; it grows only where kernels do.
LIMITS = {"float": 42_000, "int8": 80_000}


@pytest.fixture(scope="module", params=["float", "int8", "gru", "attention"])
def network(request, quantc, models, tmp_path_factory):
    """(its name, the folder with its C)"""
    model = {"gru": "gru.onnx", "attention": "hf_llama.onnx"}.get(request.param, "digits.onnx")
    rules = ["--rules", ROOT / "examples/digits/rules.toml"] if request.param == "int8" else []
    out = tmp_path_factory.mktemp(request.param)
    quantc("compile", models / model, "-o", out, "--name", "net", "--target", "portable", *rules)
    return request.param, out


def definitions(out, machine):
    """The definitions at the top of net.c and its kernels as that machine's compiler sees them."""
    text = "".join((out / name).read_text() for name in ("net_kernels.h", "net.c"))
    text = re.sub(r"^#include .*$", "", text, flags=re.M)
    flags = [f"-D{name}=1" for name in machine]
    done = subprocess.run(["gcc", "-E", "-P", "-undef", *flags, "-xc", "-"], input=text, capture_output=True, text=True,
                          check=True)
    found, depth, start = [], 0, 0
    for match in re.finditer(r"[{}();]", done.stdout):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(match[0], 0)
        if depth == 0 and match[0] in "};":
            found.append(done.stdout[start:match.end()])
            start = match.end()
    return found


def test_every_function_is_used(network):
    """On some machine. Where machines have functions of the same name, that one is called counts for all."""
    calls, left = {}, set()  # a kernel's function -> what it names; what the program names
    for machine in MACHINES:
        for text in definitions(network[1], machine):
            head = re.sub(r"__attribute__\(\(.*?\)\)", "", text[:text.find("{")])
            name = re.search(r"\b(q[kn]_\w+)\s*\(", head)
            used = set(re.findall(r"\bq[kn]_\w+", text))
            if name and "net_" not in head:
                calls.setdefault(name[1], set()).update(used)
            elif "net_" in head:
                left |= used
    reached = set()
    while left:
        name = left.pop()
        if name in calls and name not in reached:
            reached.add(name)
            left |= calls[name]
    assert len(calls) >= 4
    assert sorted(set(calls) - reached) == []


def test_size_of_the_kernel_header(network):
    name, out = network
    assert (out / "net_kernels.h").stat().st_size < LIMITS.get(name, 150_000)


def test_one_body_of_each_folder_compiles_alone(tmp_path):
    """The parts of one body, each in a file of its own, without a warning; all files in one run of the compiler."""
    sys.path.insert(0, str(ROOT / "cmake"))
    import kernel_chunks
    import kernel_tables
    _, texts = kernel_tables.headers_and_sources([ROOT])
    structs = {}
    for path, text in texts.items():
        if path.endswith(".h"):
            structs.update(kernel_tables.read_structs(text, path))
    bodies = {f"kernels/{path.parent.name}/{file}": symbol for path in sorted(ROOT.glob("kernels/*/kernels.sig"))
              for kernel in kernel_tables.signatures(path, structs) for symbol, _, file, *_ in kernel.bodies if file == "portable.c"}
    parts, needs, defining = kernel_chunks.read_chunks(texts, kernel_tables.WHOLE_HEADERS, [sorted(bodies)])
    for file, symbol in bodies.items():
        taken, left = set(), list(defining(file, symbol))
        while left:
            part = left.pop()
            if part not in taken:
                taken.add(part)
                left += needs[part]
        (tmp_path / f"{symbol}.c").write_text("\n".join(parts[i] for i in sorted(taken)) + "\n")
    assert len(bodies) > 30
    done = subprocess.run(["gcc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                           *sorted(tmp_path.glob("*.c"))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
