"""Generated code whose large steps are split among the caller's threads: the interpreter's bits for every way of splitting."""
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from frames import measure
from tests.emitted.test_emitted import sh

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wmissing-prototypes", "-Werror"]

# Runs the model without threads, then with 1, 2, 3 and 7 parts: each on a thread of its own, and one after the other in
# an odd order. Prints how many calls of parallel_for there were.
MAIN = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "net.h"

enum { MOST = 7 };
typedef void subrange_function(const void *call, int32_t first, int32_t last);
typedef struct { subrange_function *part; const void *call; int32_t first, last; } range;
typedef struct { int parts, calls; } pool;

static void *run_range(void *data) {
  const range *r = data;
  r->part(r->call, r->first, r->last);
  return NULL;
}
static void cut(range *ranges, int parts, int32_t units, subrange_function *part, const void *call) {
  for (int i = 0; i < parts; ++i) {
    ranges[i] = (range){part, call, units * i / parts, units * (i + 1) / parts};
  }
}
static void on_threads(void *data, int32_t units, subrange_function *part, const void *call) {
  pool *p = data;
  range ranges[MOST];
  pthread_t threads[MOST];
  cut(ranges, p->parts, units, part, call);
  for (int i = 1; i < p->parts; ++i) pthread_create(&threads[i], NULL, run_range, &ranges[i]);
  run_range(&ranges[0]);
  for (int i = 1; i < p->parts; ++i) pthread_join(threads[i], NULL);
  ++p->calls;
}
static void out_of_order(void *data, int32_t units, subrange_function *part, const void *call) {
  pool *p = data;
  range ranges[MOST];
  cut(ranges, p->parts, units, part, call);
  for (int i = p->parts - 1; i >= 0; i -= 2) run_range(&ranges[i]);
  for (int i = p->parts - 2; i >= 0; i -= 2) run_range(&ranges[i]);
  ++p->calls;
}

static _Alignas(64) unsigned char in[NET_INPUT_0_BYTES], expected[NET_OUTPUT_0_BYTES], out[NET_OUTPUT_0_BYTES];
static _Alignas(NET_ARENA_ALIGN) unsigned char arena[NET_ARENA_BYTES + 1];

int main(void) {
  const int counts[] = {1, 2, 3, 7};
  net_parallel_for *const ways[] = {on_threads, out_of_order};
  pool p = {0, 0};
  for (size_t i = 0; i < sizeof in; ++i) in[i] = (unsigned char)((i * 7919 >> 5) & FILL);
  if (net_run((const void *)in, (void *)expected, arena, NULL, NULL) != NET_OK) return 1;
  for (int i = 0; i < 8; ++i) {
    memset(out, 0x5a, sizeof out);
    memset(arena, 0x5a, sizeof arena);
    p.parts = counts[i / 2];
    if (net_run((const void *)in, (void *)out, arena, ways[i % 2], &p) != NET_OK) return 2;
    if (memcmp(out, expected, sizeof out) != 0) return printf("%d parts differ\n", p.parts), 3;
  }
  printf("%d\n", p.calls);
  return 0;
}
"""


def codes(tensors: dict, name: str, *shape: int) -> str:
    tensors[name] = np.random.default_rng(len(name)).integers(-100, 100, shape).astype(np.int8)
    return name


def on_codes():
    """Convolutions with several lines, with channels last or first, products of many rows and of one."""
    t = {"s": np.float32(0.02), "z": np.uint8(120), "ws": np.float32(0.01), "wz": np.int8(0), "many": np.array([64, 576]),
         "one": np.array([1, 4096])}

    def node(op, x, y, *weights, **attributes):
        return helper.make_node(op, [x, "s", "z", codes(t, y + "_w", *weights), "ws", "wz", "s", "z"], [y], name=y, **attributes)

    nodes = [node("QLinearConv", "x", "wide", 32, 16, 3, 3, pads=[1, 1, 1, 1]),
             node("QLinearConv", "wide", "depth", 32, 1, 3, 3, pads=[1, 1, 1, 1], group=32),
             node("QLinearConv", "depth", "point", 64, 32, 1, 1),
             helper.make_node("Reshape", ["point", "many"], ["rows"]),
             node("QLinearMatMul", "rows", "product", 576, 64),
             helper.make_node("Reshape", ["product", "one"], ["row"]),
             node("QLinearMatMul", "row", "y", 4096, 256)]
    return nodes, t, (TensorProto.UINT8, [1, 16, 24, 24]), (TensorProto.UINT8, [1, 256]), 4


def on_floats():
    random = np.random.default_rng(0)
    t = {name: random.standard_normal(shape).astype(np.float32)
         for name, shape in {"a": (32, 16, 3, 3), "b": (18432, 64)}.items()}
    t["flat"] = np.array([1, 18432])
    nodes = [helper.make_node("Conv", ["x", "a"], ["c"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("Reshape", ["c", "flat"], ["r"]), helper.make_node("MatMul", ["r", "b"], ["y"], name="product")]
    return nodes, t, (TensorProto.FLOAT, [1, 16, 24, 24]), (TensorProto.FLOAT, [1, 64]), 2


NETWORKS = {"codes": on_codes, "floats": on_floats}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request, tmp_path_factory):
    """The model, inputs for it, and how many of its steps are large."""
    nodes, tensors, x, y, large = NETWORKS[request.param]()
    folder = tmp_path_factory.mktemp(request.param)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", *x)], [helper.make_tensor_value_info("y", *y)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(folder / "net.onnx"))
    random = np.random.default_rng(1)
    data = random.integers(0, 255, x[1]).astype(np.uint8) if request.param == "codes" else random.standard_normal(x[1]).astype(np.float32)
    np.savez(folder / "x.npz", x=data)
    return folder / "net.onnx", folder / "x.npz", large


@pytest.fixture(scope="module")
def runs_here(quantc) -> set:
    return {line.split()[0] for line in quantc("targets").stdout.splitlines() if line.rstrip().endswith("runs here")}


def thread_sanitizer(folder) -> list:
    """Its flags, where it is installed and runs."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    built = subprocess.run(["cc", "-fsanitize=thread", folder / "empty.c", "-o", folder / "empty"], capture_output=True)
    return ["-fsanitize=thread", "-g"] if built.returncode == 0 and subprocess.run([folder / "empty"]).returncode == 0 else []


# What is built for this machine alone is the same for floats; the sanitizer sees each kind of kernel once.
@pytest.mark.parametrize("network, target, specialise, sanitized", [
    ("codes", "portable", "speed", True), ("codes", "portable", "size", False), ("codes", "x86-avx2", "speed", True),
    ("codes", "x86-avx512vnni", "speed", False), ("codes", "x86", "size", False),
    ("floats", "portable", "speed", True), ("floats", "portable", "size", False)], indirect=["network"])
# arithmetic.md: G8
def test_bits_do_not_depend_on_parts(network, quantc, runs_here, target, specialise, sanitized, tmp_path):
    model, vectors, large = network
    out = tmp_path / "net"
    said = quantc("-v", "compile", model, "-o", out, "--name", "net", "--target", target, "--threads", "--specialise", specialise,
                  "--vectors", vectors)
    assert f"{large} steps are split among threads" in said.stdout + said.stderr
    if specialise == "speed":
        bound = int(re.search(r"#define NET_STACK_BYTES (\d+)", (out / "net.h").read_text())[1])
        assert measure("gcc", "-O2", out / "net.c", tmp_path / "frames")[1]["net_invoke"] + 256 <= bound
    if target not in runs_here and target != "x86":
        return
    flags = [*STRICT, "-O1", f"-I{out}", "-DFILL=0xff" if "codes" in str(model) else "-DFILL=0x3f",
             *(thread_sanitizer(tmp_path) if sanitized else [])]
    objects = []
    for source in sorted(p for p in out.glob("*.c") if not p.name.endswith("_test.c")):
        objects.append(tmp_path / f"{source.stem}.o")
        sh("cc", *flags, "-c", source, "-o", objects[-1])
    # The project's own test cuts steps into three, the last first, and compares with the interpreter.
    sh("cc", *flags, *objects, out / "net_test.c", "-lm", "-o", tmp_path / "test")
    assert "bits equal" in sh(tmp_path / "test")
    (tmp_path / "main.c").write_text(MAIN)
    sh("cc", *flags, *objects, tmp_path / "main.c", "-lm", "-pthread", "-o", tmp_path / "main")
    assert sh(tmp_path / "main").split() == [str(8 * large)]


def test_arm_has_the_same_bits(network, quantc, tmp_path):
    model, vectors, _ = network
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("aarch64-linux-gnu-gcc is not installed")
    out = tmp_path / "net"
    quantc("compile", model, "-o", out, "--name", "net", "--target", "aarch64-dotprod", "--threads", "--vectors", vectors)
    sh("aarch64-linux-gnu-gcc", "-std=c11", "-O2", "-static", f"-I{out}", *sorted(out.glob("*.c")), "-lm", "-o", tmp_path / "test")
    if shutil.which("qemu-aarch64"):
        assert "bits equal" in sh("qemu-aarch64", "-cpu", "max", tmp_path / "test")


def test_commands_take_threads(network, quantc, tmp_path):
    model, vectors, large = network
    program = quantc("inspect", model, "--program", "--threads", "--target", "portable").stdout
    assert len(re.findall(r"^parallel \d+ ", program, re.M)) == large, program
    assert "parallel" not in quantc("inspect", model, "--program", "--target", "portable").stdout
    assert quantc("validate", model, "-i", vectors, "--threads").stdout.splitlines()[1].rstrip().endswith("ok")
    for threads in ("1", "3"):
        quantc("run", model, "-i", vectors, "-o", tmp_path / f"{threads}.npz", "--threads", threads)
    quantc("run", model, "-i", vectors, "-o", tmp_path / "reference.npz")
    arrays = [np.load(tmp_path / f"{name}.npz")["y"].tobytes() for name in ("1", "3", "reference")]
    assert arrays[0] == arrays[1] == arrays[2]
    quantc("run", model, "-i", vectors, "--threads", "0", status=1)


def test_sizes_of_a_range_are_split_alike(quantc, tmp_path):
    """The kernel counts its units from the size; small sizes have the same step."""
    w = numpy_helper.from_array(np.random.default_rng(0).standard_normal((256, 128)).astype(np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="product")
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 256])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 128])], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "net.onnx"))
    for size in (1, 17):
        np.savez(tmp_path / "x.npz", x=np.random.default_rng(size).standard_normal((size, 256)).astype(np.float32))
        quantc("validate", tmp_path / "net.onnx", "-i", tmp_path / "x.npz", "--threads", "--dim", "n=1..40")
    quantc("compile", tmp_path / "net.onnx", "-o", tmp_path / "out", "--name", "net", "--threads", "--dim", "n=1..40",
           "--vectors", tmp_path / "x.npz")
    assert "args->parallel_for(args->threads, qk_gemm_units(&" in (tmp_path / "out/net.c").read_text()
    sh("cc", *STRICT, "-O1", *sorted((tmp_path / "out").glob("*.c")), "-lm", "-o", tmp_path / "test")
    assert "bits equal" in sh(tmp_path / "test")


def test_a_model_without_large_steps_is_told_of(quantc, models, tmp_path):
    done = quantc("compile", models / "digits.onnx", "-o", tmp_path / "out", "--name", "net", "--threads")
    assert "no step is large enough to be split among threads" in done.stderr, done.stderr
    sh("cc", *STRICT, "-O1", *sorted((tmp_path / "out").glob("*.c")), "-lm", "-o", tmp_path / "test")
    assert "ran" in sh(tmp_path / "test")


def test_files_are_the_same_without_threads(network, quantc, tmp_path):
    """The option is an option: also as a key of the configuration, and switched off again."""
    model, _, _ = network
    (tmp_path / "quantc.toml").write_text('threads = true\ntarget = "portable"\n')
    quantc("compile", model, "-o", tmp_path / "a", "--name", "net")
    quantc("compile", model, "-o", tmp_path / "b", "--name", "net", "--config", tmp_path / "quantc.toml", "--no-threads")
    quantc("compile", model, "-o", tmp_path / "c", "--name", "net", "--config", tmp_path / "quantc.toml")
    texts = [(tmp_path / folder / "net.h").read_text() + (tmp_path / folder / "net.c").read_text() for folder in "abc"]
    assert texts[0] == texts[1] and "parallel" not in texts[0]
    assert "net_parallel_for" in texts[2]
