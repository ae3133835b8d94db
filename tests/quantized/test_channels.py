"""Calibration takes channels along the axis of each layer: means for bias corrections, multipliers of neighbours, groups."""
import re

import numpy as np
import pytest
from onnx import helper

from tests.support.calibrated import Case, save, sqnr

node = helper.make_node


@pytest.fixture
def case(quantc, tmp_path):
    return Case(quantc, tmp_path)


def numbers(case, name, key):
    """A list of the rule for a layer, from the file or the archive beside it."""
    rule = next(r for r in case.rules.read_text().split("[[rule]]") if f"pattern = '{name}$'" in r)
    if found := re.search(rf"^{key}_file = 'r.npz:(\w+)'", rule, re.M):
        return np.load(case.folder / "r.npz")[found[1]].tolist()
    return [float(x) for x in re.search(rf"^{key} = \[?(.*?)\]?$", rule, re.M)[1].split(",")]


def two_readers(path, channels, sizes=(8, 8)):
    """A convolution and a linear layer read one value."""
    rng = np.random.default_rng(0)
    w, k = rng.normal(size=(sizes[1], 5)).astype(np.float32), rng.normal(size=(4, channels, 1, 1)).astype(np.float32)
    shape = [1, channels, *sizes]
    save(path, [node("MatMul", ["x", "w"], ["y"], name="fc"), node("Conv", ["x", "k"], ["z"], name="conv")], {"w": w, "k": k}, {"x": shape},
         {"y": [*shape[:3], 5], "z": [1, 4, *sizes]})
    return w, k


def correction(w, means):
    """What a layer [inputs, outputs] with a scale for each output needs, given the means of its inputs."""
    scale = np.abs(w).max(0) / 127
    return -((np.rint(w / scale) * scale - w) * means[:, None]).sum(0)


@pytest.mark.parametrize("flags", [(), ("--reference",)])
@pytest.mark.parametrize("channels", [8, 1])
def test_each_reader_of_a_value_has_the_means_of_its_own_axis(case, channels, flags):
    w, k = two_readers(case.folder / "m.onnx", channels)
    x = (np.random.default_rng(1).normal(size=(6, channels, 8, 8)) + np.arange(8)).astype(np.float32)
    x += 3 * np.arange(channels, dtype=np.float32)[:, None, None]
    case.calibrate({"x": x}, "--per-channel", *flags)
    for name, weights, axes in (("fc", w, (0, 1, 2)), ("conv", k[:, :, 0, 0].T, (0, 2, 3))):
        np.testing.assert_allclose(numbers(case, name, "bias_correction"), correction(weights.astype(np.float64), x.mean(axes, dtype=np.float64)),
                                   rtol=1e-3, atol=1e-5)
    first = case.rules.read_bytes()
    case.calibrate({"x": x}, "--per-channel", "--force", *flags)
    assert case.rules.read_bytes() == first


def test_samples_that_are_infinite_leave_corrections_finite(case):
    w, _ = two_readers(case.folder / "m.onnx", 8)
    x = np.random.default_rng(1).normal(size=(6, 8, 8, 8)).astype(np.float32)
    marked = x.copy()
    marked[2, 3, 4, 5] = np.inf
    case.calibrate({"x": marked}, "--per-channel")
    marked[2, 3, 4, 5] = np.nan
    np.testing.assert_allclose(numbers(case, "fc", "bias_correction"), correction(w, np.nanmean(marked, (0, 1, 2))), rtol=1e-3, atol=1e-5)


def test_a_correction_that_is_not_finite_is_refused(case):
    two_readers(case.folder / "m.onnx", 8)
    case.rules.write_text("[[rule]]\npattern = 'conv'\nscale = 1\ninput_scale = 1\nbias_correction = [1, inf, 1, 1]\n")
    done = case.quantc("explain", case.folder / "m.onnx", "--rules", case.rules, status=1)
    assert re.search(r"r\.toml:5: error\[rule\]: bias_correction: inf", done.stderr), done.stderr


SPREAD = np.array([0.1, 1, 10, 3, 0.5, 2], np.float32)
NEIGHBOURS = {
    "linear before conv": ([1, 6, 5, 4], [node("MatMul", ["x", "a"], ["t"], name="a"), node("Conv", ["t", "b"], ["y"], name="b")],
                           {"a": (4, 6), "b": (3, 6, 1, 1)}, SPREAD, [1, 3, 5, 6]),
    "conv before linear": ([1, 6, 6, 6], [node("Conv", ["x", "a"], ["t"], name="a"), node("MatMul", ["t", "b"], ["y"], name="b")],
                           {"a": (6, 6, 1, 1), "b": (6, 3)}, SPREAD[:, None, None, None], [1, 6, 6, 3]),
    "conv before transposed": ([1, 6, 5, 5], [node("Conv", ["x", "a"], ["t"], name="a"), node("Relu", ["t"], ["u"], name="r"),
                                              node("ConvTranspose", ["u", "b"], ["y"], name="b")],
                               {"a": (6, 6, 1, 1), "b": (6, 3, 2, 2)}, SPREAD[:, None, None, None], [1, 3, 6, 6]),
    "groups before groups": ([1, 4, 5, 5], [node("ConvTranspose", ["x", "a"], ["t"], name="a", group=2), node("Relu", ["t"], ["u"], name="r"),
                                            node("ConvTranspose", ["u", "b"], ["y"], name="b", group=3)],
                             {"a": (4, 3, 1, 1), "b": (6, 2, 2, 2)}, SPREAD[:3, None, None], [1, 6, 6, 6]),
}
PAIRS = {"conv before transposed", "groups before groups"}  # channels of both lie along one axis


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_are_equalised_along_one_axis(case, name):
    given, nodes, shapes, spread, result = NEIGHBOURS[name]
    rng = np.random.default_rng(0)
    weights = {k: rng.normal(size=s).astype(np.float32) for k, s in shapes.items()}
    weights["a"] *= spread
    save(case.folder / "m.onnx", nodes, weights, {"x": given}, {"y": result})
    one = {"x": rng.normal(size=given).astype(np.float32)}
    ratios = []
    for flags in ((), ("--equalise",)):
        case.calibrate(one, "--activations", "int16", "--no-bias-correction", "--force", *flags)
        ratios.append(case.ratio(one))
    assert ("output_multiplier" in case.rules.read_text()) == (name in PAIRS)
    assert ratios[1] > max(ratios[0] - 3, 60), ratios
    if name in PAIRS:  # one scale for all weights keeps more of them than before
        case.calibrate(one, "--no-bias-correction", "--force")
        before = case.ratio(one)
        case.calibrate(one, "--no-bias-correction", "--equalise", "--force")
        assert case.ratio(one) > before
        case.validate(one)


def chain(path, names=("first", "act", "second")):
    rng = np.random.default_rng(0)
    weights = {"a": rng.normal(size=(6, 6)).astype(np.float32) * SPREAD, "b": rng.normal(size=(6, 6)).astype(np.float32)}
    save(path, [node("MatMul", ["x", "a"], ["t"], name=names[0]), node("Relu", ["t"], ["u"], name=names[1]),
                node("MatMul", ["u", "b"], ["y"], name=names[2])], weights, {"x": [4, 6]}, {"y": [4, 6]})


@pytest.mark.parametrize("partial", ["kind = 'float'", "kind = 'dynamic'", "kind = 'weight_only'"])
def test_a_layer_whose_rule_cannot_say_so_is_not_equalised(case, partial):
    chain(case.folder / "m.onnx")
    x = np.random.default_rng(1).normal(size=(8, 6)).astype(np.float32)
    (case.folder / "p.toml").write_text(f"[[rule]]\npattern = 'second$'\n{partial}\n")
    case.calibrate({"x": x}, "--activations", "int16", "--equalise", "--rules", case.folder / "p.toml")
    assert "multiplier" not in case.rules.read_text()
    assert case.ratio({"x": x[:4]}) > (30 if "dynamic" in partial else 40)


def test_a_layer_that_gets_no_rule_is_not_equalised(case):
    given, nodes, shapes, spread, result = NEIGHBOURS["conv before transposed"]
    rng = np.random.default_rng(0)
    weights = {k: rng.normal(size=s).astype(np.float32) for k, s in shapes.items()}
    save(case.folder / "m.onnx", nodes, weights | {"a": weights["a"] * spread}, {"x": given}, {"y": result})
    one = {"x": rng.normal(size=given).astype(np.float32)}
    case.calibrate(one, "--activations", "int16", "--equalise", "--ops", "conv")
    assert "multiplier" not in case.rules.read_text() and case.ratio(one) > 60


def test_layers_that_share_a_name_share_no_change_of_weights(case):
    chain(case.folder / "m.onnx", ("fc", "act", "fc"))
    x = np.random.default_rng(1).normal(size=(8, 6)).astype(np.float32)
    case.calibrate({"x": x}, "--activations", "int16", "--equalise")
    text = case.rules.read_text()
    assert text.count("[[rule]]") == 1 and "multiplier" not in text and "bias_correction" not in text
    assert case.ratio({"x": x[:4]}) > 45


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("flags", [(), ("--per-channel",)])
def test_groups_of_a_transposed_convolution_have_channels_of_their_own(case, bias, stride, flags):
    rng = np.random.default_rng(1)
    constants = {"w": rng.normal(size=(4, 3, 2, 2)).astype(np.float32)} | ({"b": rng.normal(size=6).astype(np.float32)} if bias else {})
    save(case.folder / "m.onnx", [node("ConvTranspose", ["x", *constants], ["y"], name="up", group=2, strides=[stride] * 2)], constants,
         {"x": [1, 4, 5, 5]}, {"y": [1, 6, 4 * stride + 2, 4 * stride + 2]})
    x = rng.normal(size=(8, 4, 5, 5)).astype(np.float32) + np.array([3, -2, 1, 4], np.float32)[:, None, None]
    one = {"x": x[:1]}
    case.calibrate({"x": x}, *flags)
    w = constants["w"].astype(np.float64)
    scale = np.abs(w).max((0, 2, 3), keepdims=True) / 127 if flags else np.abs(w).max() / 127
    error = (np.rint(w / scale) * scale - w).sum((2, 3)) * x.mean((0, 2, 3), dtype=np.float64)[:, None]
    # Every element of the input meets every tap; so many elements of the result share the products.
    want = -error.reshape(2, 2, 3).sum(1).ravel() * 25 / (4 * stride + 2) ** 2
    np.testing.assert_allclose(numbers(case, "up", "bias_correction"), want, rtol=1e-3, atol=1e-5)
    assert case.ratio(one) > 30
    case.validate(one)
    by = np.array([1, 2, 1, 3, 1, 2], np.float32)
    case.rules.write_text(f"[[rule]]\npattern = 'up'\nscale = 0.01\ndtype = 'int16'\ninput_scale = 0.001\noutput_multiplier = {by.tolist()}\n")
    got, want = case.run(one, "--rules", case.rules)[0]["y"], case.run(one)[0]["y"]
    assert sqnr(got, want * by[:, None, None]) > 60


def test_a_list_for_an_op_that_takes_none_is_refused(case):
    rng = np.random.default_rng(0)
    constants = {"w": rng.normal(size=(1, 12, 3)).astype(np.float32), "r": rng.normal(size=(1, 12, 3)).astype(np.float32)}
    save(case.folder / "m.onnx", [node("LSTM", ["x", "w", "r"], ["y"], name="cell", hidden_size=3)], constants, {"x": [5, 1, 3]},
         {"y": [5, 1, 1, 3]})
    for key in ("output_multiplier", "bias_correction"):
        case.rules.write_text(f"[[rule]]\npattern = 'cell'\nscale = 0.01\ninput_scale = 0.01\n{key} = {[1] * 12}\n")
        done = case.quantc("explain", case.folder / "m.onnx", "--rules", case.rules, status=1)
        assert "need an op with weights" in done.stderr and "r.toml:1" in done.stderr, done.stderr
