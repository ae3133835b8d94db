"""Defects of earlier compilers that lift and combine quantizes, fuse them with norms and merge products: each as a test that fails on it.

| defect or case | test here | the pass alone |
|---|---|---|
| a scale, or the size of a view, defined below the place a quantize is lifted to | test_what_is_defined_late | LiftQuantize.WhatIsReadIsDefinedBefore, lift_quantize/order.ir |
| one view that equal quantizes share: combined, not lifted, and the norm not fused | test_one_view_of_several_quantizes | one_view_several_quantizes.ir |
| a second reader needs a result that the first did not have | test_results_that_a_later_reader_needs | only_the_scale.ir |
| only the scale is used; a twin that nobody reads comes first | test_only_the_scale, test_a_dead_twin | only_the_scale.ir |
| one call written with a default, a keyword, a position; scales compared by identity | test_one_call_however_written, test_scales_by_value | equal_by_value.ir |
| a quantize per row lifted past a view that changes rows; scales not reshaped | test_rows_that_a_view_changes | per_token_last_axis.ir, per_token_twin.ir |
| the same for groups | test_groups_that_a_view_moves | LiftQuantize.Groups..., groups.ir |
| the same for channels | test_channels_that_a_view_moves | per_channel.ir |
| one range lifted past a slice, split or concat | test_a_range_of_a_part | per_tensor_parts.ir |
| merged products compare scales by shape only | test_merged_products_keep_their_own_scales | merge_products/apart.ir, results.ir |
| norm and quantize fused with eps 1e-6 and int8 only | test_norms_with_any_epsilon_and_codes | FuseQuantize.AnyEpsilonAndType |
| weights of 8 bits alone quantize activations, too | test_weights_alone | merge_products/weights_alone.ir |
| one product for queries, keys, values and one for gate and up, the same numbers | test_products_of_a_qwen3_layer | merge_products/qkv.ir, gate_up.ir |
| rows of a slice with steps, an axis of one element between the axes of rows | test_rows_of_a_slice_with_steps | - |
| one quantize for each source and parameters | test_three_views_of_a_norm | fuse_quantize/three_views_of_a_norm.ir |
"""
import re

import numpy as np
import pytest
import torch
from onnx import TensorProto
from torch import nn

from tests.support.onnx_models import node, save, value, weight
from tests.support.quantized import Bench, module

SYMMETRIC = "{to = i8, symmetric = true, per_token = true}"
TOKEN = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nper_token = true\nsymmetric = true\nper_channel = true\nskip_unsupported = true\n"
PASSES = ("lift_quantize", "fuse_quantize", "merge_products", "merge_slices")


class Case:
    """A model, its contract graph and its outputs, which are the same bits without each of the passes and in C."""

    def __init__(self, quantc, folder, model, inputs, *flags):
        if isinstance(model, str):
            (folder / "net.ir").write_text(model)
            model = folder / "net.ir"
        np.savez(folder / "in.npz", **inputs)
        run = [model, "-i", folder / "in.npz", *flags]
        answers = []
        for off in ("", *PASSES):
            quantc("run", *run, "-o", folder / "out.npz", *(["--disable-pass", off] if off else []))
            with np.load(folder / "out.npz") as out:
                answers.append({name: out[name] for name in out.files})
        quantc("validate", *run, "--cflags=-O0")
        self.outputs = answers[0]
        for other in answers[1:]:
            assert all(other[name].tobytes() == array.tobytes() for name, array in self.outputs.items())
        self.ops = re.findall(r" = (\w+)\(", quantc("inspect", model, "--ir", *flags).stdout)

    def count(self, text):
        return sum(text in op for op in self.ops)


@pytest.fixture
def case(quantc, tmp_path):
    return lambda model, *flags, **inputs: Case(quantc, tmp_path, model, inputs, *flags)


def rows_of(*shape):
    """Numbers whose rows differ much in magnitude: a scale of another row is far off."""
    rng = np.random.default_rng(1)
    rows = 10.0 ** rng.integers(-3, 4, (*shape[:-1], 1))
    return (rng.standard_normal(shape) * rows).astype(np.float32)


def test_what_is_defined_late(case, tmp_path):
    """Shape of the view and scale are made below the norm, from another input and from a constant node."""
    nodes = [node("LayerNormalization", ["x", "gamma"], ["y"], axis=-1),
             node("Shape", ["like"], ["late_shape"]),
             node("Reshape", ["y", "late_shape"], ["view"]),
             node("Constant", [], ["late_scale"], value=weight("c", np.float32(0.05))),
             node("QuantizeLinear", ["view", "late_scale", "zero"], ["q"]),
             node("QuantizeLinear", ["y", "scale", "zero"], ["p"])]
    given = [weight("gamma", np.ones(8, np.float32)), weight("zero", np.int8(3)), weight("scale", np.float32(0.05))]
    model = save(tmp_path / "late.onnx", nodes, [value("x", [2, 8]), value("like", [4, 4])],
                 [value("q", [4, 4], TensorProto.INT8), value("p", [2, 8], TensorProto.INT8)], given)
    found = case(model, x=rows_of(2, 8), like=np.zeros((4, 4), np.float32))
    assert found.count("layer_norm_quantize") == 1 and found.count("quantize") == 1
    assert (found.outputs["q"].ravel() == found.outputs["p"].ravel()).all()


def test_one_view_of_several_quantizes(case):
    found = case(f"""graph (%0 "x" : f32[2, 3, 8]) {{
  %1 = rms_norm(%0) {{axis = 2}}
  %2 = reshape(%1) {{shape = [6, 8]}}
  %3, %4, %5 = quantize_dynamic(%2) {SYMMETRIC}
  %6, %7, %8 = quantize_dynamic(%2) {SYMMETRIC}
  %9 = dequantize(%3, %4, %5)
  %10 = dequantize(%6, %7, %8)
  return %9 "a", %10 "b"
}}""", x=rows_of(2, 3, 8))
    assert found.count("rms_norm_quantize_dynamic") == 1 and found.count("quantize_dynamic") == 1


def test_results_that_a_later_reader_needs(case):
    """The first has no reader of its scales, the second none of its codes, the third reads all."""
    found = case(f"""graph (%0 "x" : f32[2, 3, 8]) {{
  %1 = rms_norm(%0) {{axis = 2}}
  %2 = reshape(%1) {{shape = [6, 8]}}
  %3, %4, %5 = quantize_dynamic(%2) {SYMMETRIC}
  %6 = reshape(%1) {{shape = [1, 6, 8]}}
  %7, %8, %9 = quantize_dynamic(%6) {SYMMETRIC}
  %10, %11, %12 = quantize_dynamic(%1) {SYMMETRIC}
  %13 = dequantize(%10, %11, %12)
  return %3 "codes", %8 "scales", %13 "all"
}}""", x=rows_of(2, 3, 8))
    assert found.count("quantize_dynamic") == 1
    codes, scales = found.outputs["codes"], found.outputs["scales"]
    assert codes.shape == (6, 8) and scales.shape == (1, 6, 1)
    np.testing.assert_array_equal(codes * scales[0], found.outputs["all"].reshape(6, 8))


def test_only_the_scale(case):
    found = case(f"""graph (%0 "x" : f32[2, 3, 8]) {{
  %1 = exp(%0)
  %2 = reshape(%1) {{shape = [6, 8]}}
  %3, %4, %5 = quantize_dynamic(%2) {SYMMETRIC}
  return %4 "scales"
}}""", x=np.ones((2, 3, 8), np.float32))
    np.testing.assert_allclose(found.outputs["scales"], np.full((6, 1), np.e / 127), rtol=1e-6)


def test_a_dead_twin(case):
    found = case("""graph (%0 "x" : f32[2, 8]) {
  %1 = exp(%0)
  %2 = reshape(%1) {shape = [16]}
  %3, %4, %5 = quantize_dynamic(%2) {to = u8}
  %6 = reshape(%1) {shape = [4, 4]}
  %7, %8, %9 = quantize_dynamic(%6) {to = u8}
  %10 = dequantize(%7, %8, %9)
  return %10 "y"
}""", x=np.ones((2, 8), np.float32))
    assert found.count("quantize_dynamic") == 1
    np.testing.assert_allclose(found.outputs["y"], np.full((4, 4), np.e), rtol=1e-2)


def test_one_call_however_written(case, tmp_path):
    """In ONNX a zero point that is left out, one that is written, an axis that changes nothing, and two names of one scale; in PyTorch by
    position, by keyword and with tensors in the place of numbers."""
    given = [weight("s", np.float32(0.05)), weight("t", np.float32(0.05)), weight("zero", np.uint8(0))]
    nodes = [node("Exp", ["x"], ["y"]), node("QuantizeLinear", ["y", "s"], ["a"]), node("QuantizeLinear", ["y", "t", "zero"], ["b"]),
             node("QuantizeLinear", ["y", "t", "zero"], ["c"], axis=0)]
    model = save(tmp_path / "spelled.onnx", nodes, [value("x", [2, 8])], [value(n, [2, 8], TensorProto.UINT8) for n in "abc"], given)
    assert case(model, x=np.ones((2, 8), np.float32)).count("quantize") == 1

    from torch.ao.quantization.fx import _decomposed  # noqa: F401  the ops of quantized_decomposed
    ops = torch.ops.quantized_decomposed

    def forward(m, x):
        y = torch.exp(x)
        codes = (ops.quantize_per_tensor(y, 0.05, 3, -128, 127, torch.int8),
                 ops.quantize_per_tensor(input=y, scale=0.05, zero_point=3, quant_min=-128, quant_max=127, dtype=torch.int8),
                 ops.quantize_per_tensor.tensor(y.view(16), m.scale, m.zero, -128, 127, torch.int8).view(2, 8))
        return tuple(ops.dequantize_per_tensor(q, 0.05, 3, -128, 127, torch.int8) + i for i, q in enumerate(codes))
    net = module(forward)
    net.register_buffer("scale", torch.tensor(0.05))
    net.register_buffer("zero", torch.tensor(3, dtype=torch.int64))
    torch.export.save(torch.export.export(net.eval(), (torch.ones(2, 8),)), tmp_path / "spelled.pt2")
    assert case(tmp_path / "spelled.pt2", in_0=np.ones((2, 8), np.float32)).ops.count("quantize") == 1


@pytest.mark.parametrize("other, quantizes", [("scale=f64 0.5", 1), ("scale=0.5, zero=0", 1), ("scale=0.25", 2), ("scale=0.5, zero=1", 2)])
def test_scales_by_value(case, other, quantizes):
    found = case(f"""graph (%0 "x" : f32[2, 8]) {{
  %1 = exp(%0)
  %2 = quantize(%1) {{to = i8 q(-128, 127, scale=0.5)}}
  %3 = reshape(%1) {{shape = [16]}}
  %4 = quantize(%3) {{to = i8 q(-128, 127, {other})}}
  return %2 "a", %4 "b"
}}""", x=np.ones((2, 8), np.float32))
    assert found.count("quantize") == quantizes


@pytest.mark.parametrize("view, shape", [("reshape(%1) {shape = [2, 3, 2, 4]}", (2, 3, 2, 4)), ("reshape(%1) {shape = [2, 24]}", (2, 24)),
                                         ("transpose(%1) {perm = [0, 2, 1]}", (2, 8, 3))])
def test_rows_that_a_view_changes(case, view, shape):
    """Every row of the view has its own largest magnitude, although rows of the whole are quantized, too."""
    x = rows_of(2, 3, 8)
    found = case(f"""graph (%0 "x" : f32[2, 3, 8]) {{
  %1 = abs(%0)
  %2, %3, %4 = quantize_dynamic(%1) {SYMMETRIC}
  %5 = {view}
  %6, %7, %8 = quantize_dynamic(%5) {SYMMETRIC}
  %9 = dequantize(%6, %7, %8)
  return %2 "whole", %7 "scales", %9 "y"
}}""", x=x)
    seen = np.abs(x).transpose(0, 2, 1) if "transpose" in view else np.abs(x).reshape(shape)
    scales = seen.max(-1, keepdims=True) / np.float32(127)
    np.testing.assert_allclose(found.outputs["scales"], scales, rtol=1e-6)
    assert (np.abs(found.outputs["y"] - seen) <= scales * 0.501).all()


@pytest.mark.parametrize("view, shape", [("reshape(%1) {shape = [12]}", (12,)), ("transpose(%1) {perm = [1, 0]}", (6, 2)),
                                         ("reshape(%1) {shape = [6, 2]}", (6, 2))])
def test_groups_that_a_view_moves(case, view, shape):
    """Scales of groups of two along the first axis of the view, each ten times the one before."""
    scales = np.float32([0.001, 0.01, 0.1, 1.0, 10.0, 100.0]).reshape(shape[0] // 2, *shape[1:])
    x = np.abs(rows_of(2, 6))
    found = case(f"""graph (%0 "x" : f32[2, 6]) {{
  %1 = abs(%0)
  %2 = {view}
  %3 = quantize(%2) {{to = i8 q(-128, 127, axis=0, group=2, scale=[0.001, 0.01, 0.1, 1.0, 10.0, 100.0])}}
  return %3 "q"
}}""", x=x)
    seen = x.T if "transpose" in view else x.reshape(shape)
    np.testing.assert_array_equal(found.outputs["q"], np.clip(np.rint(seen / scales.repeat(2, 0)), -128, 127))


@pytest.mark.parametrize("view, shape, axis", [("reshape(%1) {shape = [4, 3]}", (4, 3), 1), ("transpose(%1) {perm = [2, 0, 1]}", (3, 2, 2), 0),
                                               ("reshape(%1) {shape = [2, 6]}", (2, 6), 1), ("reshape(%1) {shape = [3, 4]}", (3, 4), 0)])
def test_channels_that_a_view_moves(case, view, shape, axis):
    x = np.abs(rows_of(2, 2, 3))
    scales = np.float32(10.0) ** np.arange(-3, shape[axis] - 3, dtype=np.float32)
    found = case(f"""graph (%0 "x" : f32[2, 2, 3]) {{
  %1 = abs(%0)
  %2 = {view}
  %3 = quantize(%2) {{to = i8 q(-128, 127, axis={axis}, scale=[{", ".join(repr(float(s)) for s in scales)}])}}
  return %3 "q"
}}""", x=x)
    seen = x.transpose(2, 0, 1) if "transpose" in view else x.reshape(shape)
    each = scales.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    np.testing.assert_array_equal(found.outputs["q"], np.clip(np.rint(seen / each), -128, 127))


def test_a_range_of_a_part(case):
    """One range found at run time is that of what is quantized: of each part, and of what is joined."""
    x = np.concatenate([np.full((2, 4), 1.0), np.full((2, 4), 100.0)], 1).astype(np.float32)
    found = case("""graph (%0 "x" : f32[2, 8]) {
  %1 = abs(%0)
  %2 = slice(%1) {start = [0, 0], size = [2, 4], step = [1, 1]}
  %3, %4, %5 = quantize_dynamic(%2) {to = u8}
  %6 = slice(%1) {start = [0, 4], size = [2, 4], step = [1, 1]}
  %7, %8, %9 = quantize_dynamic(%6) {to = u8}
  %10 = concat(%2, %6) {axis = 0}
  %11, %12, %13 = quantize_dynamic(%10) {to = u8}
  return %4 "small", %8 "large", %12 "both", %3 "a", %7 "b", %11 "c"
}""", x=x)
    assert found.count("quantize_dynamic") == 3
    for name, most in (("small", 1), ("large", 100), ("both", 100)):
        np.testing.assert_allclose(found.outputs[name], most / 255, rtol=1e-6)


def products(scales, given=("0.05", "0.05")):
    """Two products of one value, with weights of these scales, from codes of those."""
    return f"""@a : i8[2, 3] q(-127, 127, {scales[0]}) = [1, 2, 3, -4, 5, 6]
@b : i8[2, 3] q(-127, 127, {scales[1]}) = [1, 2, 3, -4, 5, 6]
graph (%0 "x" : f32[4, 3]) {{
  %1 = exp(%0)
  %2 = quantize(%1) {{to = i8 q(-128, 127, scale={given[0]})}}
  %3 = quantize(%1) {{to = i8 q(-128, 127, scale={given[1]})}}
  %4 = qlinear(%2, @a) {{to = f32}}
  %5 = qlinear(%3, @b) {{to = f32}}
  return %4 "a", %5 "b"
}}"""


@pytest.mark.parametrize("scales", [("scale=0.1", "scale=0.4"), ("axis=0, scale=[0.1, 0.2]", "axis=0, scale=[0.4, 0.8]")])
def test_merged_products_keep_their_own_scales(case, scales):
    """Scales of one shape and other values: of weights each product keeps its own; of the operand they stay two."""
    x = np.zeros((4, 3), np.float32)
    found = case(products(scales), x=x)
    assert found.count("qlinear") == 1
    np.testing.assert_allclose(found.outputs["b"], 4 * found.outputs["a"], rtol=1e-6)
    assert (found.outputs["a"] > 0).all()
    apart = case(products(scales, ("0.05", "0.5")), x=x)
    assert apart.count("qlinear") == 2
    np.testing.assert_allclose(apart.outputs["b"], 4 * apart.outputs["a"], rtol=1e-6)


@pytest.mark.parametrize("to", ["to = u8", "to = i16, symmetric = true, per_token = true"])
@pytest.mark.parametrize("eps", ["0.0", "1e-05", "4.0"])
def test_norms_with_any_epsilon_and_codes(case, eps, to):
    found = case(f"""graph (%0 "x" : f32[2, 8], %1 "r" : f32[2, 8]) {{
  %2 = add(%0, %1)
  %3 = rms_norm(%2) {{axis = 1, eps = {eps}}}
  %4, %5, %6 = quantize_dynamic(%3) {{{to}}}
  %7 = dequantize(%4, %5, %6)
  return %7 "y", %2 "sum"
}}""", x=np.ones((2, 8), np.float32), r=np.zeros((2, 8), np.float32))
    assert found.ops[0] == "rms_norm_quantize_dynamic" and "add" not in found.ops
    np.testing.assert_allclose(found.outputs["y"], (1 + float(eps)) ** -0.5, rtol=0.005)


def test_weights_alone(quantc, tmp_path):
    """Codes of weights and floats of activations: one that is a million times the others loses them nothing."""
    torch.manual_seed(0)
    bench = Bench(quantc, tmp_path)
    x = torch.ones(2, 16)
    x[0, 0] = 1e6
    bench.export(module(lambda m, x: (m.a(x), m.b(x)), a=nn.Linear(16, 4, bias=False), b=nn.Linear(16, 8, bias=False)), x)
    ran = bench.run("[[rule]]\npattern = '.*'\nkind = 'weight_only'\nper_channel = true\n")
    assert ran.ops().count("qlinear") == 1 and not any("quantize" in op for op in ran.ops()), ran.ops()
    assert np.abs(ran.outputs[0][1] - ran.expected[0][1]).max() < 16 * 0.25 / 254


def test_products_of_a_qwen3_layer(case, quantc, tmp_path):
    hf = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = hf.Qwen3Config(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                            intermediate_size=48, max_position_embeddings=16)
    net = hf.Qwen3ForCausalLM(config).eval()
    model = module(lambda m, ids: m.net(ids, use_cache=False).logits, net=net).eval()
    ids = torch.randint(0, 32, (1, 6))
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (ids,), strict=False), tmp_path / "qwen3.pt2")
    (tmp_path / "rules.toml").write_text(TOKEN)
    found = case(tmp_path / "qwen3.pt2", "--rules", tmp_path / "rules.toml", in_0=ids.numpy())  # unmerged, the same bits
    assert found.count("qlinear") == 5 and found.ops.count("linear") == 0, found.ops  # with the one of the logits
    said = quantc("explain", tmp_path / "qwen3.pt2", "--rules", tmp_path / "rules.toml").stdout
    assert "5 products became 2" in said


def test_three_views_of_a_norm(case, tmp_path):
    """Three layers read one norm through three views, with a rule that asks each for codes: one node makes them."""
    torch.manual_seed(0)

    def forward(m, x):
        y = m.norm(x)
        return m.q(y), m.k(y.view(6, 8)), m.v(y.transpose(0, 1))
    net = module(forward, norm=nn.RMSNorm(8), q=nn.Linear(8, 4), k=nn.Linear(8, 5), v=nn.Linear(8, 6)).eval()
    torch.export.save(torch.export.export(net, (torch.ones(2, 3, 8),)), tmp_path / "views.pt2")
    (tmp_path / "rules.toml").write_text(TOKEN)
    found = case(tmp_path / "views.pt2", "--rules", tmp_path / "rules.toml", in_0=rows_of(2, 3, 8))
    assert found.count("rms_norm_quantize_dynamic") == 1 and found.count("quantize") == 1, found.ops


def test_rows_of_a_slice_with_steps(quantc, tmp_path):
    """The table reads the codes of the slice in their place: rows of it are 2 apart, and blocks of them 9, not 10."""
    text = """graph "g" (%0 "x" : f32[7, 1, 9, 1]) {
  %1 = gelu_quick(%0)  loc("whole")
  %2 = slice(%0) {start = [0, 0, 0, 0], size = [7, 1, 5, 1], step = [1, 1, 2, 1]}  loc("part")
  %3 = selu(%2)  loc("table")
  return %1 "y", %2 "z", %3 "t"
}
"""
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = 'whole|table'\ndtype = 'uint8'\nscale = 0.02\noffset = 90\ninput_scale = 0.02\ninput_offset = 128\n")
    case = Case(quantc, tmp_path, text, {"x": np.random.default_rng(0).uniform(-2.5, 2.5, (7, 1, 9, 1)).astype(np.float32)}, "--rules", tmp_path / "r.toml")
    assert case.count("lookup") == 2 and case.count("quantize") == 3
    assert (np.abs(case.outputs["t"]) > 0).mean() > 0.9
