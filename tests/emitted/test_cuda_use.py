"""How generated CUDA is used: from C, C++, ctypes and torch, by several threads; what a run asks of the runtime. On the host, thread after thread."""
import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from cuda_projects import build_host


@pytest.fixture(scope="module")
def digits(quantc, root, models, tmp_path_factory):
    out = tmp_path_factory.mktemp("use") / "out"
    quantc("compile", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--target", "cuda:sm_90", "-o", out, "--name", "digits")
    subprocess.run(["make", "-C", out, "HOST=1", "CFLAGS=-O1", "libdigits.a", "libdigits.so"], check=True, capture_output=True)
    return out


@pytest.mark.parametrize("example", ["main.c", "main.cpp", "with_ctypes.py", "with_torch.py"])
def test_examples_classify_all_images(digits, root, example, tmp_path):
    source, images = root / "examples/cuda" / example, root / "examples/digits/test.bin"
    if example.endswith(".py"):
        command = [sys.executable, source, digits]
    else:
        compiler = ["gcc", "-std=c11"] if example.endswith(".c") else ["g++", "-std=c++17"]
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-I", digits, "-c", source, "-o", tmp_path / "main.o"], check=True)
        subprocess.run(["g++", tmp_path / "main.o", digits / "libdigits.a", "-o", tmp_path / "main"], check=True)
        command = [tmp_path / "main"]
    done = subprocess.run([*command, images], capture_output=True, text=True)
    assert done.stdout == "447 of 450 right\n" and done.returncode == 0, done.stdout + done.stderr


COUNTED = """
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
static int watching = 0;
#define QK_HOST_STATUS(call) (watching ? (void)printf("%s ", call) : (void)0, cudaSuccess)
"""
WATCHED = """
extern "C" void *__real_malloc(size_t); extern "C" void *__real_calloc(size_t, size_t); extern "C" void *__real_aligned_alloc(size_t, size_t);
static void taken(void) { if (watching) printf("MEMORY "); }
extern "C" void *__wrap_malloc(size_t n) { taken(); return __real_malloc(n); }
extern "C" void *__wrap_calloc(size_t n, size_t m) { taken(); return __real_calloc(n, m); }
extern "C" void *__wrap_aligned_alloc(size_t a, size_t n) { taken(); return __real_aligned_alloc(a, n); }
int main(void) {
  static float image[64], scores[10];
  const void *inputs[] = {image};
  void *outputs[] = {scores};
  for (int deployment = 0; deployment < 4; ++deployment) {
    digits_handle *h = NULL;
    digits_config config = {};
    config.deployment = deployment;
    if (digits_create(&config, &h) != DIGITS_OK) return 1;
    for (int run = 0; run < 2; ++run) {
      watching = run > 0;
      if (digits_run(h, inputs, outputs, NULL) != DIGITS_OK) return 2;
      watching = 0;
    }
    printf("\\n");
    digits_destroy(h);
  }
  return 0;
}
"""


def test_after_the_first_a_run_allocates_nothing_and_waits_for_nothing(digits, tmp_path):
    """All that it asks of the runtime: where it is, whether a graph is being made, copies of the ports, launches or the graph."""
    program = build_host(shutil.copytree(digits, tmp_path / "out"), WATCHED, before=COUNTED,
                         flags=["-fno-sanitize=all", "-Wl,--wrap=malloc", "-Wl,--wrap=calloc", "-Wl,--wrap=aligned_alloc"])
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    may = {"cudaGetDevice", "cudaStreamIsCapturing", "cudaMemcpyAsync", "launch", "cudaGraphLaunch"}
    assert len(lines) == 4 and all(line.split() and set(line.split()) <= may for line in lines), lines
    assert ["cudaGraphLaunch" in line for line in lines[:3]] == [True, False, True] and "MEMORY" not in "".join(lines)


THREADS = """
#include <thread>
#include <vector>
int main(void) {
  enum { COUNT = 4 };
  static float images[COUNT][64], expected[COUNT][10], got[COUNT][10];
  static int bad[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    for (int k = 0; k < 64; ++k) images[i][k] = (float)((k * (i + 3)) % 17) / 16;
    digits_handle *h = NULL;
    const void *inputs[] = {images[i]};
    void *outputs[] = {expected[i]};
    if (digits_create(NULL, &h) != DIGITS_OK || digits_run_host(h, inputs, outputs) != DIGITS_OK) return 1;
    digits_destroy(h);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < COUNT; ++i) {
    threads.emplace_back([i] {
      digits_config config = {};
      config.deployment = i;
      digits_handle *h = NULL;
      bad[i] = digits_create(&config, &h) != DIGITS_OK;
      for (int turn = 0; turn < 20; ++turn) {
        const void *inputs[] = {images[i]};
        void *outputs[] = {got[i]};
        bad[i] |= digits_run(h, inputs, outputs, NULL) != DIGITS_OK || memcmp(got[i], expected[i], sizeof got[i]) != 0;
      }
      digits_destroy(h);
    });
  }
  for (std::thread &t : threads) t.join();
  return bad[0] | bad[1] | bad[2] | bad[3];
}
"""


def test_handles_of_several_threads_share_nothing(digits, tmp_path):
    """The thread sanitizer sees every access, with a deployment for each."""
    program = build_host(shutil.copytree(digits, tmp_path / "out"), THREADS, flags=["-fno-sanitize=all", "-fsanitize=thread", "-pthread"])
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


PROFILE = """
static void callback(void *data, const char *layer, const char *kernel, double device_us) {
  ++*(int *)data;
  printf("%s|%s|%d\\n", layer, kernel, device_us >= 0);
}
int main(void) {
  for (int deployment = 0; deployment < 4; ++deployment) {
    digits_handle *h = NULL;
    digits_config config = {};
    int count = 0;
    config.deployment = deployment;
    if (digits_create(&config, &h) != DIGITS_OK || digits_profile(h, callback, &count) != DIGITS_OK || count != DIGITS_LAUNCHES) return 1;
    if (digits_profile(h, NULL, NULL) != DIGITS_NULL_POINTER || digits_profile(NULL, callback, NULL) != DIGITS_NULL_POINTER) return 2;
    for (int at = 0; at < 3; ++at) {
      static const char *const calls[] = {"cudaEventCreate", "cudaEventRecord", "launch"};
      failing = calls[at];
      if (digits_profile(h, callback, &count) != DIGITS_CUDA_FAILED || !strstr(digits_error_text(h), "failed: out of memory")) return 3;
      failing = "";
    }
    digits_destroy(h);
  }
  return 0;
}
"""


def test_every_step_has_a_time(digits, tmp_path):
    """In the order of the run, with layer and kernel; a fault has a code, and nothing leaks."""
    before = '#include <string.h>\nstatic const char *failing = "";\n#define QK_HOST_STATUS(call) (strcmp(call, failing) ? cudaSuccess : cudaErrorMemoryAllocation)\n'
    program = build_host(shutil.copytree(digits, tmp_path / "out"), PROFILE, before=before)
    done = subprocess.run([program], capture_output=True, text=True)
    lines = [line.split("|") for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(lines) % 4 == 0 and all(line[2] == "1" for line in lines), done.stdout + done.stderr[-2000:]
    assert lines[0][:2] == ["image", "qk_quantize_i8"] and ["node_Conv_52 + node_relu_1", "qk_qtile_mma"] in [line[:2] for line in lines], lines


class Cache(torch.nn.Module):
    """A row is appended by every run, as a decoder does with keys and values."""
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.arange(24.0).reshape(6, 4))
        self.register_buffer("at", torch.ones(1, dtype=torch.int64))

    def forward(self, x):
        self.rows.index_copy_(0, self.at, x)
        self.at += 1
        return self.rows * 2 + self.at


STATE_CODES = """
static float x[4], y[24], z[24];
static const void *inputs[] = {x};
static void *outputs[] = {y}, *others[] = {z};
int main(void) {
  static unsigned char state[NET_DEVICE_STATE_BYTES + 256];
  net_handle *mine = NULL, *own = NULL;
  net_config config = {};
  config.state = (void *)(((uintptr_t)state + 255) / 256 * 256);
  if (net_create(&config, &mine) || net_create(NULL, &own)) return 1;
  for (int i = 0; i < 4; ++i) {  /* a state of the caller's and one of the handle's fare alike, and apart */
    x[i] = (float)i;
    if (net_run_host(mine, inputs, outputs) || net_run_host(own, inputs, others) || memcmp(y, z, sizeof y)) return 2;
  }
  if (net_reset(NULL, NULL) != NET_NULL_POINTER) return 3;
  failing = "cudaMemcpyAsync";
  if (net_reset(own, NULL) != NET_CUDA_FAILED || !strstr(net_error_text(own), "cudaMemcpyAsync of the state failed")) return 4;
  net_analysis figures;
  failing = "cudaMalloc";
  if (net_analyze(own, &figures) != NET_CUDA_FAILED || !strstr(net_error_text(own), "copy of the state")) return 5;
  failing = "";
  net_destroy(mine);
  net_destroy(own);
  return 0;
}
"""


@pytest.fixture(scope="module")
def cache(quantc, tmp_path_factory):
    """A network with a state, its library, and what PyTorch gives for five runs after each other."""
    folder = tmp_path_factory.mktemp("state")
    net, x = Cache(), torch.randn(5, 1, 4, generator=torch.Generator().manual_seed(1))
    torch.export.save(torch.export.export(net, (x[0],)), folder / "net.pt2")
    np.savez(folder / "x.npz", in_0=x[0].numpy())
    said = quantc("compile", folder / "net.pt2", "--target", "cuda:sm_90", "-o", folder / "out", "--name", "net", "--vectors", folder / "x.npz").stdout
    assert ", state 128 bytes, " in said or ", state 192 bytes, " in said, said
    done = subprocess.run(["make", "-C", folder / "out", "HOST=1", "CFLAGS=-O1 -Wall -Wextra -Werror", "all", "test"], capture_output=True, text=True)
    assert "bits equal" in done.stdout, done.stdout + done.stderr
    return folder, x.numpy(), [net(row).clone().numpy() for row in x]


@pytest.mark.parametrize("deployment", range(4))
def test_a_state_is_kept_between_runs(cache, deployment):
    """By runs alone: what measures leaves it as it was, and reset is the begin."""
    folder, x, expected = cache
    library, handle = ctypes.CDLL(str(folder / "out/libnet.so")), ctypes.c_void_p()
    config = (ctypes.c_int * 24)(0, 0, deployment)  # more than the members take
    assert library.net_create(config, ctypes.byref(handle)) == 0
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_double)(lambda *_: None)
    figures = (ctypes.c_double * 16)()
    for _ in range(2):
        for row, answer in zip(x, expected):
            y = np.empty((6, 4), np.float32)
            pointers = [(ctypes.c_void_p * 1)(a.ctypes.data) for a in (np.ascontiguousarray(row), y)]
            assert library.net_run(handle, *pointers, None) == 0
            assert y.tobytes() == answer.tobytes()
            assert library.net_profile(handle, callback, None) == 0 and library.net_analyze(handle, figures) == 0
        assert library.net_reset(handle, None) == 0
    library.net_destroy(handle)


def test_a_state_may_be_the_callers_and_its_failures_have_texts(cache, tmp_path):
    before = '#include <string.h>\nstatic const char *failing = "";\n#define QK_HOST_STATUS(call) (strcmp(call, failing) ? cudaSuccess : cudaErrorMemoryAllocation)\n'
    program = build_host(shutil.copytree(cache[0] / "out", tmp_path / "out"), STATE_CODES, before=before)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


def test_validate_and_bench_take_networks_with_a_state(quantc, cache):
    folder = cache[0]
    said = quantc("validate", folder / "net.pt2", "-i", folder / "x.npz", "--target", "cuda:sm_90", "--host", "--atol", "0").stdout
    assert "cuda:sm_90" in said and "no  " not in said, said
    assert "qk_" in quantc("bench", folder / "net.pt2", "--target", "cuda:sm_90", "--host", "--per-layer", "--rounds", "1").stdout


def test_a_build_for_the_host_is_no_build_for_a_gpu(quantc, models, tmp_path):
    """Without nvcc `make test` fails, also where HOST=1 was built before; objects of both are kept."""
    out = tmp_path / "out"
    quantc("compile", models / "digits.onnx", "--target", "cuda", "-o", out, "--name", "digits", "--vectors", models / "digits.npz")

    def make(*arguments):
        return subprocess.run(["make", "-C", out, "CFLAGS=-O0", *arguments], capture_output=True, text=True)
    assert "bits equal" in make("HOST=1", "test").stdout
    for _ in range(2):
        gpu = make("NVCC=false", "test")
        assert gpu.returncode != 0 and "bits equal" not in gpu.stdout, gpu.stdout
    built = (out / "host/digits.o").stat().st_mtime_ns
    # An nvcc that is there, and no GPU: here one whose programs fail.
    (tmp_path / "nvcc").write_text('#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && printf "#!/bin/sh\\nexit 1\\n" >"$2" && chmod +x "$2"; shift; done\n')
    (tmp_path / "nvcc").chmod(0o755)
    gpu = make(f"NVCC={tmp_path / 'nvcc'}", "AR=ar", "test")
    assert gpu.returncode != 0 and "bits equal" not in gpu.stdout, gpu.stdout
    again = make("HOST=1", "test")
    assert "bits equal" in again.stdout and (out / "host/digits.o").stat().st_mtime_ns == built, again.stdout + again.stderr
    assert make("clean").returncode == 0 and not (out / "host").exists() and not (out / "device").exists() and not (out / ".built").exists()
