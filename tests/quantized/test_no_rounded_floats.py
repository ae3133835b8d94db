"""Rules never make a float op compute on rounded values: a node becomes its form on codes, stays as it was, or is an error that names it."""
import re

import numpy as np
import pytest



def model(folder, body, constants, shape="1, 3, 6, 6", dtype="f32"):
    """A network in the text form; constants: name -> shape."""
    rng = np.random.default_rng(0)
    text = ""
    for name, sizes in constants.items():
        values = ", ".join(f"{v:.6g}" for v in rng.normal(size=sizes).ravel())
        text += f"@{name} : {dtype}[{', '.join(map(str, sizes))}] = [{values}]\n"
    (folder / "m.ir").write_text(f'{text}graph (%0 "x" : {dtype}[{shape}]) {{\n{body}}}\n')
    np.savez(folder / "x.npz", x=rng.normal(size=[int(s) for s in shape.split(",")]).astype(np.float32))
    return folder / "m.ir"


def ops(quantc, file, rules):
    return re.findall(r" = (\w+)\(", quantc("inspect", file, "--ir", "--rules", rules).stdout)


def rules_in(folder, *rules):
    (folder / "r.toml").write_text("".join(f"[[rule]]\n{rule}\n" for rule in rules))
    return folder / "r.toml"


WINDOW = "{strides = [1, 1], dilations = [1, 1], pads = [1, 1, 1, 1]}"
TWO = f'  %1 = conv(%0, @w) {WINDOW}  loc("net.first")\n  %2 = conv(%1, @v) {WINDOW}  loc("net.second")\n  return %2\n'
WEIGHTS = {"w": (4, 3, 3, 3), "v": (2, 4, 3, 3)}


@pytest.mark.parametrize("op, weights", [("conv", (4, 3, 3, 3)), ("conv_transpose", (3, 4, 3, 3))])
def test_a_convolution_per_token_has_one_scale(quantc, tmp_path, op, weights):
    window = WINDOW if op == "conv" else WINDOW.replace("}", ", output_padding = [0, 0]}")
    file = model(tmp_path, f'  %1 = {op}(%0, @w) {window}  loc("net.first")\n  return %1\n', {"w": weights})
    answers = []
    for token in ("true", "false"):
        rules = rules_in(tmp_path, f"pattern = '.*'\nkind = 'dynamic'\nper_token = {token}")
        assert ops(quantc, file, rules) == ["quantize_dynamic", f"q{op}"]
        quantc("run", file, "-i", tmp_path / "x.npz", "-o", tmp_path / "y.npz", "--rules", rules)
        answers.append(np.load(tmp_path / "y.npz")["out_0"] if "out_0" in np.load(tmp_path / "y.npz").files else
                       next(iter(np.load(tmp_path / "y.npz").values())))
        said = quantc("explain", file, "--rules", rules).stderr
        assert ("says per_token" in said and "net.first" in said) == (token == "true")
    assert answers[0].tobytes() == answers[1].tobytes()


@pytest.mark.parametrize("first", ["kind = 'dynamic'", "kind = 'dynamic'\nper_token = true", "kind = 'weight_only'"])
def test_a_static_layer_after_one_that_gives_floats(quantc, tmp_path, first):
    file = model(tmp_path, TWO, WEIGHTS)
    rules = rules_in(tmp_path, f"pattern = 'net.first'\n{first}", "pattern = 'net.second'\nscale = 1.0\ninput_scale = 0.15")
    found = ops(quantc, file, rules)
    assert found.count("qconv") == 2 and "conv" not in found
    quantc("validate", file, "-i", tmp_path / "x.npz", "--rules", rules, "--min-sqnr", "20")


PADDED = '  %1 = max_pool(%0) {kernel = [1, 1], strides = [2, 2], dilations = [1, 1], pads = [0, 0, 1, 1]}  loc("net.pool")\n  return %1\n'


def test_what_has_no_form_is_an_error_or_float(quantc, tmp_path):
    """A window of padding only has no largest code."""
    file = model(tmp_path, PADDED, {})
    rule = "pattern = 'net.pool'\nscale = 0.1\ninput_scale = 0.1"
    said = quantc("explain", file, "--rules", rules_in(tmp_path, rule), status=1).stderr
    assert "net.pool" in said and "r.toml:1" in said and "skip_unsupported" in said
    rules = rules_in(tmp_path, rule + "\nskip_unsupported = true")
    assert ops(quantc, file, rules) == ["max_pool"]
    done = quantc("explain", file, "--rules", rules)
    assert "stays float" in done.stderr and "why      a window of padding alone has no largest code" in done.stdout


def test_a_form_that_computes_in_float_reads_floats(quantc, tmp_path):
    file = model(tmp_path, '  %1 = softmax(%0)  loc("net.softmax")\n  return %1\n', {}, "2, 8")
    rules = rules_in(tmp_path, "pattern = '.*'\nscale = 0.004\ninput_scale = 0.05\ndtype = 'uint8'")
    assert ops(quantc, file, rules) == ["softmax_quantize", "dequantize"]


def test_groups_beside_codes_are_decoded_when_compiling(quantc, tmp_path):
    file = model(tmp_path, '  %1 = linear(%0, @w)  loc("net.fc")\n  return %1\n', {"w": (16, 64)}, "4, 64")
    rule = "pattern = '.*'\nkind = '{}'\nweight_dtype = 'int4'\ngroup = 32"
    rules = rules_in(tmp_path, rule.format("dynamic"))
    assert ops(quantc, file, rules) == ["quantize_dynamic", "qlinear"]
    done = quantc("explain", file, "--rules", rules)
    assert "1024 bytes instead of 640" in done.stderr and "weight_only" in done.stderr
    assert "i8" in done.stdout
    quantc("validate", file, "-i", tmp_path / "x.npz", "--rules", rules, "--min-sqnr", "15")
    assert ops(quantc, file, rules_in(tmp_path, rule.format("weight_only"))) == ["qlinear"]
