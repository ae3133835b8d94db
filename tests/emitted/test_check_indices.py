"""Indices that are out of range, given, computed or kept: commands name them, and code generated with --check-indices refuses them."""
import ctypes
import re
import subprocess

import numpy as np
import pytest

from cuda_projects import Model

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
COMPUTED = TABLE + '''graph (%0 "a" : i64[2], %1 "b" : i64[2]) {
  %2 = add(%0, %1)  loc("sum")
  %3 = gather(@t, %2) {axis = 0}  loc("net.pick")
  return %3
}
'''
TUPLES = '''graph (%0 "x" : f32[4, 2], %1 "a" : i64[1, 2], %2 "b" : i64[1, 2], %3 "v" : f32[1]) {
  %4 = add(%1, %2)  loc("sum")
  %5 = scatter_nd(%0, %4, %3)  loc("net.put")
  return %5
}
'''
STATE = '''@zero : i64[1] = [0]
@cache : f32[4, 2] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
@one : i64[1] = [1]
graph (%0 "row" : f32[1, 2]) {
  state %1 "position" : i64[1] = @zero
  state %2 "cache" : f32[4, 2] = @cache
  %3 = reshape(%1) {shape = [1, 1]}  loc("tuple")
  %4 = scatter_nd(%2, %3, %0)  loc("net.store")
  %5 = add(%1, @one)  loc("advance")
  next %1 = %5
  next %2 = %4
  return %4
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
def test_unchecked_code(quantc, tmp_path):
    model = write("embedding", tmp_path)
    quantc("compile", model, "-o", tmp_path / "plain", "--name", "net")
    assert "INDEX" not in (tmp_path / "plain" / "net.h").read_text()


def test_an_index_that_the_model_limits(quantc, tmp_path):
    """Where it counts otherwise with what it was given, elements of the input are no indices: those that it computes are in range."""
    (tmp_path / "m.ir").write_text(TABLE + '''@limit : i64[1] = [3]
graph (%0 "ids" : i64[3]) {
  %1 = min(%0, @limit)  loc("limit")
  %2 = gather(@t, %1) {axis = 0}  loc("net.embed")
  return %2
}
''')
    np.savez(tmp_path / "in.npz", in_0=np.array([0, 9, 99]))
    quantc("validate", tmp_path / "m.ir", "-i", tmp_path / "in.npz", "--specialise", "size", "--cflags", "-O0 -w")
    quantc("run", tmp_path / "m.ir", "-i", tmp_path / "in.npz", "--threads", "2", "-o", tmp_path / "out.npz")


# Models whose indices are computed: those for which the sum is in range and out of it, the layer, what it takes and what it met.
SUMS = {"computed": (COMPUTED, "net.pick", "-4 to 3"), "tuples": (TUPLES, "net.put", "-4 to 3, -2 to 1")}


def sums(name, good):
    """Both operands are in range by themselves."""
    if name == "computed":
        return [np.array([1, -2]), np.array([2, -2 if good else -3])], -5
    return [np.zeros((4, 2), np.float32), np.array([[1, 1]]), np.array([[2, 0 if good else 1]]), np.ones(1, np.float32)], 2


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("how", [["run"], ["run", "--threads", "2"], ["validate", "--specialise", "size", "--cflags", "-O0 -w"]], ids=" ".join)
def test_computed_indices_in_commands(name, how, quantc, tmp_path):
    text, layer, takes = SUMS[name]
    (tmp_path / "m.ir").write_text(text)
    for good in (True, False):
        arrays, index = sums(name, good)
        np.savez(tmp_path / "in.npz", **{f"in_{i}": x for i, x in enumerate(arrays)})
        more = ["-o", tmp_path / "out.npz"] if how[0] == "run" else []
        done = quantc(how[0], tmp_path / "m.ir", "-i", tmp_path / "in.npz", *how[1:], *more, status=0 if good else 1)
        takes = takes if "--threads" in how else takes.split(", ")[-1]  # plain evaluation names the axis of the index
        assert good or (layer in done.stderr and f"an index is {index}," in done.stderr and takes in done.stderr), done.stderr


def library_of(out, name):
    library = out / f"{name}.so"
    sources = sorted(f for f in out.glob("*.c") if not f.stem.endswith("_test"))
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", out, "-o", library, *sources, "-lm"], check=True)
    net = ctypes.CDLL(str(library))
    net.net_bad_index.restype = ctypes.c_char_p
    return net


def aligned(size):
    block = np.zeros(size + 64, np.uint8)
    return block[-block.ctypes.data % 64:][:size]


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))


@pytest.mark.parametrize("name", SUMS)
def test_generated_c_refuses_computed_indices(name, quantc, tmp_path):
    text, layer, takes = SUMS[name]
    (tmp_path / "m.ir").write_text(text)
    quantc("compile", tmp_path / "m.ir", "--check-indices", "-o", tmp_path / "out", "--name", "net", "--target", "portable")
    net, arena, index = library_of(tmp_path / "out", "net"), aligned(1 << 14), ctypes.c_int64(77)
    position = ctypes.c_void_p(arena.ctypes.data)
    for good in (True, False, True):
        arrays, wanted = sums(name, good)
        status = net.net_invoke(pointers(arrays), pointers([np.zeros(8, np.float32)]), position)
        said = net.net_bad_index(position, ctypes.byref(index))
        if good:
            assert status == 0 and said is None
        else:
            assert status == 8 and layer in said.decode() and takes in said.decode() and index.value == wanted
    assert net.net_bad_index(position, None) is None


def test_a_position_in_the_state(quantc, tmp_path):
    """Position 4 of a cache of 4."""
    (tmp_path / "m.ir").write_text(STATE)
    quantc("compile", tmp_path / "m.ir", "--check-indices", "-o", tmp_path / "out", "--name", "net", "--target", "portable")
    net, arena, index = library_of(tmp_path / "out", "net"), aligned(1 << 14), ctypes.c_int64()
    state = aligned(1 << 12)
    position, retained = (ctypes.c_void_p(x.ctypes.data) for x in (arena, state))
    net.net_reset(retained)
    inputs, outputs = pointers([row := np.ones((1, 2), np.float32)]), pointers([cache := np.zeros((4, 2), np.float32)])
    for step in range(4):
        assert net.net_invoke(inputs, outputs, position, retained) == 0 and (cache.sum() == 2 * (step + 1))
    assert net.net_invoke(inputs, outputs, position, retained) == 8 and row.all()
    assert b"net.store" in net.net_bad_index(position, ctypes.byref(index)) and index.value == 4


@pytest.mark.parametrize("buckets", ["n=1..8", "n=1..8:buckets=4,8"])
def test_free_sizes_and_buckets(buckets, quantc, tmp_path):
    """What is computed in the padding of a bucket is no index."""
    (tmp_path / "m.ir").write_text(TABLE + '''@three : i64[1] = [3]
graph (%0 "a" : i64[n], %1 "b" : i64[n]) {
  %2 = add(%0, %1)  loc("sum")
  %3 = sub(@three, %2)  loc("mirror")
  %4 = gather(@t, %3) {axis = 0}  loc("net.pick")
  return %4
}
''')
    quantc("compile", tmp_path / "m.ir", "--check-indices", "-o", tmp_path / "out", "--name", "net", "--target", "portable", "--dim", buckets)
    net, arena, index = library_of(tmp_path / "out", "net"), aligned(1 << 16), ctypes.c_int64()
    position = ctypes.c_void_p(arena.ctypes.data)
    for size in (1, 3, 4, 5, 8):
        for bad in (False, True):
            arrays = [np.full(size, 1), np.full(size, 2)]
            arrays[1][-1] = 9 if bad else 0
            dims = (ctypes.c_int64 * 1)(size)
            status = net.net_invoke(pointers(arrays), pointers([np.zeros((size, 2), np.float32)]), position, dims)
            said = net.net_bad_index(position, ctypes.byref(index))
            assert status == (8 if bad else 0) and (said is not None) == bad, (size, bad, status, said)
            assert not bad or index.value == -7


@pytest.mark.parametrize("name", [*SUMS, "embedding"])
def test_cuda(name, quantc, tmp_path):
    """Of inputs, too: they may be in the memory of the device."""
    text, layer, takes = SUMS.get(name, (EMBEDDING, "net.embed", "-4 to 3"))
    (tmp_path / "m.ir").write_text(text)
    quantc("compile", tmp_path / "m.ir", "--check-indices", "--target", "cuda:sm_80", "-o", tmp_path / "out", "--name", "net")
    model = Model(tmp_path / "out")
    assert re.search(r"#define NET_BAD_INDEX +8 .*net_error_text", (tmp_path / "out" / "net.h").read_text())
    for good in (True, False, True):
        arrays, index = sums(name, good) if name in SUMS else ([np.array([[0, 1, 2], [3, -4, 3 if good else 4]])], 4)
        status = model.call("run_host")(model.handle, pointers(arrays), pointers([np.zeros(64, np.float32)]))
        assert status == (0 if good else 8)
        assert model.call("check_indices")(model.handle, None) == status
        if not good:
            assert layer in model.text() and takes in model.text() and f"it is {index}" in model.text()


def test_places_behind_the_last_mark_of_masked_scatter(quantc, tmp_path):
    """The source has as many elements as there are marks: the number that the places after them would have is no bad index."""
    import torch

    class Scatter(torch.nn.Module):
        def forward(self, x, mask, source):
            return x.masked_scatter(mask, source)

    arrays = torch.zeros(2, 4), torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]], dtype=torch.bool), torch.tensor([5., 6., 7.])
    torch.export.save(torch.export.export(Scatter(), arrays), tmp_path / "m.pt2")
    np.savez(tmp_path / "in.npz", **dict(zip(("x", "mask", "source"), (a.numpy() for a in arrays))))
    for threads in ([], ["--threads", "2"]):
        quantc("run", tmp_path / "m.pt2", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz", *threads)
        assert (next(iter(np.load(tmp_path / "out.npz").values())) == Scatter()(*arrays).numpy()).all()
