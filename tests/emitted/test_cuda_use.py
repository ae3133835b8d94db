"""How generated CUDA is used: from C, C++, ctypes and torch, by several threads; what a run asks of the runtime. On the host, thread after thread."""
import shutil
import subprocess
import sys

import pytest

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
static void told(void *data, const char *layer, const char *kernel, double device_us) {
  ++*(int *)data;
  printf("%s|%s|%d\\n", layer, kernel, device_us >= 0);
}
int main(void) {
  for (int deployment = 0; deployment < 4; ++deployment) {
    digits_handle *h = NULL;
    digits_config config = {};
    int count = 0;
    config.deployment = deployment;
    if (digits_create(&config, &h) != DIGITS_OK || digits_profile(h, told, &count) != DIGITS_OK || count != DIGITS_LAUNCHES) return 1;
    if (digits_profile(h, NULL, NULL) != DIGITS_NULL_POINTER || digits_profile(NULL, told, NULL) != DIGITS_NULL_POINTER) return 2;
    for (int at = 0; at < 3; ++at) {
      static const char *const calls[] = {"cudaEventCreate", "cudaEventRecord", "launch"};
      failing = calls[at];
      if (digits_profile(h, told, &count) != DIGITS_CUDA_FAILED || !strstr(digits_error_text(h), "failed: out of memory")) return 3;
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
    assert lines[0][:2] == ["image", "qk_quantize_cuda_i8"] and ["node_Conv_52 + node_relu_1", "qk_qconv_mma"] in [line[:2] for line in lines], lines
