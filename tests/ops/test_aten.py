"""PyTorch's operations against PyTorch, each as exported and decomposed. The cases are in the tables aten_*.py, each a module
with many results; aten_census.txt lists the operations and uses of arguments that real exports consist of, which the cases
must contain."""
import re
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
import aten_corners  # noqa: E402
import aten_dense  # noqa: E402
import aten_edges  # noqa: E402
import aten_elementwise  # noqa: E402
import aten_exports  # noqa: E402
import aten_movement  # noqa: E402
import aten_rows  # noqa: E402
import aten_types  # noqa: E402

from tests.support.aten import DIALECTS, Group, compare, export, in_dialect, operations  # noqa: E402

TABLES = {"corners": aten_corners, "dense": aten_dense, "elementwise": aten_elementwise, "movement": aten_movement, "exports": aten_exports, "rows": aten_rows,
          "types": aten_types, "edges": aten_edges}
GROUPS = {f"{table}-{group}": case for table, module in TABLES.items() for group, case in module.GROUPS.items()}
CASES = [*GROUPS, *aten_dense.LAYERS]
CENSUS = Path(__file__).with_name("aten_census.txt")
# Read for its values by one architecture alone: nothing to compare, so it is refused (test_refusals).
REFUSED = {("decomposed", "rand.default")}
# Checks, numbers and scopes: the front end's own matter, no row makes nodes of them.
WITHOUT_ROW = r"_assert_tensor_metadata\.|_assert_scalar\.|item\.|hop:|_operator\.|torch\.|rand\."


def module_and_args(case):
    if case in GROUPS:
        args, functions = GROUPS[case]
        return Group(functions), args
    module, x = aten_dense.LAYERS[case]
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.4)
    return module.eval(), (x,)


@pytest.fixture(scope="session")
def compared(quantc, tmp_path_factory):
    """compared(case, dialect): compares a case with PyTorch, once, and gives the operations it consists of."""
    known, exported = {}, {}

    def run(case, dialect):
        if (case, dialect) not in known:
            module, args = module_and_args(case)
            if case not in exported:
                exported[case] = export(module, args)
            program = in_dialect(exported[case], dialect)
            compare(module, args, program, quantc, tmp_path_factory.mktemp("aten"))
            known[case, dialect] = list(operations(program))
        return known[case, dialect]
    return run


# arithmetic.md: G5, G6
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", CASES)
def test_case(case, dialect, compared):
    compared(case, dialect)


@pytest.mark.parametrize("case", [case for case in GROUPS if case.startswith(("types-", "edges-"))])
def test_generated_code(case, quantc, tmp_path):
    """C gives the interpreter's bits for the same cases."""
    module, args = module_and_args(case)
    torch.export.save(export(module, args), tmp_path / "m.pt2")
    np.savez(tmp_path / "in.npz", **{f"in_{i}": t.numpy() for i, t in enumerate(args)})
    quantc("validate", tmp_path / "m.pt2", "-i", tmp_path / "in.npz", "--cflags", "-O1")


def census(dialect):
    """{operation: patterns} of a dialect; a pattern is a list of (argument, word)."""
    rows = [line.split() for line in CENSUS.read_text().splitlines() if not line.startswith("#")]
    return {name: [re.findall(r"(\w+)=(.*?)(?=,\w+=|$)", pattern) for pattern in patterns]
            for own, name, *patterns in rows if own == dialect}


@pytest.mark.parametrize("dialect, count", [("exported", 197), ("decomposed", 113)])
def test_census(dialect, count, compared):
    """Every operation of the census is compared with PyTorch, in every pattern."""
    listed = census(dialect)
    assert len(listed) == count
    found = {}
    for case in CASES:
        for name, words in compared(case, dialect):
            found.setdefault(name, []).append(words)
    missing = [name for name in listed if name not in found and (dialect, name) not in REFUSED]
    missing += [f"{name} with {pattern}" for name, patterns in listed.items() if name in found for pattern in patterns
                if not any(all(word in words[argument] for argument, word in pattern) for words in found[name])]
    assert not missing


def rows(quantc):
    """Names of the import rows: aten's as they are, those of other namespaces with it."""
    sections = re.findall(r"^## Names read from models: (\w+) .*\n\n((?:- .*\n)+)", quantc("ops").stdout, re.M)
    return {("" if domain == "aten" else f"{domain}:") + name for domain, text in sections for name in re.findall(r"`([^`]+)`", text)}


def test_census_has_rows(quantc):
    have = rows(quantc)
    names = {name for dialect in DIALECTS for name in census(dialect) if not re.match(WITHOUT_ROW, name)}
    assert not {name for name in names if name not in have and re.sub(r"_\.", ".", name) not in have}


def test_every_row_is_compared(quantc, compared):
    """Every row occurs in a case, its in-place spelling counted."""
    found = {name for case in CASES for dialect in DIALECTS for name, _ in compared(case, dialect)}
    found |= {re.sub(r"_\.", ".", name) for name in found}
    assert not sorted(row for row in rows(quantc) - found if ":" not in row or row.startswith(("prims:", "transformers:")))


def test_rows_name_operations(quantc):
    """Every row is a name PyTorch has, its in-place spelling counted."""
    def exists(row):
        name, overload = row.rsplit(".", 1)
        return any(overload in getattr(torch.ops.aten, spelling).overloads() for spelling in (name, f"{name}_") if hasattr(torch.ops.aten, spelling))
    assert not [row for row in sorted(rows(quantc)) if ":" not in row and not exists(row)]


@torch.library.custom_op("quantc_test::twice_", mutates_args={"x"})
def twice_(x: torch.Tensor) -> None:
    x.mul_(2)


def lost(write):
    def function(x):
        y = x * 1
        write(y)
        return y
    return function


@pytest.mark.parametrize("write, message", [
    (lambda y: y.hsplit(3)[1].mul_(3), "aten.hsplit.int: 1 node"),
    (lambda y: torch._foreach_add_([y, y * 2], 3.0), "aten._foreach_add_.Scalar: 1 node"),
    (lambda y: torch.add(y[1:], 1, out=y[:2]), "aten.add.out: 1 node"),
    (lambda y: torch.ops.quantc_test.twice_(y), "quantc_test.twice_.default: 1 node"),
    (lambda y: torch.meshgrid(y, torch.zeros(2), indexing="ij")[0].mul_(3), "writes through a view made by aten.meshgrid.indexing"),
    (lambda y: y.unfold(0, 2, 1).mul_(3), "writes through a view made by aten.unfold.default")])
def test_writes_are_not_lost(write, message, quantc, tmp_path):
    """A write that cannot be followed is refused, though nothing reads what the node gives."""
    torch.export.save(export(Group([lost(write)]), (torch.ones(3),)), tmp_path / "m.pt2")
    assert message in quantc("inspect", tmp_path / "m.pt2", status=2).stderr


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("function, message", [
    (lambda x: x * torch.rand(3), "aten.rand.default: 1 node"),
    (lambda x: torch.nn.functional.grid_sample(x.double().view(1, 1, 1, 3), torch.zeros(1, 1, 1, 2).double(), align_corners=False), "sampling of f64 values"),
    (lambda x: x[:x.int()[0].item()] * 1, "is computed at run time"),
    (lambda x: x.masked_select(x > 0), "a mask computed at run time selects a number of elements that is not known when compiling")])
def test_refusals(function, message, dialect, quantc, tmp_path):
    program = in_dialect(export(Group([function]), (torch.ones(3),)), dialect)
    torch.export.save(program, tmp_path / "m.pt2")
    assert message in quantc("inspect", tmp_path / "m.pt2", status=2).stderr
