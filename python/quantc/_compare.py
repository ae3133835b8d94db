"""compare: a graph layer by layer beside the model it was made of, or beside another graph."""
from __future__ import annotations

import math
from importlib import import_module
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from . import _text
from ._errors import UserError
from ._graph import Graph, Table, options_of

Key = Tuple[str, int]  # name and number of a result
Values = Dict[Key, List[Any]]  # by name and number of a result: as often as it is computed, in order


def _package(name: str, what: str) -> Any:
    """A package that only this function needs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{what} needs {name.split('.')[0]}: pip install {name.split('.')[0]}") from error


def _path(name: str) -> str:
    """All of a name up to its last separator."""
    return name[:max(name.rfind("."), name.rfind("/")) + 1]


def _short(layers: Sequence[str]) -> Tuple[str, List[str]]:
    """The path that all names begin with, and the names without it; of further nodes of a layer without the first's path."""
    import os.path
    paths = [_path(name) for layer in layers for name in layer.split("+")]
    common = _path(os.path.commonprefix([p for p in paths if p])) if len(layers) > 1 else ""
    out = []
    for layer in layers:
        first, *more = layer.split("+")
        own = _path(first)
        out.append("+".join([first[len(common):] if first.startswith(common) else first,
                             *(n[len(own):] if own and n.startswith(own) else n for n in more)]))
    return common, out


def _name_lines(name: str, width: int) -> List[str]:
    """A name in lines of that width, broken between nodes alone."""
    import re
    lines = [""]
    for part in re.findall(r"[^+;]*[+;]|[^+;]+$", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], foot: str) -> str:
    """A table as wide as the terminal, or of 100 columns: a name that does not fit has lines of its own."""
    import shutil
    import sys
    width = shutil.get_terminal_size((100, 0)).columns if sys.stdout.isatty() else 100
    common, names = _short([row[0] for row in rows])
    table = [list(columns), *([name, *row[1:]] for name, row in zip(names, rows))]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    widths[0] = max(8, min(widths[0], width - sum(w + 2 for w in widths[1:])))
    lines = [f"names are without '{common}'"] if common else []
    for line in table:
        if len(line[0]) > widths[0]:
            lines += _name_lines(line[0], width)
            line[0] = ""
        lines.append("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip())
    return "\n".join(map(_text.shown, [*lines, *_name_lines(foot, width)]))


class LayerRow(NamedTuple):
    """One layer of the graph beside what the other computes there; figures are None where the other has no such value."""

    layer: str
    op: str
    sqnr_db: Optional[float]
    cosine: Optional[float]
    max_abs: Optional[float]
    least: Optional[float]
    greatest: Optional[float]


class LayerRows(Table):
    """Layers in the order they are computed, the outputs last; ``first_bad`` is the first below ``bad_db``, or None."""

    def __init__(self, layers: Sequence[LayerRow], bad_db: float):
        self.layers, self.bad_db = list(layers), bad_db
        self.first_bad = next((r for r in layers if r.sqnr_db is not None and r.sqnr_db < bad_db), None)
        columns = ["layer", "op", "SQNR dB", "cosine", "max error", "range"]
        rows = [[r.layer, r.op, "not compared", "", "", ""] if r.sqnr_db is None else
                [r.layer, r.op, f"{r.sqnr_db:.1f}", f"{r.cosine:.5f}", f"{r.max_abs:.3g}", f"{r.least:.3g} to {r.greatest:.3g}"]
                for r in layers]
        foot = (f"first below {bad_db:g} dB: {self.first_bad.layer}" if self.first_bad else
                f"no layer that was compared is below {bad_db:g} dB")
        super().__init__(_table(columns, rows, foot), columns, rows, foot)

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame."""
        pandas = _package("pandas", "to_pandas")
        return pandas.DataFrame(self.layers, columns=list(LayerRow._fields))

    def plot(self, ax: Any = None) -> Any:
        """The SQNR of each layer that was compared, by matplotlib; returns the axes."""
        plt = _package("matplotlib.pyplot", "plot")
        if ax is None:
            ax = plt.subplots()[1]
        shown = [r for r in self.layers if r.sqnr_db is not None]
        top = max([r.sqnr_db for r in shown if r.sqnr_db is not None and math.isfinite(r.sqnr_db)], default=self.bad_db) + 10
        heights = [min(max(r.sqnr_db or 0.0, 0.0), top) for r in shown]  # equal bits are as high as the picture
        ax.bar(range(len(shown)), heights, color=["tab:red" if (r.sqnr_db or 0.0) < self.bad_db else "tab:blue" for r in shown])
        ax.axhline(self.bad_db, color="tab:red", linewidth=1)
        ax.set_xticks(range(len(shown)), [r.layer for r in shown], rotation=90)
        ax.set_ylabel("SQNR dB")
        return ax


def _row(layer: str, op: str, wanted: Any, got: Any) -> LayerRow:
    import numpy as np
    if wanted is None or wanted.shape != got.shape or wanted.size == 0:
        return LayerRow(layer, op, None, None, None, None, None)
    x, y = wanted.astype(np.float64).ravel(), got.astype(np.float64).ravel()
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(same, 0.0, x - y)
        worst = float(np.abs(error).max())
        signal, noise = float(np.nansum(np.where(np.isfinite(x), x * x, 0.0))), float((error * error).sum())
        lengths = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
        cosine = float(x @ y) / lengths if lengths else float(noise == 0)
    sqnr = math.inf if noise == 0 else -math.inf if signal == 0 or not math.isfinite(noise) else 10 * math.log10(signal / noise)
    return LayerRow(layer, op, sqnr, cosine, worst, float(x.min()), float(x.max()))


def _listed(results: Any) -> List[Any]:
    """The arrays of a result, which may be nested."""
    if isinstance(results, dict):
        results = list(results.values())
    if isinstance(results, (tuple, list)):
        return [array for item in results for array in _listed(item)]
    return [results]


def _key(names: Sequence[str], output: int) -> Key:
    return (names[-1] if names else "", output)


def _of_graph(graph: Graph, inputs: Sequence[Any]) -> Tuple[Values, List[Any]]:
    values: Values = {}
    for names, _, output, array in graph._core.layers(inputs, []):
        values.setdefault(_key(names, output), []).append(array)
    return values, _listed(graph.run(*inputs))


def _of_module(module: Any, inputs: Sequence[Any]) -> Tuple[Values, List[Any]]:
    """Values of a torch.nn.Module by the names that ``from_torch`` gives them."""
    import torch

    values: Values = {}

    class Watch(torch.fx.Interpreter):
        def run_node(self, node: Any) -> Any:
            result = super().run_node(node)
            stack = node.meta.get("nn_module_stack")
            path = list(stack.values())[-1][0] if stack else ""
            for i, tensor in enumerate(_listed(result)):
                if not isinstance(tensor, torch.Tensor) or node.op in ("placeholder", "output", "get_attr"):
                    continue
                array = tensor.detach().double().numpy().copy()
                for name in {f"{path}/{node.name}", path} if path else {node.name}:
                    values.setdefault((name, i), []).append(array)
            return result

    tensors = tuple(torch.as_tensor(x) for x in inputs)
    with torch.no_grad():
        exported = torch.export.export(module, tensors)
        results = Watch(exported.module()).run(*tensors)
    return values, [t.detach().double().numpy() for t in _listed(results) if isinstance(t, torch.Tensor)]


def _of_session(session: Any, inputs: Sequence[Any]) -> Tuple[Values, List[Any]]:
    """Values of an onnxruntime.InferenceSession, by a second session that gives them all."""
    import numpy as np

    onnx, onnxruntime = _package("onnx", "comparing with a session"), _package("onnxruntime", "comparing with a session")
    source = getattr(session, "_model_bytes", None)
    model = onnx.load_model_from_string(source) if source else onnx.load(session._model_path)
    outputs = [o.name for o in model.graph.output]
    names = [((node.name or f"{node.op_type}_{node.output[0]}", i), output)
             for node in model.graph.node for i, output in enumerate(node.output) if output]
    known = set(outputs)
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for _, o in names if o not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        whole = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes are not public
        raise UserError(f"ONNX Runtime does not load the model with all its values as outputs: {error}", "input") from error
    feeds = {i.name: np.asarray(x) for i, x in zip(session.get_inputs(), inputs)}
    found = dict(zip([o.name for o in whole.get_outputs()], whole.run(None, feeds)))
    values: Values = {}
    for key, output in names:
        if isinstance(found[output], np.ndarray) and found[output].dtype.kind in "fiub":
            values.setdefault(key, []).append(found[output])
    return values, [found[o] for o in outputs]


def _partners(layers: Sequence[Any], values: Values) -> List[Tuple[Key, Any, bool]]:
    """For each layer its key, what the other has for it (or None), and whether the layer is one to show."""
    own: Dict[Key, int] = {}
    for names, _, output, _ in layers:
        own[_key(names, output)] = own.get(_key(names, output), 0) + 1
    met, found = {k: 0 for k in own}, []
    for names, _, output, _ in layers:
        key = _key(names, output)
        wanted, at = values.get(key, []), met[key]
        met[key] += 1
        # A layer that became several computes what the other has in the last of them.
        partner = wanted[at] if len(wanted) == own[key] else wanted[0] if len(wanted) == 1 and at + 1 == own[key] else None
        found.append((key, partner, partner is not None or len(wanted) != 1))
    return found


def _agrees(got: Any, wanted: Any, least: float) -> bool:
    sqnr = _row("", "", wanted, got).sqnr_db
    return sqnr is None or sqnr >= least


def _strangers(graph: Graph, values: Values, outputs: Sequence[Any], inputs: Sequence[Any]) -> Set[Key]:
    """Names that mean another value in the graph: passes move transposes past what reads them, and names stay.

    Where the outputs of the graph in float are those of the other model, no value on their way can be wrong.
    """
    import numpy as np
    options = graph._core.options
    if options.io_dtype != "keep":
        return set()
    plain = graph._core.with_options(options_of(options, {"require_integer": False, "no_float": False})).quantize([])
    results = plain.run(list(inputs), [])
    if not all(_agrees(np.asarray(got), np.asarray(wanted), 40.0) for got, wanted in zip(results, outputs)):
        return set()
    layers = plain.layers(list(inputs), [])
    return {key for (key, partner, _), (*_, array) in zip(_partners(layers, values), layers)
            if partner is not None and not _agrees(array, partner, 20.0)}


def compare(model: Any, graph: Graph, *inputs: Any, bad_db: float = 20.0) -> LayerRows:
    """A graph layer by layer beside a torch.nn.Module, an onnxruntime.InferenceSession or another graph, on these inputs.

    Layers are found by their names, so the graph should be made of that model (``from_torch``, ``from_onnx``) or share its
    names; those without a partner say so, and those whose name stands for another value in the compiled graph. The outputs are compared by their place. ``first_bad`` of the result is the first
    layer whose SQNR is below ``bad_db``.
    """
    import numpy as np

    if not isinstance(graph, Graph):
        raise UserError(f"compare takes a quantc.Graph as its second argument, not a {type(graph).__name__}")
    if isinstance(model, Graph):
        values, outputs = _of_graph(model, inputs)
    elif hasattr(model, "named_modules"):
        values, outputs = _of_module(model, inputs)
    elif hasattr(model, "get_inputs"):
        values, outputs = _of_session(model, inputs)
    else:
        raise UserError(f"compare takes a torch.nn.Module, an onnxruntime.InferenceSession or a quantc.Graph, "
                        f"not a {type(model).__name__}")
    layers = graph._core.layers(list(inputs), [])
    strangers = _strangers(graph, values, outputs, inputs)
    rows = [_row("+".join(names) + (f"#{output}" if output else ""), op, None if key in strangers else partner, array)
            for (names, op, output, array), (key, partner, shown) in zip(layers, _partners(layers, values)) if shown]
    for port, wanted_output, got in zip(graph.outputs, outputs, _listed(graph.run(*inputs))):
        rows.append(_row(port.name, "output", np.asarray(wanted_output), np.asarray(got)))
    return LayerRows(rows, bad_db)
