"""Which rule is for which node, and what a node's attributes say."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional

from ._core import Node
from ._errors import UserError
from ._graph import Graph
from ._rules import QuantRule

_WORDS = {"true": True, "false": False}


def _value_of(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith('"'):
        import ast
        return ast.literal_eval(text)
    if text.startswith("[") and "(" not in text:
        return [_value_of(item) for item in text[1:-1].split(", ") if item]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def values_of(attributes: Mapping[str, str]) -> Dict[str, Any]:
    """Attributes as Python values: bool, int, float, str and lists of them. Element types and sizes that depend on a symbol
    are text."""
    return {name: _value_of(text) for name, text in attributes.items()}


class RuleMatcher:
    """Which rule decides about a node: the first of the list whose ``matches`` is true."""

    def __init__(self, rules: Iterable[QuantRule]):
        self.rules: List[QuantRule] = list(rules)
        for rule in self.rules:
            if not isinstance(rule, QuantRule):
                raise UserError(f"a {type(rule).__name__} is no rule: derive it from quantc.QuantRule", "rule")

    def find_matching_rule(self, node: Node) -> Optional[QuantRule]:
        """The first rule that matches the node; None where no rule does."""
        return next((rule for rule in self.rules if rule.matches(node)), None)

    def get_quantizable_nodes(self, graph: Graph) -> List[Node]:
        """The nodes of the graph that a rule matches."""
        return [node for node in graph.nodes if self.find_matching_rule(node) is not None]
