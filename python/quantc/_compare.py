"""compare: a graph layer by layer beside the model it was made of, or beside another graph."""
from __future__ import annotations

import math
from importlib import import_module
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _text
from ._errors import UserError
from ._graph import Graph, Table

Values = Dict[Tuple[str, int], List[Any]]  # by name and number of a result: as often as it is computed, in order


def _package(name: str, what: str) -> Any:
    """A package that only this function needs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{what} needs {name.split('.')[0]}: pip install {name.split('.')[0]}") from error


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
        widths = [max(len(line[i]) for line in [columns, *rows]) for i in range(len(columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in [columns, *rows]]
        super().__init__("\n".join(map(_text.shown, [*lines, foot])), columns, rows, foot)

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


def _of_graph(graph: Graph, inputs: Sequence[Any]) -> Tuple[Values, List[Any]]:
    values: Values = {}
    for names, _, output, array in graph._core.layers(inputs, []):
        values.setdefault((names[-1] if names else "", output), []).append(array)
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


def compare(model: Any, graph: Graph, *inputs: Any, bad_db: float = 20.0) -> LayerRows:
    """A graph layer by layer beside a torch.nn.Module, an onnxruntime.InferenceSession or another graph, on these inputs.

    Layers are found by their names, so the graph should be made of that model (``from_torch``, ``from_onnx``) or share its
    names; those without a partner say so. The outputs are compared by their place. ``first_bad`` of the result is the first
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
    own: Dict[Tuple[str, int], int] = {}
    for names, _, output, _ in layers:
        key = (names[-1] if names else "", output)
        own[key] = own.get(key, 0) + 1
    rows, met = [], {k: 0 for k in own}
    for names, op, output, array in layers:
        key = (names[-1] if names else "", output)
        wanted, at = values.get(key, []), met[key]
        met[key] += 1
        # A layer that became several computes what the other has in the last of them.
        partner = wanted[at] if len(wanted) == own[key] else wanted[0] if len(wanted) == 1 and at + 1 == own[key] else None
        if partner is not None or len(wanted) != 1:
            rows.append(_row("+".join(names) + (f"#{output}" if output else ""), op, partner, array))
    for port, wanted_output, got in zip(graph.outputs, outputs, _listed(graph.run(*inputs))):
        rows.append(_row(port.name, "output", np.asarray(wanted_output), np.asarray(got)))
    return LayerRows(rows, bad_db)
