"""Calibration on small networks with what used to spoil it: masks, layers kept float, edges of ranges, state, NaN."""
import re

import numpy as np
import pytest
from onnx import helper

from tests.support.calibrated import Case, save, sqnr

TOKENS, WIDTH = 12, 16
LEAST = float(np.finfo(np.float32).min)


@pytest.fixture
def case(quantc, tmp_path):
    return Case(quantc, tmp_path)


def attention(path, mask):
    """One causal attention whose mask is a constant that is added, an input that is added, or a choice."""
    hidden = np.triu(np.ones((TOKENS, TOKENS), bool), 1)
    rng = np.random.default_rng(0)
    constants = {"w": (rng.normal(size=(WIDTH, WIDTH)) / 4).astype(np.float32), "root": np.float32(WIDTH ** 0.5)}
    inputs = {"x": [1, TOKENS, WIDTH]}
    node = helper.make_node
    nodes = [node("MatMul", ["x", "w"], ["q"], name="query"), node("Transpose", ["x"], ["k"], name="keys", perm=[0, 2, 1]),
             node("MatMul", ["q", "k"], ["s"], name="scores"), node("Div", ["s", "root"], ["t"], name="scaled")]
    if mask == "choice":
        constants |= {"hidden": hidden, "least": np.float32(-np.inf)}
        nodes.append(node("Where", ["hidden", "least", "t"], ["m"], name="masked"))
    else:
        nodes.append(node("Add", ["t", "mask"], ["m"], name="masked"))
        if mask == "input":
            inputs["mask"] = [1, TOKENS, TOKENS]
        else:
            constants["mask"] = np.where(hidden, np.float32(mask), np.float32(0))
    nodes += [node("Softmax", ["m"], ["p"], name="softmax", axis=-1), node("MatMul", ["p", "x"], ["y"], name="mixed")]
    save(path, nodes, constants, inputs, {"y": [1, TOKENS, WIDTH]})


@pytest.mark.parametrize("mask", [LEAST, -1e9, -1e4, "input", "choice"])
@pytest.mark.parametrize("flags", [(), ("--method", "mse"), ("--activations", "int16")])
def test_masked_scores_keep_their_range(case, mask, flags):
    attention(case.folder / "m.onnx", mask)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(16, TOKENS, WIDTH)).astype(np.float32)
    extra = {"mask": np.broadcast_to(np.where(np.triu(np.ones((TOKENS, TOKENS)), 1) > 0, np.float32(LEAST), np.float32(0)),
                                     (16, TOKENS, TOKENS))} if mask == "input" else {}
    case.calibrate({"x": x, **extra}, *flags)
    one = {"x": x[:1], **{k: v[:1] for k, v in extra.items()}}
    assert case.ratio(one) > (50 if "int16" in flags else 25)
    # What is masked has probability 0: later rows change nothing in the first ones.
    other = {**one, "x": np.concatenate([x[:1, :4], x[1:2, 4:]], 1)}
    first, second = (case.run(inputs, "--rules", case.rules)[0]["y"][:, :4] for inputs in (one, other))
    assert (first == second).all()


def layers(path, weight=None):
    """Three linear layers of different size, with ReLU between."""
    rng = np.random.default_rng(0)
    constants = {f"w{i}": (rng.normal(size=(WIDTH, WIDTH)) * s).astype(np.float32) for i, s in enumerate((0.3, 3, 0.02))}
    if weight is not None:
        constants["w1"] = weight
    node = helper.make_node
    nodes = [node("MatMul", ["x", "w0"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="act0"),
             node("MatMul", ["b", "w1"], ["c"], name="second"), node("Relu", ["c"], ["d"], name="act1"),
             node("MatMul", ["d", "w2"], ["e"], name="third"), node("Add", ["e", "x"], ["y"], name="sum")]
    save(path, nodes, constants, {"x": [4, WIDTH]}, {"y": [4, WIDTH]})
    return constants


SAMPLES = np.random.default_rng(2).normal(size=(64, WIDTH)).astype(np.float32)


def test_a_layer_kept_float_costs_its_readers_nothing(case):
    layers(case.folder / "m.onnx")
    case.calibrate({"x": SAMPLES}, "--per-channel")
    one = {"x": SAMPLES[:4]}
    before = case.ratio(one)
    text = case.rules.read_text()
    assert text.count("input_scale") == text.count("[[rule]]")
    case.rules.write_text(text.replace("[[rule]]", "[[rule]]\npattern = '(first|act0)$'\nkind = 'float'\n\n[[rule]]", 1))
    case.quantc("compile", case.folder / "m.onnx", "--rules", case.rules, "--allow-unused-rules", "-o", case.folder / "out")
    want, _ = case.run(one)
    got, done = case.run(one, "--rules", case.rules, "--allow-unused-rules")
    assert sqnr(got["y"], want["y"]) > before - 0.5
    assert "input_scale" not in done.stderr


def test_a_scale_of_the_result_for_operands_is_a_warning(case):
    layers(case.folder / "m.onnx")
    rule = "[[rule]]\npattern = 'second$'\nop = 'linear'\nscale = 0.1\n"
    case.rules.write_text(rule)
    for command in (("compile", "-o", case.folder / "out"), ("explain",)):
        done = case.quantc(command[0], case.folder / "m.onnx", "--rules", case.rules, *command[1:])
        assert re.search(r"warning: .*r\.toml:1: 1 operand.* states no input_scale; the first is operand 0 of 'second'", done.stderr)
    case.rules.write_text(rule + "input_scale = 0.05\n")
    assert not case.quantc("compile", case.folder / "m.onnx", "--rules", case.rules, "-o", case.folder / "out").stderr


def test_sixteen_bits_have_headroom(case):
    layers(case.folder / "m.onnx")
    case.calibrate({"x": SAMPLES}, "--activations", "int16")
    assert case.ratio({"x": 1.8 * SAMPLES[:4]}) > 60
    case.calibrate({"x": SAMPLES}, "--activations", "int16", "--headroom", "1")
    assert case.ratio({"x": 1.8 * SAMPLES[:4]}) < 60


@pytest.mark.parametrize("zero_points", [False, True])
def test_four_bits_use_all_their_codes(case, zero_points):
    """The decoded weights are those of ONNX Runtime's MatMulNBits; symmetric: the largest magnitude is code -8."""
    w = np.random.default_rng(3).normal(size=(64, WIDTH)).astype(np.float32) + np.float32(0.3)
    save(case.folder / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], {"w": w}, {"x": [64, 64]},
         {"y": [64, WIDTH]})
    case.rules.write_text("[[rule]]\npattern = 'fc'\nkind = 'weight_only'\nweight_dtype = 'int4'\ngroup = 32\n"
                          + "weight_zero_points = true\n" * zero_points)
    groups = w.reshape(2, 32, WIDTH)
    if zero_points:
        least, most = np.minimum(groups.min(1, keepdims=True), 0), np.maximum(groups.max(1, keepdims=True), 0)
        scale = (most - least) / np.float32(15)
        zero = np.rint(-8 - least / scale)
    else:
        largest = np.take_along_axis(groups, np.abs(groups).argmax(1)[:, None], 1)
        scale, zero = np.abs(largest) / 8, np.where(largest > 0, -1, 0)
    want = ((np.clip(np.rint(groups / scale) + zero, -8, 7) - zero) * scale).reshape(64, WIDTH)
    got, _ = case.run({"x": np.eye(64, dtype=np.float32)}, "--rules", case.rules)
    assert np.abs(got["y"] - want).max() < 1e-6
    case.validate({"x": np.eye(64, dtype=np.float32)})


def test_four_bits_beside_codes_use_all_their_codes(case):
    """The scale is the smallest with which all weights of a channel fit into -8 to 7."""
    w = np.random.default_rng(3).normal(size=(64, WIDTH)).astype(np.float32)
    save(case.folder / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], {"w": w}, {"x": [64, 64]},
         {"y": [64, WIDTH]})
    case.rules.write_text("[[rule]]\npattern = 'fc'\nkind = 'dynamic'\nweight_dtype = 'int4'\nper_channel = true\n")
    scale = np.maximum(-w.min(0) / 8, w.max(0) / 7)
    codes = np.rint(w / scale)
    assert codes.min() == -8 and codes.max() == 7
    got, _ = case.run({"x": np.eye(64, dtype=np.float32)}, "--rules", case.rules)
    assert np.abs(got["y"] - codes * scale).max() < 1e-6
    case.validate({"x": np.eye(64, dtype=np.float32)})


@pytest.mark.parametrize("results, least", [("auto", 30), ("narrow", 30), ("sums", 34), ("wide", 34), ("float32", 34)])
def test_forms_of_results(case, results, least):
    layers(case.folder / "m.onnx")
    case.calibrate({"x": SAMPLES}, "--per-channel", "--results", results)
    one = {"x": SAMPLES[:4]}
    assert case.ratio(one) > least
    case.validate(one)
    text = case.rules.read_text()
    assert ("output_dtype = 'float32'" in text) == (results == "float32")
    assert ("dtype = 'int16'" in text) == (results in ("sums", "wide"))


def shortcut(path, norm):
    """A sum of two values, a product of it beside it; with a norm before, or without."""
    rng = np.random.default_rng(1)
    constants = {"w": (rng.normal(size=(WIDTH, WIDTH)) / 4).astype(np.float32), "one": np.ones(WIDTH, np.float32)}
    nodes = [helper.make_node("Add", ["x", "z"], ["s"], name="sum")]
    if norm:
        nodes.append(helper.make_node("LayerNormalization", ["s", "one"], ["n"], name="norm", axis=-1, epsilon=1e-12))
    nodes.append(helper.make_node("MatMul", ["n" if norm else "s", "w"], ["y"], name="product"))
    shape = [1, TOKENS, WIDTH]
    save(path, nodes, constants, {"x": shape, "z": shape}, {"y": shape})


@pytest.mark.parametrize("norm, small, bits", [(True, 0.02, 16), (True, 0.5, 8), (False, 0.02, 8)])
def test_rows_of_different_size_that_a_norm_reads(case, norm, small, bits):
    """One scale for all rows leaves a small one few codes, and the norm makes it as large as the others: the sum has
    16 bits, without being asked. Rows that are alike, or that no norm reads, need none."""
    shortcut(case.folder / "m.onnx", norm)
    rng = np.random.default_rng(2)
    size = np.full((8, TOKENS, 1), 1.0)
    size[:, 0] = small
    samples = {name: (size * rng.uniform(-1, 1, (8, TOKENS, WIDTH))).astype(np.float32) for name in "xz"}
    case.calibrate(samples)
    assert ("dtype = 'int16'" in case.rules.read_text()) == (bits == 16)
    one = {name: x[:1] for name, x in samples.items()}
    want, got = case.run(one)[0]["y"], case.run(one, "--rules", case.rules)[0]["y"]
    case.validate(one)
    if norm:
        assert sqnr(got[:, 0], want[:, 0]) > 30
    case.calibrate(samples, "--results", "narrow", "--force")
    assert "int16" not in case.rules.read_text()
    if bits == 16:
        assert sqnr(case.run(one, "--rules", case.rules)[0]["y"][:, 0], want[:, 0]) < 20


def test_rules_for_some_ops(case):
    layers(case.folder / "m.onnx")
    case.calibrate({"x": SAMPLES}, "--ops", "add")
    assert case.rules.read_text().count("[[rule]]") == 1
    assert "no rule can be written for 'conv'" in case.calibrate({"x": SAMPLES}, "--ops", "add,conv", status=1).stderr


STATE = """@zero : f32[1, 4] = [0.0, 0.0, 0.0, 0.0]
graph "g" (%0 "x" : f32[1, 4]) {
  state %1 "total" : f32[1, 4] = @zero
  %2 = add(%0, %1)  loc("sum")
  %3 = tanh(%2)  loc("act")
  next %1 = %2
  return %3 "y"
}
"""


@pytest.mark.parametrize("flags", [(), ("--reference",)])
def test_runs_of_a_model_with_state_follow_each_other(quantc, tmp_path, flags):
    (tmp_path / "m.ir").write_text(STATE)
    np.savez(tmp_path / "s.npz", x=np.ones((10, 4), np.float32))
    quantc("calibrate", tmp_path / "m.ir", "--data", tmp_path / "s.npz", "-o", tmp_path / "r.toml", *flags)
    text = (tmp_path / "r.toml").read_text()
    scale = float(re.search(r"pattern = 'sum\$'\nscale = (\S+)", text)[1])
    assert scale == pytest.approx(10 / 255)  # the sum of ten ones
    inputs = [float(s) for s in re.search(r"input_scale = \[(.*)\]", text)[1].split(",")]
    assert inputs == pytest.approx([1 / 255, 9 / 255])
    quantc("compile", tmp_path / "m.ir", "--rules", tmp_path / "r.toml", "-o", tmp_path / "out")


def test_nodes_of_one_name_and_several_types(quantc, tmp_path):
    """One node of a model may become several, of which those of f32 alone are watched."""
    (tmp_path / "m.ir").write_text("""graph "g" (%0 "x" : f32[1, 4]) {
  %1 : f32[1, 4] = add(%0, %0)  loc("n")
  %2 : f64[1, 4] = cast(%1) {to = f64}  loc("n")
  %3 : f64[1, 4] = add(%2, %2)  loc("n")
  %4 : f32[1, 4] = cast(%3) {to = f32}  loc("n")
  return %4 "y"
}
""")
    np.savez(tmp_path / "s.npz", in_0=np.array([[-1, 0, 1, 2]], np.float32))
    quantc("calibrate", tmp_path / "m.ir", "--data", tmp_path / "s.npz", "-o", tmp_path / "r.toml")
    assert (tmp_path / "r.toml").read_text().count("[[rule]]") == 1


def test_nan_and_infinity_are_named(case):
    w = layers(case.folder / "m.onnx")["w1"]
    bad = SAMPLES.copy()
    bad[9, 3] = np.nan
    assert re.search(r"element 19 of sample 2 is NaN", case.calibrate({"x": bad}, status=1).stderr)
    bad[9, 3] = np.inf
    assert "samples of 'x' are infinite, the first in sample 2" in case.calibrate({"x": bad}).stderr
    for value in (np.nan, np.inf):
        w[2, 1] = value
        layers(case.folder / "m.onnx", w)
        for kind in ("scale = 1.0\ninput_scale = 1.0", "kind = 'weight_only'", "kind = 'dynamic'",
                     "scale = 1.0\ninput_scale = 1.0\nweight_scale = 0.1"):
            case.rules.write_text(f"[[rule]]\npattern = 'second'\nop = 'linear'\n{kind}\n")
            done = case.quantc("compile", case.folder / "m.onnx", "--rules", case.rules, "-o", case.folder / "o", status=1)
            assert re.search(r"second.*weight \d+ is (nan|inf)", done.stderr), done.stderr


def test_values_that_become_nan_are_named(case):
    save(case.folder / "m.onnx", [helper.make_node("Log", ["x"], ["l"], name="log"), helper.make_node("Tanh", ["l"], ["y"], name="act")],
         {}, {"x": [4, WIDTH]}, {"y": [4, WIDTH]})
    assert "elements of 'log' (log) were NaN" in case.calibrate({"x": SAMPLES}).stderr


def test_partial_rules_that_earlier_ones_hide(quantc, models, tmp_path):
    """They say nothing, unless the earlier ones are exceptions: those stand before what they except."""
    narrow, all_of_them = "[[rule]]\npattern = '.*Conv.*'\ndtype = 'int16'\n", "[[rule]]\npattern = '.*'\ndtype = 'int8'\n"
    exception = "[[rule]]\npattern = '.*Conv.*'\nkind = 'float'\n"
    call = ("calibrate", models / "digits.onnx", "--data", models / "digits.npz", "--rules", tmp_path / "part.toml", "-o", tmp_path / "made.toml")
    for text, status in ((narrow + all_of_them, 0), (all_of_them + narrow, 1), (exception + narrow + all_of_them, 0)):
        (tmp_path / "part.toml").write_text(text)
        said = quantc(*call, status=status).stderr
        assert status == 0 or ("part.toml:4: error[rule]: the rule is never used: earlier rules take what it matches" in said
                               and "part.toml:1; the rule for fewer nodes comes first" in said), said
    quantc("explain", models / "digits.onnx", "--rules", tmp_path / "made.toml")
