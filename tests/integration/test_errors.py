"""Every error code has a producer, and its message names file, code, node and what is wrong."""
import re
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.onnx_models import save, value

FLOAT = TensorProto.FLOAT


def relu(path: Path, shape=(1, 4)) -> Path:
    return save(path, [helper.make_node("Relu", ["x"], ["y"], name="act")], [value("x", shape)], [value("y", shape)])


def usage(tmp):
    return ["compile", relu(tmp / "m.onnx"), "-o", tmp / "out", "--weights", "nowhere"], r"error\[usage\]: weights is 'nowhere': use one of literal, incbin, file"


def file(tmp):
    return ["inspect", tmp / "absent.onnx"], r"absent.onnx: error\[file\]: cannot open: No such file"


def format(tmp):
    (tmp / "m.onnx").write_bytes(b"\x08\x07\x3a\xff\xff")
    return ["inspect", tmp / "m.onnx"], r"m.onnx: error\[format\]: "


def limit(tmp):
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], name="huge")
    sizes = helper.make_tensor("s", TensorProto.INT64, [4], [1 << 30] * 4)
    return ["run", save(tmp / "m.onnx", [node], [], [value("y", None)], [sizes]), "--random", "1"], r"error\[limit\]: "


def path(tmp):
    weight = helper.make_tensor("w", FLOAT, [4], np.zeros(4, np.float32).tobytes(), raw=True)
    model = save(tmp / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"], name="add")], [value("x", [4])], [value("y", [4])], [weight])
    proto = onnx.load(model)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")
    model.write_bytes(proto.SerializeToString())
    return ["inspect", model], r"m.onnx: error\[path\]: .*'w'"


def graph(tmp):
    nodes = [helper.make_node("Relu", ["b"], ["a"], name="one"), helper.make_node("Relu", ["a"], ["b"], name="two")]
    return ["inspect", save(tmp / "m.onnx", nodes, [value("x", [1])], [value("a", [1])])], r"m.onnx: error\[graph\]: .*(one|two)"


def shape(tmp):
    node = helper.make_node("Add", ["x", "z"], ["y"], name="sum")
    model = save(tmp / "m.onnx", [node], [value("x", [2, 3]), value("z", [2, 4])], [value("y", [2, 3])])
    return ["inspect", model], r"m.onnx: error\[shape\]: .*'sum': shapes \[2, 3\] and \[2, 4\] do not broadcast"


def type(tmp):
    node = helper.make_node("Add", ["x", "z"], ["y"], name="sum")
    model = save(tmp / "m.onnx", [node], [value("x", [2]), value("z", [2], TensorProto.INT64)], [value("y", [2])])
    return ["inspect", model], r"m.onnx: error\[type\]: .*'sum'"


def attribute(tmp):
    node = helper.make_node("Transpose", ["x"], ["y"], name="turn", perm=[0, 5])
    return ["inspect", save(tmp / "m.onnx", [node], [value("x", [2, 3])], [value("y", None)])], r"m.onnx: error\[attribute\]: .*'turn'"


def input(tmp):
    np.savez(tmp / "in.npz", other=np.zeros((1, 4), np.float32))
    return ["run", relu(tmp / "m.onnx"), "-i", tmp / "in.npz"], r"error\[input\]: no array for input 'x': name it so, or in_0 \(given: other\)"


def dim(tmp):
    return ["compile", relu(tmp / "m.onnx", ("batch", 4)), "-o", tmp / "out"], r"error\[dim\]: .*--dim NAME=SIZE for batch"


def mismatch(tmp):
    np.savez(tmp / "io.npz", in_0=np.ones((1, 4), np.float32), out_0=np.zeros((1, 4), np.float32))
    return ["validate", relu(tmp / "m.onnx"), "-i", tmp / "io.npz", "-e", tmp / "io.npz"], r"m.onnx: error\[mismatch\]: results differ"


def rule(tmp):
    (tmp / "r.toml").write_text("[[rule]]\npattern = 'act'\nscale = -1\n")
    return ["compile", relu(tmp / "m.onnx"), "-o", tmp / "out", "--rules", tmp / "r.toml"], r"r.toml:3: error\[rule\]: scale: -1 is no scale"


def quant(tmp):
    weight = helper.make_tensor("w", FLOAT, [2, 4], np.ones(8, np.float32).tobytes(), raw=True)
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="fc", transB=1)
    model = save(tmp / "m.onnx", [node], [value("x", [1, 4])], [value("y", [1, 2])], [weight])
    (tmp / "r.toml").write_text("[[rule]]\npattern = 'fc'\nscale = 1\nweight_scale = [1, 2, 3]\n")
    return ["compile", model, "-o", tmp / "out", "--rules", tmp / "r.toml"], r"m.onnx: error\[quant\]: .*'fc': 3 scales .*\n.*r.toml:1"


def tool(tmp):
    return ["validate", relu(tmp / "m.onnx"), "--random", "1", "--cc", "no-such-compiler"], r"error\[tool\]: 'no-such-compiler' is not installed"


def unsupported_op(tmp):
    node = helper.make_node("StringNormalizer", ["x"], ["y"], name="words")
    other = helper.make_node("NoSuchOp", ["x"], ["z"], name="odd", domain="my.domain")
    model = save(tmp / "m.onnx", [node, other], [value("x", [1])], [value("y", [1]), value("z", [1])])
    return ["inspect", model], r"m.onnx: error\[unsupported_op\]: 2 operations are not supported\n(.*\n)*.*'(odd|words)'\n.*'(odd|words)'"


def unsupported(tmp):
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="reshape")
    model = save(tmp / "m.onnx", [node], [value("x", [4]), value("s", [2], TensorProto.INT64)], [value("y", None)])
    return ["inspect", model], r"m.onnx: error\[unsupported\]: .*'reshape': the new shape is computed at run time"


STATUS = {"unsupported_op": 2, "unsupported": 2}
CASES = [usage, file, format, limit, path, graph, shape, type, attribute, input, dim, mismatch, rule, quant, tool, unsupported_op, unsupported]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_code_has_a_producer_and_a_clear_message(case, quantc, tmp_path):
    args, pattern = case(tmp_path)
    done = quantc(*args, status=STATUS.get(case.__name__, 1))
    assert re.search(pattern, done.stderr), done.stderr
    assert not (tmp_path / "out").exists(), "an error left files behind"


def declared(root: Path) -> dict:
    rows = re.findall(r'^QC_CODE\((\w+), (\w+), "(.*)"\)', (root / "src/support/codes.inc").read_text(), re.M)
    return {code: (kind, meaning) for code, kind, meaning in rows}


def test_errors_md_lists_every_code(root):
    status = {"user": "1", "unsupported": "2", "internal": "3"}
    rows = re.findall(r"^\| `(\w+)` \| (\d) \| (.*?) \|", (root / "docs/errors.md").read_text(), re.M)
    assert {code: (s, m) for code, s, m in rows} == {c: (status[k], m) for c, (k, m) in declared(root).items()}


def test_every_code_is_tested(root):
    # `bug` has no user-visible producer; the unit tests of both verifiers provoke it.
    assert {c.__name__ for c in CASES} | {"bug"} == set(declared(root))


def test_a_size_that_must_be_known_says_how_to_give_it(quantc, tmp_path):
    pool = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3], strides=[2], ceil_mode=1)
    model = save(tmp_path / "m.onnx", [pool], [value("x", (1, 1, "n"))], [value("y", None)])
    assert "--dim" in quantc("inspect", model, status=1).stderr
    quantc("inspect", model, "--dim", "n=7")
