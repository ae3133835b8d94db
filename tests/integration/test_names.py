"""Names of nodes, values, files and projects may hold anything; they do no harm wherever they are written."""
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.conftest import QUANTC
from tests.support.onnx_models import build, save, value, weight

NASTY = ['line\n[[rule]]\npattern = ".*"\nscale = 7.5', "esc\x1b]0;owned\x07\x1b[2J", "quote\"'`", "back\\slash\\", "end*/ int x; /*", "tri??/graph??'",
         "cdata]]>&amp;<b>", "\r\t\x00"[:2] + "tab", "right\u202eleft\u2028", "ümläut", "c1\x9b31m", "percent%s{0}$(shell)#"]
BROKEN = b"not\xff\xfeutf8\xc3"
PLACE = b"ZZZZZZZZZZZ"
assert len(BROKEN) + 1 == len(PLACE)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """A chain of products whose nodes have all these names, one of them no UTF-8."""
    folder = tmp_path_factory.mktemp("names")
    names = [*NASTY, PLACE.decode()]
    rng = np.random.default_rng(3)
    nodes, constants, last = [], [], "in\n\x1b[1m\"'"
    for i, name in enumerate(names):
        result = "out*/\"\n\x1b]" if i + 1 == len(names) else f"v{i}\n"
        constants.append(weight(f"w{i}\x1b\n\"", rng.standard_normal((4, 4)).astype(np.float32)))
        nodes.append(helper.make_node("MatMul", [last, constants[-1].name], [result], name=name))
        last = result
    model = build(nodes, [value("in\n\x1b[1m\"'", [2, 4])], [value(last, [2, 4])], constants)
    path = folder / "m\n\x1b[1m'\".onnx"
    path.write_bytes(model.SerializeToString().replace(PLACE, BROKEN + b"!"))
    np.savez(folder / "x.npz", in_0=rng.standard_normal((2, 4)).astype(np.float32))
    return path


def printed(*args, status=0):
    """What the program prints, which must be plain UTF-8 text without control characters."""
    done = subprocess.run([str(QUANTC), *map(str, args)], capture_output=True)
    text = (done.stdout + done.stderr).decode()
    assert done.returncode == status, text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]", text), text
    return done.stdout.decode()


def test_names_do_no_harm_on_terminals(nasty, tmp_path):
    for options in ([], ["--names"], ["--ir"], ["--program"], ["--dot"]):
        assert "umlaut" not in printed("inspect", nasty, *options)
    assert "ümläut" in printed("inspect", nasty, "--names") and "esc\\x1b]0;owned\\x07" in printed("inspect", nasty, "--names")
    assert len(printed("inspect", nasty, "--names").splitlines()) == len(NASTY) + 1
    printed("explain", nasty)
    printed("run", nasty, "-i", nasty.parent / "x.npz", "-o", tmp_path / "y.npz")
    printed("compile", nasty, "-o", tmp_path / "out", "-v")
    printed("validate", nasty, "--random", "1", "--per-layer")
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = 'esc'\nscale = 0.1\n[[rule]]\npattern = '.*'\nkind = 'float'\n")
    printed("compile", nasty, "-o", tmp_path / "int", "--rules", tmp_path / "r.toml", "--require-integer", status=1)
    printed("inspect", tmp_path / "no\n\x1b[1mfile.onnx", status=1)
    printed("inspect", nasty, "--no\n\x1bsuch", status=1)


@pytest.mark.parametrize("what", ["node", "value", "op"])
def test_lines_of_errors_are_short_whatever_the_names(quantc, tmp_path, what):
    """Both ends of a long name stay, and the model is still named."""
    long = "begin" + "n" * 200_000 + "end"
    op, name, x = (long if what == key else short for key, short in (("op", "Transpose"), ("node", "turn"), ("value", "x")))
    nodes = [helper.make_node("Relu", [x], ["a"]), helper.make_node(op, ["a"], ["y"], name=name, perm=[1, 0] if what == "value" else [0, 5])]
    model = save(tmp_path / "m.onnx", nodes, [value(x, [2, 3])], [value("y", None)])
    np.savez(tmp_path / "x.npz", other=np.zeros(1))
    command = ["run", model, "-i", tmp_path / "x.npz"] if what == "value" else ["inspect", model]
    done = subprocess.run([str(QUANTC), *map(str, command)], capture_output=True, text=True)
    assert done.returncode in (1, 2) and "m.onnx: error[" in done.stderr
    assert max(map(len, done.stderr.splitlines())) < 6000, done.stderr[:300]
    assert re.search(r"beginn+\.\.\.n+end", done.stderr)


def test_names_in_pages(nasty, tmp_path):
    """What analyze writes for browsers is UTF-8 without control characters, and no name is markup there."""
    rules, data, page = tmp_path / "r\x1b[1m<b>.toml", tmp_path / "x.npz", tmp_path / "page.html"
    rules.write_text("[[rule]]\npattern = '.*'\nkind = 'dynamic'\n")
    np.savez(data, in_0=np.random.default_rng(3).standard_normal((4, 4)).astype(np.float32))
    printed("analyze", nasty, "--rules", rules, "--data", data, "--html", page)
    text = page.read_bytes().decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff\ufffd]", text)
    assert "<b>" not in text and "ümläut" in text and "esc\\x1b]0;owned\\x07" in text and "not\\xff" in text


def test_names_in_json(nasty):
    nodes = json.loads(printed("explain", nasty, "--json"))["nodes"]
    assert [n["names"][0] for n in nodes] == [*NASTY, BROKEN.decode(errors="replace") + "!"]


def test_names_in_graphs_read_back(nasty, tmp_path):
    text = printed("inspect", nasty, "--ir", "--imported")
    (tmp_path / "again.ir").write_text(text)
    assert printed("inspect", tmp_path / "again.ir", "--ir", "--imported") == text
    assert printed("inspect", tmp_path / "again.ir", "--names") == printed("inspect", nasty, "--names")


def test_names_in_pictures(nasty, tmp_path):
    printed("inspect", nasty, "--svg", tmp_path / "m.svg")
    import xml.etree.ElementTree as tree
    shown = "\n".join(t.text or "" for t in tree.parse(tmp_path / "m.svg").iter() if t.tag.endswith("text"))
    assert "cdata]]>&amp;<b>" in shown and "back\\slash\\" in shown and "ümläut" in shown


def test_names_in_rule_files(nasty, tmp_path):
    """Every node has one rule, for itself alone, and the file says nothing else."""
    rules = tmp_path / "r.toml"
    printed("calibrate", nasty, "--data", nasty.parent / "x.npz", "-o", rules)
    text = rules.read_text()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", text)
    read = tomllib.loads(text)
    assert set(read) == {"default", "rule"} and len(read["rule"]) == len(NASTY) + 1
    assert 7.5 not in [r["scale"] for r in read["rule"]]
    reports = json.loads(printed("explain", nasty, "--rules", rules, "--json"))["nodes"]
    lines = [n["rule"].rsplit(":", 1)[1] for n in reports if n["computes"] == "integer"]
    assert len(lines) == len(NASTY) + 1 == len(set(lines))


def test_names_in_c(nasty, tmp_path):
    printed("compile", nasty, "-o", tmp_path, "--name", "net")
    (tmp_path / "main.c").write_text('#include "net.h"\n#include <stdio.h>\nint main(void) { fputs(NET_INPUT_0_NAME NET_OUTPUT_0_NAME, stdout); }\n')
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wtrigraphs", "-Wcomment", "-c", "net.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.check_output([tmp_path / "main"]).decode() == "in\n\x1b[1m\"'out*/\"\n\x1b]"


# Arrays.


def test_names_of_arrays_round_trip(nasty, tmp_path, quantc):
    """Names in .npz files are names, not paths: exporters write many that begin with a slash."""
    names = ["/model/layer", "../up", "C:/x", "a\\b", "in\n\x1b", "/"]
    shape = [2, 3]
    nodes = [helper.make_node("Relu", ["/in/../x"], [n]) for n in names]
    model = save(tmp_path / "m.onnx", nodes, [value("/in/../x", shape)], [value(n, shape) for n in names])
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    np.savez(tmp_path / "x.npz", **{"/in/../x": x})
    quantc("run", model, "-i", tmp_path / "x.npz", "-o", tmp_path / "y.npz")
    arrays = np.load(tmp_path / "y.npz")
    assert sorted(arrays) == sorted(names) and all((arrays[n] == np.maximum(x, 0)).all() for n in names)
    assert quantc("validate", model, "-i", tmp_path / "x.npz", "-e", tmp_path / "y.npz").stdout.count("yes  ok") == 5 * len(names)
    quantc("calibrate", model, "--data", tmp_path / "x.npz", "-o", tmp_path / "r.toml")


def test_names_too_long_for_archives(tmp_path, quantc):
    for length, status in ((65531, 0), (65532, 1)):
        name = "n" * length
        model = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], [name])], [value("x", [2])], [value(name, [2])])
        done = quantc("run", model, "--random", "1", "-o", tmp_path / f"{length}.npz", status=status)
        assert (tmp_path / f"{length}.npz").exists() == (status == 0)
    assert "error[limit]: array 'nnn" in done.stderr and "at most 65531 bytes" in done.stderr and len(done.stderr) < 1000
    assert list(np.load(tmp_path / "65531.npz")) == ["n" * 65531]


def test_names_of_arrays_that_are_no_utf8(tmp_path):
    model = build([helper.make_node("Relu", ["x"], [PLACE.decode()])], [value("x", [2])], [value(PLACE.decode(), [2])])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString().replace(PLACE, BROKEN + b"!"))
    printed("run", tmp_path / "m.onnx", "--random", "1", "-o", tmp_path / "y.npz")
    assert np.load(tmp_path / "y.npz").files
    printed("validate", tmp_path / "m.onnx", "--random", "1", "-e", tmp_path / "y.npz")


# Projects.

FILES = ["test", "math", "stdint", "Makefile", "int", "class", "puts", "main", "m", "c", "NULL", "_stdint", "7zip", "a-b.c"]
RENAMED = {**{n: n + "_model" for n in ("all", "clean", "install", "help", "package", "time", "string", "String", "features", "errno", "CMakeLists", "cmake", "printf",
                                        "qk", "qn", "qc")}, "__x": "model__x", "_": "model_", "ÄÖ": "model____", "9": "model_9"}


def transpose(path):
    return save(path, [helper.make_node("Transpose", ["x"], ["y"])], [value("x", [2, 3])], [value("y", [3, 2])])


def test_projects_whose_names_would_break_the_build_get_others(tmp_path):
    for stem, name in RENAMED.items():
        assert f"/{name}.c for target " in printed("compile", transpose(tmp_path / f"{stem}.onnx"), "-o", tmp_path / "out")
        shutil.rmtree(tmp_path / "out")


def test_projects_build_whatever_the_model_is_called(tmp_path):
    """All of them in one build with make and in one with CMake, and their headers together in C++."""
    made, names = [f"make{i}" for i in range(len(FILES))], []
    for stem, folder in zip(FILES, made):
        printed("compile", transpose(tmp_path / f"{stem}.onnx"), "-o", tmp_path / folder)
        names += [p.name.removesuffix("_kernels.h") for p in (tmp_path / folder).glob("*_kernels.h")]
        shutil.copytree(tmp_path / folder, tmp_path / "cmake" / folder)
    assert len(set(names)) == len(FILES) and {"test_model", "math_model", "int", "m", "model_7zip", "model_stdint", "a_b_c"} <= set(names)
    (tmp_path / "Makefile").write_text(f"all: {' '.join(made)}\n{' '.join(made)}:\n\t$(MAKE) -s -C $@ CFLAGS=-O0 all test\n.PHONY: {' '.join(made)}\n")
    built = subprocess.run(["make", "-s", "-k", "-j2"], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0 and built.stdout.count(": ran, arena") == len(FILES), built.stdout + built.stderr
    (tmp_path / "cmake" / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.13)\nproject(together C)\nenable_testing()\n" +
                                                       "".join(f"add_subdirectory({folder})\n" for folder in made))
    for command in (["cmake", "-S", "cmake", "-B", "b", "-DCMAKE_BUILD_TYPE=Debug"], ["cmake", "--build", "b", "-j2"], ["ctest", "--test-dir", "b"]):
        built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert built.returncode == 0, built.stdout + built.stderr
    assert f"0 tests failed out of {len(FILES)}" in built.stdout
    (tmp_path / "use.cpp").write_text("".join(f'#include "{n}.h"\n' for n in names) + "#include <cmath>\n#include <cstdint>\n#include <ctime>\nint main() {}\n")
    subprocess.run(["g++", "-fsyntax-only", *(f"-I{folder}" for folder in made), "use.cpp"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name, why", [("test", "targets of that name"), ("Math", "C library"), ("_x", "underscore"), ("1x", "no digit first"),
                                       ("a-b", "letters, digits"), ("qk", "kernels"), ("n" * 65, "at most 64")])
def test_names_that_cannot_be_given(tmp_path, quantc, models, name, why):
    failed = quantc("compile", models / "digits.onnx", "-o", tmp_path / "out", "--name", name, status=1)
    assert f"error[usage]: '{name}' cannot name a project: " in failed.stderr and why in failed.stderr and not (tmp_path / "out").exists()


LAYERS = ["ARENA_BYTES", "GRU_", "run", "invoke", "p0", "form12", "weights", "7", "_", "a b", "\u00e9", "x" * 200]


def test_functions_carry_the_names_of_layers(quantc, tmp_path):
    """Whatever layers are called, names are C's, and no two things have the same one."""
    ops = "sigmoid tanh exp sin cos sqrt erf atan sinh cosh log asinh".split()  # a function each
    lines = "".join(f'  %{i + 1} : f32[2] = {op}(%{i})  loc({json.dumps(name, ensure_ascii=False)})\n'
                    for i, (op, name) in enumerate(zip(ops, LAYERS, strict=True)))
    text = f'graph "g" (%0 "x" : f32[2]) {{\n{lines}  return %{len(LAYERS)} "y"\n}}\n'
    (tmp_path / "m.ir").write_text(text)
    for specialise in ("speed", "size"):
        out = tmp_path / specialise
        quantc("compile", tmp_path / "m.ir", "-o", out, "--name", "net", "--specialise", specialise)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-c", "net.c", "-o", "net.o"], cwd=out, check=True)
    quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "upper", "--name", "NET")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-c", "NET.c", "-o", "net.o"], cwd=tmp_path / "upper", check=True)
