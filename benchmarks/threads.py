"""Large products in generated code on one and on two threads that the caller brings, interleaved in one run.

The program of a project that was compiled with --threads has a pool of its own: two threads that wait actively, since
what is measured is the code and not the waking of threads.
"""
import os
from pathlib import Path

import numpy as np

# Two threads are at least this many times faster.
BAR = 1.7
ROWS, INPUTS, OUTPUTS = 512, 1024, 1024
TARGETS = {"x86-avx512vnni": "-O2", "portable": "-O3 -march=native"}

MAIN = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "model.h"

typedef void subrange_function(const void *call, int32_t first, int32_t last);
static _Atomic int go, done, ends;
static struct { subrange_function *part; const void *call; int32_t first, last; } other;

static void *work(void *unused) {
  for (int seen = 0;;) {
    while (atomic_load(&go) == seen && !atomic_load(&ends)) {}
    if (atomic_load(&ends)) return unused;
    ++seen;
    other.part(other.call, other.first, other.last);
    atomic_store(&done, seen);
  }
}
static void on_two(void *threads, int32_t units, subrange_function *part, const void *call) {
  const int32_t middle = units / 2;
  (void)threads;
  other.part = part, other.call = call, other.first = middle, other.last = units;
  const int round = atomic_load(&go) + 1;
  atomic_store(&go, round);
  part(call, 0, middle);
  while (atomic_load(&done) != round) {}
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static unsigned char in[MODEL_INPUT_0_BYTES], out[2][MODEL_OUTPUT_0_BYTES];
static _Alignas(MODEL_ARENA_ALIGN) unsigned char arena[MODEL_ARENA_BYTES + 1];
int main(void) {
  double best[2] = {1e9, 1e9};
  pthread_t thread;
  for (size_t i = 0; i < sizeof in; ++i) in[i] = (unsigned char)(i * 7919 >> 3);
  pthread_create(&thread, NULL, work, NULL);
  for (int n = 0; n < 400; ++n) {
    const double start = now();
    if (model_run(in, out[n % 2], arena, n % 2 ? on_two : NULL, NULL) != 0) return 1;
    const double spent = now() - start;
    if (spent < best[n % 2]) best[n % 2] = spent;
  }
  atomic_store(&ends, 1);
  pthread_join(thread, NULL);
  printf("%.9f %.9f\n", best[0], best[1]);
  return memcmp(out[0], out[1], sizeof out[0]) != 0;
}
"""


def model(path: Path) -> Path:
    """One product of codes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    tensors = {"xs": np.float32(0.02), "xz": np.uint8(128), "ws": np.float32(0.01), "wz": np.int8(0),
               "ys": np.float32(0.5), "yz": np.uint8(128),
               "w": random.integers(-127, 128, (INPUTS, OUTPUTS)).astype(np.int8)}
    node = helper.make_node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], name="product")
    graph = helper.make_graph([node], "product", [helper.make_tensor_value_info("x", TensorProto.UINT8, [ROWS, INPUTS])],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, [ROWS, OUTPUTS])],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


class ThreadsBench:
    def __init__(self, bench, run) -> None:
        self.bench, self.run = bench, run

    def product(self) -> None:
        flags = Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
        path = model(self.bench.work / "product.onnx")
        for target, cflags in TARGETS.items():
            if target != "portable" and "avx512_vnni" not in flags:
                continue
            folder = self.bench.work / f"product_{target}"
            self.run(self.bench.quantc, "compile", path, "-o", folder, "--name", "model", "--threads", "--target", target,
                     "--force")
            (folder / "main.c").write_text(MAIN)
            self.run("cc", "-std=c11", *cflags.split(), "-I", folder, folder / "main.c", folder / "model.c",
                     folder / "model_weights.c", "-o", folder / "time", "-lm", "-pthread")
            one, two = map(float, self.run(folder / "time").stdout.split())
            rate = ROWS * INPUTS * OUTPUTS * 1e-9
            print(f"  {ROWS} x {OUTPUTS} x {INPUTS}, {target}: one thread {one * 1e3:.2f} ms ({rate / one:.0f} GMAC/s), "
                  f"two {two * 1e3:.2f} ms ({rate / two:.0f} GMAC/s)")
            self.bench.results[f"product on threads, {target}, ms"] = [one * 1e3, two * 1e3]
            self.bench.bar(f"two threads over one, {target}", one / two, BAR, "x", True)
