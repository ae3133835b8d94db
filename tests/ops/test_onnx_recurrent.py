"""RNN, GRU and LSTM of ONNX with all they can be told, against ONNX Runtime."""
from dataclasses import dataclass, field

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.cases import Cases

ort = pytest.importorskip("onnxruntime")
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@dataclass
class Case:
    op: str
    attributes: dict = field(default_factory=dict)
    lengths: list | None = None
    given: str = "b"  # operands beside the weights: b(ias), h(0), c(0), p(eepholes)
    fixed: bool = False  # lengths are known when compiling


def both(op, **attributes):
    return Case(op, {"direction": "bidirectional", **attributes}, given="bhc" if op == "LSTM" else "bh")


LENGTHS = [5, 1, 3]
CASES = {
    "rnn_reverse": Case("RNN", {"direction": "reverse"}, LENGTHS),
    "rnn_relu_tanh": both("RNN", activations=["Relu", "Tanh"]),
    "rnn_leaky": Case("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.3]}),
    "rnn_leaky_default": Case("RNN", {"activations": ["LeakyRelu"]}),
    "rnn_thresholded": Case("RNN", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.2]}),
    "rnn_scaled_tanh": Case("RNN", {"activations": ["ScaledTanh"], "activation_alpha": [1.5], "activation_beta": [0.4]}),
    "rnn_hard_sigmoid": Case("RNN", {"activations": ["HardSigmoid"], "activation_alpha": [0.3], "activation_beta": [0.4]}),
    "rnn_elu": Case("RNN", {"activations": ["Elu"], "activation_alpha": [0.7]}),
    "rnn_softsign": Case("RNN", {"activations": ["Softsign"]}),
    "rnn_softplus": Case("RNN", {"activations": ["Softplus"]}),
    "rnn_affine": Case("RNN", {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1]}),
    "rnn_sigmoid": Case("RNN", {"activations": ["Sigmoid"]}),
    "rnn_parameters_of_two": both("RNN", activations=["LeakyRelu", "ScaledTanh"], activation_alpha=[0.2, 1.4], activation_beta=[0.3]),
    "rnn_clip": Case("RNN", {"clip": 0.4}, LENGTHS),
    "gru": both("GRU"),
    "gru_linear": both("GRU", linear_before_reset=1),
    "gru_reverse": Case("GRU", {"direction": "reverse"}, LENGTHS, given="bh"),
    "gru_lengths": Case("GRU", {"direction": "bidirectional"}, LENGTHS, fixed=True),
    "gru_activations": Case("GRU", {"activations": ["HardSigmoid", "ScaledTanh"], "activation_alpha": [0.3, 1.2], "activation_beta": [0.6, 0.5]}),
    "gru_four": both("GRU", activations=["Sigmoid", "Relu", "HardSigmoid", "Softsign"], activation_alpha=[0.25], activation_beta=[0.4]),
    "gru_clip": Case("GRU", {"clip": 0.3, "linear_before_reset": 1}),
    "lstm": both("LSTM"),
    "lstm_reverse": Case("LSTM", {"direction": "reverse"}, LENGTHS, given="bhcp"),
    "lstm_peepholes": Case("LSTM", {"direction": "bidirectional"}, LENGTHS, given="bhcp", fixed=True),
    "lstm_coupled": Case("LSTM", {"input_forget": 1}, given="b"),
    "lstm_activations": Case("LSTM", {"activations": ["HardSigmoid", "Relu", "Softsign"], "activation_alpha": [0.3], "activation_beta": [0.45]}),
    "lstm_six": both("LSTM", activations=["Sigmoid", "Tanh", "ScaledTanh", "HardSigmoid", "LeakyRelu", "Elu"],
                     activation_alpha=[1.3, 0.25, 0.1, 0.8], activation_beta=[0.6, 0.55]),
    "lstm_clip": Case("LSTM", {"clip": 0.35}, given="bhcp"),
    "lstm_no_bias": Case("LSTM", given=""),
    "lstm_full_lengths": Case("LSTM", lengths=[5, 5, 5], fixed=True),
}


def model(case: Case) -> tuple[onnx.ModelProto, list[np.ndarray]]:
    sides, gates = 1 + (case.attributes.get("direction") == "bidirectional"), GATES[case.op]
    draw = np.random.default_rng(7).standard_normal
    x = draw((STEPS, BATCH, INPUTS)).astype("f4")
    weights = {"w": draw((sides, gates * HIDDEN, INPUTS)) * 0.5, "r": draw((sides, gates * HIDDEN, HIDDEN)) * 0.5}
    optional = {"b": draw((sides, 2 * gates * HIDDEN)) * 0.3, "l": None, "h": draw((sides, BATCH, HIDDEN)), "c": draw((sides, BATCH, HIDDEN)),
                "p": draw((sides, 3 * HIDDEN)) * 0.4}
    weights |= {name: array for name, array in optional.items() if name in case.given}
    constants = {name: array.astype("f4") for name, array in weights.items()}
    inputs = {"x": x}
    if case.lengths:
        (constants if case.fixed else inputs)["l"] = np.array(case.lengths, "i4")
    order = ["x", "w", "r", "b", "l", "h"] + (["c", "p"] if case.op == "LSTM" else [])
    names = [name if name in inputs or name in constants else "" for name in order]
    results = ["y", "last"] + (["cell"] if case.op == "LSTM" else [])
    node = helper.make_node(case.op, names, results, name="layer", hidden_size=HIDDEN, **case.attributes)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in results], [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=9), list(inputs.values())


@pytest.fixture(scope="module")
def outcomes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recurrent")
    cases = Cases(build / "onnx_recurrent")
    for name, case in CASES.items():
        built, arrays = model(case)
        onnx.save(built, path := folder / f"{name}.onnx")
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        expected = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})
        cases.add(name, path, [(arrays, expected)], group="float", rtol=1e-5, atol=2e-6)
    return cases.run(build)


def test_names_of_activations(quantc, tmp_path):
    """Read without regard to case; one that does not exist is refused."""
    results = []
    for name in ("ScaledTanh", "scaledtanh", "Swish"):
        built, (x,) = model(Case("RNN", {"activations": [name], "activation_alpha": [1.5], "activation_beta": [0.4]}))
        onnx.save(built, tmp_path / "m.onnx")
        np.savez(tmp_path / "in.npz", x=x)
        done = quantc("run", tmp_path / "m.onnx", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz", status=2 if name == "Swish" else 0)
        results.append(np.load(tmp_path / "out.npz")["y"])
    np.testing.assert_array_equal(results[0], results[1])
    assert "activation 'Swish'" in done.stderr


# arithmetic.md: S12
@pytest.mark.parametrize("name", CASES)
def test_like_onnx_runtime(outcomes, name):
    outcome = outcomes[name]
    assert outcome.passes, f"{outcome.stage}: {outcome.reason}"
