"""Sums and products of codes are vectors, in generated code and in the kernels that run in process, where parameters are known at run
time only. Vectors are counted as the compiler reports them, for a named instruction set."""
import re
import subprocess

import pytest

CALLS = """#include "kernels/qbinary/portable.c"
void known(const void *a, const void *b, void *y) {
  static const qk_qbinary_params p = {.rank = 2, .dims = {32, 1408}, .a = {2816, 1}, .b = {2816, 1}, .type_a = %s, .type_b = %s,
                                      .type_y = %s, .zero = 3, .lo = 0, .hi = 100, .ra = 0.01f, .rb = 0.3f, .za = 1, .zb = 2};
  qk_%s(&p, a, b, y);
}
void given(const qk_qbinary_params *p, const void *a, const void *b, void *y) { qk_%s(p, a, b, y); }
"""


def test_kernels_in_process_are_built_for_vectors(root):
    families = re.search(r"foreach\(family (.*?)\)", (root / "cmake" / "quantc.cmake").read_text(), re.S)[1].split()
    assert {"qbinary", "activation", "quantize"} <= set(families)


@pytest.mark.parametrize("op", ["qmul", "qadd"])
@pytest.mark.parametrize("types", [("QK_I8",) * 3, ("QK_U8",) * 3, ("QK_U8", "QK_I8", "QK_I8")], ids=["i8", "u8", "mixed"])
def test_loops_over_codes_are_vectors(op, types, root, tmp_path):
    (tmp_path / "q.c").write_text(CALLS % (*types, op, op))
    command = ["gcc", "-std=c11", "-O2", "-fvect-cost-model=dynamic", "-march=haswell", "-ffp-contract=off", f"-I{root}", "-c", tmp_path / "q.c", "-o", tmp_path / "q.o"]
    subprocess.run(command, check=True)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", tmp_path / "q.o"], check=True, capture_output=True, text=True).stdout
    functions = {m[1]: m[2] for m in re.finditer(r"<(\w+)>:\n(.*?)(?:\n\n|\Z)", listing, re.S)}
    conversions = {name: len(re.findall(r"vcvtdq2ps\s.*%ymm", body)) for name, body in functions.items()}
    assert conversions["known"] >= 2  # both codes, or their product for several vectors
    assert conversions["given"] >= 4 * 2  # one loop for each pair of types
