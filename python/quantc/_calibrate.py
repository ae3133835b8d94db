"""Calibration over any iterable of batches."""
from __future__ import annotations

import sys
import warnings as _warnings
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from ._errors import QuantcWarning, UserError
from ._graph import Graph
from ._rules import RuleList

_OPTIONS = {"method", "percentile", "activations", "results", "headroom", "ops", "per_channel", "reference", "equalise",
            "bias_correction"}


def _bar(done: int, total: int) -> None:
    filled = done * 40 // total
    end = "\n" if done == total else ""
    print(f"\rcalibrating [{'#' * filled}{'.' * (40 - filled)}] {done}/{total}{end}", end="", file=sys.stderr, flush=True)


def _batch(batch: Any, names: List[str]) -> List[Any]:
    """The arrays of one batch in the order of the inputs; what follows them in a tuple (labels) is left out."""
    if isinstance(batch, Mapping):
        missing = [n for n in names if n not in batch]
        if missing:
            raise UserError(f"a batch has no '{missing[0]}' (it has: {', '.join(map(str, batch))})", "input")
        return [batch[n] for n in names]
    arrays = list(batch) if isinstance(batch, (tuple, list)) else [batch]
    if len(arrays) < len(names):
        raise UserError(f"a batch has {len(arrays)} arrays, the network {len(names)} inputs", "input")
    return arrays[:len(names)]


def samples(graph: Graph, data: Iterable[Any]) -> Tuple[List[str], List[Any]]:
    """Batches as one array for each input."""
    import numpy as np
    names = [p.name for p in graph.inputs]
    columns: List[List[Any]] = [[] for _ in names]
    for batch in data:
        for column, array in zip(columns, _batch(batch, names)):
            array = array.detach().cpu().numpy() if hasattr(array, "detach") else np.asarray(array)
            column.append(array)
    if not columns or not columns[0]:
        raise UserError("there are no samples", "input")
    try:
        return names, [np.ascontiguousarray(np.concatenate(c)) if len(c) > 1 else np.ascontiguousarray(c[0]) for c in columns]
    except ValueError as error:
        raise UserError(f"batches do not fit together: {error}", "input") from error


def calibrate(graph: Graph, data: Iterable[Any], *, method: str = "minmax", progress: Optional[bool] = None,
              **options: Any) -> RuleList:
    """Rules whose scales are found by running the network on samples.

    ``data`` yields batches: an array, a tuple whose first items are the inputs (a DataLoader's ``(x, label)`` will do), or a
    dict by input name; samples lie along axis 0. All are held in memory. ``method`` is minmax, percentile, entropy or mse;
    further options are those of ``quantc calibrate``: percentile, activations, results, headroom, ops, per_channel,
    equalise, bias_correction, reference. ``save`` of the result writes the rule file.
    """
    for key in options:
        if key not in _OPTIONS:
            raise UserError(f"unknown option '{key}' of calibrate (known: {', '.join(sorted(_OPTIONS))})")
    names, arrays = samples(graph, data)
    show = sys.stderr.isatty() if progress is None else progress
    found = graph._core.calibrate(arrays, names, {"method": method, **options}, _bar if show else None)
    for line in found.warnings:
        _warnings.warn(line, QuantcWarning, stacklevel=2)
    if found.passed_over:
        _warnings.warn("not calibrated, for they are in bodies of branches or loops: " + ", ".join(found.passed_over),
                       QuantcWarning, stacklevel=2)
    return RuleList(found.rules, found)
