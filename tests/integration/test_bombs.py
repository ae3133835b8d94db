"""Small files that ask for much work or memory: whatever the command, each ends by itself within 10 seconds of the
processor's time and 1 GB, with status 0, 1 or 2. Where a file is refused, the message names a limit."""
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.limited import limited
from tests.support.onnx_models import build, node, save, value, weight

ANY = value("y", None)
I64 = TensorProto.INT64


def ints(name, *numbers):
    return weight(name, np.array(numbers, np.int64))


# Files that must be refused, at the latest when they are compiled: they cannot be done within the limits.


def folded_convolutions():
    nodes = [node("Conv", ["c" if i == 0 else f"o{i - 1}", "k"], [f"o{i}"], pads=[63] * 4) for i in range(300)]
    nodes.append(node("Add", ["o299", "x"], ["y"]))
    constants = [weight("c", np.zeros((1, 1, 128, 128), np.float32)), weight("k", np.zeros((1, 1, 127, 127), np.float32))]
    return build(nodes, [value("x", [1, 1, 128, 128])], [ANY], constants)


def folded_attention():
    nodes = [node("ConstantOfShape", ["s"], ["q"])]
    nodes += [node("Attention", [f"a{i - 1}" if i else "q", "q", "q"], [f"a{i}"]) for i in range(500)]
    nodes.append(node("Add", ["a499", "x"], ["y"]))
    return build(nodes, [value("x", [1, 1, 1024, 16])], [ANY], [ints("s", 1, 1, 1024, 16)], opset=23)


def folded_pools():
    nodes = [node("ConstantOfShape", ["s"], ["c"])]
    nodes += [node("AveragePool", [f"p{i - 1}" if i else "c"], [f"p{i}"], kernel_shape=[127, 127], pads=[63] * 4) for i in range(200)]
    nodes.append(node("Add", ["p199", "x"], ["y"]))
    return build(nodes, [value("x", [1, 1, 128, 128])], [ANY], [ints("s", 1, 1, 128, 128)])


def windows():
    nodes = [node("HannWindow", [f"n{i}"], [f"w{i}"]) for i in range(60)]
    nodes.append(node("Concat", [f"w{i}" for i in range(60)] + ["x"], ["y"], axis=0))
    return build(nodes, [value("x", [1])], [ANY], [weight(f"n{i}", np.array((1 << 24) - i, np.int64)) for i in range(60)])


def dead_function_bodies():
    body = [node("Abs", ["a"], [f"d{i}"]) for i in range(15000)] + [node("Sin", ["a"], ["b"])]
    calls = [node("F", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], domain="m") for i in range(15000)]
    return with_functions(calls, "v14999", [helper.make_function("m", "F", ["a"], ["b"], body, [helper.make_opsetid("", 17)])])


def names_that_double():
    functions, opsets = [], [helper.make_opsetid("", 17), helper.make_opsetid("m", 1)]
    for i in range(20):
        inner = dict(op_type=f"F{i + 1}", domain="m") if i < 19 else dict(op_type="Relu")
        calls = [node(inputs=["a"], outputs=["t"], name="N" * 2000, **inner), node(inputs=["t"], outputs=["b"], name="M" * 2000, **inner)]
        functions.append(helper.make_function("m", f"F{i}", ["a"], ["b"], calls, opsets))
    return with_functions([node("F0", ["x"], ["v"], domain="m", name="N" * 2000)], "v", functions)


def with_functions(nodes, result, functions):
    graph = helper.make_graph([*nodes, node("Relu", [result], ["y"])], "g", [value("x", [4])], [ANY])
    return helper.make_model(graph, functions=functions, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("m", 1)])


def calls_that_double():
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("m", 1)]
    functions = []
    for i in range(40):
        inner = dict(op_type=f"F{i + 1}", domain="m") if i < 39 else dict(op_type="Relu")
        calls = [node(inputs=["a"], outputs=["t"], **inner), node(inputs=["t"], outputs=["b"], **inner)]
        functions.append(helper.make_function("m", f"F{i}", ["a"], ["b"], calls, opsets))
    return with_functions([node("F0", ["x"], ["v"], domain="m")], "v", functions)


def copied_sequences():
    nodes = [node("SplitToSequence", ["x"], ["s"])]
    nodes += [node("Optional", ["s" if i == 0 else f"o{i - 1}"], [f"o{i}"]) for i in range(20000)]
    return build([*nodes, node("SequenceAt", ["o19999", "z"], ["y"])], [value("x", [65536])], [ANY], [weight("z", np.array(0, np.int64))])


def joined_sequences():
    nodes = [node("SplitToSequence", ["x"], ["s"]), *[node("ConcatFromSequence", ["s"], [f"c{i}"], axis=0) for i in range(300)]]
    return build([*nodes, node("Sum", [f"c{i}" for i in range(300)], ["y"])], [value("x", [65536])], [ANY])


def long_loop():
    body = helper.make_graph([node("Add", ["c", "c"], ["d"]), node("Identity", ["k"], ["l"])], "b",
                             [value("i", [], I64), value("k", [], TensorProto.BOOL), value("c", [4])], [value("l", [], TensorProto.BOOL), value("d", [4])])
    return build([node("Loop", ["n", "", "x"], ["y"], body=body)], [value("x", [4])], [ANY], [weight("n", np.array(2**62, np.int64))])


def nested_scans():
    graph = None
    for depth in range(5):
        inner = [node("Scan", ["e"], ["f"], body=graph, num_scan_inputs=1)] if graph else [node("Neg", ["e"], ["f"])]
        graph = helper.make_graph(inner, f"b{depth}", [value("e", [24] * depth)], [value("f", [24] * depth)])
    return build([node("Scan", ["x"], ["y"], body=graph, num_scan_inputs=1)], [value("x", [24] * 5)], [ANY])


def branches_in_loops_in_scans():
    def branch(op):
        return helper.make_graph([node(op, ["c"], ["r"])], op, [], [value("r", [1])])

    step = [node("If", ["k"], ["d"], then_branch=branch("Neg"), else_branch=branch("Abs")), node("Identity", ["k"], ["l"])]
    loop = helper.make_graph(step, "l", [value("i", [], I64), value("k", [], TensorProto.BOOL), value("c", [1])],
                             [value("l", [], TensorProto.BOOL), value("d", [1])])
    scan = helper.make_graph([node("Loop", ["n", "t", "e"], ["f"], body=loop)], "s", [value("e", [1])], [value("f", [1])])
    return build([node("Scan", ["x"], ["y"], body=scan, num_scan_inputs=1)], [value("x", [100000, 1])], [ANY],
                 [weight("n", np.array(100000, np.int64)), weight("t", np.array(True))])


def squared_sizes():
    nodes = [node("Shape", ["x"], ["s0"]), *[node("Mul", [f"s{i}"] * 2, [f"s{i + 1}"]) for i in range(30)]]
    return build([*nodes, node("ConstantOfShape", ["s30"], ["y"])], [value("x", ["n"])], [ANY])


REFUSED = [folded_convolutions, folded_pools, dead_function_bodies, names_that_double, calls_that_double, copied_sequences,
           joined_sequences, squared_sizes]
# Others of the same kinds, which take longer to be refused: `make soak` tries them.
LONG = [folded_attention, windows]
# Those whose work is only in running them are refused there.
HEAVY = [long_loop, nested_scans, branches_in_loops_in_scans]


def commands(path, tmp):
    yield "compile", path, "-o", tmp / "c"
    yield "inspect", path
    yield "explain", path
    yield "run", path, "--random", "1", "-o", tmp / "y.npz"


@pytest.mark.parametrize("make", REFUSED, ids=lambda m: m.__name__)
def test_bombs_are_refused(tmp_path, make):
    (tmp_path / "m.onnx").write_bytes(make().SerializeToString())
    done = limited("compile", tmp_path / "m.onnx", "-o", tmp_path / "c", status=(1,))
    assert re.search(r"error\[(limit|dim)\]", done.stderr), done.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("make", HEAVY, ids=lambda m: m.__name__)
def test_long_runs_are_refused(tmp_path, make):
    (tmp_path / "m.onnx").write_bytes(make().SerializeToString())
    limited("compile", tmp_path / "m.onnx", "-o", tmp_path / "c")
    assert "error[limit]" in limited("run", tmp_path / "m.onnx", "--random", "1", status=(1,)).stderr


@pytest.mark.soak
@pytest.mark.parametrize("make", REFUSED + LONG + HEAVY, ids=lambda m: m.__name__)
def test_bombs_end_with_every_command(tmp_path, make):
    path = tmp_path / "m.onnx"
    path.write_bytes(make().SerializeToString())
    assert path.stat().st_size < 1 << 20
    for command in commands(path, tmp_path):
        done = limited(*command)
        if done.returncode != 0:
            assert re.search(r"error\[(limit|dim|unsupported)\]", done.stderr), done.stderr


@pytest.mark.parametrize("samples", [1, 2])
def test_a_refusal_that_a_library_swallows(tmp_path, samples):
    """std::stable_sort does without its buffer where that is refused; what comes after it is refused all the same."""
    nodes = [node("Expand", ["x", "large"], ["a"]), node("Expand", ["x", "long"], ["b"]), node("TopK", ["b", "k"], ["t", "i"], axis=0)]
    for i in range(8):
        nodes += [node("Add", [f"u{i - 1}" if i else "t", "one"], [f"u{i}"]), node("Expand", [f"u{i}", "large"], [f"c{i}"])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.UINT8, None) for name in ("a", *[f"c{i}" for i in range(8)])]
    model = save(tmp_path / "m.onnx", nodes, [value("x", [1], TensorProto.UINT8)], outputs,
                 [ints("large", 400_000_000), ints("long", 21_500_000), ints("k", 1), weight("one", np.array([1], np.uint8))])
    np.savez(tmp_path / "x.npz", x=np.ones(samples, np.uint8))
    done = limited("run", model, "--data", tmp_path / "x.npz", "-o", tmp_path / "y.npz", status=(1,))
    assert "error[limit]" in done.stderr and not (tmp_path / "y.npz").exists()


# Files that take long only because of how something was done: they pass.


def test_a_value_read_very_often(tmp_path):
    path = save(tmp_path / "m.onnx", [node("Concat", ["x"] * 200000, ["y"], axis=0)], [value("x", [1])], [ANY])
    for command in commands(path, tmp_path):
        limited(*command, status=(0,))


def test_many_nodes_that_become_one(tmp_path):
    """The names of what was merged stay known, up to a bound."""
    count, name = 14_000, "n" * 16
    equal = [node("Neg", ["x"], [f"v{i}"], name=f"{name}{i}") for i in range(count)]
    path = save(tmp_path / "m.onnx", [*equal, node("Sum", [f"v{i}" for i in range(count)], ["y"])], [value("x", [1])], [ANY])
    limited("compile", path, "-o", tmp_path / "c", status=(0,))
    chain = [node("Relu", [f"v{i - 1}" if i else "x"], [f"v{i}"], name=f"{name}{i}") for i in range(count)]
    path = save(tmp_path / "m.onnx", [*chain, node("Neg", [f"v{count - 1}"], ["y"])], [value("x", [1])], [ANY])
    limited("compile", path, "-o", tmp_path / "d", status=(0,))


@pytest.mark.parametrize("name", ["n", "n{}"])
def test_calibration_of_many_nodes(tmp_path, name):
    nodes = [f'  %{i + 1} : f32[1, 4] = {"add" if i % 2 else "mul"}(%{i}, %{i})  loc("{name.format(i)}")' for i in range(15000)]
    (tmp_path / "m.ir").write_text("\n".join(['graph "g" (%0 "x" : f32[1, 4]) {', *nodes, '  return %15000 "y"', "}", ""]))
    np.savez(tmp_path / "s.npz", in_0=np.zeros((8, 4), np.float32))
    limited("calibrate", tmp_path / "m.ir", "--data", tmp_path / "s.npz", "-o", tmp_path / "r.toml", status=(0,))
    wide = limited("calibrate", tmp_path / "m.ir", "--data", tmp_path / "s.npz", "-o", tmp_path / "q.toml", "--method", "mse", status=(1,))
    assert "error[limit]" in wide.stderr


@pytest.mark.parametrize("dim", ["(n + 9223372036854775807 + 1)//(-1)", "n*4294967296*4294967296", "(n - 9223372036854775807 - 1)%(-1)"])
def test_sizes_at_the_ends_of_64_bits(tmp_path, dim):
    text = f"graph (%0 : f32[{dim}]) {{\n  return %0\n}}\n"
    (tmp_path / "m.ir").write_text(text)
    assert "number too large" in limited("inspect", tmp_path / "m.ir", status=(1,)).stderr
    model = save(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"])], [value("x", [dim])], [ANY])
    for command in commands(model, tmp_path):
        limited(*command)


def test_a_bound_size_beyond_64_bits(tmp_path):
    (tmp_path / "m.ir").write_text("graph (%0 : f32[n*n*n*n]) {\n  return %0\n}\n")
    assert "beyond 64 bits" in limited("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--dim", "n=65536", status=(1,)).stderr


@pytest.mark.parametrize("node, size", [("expand(%0) {shape = [#(n*n*n*n)]}", 2**16), ("concat(%1, %1, %1, %1) {axis = 0}", 2**62)])
def test_sizes_beyond_64_bits_behind_the_inputs(tmp_path, node, size):
    """2^64 would wrap to 0, and so to an empty result."""
    (tmp_path / "m.ir").write_text(f"graph (%0 : f32[1], %1 : f32[n]) {{\n  %2 = {node}\n  return %2\n}}\n")
    assert "beyond 64 bits" in limited("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--dim", f"n={size}", status=(1,)).stderr


# Rule files and files of options.


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return save(tmp_path_factory.mktemp("small") / "m.onnx", [node("MatMul", ["x", "w"], ["y"], name="fc")], [value("x", [1, 4])], [ANY],
                [weight("w", np.ones((4, 4), np.float32))])


@pytest.mark.parametrize("option", ["--rules", "--config"])
@pytest.mark.parametrize("text", ["a." * 100_000 + "a=1", "[" + "a." * 100_000 + "a]", "a=" + "[" * 500_000, "a=" + "{a=" * 100_000])
def test_deep_toml(small, tmp_path, option, text):
    (tmp_path / "f.toml").write_text(text)
    assert "error[limit]" in limited("compile", small, "-o", tmp_path / "c", option, tmp_path / "f.toml", status=(1,)).stderr


# Each makes an assertion of the parser false.
STOPPING = ["a = [1,} 2]\n", "a = [\u20281]\n", "a = {b =1979-05-27 1, c = [2]}\n", "a = 1979-05-27T\x0001:32:00Z\n", "\ufeff[{[rule]]\n"]


@pytest.mark.parametrize("option", ["--config", "--rules"])
@pytest.mark.parametrize("text", STOPPING, ids=ascii)
def test_toml_that_stops_the_parser(small, tmp_path, option, text):
    (tmp_path / "t.toml").write_text(text, newline="")
    done = limited("compile", small, "-o", tmp_path / "c", option, tmp_path / "t.toml", status=(1,))
    assert re.search(r"t\.toml(:1)?: error\[(format|rule)\]: ", done.stderr), done.stderr


@pytest.mark.parametrize("option", ["--rules", "--config"])
def test_a_toml_table_without_a_name(small, tmp_path, option):
    (tmp_path / "f.toml").write_text("[[\u00e9rule]]\nscale = 1\n")
    assert "line 1: a table has no name" in limited("compile", small, "-o", tmp_path / "c", option, tmp_path / "f.toml", status=(1,)).stderr


@pytest.mark.parametrize("pattern", ["(a|b)?" * 100_000, "a{1000}" * 1000, "((((a{30}){30}){30}){30})", "[a-z]" * 1600])
def test_large_patterns(small, tmp_path, pattern):
    (tmp_path / "f.toml").write_text(f"[[rule]]\npattern = '{pattern}'\nscale = 0.1\n")
    limited("compile", small, "-o", tmp_path / "c", "--rules", tmp_path / "f.toml", status=(1,))


def test_many_rules_for_many_nodes(tmp_path):
    """Expressions have to be asked for each name; patterns that only spell names are looked up (test_counted_work.py)."""
    count = 15_000
    nodes = [node("Neg", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], name=f"n{i}") for i in range(count)]
    model = save(tmp_path / "m.onnx", [*nodes, node("Relu", [f"v{count - 1}"], ["y"])], [value("x", [1])], [ANY])
    (tmp_path / "f.toml").write_text("".join(f"[[rule]]\npattern = '.*x{i}'\nscale = 1\n" for i in range(count)))
    done = limited("compile", model, "-o", tmp_path / "c", "--rules", tmp_path / "f.toml", "--allow-unused-rules", status=(1,))
    assert "error[limit]" in done.stderr and "--budget" in done.stderr


def test_numbers_of_rules_stay_beside_them(small, tmp_path):
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "s.npz", s=np.float32(0.1))
    os.symlink(tmp_path / "s.npz", tmp_path / "in" / "link.npz")
    for file in ("../s.npz", str(tmp_path / "s.npz"), "link.npz", "a/../../s.npz"):
        (tmp_path / "in" / "f.toml").write_text(f"[[rule]]\nop = 'matmul'\nscale_file = '{file}:s'\ninput_scale = 0.1\n")
        done = limited("compile", small, "-o", tmp_path / "c", "--rules", tmp_path / "in" / "f.toml", status=(1,))
        assert "f.toml:3: error[path]" in done.stderr, done.stderr
    np.savez(tmp_path / "in" / "s.npz", s=np.float32(0.1))
    (tmp_path / "in" / "f.toml").write_text("[[rule]]\npattern = 'fc'\nscale_file = 's.npz:s'\ninput_scale = 0.1\n")
    limited("compile", small, "-o", tmp_path / "c", "--rules", tmp_path / "in" / "f.toml", status=(0,))


# Arrays.


def test_arrays_that_expand(small, tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (200 << 20,)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        with archive.open("x.npy", "w") as member:
            member.write(head.getvalue())
            for _ in range(800):
                member.write(bytes(1 << 20))
    assert (tmp_path / "x.npz").stat().st_size < 1 << 20
    for command in (["run", small, "-i", tmp_path / "x.npz", "-o", tmp_path / "y.npz"], ["validate", small, "-i", tmp_path / "x.npz", "-e", tmp_path / "x.npz"],
                    ["calibrate", small, "--data", tmp_path / "x.npz", "-o", tmp_path / "r.toml"]):
        limited(*command, status=(1,))


# What is no regular file is refused before anything waits for it.


@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "/dev/tty", "folder"])
def test_no_regular_file(small, tmp_path, kind):
    path = tmp_path / "f"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        os.symlink(kind, path)
    for command in (["inspect", path], ["compile", small, "-o", tmp_path / "c", "--rules", path], ["compile", small, "-o", tmp_path / "c", "--config", path],
                    ["run", small, "-i", path, "-o", tmp_path / "y.npz"]):
        done = limited(*command, status=(1,), timeout=20)
        assert "error[file]" in done.stderr or "error[usage]" in done.stderr, done.stderr


# The budget itself.


def test_the_budget_can_be_raised(tmp_path):
    model = save(tmp_path / "m.onnx", [node("Conv", ["x", "w"], ["t"], name="big"), node("ReduceMax", ["t"], ["y"], keepdims=0)],
                 [value("x", [1, 64, 256, 256])], [ANY], [weight("w", np.ones((64, 64, 5, 5), np.float32))])
    done = limited("run", model, "--random", "1", status=(1,))
    assert re.search(r"error\[limit\]: Conv 'big': evaluating: .*--budget 10", done.stderr), done.stderr
    (tmp_path / "q.toml").write_text("budget = 0\n")
    assert "'budget' must be an integer of 1 or more" in limited("inspect", model, "--config", tmp_path / "q.toml", status=(1,)).stderr
    assert "a budget of 0" in limited("inspect", model, "--budget", "0", status=(1,)).stderr


def test_a_raised_budget_lets_a_file_pass(tmp_path):
    """The same file of rules with a budget and without."""
    count = 3_000
    nodes = [node("Neg", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], name="n" * 300 + str(i)) for i in range(count)]
    model = save(tmp_path / "m.onnx", [*nodes, node("Relu", [f"v{count - 1}"], ["y"])], [value("x", [1])], [ANY])
    (tmp_path / "f.toml").write_text("".join(f"[[rule]]\npattern = '.*x{i}'\nscale = 1\n" for i in range(2_000)))
    command = ["compile", model, "-o", tmp_path / "c", "--rules", tmp_path / "f.toml", "--allow-unused-rules"]
    assert "--budget 10" in limited(*command, status=(1,)).stderr
    limited(*command, "--budget", "10", status=(0,))
    (tmp_path / "q.toml").write_text("budget = 10\n")
    limited(*command, "--config", tmp_path / "q.toml", status=(0,))


def test_a_long_chain_leaves_ten_times_room(tmp_path, root):
    path = tmp_path / "chain.onnx"
    subprocess.run([sys.executable, root / "tools" / "make_chain.py", "20000", path], check=True)
    done = limited("compile", path, "-o", tmp_path / "c", "-v", status=(0,))
    used = re.search(r"budget used: (.*)", done.stderr)[1]
    shares = {k: float(v) for k, v in re.findall(r"(\w+) ([\d.]+) %", used)}
    assert set(shares) == {"work", "tensors", "terms", "emitted", "memory"}
    assert all(v <= 10 for v in shares.values()), used
