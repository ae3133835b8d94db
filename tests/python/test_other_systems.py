"""docs/other-systems.md: the block of the page runs, and every row holds."""
import os
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from package import ROOT
from torch import nn

import quantc
from quantc import DynamicQuantRulePerTensor, Node as IRNode, QuantRule, StaticQuantRule

PAGE = ROOT / "docs" / "other-systems.md"
ROW = re.compile(r"^\| (`.+?`|Conv.+?) \| (.+) \| `([^|]*)` \|$", re.M)

# Every class, method and example that the three documents name.
NAMES = """extract_qparams GMLQuantModuleBase UnaryOpsBase BinaryOpsBase output_scale output_zp remove_unused_nodes graph.erase_node lower_add
lower_relu BackendConfig fuser_method_mappings nni.ConvReLU2d F.relu torch.relu x.relu() nn.ReLU prepare_fx call_function call_method
call_module QuantRule QuantRule.matches QuantRule.create_quant_node QuantRule.get_quant_params StaticQuantRule StaticQuantRule.scale
StaticQuantRule.offset StaticQuantRule.per_channel DynamicQuantRulePerTensor QuantIRNode QuantIRNode.scale QuantIRNode.offset
QuantIRNode.per_channel QuantIRNode.generate_c_code QuantIRNode.get_c_dtype QuantIRNode.get_buffer_dtype metadata['original_node']
metadata['quantized'] metadata['quant_params'] IRNode IRNode.name IRNode.op_type IRNode.inputs IRNode.users IRNode.output_shape IRNode.dtype
IRNode.metadata metadata['weight_name'] metadata['bias_name'] metadata['in_features'] metadata['out_features'] IRGraph.nodes QuantLinearNode
QuantConv2dNode QuantizeNode DequantizeNode RuleMatcher RuleMatcher.find_matching_rule RuleMatcher.get_quantizable_nodes
QuantizationTransform QuantizationTransform.apply _replace_node _insert_dtype_conversions CPrinter CPrinter.generate_all
_generate_node_code _calculate_buffer_sizes _get_buffer_dtype _declare_buffers compile_model PerChannelStaticRule MixedPrecisionRule
QuantBatchNormNode QuantAttentionNode dense_int8 dense_int16 nn_ops_int8.h nn_ops_int16.h src.pytorch_to_c.quantization.rules
src.pytorch_to_c.quantization.graph_transform src.pytorch_to_c.compiler src.pytorch_to_c.codegen.c_printer""".split()


class Net(nn.Module):
    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x):
        return self.function(self, x)


def spelled(activation):
    """The ops of a convolution and this activation."""
    torch.manual_seed(0)
    net = Net(lambda m, x: m.act(m.conv(x)), conv=nn.Conv2d(2, 2, 1))
    net.act = activation
    return [n.op for n in quantc.from_fx(net.eval(), (torch.zeros(1, 2, 4, 4),)).nodes]


class AddUnused(quantc.Pass):
    def run(self, graph):
        graph.insert("neg", graph.inputs[0], name="unused")


class EraseRead(quantc.Pass):
    def run(self, graph):
        graph.erase(graph.nodes[0])


def dynamic_rule_of_the_document():
    """The class as the document has it."""
    from typing import Any, Dict

    class DynamicQuantRulePerTensor(QuantRule):
        """
        Dynamic quantization - quantize weights, keep activations in float.

        Use case: Quantize weights to save memory, but compute in float
        """

        def __init__(self, pattern: str, dtype: str):
            super().__init__(pattern, dtype)
            # No scale/offset - computed at runtime or from weights

        def matches(self, node: IRNode) -> bool:
            import re
            return re.match(self.pattern, node.name) is not None

        def create_quant_node(self, node: IRNode) -> "QuantIRNode":  # noqa: F821
            # Similar to static, but different C code generation
            # Weights are quantized, activations stay float
            pass

        def get_quant_params(self) -> Dict[str, Any]:
            return {'dynamic': True}

    return DynamicQuantRulePerTensor


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the expressions of the page may use."""
    out = tmp_path_factory.mktemp("other")
    here = os.getcwd()
    os.chdir(out)
    try:
        known = {}
        exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)[1], known)
    finally:
        os.chdir(here)
    graph = known["ir_graph"]

    def refuses(one):
        with pytest.raises(quantc.UserError, match="still read"):
            graph.transform(one)
        return True

    def quantized(net, shape, **scales):
        return quantc.from_torch(net.eval(), (torch.zeros(shape),)).quantize([StaticQuantRule(".*", "int8", 0.05, skip_unsupported=True)])

    def folder(name):
        return list((out / name).iterdir())

    known.update(spelled=spelled, AddUnused=AddUnused, EraseRead=EraseRead, refuses=refuses, folder=folder,
                 unary=quantized(Net(lambda m, x: torch.sigmoid(x)), (1, 8)), binary=quantized(Net(lambda m, x: (x + x.abs()) * x), (1, 8)),
                 attention=quantized(Net(lambda m, x: F.scaled_dot_product_attention(x, x * 2, x * 3)), (1, 2, 8, 16)),
                 dynamic=graph.quantize([dynamic_rule_of_the_document()(".*fc.*", "int8")]),
                 report=graph.compile(out / "sizes", build=False), header=next(p for p in folder("generated") if p.suffix == ".h" and "kernels" not in p.name).read_text(),
                 kernels="".join(p.read_text() for p in folder("generated_quant") if p.suffix in (".c", ".h")))
    return known


def rows():
    return ROW.findall(PAGE.read_text())


@pytest.mark.parametrize("row", rows(), ids=lambda r: r[0].strip("`"))
def test_every_row_of_the_page_holds(names, row):
    there, here, checked = row
    assert eval(checked, dict(names)), checked
    for target in re.findall(r"\]\(([^)#]+)", here):
        assert (PAGE.parent / target).exists(), target


def test_every_name_of_the_documents_has_a_row():
    table = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "---" not in line and "| there |" not in line]
    assert len(table) == len(rows()), "a row that is not run"
    there = [first.strip("`") for first, _, _ in rows()]
    missing = [n for n in NAMES if not any(t == n or re.match(re.escape(n) + r"\(", t) for t in there)]
    assert not missing


def test_the_dynamic_rule_of_the_document_is_the_one_here(names):
    graph = names["ir_graph"]
    ours = graph.quantize([DynamicQuantRulePerTensor(".*fc.*", "int8", activations="float")])
    assert names["dynamic"].text(True) == ours.text(True)
    assert [n.op for n in names["dynamic"].explain().nodes].count("qlinear") == 2


@pytest.mark.parametrize("channels", [1, 3, 5, 17])
def test_no_layer_is_float_because_of_its_channels(channels):
    """docs/adr/0023"""
    net = nn.Sequential(nn.Conv2d(channels, 2 * channels, 3), nn.Conv2d(2 * channels, 2 * channels, 3, groups=2)).eval()
    graph = quantc.from_torch(net, (torch.zeros(1, channels, 8, 8),)).quantize([StaticQuantRule(".*", "int8", 0.05)])
    assert [n.op for n in graph.explain().nodes].count("qconv") == 2


def test_graphs_in_training_mode_are_refused():
    """docs/adr/0021"""
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train()
    with pytest.raises(quantc.Unsupported, match="eval"):
        quantc.from_fx(net, (torch.zeros(1, 4),))
    with pytest.raises(quantc.Unsupported, match="eval"):
        quantc.from_torch(net, (torch.zeros(1, 4),))


def test_every_decision_that_the_page_names_is_one():
    found = re.findall(r"adr/(\d+)-", PAGE.read_text())
    assert {Path(p).name[:4] for p in (ROOT / "docs" / "adr").iterdir()} >= set(found) >= {"0021", "0022", "0023", "0024"}
