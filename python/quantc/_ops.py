"""Ops of one's own: shape and evaluation in NumPy, a kernel in C (docs/own-op-python.md)."""
from __future__ import annotations

import itertools
import tempfile
import typing
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import _core
from ._errors import UserError
from ._graph import Graph, options_of
from ._load import load

T = TypeVar("T")
_TEXTS = ("c", "helpers", "cuda", "units")


class Size:
    """A size that is free, in the shapes that ``shape`` gets: ``+``, ``-``, ``*``, ``//`` and ``%`` give others."""

    def __init__(self, text: str):
        self._text = text

    def _with(self, pattern: str, other: Any, swapped: bool = False) -> Any:
        if not isinstance(other, (Size, int)):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        return Size(pattern.format(a, b))

    def __add__(self, other: Any) -> Any:
        return self._with("({} + {})", other)

    def __radd__(self, other: Any) -> Any:
        return self._with("({} + {})", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._with("({} - {})", other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("({} - {})", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._with("({} * {})", other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._with("floordiv({}, {})", other)

    def __mod__(self, other: Any) -> Any:
        return self._with("mod({}, {})", other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def _number(self, *_: Any) -> Any:
        raise UserError(f"shape needs a number for the free size {self._text}: give it one with dims={{'{self._text}': ...}}", "dim")

    __index__ = __int__ = __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _number

    def __repr__(self) -> str:
        return self._text


def _kind(where: str, hint: Any) -> Tuple[str, List[str]]:
    """What quantc calls the type of a parameter, and the choices of a text."""
    if hint in (bool, int, float):
        return hint.__name__, []
    origin, arguments = typing.get_origin(hint), [a for a in typing.get_args(hint) if a is not Ellipsis]
    if origin is typing.Literal and all(isinstance(a, str) for a in arguments):
        return "str", arguments
    if origin in (tuple, list) and arguments and set(arguments) <= {int} | {float}:
        return "floats" if float in arguments else "ints", []
    raise UserError(f"{where} is {hint}: parameters are bool, int, float, Literal['a', 'b'], Tuple[int, ...] or Tuple[float, ...]")


def _parameters(name: str, own: type) -> List[Tuple[str, str, Any, List[str]]]:
    out = []
    for key, hint in typing.get_type_hints(own).items():
        if key.startswith("_") or key in ("inputs", "outputs", "stack", *_TEXTS):
            continue
        where = f"op '{name}': parameter '{key}'"
        kind, choices = _kind(where, hint)
        if not hasattr(own, key):
            raise UserError(f"{where} has no default")
        value = getattr(own, key)
        if kind in ("ints", "floats"):
            value = [float(v) if kind == "floats" else int(v) for v in value]
        out.append((key, kind, float(value) if kind == "float" else value, choices))
    return out


class _Functions:
    """What the library calls: the methods of the class, of an object that has the node's parameters as members."""

    def __init__(self, own: Type[Any], results: int):
        self._own, self._results = own, results

    def _node(self, values: Dict[str, Any]) -> Any:
        node = object.__new__(self._own)
        for key, value in values.items():
            setattr(node, key, tuple(value) if isinstance(value, list) else value)
        return node

    def shape(self, values: Dict[str, Any], shapes: List[List[str]]) -> List[List[str]]:
        given = [tuple(int(s) if s.isdigit() else Size(s) for s in shape) for shape in shapes]
        made = self._node(values).shape(*given)
        return [[str(int(s)) if not isinstance(s, Size) else str(s) for s in shape]
                for shape in ([made] if self._results == 1 else made)]

    def evaluate(self, values: Dict[str, Any], arrays: Sequence[Any]) -> List[Any]:
        import numpy as np
        made = self._node(values).evaluate(*arrays)
        return [np.asarray(a, order="C") for a in ([made] if self._results == 1 else made)]


functions: Dict[int, _Functions] = {}  # by number: networks keep those they were loaded with
_numbers = itertools.count()


def op(name: str, *, onnx: Optional[str] = None, quantizes: Optional[type] = None) -> Callable[[Type[T]], Type[T]]:
    """Makes a class an op of this process: models that name it can be loaded from then on.

    ``name`` is ``'domain::name'``, as that of a ``torch.library`` operator; ``onnx`` is what the node of ONNX in that domain is
    called, without it as the class. ``quantizes`` is the class of an op in float whose form on codes this is.
    docs/own-op-python.md says what the class has.
    """
    def define(own: Type[T]) -> Type[T]:
        for member in ("inputs", "outputs", "shape", "evaluate", "c"):
            if not hasattr(own, member):
                raise UserError(f"op '{name}': class {own.__name__} has no '{member}'")
        inputs, outputs = (list(getattr(own, key).items()) for key in ("inputs", "outputs"))
        of = "" if quantizes is None else getattr(quantizes, "__quantc_op__", None)
        if of is None:
            raise UserError(f"op '{name}': {getattr(quantizes, '__name__', quantizes)} is no op: decorate it with @quantc.op")
        number = next(_numbers)
        functions[number] = _Functions(own, len(outputs))
        texts = {key: getattr(own, key, "") for key in _TEXTS}
        summary = (own.__doc__ or "").strip().split("\n")[0]
        _core.add_op({"name": name, "onnx": onnx or own.__name__, "summary": summary, "inputs": inputs, "outputs": outputs,
                      "parameters": _parameters(name, own), "stack": getattr(own, "stack", 1024), "quantizes": of, **texts},
                     number)
        setattr(own, "__quantc_op__", name)
        setattr(own, "__quantc_float__", quantizes)
        return own
    return define


def _graph_of(own: Any, shapes: Sequence[Sequence[int]], values: Dict[str, Any]) -> Any:
    """A network of this op alone."""
    def text(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return f'"{value}"'
        if isinstance(value, (tuple, list)):
            return "[" + ", ".join(map(text, value)) + "]"
        return repr(value)

    name = own.__quantc_op__
    known = {key: kind for key, kind, _, _ in _parameters(name, own)}
    unknown = values.keys() - known.keys()
    if unknown:
        raise UserError(f"op '{name}' has no parameter '{sorted(unknown)[0]}'")
    attributes = ", ".join(f"{key} = {text(float(v) if known[key] == 'float' else v)}" for key, v in values.items())
    inputs = ", ".join(f'%{key} "{key}" : {dtype}[{", ".join(map(str, shape))}]' for (key, dtype), shape in zip(own.inputs.items(), shapes))
    results = ", ".join(f"%{key}" for key in own.outputs)
    node = f"{results} = {name.replace('::', '.')}({', '.join('%' + key for key in own.inputs)}) {{{attributes}}} loc(\"{own.__name__}\")"
    outputs = ", ".join(f'%{key} "{key}"' for key in own.outputs)
    lines = f"graph ({inputs}) {{ {node} return {outputs} }}"
    return Graph(_core.Model.load_bytes(lines.encode(), "op.ir", options_of(None, {})))


def check_op(own: Any, *operands: Union[Any, Sequence[int]], scale: float = 0.05, **values: Any) -> List[str]:
    """Compares ``evaluate`` with the C text, and with the CUDA text where there is one, on these operands: bit for bit.

    Operands are arrays, or shapes of random ones; keywords are parameters. An op on codes is compared as what an int8 rule with
    this ``scale`` makes of the op in float. Raises where bits differ, and returns what was compared.
    """
    import numpy as np

    from ._rules import StaticQuantRule
    name = getattr(own, "__quantc_op__", None)
    if name is None:
        raise UserError(f"{own!r} is no op: decorate it with @quantc.op")
    whole = own if own.__quantc_float__ is None else own.__quantc_float__
    if len(operands) != len(whole.inputs):
        raise UserError(f"op '{name}' takes {len(whole.inputs)} operands, got {len(operands)}", "input")
    rng = np.random.default_rng(0)
    arrays: List[Any] = []
    for dtype, given in zip(whole.inputs.values(), operands):
        if not hasattr(given, "dtype"):
            kind = np.dtype({"f": "float", "i": "int", "u": "uint", "b": "bool"}[dtype[0]] + dtype[1:].replace("ool", ""))
            random = rng.standard_normal(given) if dtype[0] == "f" else rng.integers(0, 2 if dtype == "bool" else 100, given)
            given = np.asarray(random).astype(kind)
        arrays.append(given)
    graph = _graph_of(whole, [a.shape for a in arrays], values)
    if own is not whole:
        dtype = {"i": "int", "u": "uint"}[next(iter(own.outputs.values()))[0]] + next(iter(own.outputs.values()))[1:]
        graph = graph.quantize([StaticQuantRule(pattern=".*", dtype=dtype, scale=scale, offset=0, input_scale=scale, input_offset=0)])
    runs: Dict[str, Callable[..., Any]] = {"in process": graph.run, "C": graph.compile()}
    with tempfile.TemporaryDirectory(prefix="quantc-") as folder:
        if getattr(own, "units", ""):
            graph.compile(folder, target="cuda", build=False)
            runs["CUDA on the host"] = load(folder, host=True)
        wanted = graph.run_reference(*arrays)
        for where, run in runs.items():
            given = run(*arrays)
            for a, b in zip(wanted, given) if isinstance(wanted, tuple) else [(wanted, given)]:
                if a.tobytes() != b.tobytes():
                    raise UserError(f"op '{name}': {where} it gives other bits than evaluate, {np.count_nonzero(a != b)} of {a.size} elements",
                                    "mismatch")
    return list(runs)
