"""Files of strangers: neither the folder a command runs in nor the model's file gets to run code, and no small file makes the
programs that quantc starts take long or much memory."""
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.conftest import QUANTC
from tests.support.onnx_models import build, node, save, value, weight

PROGRAMS = ["python", "python3", "cc", "c++", "gcc", "g++", "as", "ld", "ar", "make", "dot", "nvcc", "sh", "rm", "cc1"]
MODULES = ["onnxruntime", "numpy", "openvino", "torch", "site", "sitecustomize", "usercustomize", "time", "os"]


@pytest.fixture
def trap(tmp_path):
    """A folder in which every file that something might run leaves a mark."""
    folder = tmp_path / "trap"
    (folder / "marks").mkdir(parents=True)
    for name in PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\n/bin/touch '{folder}/marks/{name}'\nexit 1\n")
        (folder / name).chmod(0o755)
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'marks' / name)!r} + '.py', 'w')\n")
    for name in ("GNUmakefile", "makefile", "Makefile"):
        (folder / name).write_text(f"$(shell touch '{folder}/marks/{name}')\nall:\n")
    (folder / "quantc.toml").write_text("level = 'no level'\n")
    return folder


def small(path: Path) -> Path:
    w = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)
    model = build([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [value("x", [2, 4])], [value("y", [2, 4])], [weight("w", w)])
    model.ir_version = 10  # what onnxruntime reads
    path.write_bytes(model.SerializeToString())
    return path


def test_no_code_of_the_current_folder_runs(trap):
    model = small(trap / "m.onnx")
    np.savez(trap / "x.npz", x=np.ones((4, 4), np.float32))
    (trap / "r.toml").write_text("[[rule]]\npattern = 'fc'\nkind = 'dynamic'\n")
    paths = {name: "." for name in ("LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "PYTHONPATH")}
    env = {**os.environ, **paths, "PATH": f".::{os.environ['PATH']}:", "QUANTC_PYTHON": sys.executable}
    env.pop("PYTHONSAFEPATH", None)
    for command in (["validate", "m.onnx", "--random", "1", "--cflags", "-O0"],
                    ["validate", "m.onnx", "--random", "1", "--target", "cuda:sm_80", "--host"],
                    ["bench", "m.onnx", "--against", "onnxruntime", "--rounds", "1", "--cflags", "-O0", "--json"],
                    ["inspect", "m.onnx", "--svg", "m.svg"],
                    ["analyze", "m.onnx", "--rules", "r.toml", "--data", "x.npz", "--html", "m.html"]):
        done = subprocess.run([str(QUANTC), *command], cwd=trap, env=env, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        assert not list((trap / "marks").iterdir()), command
        if command[0] == "bench":
            assert json.loads(done.stdout)["peers"][0]["what"].startswith("onnxruntime ")
    del env["QUANTC_PYTHON"]
    subprocess.run([str(QUANTC), "bench", "m.onnx", "--against", "onnxruntime", "--rounds", "1", "--cflags", "-O0"], cwd=trap, env=env,
                   capture_output=True, check=True)
    assert not list((trap / "marks").iterdir())
    assert model.exists() and (trap / "m.svg").exists()


class Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_no_code_of_a_model_runs_unless_it_is_trusted(quantc, models, tmp_path, monkeypatch):
    """A constant that no node reads: quantc never looks at it, torch.export.load unpickles it."""
    monkeypatch.setenv("QUANTC_PYTHON", sys.executable)
    evil, mark = tmp_path / "evil.pt2", tmp_path / "mark"
    with zipfile.ZipFile(models / "digits.pt2") as old, zipfile.ZipFile(evil, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("model_constants_config.json"):
                meta = json.loads(old.read("digits/data/weights/model_weights_config.json"))["config"]["stem.1.weight"]
                data = json.dumps({"config": {"evil": {**meta, "path_name": "tensor_0", "is_param": False, "use_pickle": True}}})
            new.writestr(entry.filename, data)
        new.writestr("digits/data/constants/tensor_0", pickle.dumps(Evil(mark)))
    call = ("bench", evil, "--rounds", "1", "--cflags", "-O0", "--against", "torch")
    said = quantc(*call, status=1).stderr
    assert not mark.exists()
    assert "evil.pt2: error[usage]: --against torch: torch.export.load runs code that a .pt2 file may hold; give --trust-model" in said
    quantc(*call, "--trust-model")
    assert mark.exists(), "torch does not run it any more: --trust-model may go"


def test_a_compiler_that_takes_much_is_ended(tmp_path):
    """130 bytes whose constant is 1.2 GB to a compiler. Its own limit is met, with a message; a larger budget lets it."""
    model = tmp_path / "m.onnx"
    nodes = [node("Range", ["a", "b", "c"], ["y"])]
    numbers = [helper.make_tensor(n, onnx.TensorProto.INT64, [], [v]) for n, v in (("a", 0), ("b", 1 << 20), ("c", 1))]
    model.write_bytes(build(nodes, [], [value("y", None, onnx.TensorProto.INT64)], numbers).SerializeToString())
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\necho "$(ulimit -t) $(ulimit -d)" >>"$(dirname "$0")/limits"\necho "cc1: out of memory allocating 65536 bytes"\nexit 1\n')
    compiler.chmod(0o755)
    for budget in ("1", "3"):
        done = subprocess.run([str(QUANTC), "validate", str(model), "--random", "1", "--cc", str(compiler), "--budget", budget], capture_output=True, text=True)
        assert done.returncode == 1 and f"error[limit]: '{compiler}' needs more than the {640 * int(budget)} MB" in done.stderr, done.stderr
        assert "--budget 10" in done.stderr
    assert (tmp_path / "limits").read_text() == "20 655360\n60 1966080\n"


def graph_of(adds: int, path: Path) -> Path:
    """A product, and sums of what was computed anywhere before: Graphviz takes minutes for two thousand of them."""
    rng = random.Random(1)
    w = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)
    nodes = [node("MatMul", ["x", "w"], ["a0"], name="fc")]
    for i in range(1, adds + 1):
        nodes.append(node("Add", [f"a{rng.randrange(i)}", f"a{i - 1}"], [f"a{i}"], name=f"add{i}"))
    nodes.append(node("Add", [f"a{adds}", "x"], ["y"]))
    return save(path, nodes, [value("x", [2, 4])], [value("y", [2, 4])], [weight("w", w)])


def test_pictures_are_bounded_by_their_edges(quantc, tmp_path):
    model = graph_of(1500, tmp_path / "m.onnx")
    said = quantc("inspect", model, "--svg", tmp_path / "m.svg", "--imported", status=1).stderr
    assert "m.onnx: error[limit]: a picture of 3004 edges, more than the 2000" in said and "--dot" in said and "--budget 2" in said
    assert quantc("inspect", model, "--dot", "--imported").stdout.count(" -> ") == 3004
    small = graph_of(40, tmp_path / "small.onnx")
    quantc("inspect", small, "--svg", tmp_path / "small.svg")
    assert "</svg>" in (tmp_path / "small.svg").read_text()


def test_a_page_without_a_picture_says_why(quantc, tmp_path):
    """Graphviz that fails, here one that is asked for its limits."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dot").write_text(f'#!/bin/sh\necho "$(ulimit -t) $(ulimit -d)" >>"{tmp_path}/limits"\nexit 1\n')
    (tmp_path / "bin" / "dot").chmod(0o755)
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = 'fc'\nkind = 'dynamic'\n")
    np.savez(tmp_path / "x.npz", x=np.ones((4, 4), np.float32))
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    quantc("analyze", small(tmp_path / "m.onnx"), "--rules", tmp_path / "r.toml", "--data", tmp_path / "x.npz", "--html", tmp_path / "m.html", env=env)
    assert "<p>No picture: &#39;dot&#39; failed</p>" in (tmp_path / "m.html").read_text()
    assert (tmp_path / "limits").read_text() == "20 524288\n"
