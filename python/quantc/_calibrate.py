"""Calibration over any iterable of batches."""
from __future__ import annotations

import sys
import warnings as _warnings
from typing import Any, Iterable, List, Mapping, Optional, Tuple, Union

from ._errors import QuantcWarning, UserError
from ._graph import Graph
from ._rules import Path, RuleLike, RuleList, listed

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
    """Batches as one array for each input, and as many again where the sizes of a batch differ from those before it."""
    import numpy as np
    names = [p.name for p in graph.inputs]
    sets: List[List[List[Any]]] = []  # of each set the batches of each input
    for batch in data:
        arrays = [a.detach().cpu().numpy() if hasattr(a, "detach") else np.asarray(a) for a in _batch(batch, names)]
        fits = sets and all(a.shape[1:] == of[0].shape[1:] and a.ndim == of[0].ndim for a, of in zip(arrays, sets[-1]))
        if not fits:
            sets.append([[] for _ in names])
        for column, array in zip(sets[-1], arrays):
            column.append(array)
    if not sets or not names:
        raise UserError("there are no samples", "input")
    joined = [np.ascontiguousarray(np.concatenate(of) if len(of) > 1 else of[0]) for columns in sets for of in columns]
    return names * len(sets), joined


def calibrate(graph: Graph, data: Iterable[Any], *, rules: Union[Path, RuleLike, Iterable[RuleLike]] = (),
              method: str = "minmax", progress: Optional[bool] = None, **options: Any) -> RuleList:
    """Rules whose scales are found by running the network on samples.

    ``data`` yields batches: an array, a tuple whose first items are the inputs (a DataLoader's ``(x, label)`` will do), or a
    dict by input name; samples lie along axis 0, and batches may differ in other sizes. All are held in memory. ``method`` is minmax, percentile, entropy or mse;
    further options are those of ``quantc calibrate``: percentile, activations, results, headroom, ops, per_channel,
    equalise, bias_correction, reference. ``save`` of the result writes the rule file.

    ``rules`` (a rule, a list of them or the path of a rule file) say something about some nodes, such as
    ``FloatRule('.*head')`` or ``KeyRule('stem', dtype='int16')``; the rules of the graph itself follow them, but for those
    that an earlier calibration found. What they leave open is found, and the result has both.
    """
    for key in options:
        if key not in _OPTIONS:
            raise UserError(f"unknown option '{key}' of calibrate (known: {', '.join(sorted(_OPTIONS))})")
    names, arrays = samples(graph, data)
    show = sys.stderr.isatty() if progress is None else progress
    stated = listed(rules, True, graph._core.options.allow_unused_rules)
    found = graph._core.calibrate(arrays, names, {"method": method, "rules": stated, **options}, _bar if show else None)
    for line in found.warnings:
        _warnings.warn(line, QuantcWarning, stacklevel=2)
    if found.passed_over:
        _warnings.warn("not calibrated, for they are in bodies of branches or loops: " + ", ".join(found.passed_over),
                       QuantcWarning, stacklevel=2)
    return RuleList(found.rules, found)
