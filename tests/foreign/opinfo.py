"""The samples of PyTorch's own databases of operations and modules (OpInfo, ModuleInfo), exported, with the answers that PyTorch
itself gives."""
import sys
import types
import unittest
import warnings
from dataclasses import dataclass

import torch
from torch.utils import _pytree as pytree

# The databases import it for tests of PyTorch's own; nothing here calls it.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase, assert_expected_inline=None))
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

DTYPES = ["float32", "int64", "bool", "uint8", "float16", "bfloat16", "float64"]
DIALECTS = ["exported", "decomposed", "dynamic", "in place"]
# Relative to each value, and to the largest of a result: a few units in the last place beyond PyTorch's own bounds.
TOLERANCE = {torch.float32: (1.3e-5, 1e-5), torch.float64: (1e-11, 1e-11), torch.float16: (2e-3, 1e-3), torch.bfloat16: (1.6e-2, 8e-3)}


class NotComparable(Exception):
    """A sample that says nothing about quantc: no tensor goes in, or one that is no plain array."""


def plain(tensor):
    """Row-major, without gradients: what an array file holds."""
    known = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided and tensor.device.type == "cpu"
    if not known or tensor.is_complex() or tensor.is_quantized:
        raise NotComparable("not a plain tensor")
    return tensor.detach().resolve_neg().clone(memory_format=torch.contiguous_format)


class Call(torch.nn.Module):
    """A call whose tensors are inputs and whose other arguments are baked in; all tensors of its result go out."""

    def __init__(self, function, args, kwargs, in_place=False):
        super().__init__()
        self.function, self.in_place = function, in_place
        leaves, self.tree = pytree.tree_flatten((tuple(args), dict(kwargs)))
        self.tensors = [plain(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.leaves = [None if isinstance(leaf, torch.Tensor) else (leaf,) for leaf in leaves]
        if not self.tensors:
            raise NotComparable("no tensor goes in")

    def forward(self, *tensors):
        rest = iter(tensors)
        args, kwargs = pytree.tree_unflatten([leaf[0] if leaf else next(rest) for leaf in self.leaves], self.tree)
        if self.in_place:
            args = (args[0].clone(), *args[1:])
        return [r for r in pytree.tree_leaves(self.function(*args, **kwargs)) if isinstance(r, torch.Tensor)]


class Calls(torch.nn.Module):
    """Some calls, one after the other, each with tensors of its own."""

    def __init__(self, calls):
        super().__init__()
        self.calls = torch.nn.ModuleList(calls)

    def forward(self, *tensors):
        results, at = [], 0
        for call in self.calls:
            results += call(*tensors[at:at + len(call.tensors)])
            at += len(call.tensors)
        return tuple(results)


@dataclass
class Sample:
    """Sample `index` of an operation in the database, with elements of a type."""

    op: str
    dtype: str
    index: int
    call: Call

    @property
    def name(self):
        return f"{self.op}-{self.dtype}-{self.index}"


def op_name(info):
    return info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")


def module_calls(info, dtype):
    for given in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=False):
        if given.forward_input is None:
            continue
        torch.manual_seed(1)
        made = given.constructor_input
        module = info.module_cls(*made.args, **made.kwargs).to(dtype).eval()
        yield lambda given=given, module=module: Call(module, given.forward_input.args, given.forward_input.kwargs)


def op_calls(info, dtype, in_place):
    for given in info.sample_inputs("cpu", dtype, requires_grad=False):
        function = info.inplace_variant if in_place else info.op
        yield lambda given=given, function=function: Call(function, (given.input, *given.args), given.kwargs, in_place)


INFOS = {op_name(info): info for info in op_db} | {info.name: info for info in module_db}


def samples(op, dtype, dialect, most):
    """The first samples of an operation, in an order that is always the same."""
    info, element = INFOS[op], getattr(torch, dtype)
    is_module, in_place = info in module_db, dialect == "in place"
    if element not in info.dtypes or (in_place and (is_module or not info.inplace_variant)):
        return []
    torch.manual_seed(0)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, make in enumerate(module_calls(info, element) if is_module else op_calls(info, element, in_place)):
            if index >= most:
                break
            try:
                found.append(Sample(op, dtype, index, make()))
            except NotComparable:
                continue
    return found


def export(chosen, dialect):
    """One program of some samples."""
    module, tensors = Calls([s.call for s in chosen]), tuple(t for s in chosen for t in s.call.tensors)
    shapes = None
    if dialect == "dynamic":
        shapes = (tuple({d: torch.export.Dim.AUTO for d in range(t.dim()) if t.size(d) > 1} for t in tensors),)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, tensors, dynamic_shapes=shapes, strict=False)
        return program.run_decompositions() if dialect == "decomposed" else program


def array(tensor):
    """As a file holds it: bf16 travels as the integers with its bits."""
    tensor = plain(tensor)
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def tolerance(tensor):
    if not tensor.is_floating_point():
        return 0.0, 0.0
    relative, scaled = TOLERANCE[tensor.dtype]
    finite = tensor.double().abs().nan_to_num(0.0, 0.0, 0.0)
    return relative, scaled * max(1.0, float(finite.max()) if finite.numel() else 0.0)


def input_shapes(program):
    values = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    return [values[name].shape for name in program.graph_signature.user_inputs]


def sizes(program, inputs):
    """The numbers of the program's symbolic sizes for these inputs."""
    pairs = [(str(symbol), size) for shape, given in zip(input_shapes(program), inputs) for symbol, size in zip(shape, given.shape)]
    return {symbol: size for symbol, size in pairs if symbol.isidentifier()}


def other_sizes(program, tensors):
    """The same inputs with every dynamic size one larger; None where no size is dynamic."""
    shapes = input_shapes(program)
    if not any(isinstance(size, torch.SymInt) for shape in shapes for size in shape):
        return None
    larger = []
    for tensor, shape in zip(tensors, shapes):
        for axis, size in enumerate(shape):
            if isinstance(size, torch.SymInt):
                tensor = torch.cat([tensor, tensor.narrow(axis, 0, 1)], axis)
        larger.append(tensor)
    return larger


def answers(program, chosen):
    """Inputs and results as arrays, and tolerances: as PyTorch computes eagerly, and of the program with other sizes."""
    tensors = [t for s in chosen for t in s.call.tensors]
    with torch.no_grad():
        sets = [(tensors, Calls([s.call for s in chosen])(*map(plain, tensors)))]
        larger = other_sizes(program, tensors)
        try:
            if larger:
                sets.append((larger, program.module()(*map(plain, larger))))
        except Exception:  # noqa: BLE001  PyTorch says in many ways that the sizes do not fit
            pass
    arrays = [([array(t) for t in given], [array(t) for t in wanted]) for given, wanted in sets]
    return arrays, [[tolerance(t) for t in wanted] for _, wanted in sets]
