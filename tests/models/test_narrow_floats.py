"""Models in bf16 and f16, as they are published: rules quantize them as they do the same weights in f32."""
import re
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

torch = pytest.importorskip("torch")
from tests.models.test_transformers import NETS, QUICK, TOKEN, decibels, ops_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
LINEAR = "[[rule]]\npattern = '.*'\nop = 'linear'\nkind = '{}'\n{}"
RULES = {"token": TOKEN, "dynamic": LINEAR.format("dynamic", ""), "weight_only": LINEAR.format("weight_only", ""),
         "int4": LINEAR.format("weight_only", "weight_dtype = 'int4'\ngroup = 32\n")}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """exported(name, dtype): the file of the network with weights that `dtype` holds, in f32 for None, inputs and the answer in f32."""
    folder, made = tmp_path_factory.mktemp("narrow"), {}

    def make(name, dtype, wide):
        key = f"{name}_{dtype}_{wide}"
        if key in made:
            return made[key]
        torch.manual_seed(0)
        net, inputs = NETS[name]()
        net = net.eval().to(getattr(torch, dtype))
        if wide:
            net = net.float()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.export.save(torch.export.export(net, inputs, strict=False), folder / f"{key}.pt2")
            answer = net(*inputs).float().numpy()
        np.savez(folder / f"{name}.npz", **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
        made[key] = folder / f"{key}.pt2", folder / f"{name}.npz", answer
        return made[key]
    return make


def floats_of(file):
    """The first output; npz holds bf16 as two bytes."""
    with np.load(file) as out:
        x = out[out.files[0]]
    return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if x.dtype.kind in "Vu" else x.astype(np.float32)


def without_casts(ops):
    return {op: count for op, count in ops.items() if op != "cast"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", sorted(RULES))
def test_llama_is_quantized_as_in_f32(dtype, kind, exported, quantc, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES[kind])
    file, arrays, _ = exported("llama", dtype, False)
    wide, _, answer = exported("llama", dtype, True)
    ops = ops_of(quantc, file, "--rules", rules)
    assert without_casts(ops) == without_casts(ops_of(quantc, wide, "--rules", rules))
    assert ops["cast"] == 2  # rows of the embedding, and the logits
    for model, out in ((file, "narrow.npz"), (wide, "wide.npz")):
        quantc("run", model, "-i", arrays, "-o", tmp_path / out, "--rules", rules)
    narrow = floats_of(tmp_path / "narrow.npz")
    assert decibels(floats_of(tmp_path / "wide.npz"), narrow) > 40  # the logits are rounded
    assert decibels(answer, narrow) > (15 if kind == "int4" else 30)


@pytest.mark.parametrize("name, dtype", [("mixtral", "bfloat16"), ("vit", "bfloat16"), ("bert", "float16")])
def test_others_are_quantized_as_in_f32(name, dtype, exported, quantc, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(TOKEN)
    ops = [without_casts(ops_of(quantc, exported(name, dtype, wide)[0], "--rules", rules)) for wide in (False, True)]
    products = [{op: n for op, n in found.items() if op.startswith("q")} for found in ops]
    assert products[0] == products[1] and "linear" not in ops[0]


def test_interpreter_and_c_agree(exported, quantc, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(TOKEN)
    file, arrays, _ = exported("llama", "bfloat16", False)
    quantc("validate", file, "-i", arrays, "--rules", rules, *QUICK)


def test_calibrated(exported, quantc, tmp_path):
    file, _, answer = exported("llama", "bfloat16", False)
    np.savez(tmp_path / "samples.npz", in_0=np.random.default_rng(1).integers(0, 64, (32, 12)))
    quantc("calibrate", file, "--data", tmp_path / "samples.npz", "--per-channel", "-o", tmp_path / "static.toml")
    ops = ops_of(quantc, file, "--rules", tmp_path / "static.toml")
    assert ops["qlinear"] == 9 and "linear" not in ops
    quantc("run", file, "-i", exported("llama", "bfloat16", False)[1], "-o", tmp_path / "out.npz", "--rules", tmp_path / "static.toml")
    assert decibels(answer, floats_of(tmp_path / "out.npz")) > 25


def test_without_rules_that_quantize_it_stays_as_it_is(exported, quantc, tmp_path):
    file, *_ = exported("llama", "bfloat16", False)
    (tmp_path / "keep.toml").write_text("[[rule]]\npattern = '.*'\nkind = 'float'\n")
    assert ops_of(quantc, file, "--rules", tmp_path / "keep.toml") == ops_of(quantc, file)


def test_onnx_float16(quantc, tmp_path):
    rng = np.random.default_rng(0)
    half = {"w": rng.normal(size=(8, 3, 3, 3)), "b": rng.normal(size=8), "v": rng.normal(size=(8, 5))}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], name="conv", pads=[1] * 4), helper.make_node("Relu", ["a"], ["c"], name="relu"),
             helper.make_node("GlobalAveragePool", ["c"], ["d"], name="mean"), helper.make_node("Flatten", ["d"], ["e"], name="flat"),
             helper.make_node("MatMul", ["e", "v"], ["y"], name="head")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [1, 5])],
                              [numpy_helper.from_array(v.astype(np.float16), k) for k, v in half.items()])
    model = tmp_path / "half.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), model)
    np.savez(tmp_path / "x.npz", x=rng.normal(size=(8, 3, 8, 8)).astype(np.float16))
    np.savez(tmp_path / "one.npz", x=rng.normal(size=(1, 3, 8, 8)).astype(np.float16))
    quantc("calibrate", model, "--data", tmp_path / "x.npz", "-o", tmp_path / "static.toml", "--per-channel")
    ops = ops_of(quantc, model, "--rules", tmp_path / "static.toml")
    assert ops["qconv"] == 1 and ops["qlinear"] == 1 and ops["cast"] == 2 and not {"conv", "linear", "relu"} & set(ops)
    quantc("validate", model, "-i", tmp_path / "one.npz", "--rules", tmp_path / "static.toml", *QUICK)
    (tmp_path / "weights.toml").write_text("[[rule]]\npattern = '.*'\nkind = 'weight_only'\n")
    assert ops_of(quantc, model, "--rules", tmp_path / "weights.toml")["qconv"] == 1


def test_f64_is_an_error(quantc, tmp_path):
    (tmp_path / "m.ir").write_text("@w : f64[2, 3] = [1.0, -2.0, 3.0, 0.25, 0.5, -0.125]\n"
                                   "graph (%0 \"x\" : f64[1, 3]) {\n  %1 = linear(%0, @w)  loc(\"net.fc\")\n  return %1\n}\n")
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = 'net.fc'\nkind = 'dynamic'\n")
    said = quantc("explain", tmp_path / "m.ir", "--rules", tmp_path / "r.toml", status=1).stderr
    assert "net.fc" in said and "f64" in said and "r.toml:1" in said
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = 'net.fc'\nkind = 'dynamic'\nskip_unsupported = true\n")
    assert re.search(r"linear +float", quantc("explain", tmp_path / "m.ir", "--rules", tmp_path / "r.toml").stdout)


def test_experts_that_a_rule_for_linear_leaves_float_are_said(exported, quantc, tmp_path):
    file, *_ = exported("mixtral", "bfloat16", False)
    (tmp_path / "r.toml").write_text(RULES["dynamic"])
    said = quantc("explain", file, "--rules", tmp_path / "r.toml").stderr
    assert "grouped_matmul" in said and "% of the weights" in said and "r.toml:1" in said
    (tmp_path / "r.toml").write_text(RULES["dynamic"] + "[[rule]]\npattern = '.*'\nop = 'grouped_matmul'\nkind = 'dynamic'\n")
    assert "% of the weights" not in quantc("explain", file, "--rules", tmp_path / "r.toml").stderr
