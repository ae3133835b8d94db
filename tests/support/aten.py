"""Modules of many small functions, exported by PyTorch, run by quantc and compared with PyTorch itself."""
import operator
from pathlib import Path

import numpy as np
import torch

DIALECTS = ["exported", "decomposed"]
WITHIN = 1e-5  # of the largest magnitude of a result
WITHIN_F64 = 1e-13
OPEN_END = 9223372036854775807


class Group(torch.nn.Module):
    """All results of the functions, one after the other."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, *args):
        results = []
        for function in self.functions:
            result = function(*args)
            results += list(result) if isinstance(result, (tuple, list)) else [result]
        return tuple(results)


def export(module, args):
    with torch.no_grad():
        return torch.export.export(module, args)


def in_dialect(program, dialect):
    with torch.no_grad():
        return program.run_decompositions() if dialect == "decomposed" else program


def close(want, got, what):
    assert want.shape == got.shape and want.dtype == got.dtype, f"{what}: {want.dtype}{want.shape}, got {got.dtype}{got.shape}"
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=what)
    else:
        scale = float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0))
        atol = WITHIN_F64 * scale if want.dtype == np.float64 else max(WITHIN * scale, 1e-6)
        np.testing.assert_allclose(got, want, rtol=0, atol=atol, err_msg=what)


def compare(module, args, program, quantc, folder: Path):
    """Asserts that quantc gives the module's own results for its exported program."""
    with torch.no_grad():
        wanted, _ = torch.utils._pytree.tree_flatten(module(*args))
    torch.export.save(program, folder / "m.pt2")
    np.savez(folder / "in.npz", **{f"in_{i}": t.numpy() for i, t in enumerate(args)})
    quantc("run", folder / "m.pt2", "-i", folder / "in.npz", "-o", folder / "out.npz")
    actual = np.load(folder / "out.npz")
    assert len(wanted) == len(actual.files)
    faults = []
    for i, (want, name) in enumerate(zip(wanted, actual.files)):
        try:
            close(want.numpy(), actual[name], f"result {i}")
        except AssertionError as fault:
            faults.append(str(fault).strip())
    assert not faults, "\n\n".join(faults)


def operation_name(target):
    """linear.default, transformers:grouped_mm_fallback.default, hop:cond, _operator.le, torch.sym_ite."""
    if isinstance(target, torch._ops.OpOverload):
        namespace, name, overload = str(target).split(".")
        return f"{'' if namespace == 'aten' else namespace + ':'}{name}.{overload}"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"hop:{target.name()}"
    return f"{target.__module__.split('.')[0]}.{target.__name__}"


def kinds(value):
    """The words a pattern of aten_census.txt may use for an argument."""
    if isinstance(value, torch.fx.Node):
        value = value.meta.get("val")
    if isinstance(value, torch.Tensor):
        return {"tensor", str(value.dtype).removeprefix("torch."), f"rank{value.dim()}"}
    if isinstance(value, (list, tuple)):
        return {"list", f"list{len(value)}"}.union(*map(kinds, value))
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return {"symbol"}
    if isinstance(value, (bool, str, type(None), torch.dtype, torch.layout, torch.device)):
        return {str(value).removeprefix("torch.").replace(" ", "")}
    if isinstance(value, (int, float)):
        words = {type(value).__name__, str(value)}
        return words | ({"negative"} if value < 0 else set()) | ({"open"} if value == OPEN_END else set())
    return set()


def operations(program):
    """Every node of a program, those of nested graphs included: (name, {argument: words}); an argument left to its default
    is "default"."""
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            if node.op != "call_function" or node.target is operator.getitem:
                continue
            words = {}
            if isinstance(node.target, torch._ops.OpOverload):
                given = dict(zip((a.name for a in node.target._schema.arguments), node.args)) | node.kwargs
                words = {a.name: kinds(given[a.name]) if a.name in given else {"default"} for a in node.target._schema.arguments}
            yield operation_name(node.target), words
