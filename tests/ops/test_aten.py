"""PyTorch's operations against PyTorch, each as exported and decomposed. The cases are in the tables aten_*.py, each a module
with many results."""
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
import aten_dense  # noqa: E402
import aten_elementwise  # noqa: E402
import aten_movement  # noqa: E402

from tests.support.aten import DIALECTS, Group, compare, operations, program_of  # noqa: E402

TABLES = {"dense": aten_dense, "elementwise": aten_elementwise, "movement": aten_movement}
GROUPS = {f"{table}-{group}": case for table, module in TABLES.items() for group, case in module.GROUPS.items()}


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


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", [*GROUPS, *aten_dense.LAYERS])
def test_case(case, dialect, quantc, tmp_path):
    module, args = module_and_args(case)
    compare(module, args, program_of(module, args, dialect), quantc, tmp_path)
