"""What codes mean, as numbers: of nodes, and in JSON."""
import json

import numpy as np
import pytest
from package import RULES

from quantc import DynamicQuantRulePerTensor, KeyRule


@pytest.fixture(scope="module")
def quantized(digits):
    return digits.quantize(RULES)


def test_quantization_is_numbers(quantized):
    conv = next(n for n in quantized.explain().nodes if n.names[0] == "node_Conv_50" and n.weight)
    result, = conv.output_qparams
    assert (result.dtype, result.qmin, result.qmax, result.granularity) == ("i8", -128, 127, "tensor")
    assert result.scale == [float(np.float32(0.013540523))] and result.zero_point == [-128]
    assert result.axis is None and result.group is None and not result.dynamic
    assert conv.input_qparams[0].scale == [float(np.float32(0.003921569))]
    weight = conv.weight_qparams
    assert (weight.granularity, weight.axis) == ("axis", 0) and len(weight.scale) == 16 and weight.zero_point == [0]
    assert conv.output == "i8 0.0135405 zero -128" and "1 scale" in repr(result)


def test_numbers_of_json_and_of_python_are_equal(quantized):
    explanation = quantized.explain()
    for node, read in zip(explanation.nodes, json.loads(explanation.json)["nodes"]):
        assert len(read["input_qparams"]) == len(node.inputs) == len(node.input_qparams)
        pairs = [*zip(node.input_qparams, read["input_qparams"]), *zip(node.output_qparams, read["result_qparams"]),
                 (node.weight_qparams, read["weights"]["qparams"] if "weights" in read else None)]
        for mine, theirs in pairs:
            assert (mine is None) == (theirs is None)
            if mine is not None:
                assert len(mine.scale) == theirs.pop("count")
                assert theirs == {key: getattr(mine, key) for key in theirs}


def test_scales_of_groups_and_of_run_time(digits):
    grouped = digits.quantize([KeyRule(".*linear", kind="weight_only", weight_dtype="int4", group=16)])
    weight, = [n.weight_qparams for n in grouped.explain().nodes if n.weight]
    assert (weight.dtype, weight.granularity, weight.group) == ("i4", "group", 16) and len(weight.scale) > 10
    dynamic = digits.quantize([DynamicQuantRulePerTensor(".*linear")])
    found = [p for n in dynamic.explain().nodes for p in n.output_qparams if p and p.dynamic]
    assert found and found[0].scale == []
