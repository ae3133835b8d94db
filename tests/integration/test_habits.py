"""Habits of the sources: each can be compiled alone, none hides long code in macros, and no two tests share a name."""
import re
import sys
import tomllib

import pytest


@pytest.fixture(scope="module")
def includes(root):
    sys.path.insert(0, str(root / "tools"))
    import check_includes

    return check_includes


def test_sources_of_op_folders_include_what_they_use(includes, root):
    """They are compiled as one file per folder, where a source may lean on another; `make lint` compiles them alone."""
    assert includes.check(root) == []


@pytest.fixture
def folder(tmp_path):
    op = tmp_path / "src" / "ops" / "op"
    op.mkdir(parents=True)
    (tmp_path / "src" / "ir").mkdir()
    (tmp_path / "src" / "ir" / "shape.h").write_text("int64_t volume(const Dims& d);\nstruct Extent {\n  int n;\n};\n")
    (op / "op.h").write_text('#include "ir/shape.h"\n')
    (op / "a.cpp").write_text('#include "ops/op/op.h"\nnamespace {\nint helper(int n) { return n; }\n}\n')
    return op


def test_what_only_a_sibling_includes_is_found(includes, folder):
    (folder / "b.cpp").write_text("int f(const Dims& d) {\n  return volume(d);\n}\nExtent g();\n")
    found = includes.check(folder.parents[2])
    assert found == ["src/ops/op/b.cpp: Extent of ir/shape.h", "src/ops/op/b.cpp: volume of ir/shape.h"]
    (folder / "b.cpp").write_text('#include "ops/op/op.h"\n' + (folder / "b.cpp").read_text())
    assert includes.check(folder.parents[2]) == []


def test_what_a_sibling_defines_is_found(includes, folder):
    (folder / "b.cpp").write_text("int f(int n) {\n  return helper(n);\n}\n")
    assert includes.check(folder.parents[2]) == ["src/ops/op/b.cpp: helper of ops/op/a.cpp"]


LONG = 15  # lines


def long_macros(text: str) -> int:
    macros = re.findall(r"^ *# *define \w+\((?:[^\n]*\\\n)*[^\n]*", text, flags=re.M)
    return sum(macro.count("\n") + 1 > LONG for macro in macros)


def test_no_code_hides_in_long_macros(root):
    """A debugger steps over a macro as one line; what differs in types or sizes is an included body (kernels/common/body.h)."""
    found = {}
    for top in ("kernels", "runtime", "src"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".c", ".cpp", ".cu", ".inc") and (count := long_macros(path.read_text())):
                found[path.relative_to(root).as_posix()] = count
    assert found == {}


# What compilers and targets say is asked here: which vectors there are, scalar arithmetic, and the peak of a benchmark.
KNOW_TARGETS = {"common/lanes.h", "common/vec16.h", "common/peak.h", "numerics/base.h"}
ASKS_FOR_TARGETS = re.compile(r"^ *# *(?:el)?if[^\n]*\b(QK_TARGET_\w+|__(?:AVX|SSE|FMA|ARM|aarch64|x86_64)\w*)", re.M)


def asking(text: str) -> list:
    return ASKS_FOR_TARGETS.findall(text)


def test_instruction_sets_have_files_of_their_own(root):
    """A body for an instruction set is a variant with a file of its own (docs/adding-a-kernel.md); portable bodies, and what
    they include, compute with the vectors of kernels/common/vec16.h and accumulators.h, whichever these are."""
    assert asking("#if defined(QK_TARGET_AVX512VNNI)\n") and asking("# elif X && defined(__AVX512F__)\n") and not asking("#if QK_VEC16_REGISTERS\n")
    found = {}
    for path in sorted((root / "kernels").glob("*/*")):
        name = path.relative_to(root / "kernels").as_posix()
        tried = path.name.startswith(("test", "bench"))
        if path.suffix in (".h", ".c", ".inc") and not tried and name not in KNOW_TARGETS and (words := asking(path.read_text())):
            found[name] = words
    assert found == {}


def test_files_of_tests_have_names_of_their_own(root):
    """`pytest tests` imports them all as modules of one folder, and refuses a second one of the same name."""
    names = [path.name for path in (root / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_what_builds_the_package_has_exact_versions_and_hashes(root):
    """pyproject.toml cannot say hashes; the list that tools/venv installs does, for the same versions."""
    wanted = tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
    rows = (root / "tools/requirements-build.txt").read_text().splitlines()
    assert [re.sub(r" --hash=sha256:[0-9a-f]{64}$", "", row) for row in rows] == wanted
    assert all(re.fullmatch(r"[\w-]+==[\w.]+(; [^;]*)? --hash=sha256:[0-9a-f]{64}", row) for row in rows)
    names = {row.split("==")[0] for row in rows}
    assert {"scikit-build-core", "nanobind"} <= names
    others = "".join(p.read_text() for p in (root / "tools").glob("requirements-*.txt") if p.name != "requirements-build.txt")
    assert not [name for name in names if re.search(rf"^{name}\b", others, re.M)]
