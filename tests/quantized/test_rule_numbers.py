"""What the numbers of a rule mean: ranges of every type, limits of a result, widths, constants without a scale, methods."""
import re

import numpy as np
import pytest
from onnx import helper

from tests.support.calibrated import Case, save, sqnr

node = helper.make_node
EYE = np.eye(8, dtype=np.float32)


@pytest.fixture
def case(quantc, tmp_path):
    return Case(quantc, tmp_path)


def linear(case, weight=EYE, rows=1):
    save(case.folder / "m.onnx", [node("Gemm", ["x", "w"], ["y"], name="fc", transB=1)], {"w": weight}, {"x": [rows, 8]}, {"y": [rows, len(weight)]})


def run(case, x, keys):
    case.rules.write_text("[[rule]]\npattern = 'fc'\n" + keys)
    got, done = case.run({"x": x}, "--rules", case.rules)
    assert not done.stderr, done.stderr
    case.validate({"x": x})
    return got["y"]


@pytest.mark.parametrize("least, most", [(-5, 5), (-5, 1), (0, 5), (-5, 0)])
@pytest.mark.parametrize("result, operand", [("uint8", "int8"), ("int16", "int16"), ("uint16", "int16"), ("uint16", "uint16"), ("int8", "uint16")])
def test_codes_of_every_type_cover_a_range(case, result, operand, least, most):
    linear(case)
    x = np.linspace(least, most, 8, dtype=np.float32)[None]
    keys = f"dtype = '{result}'\nmin = {least}.0\nmax = {most}.0\ninput_dtype = '{operand}'\ninput_min = {least}.0\ninput_max = {most}.0\n"
    step = (most - least) * max(1 / 255 if "8" in t else 1 / 32767 for t in (result, operand))
    assert np.abs(run(case, x, keys) - x).max() < 1.1 * step + 6e-4


def test_calibration_finds_unsigned_codes_of_sixteen_bits(case):
    linear(case)
    x = np.linspace(-4, 4, 8, dtype=np.float32)[None]
    (case.folder / "p.toml").write_text("[[rule]]\npattern = 'fc'\ndtype = 'uint16'\n")
    case.calibrate({"x": x}, "--rules", case.folder / "p.toml")
    assert case.ratio({"x": x}) > 60


@pytest.mark.parametrize("dtype, low, high", [("int16", -100, 32767), ("int16", -32768, 100), ("int16", 0, 1000), ("int8", -100, 20), ("uint16", 10, 5000)])
def test_limited_codes_cover_a_range_too(case, dtype, low, high):
    linear(case)
    x = np.linspace(-4, 4, 8, dtype=np.float32)[None]
    got = run(case, x, f"dtype = '{dtype}'\nqmin = {low}\nqmax = {high}\nmin = -4.0\nmax = 4.0\ninput_dtype = 'int16'\ninput_scale = 0.001\n")
    assert np.abs(got - x).max() < 4 / min(-low, high) + 1e-3 if low < 0 else np.abs(got - x).max() < 9 / (high - low)


@pytest.mark.parametrize("operand", ["input_dtype = 'int8'\n", "input_dtype = 'int16'\n", ""])
@pytest.mark.parametrize("stated", ["input_scale = 0.01\n", "input_min = -1.28\ninput_max = 1.27\n"])
def test_limits_of_a_result_are_not_those_of_its_operands(case, operand, stated):
    linear(case)
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    got = run(case, x[None], f"dtype = 'int8'\nscale = 0.1\nqmin = -5\nqmax = 5\nweight_scale = 0.01\n{stated}{operand}")
    want = np.clip(np.rint(np.rint(x / 0.01) * 0.01 / 0.1), -5, 5) * 0.1
    np.testing.assert_allclose(got[0], want, atol=1e-6)


def test_operands_with_the_scale_of_the_result_have_all_its_codes(case):
    linear(case)
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    case.rules.write_text("[[rule]]\npattern = 'fc'\nscale = 0.01\nqmax = 12\nweight_scale = [1]\n".replace("[1]", "0.25"))
    save(case.folder / "m.onnx", [node("Gemm", ["x", "w"], ["y"], name="fc", transB=1)], {"w": -EYE}, {"x": [1, 8]}, {"y": [1, 8]})
    got, _ = case.run({"x": x[None]}, "--rules", case.rules)
    np.testing.assert_allclose(got["y"][0], np.minimum(-np.rint(x / 0.01) * 0.01, 0.12), atol=1e-6)


def test_joined_values_keep_within_the_limits_of_the_result(case):
    save(case.folder / "m.onnx", [node("Concat", ["x", "z"], ["y"], name="fc", axis=1)], {}, {"x": [1, 4], "z": [1, 4]}, {"y": [1, 8]})
    one = {"x": np.linspace(-1, 1, 4, dtype=np.float32)[None], "z": np.linspace(-3, 3, 4, dtype=np.float32)[None]}
    case.rules.write_text("[[rule]]\npattern = 'fc'\nscale = 0.1\nqmax = 12\ninput_scale = [0.1, 0.1]\n")
    got, _ = case.run(one, "--rules", case.rules)
    want = np.minimum(np.rint(np.concatenate([one["x"], one["z"]], 1) / np.float32(0.1)), 12) * 0.1
    np.testing.assert_allclose(got["y"], want, atol=1e-6)
    case.validate(one)


@pytest.mark.parametrize("keys, wide", [("dtype = 'int8'\ninput_dtype = 'int16'\n", True), ("dtype = 'int16'\ninput_dtype = 'int8'\n", True),
                                        ("dtype = 'int8'\n", False), ("dtype = 'uint16'\ninput_dtype = 'uint8'\n", True)])
def test_weights_beside_sixteen_bits_have_sixteen(case, keys, wide):
    linear(case)
    keys = f"[[rule]]\npattern = 'fc'\nscale = 0.1\ninput_scale = 0.01\n{keys}"
    case.rules.write_text(keys)
    text = case.quantc("inspect", case.folder / "m.onnx", "--ir", "--rules", case.rules).stdout
    assert re.search(r"^@\S+ : q?\S*(i16|i8)", text, re.M)[1] == ("i16" if wide else "i8"), text


@pytest.mark.parametrize("results", ["auto", "wide", "float32"])
@pytest.mark.parametrize("first", [True, False])
def test_a_constant_operand_of_a_product(case, first, results):
    rng = np.random.default_rng(1)
    w = rng.normal(size=(8, 2) if first else (3, 8)).astype(np.float32)
    operands = ["w", "x"] if first else ["x", "w"]
    save(case.folder / "m.onnx", [node("MatMul", operands, ["y"], name="mm")], {"w": w}, {"x": [2, 3]}, {"y": [8, 3] if first else [2, 8]})
    one = {"x": rng.normal(size=(2, 3)).astype(np.float32)}
    case.calibrate(one, "--results", results)
    assert case.ratio(one) > 30
    case.validate(one)


def test_there_is_nothing_to_calibrate(case):
    """Writing a file without rules and reading it take the same flag."""
    save(case.folder / "m.onnx", [node("Reshape", ["x", "s"], ["y"], name="view")], {"s": np.array([8], np.int64)}, {"x": [2, 4]}, {"y": [8]})
    x = {"x": np.ones((2, 4), np.float32)}
    done = case.calibrate(x, status=1)
    assert "there is no rule to write" in done.stderr and "--allow-unused-rules" in done.stderr and not case.rules.exists()
    case.calibrate(x, "--allow-unused-rules")
    assert "the file has no rule" in case.quantc("explain", case.folder / "m.onnx", "--rules", case.rules, status=1).stderr
    case.quantc("explain", case.folder / "m.onnx", "--rules", case.rules, "--allow-unused-rules")


def numbers(rules):
    """What a file says, but for its first line and the checksum."""
    return [line for line in rules.read_text().splitlines() if "=" in line]


def test_few_elements_are_not_taken_for_a_distribution(case):
    rng = np.random.default_rng(4)
    linear(case, rng.normal(size=(8, 8)).astype(np.float32))
    few, many = (rng.laplace(size=(n, 8)).astype(np.float32) for n in (64, 12500))
    done = case.calibrate({"x": few}, "--method", "entropy")
    assert re.search(r"warning: .*--method entropy: 2 of 2 ranges are those of minmax, for with 64 samples .* fewer than 100000 elements, "
                     r"down to 512: 12500 samples are enough", done.stderr), done.stderr
    by_entropy = numbers(case.rules)
    case.calibrate({"x": few}, "--force")
    assert numbers(case.rules) == by_entropy
    case.calibrate({"x": many}, "--force")
    by_minmax = numbers(case.rules)
    assert not case.calibrate({"x": many}, "--method", "entropy", "--force").stderr
    assert numbers(case.rules) != by_minmax and case.ratio({"x": many[:1]}) > 25


@pytest.mark.parametrize("activations", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("rule", ["kind = 'dynamic'", "kind = 'dynamic'\nsymmetric = true", "kind = 'weight_only'", "kind = 'weight_only'\nweight_dtype = 'int4'"])
def test_rules_of_other_kinds_are_not_changed_by_calibration(case, rule, activations):
    """What the file says by default is for the rules that were found."""
    linear(case, np.random.default_rng(5).normal(size=(6, 8)).astype(np.float32))
    part = case.folder / "p.toml"
    part.write_text(f"[[rule]]\npattern = 'fc'\n{rule}\n")
    case.calibrate({"x": EYE}, "--activations", activations, "--rules", part)
    shown = [case.quantc("inspect", case.folder / "m.onnx", "--ir", "--constants", "--rules", rules).stdout for rules in (part, case.rules)]
    assert shown[0] == shown[1]
