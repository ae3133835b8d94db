"""What is not done as asked, or costs more than it seems to, is said without being asked for."""
import json
import re

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def save(path, nodes, constants, x=(2, 64), y=(2, 48), opset=23):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, x)], [helper.make_tensor_value_info("y", FLOAT, y)],
        [c if isinstance(c, onnx.TensorProto) else numpy_helper.from_array(c, k) for k, c in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11), path)
    return path


@pytest.fixture
def linear(tmp_path):
    w = np.random.default_rng(0).normal(size=(64, 128)).astype(np.float32)
    return save(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], {"w": w}, y=(2, 128))


def warnings_of(done):
    return [line.split("warning: ", 1)[1] for line in done.stderr.splitlines() if "warning: " in line]


@pytest.mark.parametrize("kind", ["kind = 'dynamic'", "scale = 0.1\ninput_scale = 0.1"])
def test_groups_of_weights_beside_quantized_activations_are_not_passed_over(quantc, linear, kind):
    rules = linear.parent / "r.toml"
    rules.write_text(f"[[rule]]\npattern = 'fc'\ngroup = 32\n{kind}\n")
    said = [f"{rules}:1 says group for weights beside activations of codes, which no kernel multiplies: they are rounded once more, to int8 "
            "with a scale for each output, and take 8192 bytes instead of 9216 (linear 'fc'); kind = 'weight_only' keeps groups"]
    assert warnings_of(quantc("compile", linear, "--rules", rules, "-o", linear.parent / "out")) == said
    done = quantc("explain", linear, "--rules", rules, "--json")
    assert warnings_of(done) == said and json.loads(done.stdout)["warnings"] == said


def test_a_rule_that_is_followed_gives_no_warning(quantc, linear):
    rules = linear.parent / "r.toml"
    rules.write_text("[[rule]]\npattern = 'fc'\nkind = 'dynamic'\nper_channel = true\n")
    assert not warnings_of(quantc("compile", linear, "--rules", rules, "-o", linear.parent / "out"))


@pytest.mark.parametrize("kind", ["kind = 'dynamic'", "scale = 0.1\ninput_scale = 0.1"])
def test_weights_of_no_known_size_stay_float(quantc, tmp_path, kind):
    (tmp_path / "m.ir").write_text('graph "g" (%0 "a" : f32[2, 64], %1 "b" : f32[m, 64]) {\n'
                                   '  %2 : f32[2, m] = linear(%0, %1)  loc("fc")\n  return %2 "y"\n}\n')
    (tmp_path / "r.toml").write_text(f"[[rule]]\npattern = 'fc'\n{kind}\n")
    refused = quantc("explain", tmp_path / "m.ir", "--rules", tmp_path / "r.toml", status=1).stderr
    assert "'fc'" in refused and "its weights are not constant: exclude the node or say skip_unsupported" in refused
    (tmp_path / "r.toml").write_text(f"[[rule]]\npattern = 'fc'\n{kind}\nskip_unsupported = true\n")
    said = warnings_of(quantc("explain", tmp_path / "m.ir", "--rules", tmp_path / "r.toml"))
    assert said == [f"{tmp_path}/r.toml:1 asks for integers, but linear 'fc' stays float: its weights are not constant"]
    assert "quantize" not in quantc("inspect", tmp_path / "m.ir", "--ir", "--rules", tmp_path / "r.toml").stdout


def test_four_bit_weights_that_take_eight_are_named(quantc, linear):
    rules = linear.parent / "r.toml"
    rules.write_text("[[rule]]\npattern = 'fc'\nkind = 'dynamic'\nweight_dtype = 'int4'\nper_channel = true\n")
    said = warnings_of(quantc("compile", linear, "--rules", rules, "-o", linear.parent / "out"))
    assert said == ["1 constant of i4 in the model ('w') takes 8192 bytes instead of 4096: "
                    "no kernel reads them so narrow where they are used"]


def weight_bytes(done):
    return int(re.search(r"weights (\d+) bytes", done.stdout)[1])


def run(quantc, model, x, *flags):
    np.savez(model.parent / "in.npz", x)
    np.savez(model.parent / "x.npz", in_0=x)
    quantc("run", model, "-i", model.parent / "x.npz", "-o", model.parent / "y.npz", *flags)
    with np.load(model.parent / "y.npz") as file:
        return file[file.files[0]]


class TwoLinears(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(128, 96), torch.nn.Linear(96, 32)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


@pytest.mark.parametrize("decomposed", [False, True])
def test_weights_that_torchao_stores_in_eight_bits_stay_so(quantc, tmp_path, decomposed):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_
    from torchao.utils import unwrap_tensor_subclass
    torch.manual_seed(0)
    model = TwoLinears().eval()
    quantize_(model, Int8WeightOnlyConfig(version=2))
    x = torch.randn(3, 128)
    program = torch.export.export(unwrap_tensor_subclass(model), (x,))
    program = program.run_decompositions() if decomposed else program
    torch.export.save(program, tmp_path / "m.pt2")
    done = quantc("compile", tmp_path / "m.pt2", "-o", tmp_path / "out")
    assert not warnings_of(done)
    elements = 128 * 96 + 96 * 32
    assert elements <= weight_bytes(done) <= 1.1 * elements
    y = run(quantc, tmp_path / "m.pt2", x.numpy())
    np.testing.assert_allclose(y, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert "FAIL" not in quantc("validate", tmp_path / "m.pt2", "--random", "1").stdout


@pytest.mark.parametrize("symmetric", [True, False])
def test_integers_of_four_bits_in_groups_stay_codes(quantc, tmp_path, symmetric):
    """Those of torchao, a byte each; with zero points they are floats, and a warning says so."""
    import torchao.quantization as ao
    torch.manual_seed(0)
    model = TwoLinears().eval()
    how = ao.MappingType.SYMMETRIC if symmetric else ao.MappingType.ASYMMETRIC
    ao.quantize_(model, ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(32), mapping_type=how))
    x = torch.randn(3, 128)
    torch.export.save(torch.export.export(model, (x,)).run_decompositions(), tmp_path / "m.pt2")
    done = quantc("compile", tmp_path / "m.pt2", "-o", tmp_path / "out")
    elements = 128 * 96 + 96 * 32
    assert bool(warnings_of(done)) == (weight_bytes(done) > 2 * elements) == (not symmetric)
    np.testing.assert_allclose(run(quantc, tmp_path / "m.pt2", x.numpy()), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert "FAIL" not in quantc("validate", tmp_path / "m.pt2", "--random", "1").stdout


def test_blocks_of_four_bit_floats_take_a_byte_each_with_a_word(quantc, tmp_path):
    rng = np.random.default_rng(1)
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    codes = rng.integers(0, 16, (64, 128))
    decoded = np.where(codes < 8, 1, -1) * values[codes % 8]
    raw = (codes.reshape(-1, 2) @ np.array([1, 16])).astype(np.uint8).tobytes()
    w = helper.make_tensor("w", TensorProto.FLOAT4E2M1, codes.shape, raw, raw=True)
    scales = rng.uniform(0.5, 2, (2, 128)).astype(np.float32)
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=32),
             helper.make_node("MatMul", ["x", "d"], ["y"], name="fc")]
    model = save(tmp_path / "m.onnx", nodes, {"w": w, "s": scales}, y=(2, 128))
    done = quantc("compile", model, "-o", tmp_path / "out")
    assert weight_bytes(done) < 64 * 128 * 1.2
    x = rng.normal(size=(2, 64)).astype(np.float32)
    np.testing.assert_allclose(run(quantc, model, x), x @ (decoded * np.repeat(scales, 32, 0)), rtol=1e-4, atol=1e-4)
    assert warnings_of(done) == ["1 constant of f4e2m1 in the model ('w') takes 8192 bytes instead of 4096: "
                                 "no kernel reads them so narrow where they are used"]


def test_weights_that_are_no_codes_times_scales_are_named(quantc, tmp_path):
    rng = np.random.default_rng(2)
    codes = rng.integers(-127, 128, (64, 48)).astype(np.int8)
    nodes = [helper.make_node("Cast", ["w"], ["f"], to=FLOAT), helper.make_node("Tanh", ["f"], ["t"]),
             helper.make_node("MatMul", ["x", "t"], ["y"], name="fc")]
    done = quantc("compile", save(tmp_path / "m.onnx", nodes, {"w": codes}), "-o", tmp_path / "out")
    assert warnings_of(done) == ["1 constant of i8 in the model ('w') takes 12288 bytes instead of 3072: "
                                 "no kernel reads them so narrow where they are used"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_named(quantc, tmp_path, value):
    w = np.ones((64, 48), np.float32)
    w[3, 4] = value
    model = save(tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], {"w": w})
    said = warnings_of(quantc("compile", model, "-o", tmp_path / "out"))
    assert len(said) == 1 and re.fullmatch(r"constant 'w.*' holds NaN or infinity, and so will results", said[0])


def test_masks_of_minus_infinity_are_not_named(quantc, tmp_path):
    mask = np.where(np.tri(64, dtype=bool)[:2], 0, -np.inf).astype(np.float32)
    model = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "mask"], ["y"])], {"mask": mask}, y=(2, 64))
    assert not warnings_of(quantc("compile", model, "-o", tmp_path / "out"))


def test_codes_that_a_target_has_no_vector_kernels_for(quantc, models, root, tmp_path):
    """Selection says so: x86 and AArch64 have kernels of 8 bits, portable code names no instructions at all."""
    digits, rules = models / "digits.onnx", {"int8": root / "examples/digits/rules.toml"}
    (tmp_path / "linear.toml").write_text("[[rule]]\npattern = 'node_linear'\ndtype = 'int16'\n")
    for name, flags in {"int16": ["--activations", "int16"], "some": ["--rules", tmp_path / "linear.toml"]}.items():
        rules[name] = tmp_path / f"{name}.toml"
        quantc("calibrate", digits, "--data", root / "examples/digits/calibration.npz", "-o", rules[name], *flags)
    def said(precision, target):
        return quantc("compile", digits, "--rules", rules[precision], "--target", target, "-o", tmp_path / f"{precision}_{target}", "--name", "net").stderr
    for target in ("x86-avx2", "x86", "aarch64-dotprod"):
        assert said("int16", target).count("100 % of the multiply-accumulates are of 16-bit codes, for which the target has no vector kernels") == 1
    assert "quantc analyze" in said("int16", "x86-avx512vnni")
    for precision, target in (("int16", "portable"), ("int8", "x86-avx2"), ("some", "x86-avx2")):
        assert "16-bit" not in said(precision, target)
