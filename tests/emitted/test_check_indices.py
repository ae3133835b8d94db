"""Indices that a caller gives and that are out of range: validate names them, and C generated with --check-indices refuses them."""
import ctypes
import re
import subprocess

import numpy as np
import pytest

TABLE = "@t : f32[4, 2] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]\n"
EMBEDDING = TABLE + '''graph (%0 "ids" : i64[2, 3]) {
  %1 = cast(%0) {to = i64}  loc("cast")
  %2 = reshape(%1) {shape = [6]}  loc("flat")
  %3 = gather(@t, %2) {axis = 0}  loc("net.embed")
  return %3
}
'''
ADDED = TABLE + '''@one : i64[2] = [0, 1]
graph (%0 "at" : i64[1]) {
  %1 = add(%0, @one)  loc("positions")
  %2 = gather(@t, %1) {axis = 0}  loc("net.positions")
  return %2
}
'''
CACHE = '''graph (%0 "cache" : f32[4, 2], %1 "at" : i32[1], %2 "row" : f32[1, 2]) {
  %3 = reshape(%1) {shape = [1, 1]}  loc("tuple")
  %4 = cast(%3) {to = i64}  loc("wide")
  %5 = scatter_nd(%0, %4, %2)  loc("net.store")
  return %5
}
'''
FREE = '''graph (%0 "x" : f32[n, 2], %1 "ids" : i64[3]) {
  %2 = gather(%0, %1) {axis = 0}  loc("net.pick")
  return %2
}
'''
MODELS = {"embedding": EMBEDDING, "added": ADDED, "cache": CACHE, "free": FREE}


def arrays_of(name, index):
    ids = {"embedding": np.array([[0, 1, 2], [3, -4, index]]), "added": np.array([index]), "free": np.array([0, index, 1])}
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    return {"embedding": lambda: [ids["embedding"]], "added": lambda: [ids["added"]], "free": lambda: [rows, ids["free"]],
            "cache": lambda: [rows, np.array([index], np.int32), np.ones((1, 2), np.float32)]}[name]()


# What each takes at its greatest and its least, and the layer that counts.
RANGES = {"embedding": (-4, 3, "net.embed"), "added": (-4, 2, "net.positions"), "cache": (-4, 3, "net.store"), "free": (-4, 3, "net.pick")}


def write(name, folder):
    (folder / f"{name}.ir").write_text(MODELS[name])
    return folder / f"{name}.ir"


@pytest.mark.parametrize("name", MODELS)
def test_validate_names_layer_and_index(name, quantc, tmp_path):
    model, (least, most, layer) = write(name, tmp_path), RANGES[name]
    for index in (least, most, least - 1, most + 1):
        np.savez(tmp_path / "in.npz", **{f"in_{i}": x for i, x in enumerate(arrays_of(name, index))})
        good = least <= index <= most
        done = quantc("validate", model, "-i", tmp_path / "in.npz", "--specialise", "size", "--cflags", "-O0 -w", status=0 if good else 1)
        assert good or (layer in done.stderr and f" is {index}," in done.stderr and f"{least} to {most}" in done.stderr), done.stderr


@pytest.mark.parametrize("name", MODELS)
def test_generated_c_refuses_them(name, quantc, tmp_path):
    model, (least, most, layer) = write(name, tmp_path), RANGES[name]
    quantc("compile", model, "--check-indices", "-o", tmp_path / "out", "--name", "net", *(["--dim", "n=2..8"] if name == "free" else []))
    library = tmp_path / "net.so"
    sources = sorted(f for f in (tmp_path / "out").glob("*.c") if not f.stem.endswith("_test"))
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", tmp_path / "out", "-o", library, *sources,
                    "-lm"], check=True)
    net = ctypes.CDLL(str(library))
    net.net_index_error.restype = ctypes.c_char_p
    header = (tmp_path / "out" / "net.h").read_text()
    assert re.search(r"#define NET_BAD_INDEX +8 ", header)
    arena = np.zeros(1 << 16, np.uint8)
    arena = arena[-arena.ctypes.data % 64:]
    dims = np.array([4], np.int64)
    more = [dims.ctypes.data_as(ctypes.c_void_p)] if name == "free" else []
    for index in (least, most, least - 1, most + 1):
        inputs = [np.ascontiguousarray(x) for x in arrays_of(name, index)]
        output = np.full(64, -7, np.float32)
        pointers = (ctypes.c_void_p * len(inputs))(*(x.ctypes.data for x in inputs))
        outputs = (ctypes.c_void_p * 1)(output.ctypes.data)
        status = net.net_invoke(pointers, outputs, ctypes.c_void_p(arena.ctypes.data), *more)
        element = ctypes.c_int64(-1)
        said = net.net_index_error(pointers, *more, ctypes.byref(element))
        if least <= index <= most:
            assert status == 0 and said is None and element.value == -1 and output[0] != -7
        else:
            assert status == 8 and (output == -7).all()
            assert layer in said.decode() and inputs[0 if name in ("embedding", "added") else 1].ravel()[element.value] == index


# arithmetic.md: N4
def test_unchecked_code_and_cuda(quantc, tmp_path):
    model = write("embedding", tmp_path)
    quantc("compile", model, "-o", tmp_path / "plain", "--name", "net")
    assert "INDEX" not in (tmp_path / "plain" / "net.h").read_text()
    said = quantc("compile", model, "--check-indices", "--target", "cuda:sm_80", "-o", tmp_path / "cuda", status=1).stderr
    assert "--check-indices" in said


def test_indices_that_the_model_computes_are_its_own(quantc, tmp_path):
    """Where it counts otherwise with what it was given, elements of the input are no indices."""
    (tmp_path / "m.ir").write_text(TABLE + '''@limit : i64[1] = [3]
graph (%0 "ids" : i64[3]) {
  %1 = min(%0, @limit)  loc("limit")
  %2 = gather(@t, %1) {axis = 0}  loc("net.embed")
  return %2
}
''')
    np.savez(tmp_path / "in.npz", in_0=np.array([0, 9, 99]))
    quantc("validate", tmp_path / "m.ir", "-i", tmp_path / "in.npz", "--specialise", "size", "--cflags", "-O0 -w")
