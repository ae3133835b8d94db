"""What users say beside the model: partial rules, ranges, shapes, inputs that are constants."""
import re
import tomllib

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """x [1, 16] -> fc1 -> relu -> fc2, with 64 samples."""
    folder = tmp_path_factory.mktemp("net")
    rng = np.random.default_rng(3)
    w = [numpy_helper.from_array(rng.standard_normal((16, 16)).astype(np.float32), f"w{i}") for i in (1, 2)]
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name="fc1"), helper.make_node("Relu", ["a"], ["b"], name="act"),
             helper.make_node("MatMul", ["b", "w2"], ["y"], name="fc2")]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 16]) for n in "xy"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], w), opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    np.savez(folder / "s.npz", x=rng.standard_normal((64, 16)).astype(np.float32))
    return folder


def calibrated(quantc, net, tmp_path, text, *flags, status=0):
    (tmp_path / "part.toml").write_text(text)
    done = quantc("calibrate", net / "m.onnx", "--data", net / "s.npz", "--rules", tmp_path / "part.toml", "-o", tmp_path / "r.toml", *flags, status=status)
    if status:
        return done.stderr
    rules = tomllib.loads((tmp_path / "r.toml").read_text())["rule"]
    return {name: next(r for r in rules if name in r["pattern"]) for name in ("fc1", "fc2")}


def sqnr(quantc, net, rules):
    out = quantc("validate", net / "m.onnx", "--rules", rules, "--data", net / "s.npz").stdout
    return float(re.search(r"^interpreter +float +\S+ +\S+ +([\d.]+)", out, re.M)[1])


def test_a_partial_file_is_filled_in(quantc, net, tmp_path):
    plain = calibrated(quantc, net, tmp_path, "[default]\nper_channel = true\n")
    base = sqnr(quantc, net, tmp_path / "r.toml")
    wide = calibrated(quantc, net, tmp_path, "[[rule]]\npattern = 'fc2'\ndtype = 'int16'\nweight_dtype = 'int16'\n")
    assert wide["fc1"] == plain["fc1"] and wide["fc2"]["dtype"] == "int16" and wide["fc2"]["weight_dtype"] == "int16"
    assert wide["fc2"]["scale"] < plain["fc2"]["scale"] / 100 and len(wide["fc2"]["bias_correction"] if "bias_correction" in wide["fc2"] else [0])
    report = quantc("explain", net / "m.onnx", "--rules", tmp_path / "r.toml", "--json").stdout
    assert '"result": "i16 ' in report
    assert sqnr(quantc, net, tmp_path / "r.toml") > base
    everything = calibrated(quantc, net, tmp_path, "[[rule]]\npattern = '.*'\ndtype = 'int16'\nweight_dtype = 'int16'\n")
    assert everything["fc1"]["dtype"] == "int16" and sqnr(quantc, net, tmp_path / "r.toml") > base + 20


def test_what_a_partial_file_says_stays(quantc, net, tmp_path):
    retained = calibrated(quantc, net, tmp_path, "[[rule]]\npattern = 'fc1'\ndtype = 'float32'\n\n[[rule]]\npattern = 'fc2'\nscale = 0.5\n")
    assert retained["fc1"]["dtype"] == "float32" and "scale" not in retained["fc1"] and retained["fc2"]["scale"] == 0.5 and "input_scale" in retained["fc2"]
    said = quantc("explain", net / "m.onnx", "--rules", tmp_path / "r.toml").stdout
    assert re.search(r"^fc1\S* +\w+ +float", said, re.M) and re.search(r"^fc2 +qlinear +integer|^fc2 +\w+ +integer", said, re.M)
    dynamic = calibrated(quantc, net, tmp_path, "[[rule]]\npattern = 'fc1'\nkind = 'dynamic'\n")
    assert dynamic["fc1"]["kind"] == "dynamic" and "scale" in dynamic["fc2"]
    quantc("explain", net / "m.onnx", "--rules", tmp_path / "r.toml")
    said = calibrated(quantc, net, tmp_path, "[[rule]]\npattern = 'nothing'\ndtype = 'int16'\n", status=1)
    assert "part.toml:1" in said and "--allow-unused-rules" in said
    calibrated(quantc, net, tmp_path, "[[rule]]\npattern = 'nothing'\ndtype = 'int16'\n", "--allow-unused-rules")


def test_ranges_instead_of_scales(quantc, net, tmp_path):
    """min and max give the scale and offset whose codes cover them: 8 bits about -1 to 3, 16 bits symmetric."""
    def written(text):
        (tmp_path / "r.toml").write_text(text)
        quantc("run", net / "m.onnx", "--data", net / "s.npz", "--rules", tmp_path / "r.toml", "-o", tmp_path / "o.npz")
        return np.load(tmp_path / "o.npz")["y"]
    ranges = written("[[rule]]\npattern = 'fc2'\nmin = -9.6\nmax = 31.2\ninput_min = 0\ninput_max = 25.5\n")
    scale = np.float32(40.8 / 255)
    numbers = written(f"[[rule]]\npattern = 'fc2'\nscale = {scale!s}\noffset = -68\ninput_scale = 0.1\ninput_offset = -128\n")
    np.testing.assert_array_equal(ranges, numbers)
    wide = written("[[rule]]\npattern = 'fc2'\ndtype = 'int16'\nmin = -16\nmax = 32\n")
    assert np.abs(np.rint(wide / (32 / 32767)) * (32 / 32767) - wide).max() < 1e-3
    for text, message in (("min = 1\n", "give both 'min' and 'max'"), ("min = 2\nmax = 1\n", "2 to 1 is no range"),
                          ("min = 0\nmax = 1\nscale = 1\n", "a range and a scale are given"), ("dtype = 'int8'\n", "calibrate --rules finds what is missing")):
        (tmp_path / "r.toml").write_text("[[rule]]\npattern = 'fc2'\n" + text)
        assert message in quantc("explain", net / "m.onnx", "--rules", tmp_path / "r.toml", status=1).stderr


@pytest.fixture(scope="module")
def sizes(tmp_path_factory):
    """f(x [batch, n], scale [], mask [n]) = x * scale + mask, as .onnx and .pt2"""
    folder = tmp_path_factory.mktemp("sizes")
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", ["batch", "n"]), ("scale", []), ("mask", ["n"]), ("y", ["batch", "n"]))]
    nodes = [helper.make_node("Mul", ["x", "scale"], ["a"]), helper.make_node("Add", ["a", "mask"], ["y"])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:3], values[3:]), opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")

    class Model(torch.nn.Module):
        def forward(self, x, scale, mask):
            return x * scale + mask
    batch, n = torch.export.Dim("batch", max=64), torch.export.Dim("n", max=64)
    exported = torch.export.export(Model(), (torch.zeros(3, 5), torch.zeros(()), torch.zeros(5)), dynamic_shapes={"x": {0: batch, 1: n}, "scale": {}, "mask": {0: n}})
    torch.export.save(exported, folder / "m.pt2")
    np.save(folder / "mask.npy", np.arange(4, dtype=np.float32))
    np.savez(folder / "x.npz", x=np.ones((2, 4), np.float32))
    return folder


@pytest.mark.parametrize("model", ["m.onnx", "m.pt2"])
def test_shapes_and_constants(quantc, sizes, model, tmp_path):
    given = ("--shape", "x=2,4", "--const", "scale=0.5", "--const", f"mask={sizes / 'mask.npy'}")
    quantc("run", sizes / model, *given, "-i", sizes / "x.npz", "-o", tmp_path / "o.npz")
    np.testing.assert_array_equal(next(iter(np.load(tmp_path / "o.npz").values())), 0.5 + np.tile(np.arange(4, dtype=np.float32), (2, 1)))
    quantc("compile", sizes / model, *given, "-o", tmp_path / "out", "--name", "net")
    header = (tmp_path / "out" / "net.h").read_text()
    assert "#define NET_INPUTS 1\n" in header and "#define NET_INPUT_0_SHAPE {2, 4}\n" in header
    (tmp_path / "q.toml").write_text(f"[shapes]\nx = [2, 4]\n[constants]\nscale = 0.5\nmask = '{sizes / 'mask.npy'}'\n")
    quantc("compile", sizes / model, "--config", tmp_path / "q.toml", "-o", tmp_path / "out2", "--name", "net", "--target", "portable")
    assert (tmp_path / "out2" / "net.h").read_text() == header


@pytest.mark.parametrize("flags, message", [
    (["--shape", "x=2"], "the input is f32["), (["--shape", "z=2,4"], "the model has no such input"), (["--shape", "x"], "is not INPUT=SIZE,SIZE"),
    (["--shape", "x=2,b"], "is not INPUT=SIZE,SIZE"), (["--const", "scal=1"], "did you mean 'scale'?"), (["--const", "scale"], "is not INPUT=NUMBER or INPUT=FILE"),
    (["--const", "mask=1"], "its size"), (["--const", "mask=nowhere.npy"], "cannot open"), (["--const", "scale={folder}/mask.npy"], "the array f32[4]")])
def test_mistakes_about_inputs(quantc, sizes, flags, message):
    said = quantc("inspect", sizes / "m.onnx", *[f.format(folder=sizes) for f in flags], status=1).stderr
    assert message in said, said


I64, F32 = np.int64, np.float32
READ_ON_IMPORT = {  # op: operands with k, its value, attributes
    "Reshape": (["x", "k"], I64([2, 16]), {}), "ReduceSum": (["x", "k"], I64([1]), {}), "ReduceMean": (["x", "k"], I64([-1]), {}),
    "Unsqueeze": (["x", "k"], I64([0]), {}), "Squeeze": (["x", "k"], I64([0]), {}), "Tile": (["x", "k"], I64([1, 2, 1, 1]), {}),
    "Resize": (["x", "", "k"], F32([1, 1, 2, 2]), {}), "Expand": (["x", "k"], I64([3, 2, 4, 4]), {}),
    "Pad": (["x", "k"], I64([0, 0, 1, 1, 0, 0, 1, 1]), {}), "Trilu": (["x", "k"], I64(1), {}), "Slice": (["x", "k", "ends", "axes"], I64([1, 0]), {}),
    "Split": (["x", "k"], I64([1, 3]), {"axis": 2}), "TopK": (["x", "k"], I64([2]), {}), "CumSum": (["x", "k"], I64(2), {}),
    "OneHot": (["i", "k", "values"], I64(3), {}), "ConstantOfShape": (["k"], I64([2, 3]), {}), "CenterCropPad": (["x", "k"], I64([1, 2, 3, 3]), {}),
}


@pytest.mark.parametrize("op", READ_ON_IMPORT)
def test_a_value_that_is_read_on_import_may_be_given(quantc, tmp_path, op):
    operands, k, attributes = READ_ON_IMPORT[op]
    k = np.asarray(k, I64 if not isinstance(k, np.ndarray) else k.dtype)
    fixed = {"ends": I64([2, 3]), "axes": I64([1, 3]), "values": F32([0, 1])}
    outputs = ["y", "z"][:2 if op in ("Split", "TopK") else 1]

    def model(path, given):
        types = {np.dtype(I64): TensorProto.INT64, np.dtype(F32): TensorProto.FLOAT}
        values = {"x": F32(np.arange(32).reshape(1, 2, 4, 4)), "i": I64([0, 2])}
        inputs = [helper.make_tensor_value_info(n, types[values[n].dtype], values[n].shape) for n in operands if n in values]
        inputs += [helper.make_tensor_value_info("k", types[k.dtype], k.shape)] if given else []
        constants = {n: v for n, v in fixed.items() if n in operands} | ({} if given else {"k": k})
        graph = helper.make_graph([helper.make_node(op, operands, outputs, **attributes)], "g", inputs,
                                  [helper.make_tensor_value_info(n, TensorProto.INT64 if op == "TopK" and n == "z" else TensorProto.FLOAT, None) for n in outputs],
                                  [numpy_helper.from_array(v, n) for n, v in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return {n: v for n, v in values.items() if n in operands}
    np.savez(tmp_path / "i.npz", **model(tmp_path / "constant.onnx", False))
    model(tmp_path / "given.onnx", True)
    np.save(tmp_path / "k.npy", k)
    quantc("run", tmp_path / "constant.onnx", "-i", tmp_path / "i.npz", "-o", tmp_path / "want.npz")
    quantc("run", tmp_path / "given.onnx", "--const", f"k={tmp_path / 'k.npy'}", "-i", tmp_path / "i.npz", "-o", tmp_path / "got.npz")
    got, want = np.load(tmp_path / "got.npz"), np.load(tmp_path / "want.npz")
    assert list(got) == list(want) == outputs
    for name in outputs:
        np.testing.assert_array_equal(got[name], want[name])


def test_a_text_graph_takes_constants(quantc, sizes, tmp_path):
    (tmp_path / "m.ir").write_text('graph (%0 "x" : f32[2, 4], %1 "scale" : f32[]) {\n  %2 = mul(%0, %1) loc("m")\n  return %2 "y"\n}\n')
    quantc("run", tmp_path / "m.ir", "--const", "scale=0.5", "-i", sizes / "x.npz", "-o", tmp_path / "o.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "o.npz")["y"], np.full((2, 4), 0.5, np.float32))
    assert "#define NET_INPUTS 1\n" in (quantc("compile", tmp_path / "m.ir", "--const", "scale=0.5", "-o", tmp_path / "out", "--name", "net") and
                                        (tmp_path / "out" / "net.h").read_text())


def test_symbols_of_exports_say_where_they_stand(quantc, sizes, tmp_path):
    """A .pt2 file does not keep the names that users gave Dim."""
    said = quantc("compile", sizes / "m.pt2", "-o", tmp_path / "o", status=1).stderr
    assert re.search(r"give --dim NAME=SIZE for s\d+ \(axis \d of 'x', such as [35]\), s\d+ \(axis \d of 'x', such as [35]\), or --shape of the input", said), said
    said = quantc("compile", sizes / "m.pt2", "--dim", "batch=1", "-o", tmp_path / "o", status=1).stderr
    assert re.search(r"no dimension is named 'batch'; the inputs have s\d+ \(axis 0 of 'x'\), s\d+ \(axis 1 of 'x'\)", said), said
