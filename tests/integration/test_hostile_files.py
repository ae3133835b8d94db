"""Files that once stopped the program, held it up or gave wrong numbers, kept as they were found in tests/data/hostile:
whatever the command, each ends by itself within 10 seconds of the processor's time and 1 GB, with status 0, 1 or 2. Those
named costly_* spend a budget each time, so every command is tried in `make soak` and one in `make test`."""
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.fuzz.mutate_pt2 import positions
from tests.support.limited import limited
from tests.support.onnx_models import node, save, value, weight

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests" / "data" / "hostile"
MODELS = sorted(p for p in FOLDER.iterdir() if p.suffix in (".onnx", ".ir"))
COSTLY = [p for p in MODELS if p.name.startswith("costly_")]
CHEAP = [p for p in MODELS if p not in COSTLY]


def commands(path: Path, tmp: Path):
    """Every command that takes a model; with the arrays of its name where there are some."""
    arrays = path.with_suffix(".npz")
    arrays = arrays if arrays.exists() else FOLDER / "gemm_relu_int32.npz"
    yield "inspect", path
    yield "inspect", path, "--ir"
    yield "explain", path
    yield "explain", path, "--json"
    yield "compile", path, "-o", tmp / "c"
    yield "compile", path, "-o", tmp / "d", "--dim", "n=1..5", "--weights", "file"
    yield "run", path, "--random", "1", "-o", tmp / "y.npz"
    yield "run", path, "-i", arrays, "-o", tmp / "z.npz"
    yield "calibrate", path, "--data", arrays, "-o", tmp / "r.toml"
    yield "validate", path, "-i", arrays, "-e", arrays


@pytest.mark.parametrize("path", CHEAP, ids=lambda p: p.name)
def test_ends_with_every_command(path, tmp_path):
    for command in commands(path, tmp_path):
        limited(*command)


@pytest.mark.parametrize("path", COSTLY, ids=lambda p: p.name)
def test_costly_files_are_refused(path, tmp_path):
    assert "error[limit]" in limited("compile", path, "-o", tmp_path / "c", status=(1,)).stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.soak
@pytest.mark.parametrize("path", COSTLY, ids=lambda p: p.name)
def test_costly_files_end_with_every_command(path, tmp_path):
    for command in commands(path, tmp_path):
        assert "error[" in limited(*command, status=(1,)).stderr


def test_integer_products_are_clamped(tmp_path):
    model, arrays = FOLDER / "gemm_relu_int32.onnx", FOLDER / "gemm_relu_int32.npz"
    limited("run", model, "-i", arrays, "-o", tmp_path / "y.npz", status=(0,))
    with np.load(arrays) as given, np.load(tmp_path / "y.npz") as made:
        wanted = np.maximum(given["a"].astype(np.int32) @ given["b"].astype(np.int32), 0)
        np.testing.assert_array_equal(made[made.files[0]], wanted)


def test_what_run_writes_is_read_again(tmp_path):
    model, arrays = FOLDER / "slash_in_name.onnx", FOLDER / "slash_in_name.npz"
    limited("run", model, "-i", arrays, "-o", tmp_path / "y.npz", status=(0,))
    limited("validate", model, "-i", arrays, "-e", tmp_path / "y.npz", status=(0,))


def test_a_name_adds_no_rules(tmp_path):
    limited("calibrate", FOLDER / "newline_in_name.onnx", "--data", FOLDER / "newline_in_name.npz", "-o", tmp_path / "r.toml", status=(0,))
    text = (tmp_path / "r.toml").read_text()
    names = [rule["pattern"] for rule in tomllib.loads(text)["rule"]]
    assert ".*" not in names and len(names) == len(set(names)) and text.count("\n[[rule]]") == len(names), text


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64], ids=lambda d: d.__name__)
def test_quotients_at_the_ends_of_integers(dtype, tmp_path):
    """No quotient, remainder, power or shift stops the program, whether it is folded or computed."""
    info = np.iinfo(dtype)
    ends = [info.min, info.max, 0, 1, info.max // 2, 0 if info.min == 0 else -1]
    a, b = (np.array(v, dtype) for v in zip(*[(p, q) for p in ends for q in ends]))
    kinds = [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})]
    kinds += [("Pow", {})] * (dtype in (np.int32, np.int64)) + [("BitShift", {"direction": d}) for d in ("LEFT", "RIGHT") if info.min == 0]
    nodes, outputs = [], []
    for i, (op, attributes) in enumerate(kinds):
        for x, y in (("a", "b"), ("c", "b"), ("a", "d"), ("c", "d")):
            outputs.append(value(f"{x}{y}{i}", None, helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))
            nodes.append(node(op, [x, y], [f"{x}{y}{i}"], **attributes))
    inputs = [value(n, a.shape, helper.np_dtype_to_tensor_dtype(np.dtype(dtype))) for n in "ab"]
    model = save(tmp_path / "m.onnx", nodes, inputs, outputs, [weight("c", a), weight("d", b)])
    np.savez(tmp_path / "x.npz", a=a, b=b)
    limited("run", model, "-i", tmp_path / "x.npz", "-o", tmp_path / "y.npz", status=(0,))
    limited("compile", model, "-o", tmp_path / "c", status=(0,))
    with np.load(tmp_path / "y.npz") as made:
        for i in range(len(kinds)):
            for name in ("cb", "ad", "cd"):
                np.testing.assert_array_equal(made[f"{name}{i}"], made[f"ab{i}"])


# Sizes in .pt2 files: the same overflow as in size_overflow.*, written both ways that PyTorch writes sizes.
SYMBOL = "Symbol('s77', positive=True, integer=True)"
SIZES = ["(s77 + 9223372036854775807 + 1)//(-1)", f"({SYMBOL}+9223372036854775807+1)//(-1)",
         f"FloorDiv(Add({SYMBOL}, Integer(9223372036854775807), Integer(1)), Integer(-1))",
         f"Mod(Add({SYMBOL}, Integer(-9223372036854775807), Integer(-1)), Integer(-1))",
         f"Pow({SYMBOL}, Integer(9223372036854775807))", f"FloorDiv({SYMBOL}, Integer(0))"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("where", [["x"], ["matmul", "relu", "add"], ["x", "matmul", "relu", "add"]], ids=lambda w: w[0] + str(len(w)))
def test_sizes_of_exported_programs(size, where, tmp_path):
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(ROOT / "tests" / "data" / "pt2" / "tiny_new.pt2") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("models/model.json"):
                document = json.loads(data)
                values = document["graph_module"]["graph"]["tensor_values"]
                for holder, key in [p for w in where for p in positions(values[w]["sizes"]) if p[1] == "expr_str"]:
                    holder[key] = size
                data = json.dumps(document)
            new.writestr(name, data)
    for command in list(commands(path, tmp_path))[::2]:
        done = limited(*command)
        assert done.returncode == 0 or re.search(r"error\[\w+\]", done.stderr), done.stderr
