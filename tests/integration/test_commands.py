"""What the options of every command do, each seen in its effect."""
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

COMMANDS = ("compile", "run", "validate", "inspect", "explain", "calibrate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """pool -> conv -> relu of x [batch, 8, 12, 12] in m.onnx, an input and the answer in io.npz."""
    folder = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(5)
    w = rng.standard_normal((16, 8, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("MaxPool", ["x"], ["a"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["a", "w"], ["b"], name="conv"),
             helper.make_node("Relu", ["b"], ["y"], name="relu")]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", *s]) for n, s in (("x", (8, 12, 12)), ("y", (16, 4, 4)))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    x = rng.standard_normal((1, 8, 12, 12)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x.reshape(1, 8, 6, 2, 6, 2).max((3, 5)), (3, 3), axis=(2, 3))
    np.savez(folder / "io.npz", x=x, y=np.maximum(np.einsum("ocij,nchwij->nohw", w, windows), 0))
    return folder


@pytest.fixture
def model(folder):
    return folder / "m.onnx", "--dim", "batch=1"


def files(path):
    return {p.name: p.read_bytes() for p in path.iterdir()}


def test_every_option_is_in_a_test(quantc, root):
    texts = "".join(p.read_text() for p in (root / "tests").rglob("*.py"))
    short = {"--output": "-o", "--input": "-i", "--expected": "-e", "--help": "--help"}
    options = {(c, o) for c in COMMANDS for o in re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", quantc(c, "--help").stdout, re.M)}
    assert len(options) > 60
    assert not [f"{c} {o}" for c, o in sorted(options) if f'"{short.get(o, o)}"' not in texts]


def test_passes_are_printed_timed_and_named(quantc, model, tmp_path):
    done = quantc("compile", *model, "-o", tmp_path / "out", "--time-passes", "--print-ir-after", "fuse_clamp")
    assert re.search(r"^fuse_clamp +\d+\.\d{3} ms$", done.stderr, re.M) and re.search(r"^note_rules .*\(no change\)$", done.stderr, re.M)
    graph = done.stdout[done.stdout.index("// after fuse_clamp"):]
    assert " relu" not in graph and re.search(r"conv\(.*lo = 0", graph)
    every = quantc("compile", *model, "-o", tmp_path / "out", "--print-ir-after", "all").stdout
    assert {"fuse_clamp", "assign_layouts"} <= set(re.findall(r"^// after (\w+)", every, re.M))


def test_programs_are_printed_after_their_passes(quantc, model, tmp_path):
    names = [line.split()[1] for line in quantc("passes").stdout.splitlines() if line[0] != " "]
    assert names.index("assign_layouts") < names.index("fuse_epilogues") < names.index("select_kernels") < names.index("assign_offsets")
    out = quantc("compile", *model, "-o", tmp_path / "out", "--print-ir-after", "fuse_epilogues", "--print-ir-after", "assign_offsets").stdout
    fused, placed = out.split("// after assign_offsets")
    assert re.search(r"^conv\[f32\]\(x=.*\{n = 1.*nhwc = 1.*\} -> \(y=", fused, re.M) and " : qk_conv" not in fused
    assert " : qk_conv_nhwc_f32" in placed and "@ 0" in placed
    done = quantc("compile", *model, "-o", tmp_path / "out", "--disable-pass", "select_kernels", status=1)
    assert "pass 'select_kernels' is needed and cannot be switched off" in done.stderr


def test_text_graphs_may_begin_with_a_comment(quantc, tmp_path):
    (tmp_path / "m.ir").write_text("// What it is for.\ngraph (%0 \"x\" : f32[4]) {\n  %1 = exp(%0)\n  return %1 \"y\"\n}\n")
    assert "exp(%0)" in quantc("inspect", tmp_path / "m.ir", "--ir").stdout


def test_every_pass_over_programs_prints_and_has_goldens(quantc, root, tmp_path):
    names = [line.split()[1] for line in quantc("passes").stdout.splitlines() if line.startswith("program ")]
    assert {"fuse_epilogues", "reorder_steps", "split"} <= set(names)
    assert names == [name for name in names if list((root / "tests/programs" / name).glob("*.ir"))]
    assert sorted(names) == sorted(p.name for p in (root / "tests/programs").iterdir() if p.is_dir())
    after = [flag for name in names for flag in ("--print-ir-after", name)]
    out = quantc("compile", root / "tests/programs/elide_copies/parts.ir", "-o", tmp_path / "out", *after).stdout
    shown = re.findall(r"^// after (\w+)\nprogram ", out, re.M)
    assert shown == names
    # Storage is shared and placed where the passes say it, not before.
    texts = dict(zip(shown, re.split(r"^// after \w+\n", out, flags=re.M)[1:]))
    shared, placed = (re.compile(p, re.M) for p in (r"^%\d+ = %\d+ \+ \d+, ", r"^%\d+ arena \d+ @ "))
    assert len(shared.findall(texts["elide_copies"])) > len(shared.findall(texts["reorder_steps"]))
    assert len(shared.findall(texts["share_in_place"])) >= len(shared.findall(texts["elide_copies"]))
    assert placed.search(texts["assign_offsets"]) and not placed.search(texts["share_in_place"])


def test_wrong_passes_are_refused(quantc, model, tmp_path):
    for option in ("--print-ir-after", "--stop-after", "--disable-pass"):
        done = quantc("compile", *model, "-o", tmp_path / "out", option, "melt", status=1)
        assert "there is no pass 'melt' (passes: decide_masks, fold_constants," in done.stderr and not (tmp_path / "out").exists()
        assert done.stderr.count("lift_quantize") == 1  # it runs twice
    done = quantc("compile", *model, "-o", tmp_path / "out", "--disable-pass", "fuse_clamp", status=1)
    assert "makes the contract graph and cannot be switched off" in done.stderr


def test_passes_left_out_change_code_but_no_answer(quantc, model, folder, tmp_path):
    names = {"all": [], "no_layouts": ["--disable-pass", "assign_layouts"], "stopped": ["--stop-after", "fuse_clamp"]}
    for name, flags in names.items():
        quantc("compile", *model, "-o", tmp_path / name, "--name", "m", *flags)
        if "--disable-pass" in flags:
            assert "yes  ok" in quantc("validate", *model, "-i", folder / "io.npz", *flags).stdout
    sources = {name: files(tmp_path / name)["m.c"] for name in names}
    assert sources["all"] != sources["no_layouts"] and sources["stopped"] == sources["no_layouts"]


def test_a_pass_left_out_before_the_contract_graph_is_recorded(quantc, model, tmp_path):
    for flags, found in ([], False), (["--disable-pass", "lift_quantize"], True):
        quantc("compile", *model, "-o", tmp_path / "out", "--name", "m", *flags)
        assert ("/* Compiled without lift_quantize, as asked for. */" in (tmp_path / "out" / "m.h").read_text()) == found
        assert ("pass lift_quantize is left out, as asked for" in quantc("explain", *model, *flags).stdout) == found


def test_run_after_a_pass_gives_the_same_answer(quantc, model, folder, tmp_path):
    for name in ("fold_constants", "fuse_clamp", "assign_layouts"):
        quantc("run", *model, "-i", folder / "io.npz", "-o", tmp_path / "out.npz", "--after", name)
        np.testing.assert_allclose(np.load(tmp_path / "out.npz")["y"], np.load(folder / "io.npz")["y"], rtol=1e-5, atol=1e-5)
    assert "there is no pass 'melt'" in quantc("run", *model, "--random", "1", "--after", "melt", status=1).stderr


def test_tolerances_decide(quantc, model, folder, tmp_path):
    arrays = dict(np.load(folder / "io.npz"))
    np.savez(tmp_path / "off.npz", y=arrays["y"] * 1.01)
    common = ("validate", *model, "-i", folder / "io.npz", "-e", tmp_path / "off.npz", "--atol", "0")
    assert "ok" in quantc(*common, "--rtol", "0.02").stdout
    failed = quantc(*common, "--rtol", "0.005", status=1)
    assert "FAIL" in failed.stdout and "results differ by more than allowed" in failed.stderr


def test_the_first_layer_that_differs_is_named(quantc, model, folder, tmp_path):
    """A compiler whose fused multiply-adds are wrong: the pool before the convolution still agrees."""
    (tmp_path / "wrong.h").write_text("#include <math.h>\n#define fmaf(a, b, c) ((a) * (b) + (c) + 0.25f)\n")
    flags = ("--cflags", f"-O1 -include {tmp_path / 'wrong.h'}", "--cc", "gcc")
    failed = quantc("validate", *model, "-i", folder / "io.npz", "--per-layer", *flags, status=1)
    assert re.search(r"^first layer where portable parts from the interpreter: conv\+relu \(conv\)", failed.stdout, re.M), failed.stdout
    assert "pool" not in failed.stdout
    assert "first" not in quantc("validate", *model, "-i", folder / "io.npz", "--per-layer").stdout


def test_a_graph_with_all_constants_is_a_model(quantc, model, folder, tmp_path):
    (tmp_path / "m.ir").write_text(quantc("inspect", *model, "--ir", "--constants").stdout)
    for name, what in (("a", model), ("b", (tmp_path / "m.ir",))):
        quantc("run", *what, "-i", folder / "io.npz", "-o", tmp_path / f"{name}.npz")
    a, b = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    assert a.files and all(np.array_equal(a[k], b[k]) for k in a.files)


def test_pictures(quantc, model, tmp_path):
    dot = quantc("inspect", *model, "--dot").stdout
    assert dot.startswith("digraph") and dot.rstrip().endswith("}")
    assert re.search(r'i0 \[label="x", shape=ellipse\]', dot) and re.search(r'o0 \[label="y", shape=ellipse\]', dot)
    labels = dict(re.findall(r'^  (n\d+) \[label="(\w+)', dot, re.M))
    edges = [(labels.get(a, a), labels.get(b, b)) for a, b in re.findall(r"^  (\w+) -> (\w+) ", dot, re.M)]
    assert edges == [("i0", "max_pool"), ("max_pool", "conv"), ("conv", "o0")]
    quantc("inspect", *model, "--svg", tmp_path / "m.svg")
    picture = (tmp_path / "m.svg").read_text()
    assert picture.startswith("<?xml") and all(text in picture for text in ("max_pool", "conv", "f32[1, 8, 12, 12]"))


def test_percentile_narrows_the_range(quantc, model, tmp_path):
    x = np.random.default_rng(0).standard_normal((50, 1, 8, 12, 12)).astype(np.float32)
    x[7, 0, 1, 3, 3] = 100
    np.savez(tmp_path / "samples.npz", x=x.reshape(50, 8, 12, 12))
    def scale(*flags):
        quantc("calibrate", *model, "--data", tmp_path / "samples.npz", "-o", tmp_path / "r.toml", *flags)
        return float(re.search(r"input_scale = ([\d.e-]+)", (tmp_path / "r.toml").read_text())[1])
    largest, wide, narrow = scale(), scale("--method", "percentile", "--percentile", "99.9"), scale("--method", "percentile", "--percentile", "90")
    assert largest > 0.3 and narrow < wide < 0.1 * largest


def test_calibration_runs_whatever_the_target_is(quantc, model, tmp_path):
    """Ranges are measured here, also for programs of machines that are not this one."""
    np.savez(tmp_path / "samples.npz", x=np.random.default_rng(0).standard_normal((4, 8, 12, 12)).astype(np.float32))
    rules = []
    for target in ("portable", "aarch64-dotprod", "x86-avx512vnni"):
        (tmp_path / "c.toml").write_text(f"target = '{target}'\n")
        quantc("calibrate", *model, "--config", tmp_path / "c.toml", "--data", tmp_path / "samples.npz", "-o", tmp_path / "r.toml")
        rules.append((tmp_path / "r.toml").read_text())
    assert rules[0] == rules[1] == rules[2]


def test_verify_accepts_what_is_right(quantc, model, tmp_path):
    for name, flags in (("checked", ["--verify"]), ("plain", [])):
        quantc("compile", *model, "-o", tmp_path / name, *flags)
    assert files(tmp_path / "checked") == files(tmp_path / "plain")


CONFIG = """
name = 'net'
target = 'portable'
level = 1
weights = 'incbin'
specialise = 'size'
state = 'kept'
disabled_passes = ['assign_layouts']
verify = true
io_dtype = 'keep'
allow_unused_rules = false
require_integer = false
[dims]
batch = 2
"""


def test_a_file_of_options_is_like_flags(quantc, folder, tmp_path):
    (tmp_path / "quantc.toml").write_text(CONFIG)
    quantc("compile", folder / "m.onnx", "--config", tmp_path / "quantc.toml", "-o", tmp_path / "a")
    quantc("compile", folder / "m.onnx", "-o", tmp_path / "b", "--name", "net", "-O1", "--weights", "incbin", "--specialise", "size",
           "--disable-pass", "assign_layouts", "--dim", "batch=2")
    assert files(tmp_path / "a") == files(tmp_path / "b") and "net.h" in files(tmp_path / "a")
    quantc("compile", folder / "m.onnx", "--config", tmp_path / "quantc.toml", "-o", tmp_path / "c", "--name", "flag")
    assert "flag.h" in files(tmp_path / "c"), "flags come before the file"


@pytest.mark.parametrize("text, message", [
    ("level = 3", "line 1: 'level' must be an integer from 0 to 2"),
    ("level = '1'", "line 1: 'level' must be an integer from 0 to 2"),
    ("name = 3", "line 1: 'name' must be a string"),
    ("\nverify = 'yes'", "line 2: 'verify' must be true or false"),
    ("disabled_passes = 'x'", "line 1: 'disabled_passes' must be a list of strings"),
    ("disabled_passes = ['x', 1]", "line 1: 'disabled_passes' must be a list of strings"),
    ("dims = 3", "line 1: 'dims' must be a table of integers or \"MIN..MAX\""),
    ("[dims]\nbatch = 'many'", "'dims' must be a table of integers or \"MIN..MAX\""),
    ("speed = 9", "line 1: unknown option 'speed' (known: name, target,"),
    ("level = ", "line 1: "),
    ("target = 'abacus'", "abacus"),
    ("weights = 'cloud'", "cloud"),
])
def test_mistakes_in_a_file_of_options(quantc, folder, tmp_path, text, message):
    (tmp_path / "quantc.toml").write_text(text)
    done = quantc("compile", folder / "m.onnx", "--config", tmp_path / "quantc.toml", "-o", tmp_path / "out", status=1)
    assert message in done.stderr and not (tmp_path / "out").exists()


RULES = "[[rule]]\npattern = '.*'\nop = 'conv'\nscale = 0.05\ninput_scale = 0.04\n"
EVERYTHING = "[[rule]]\npattern = '.*'\nscale = 0.05\ninput_scale = 0.04\n"
STATE = """@0 : f32[2] = [1.0, 2.0]
graph (%0 "x" : f32[2]) {
  state %1 "s" : f32[2] = @0
  %2 : f32[2] = add(%0, %1)
  next %1 = %2
  return %2 "y"
}
"""
# What the file of options says, the flag that says otherwise, and flags that both runs have.
OVERRIDES = [
    ("name = 'net'", ["--name", "m"], []),
    ("level = 0", ["-O", "2"], []),
    ("level = 0", ["--level", "2"], []),
    ("arithmetic = 'dot=mul_add'", ["--arithmetic", "dot=fma"], []),
    ("weights = 'file'", ["--weights", "literal"], []),
    ("specialise = 'size'", ["--specialise", "speed"], []),
    ("state = 'io'", ["--state", "kept"], ["s.ir"]),
    ("disabled_passes = ['assign_layouts']", ["--disable-pass", ""], []),
    ("stop_after = 'fuse_clamp'", ["--stop-after", ""], []),
    ("rules = 'rules.toml'", ["--rules", ""], []),
    ("arithmetic = 'onnxruntime'", ["--arithmetic", "exact"], ["--rules", "rules.toml"]),
    ("io_dtype = 'quantized'", ["--io-dtype", "keep"], ["--rules", "rules.toml"]),
    ("[dims]\nbatch = 2", ["--dim", "batch=1"], []),
]


@pytest.mark.parametrize("text, flag, common", OVERRIDES)
def test_every_flag_overrides_the_file_of_options(quantc, folder, tmp_path, text, flag, common):
    """Also where the flag says what holds when nothing is said."""
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "s.ir").write_text(STATE)
    (tmp_path / "quantc.toml").write_text(text)
    model = [] if "s.ir" in common else [folder / "m.onnx", *([] if "--dim" in flag else ["--dim", "batch=1"])]
    def compiled(name, *flags):
        quantc("compile", *model, *common, "-o", tmp_path / name, *flags, cwd=tmp_path)
        return files(tmp_path / name)
    plain, config = compiled("plain", *flag), ("--config", "quantc.toml")
    assert compiled("both", *config, *flag) == plain
    if "[dims]" not in text:
        assert compiled("without", *flag[:0]) == plain
    assert compiled("config", *config) != plain


def test_flags_can_be_switched_off(quantc, model, folder, tmp_path):
    (tmp_path / "quantc.toml").write_text("require_integer = true\nallow_unused_rules = true\nverify = true\nrules = 'rules.toml'\ntarget = 'portable'\n")
    (tmp_path / "rules.toml").write_text(EVERYTHING + "[[rule]]\npattern = 'nowhere'\nscale = 1\n")
    common = ("compile", *model, "--config", tmp_path / "quantc.toml", "-o", tmp_path / "out", "--target", "portable", "--no-verify")
    assert "operations compute in float" not in quantc(*common).stderr
    assert "matches no node" in quantc(*common, "--no-allow-unused-rules", status=1).stderr
    (tmp_path / "rules.toml").write_text("[[rule]]\npattern = '.*'\nkind = 'float'\n")
    assert "operations compute in float" in quantc(*common, status=1).stderr
    quantc(*common, "--no-require-integer")


def test_compile_says_how_many_nodes_are_integer(quantc, model, tmp_path):
    (tmp_path / "rules.toml").write_text(EVERYTHING)
    for flags, said in (([], "2 nodes: 0 integer, 2 float, 0 move elements, 0 convert"), (["--rules", tmp_path / "rules.toml"], " integer, 0 float,")):
        lines = quantc("compile", *model, "-o", tmp_path / "out", *flags).stdout.splitlines()
        assert said in lines[2] and lines[2].strip() == quantc("explain", *model, *flags).stdout.splitlines()[-1], lines
