"""Rules in Python: the same as in TOML, and classes with code of their own."""
import gc
import pickle
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch
from package import ROOT, RULES, files_of

import quantc
from quantc import DynamicQuantRulePerTensor, FloatRule, QuantRule, StaticQuantRule

TOML = """
[[rule]]
pattern = 'node_Conv_50'
dtype = 'int8'
scale = 0.05
input_scale = 0.01
per_channel = true

[[rule]]
pattern = '.*Conv.*'
kind = 'dynamic'
dtype = 'int8'

[[rule]]
pattern = '.*linear'
kind = 'weight_only'
weight_dtype = 'int8'
"""


def in_python():
    return [StaticQuantRule(pattern="node_Conv_50", dtype="int8", scale=0.05, offset=0, per_channel=True, input_scale=0.01),
            DynamicQuantRulePerTensor(r".*Conv.*", "int8"),
            DynamicQuantRulePerTensor(r".*linear", "int8", activations="float")]


def test_rules_in_python_and_in_toml_give_the_same_files(digits, command, tmp_path):
    (tmp_path / "rules.toml").write_text(TOML)
    command("compile", ROOT / "tests/models/digits.onnx", "--rules", tmp_path / "rules.toml", "-o", tmp_path / "toml",
            "--name", "net", "--target", "portable")
    digits.with_options(name="net").quantize(in_python()).compile(tmp_path / "python", build=False)
    assert files_of(tmp_path / "toml") == files_of(tmp_path / "python")
    digits.with_options(name="net").quantize(tmp_path / "rules.toml").compile(tmp_path / "file", build=False)
    assert files_of(tmp_path / "toml") == files_of(tmp_path / "file")
    quantc.save_rules(in_python(), str(tmp_path / "saved.toml"))
    digits.with_options(name="net").quantize(tmp_path / "saved.toml").compile(tmp_path / "saved", build=False)
    assert files_of(tmp_path / "toml") == files_of(tmp_path / "saved")


class ByWeights(QuantRule):
    """Layers with many weights on codes, the others in float."""

    def __init__(self, least):
        self.least, self.seen = least, []

    def matches(self, node):
        self.seen.append(node.name)
        return node.op in ("conv", "linear")

    def scheme(self, node):
        n = 1
        for size in node.operands[1].shape:
            n *= size
        assert node.operands[1].constant and node.operands[0].type == "f32"
        return DynamicQuantRulePerTensor("") if n >= self.least else {"kind": "float"}


def test_a_rule_with_code_of_its_own(digits):
    rule = ByWeights(1000)
    ops = [n.op for n in digits.quantize([rule]).explain().nodes]
    assert ops.count("conv") == 1 and any(o.startswith("q") for o in ops)
    assert "node_Conv_50" in rule.seen
    ops = [n.op for n in digits.quantize([FloatRule(".*Conv.*"), rule]).explain().nodes]
    assert ops.count("conv") == 3


class StaticOfPytorchToC(QuantRule):
    """A rule as pytorch_to_c has it."""

    def __init__(self, pattern, dtype, scale, offset, per_channel=False):
        super().__init__(pattern, dtype)
        self.scale, self.offset, self.per_channel = scale, offset, per_channel

    def matches(self, node):
        return re.match(self.pattern, node.name) is not None

    def get_quant_params(self):
        return {"scale": self.scale, "offset": self.offset, "per_channel": self.per_channel}


class MatchesByPattern(StaticOfPytorchToC):
    matches = QuantRule.matches


@pytest.mark.parametrize("kind", [StaticOfPytorchToC, MatchesByPattern])
def test_rules_of_pytorch_to_c(digits, kind):
    args = (r".*linear.*", "int8", 0.05, 3)
    assert kind(*args).pattern == args[0] and kind(*args).dtype == "int8"
    mine, ours = digits.quantize([kind(*args)]), digits.quantize([StaticQuantRule(*args, per_channel=False)])
    assert mine.text(True) == ours.text(True) and mine.explain().totals == ours.explain().totals


def test_exceptions_come_out_unchanged_with_the_node_named(digits):
    class Broken(QuantRule):
        def matches(self, node):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as e:
        digits.quantize([Broken()])
    assert e.value.__notes__[0].startswith("Broken at node '")

    class NoScheme(QuantRule):
        def matches(self, node):
            return True

    with pytest.raises(NotImplementedError, match="NoScheme has no scheme"):
        digits.quantize([NoScheme()])

    class Odd(NoScheme):
        def scheme(self, node):
            return 3

    with pytest.raises(quantc.UserError, match="scheme returned a int"):
        digits.quantize([Odd()])
    assert digits.explain().nodes  # the graph is as good as before


def test_every_key_of_a_rule_file_is_one_in_python(tmp_path):
    (tmp_path / "rules.toml").write_text("[[rule]]\npattern = 'x'\nno_such = 1\n")
    with pytest.raises(quantc.UserError, match="unknown key 'no_such'") as e:
        quantc.read_rules(str(tmp_path / "rules.toml"))
    known = re.search(r"known: ([\w, ]+)", str(e.value))[1].split(", ")
    keys = [k for k in known if not k.endswith("_file")]
    assert "input_min" in keys
    with pytest.raises(quantc.UserError, match="unknown key 'no_such'") as e:
        quantc.KeyRule("x", no_such=1)
    mine = re.search(r"known: ([\w, ]+)", str(e.value))[1].split(", ")
    assert set(mine) == {*keys, "origin", "calibrated"}


def test_every_option_of_a_compilation_is_one_in_python(digits, image):
    struct = (ROOT / "include/quantc/options.h").read_text().split("struct Options {")[1]
    known = set(re.findall(r"^  [\w:<>, ]+ (\w+)(?: =\s[^;]+)?;", struct, re.M)) - {"own_rules", "rules"}
    assert {"plan", "shapes", "budget", "no_float"} <= known
    with pytest.raises(quantc.UserError, match="unknown option 'no_such'") as e:
        digits.with_options(no_such=1)
    assert set(re.search(r"known: ([\w, ]+)", str(e.value))[1].split(", ")) == known
    with pytest.raises(quantc.UserError, match="option 'plan' cannot be 3"):
        digits.with_options(plan=3)


def test_mistakes_in_rules(digits):
    with pytest.raises(quantc.UserError, match="unknown key 'sacle'") as e:
        StaticQuantRule("x", "int8", 0.1, sacle=1)
    assert e.value.code == "rule"
    with pytest.raises(quantc.UserError, match="cannot be"):
        StaticQuantRule("x", "int8", "much")
    with pytest.raises(quantc.UserError, match="use 'dynamic' or 'float'"):
        DynamicQuantRulePerTensor("x", activations="static")
    for rules in ([StaticQuantRule("no_such", "int8", 0.1)], [StaticQuantRule("(", "int8", 0.1)],
                  [StaticQuantRule(".*Conv.*", "int8", -1.0)], [StaticQuantRule(".*Conv.*", "int9", 0.1)]):
        with pytest.raises(quantc.UserError) as e:
            digits.quantize(rules)
        assert e.value.code == "rule", str(e.value)
    with pytest.raises(quantc.UserError, match="a str is no rule"):
        digits.quantize(["x"])
    digits.quantize([*in_python(), StaticQuantRule("no_such", "int8", 0.1)], allow_unused_rules=True)


def test_rules_can_be_pickled_and_compared():
    rules = in_python()
    again = pickle.loads(pickle.dumps(rules))
    assert again == rules and repr(again) == repr(rules)
    assert rules[0].get_quant_params()["scale"] == 0.05 and rules[0].dtype == "int8"
    for activations in ("dynamic", "float"):
        rule = pickle.loads(pickle.dumps(DynamicQuantRulePerTensor("x", activations=activations)))
        assert rule.activations == activations and rule == DynamicQuantRulePerTensor("x", activations=activations)
    read = quantc.read_rules(RULES)
    assert pickle.loads(pickle.dumps(read)) == read


def test_batches_of_several_sizes(tmp_path, command):
    """They are calibrated as the files of the command line are, a file for each size."""
    graph_of = torch.export.export(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval(),
                                   (torch.zeros(1, 5, 4),), dynamic_shapes=({1: torch.export.Dim("length", min=2, max=64)},))
    torch.export.save(graph_of, tmp_path / "net.pt2")
    rng = np.random.default_rng(3)
    batches = [rng.standard_normal((1, n, 4), dtype=np.float32) for n in (3, 3, 40, 7)]
    rules = quantc.calibrate(quantc.from_exported(graph_of), batches)
    rules.save(str(tmp_path / "python.toml"))
    names = []
    for i, of in enumerate((np.concatenate(batches[:2]), batches[2], batches[3])):
        np.savez(tmp_path / f"{i}.npz", in_0=of)
        names += ["--data", tmp_path / f"{i}.npz"]
    command("calibrate", tmp_path / "net.pt2", *names, "-o", tmp_path / "command.toml")
    def written(name):
        return [line for line in (tmp_path / name).read_text().splitlines() if not line.startswith("#") and ".npz:" not in line]
    assert written("python.toml") == written("command.toml")


def test_calibrated_rules(digits, tmp_path, command):
    import numpy as np
    with np.load(ROOT / "examples/digits/calibration.npz") as arrays:
        data = arrays[arrays.files[0]]
    batches = [(data[i:i + 16], "label") for i in range(0, len(data), 16)]
    rules = quantc.calibrate(digits, batches, per_channel=True, progress=False)
    rules.save(tmp_path / "mine.toml")
    np.savez(tmp_path / "data.npz", in_0=data)
    command("calibrate", ROOT / "tests/models/digits.onnx", "--data", tmp_path / "data.npz", "-o", tmp_path / "cli" / "mine.toml",
            "--per-channel")
    a, b = (tmp_path / "mine.toml").read_text(), (tmp_path / "cli" / "mine.toml").read_text()
    assert a == b
    assert digits.quantize(rules).text(True) == digits.quantize(tmp_path / "mine.toml").text(True)
    rules.append(FloatRule("nothing"))
    rules.save(tmp_path / "more.toml")
    assert len(quantc.read_rules(tmp_path / "more.toml")) == len(rules)
    for bad, code in (([], "input"), ([np.zeros((1, 3), np.float32)], "input"), ([{"x": data}], "input"), ([()], "input")):
        with pytest.raises(quantc.UserError) as e:
            quantc.calibrate(digits, bad, progress=False)
        assert e.value.code == code
    with pytest.raises(quantc.UserError, match="--method"):
        quantc.calibrate(digits, batches, method="best", progress=False)


@pytest.fixture(scope="module")
def samples():
    with np.load(ROOT / "examples/digits/calibration.npz") as arrays:
        return [arrays[arrays.files[0]][:64]]


@pytest.fixture(scope="module")
def found(digits, samples):
    return quantc.calibrate(digits, samples, per_channel=True, progress=False)


def computes(graph):
    return {name: node.computes for node in graph.explain().nodes for name in node.names if node.computes in ("integer", "float")}


@pytest.mark.filterwarnings("error")
def test_exceptions_stand_before_calibrated_rules(digits, found, tmp_path, command):
    """Rules that calibration found may be taken whole, and all that a rule is for may be kept float."""
    convs = [r for r in found if re.match("node_Conv", re.sub(r"\W*", "", r.pattern))]
    assert len(convs) > 2
    changed = [FloatRule(".*Conv.*"), *found]
    kinds = computes(digits.quantize(changed))
    assert {kind for name, kind in kinds.items() if "Conv" in name} == {"float"} and kinds["node_linear"] == "integer"
    wide = [quantc.KeyRule(".*linear", dtype="int16", scale=0.001, input_scale=0.001), *found]
    assert computes(digits.quantize(wide))["node_linear"] == "integer"
    quantc.save_rules(changed, tmp_path / "changed.toml")  # the file says so, too
    again = digits.quantize(tmp_path / "changed.toml")
    assert computes(again) == kinds
    found.save(tmp_path / "found.toml")
    text = (tmp_path / "found.toml").read_text()
    (tmp_path / "edited.toml").write_text(text.replace("[[rule]]", "[[rule]]\npattern = '.*Conv.*'\nkind = 'float'\n\n[[rule]]", 1))
    command("explain", ROOT / "tests/models/digits.onnx", "--rules", tmp_path / "edited.toml")
    handmade = [StaticQuantRule("node_Conv_50", "int8", 0.1, input_scale=0.1), StaticQuantRule("node_Conv_52", "int8", 0.1, input_scale=0.1)]
    assert computes(digits.quantize([FloatRule("node_Conv_50"), *handmade]))["node_Conv_52"] == "integer"
    with pytest.raises(quantc.UserError, match=r"never used: earlier rules take .*allow_unused_rules=True") as e:
        digits.quantize([StaticQuantRule(".*Conv.*", "int8", 0.1, input_scale=0.1), *handmade])
    assert e.value.code == "rule"


def test_an_empty_file_quantizes_nothing(digits, tmp_path):
    (tmp_path / "empty.toml").write_text("[default]\ndtype = 'int8'\n")
    with pytest.raises(quantc.UserError, match="the file has no rule"):
        digits.quantize(tmp_path / "empty.toml")
    assert set(computes(digits.quantize(tmp_path / "empty.toml", allow_unused_rules=True)).values()) == {"float"}
    identity = quantc.from_exported(torch.export.export(torch.nn.Flatten(), (torch.zeros(2, 3, 4),)))
    with pytest.raises(quantc.UserError, match="there is no rule to write"):
        quantc.calibrate(identity, [np.zeros((2, 3, 4), np.float32)], progress=False)
    assert quantc.calibrate(identity.with_options(allow_unused_rules=True), [np.zeros((2, 3, 4), np.float32)], progress=False) == []


class Wide(QuantRule):
    def matches(self, node):
        return node.op == "linear"

    def scheme(self, node):
        return {"dtype": "int16"}


def test_calibration_keeps_what_rules_say(digits, samples, found, tmp_path):
    def rule(rules, name):
        return next(r for r in rules if re.match(r.pattern, name))

    said = [FloatRule("node_Conv_50"), Wide()]
    given = quantc.calibrate(digits, samples, rules=said, per_channel=True, progress=False)
    assert rule(given, "node_Conv_50").keys["kind"] == "float" and rule(given, "node_linear").dtype == "int16"
    assert rule(given, "node_Conv_52").keys["scale"] == rule(found, "node_Conv_52").keys["scale"]
    kinds = computes(digits.quantize(given))
    assert kinds["node_Conv_50"] == "float" and kinds["node_Conv_52"] == "integer"
    # Those of the graph hold after those that are given, but for what an earlier calibration found.
    graph = digits.quantize([FloatRule("node_Conv_50"), *found])
    retained = quantc.calibrate(graph, [2 * x for x in samples], rules=[quantc.KeyRule("node_linear", dtype="int16")], per_channel=True, progress=False)
    assert rule(retained, "node_Conv_50").keys["kind"] == "float" and rule(retained, "node_linear").dtype == "int16"
    assert rule(retained, "node_Conv_52").keys["scale"][0] > 1.5 * rule(found, "node_Conv_52").keys["scale"][0]
    (tmp_path / "part.toml").write_text("[[rule]]\npattern = 'node_linear'\ndtype = 'int16'\n")
    from_file = quantc.calibrate(graph, samples, rules=tmp_path / "part.toml", per_channel=True, progress=False)
    assert rule(from_file, "node_linear").dtype == "int16" and rule(from_file, "node_Conv_50").keys["kind"] == "float"
    with pytest.raises(quantc.UserError, match="the rule is for no node"):
        quantc.calibrate(digits, samples, rules=FloatRule("no_such"), progress=False)


KEEPS_ITS_GRAPH = """
import re, sys
import quantc

def quantized():
    graph = quantc.load(sys.argv[1])

    class StaticRule(quantc.QuantRule):
        def __init__(self, pattern, dtype, scale, offset):
            super().__init__(pattern, dtype)
            self.scale, self.offset, self.seen = scale, offset, []

        def matches(self, node):
            self.seen.append(node)
            return graph is not None and re.match(self.pattern, node.name) is not None

        def get_quant_params(self):
            return {"scale": self.scale, "offset": self.offset, "input_scale": self.scale}

    graph = graph.quantize([StaticRule(".*linear.*", "int8", 0.05, 3)])
    return graph.with_options(target="portable")

kept = quantized()
assert any(n.op == "qlinear" for n in kept.explain().nodes), kept.explain()
"""


@pytest.mark.parametrize("times", [2, pytest.param(100, marks=pytest.mark.soak)])
def test_nothing_is_left_when_the_interpreter_exits(tmp_path, times):
    """Classes and rules that refer to the graph that has them."""
    (tmp_path / "script.py").write_text(KEEPS_ITS_GRAPH)
    for _ in range(times):
        done = subprocess.run([sys.executable, tmp_path / "script.py", ROOT / "tests/models/digits.onnx"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout + done.stderr == "", done.stderr


def test_a_graph_keeps_its_rules_and_the_collector_finds_those_that_keep_it(digits):
    rule = ByWeights(1000)
    rule.graph = digits.quantize([rule])
    derived, gone = rule.graph.transform().with_options(target="portable"), weakref.ref(rule)
    del rule
    gc.collect()
    assert gone() is not None and [n.op for n in derived.explain().nodes].count("conv") == 1
    del derived
    gc.collect()
    assert gone() is None
