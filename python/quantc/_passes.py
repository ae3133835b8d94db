"""Passes written in Python: a view of the graph, and a few edits."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

from . import _core
from ._errors import UserError, add_note
from ._text import shown


class Value:
    """A value of the graph that a pass works on: an input, a constant or a result of a node."""

    __slots__ = ("_graph", "_id")

    def __init__(self, graph: "GraphEditor", number: int):
        self._graph, self._id = graph, number

    def _view(self) -> _core.ValueView:
        return self._graph._core.value(self._id)

    @property
    def name(self) -> str:
        """The model's own name; may be empty."""
        return self._view().name

    @property
    def type(self) -> str:
        """Element type such as 'f32'."""
        return self._view().type

    @property
    def shape(self) -> Tuple[Union[int, str], ...]:
        """Sizes; those that depend on a symbol are text."""
        return tuple(int(s) if s.lstrip("-").isdigit() else s for s in self._view().shape)

    @property
    def constant(self) -> bool:
        """Whether its elements are known: ``numpy()`` gives them."""
        return self._view().constant

    @property
    def readers(self) -> int:
        """How many operands of nodes and outputs of the graph read it."""
        return self._view().readers

    def numpy(self) -> Any:
        """The elements of a constant, as a copy."""
        return self._graph._core.elements(self._id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and (self._graph, self._id) == (other._graph, other._id)

    def __hash__(self) -> int:
        return hash((id(self._graph), self._id))

    def __repr__(self) -> str:
        view = self._view()
        return shown(f"<quantc.Value {view.name or self._id}: {view.type}[{', '.join(view.shape)}]>")


class GraphNode:
    """A node with what it reads and what it makes, as it was when the graph was asked for its nodes."""

    def __init__(self, graph: "GraphEditor", core: _core.GraphNode):
        self.names: List[str] = core.names
        self.op: str = core.op
        self.attributes: Dict[str, str] = core.attributes
        self.inputs: List[Optional[Value]] = [None if i < 0 else Value(graph, i) for i in core.inputs]
        self.outputs: List[Value] = [Value(graph, i) for i in core.outputs]

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0] if self.names else ""

    def __repr__(self) -> str:
        return shown(f"<quantc.GraphNode {self.name}: {self.op}>")


def _text(value: Any) -> str:
    """An attribute as the text form has it. Text stays: 'i8', 'nearest' and '[1, 2]' are what they look like."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)


class GraphEditor:
    """The graph of a pass, for as long as the pass runs."""

    def __init__(self, core: _core.GraphEditor):
        self._open: Optional[_core.GraphEditor] = core

    def _close(self) -> None:
        self._open = None

    @property
    def _core(self) -> _core.GraphEditor:
        if self._open is None:
            raise UserError("the pass is over: its graph can no longer be used")
        return self._open

    def _id(self, value: Any) -> int:
        if isinstance(value, Value):
            if value._graph is not self:
                raise UserError("the value is of another graph")
            return value._id
        raise UserError(f"a {type(value).__name__} is no value of the graph: nodes have .inputs and .outputs, "
                        "graph.constant makes one of an array")

    @property
    def nodes(self) -> List[GraphNode]:
        """All nodes as they are now; the list stays what it is while the graph changes."""
        return [GraphNode(self, n) for n in self._core.nodes()]

    @property
    def inputs(self) -> List[Value]:
        """The inputs of the graph."""
        return [Value(self, i) for i in self._core.inputs()]

    @property
    def outputs(self) -> List[Value]:
        """The outputs of the graph, in order."""
        return [Value(self, i) for i in self._core.outputs()]

    def constant(self, array: Any) -> Value:
        """A constant of a NumPy array or a torch tensor; a Python number becomes an f32 or i64 of rank 0."""
        if isinstance(array, (int, float)):
            import numpy as np
            array = np.asarray(array, dtype=np.float32 if isinstance(array, float) else None)
        return Value(self, self._core.constant([array]))

    def insert(self, op: str, *inputs: Optional[Value], name: str = "", **attributes: Any) -> Any:
        """Adds a node (docs/ops.md lists the ops) and returns its result, or a tuple of several.

        Where it stands is nobody's concern: nodes are brought into an order when the pass is over. ``name`` is what rules
        match; without one the node has the names of what made its first operand.
        """
        ids = [-1 if v is None else self._id(v) for v in inputs]
        made = self._core.insert(op, ids, {k: _text(v) for k, v in attributes.items()}, name)
        values = tuple(Value(self, i) for i in made)
        return values[0] if len(values) == 1 else values

    def replace(self, old: Value, new: Value) -> None:
        """Whoever reads ``old`` reads ``new`` afterwards, but for nodes that ``new`` is computed by."""
        self._core.replace(self._id(old), self._id(new))

    def erase(self, node: GraphNode) -> None:
        """Removes a node. Nobody may read any of its results."""
        if not isinstance(node, GraphNode):
            raise UserError(f"a {type(node).__name__} is no node of the graph")
        self._core.erase(self._id(node.outputs[0]))


class Pass:
    """Base of passes: subclass it and write ``visit(graph, node)``, or ``run(graph)`` to see all at once.

    ``Graph.transform`` runs it. What it raises comes out unchanged, with notes that name the pass and the node.
    """

    def visit(self, graph: GraphEditor, node: GraphNode) -> None:
        """Called for every node that the graph had at first, in order."""
        raise NotImplementedError(f"{type(self).__name__} has neither visit(graph, node) nor run(graph)")

    def run(self, graph: GraphEditor) -> None:
        """Called for the graph, then for each body of branches and loops."""
        for node in graph.nodes:
            try:
                self.visit(graph, node)
            except Exception as error:
                add_note(error, f"at node '{node.name}' ({node.op})")
                raise
