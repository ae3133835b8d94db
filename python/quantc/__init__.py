"""quantc: neural networks to standalone C, in float or in integers.

    graph = quantc.from_torch(model, (example,))
    q = graph.quantize([quantc.StaticQuantRule(pattern='.*fc.*', dtype='int8', scale=0.05)])
    print(q.explain())
    y = q.run(x)
    m = q.compile('out')
    y = m(x)
"""
from ._calibrate import calibrate
from ._classic import CPrinter, QuantizationTransform, compile_model
from ._compare import LayerRow, LayerRows, compare
from ._core import Node, Operand, QuantParams, version as __version__
from ._errors import InternalError, Loc, QuantcError, QuantcWarning, Unsupported, UserError
from ._fx import dump_fx, from_fx
from ._graph import Analysis, CompiledModule, Explanation, Graph, Validation
from ._load import from_onnx, from_pt2, load
from ._matcher import RuleMatcher
from ._ops import check_op, op
from ._passes import GraphEditor, GraphNode, Pass, Value
from ._rules import (DynamicQuantRulePerTensor, FloatRule, KeyRule, QuantRule, RuleList, StaticQuantRule, read_rules,
                     save_rules)
from ._torch import from_exported, from_torch, save_exported

__all__ = [
    "Analysis", "CPrinter", "CompiledModule", "DynamicQuantRulePerTensor", "Explanation", "FloatRule", "Graph", "GraphEditor", "GraphNode",
    "InternalError", "KeyRule", "LayerRow", "LayerRows", "Loc", "Node", "Operand", "Pass", "QuantParams", "QuantRule", "QuantcError", "QuantcWarning", "QuantizationTransform", "RuleList", "RuleMatcher",
    "StaticQuantRule", "Unsupported", "UserError", "Validation", "Value", "calibrate", "check_op", "compare", "compile_model", "dump_fx",
    "from_exported", "from_fx", "from_onnx", "from_pt2", "from_torch", "load", "op", "read_rules", "save_exported", "save_rules",
]
