"""Hostile models, one test per class of hole known from other tools: each is refused with a message that names file and
place, with status 1 or 2 and nothing left behind; what may only show at run time is harmless in the generated C."""
import io
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.onnx_models import build, node, save, value, weight

I64 = TensorProto.INT64
X4 = value("x", [1, 4, 8, 8])
ANY = value("y", None)


def ints(name, *numbers):
    return weight(name, np.array(numbers, np.int64))


def floats(name, *shape):
    return weight(name, np.ones(shape, np.float32))


def one(op, *names, inputs=(X4,), constants=(), opset=17, **attributes):
    """A model of one node called 'n'."""
    return build([node(op, list(names), ["y"], name="n", **attributes)], list(inputs), [ANY], constants, opset)


def external(tmp, location, **keys):
    model = one("Add", "x", "w", inputs=[value("x", [4])], constants=[floats("w", 4)])
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in {"location": location, **keys}.items():
        tensor.external_data.add(key=key, value=text)
    return model


def outside(tmp) -> Path:
    """A file that no model in tmp/m.onnx may read."""
    (tmp / "secret").mkdir(exist_ok=True)
    (tmp / "secret" / "data").write_bytes(bytes(16))
    return tmp / "secret" / "data"


# Path traversal through external data (CVE-2022-25882, CVE-2024-27318, CVE-2026-27489, CVE-2026-34446, CVE-2026-34447).


def external_parent_folder(tmp):
    return external(tmp, "../secret"), r"error\[path\]: .*'w'.*'../secret'"


def external_parent_inside_the_path(tmp):
    (tmp / "a").mkdir()
    return external(tmp, "a/../../secret"), r"error\[path\]: .*'w'.*'a/../../secret'"


def external_absolute(tmp):
    return external(tmp, str(outside(tmp))), r"error\[path\]: .*'w'"


def external_symbolic_link(tmp):
    outside(tmp)
    (tmp / "model").mkdir()
    os.symlink("../secret/data", tmp / "model" / "link")
    return external(tmp, "link"), r"model/m.onnx: error\[path\]: .*'w'", "model/m.onnx"


def external_hard_link(tmp):
    os.link(outside(tmp), tmp / "hard")
    return external(tmp, "hard"), r"error\[path\]: .*'w'"


def external_beyond_the_file(tmp):
    (tmp / "data").write_bytes(bytes(16))
    return external(tmp, "data", offset="8", length="16"), r"error\[format\]: .*'w'"


def external_length_overflow(tmp):
    (tmp / "data").write_bytes(bytes(16))
    return external(tmp, "data", offset="8", length=str(2**63 - 1)), r"error\[format\]: .*'w'"


# Archives: names that leave the folder (CVE-2024-5187), overlapping and too many entries, compressed ones.


def archive(tmp, members, **options):
    with zipfile.ZipFile(tmp / "m.pt2", "w", **options) as file:
        for name, data in members:
            file.writestr(name, data)
    return tmp / "m.pt2"


def archive_parent_folder(tmp):
    return archive(tmp, [("t/models/model.json", "{}"), ("../evil", "x")]), r"m.pt2: error\[path\]: zip entry '../evil'"


def archive_absolute_name(tmp):
    return archive(tmp, [("/evil", "x")]), r"m.pt2: error\[path\]: zip entry '/evil'"


def archive_compressed(tmp):
    bomb = archive(tmp, [("t/models/model.json", b"0" * 10_000_000)], compression=zipfile.ZIP_DEFLATED)
    return bomb, r"m.pt2: error\[unsupported\]: .*'t/models/model.json'"


def archive_deep_json(tmp):
    return archive(tmp, [("t/models/model.json", "[" * 1_000_000)]), r"m.pt2: error\[format\]: "


# Code in pickles (CVE-2025-32434) and tensors that reach beyond their storage (CVE-2026-24747).


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


def old_archive(root, tmp, payload):
    """The fixture of an old layout with other weights."""
    with zipfile.ZipFile(root / "tests/data/pt2/tiny_old.pt2") as file:
        members = [(n, file.read(n)) for n in file.namelist()]
    return archive(tmp, [(n, payload(d) if "state_dict" in n else d) for n, d in members])


def changed_pickle(data, change):
    """A torch.save archive with another data.pkl."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as file:
        for name in source.namelist():
            part = source.read(name)
            file.writestr(name, change(part) if name.endswith("data.pkl") else part)
    return out.getvalue()


def pickle_runs_code(tmp, root):
    evil = pickle.dumps({"w": Evil()}, protocol=2)
    return old_archive(root, tmp, lambda d: changed_pickle(d, lambda _: evil)), r"m.pt2: error\[unsupported\]: .*pickle refers to '(posix|os).system'"


def pickle_tensor_beyond_its_storage(tmp, root):
    # The sizes (2, 2) of the weight become (2, 200).
    change = lambda t: t.replace(b"K\x02K\x02\x86", b"K\x02K\xc8\x86", 1)
    return old_archive(root, tmp, lambda d: changed_pickle(d, change)), r"m.pt2: error\[format\]: .*a tensor reaches beyond its storage"


# Sizes whose product overflows (CVE-2022-23558).


def overflow_of_an_input(tmp):
    return one("Relu", "x", inputs=[value("x", [2**32, 2**32])]), r"error\[limit\]: input 'x' of f32\[4294967296, 4294967296\]"


def overflow_of_a_weight(tmp):
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**32, 2**32], raw_data=b"1234")
    return one("Add", "x", "w", constants=[w]), r"error\[limit\]: .*'w'.*larger than 2\^40 bytes"


def overflow_of_a_fill(tmp):
    return one("ConstantOfShape", "s", inputs=[], constants=[ints("s", 2**31, 2**31, 2**31)]), r"error\[limit\]: .*'n'"


def overflow_of_an_expand(tmp):
    return one("Expand", "x", "s", constants=[ints("s", 2**40, 2**40, 1, 1, 1, 1)]), r"error\[limit\]: .*'n'"


def overflow_of_a_tile(tmp):
    return one("Tile", "x", "s", constants=[ints("s", 2**62, 2**62, 4, 4)]), r"error\[limit\]: .*'n'"


def overflow_of_a_reshape(tmp):
    return one("Reshape", "x", "s", constants=[ints("s", 2**62, 4, 64, 4)]), r"error\[(shape|limit)\]: .*'n'"


def overflow_of_a_pad(tmp):
    pads = ints("p", *[2**62] * 8)
    return one("Pad", "x", "p", constants=[pads]), r"error\[(limit|attribute)\]: .*'n'"


def overflow_of_a_resize(tmp):
    sizes = ints("s", 1, 4, 2**31, 2**31)
    return one("Resize", "x", "", "", "s", constants=[sizes]), r"error\[limit\]: .*'n'"


def overflow_of_a_range(tmp):
    limits = [weight(n, np.array(v, np.int64)) for n, v in (("a", -2**63), ("b", 2**63 - 1), ("c", 1))]
    model = one("Range", "a", "b", "c", inputs=[], constants=limits)
    model.graph.output[0].CopyFrom(value("y", None, I64))
    return model, r"error\[limit\]: .*'n'"


def overflow_of_conv_windows(tmp):
    return (one("Conv", "x", "w", constants=[floats("w", 4, 4, 3, 3)], dilations=[2**62, 2**62]),
            r"error\[attribute\]: .*'n'.*dilation 4611686018427387904")


# Indices outside the data (CVE-2024-27319); those only known at run time have a test of their own below.


def index_of_a_sparse_weight(tmp):
    model = one("Add", "x", "w")
    values, indices = floats("w", 1), ints("w_indices", 99)
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [8]))
    return model, r"error\[format\]: .*'w': sparse index 0 is outside the tensor"


# Division by zero from attributes and constants (CVE-2022-21741, CVE-2022-23557, GHSA-j7rm-8ww4-xx2g).


def zero_stride(tmp):
    return one("Conv", "x", "w", constants=[floats("w", 4, 4, 3, 3)], strides=[0, 1]), r"error\[attribute\]: .*'n'.*stride 0"


def zero_group(tmp):
    return one("Conv", "x", "w", constants=[floats("w", 4, 4, 3, 3)], group=0), r"error\[attribute\]: .*'n'.*group"


def zero_group_of_conv_transpose(tmp):
    return one("ConvTranspose", "x", "w", constants=[floats("w", 4, 4, 3, 3)], group=0), r"error\[attribute\]: .*'n'.*group"


def zero_stride_of_conv_transpose(tmp):
    return one("ConvTranspose", "x", "w", constants=[floats("w", 4, 4, 3, 3)], strides=[0, 0]), r"error\[attribute\]: .*'n'.*stride 0"


def zero_kernel(tmp):
    return one("MaxPool", "x", kernel_shape=[0, 2]), r"error\[attribute\]: .*'n'.*kernel 0"


def zero_kernel_of_a_weight(tmp):
    return one("Conv", "x", "w", constants=[floats("w", 4, 4, 0, 3)]), r"error\[(attribute|shape)\]: .*'n'.*kernel 0"


def zero_stride_of_a_pool(tmp):
    return one("AveragePool", "x", kernel_shape=[2, 2], strides=[0, 0]), r"error\[attribute\]: .*'n'.*stride 0"


def zero_dilation_of_a_pool(tmp):
    return one("MaxPool", "x", kernel_shape=[2, 2], dilations=[0, 0]), r"error\[attribute\]: .*'n'.*dilation 0"


def zero_block_of_space_to_depth(tmp):
    return one("SpaceToDepth", "x", blocksize=0), r"error\[shape\]: .*'n': blocks of 0 by 0"


def zero_block_of_depth_to_space(tmp):
    return one("DepthToSpace", "x", blocksize=0), r"error\[shape\]: .*'n': blocks of 0 by 0"


def zero_groups_of_a_norm(tmp):
    return (one("GroupNormalization", "x", "s", "b", constants=[floats("s", 4), floats("b", 4)], num_groups=0, opset=21),
            r"error\[attribute\]: .*'n': 0 groups")


def zero_parts_of_a_split(tmp):
    return one("Split", "x", num_outputs=0, opset=18), r"error\[attribute\]: .*'n'.*0"


def zero_step_of_a_slice(tmp):
    return (one("Slice", "x", "a", "b", "c", "d", constants=[ints("a", 0), ints("b", 2), ints("c", 1), ints("d", 0)]),
            r"error\[attribute\]: .*'n'.*step.* 0")


def zero_step_of_a_range(tmp):
    return one("Range", "a", "b", "c", inputs=[], constants=[weight(n, np.array(v)) for n, v in (("a", 0), ("b", 9), ("c", 0))]), r"error\[attribute\]: .*'n'"


def zero_scale_of_a_resize(tmp):
    return one("Resize", "x", "", "s", constants=[weight("s", np.array([1, 1, 0, 0], np.float32))]), r"error\[(attribute|shape)\]: .*'n'"


def zero_heads(tmp):
    three = [value(n, [1, 2, 8]) for n in "qkv"]
    return one("Attention", "q", "k", "v", inputs=three, q_num_heads=0, kv_num_heads=0, opset=23), r"error\[attribute\]: .*'n'"


def zero_window_of_lrn(tmp):
    return one("LRN", "x", size=0), r"error\[shape\]: .*'n': .* over 0 channels"


def zero_hidden_size(tmp):
    return (one("LSTM", "x", "w", "r", inputs=[value("x", [2, 1, 3])], constants=[floats("w", 1, 0, 3), floats("r", 1, 0, 0)], hidden_size=0),
            r"error\[(attribute|shape)\]: .*'n'")


# Graphs that break what passes rely on (CVE-2022-23594): cycles, names, ranks, types, operands.


def cyclic_graph(tmp):
    nodes = [node("Relu", ["b"], ["a"], name="one"), node("Relu", ["a"], ["b"], name="two"), node("Add", ["b", "x"], ["y"])]
    return build(nodes, [value("x", [1])], [ANY]), r"error\[graph\]: .*'(one|two)': is part of a cycle"


def duplicate_value(tmp):
    nodes = [node("Relu", ["x"], ["y"], name="one"), node("Abs", ["x"], ["y"], name="two")]
    return build(nodes, [X4], [ANY]), r"error\[graph\]: .*'two': value 'y' is defined twice"


def duplicate_input(tmp):
    return one("Relu", "x", inputs=[X4, X4]), r"error\[graph\]: input 'x' is defined twice"


def duplicate_weight(tmp):
    return one("Add", "x", "w", constants=[floats("w", 1), floats("w", 1)]), r"error\[graph\]: initializer 'w' is defined twice"


def wrong_rank_of_an_operand(tmp):
    return one("Conv", "x", "w", constants=[floats("w", 4, 4)]), r"error\[shape\]: .*'n'"


def wrong_rank_of_a_norm(tmp):
    args = [floats(n, 4, 1) for n in "sbmv"]
    return one("BatchNormalization", "x", "s", "b", "m", "v", constants=args), r"error\[shape\]: .*'n'"


def wrong_channels(tmp):
    return one("Conv", "x", "w", constants=[floats("w", 4, 3, 3, 3)]), r"error\[shape\]: .*'n'.*3 input channels.* 4"


def wrong_axis(tmp):
    return one("Concat", "x", "x", axis=7), r"error\[attribute\]: .*'n'.*7"


def missing_operand(tmp):
    return one("Conv", "x"), r"error\[graph\]: .*'n': operand 1 is missing"


def omitted_operand(tmp):
    return one("Where", "c", "", "x", inputs=[X4, value("c", [1], TensorProto.BOOL)]), r"error\[graph\]: .*'n': operand 1 is missing"


def omitted_operand_of_many(tmp):
    return one("Einsum", "x", "", equation="ijkl,i"), r"error\[graph\]: .*'n': operand 1 is missing"


def undefined_operand(tmp):
    return one("Add", "x", "nowhere"), r"error\[graph\]: .*'n': reads 'nowhere', which nothing defines"


def undefined_output(tmp):
    return build([], [X4], [ANY]), r"error\[graph\]: output 'y' is defined by nothing"


def recursive_function(tmp):
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    body = helper.make_function("my", "F", ["a"], ["b"], [node("F", ["a"], ["b"], name="again", domain="my")], opsets)
    graph = helper.make_graph([node("F", ["x"], ["y"], name="n", domain="my")], "g", [X4], [ANY])
    return helper.make_model(graph, opset_imports=opsets, functions=[body]), r"error\[graph\]: .*'n/again': function 'F' calls itself"


# Nesting and repetition in the wire format (CVE-2024-7254, CVE-2022-1941, CVE-2022-3171, CVE-2022-3509).


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def wire_nested_graphs(tmp):
    graph = b""
    for _ in range(2000):  # GraphProto.node.attribute.g and so on
        graph = field(1, field(5, field(6, graph)))
    return field(7, graph), r"error\[limit\]: messages are nested more than 64 deep"


def wire_nested_types(tmp):
    kind = b""
    for _ in range(5000):  # TypeProto.sequence_type.elem_type and so on
        kind = field(4, field(1, kind))
    return field(7, field(11, field(2, kind))), r"error\[limit\]: messages are nested more than 64 deep"


def wire_nested_groups(tmp):
    return field(7, b"\x0b" * 1_000_000), r"error\[format\]: "


def wire_many_messages(tmp):
    return field(7, b"\x0a\x00" * (1 << 23)), r"error\[limit\]: "


def wire_length_beyond_the_file(tmp):
    return b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", r"error\[format\]: "


# Names in the text form.


def duplicate_output_of_a_text(tmp):
    text = b'graph "g" (%0 "x" : f32[2]) {\n  %1 : f32[2] = abs(%0)\n  return %1 "y", %0 "y"\n}\n'
    return text, r"error\[graph\]: two outputs are named 'y'", "m.ir"


def duplicate_input_of_a_text(tmp):
    text = b'graph "g" (%0 "x" : f32[2], %1 "x" : f32[2]) {\n  %2 : f32[2] = add(%0, %1)\n  return %2 "y"\n}\n'
    return text, r"error\[graph\]: input 'x' is defined twice", "m.ir"


# Bombs: little files that ask for much memory or time.


def bomb_of_a_sparse_weight(tmp):
    model = one("Add", "x", "w")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(floats("w", 1), ints("w_indices", 5), [2**38]))
    return model, r"error\[limit\]: .*'w': a sparse tensor larger than 2\^31 bytes when dense"


def bomb_of_values_too_large_to_compile(tmp):
    return one("Expand", "x", "s", constants=[ints("s", 2**24, 4, 8, 8)]), r"error\[unsupported\]: .*'n': a value of 17179869184 bytes"


def bomb_of_a_split(tmp):
    return one("SplitToSequence", "x", inputs=[value("x", [2**30])], keepdims=0), r"error\[(limit|unsupported)\]: .*'n'"


def bomb_of_a_window(tmp):
    return one("HannWindow", "s", inputs=[], constants=[weight("s", np.array(2**40))]), r"error\[attribute\]: .*'n': size must be one number from 0 to 16777216"


CASES = [v for k, v in list(globals().items()) if callable(v) and re.match(
    r"(external|archive|pickle|overflow|index|zero|wire|bomb|cyclic|duplicate|wrong|missing|omitted|undefined|recursive)_", k)]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_is_refused(case, root, tmp_path, quantc):
    args = (tmp_path, root) if case.__code__.co_argcount == 2 else (tmp_path,)
    model, pattern, *position = case(*args)
    if not isinstance(model, Path):
        data = model if isinstance(model, bytes) else model.SerializeToString()
        model = tmp_path / (position[0] if position else "m.onnx")
        model.write_bytes(data)
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run([os.environ.get("QUANTC", root / "build/bin/quantc"), "compile", model, "-o", tmp_path / "out"],
                          capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode in (1, 2), f"{done.returncode}: {done.stderr}"
    assert re.search(rf"^{model}: error\[", done.stderr, re.M), done.stderr
    assert re.search(pattern, done.stderr), done.stderr
    assert sorted(tmp_path.rglob("*")) == before, "an error left files behind"


# Data-dependent indices (CVE-2021-37687, CVE-2020-15212, CVE-2022-23560, CVE-2022-23561) and divisors.
INDEXED = {
    "gather": one("Gather", "x", "i", inputs=[value("x", [5, 2]), value("i", [6], I64)]),
    "gather_elements": one("GatherElements", "x", "i", inputs=[value("x", [6, 2]), value("i", [3, 2], I64)]),
    "gather_nd": one("GatherND", "x", "i", inputs=[value("x", [5, 3]), value("i", [3, 2], I64)]),
    "scatter_elements": one("ScatterElements", "x", "i", "u", inputs=[value("x", [5]), value("i", [6], I64), value("u", [6])], reduction="add"),
    "scatter_nd": one("ScatterND", "x", "i", "u", inputs=[value("x", [5, 3]), value("i", [3, 2], I64), value("u", [3])]),
    "one_hot": one("OneHot", "i", "d", "v", inputs=[value("i", [6], I64)], constants=[ints("d", 4), weight("v", np.array([0, 1], np.float32))]),
    "tensor_scatter": one("TensorScatter", "x", "u", "i", inputs=[value("x", [3, 4, 2]), value("u", [3, 1, 2]), value("i", [3], I64)], opset=24),
    "integer_division": one("Div", "n", "i", inputs=[value("n", [6], I64), value("i", [6], I64)]),
    "integer_remainder": one("Mod", "n", "i", inputs=[value("n", [6], I64), value("i", [6], I64)]),
}
WILD = [2**63 - 1, -2**63, 0, -1, 2**31, -2**40]


@pytest.mark.parametrize("name", INDEXED)
def test_wild_values_are_harmless(name, quantc, tmp_path):
    """The generated C reads and writes within its buffers whatever the indices are, and answers as the interpreter does."""
    model = INDEXED[name]
    if name.startswith("integer"):
        model.graph.output[0].CopyFrom(value("y", None, I64))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    arrays = {}
    for v in model.graph.input:
        shape = [d.dim_value for d in v.type.tensor_type.shape.dim]
        wild = np.resize(np.array(WILD, np.int64), shape)
        arrays[v.name] = wild if v.type.tensor_type.elem_type == I64 else np.ones(shape, np.float32)
    np.savez(tmp_path / "in.npz", **arrays)
    out = tmp_path / "out"
    quantc("compile", tmp_path / "m.onnx", "-o", out, "--name", "net", "--vectors", tmp_path / "in.npz")
    subprocess.run(["gcc", "-std=c11", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{out}",
                    *out.glob("*.c"), "-lm", "-o", tmp_path / "test"], check=True)
    done = subprocess.run([tmp_path / "test"], capture_output=True, text=True)
    assert done.returncode == 0 and "bits equal" in done.stdout, done.stdout + done.stderr[:3000]


def test_weights_that_are_not_numbers(quantc, tmp_path):
    """NaN and infinity are values like any other: they reach the C code with their bits."""
    array = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    model = one("Mul", "x", "w", inputs=[value("x", [4])], constants=[weight("w", array)])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    x = np.ones(4, np.float32)
    np.savez(tmp_path / "io.npz", in_0=x, out_0=x * array)
    quantc("run", tmp_path / "m.onnx", "-i", tmp_path / "io.npz", "-o", tmp_path / "got.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "got.npz")["y"], x * array)
    quantc("validate", tmp_path / "m.onnx", "-i", tmp_path / "io.npz")


def test_a_loop_without_end_does_not_hold_up_the_compiler(quantc, tmp_path):
    """A loop over constants is not run while compiling when that would take long."""
    body = helper.make_graph([node("Add", ["a", "one"], ["b"]), node("Identity", ["c"], ["d"])], "body",
                             [value("i", [], I64), value("c", [], TensorProto.BOOL), value("a", [])],
                             [value("d", [], TensorProto.BOOL), value("b", [])], [weight("one", np.array(1, np.float32))])
    loop = node("Loop", ["trips", "", "start"], ["y"], name="n", body=body)
    constants = [weight("trips", np.array(2**62)), weight("start", np.array(0, np.float32))]
    save(tmp_path / "m.onnx", [loop], [], [value("y", [])], constants)
    quantc("compile", tmp_path / "m.onnx", "-o", tmp_path / "out", timeout=30)


def test_more_memory_than_there_is(quantc, tmp_path):
    """A model may be well formed and too large for the machine."""
    save(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"], name="n")], [value("x", [2**37])], [value("y", [2**37])])
    done = quantc("run", tmp_path / "m.onnx", "--random", "1", status=1)
    assert re.search(r"error\[limit\]: making inputs: .*--budget", done.stderr), done.stderr
    done = quantc("run", tmp_path / "m.onnx", "--random", "1", "--budget", "1000000", status=1)
    assert re.search(r"error\[limit\]: not enough memory", done.stderr), done.stderr


def test_more_work_than_can_be_counted(quantc, tmp_path):
    """Counts of work stop at the largest number instead of overflowing; so does their sum."""
    n = 2**30
    (tmp_path / "m.ir").write_text(f"""graph (%0 : f32[1, 8, {n}, 8], %1 : f32[1, 8, {n}, 8], %2 : f32[1, 8, {n}, 8]) {{
  %3 = attention(%0, %1, %2)
  %4 = attention(%3, %1, %2)
  return %4
}}
""")
    done = quantc("inspect", tmp_path / "m.ir", "--imported")
    assert done.stdout.count("9,223,372,036,854,775,807") == 3, done.stdout
