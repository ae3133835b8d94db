"""The entry points of pytorch_to_c under their own names."""
from __future__ import annotations

from typing import Any, Iterable, Optional

from ._graph import Graph
from ._rules import RuleLike, listed
from ._torch import from_torch


def compile_model(model: Any, example_input: Any, output_dir: str, rules: Optional[Iterable[RuleLike]] = None, *,
                  verbose: bool = True, return_ir: bool = False, **options: Any) -> Optional[Graph]:
    """Exports a torch module, quantizes it by rules where there are some, and writes C into ``output_dir``.

    Returns the graph when ``return_ir`` is set.
    """
    graph = from_torch(model, example_input if isinstance(example_input, (tuple, list)) else (example_input,))
    if rules is not None:
        graph = graph.quantize(rules)
    report = graph.compile(output_dir, build=False, **options)
    if verbose:
        print(f"{output_dir}: {report.name}.c, arena {report.arena_bytes} bytes, weights {report.weight_bytes} bytes, "
              f"{report.macs} MACs")
    return graph if return_ir else None


class QuantizationTransform:
    """Rules as a transform of graphs: ``apply(graph)`` is ``graph.quantize(rules)``."""

    def __init__(self, rules: Iterable[RuleLike]):
        self.rules = list(rules)
        listed(self.rules)

    def apply(self, graph: Graph) -> Graph:
        """The graph quantized; the one given stays as it is."""
        return graph.quantize(self.rules)


class CPrinter:
    """Writes a graph as C."""

    def __init__(self, graph: Graph):
        self.graph = graph

    def generate_all(self, output_dir: str, **options: Any) -> Any:
        """Writes the whole project; returns its sizes."""
        return self.graph.compile(output_dir, build=False, **options)
