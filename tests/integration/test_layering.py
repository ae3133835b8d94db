"""The folders of src/, kernels/ and tests/ keep to the tables in ARCHITECTURE.md, and the checker finds what breaks it."""
import re
import sys

import pytest


@pytest.fixture(scope="module")
def checker(root):
    sys.path.insert(0, str(root / "tools"))
    import check_layering

    return check_layering


def test_sources_keep_to_the_table(checker, root):
    assert checker.check(root) == []
    assert checker.check_kernels(root) == []


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "src" / "low").mkdir(parents=True)
    (tmp_path / "src" / "high").mkdir()
    (tmp_path / "src" / "low" / "a.h").write_text("#pragma once\n")
    (tmp_path / "src" / "high" / "b.h").write_text('#include "low/a.h"\nint b();\n')
    table = "| folder | may include |\n|---|---|\n| `low` | - |\n| `high` | low |\n"
    (tmp_path / "ARCHITECTURE.md").write_text(table)
    return tmp_path


def test_clean_tree(checker, tree):
    assert checker.check(tree) == []


def test_upward_include_is_found(checker, tree):
    (tree / "src" / "low" / "a.cpp").write_text('#include "high/b.h"\n')
    assert "low may not include high" in checker.check(tree)[0]


def test_folder_without_row_is_found(checker, tree):
    (tree / "src" / "other").mkdir()
    (tree / "src" / "other" / "c.h").write_text("")
    assert "no row" in checker.check(tree)[0]


def test_cycle_in_the_table_is_found(checker, tree):
    table = "| folder | may include |\n|---|---|\n| low | high |\n| high | low |\n"
    (tree / "ARCHITECTURE.md").write_text(table)
    assert "cycle" in checker.check(tree)[0]


KERNELS = """| folder | may include |
|---|---|
| `low` | - |
| `high` | low |

Kernels:

| folder | may include |
|---|---|
| `kernels/numerics` | - |
| `kernels/common/part.h` | - |
| `kernels/*` | kernels/numerics, kernels/common/part.h, low |
| `kernels/tile` | kernels/* |
| `kernels/user` | kernels/*, kernels/tile |
| `tests/unit` | src/*, kernels/tile |
"""


@pytest.mark.parametrize("path, include, said", [
    ("kernels/numerics/a.h", "kernels/tile/t.h", "kernels/numerics may not include kernels/tile"),
    ("kernels/other/a.c", "kernels/tile/t.h", "kernels/other may not include kernels/tile"),
    ("kernels/other/a.c", "kernels/plain/p.h", "kernels/other may not include kernels/*"),
    ("kernels/user/a.c", "kernels/tile/t.h", ""),
    ("kernels/other/a.c", "kernels/other/own.h", ""),
    ("kernels/other/a.c", "kernels/common/part.h", ""),
    ("kernels/other/bind.h", "low/a.h", ""),
    ("kernels/other/a.cu", "low/a.h", "code for devices and C includes nothing of src/"),
    ("kernels/other/bind.h", "high/b.h", "kernels/other may not include high"),
    ("tests/unit/t.cpp", "high/b.h", ""),
    ("tests/unit/t.cpp", "kernels/other/o.h", "tests/unit may not include kernels/*"),
    ("tests/more/t.cpp", "high/b.h", "no row"),
    ("src/high/c.cpp", "tests/unit/t.h", "nothing outside tests/ includes tests"),
])
def test_kernels_and_tests_have_layers(checker, tree, path, include, said):
    (tree / "ARCHITECTURE.md").write_text(KERNELS)
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#include "{include}"\nint x;\n')
    found = checker.check(tree)
    assert [line for line in found if said and said in line] if said else found == []
    assert len(found) <= 1


def test_headers_that_only_forward_are_found(checker, tree):
    guards = "/* What it is. */\n#ifndef B_H\n#define B_H\n{}\n#endif\n"
    (tree / "src" / "low" / "b.h").write_text(guards.format('#include "low/a.h"'))
    assert checker.check(tree) == ["src/low/b.h: only includes other headers"]
    (tree / "src" / "low" / "b.h").write_text(guards.format('#include "low/a.h"\nint f(void);'))
    assert checker.check(tree) == []


def test_include_of_a_kernels_code_is_found(checker, tree):
    (tree / "src" / "program").mkdir()
    text = '#include "kernels/numerics/quant.h"\n#include "kernels/qgemm/calls.h"\n#include "kernels/qtile/output.h"\n'
    (tree / "src" / "program" / "d.cpp").write_text(text)
    found = checker.check_kernels(tree)
    assert len(found) == 1 and "src/program/d.cpp: includes kernels/qtile/output.h" in found[0]


def names_compared(text: str, names: set) -> list:
    """Names in comparisons and searches: what a call is belongs into its signature."""
    literals = re.findall(r'[!=]=\s*(?:std::string\w*\()?"(\w+)"|"(\w+)"\s*[!=]=|(?:find_kernel|find_stage|takes|starts_with)\([^;"]*"(\w+)"', text)
    return [name for found in literals for name in found if name in names]


def test_programs_compare_no_names_of_kernels(root):
    """Passes over Programs ask signatures what a call does, can become and takes; no kernel, stage or variant has a name there."""
    names = kernels(root) | stages(root) | variants(root)
    assert {"copy", "qbinary", "clamp", "add_f32", "portable", "wgmma"} <= names
    found = [f"{path.relative_to(root)}: {name}" for path in sorted((root / "src" / "program").glob("*.*"))
             for name in names_compared(path.read_text(), names)]
    assert found == ["src/program/parse.cpp: copy"]  # the step of the text form, no kernel
    bad = 'if (c.kernel->name != "copy" || "portable" == v.name || takes(call, "add_f32")) return x == "other";'
    assert names_compared(bad, names) == ["copy", "portable", "add_f32"]


def test_ops_name_kernels_not_their_functions(root):
    """Ops emit calls by signature: no C function of a kernel, no text of parameter structs, no table of bodies."""
    found = [f"{path.relative_to(root)}: {match}" for path in (root / "src" / "ops").rglob("*.cpp")
             for match in re.findall(r'"qk_(?!matmul_output_mode)\w*|\bfields\b.*"|find_body|all_bodies', path.read_text())]
    assert found == []


def test_ops_leave_packing_to_variants(root):
    """Weights are plain in what ops call: only variants know kernels that read packed ones, and where a weight lies there."""
    taken, bound = set(), set()  # what variants take calls of, and what they make calls of
    for path in [*(root / "kernels").glob("*/*.variant.cpp"), *(root / "kernels").glob("*/bind.h")]:
        text = path.read_text()
        taken |= {title(name) for name in re.findall(r'(?:\.kernel = |add\()"(\w+)"', text)}
        bound |= {*re.findall(r"\bkernel::(\w+)", text), *(title(name) for name in re.findall(r'"(\w+)"', text) if name in kernels(root))}
    bound -= taken
    assert bound >= {"GemmPanels", "GemmPack", "ConvNhwc", "WgemmPanels", "WconvPanels", "RnnPanels", "QgemmPanels", "QconvPacked",
                     "AttentionPanels", "MergeSort", "NormQuantizeRows"}
    found = []
    for path in sorted((root / "src" / "ops").rglob("*.*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        text, name = path.read_text(), path.relative_to(root).as_posix()
        found += [f"{name}: kernel::{k}" for k in re.findall(r"\bkernel::(\w+)", text) if k in bound]
        found += [f"{name}: {m}" for m in re.findall(r"\+ 15\) / 16|\bnibbles\b|[.>]packed\(|QK_RNN_SCRATCH", text)]
        if name != "src/ops/common/weighted.cpp":  # codes and biases as other types
            found += [f"{name}: derived constant" for _ in re.findall(r"[.>]derived\(", text)]
    assert found == []


def test_scratch_and_constants_of_bodies_are_for_variants(root):
    """Above kernels only what is enumerated has a name: types of codes, modes, functions of cells; no size of a tile or of
    scratch. Memory of ops is for values between their calls."""
    allowed = set()
    for path in (root / "kernels").glob("*/*.h"):
        for numbers in re.findall(r"^(?:typedef )?enum \w*\s*\{(.*?)\}", path.read_text(), re.M | re.S):
            allowed |= set(re.findall(r"\bQK_\w+", numbers))
    assert {"QK_I8", "QK_PER_TOKEN", "QK_R_Q31", "QK_ATTENTION_WIDE"} & allowed == {"QK_I8", "QK_PER_TOKEN", "QK_R_Q31"}
    found, between = [], set()
    for top in ("ops", "passes", "program"):
        for path in sorted((root / "src" / top).rglob("*.*")):
            if path.suffix in (".cpp", ".h"):
                text = path.read_text()
                found += [f"{path.relative_to(root)}: {m}" for m in re.findall(r"\bQK_[A-Z]\w*", text) if m not in allowed]
                between |= {path.stem} if re.search(r"\bl\.scratch\(", text) else set()
    assert found == []
    assert between == {"create", "pad_or_trim", "loop", "resize"}


def title(kernel: str) -> str:
    """The struct of a kernel's calls."""
    return "".join(part.capitalize() for part in kernel.split("_"))


def kernels(root) -> set:
    return {name for sig in (root / "kernels").glob("*/kernels.sig") for name in re.findall(r"^kernel (\w+)", sig.read_text(), re.M)}


def test_what_splits_calls_names_operands(root):
    """The build names their places after signatures (kernels/FOLDER/operands.h): a literal one would not follow a change."""
    literal = re.compile(r"(?<![>.\w])(?:in|out)\[\d+\]")  # of a call, not sizes of a parameter struct
    assert literal.search("qk_move(&in[0], n)") and not literal.search("in[QK_COPY_IN_X] + p->out[0]")
    found = []
    for path in [*(root / "kernels").glob("*/split.c"), *(root / "kernels").glob("*/units.h"), root / "kernels/common/split.h"]:
        found += [f"{path.relative_to(root)}: {m}" for m in literal.findall(path.read_text())]
    assert found == []


def stages(root) -> set:
    return {name for sig in (root / "kernels").glob("*/kernels.sig") for name in re.findall(r"^stage (\w+)", sig.read_text(), re.M)}


def variants(root) -> set:
    """Names of rows, {.kernel = .., .name = ..}."""
    return {name for path in (root / "kernels").glob("*/*.variant.cpp")
            for name in re.findall(r'\.name = "(\w+)"', path.read_text())}


def test_ops_share_no_structs_with_kernels(root):
    """Evaluation defines what kernels must give, so ops name none of the kernels' structs and include no kernel's code."""
    found = []
    for path in sorted((root / "src" / "ops").rglob("*.*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        text = path.read_text()
        found += [f"{path.relative_to(root)}: {m}" for m in re.findall(r"\bqk_\w+_params\b|\bqk_\w+\(", text)]
        included = re.findall(r'#include "(kernels/[^"]+)"', text)
        found += [f"{path.relative_to(root)}: {m}" for m in included if not ALLOWED_OF_KERNELS.fullmatch(m)]
    assert found == []


# Scalar arithmetic, and calls for lowering.
ALLOWED_OF_KERNELS = re.compile(r"kernels/(numerics/\w+\.(h|inc)|\w+/calls\.h)")


def functions(text: str):
    """Names and texts of the functions of a laid out source: what begins at a line and ends with a brace in its column."""
    for match in re.finditer(r"^( *)(?!namespace|class|struct|enum|//)[^\s#/}][^\n;]*(?:\n\1    [^\n;]*)*\{\n(.*?)^\1\}", text, re.M | re.S):
        yield match.group(0).split("{", 1)[0], match.group(2)


def test_evaluations_name_no_kernels_and_only_fast_ones_name_instructions(root):
    """What evaluates is plain loops: no call of a kernel is filled there, and vector units are for `fast.*` alone."""
    found, evaluations = [], 0
    for path in sorted((root / "src" / "ops").rglob("*.*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        text = path.read_text()
        if path.stem != "fast" and path.name != "vector.h" and re.search(r"QC_VECTOR_BODY|run_vectorised|common/vector\.h", text):
            found.append(f"{path.relative_to(root)}: vector units")
        for head, body in functions(text):
            if not re.search(r"\beval\w*\(", head):
                continue
            evaluations += 1
            found += [f"{path.relative_to(root)}: {head.strip()}: {m}" for m in re.findall(r"\bkernel::\w+", body)]
    assert found == []
    assert evaluations > 70  # the search finds them


def test_files_of_a_convolution_are_counted(root):
    """The script follows the tree: every file it starts from is there, so the figures mean what they say."""
    sys.path.insert(0, str(root / "tools"))
    import files_of_conv

    for machine in files_of_conv.KERNELS:
        found = files_of_conv.parts(root, machine)
        listed = set().union(*found.values())
        starts = [*files_of_conv.OP, *files_of_conv.PROGRAM, *files_of_conv.SIGNATURES[machine], *(
            next((f for f in names if (root / f).exists()), names[0]) for names in files_of_conv.KERNELS[machine])]
        assert [f for f in starts if f not in listed] == []
        assert {"src/backends/common/steps.h", "src/program/program.h"} <= listed and sum(map(len, found.values())) == len(listed)
