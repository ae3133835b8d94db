"""Rules from the command line: what hits, what is refused, what explain says, what calibrate writes."""
import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from conftest import QUANTC
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def network(path, weight=None, skew=None):
    """conv1 -> relu -> depthwise -> relu -> conv2, then softmax."""
    rng = np.random.default_rng(0)
    w1 = rng.normal(size=(8, 3, 3, 3)).astype(np.float32)
    dw = rng.normal(size=(8, 1, 3, 3)).astype(np.float32)
    w2 = rng.normal(size=(4, 8, 1, 1)).astype(np.float32)
    if skew is not None:
        w1 *= skew[:, None, None, None]
        dw /= skew[:, None, None, None]
    if weight is not None:
        w1 = weight
    parts = {"w1": w1, "b1": np.full(8, 0.1, np.float32) * (1 if skew is None else skew), "dw": dw, "w2": w2}
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="act1"),
        helper.make_node("Conv", ["b", "dw"], ["c"], name="depthwise", pads=[1, 1, 1, 1], group=8),
        helper.make_node("Relu", ["c"], ["d"], name="act2"),
        helper.make_node("Conv", ["d", "w2"], ["e"], name="conv2"),
        helper.make_node("Softmax", ["e"], ["y"], name="softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("e", FLOAT, [1, 4, 8, 8]), helper.make_tensor_value_info("y", FLOAT, [1, 4, 8, 8])],
        [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in parts.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return parts


@pytest.fixture
def model(tmp_path):
    network(tmp_path / "m.onnx")
    x = np.random.default_rng(1).normal(size=(6, 3, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=x)
    return tmp_path


def write(path, text):
    path.write_text(text)
    return path


STATIC = "[[rule]]\npattern = '(conv|act|depthwise).*'\nscale = 0.1\ninput_scale = 0.03\n"


def test_bad_rules_exit_1_with_file_and_line(quantc, model):
    for body, expected in {
        "scale = 0": r"r\.toml:3: error\[rule\]: scale: 0 is no scale",
        "scale = nan": r"r\.toml:3: .*nan is no scale",
        "scales = 1": r"r\.toml:3: .*unknown key 'scales' \(known: pattern",
        "scale = 1\noffset = 300": r"r\.toml:4: .*300 is not among the codes -128 to 127",
        "scale = 1\ndtype = 'int3'": r"r\.toml:4: .*'int3' is unknown: use one of int8",
        "scale = 1\nexclude = '(?=a)'": r"r\.toml:4: .*'exclude'",
        "scale = 1\nexclude = '['": r"r\.toml:4: .*not a regular expression",
    }.items():
        rules = write(model / "r.toml", f"[[rule]]\npattern = 'conv1'\n{body}\n")
        done = quantc("compile", model / "m.onnx", "--rules", rules, "-o", model / "out", status=1)
        assert re.search(expected, done.stderr), done.stderr


def test_arrays_of_the_wrong_length_name_the_rule(quantc, model):
    rules = write(model / "r.toml", "[[rule]]\npattern = 'conv1'\nscale = 1\nweight_scale = [1, 2, 3]\n")
    done = quantc("explain", model / "m.onnx", "--rules", rules, status=1)
    assert "conv1" in done.stderr and "3 scales" in done.stderr and "r.toml:1" in done.stderr


def test_unused_rules_are_errors_unless_allowed(quantc, model):
    rules = write(model / "r.toml", STATIC + "[[rule]]\npattern = 'nothing'\nscale = 1\n")
    for command in ("explain", "inspect"):
        done = quantc(command, model / "m.onnx", "--rules", rules, status=1)
        assert "r.toml:5: error[rule]: the rule matches no node" in done.stderr
        quantc(command, model / "m.onnx", "--rules", rules, "--allow-unused-rules")


def test_require_integer_lists_what_is_float(quantc, model):
    rules = write(model / "r.toml", STATIC)
    done = quantc("compile", model / "m.onnx", "--rules", rules, "--require-integer", "-o", model / "out", status=1)
    assert "1 operation computes in float" in done.stderr
    assert "softmax (softmax): no rule is for it" in done.stderr
    rules = write(model / "all.toml", STATIC + "[[rule]]\npattern = 'softmax'\nscale = 0.004\noffset = -128\n")
    done = quantc("compile", model / "m.onnx", "--rules", rules, "--require-integer", "-o", model / "out", status=1)
    assert "softmax (softmax_quantize): its quantized form computes in float" in done.stderr


def test_names_are_those_rules_match(quantc, model):
    lines = quantc("inspect", model / "m.onnx", "--names").stdout.splitlines()
    assert lines[:2] == ["conv1\tconv", "act1\tclamp"] and "softmax\tsoftmax" in lines


def test_io_dtype_quantized_drops_the_edges(quantc, model):
    rules = write(model / "r.toml", STATIC)
    text = quantc("inspect", model / "m.onnx", "--rules", rules, "--io-dtype", "quantized").stdout
    assert re.search(r"^input +x +i8\[1, 3, 8, 8\] q\(-128, 127, scale=0.03\)", text, re.M), text
    assert re.search(r"^output +e +i8", text, re.M)
    done = quantc("compile", model / "m.onnx", "--rules", rules, "--io-dtype", "none", "-o", model / "o", status=1)
    assert "use one of keep, quantized" in done.stderr


def test_codes_at_the_edges_are_described_in_the_header(quantc, model):
    rules = write(model / "r.toml", STATIC.replace("scale = 0.1", "scale = 0.125\noffset = -7"))
    flags = ["--rules", rules, "--io-dtype", "quantized"]
    quantc("compile", model / "m.onnx", *flags, "-o", model / "out", "--name", "net")
    header = (model / "out" / "net.h").read_text()
    assert "NET_INPUT_0_TYPE int8_t" in header and "#define NET_INPUT_0_ZERO 0\n" in header
    assert "#define NET_OUTPUT_0_ZERO -7\n" in header and "#define NET_OUTPUT_0_LOWEST -128\n" in header
    assert float.fromhex(re.search(r"NET_OUTPUT_0_SCALE (\S+?)f?\n", header)[1]) == 0.125
    np.savez(model / "codes.npz", x=np.random.default_rng(2).integers(-128, 128, (1, 3, 8, 8)).astype(np.int8))
    assert "FAIL" not in quantc("validate", model / "m.onnx", *flags, "-i", model / "codes.npz").stdout


def test_options_come_from_quantc_toml_too(quantc, model):
    (model / "sub").mkdir()
    write(model / "sub" / "r.toml", STATIC)
    config = write(model / "sub" / "quantc.toml", "rules = 'r.toml'\nrequire_integer = true\n")
    done = quantc("compile", model / "m.onnx", "--config", config, "-o", model / "out", status=1)
    assert "1 operation computes in float, which --require-integer does not allow" in done.stderr


def test_explain_gives_remarks_of_passes_to_programs(quantc, model):
    rules = write(model / "r.toml", STATIC)
    remarks = json.loads(quantc("explain", model / "m.onnx", "--rules", rules, "--json").stdout)["remarks"]
    said = quantc("compile", "-v", model / "m.onnx", "--rules", rules, "-o", model / "out").stdout.splitlines()
    assert any(re.fullmatch(r"fuse_clamp: \d+ nodes? fused", r) for r in remarks), remarks
    assert [r for r in remarks if f"  {r}" not in said] == []


def test_explain_proves_sums_and_measures_weights(quantc, model):
    """Recomputes sums, bounds, signal to noise and saturation from the model's own weights."""
    parts = network(model / "m.onnx")
    rules = write(model / "r.toml", "[[rule]]\npattern = '(conv|act|depthwise).*'\nscale = 0.1\noffset = 5\n"
                                    "input_scale = 0.03\ninput_offset = 2\nweight_scale = 0.02\n")
    report = json.loads(quantc("explain", model / "m.onnx", "--rules", rules, "--json").stdout)
    found = 0
    for node in report["nodes"]:
        if node["op"] != "qconv":
            continue
        found += 1
        weights, bias = {"conv1": ("w1", "b1"), "depthwise": ("dw", None), "conv2": ("w2", None)}[node["names"][0]]
        w = parts[weights].astype(np.float64)
        scale = float(np.float32(0.02))
        codes = np.rint(w / scale)
        retained = np.clip(codes, -128, 127)
        assert node["weights"]["saturated"] == int((codes != retained).sum())
        noise = ((retained * scale - w) ** 2).sum()
        assert abs(node["weights"]["sqnr_db"] - 10 * np.log10((w ** 2).sum() / noise)) < 0.01
        sums = np.abs(retained).reshape(len(retained), -1).sum(1)
        assert node["sum"]["terms"] == retained[0].size
        assert node["sum"]["weight_sum"] == sums.max()
        largest = max(127 - 2, 128 + 2)
        codes_b = np.zeros(len(retained))
        if bias:
            codes_b = np.rint(parts[bias].astype(np.float64) / (float(np.float32(0.03)) * scale))
        assert node["sum"]["bound"] == (sums * largest + np.abs(codes_b)).max()
        assert node["sum"]["type"] == "i32"
        assert node["rule"].endswith("r.toml:1")
    assert found == 3
    kinds = {n["op"] for n in report["nodes"] if n["computes"] == "converts"}
    assert kinds == {"quantize", "requantize", "dequantize"}
    assert all(n["why"] for n in report["nodes"] if n["computes"] in ("converts", "float"))
    table = quantc("explain", model / "m.onnx", "--rules", rules).stdout
    assert re.search(r"^conv1\+act1 +qconv +integer +r\.toml:1$", table, re.M)
    assert "input 'x' is float, conv1 reads codes" in table


def test_explain_fits_a_terminal(model):
    rules = write(model / "r.toml", STATIC)
    command = f"stty cols 100; {QUANTC} explain {model / 'm.onnx'} --rules {rules}"
    text = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True).stdout
    assert re.search(r"^conv1\+act1 +qconv +integer +r\.toml:1\s*$", text, re.M), text
    assert re.search(r"^ {4}sum +i32: 27 terms", text, re.M)
    assert max(map(len, text.splitlines())) <= 100


def outputs(quantc, folder, name, *flags):
    quantc("run", folder / "m.onnx", "-i", folder / "one.npz", "-o", folder / f"{name}.npz", *flags)
    return np.load(folder / f"{name}.npz")["e"]


def sqnr(got, want):
    return 10 * np.log10((want ** 2).sum() / ((got - want) ** 2).sum())


@pytest.mark.parametrize("flags", [(), ("--per-channel",), ("--activations", "uint8"), ("--activations", "int16"),
                                   ("--method", "percentile"), ("--method", "entropy"), ("--method", "mse"),
                                   ("--reference",), ("--bias-correction", "--per-channel")])
def test_calibrated_rules_compile_as_they_are(quantc, model, flags):
    rules = model / "rules.toml"
    quantc("calibrate", model / "m.onnx", "--data", model / "samples.npz", "-o", rules, *flags)
    text = rules.read_text()
    assert "pattern = '(?:conv1|act1)$'" in text and "pattern = 'conv2$'" in text
    x = np.load(model / "samples.npz")["x"][:1]
    np.savez(model / "one.npz", x=x)
    want = outputs(quantc, model, "float")
    got = outputs(quantc, model, "int", "--rules", rules)
    assert sqnr(got, want) > (60 if "int16" in flags else 25)


def test_compiled_and_interpreted_calibration_agree(quantc, model):
    for name, flags in {"a": (), "b": ("--reference",)}.items():
        quantc("calibrate", model / "m.onnx", "--data", model / "samples.npz", "-o", model / f"{name}.toml", *flags)
    assert (model / "a.toml").read_text() == (model / "b.toml").read_text()


def test_what_is_not_watched_in_bodies_is_listed(quantc, tmp_path):
    body = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["m"], name="inner")], "yes", [],
                             [helper.make_tensor_value_info("m", FLOAT, [2, 4])])
    other = helper.make_graph([helper.make_node("Relu", ["x"], ["r"], name="other")], "no", [],
                              [helper.make_tensor_value_info("r", FLOAT, [2, 4])])
    nodes = [helper.make_node("If", ["c"], ["a"], name="choice", then_branch=body, else_branch=other),
             helper.make_node("MatMul", ["a", "w"], ["y"], name="outer")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [2, 4]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", FLOAT, [2, 4])], [numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    np.savez(tmp_path / "s.npz", x=np.ones((6, 4), np.float32), c=np.array([True, False, True]))
    done = quantc("calibrate", tmp_path / "m.onnx", "--data", tmp_path / "s.npz", "-o", tmp_path / "r.toml")
    assert re.search(r"not calibrated, .*: inner, other$", done.stdout, re.M), done.stdout
    text = (tmp_path / "r.toml").read_text()
    assert "# inner (linear) stays float: values in the body" in text and "pattern = 'outer$'" in text


PEAK = """
import os, sys
_, status, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_memory_does_not_grow_with_the_samples(quantc, tmp_path, save):
    """200 MB of samples, stored or deflated, take hardly more than 10 MB of them."""
    size = 250_000
    node = helper.make_node("Relu", ["x"], ["y"], name="act")
    io = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, size]) for n in "xy"]
    onnx.save(helper.make_model(helper.make_graph([node], "g", io[:1], io[1:])), tmp_path / "m.onnx")
    peaks = []
    for count in (10, 200):
        x = np.zeros((count, size), np.float32)
        x[:, 0], x[:, 1] = -1, np.arange(count)
        save(tmp_path / "samples.npz", x=x)
        rules = tmp_path / f"{count}.toml"
        done = subprocess.run([sys.executable, "-c", PEAK, str(QUANTC), "calibrate", tmp_path / "m.onnx", "--data",
                               tmp_path / "samples.npz", "-o", rules], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.split()[-1]) / 1024)
        assert float(re.search(r"input_scale = (\S+)", rules.read_text())[1]) == pytest.approx(count / 255)
    assert peaks[1] < peaks[0] + 40, f"{peaks} MB"


def test_equalisation_gains_3_db_on_skewed_depthwise_channels(quantc, model):
    network(model / "m.onnx", skew=(10.0 ** np.linspace(-1.5, 1.5, 8)).astype(np.float32))
    np.savez(model / "one.npz", x=np.load(model / "samples.npz")["x"][:1])
    want = outputs(quantc, model, "float")
    ratios = {}
    for name, flags in {"plain": (), "even": ("--equalise",)}.items():
        rules = model / f"{name}.toml"
        quantc("calibrate", model / "m.onnx", "--data", model / "samples.npz", "-o", rules, *flags)
        ratios[name] = sqnr(outputs(quantc, model, name, "--rules", rules), want)
    assert "output_multiplier" in (model / "even.toml").read_text()
    assert ratios["even"] >= ratios["plain"] + 3, ratios


def test_bias_correction_takes_out_the_mean_error(quantc, model):
    """It is minus the error of each weight times the mean of the channel it meets, here of the first layer."""
    parts = network(model / "m.onnx")
    x = np.load(model / "samples.npz")["x"][:1] + 2
    np.savez(model / "one.npz", x=x)
    quantc("calibrate", model / "m.onnx", "--data", model / "one.npz", "-o", model / "r.toml", "--bias-correction", "--reference")
    found = np.array(json.loads(re.search(r"bias_correction = (\[.*\])", (model / "r.toml").read_text())[1]))
    scale = np.abs(parts["w1"]).max() / np.float32(127)
    error = np.rint(parts["w1"] / scale) * scale - parts["w1"]
    want = -(error.sum((2, 3)) * x.mean((0, 2, 3))).sum(1)
    assert np.abs(found - want).max() <= 1e-3 * np.abs(want).max()


def test_calibrate_refuses_what_does_not_fit(quantc, model):
    def refused(data, *flags):
        np.savez(model / "bad.npz", **data)
        return quantc("calibrate", model / "m.onnx", "--data", model / "bad.npz", "-o", model / "r.toml", *flags, status=1).stderr
    good = np.load(model / "samples.npz")["x"]
    assert "samples are f64" in refused({"x": good.astype(np.float64)})
    assert "no array for input 'x'" in refused({"other": good})
    assert re.search(r"samples of (rank|shape)", refused({"x": good[..., 0]}))
    assert "cannot be split" in refused({"x": good[:0]})
    assert "--method is 'magic'" in refused({"x": good}, "--method", "magic")
    assert "--activations is 'int4'" in refused({"x": good}, "--activations", "int4")
    assert not (model / "r.toml").exists()


def test_rules_that_do_nothing_are_errors(quantc, model, tmp_path):
    """A file without rules, and rules for weights where there are none."""
    table = numpy_helper.from_array(np.ones((10, 4), np.float32), "table")
    embedding = helper.make_graph([helper.make_node("Gather", ["table", "i"], ["y"], name="embedding")], "g",
                                  [helper.make_tensor_value_info("i", TensorProto.INT64, [2])], [helper.make_tensor_value_info("y", FLOAT, [2, 4])], [table])
    onnx.save(helper.make_model(embedding, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "e.onnx")
    nothing = r"r.toml:1: error\[rule\]: the rule does nothing: it is for nodes with weights, and none of the 1 it matches has any"
    for name, text, message in (("m.onnx", "", r"r.toml: error\[rule\]: the file has no rule"),
                                ("m.onnx", "[default]\ndtype = 'int8'\n", r"r.toml: error\[rule\]: the file has no rule"),
                                ("m.onnx", "[[rule]]\nop = 'softmax'\nkind = 'dynamic'\n", nothing),
                                ("e.onnx", "[[rule]]\npattern = 'embedding'\nkind = 'weight_only'\n", nothing)):
        (tmp_path / "r.toml").write_text(text)
        for command in (["explain"], ["compile", "-o", tmp_path / "out"]):
            failed = quantc(command[0], tmp_path / name, "--rules", tmp_path / "r.toml", *command[1:], status=1)
            assert re.search(message, failed.stderr), failed.stderr
            quantc(command[0], tmp_path / name, "--rules", tmp_path / "r.toml", *command[1:], "--allow-unused-rules")
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = '.*'\nkind = 'dynamic'\n")
    assert "integer" in quantc("explain", tmp_path / "m.onnx", "--rules", tmp_path / "r.toml").stdout
