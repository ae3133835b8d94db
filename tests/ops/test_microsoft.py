"""The float ops of domain com.microsoft, which ONNX Runtime's optimizer writes, against ONNX Runtime itself."""
import re
from dataclasses import dataclass, field

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.cases import Cases

ort = pytest.importorskip("onnxruntime")


@dataclass
class Case:
    op: str
    inputs: list  # arrays; None where an optional operand is left out
    outputs: int | list[int] = 1  # how many, or which
    attributes: dict = field(default_factory=dict)
    domain: str = "com.microsoft"


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed + len(shape)).standard_normal(shape) * scale).astype(np.float32)


def ids(*shape: int, below: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, below, shape).astype(np.int32)


def rotation(length: int, half: int) -> list[np.ndarray]:
    angles = np.arange(length)[:, None] / 100.0 ** (np.arange(half) / half)
    return [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]


def conv(**attributes) -> dict:
    return {"pads": [1, 1, 1, 1], **attributes}


X, W = numbers(1, 3, 7, 6), numbers(4, 3, 3, 3, seed=1, scale=0.3)
A, B, C = numbers(4, 6), numbers(6, 5, seed=1), numbers(5, seed=2)
BATCHED = numbers(2, 3, 4, 6)
HIDDEN = numbers(2, 5, 8)
GAMMA, BETA, BIAS = numbers(8, seed=1), numbers(8, seed=2), numbers(8, seed=3)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
QKV = [HIDDEN, numbers(8, 24, seed=4, scale=0.4), numbers(24, seed=5, scale=0.2)]
COS_SIN = rotation(16, 4)
Q, K, V = (numbers(2, n, 8, seed=s) for n, s in ((5, 6), (7, 7), (7, 8)))

CASES = {
    "conv_relu": Case("FusedConv", [X, W, numbers(4)], attributes=conv(activation="Relu")),
    "conv_clip": Case("FusedConv", [X, W, numbers(4)], attributes=conv(activation="Clip", activation_params=[-0.5, 0.75])),
    "conv_leaky": Case("FusedConv", [X, W], attributes=conv(activation="LeakyRelu", activation_params=[0.3])),
    "conv_hard_sigmoid": Case("FusedConv", [X, W], attributes=conv(activation="HardSigmoid", activation_params=[0.3, 0.4])),
    "conv_tanh": Case("FusedConv", [X, W], attributes=conv(activation="Tanh")),
    "conv_sigmoid": Case("FusedConv", [X, W], attributes=conv(activation="Sigmoid", strides=[2, 2])),
    "conv_sum_relu": Case("FusedConv", [X, W, numbers(4), numbers(1, 4, 7, 6, seed=9)], attributes=conv(activation="Relu")),
    "matmul": Case("FusedMatMul", [A, B], attributes={"alpha": 0.5}),
    "matmul_a": Case("FusedMatMul", [A.T.copy(), B], attributes={"transA": 1, "alpha": 2.0}),
    "matmul_b": Case("FusedMatMul", [BATCHED, numbers(2, 3, 5, 6, seed=1)], attributes={"transB": 1}),
    "matmul_both": Case("FusedMatMul", [BATCHED, numbers(2, 3, 5, 4, seed=1)], attributes={"transA": 1, "transB": 1}),
    "matmul_batch_a": Case("FusedMatMul", [numbers(4, 2, 3, 6), numbers(2, 3, 6, 5, seed=1)], attributes={"transBatchA": 1}),
    "matmul_batch_b": Case("FusedMatMul", [BATCHED, numbers(6, 2, 3, 5, seed=1)], attributes={"transBatchB": 1}),
    "matmul_batch_a_t": Case("FusedMatMul", [numbers(6, 2, 3, 4), numbers(2, 3, 6, 5, seed=1)], attributes={"transBatchA": 1, "transA": 1}),
    "matmul_batch_b_t": Case("FusedMatMul", [BATCHED, numbers(5, 2, 3, 6, seed=1)], attributes={"transBatchB": 1, "transB": 1}),
    "transpose_matmul": Case("TransposeMatMul", [A, B.T.copy()], attributes={"transB": 1, "alpha": 0.25}),
    "gemm": Case("FusedGemm", [A, B, C], attributes={"activation": "Relu"}),
    "gemm_leaky": Case("FusedGemm", [A, B, C], attributes={"activation": "LeakyRelu", "activation_alpha": 0.3, "alpha": 0.5, "beta": 2.0}),
    "gemm_tanh": Case("FusedGemm", [A.T.copy(), B.T.copy(), C], attributes={"activation": "Tanh", "transA": 1, "transB": 1}),
    "gemm_sigmoid": Case("FusedGemm", [A, B, numbers(4, 1)], attributes={"activation": "Sigmoid"}),
    "gemm_hard_sigmoid": Case("FusedGemm", [A, B], attributes={"activation": "HardSigmoid", "activation_alpha": 0.1, "activation_beta": 0.4}),
    "gelu": Case("Gelu", [numbers(3, 8, scale=3)]),
    "bias_gelu": Case("BiasGelu", [HIDDEN, BIAS]),
    "fast_gelu": Case("FastGelu", [HIDDEN]),
    "fast_gelu_bias": Case("FastGelu", [HIDDEN, BIAS]),
    "quick_gelu": Case("QuickGelu", [HIDDEN]),
    "quick_gelu_alpha": Case("QuickGelu", [HIDDEN], attributes={"alpha": 1.25}),
    "simplified_norm": Case("SimplifiedLayerNormalization", [HIDDEN, GAMMA], attributes={"epsilon": 1e-5, "axis": -1}, domain=""),
    "skip_norm": Case("SkipLayerNormalization", [HIDDEN, numbers(2, 5, 8, seed=4), GAMMA, BETA], attributes={"epsilon": 1e-5}),
    "skip_norm_bias": Case("SkipLayerNormalization", [HIDDEN, numbers(2, 5, 8, seed=4), GAMMA, BETA, BIAS], [0, 3]),
    "skip_norm_no_beta": Case("SkipLayerNormalization", [HIDDEN, numbers(2, 5, 8, seed=4), GAMMA]),
    "skip_norm_broadcast": Case("SkipLayerNormalization", [HIDDEN, numbers(1, 5, 8, seed=4), GAMMA, BETA]),
    "skip_rms": Case("SkipSimplifiedLayerNormalization", [HIDDEN, numbers(2, 5, 8, seed=4), GAMMA], [0, 3]),
    "skip_rms_bias": Case("SkipSimplifiedLayerNormalization", [HIDDEN, numbers(2, 5, 8, seed=4), GAMMA, BIAS]),
    "embed": Case("EmbedLayerNormalization", [ids(2, 5, below=9), ids(2, 5, below=2), numbers(9, 8), numbers(6, 8, seed=1), numbers(2, 8, seed=2), GAMMA, BETA, MASK], 2),
    "embed_sum": Case("EmbedLayerNormalization", [ids(2, 5, below=9), None, numbers(9, 8), numbers(6, 8, seed=1), None, GAMMA, BETA], [0, 2]),
    "embed_positions": Case("EmbedLayerNormalization", [ids(2, 5, below=9), None, numbers(9, 8), numbers(6, 8, seed=1), None, GAMMA, BETA, None, ids(2, 5, below=6)], [0, 2]),
    "attention": Case("Attention", QKV, attributes={"num_heads": 2}),
    "attention_causal": Case("Attention", QKV, attributes={"num_heads": 4, "unidirectional": 1}),
    "attention_mask": Case("Attention", [*QKV, MASK], attributes={"num_heads": 2}),
    "attention_scale": Case("Attention", [*QKV, None, None, numbers(2, 2, 5, 5)], attributes={"num_heads": 2, "scale": 0.3}),
    "rotary": Case("RotaryEmbedding", [numbers(2, 3, 5, 8), np.arange(10, dtype=np.int64).reshape(2, 5), *COS_SIN]),
    "rotary_interleaved": Case("RotaryEmbedding", [numbers(2, 5, 24), np.array([3], np.int64), *COS_SIN], attributes={"interleaved": 1}),
    "multi_head": Case("MultiHeadAttention", [Q, K, V], attributes={"num_heads": 2}),
    "multi_head_bias": Case("MultiHeadAttention", [Q, K, V, numbers(24, seed=9)], attributes={"num_heads": 4, "scale": 0.4}),
    "multi_head_mask": Case("MultiHeadAttention", [Q, Q, Q, None, MASK], attributes={"num_heads": 2}),
    "multi_head_added": Case("MultiHeadAttention", [Q, K, V, None, None, numbers(1, 2, 5, 7)], attributes={"num_heads": 2}),
    "multi_head_causal": Case("MultiHeadAttention", [Q, Q, Q], attributes={"num_heads": 2, "unidirectional": 1}),
}


def model(case: Case) -> onnx.ModelProto:
    names = [f"in_{i}" if a is not None else "" for i, a in enumerate(case.inputs)]
    retained = range(case.outputs) if isinstance(case.outputs, int) else case.outputs
    results = [f"out_{i}" if i in retained else "" for i in range(max(retained) + 1)]
    node = helper.make_node(case.op, names, results, domain=case.domain, name=case.op, **case.attributes)
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
              for n, a in zip(names, case.inputs) if n]
    outputs = [helper.make_tensor_value_info(n, TensorProto.INT32 if case.op.startswith("Embed") and n == "out_1" else TensorProto.FLOAT, None)
               for n in results if n]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


@pytest.fixture(scope="module")
def outcomes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("microsoft")
    cases = Cases(build / "microsoft_ops")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    for name, case in CASES.items():
        onnx.save(model(case), path := folder / f"{name}.onnx")
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        arrays = [a for a in case.inputs if a is not None]
        expected = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})
        cases.add(name, path, [(arrays, expected)], group="float", rtol=1e-5, atol=2e-6)
    return cases.run(build)


@pytest.mark.parametrize("name", CASES)
def test_like_onnx_runtime(outcomes, name):
    outcome = outcomes[name]
    assert outcome.passes, f"{outcome.stage}: {outcome.reason}"


def test_every_row_has_a_case(quantc):
    text = re.search(r"^## Names read from models: com\.microsoft .*\n\n((?:- .*\n)+)", quantc("ops").stdout, re.M).group(1)
    rows = {name for name in re.findall(r"`(\w+)`", text) if not re.search("uantize|^Q[LG]|Integer|^Nhwc", name)}
    assert rows <= {case.op for case in CASES.values()}
