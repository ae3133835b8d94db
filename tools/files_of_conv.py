#!/usr/bin/env python3
"""The files of this tree that one quantized convolution passes through on its way to generated code.

usage: tools/files_of_conv.py [--root TREE] [--list]

For AVX-512 VNNI in C and for wgmma in CUDA C++ it counts what a reader has to open to follow a convolution of codes from its
op to the instructions:

| part | files |
|---|---|
| op | the sources that lower a convolution of codes |
| program | passes over its call: stages of its epilogue, selection of the variant, parameters |
| kernel | the body, the signatures and the host file of the variant |
| backend | the printers of a call |

Each with the headers they include, once; of headers only those of ops, quantization, programs, targets, kernels, runtimes and
backends: the vocabulary of every op (src/ir, src/support, src/interp) and what the build generates do not count. The definition is
the same for every revision, so that figures of two trees can be compared: files that a tree does not have are left out.
"""
import argparse
import pathlib
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
OP = ["src/ops/conv/qconv.cpp", "src/ops/common/weighted.cpp", "src/quant/quantize_epilogue.cpp"]
PROGRAM = [f"src/program/{name}.cpp" for name in ("lowering", "fuse_epilogues", "epilogue", "select_kernels", "variant", "params")]
# Files of kernels that take part, by machine: bodies first found of each group, and the host files of the variant.
KERNELS = {
    "AVX-512 VNNI in C": [["kernels/qconv/avx512vnni.c"], ["kernels/qconv/avx512vnni.variant.cpp"]],
    "wgmma in CUDA C++": [["kernels/qtile/wgmma.cu", "kernels/qconv/wgmma.cu"],
                          ["kernels/qconv/wgmma.variant.cpp", "kernels/qconv/mma.variant.cpp"]],
}
BACKEND = {"AVX-512 VNNI in C": "c", "wgmma in CUDA C++": "cuda"}
PRINTERS = ["source.cpp", "source.h", "../common/steps.cpp", "../common/kernels_text.cpp"]
COUNTED = ("kernels/", "runtime/", *(f"src/{name}/" for name in ("ops", "quant", "program", "target", "backends")))
# The call, its stages, and the call that the variant makes of it.
SIGNATURES = {"AVX-512 VNNI in C": ["kernels/qconv/kernels.sig", "kernels/epilogue/kernels.sig"],
              "wgmma in CUDA C++": ["kernels/qconv/kernels.sig", "kernels/epilogue/kernels.sig", "kernels/qtile/kernels.sig"]}


def closure(root, files):
    """Files and what they include, of the tree alone."""
    found, todo = set(), [f for f in files if (root / f).exists()]
    while todo:
        at = todo.pop()
        if at in found:
            continue
        found.add(at)
        for name in INCLUDE.findall((root / at).read_text()):
            beside = f"{at.rsplit('/', 1)[0]}/{name}"
            todo += [f for f in (name, f"src/{name}", beside) if (root / f).is_file()][:1]
    return {f for f in found if f.startswith(COUNTED)}


def parts(root, machine):
    """Files of each part, each file in the first that has it."""
    kernel = [next((f for f in names if (root / f).exists()), "") for names in KERNELS[machine]]
    backend = [f"src/backends/{name.removeprefix('../')}" if name.startswith("../") else f"src/backends/{BACKEND[machine]}/{name}"
               for name in PRINTERS]
    found = {
        "op": closure(root, OP),
        "program": closure(root, PROGRAM),
        "kernel": closure(root, kernel) | {f for f in SIGNATURES[machine] if (root / f).exists()},
        "backend": closure(root, backend),
    }
    seen = set()
    for name, files in found.items():
        found[name] = files - seen
        seen |= files
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--list", action="store_true", help="name the files")
    given = parser.parse_args()
    for machine in KERNELS:
        found = parts(given.root, machine)
        counts = ", ".join(f"{name} {len(files)}" for name, files in found.items())
        print(f"{machine}: {sum(map(len, found.values()))} files ({counts})")
        for files in found.values() if given.list else ():
            print("".join(f"  {f}\n" for f in sorted(files)), end="")


if __name__ == "__main__":
    main()
