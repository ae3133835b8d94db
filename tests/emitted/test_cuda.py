"""Generated CUDA: the digits classifier on the host, thread after thread, with the interpreter's bits; nvcc takes the file."""
import concurrent.futures
import lzma
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

from cuda_projects import batch_model

PROJECTS = {"speed": ["cuda:sm_75"], "fat": ["cuda"], "size": ["cuda", "--specialise", "size", "--weights", "incbin"], "blocks": ["cuda:sm_80"]}


@pytest.fixture(scope="module")
def int8(root):
    return ["--rules", root / "examples/digits/rules.toml", "--target", "cuda"]


@pytest.fixture(scope="module")
def projects(quantc, models, int8, tmp_path_factory):
    made = tmp_path_factory.mktemp("cuda")
    for name, flags in PROJECTS.items():
        quantc("compile", models / "digits.onnx", *int8[:-1], *flags, "-o", made / name, "--name", "digits",
               "--vectors", models / "digits.npz")
    return made


@pytest.fixture(scope="module")
def gpu_check(quantc, root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu") / "check"
    tool = [sys.executable, root / "tools/gpu_check"]
    done = subprocess.run([*tool, "prepare", quantc("--version").args[0], folder, "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return tool, folder


def make(folder, *arguments):
    done = subprocess.run(["make", "-C", folder, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("project, compiler, cc", [("speed", "g++", "gcc"), ("size", "clang++", "clang"), ("blocks", "g++", "gcc"), ("fat", "g++", "gcc")])
def test_recorded_vector_on_the_host(projects, project, compiler, cc, tmp_path):
    """Sanitizers see every thread's accesses; the device's memory is the host's there."""
    out = shutil.copytree(projects / project, tmp_path / "out")
    flags = "CFLAGS=-O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
    assert "bits equal" in make(out, "HOST=1", f"CXX={compiler}", f"CC={cc}", flags, "test")


@pytest.mark.parametrize("part, expected", [("digits", "450 of 450"), ("kernels", "0 results differ"), ("nets", "resnet18_int8_b3: net: bits equal")])
def test_gpu_check_passes_on_the_host(gpu_check, part, expected):
    """All test images, all calls of kernels that the cases of all ops and random graphs make, networks."""
    tool, folder = gpu_check
    done = subprocess.run([*tool, "run", folder, "--host", "--only", part], capture_output=True, text=True)
    assert done.returncode == 0 and expected in done.stdout, done.stdout + done.stderr


def test_every_body_for_gpus_is_recorded_and_the_interpreters_bits_are_asked_for(gpu_check, gpu_kernels, quantc, tmp_path):
    """Calls of tensor cores by tiles of all shapes; a file of cases that cannot be read is an error."""
    calls = tmp_path / "recorded.bin"
    calls.write_bytes(lzma.decompress((gpu_check[1] / "kernels/calls.bin.xz").read_bytes()))
    assert gpu_kernels.written_for_gpus() <= gpu_kernels.recorded(calls), sorted(gpu_kernels.written_for_gpus() - gpu_kernels.recorded(calls))
    assert len(gpu_kernels.written_for_gpus()) >= 51
    data, symbol, shapes = calls.read_bytes(), b"qk_qtile_mma", set()
    at = data.find(len(symbol).to_bytes(4, "little") + symbol)
    while at >= 0:
        params = at + 4 + len(symbol) + 8 + 4
        shapes.add(int.from_bytes(data[params + 21 * 4:params + 22 * 4], "little"))  # the 21 numbers before it are sizes
        at = data.find(len(symbol).to_bytes(4, "little") + symbol, params)
    assert shapes == set(range(7)), shapes
    record = pathlib.Path(quantc("--version").args[0]).parent / "record_calls"
    done = subprocess.run([record, tmp_path / "calls.bin", tmp_path / "missing.ir"], capture_output=True, text=True)
    assert done.returncode == 1 and "missing.ir" in done.stderr and "No such file" in done.stderr, done.stderr


def test_gpu_check_measures_on_the_host(gpu_check):
    """With the quantc that `prepare` put there, at a tiny size: a product, built and run interleaved with torch."""
    tool, folder = gpu_check
    done = subprocess.run([*tool, "bench", folder, "--host", "product 4096"], capture_output=True, text=True)
    assert done.returncode == 0 and "ok     product 4096, 40: 3 more runs give one answer" in done.stdout, done.stdout + done.stderr
    text = (folder / "bench.md").read_text()
    assert "| product 4096 | 40 |" in text and "- commit " in text and " TOPS " in text and "| qk_qtile_mma | 1 |" in text, text


@pytest.mark.parametrize("work, names", [("m", ["mobilenet_v2", "minilm, 128 tokens"]), ("llama", ["llama block, 128 tokens"]),
                                         pytest.param("resnet", ["resnet50", "resnet18"], marks=pytest.mark.soak)])
def test_gpu_check_compares_networks_of_real_size(gpu_check, work, names):
    """Tiny here: models are made by torch, calibrated, built for a range of batches, and compared row by row."""
    tool, folder = gpu_check
    done = subprocess.run([*tool, "run", folder, "--host", "--only", "full,sanitize", work], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in names:
        assert f"ok     {name}: batch 3 has the interpreter's bits" in done.stdout, done.stdout


def test_gpu_check_keeps_its_time(gpu_check):
    """What does not come to its turn fails with the reason; the page has it."""
    tool, folder = gpu_check
    done = subprocess.run([*tool, "run", folder, "--host", "--only", "nets,kernels", "--seconds", "0.01"], capture_output=True, text=True)
    assert done.returncode == 1 and "FAILED nets: TimeoutError" in done.stdout and "FAILED kernels: TimeoutError" in done.stdout, done.stdout + done.stderr
    assert "0 checks passed, 2 failed" in (folder / "results.md").read_text()


def test_gpu_check_says_that_there_is_no_gpu(gpu_check, root, tmp_path):
    """The driver's library is asked: here one that knows a GPU of compute capability 8.9, or none at all."""
    tool, folder = gpu_check
    (tmp_path / "cuda.c").write_text("""#include <string.h>
int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGet(int *device, int number) { return *device = number; }
int cuDeviceGetName(char *to, int room, int device) { strncpy(to, "A card", room); return device; }
int cuDeviceGetAttribute(int *to, int what, int device) { *to = what == 75 ? 8 : what == 76 ? 9 : 1000 * what; return device; }
""")
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "cuda.c", "-o", tmp_path / "libown.so"], check=True)
    sys.path.insert(0, str(root / "tools"))
    import gpu_machine
    assert gpu_machine.gpu(str(tmp_path / "libown.so")) == {"name": "A card", "capability": 89, "processors": 16000, "mhz": 13, "memory_mhz": 36}
    assert gpu_machine.gpu("libnone.so") is None
    if gpu_machine.gpu() is None:
        done = subprocess.run([*tool, "run", folder], capture_output=True, text=True)
        assert done.returncode == 1 and "there is no GPU here" in done.stderr, done.stdout + done.stderr


FAILING = """#include <string.h>
static const char *failing = "";
static int failing_at = 0;
#define QK_HOST_STATUS(call) (strcmp(call, failing) == 0 && failing_at-- == 0 ? cudaErrorMemoryAllocation : cudaSuccess)
"""
FAULTS = """
#include <stdio.h>
int main(void) {
  static const struct { const char *call; int at; } faults[] = {
    {"cudaSetDevice", 0}, {"cudaStreamCreateWithFlags", 0}, {"cudaMalloc", 0}, {"cudaMalloc", 1},
    {"cudaMemcpyAsync", 0}, {"cudaMemcpyAsync", 1}, {"launch", 0}, {"launch", 4}, {"cudaMemcpyAsync", 2},
    {"cudaStreamSynchronize", 1}, {"cudaGraphInstantiate", 0}, {"cudaGraphLaunch", 0}, {"cudaDeviceGetAttribute", 0},
    {"cudaStreamIsCapturing", 0}};
  float image[64] = {0}, scores[10];
  const void *inputs[] = {image};
  void *outputs[] = {scores};
  for (unsigned i = 0; i < sizeof faults / sizeof *faults; ++i) {
    digits_handle *handle;
    failing = faults[i].call;
    failing_at = faults[i].at;
    int code = digits_create(NULL, &handle);
    if (code == DIGITS_OK) code = digits_run_host(handle, inputs, outputs);
    printf("%d %s\\n", code, digits_error_text(handle));
    failing = "";
    if (code != DIGITS_OK && handle != NULL && *digits_error_text(handle) == 0) return 1;
    digits_destroy(handle);
  }
  digits_destroy(NULL);
  return digits_create(NULL, NULL) == DIGITS_NULL_POINTER ? 0 : 1;
}
"""


RUNS = """
#include <stdio.h>
#include <string.h>
int main(void) {
  static float image[64], scores[10], more[10];
  static unsigned char arena[DIGITS_DEVICE_ARENA_BYTES + 256], weights[DIGITS_WEIGHT_BYTES + 256];
  for (int i = 0; i < 64; ++i) image[i] = (float)(i % 16) / 16;
  const void *inputs[] = {image};
  void *outputs[] = {scores}, *others[] = {more};
  for (int deployment = 0; deployment < 4; ++deployment) {
    digits_config config = {0, deployment == 1, deployment, NULL, NULL, 0, 0, NULL};
    if (deployment == 2) { /* memory of the caller's */
      config.arena = (void *)(((uintptr_t)arena + 255) / 256 * 256);
      config.weights = (void *)(((uintptr_t)weights + 255) / 256 * 256);
    }
    digits_handle *handle;
    if (digits_create(&config, &handle) != DIGITS_OK || digits_run_host(handle, inputs, outputs) != DIGITS_OK) return 1;
    memset(more, 0, sizeof more);
    if (digits_run(handle, inputs, others, NULL) != DIGITS_OK || memcmp(scores, more, sizeof more) != 0) return 2;
    if (digits_run(handle, inputs, NULL, NULL) != DIGITS_NULL_POINTER || digits_run(NULL, inputs, outputs, NULL) != DIGITS_NULL_POINTER) return 3;
    digits_analysis figures;
    if (digits_analyze(handle, &figures) != DIGITS_OK || figures.launches != DIGITS_LAUNCHES || !*figures.reason) return 4;
    if (figures.weight_bytes != DIGITS_WEIGHT_BYTES || figures.deployment == DIGITS_AUTO) return 5;
    digits_destroy(handle);
  }
  digits_config config = {0, 0, 4, NULL, NULL, 0, 0, NULL};
  digits_handle *handle;
  const int code = digits_create(&config, &handle);
  printf("%d %s\\n", code, digits_error_text(handle));
  digits_destroy(handle);
  return 0;
}
"""


def test_deployments_and_memory_of_the_callers(projects, tmp_path):
    """Every way of starting kernels gives one answer; the device's memory may be the caller's."""
    out = shutil.copytree(projects / "speed", tmp_path / "out")
    (out / "runs.cpp").write_text('#include "digits.cu"\n' + RUNS)
    subprocess.run(["gcc", "-c", "digits_weights.c"], cwd=out, check=True)
    subprocess.run(["g++", "-std=c++20", "-DQK_CUDA_ON_HOST", "-fsanitize=address,undefined", "runs.cpp", "digits_weights.o", "-o", "runs"],
                   cwd=out, check=True)
    assert subprocess.run([out / "runs"], check=True, capture_output=True, text=True).stdout == "4 there is no deployment 4\n"


def test_every_failure_has_a_code_and_a_text(projects, tmp_path):
    """It names the call, and for launches the kernel and the layer; nothing leaks."""
    out = shutil.copytree(projects / "speed", tmp_path / "out")
    (out / "faults.cpp").write_text(FAILING + '#include "digits.cu"\n' + FAULTS)
    subprocess.run(["gcc", "-c", "digits_weights.c"], cwd=out, check=True)
    subprocess.run(["g++", "-std=c++20", "-DQK_CUDA_ON_HOST", "-fsanitize=address,undefined", "faults.cpp", "digits_weights.o",
                    "-o", "faults"], cwd=out, check=True)
    lines = subprocess.run([out / "faults"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) == 14 and all(line.startswith("6 ") and line.endswith("failed: out of memory (cudaErrorMemoryAllocation)")
                                    for line in lines), lines
    assert lines[2].startswith("6 cudaMalloc of the weights failed"), lines
    assert lines[5].startswith("6 cudaMemcpyAsync for layer 'image' failed"), lines
    assert lines[6].startswith("6 launch of kernel qk_quantize_i8 for layer 'image' failed"), lines
    assert "kernel qk_qtile_dp4a for layer 'node_Conv_54 + node_add + node_relu_2'" in lines[7], lines


@pytest.mark.parametrize("project, gpu", [("speed", "sm_90"), ("size", "sm_90"), ("blocks", "sm_90"), ("fat", "sm_75"), ("fat", "sm_100")])
def test_nvcc_takes_it_without_a_warning(projects, project, gpu, nvcc, tmp_path):
    """A file for all GPUs leaves bodies for newer ones empty in code for older ones."""
    stacks = compiled(nvcc, projects / project / "digits.cu", gpu, tmp_path / "digits.o")
    assert (tmp_path / "digits.o").stat().st_size > 10_000
    if project in ("size", "blocks"):
        assert len(stacks) >= 3 and set(stacks.values()) == {"0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"}, stacks


@pytest.mark.parametrize("gpu", ["sm_75", "sm_90"])
def test_nvcc_takes_what_only_gpus_run(projects, root, nvcc, gpu, tmp_path):
    """The programs of tools/gpu_check that call generated code, and the loops that measure a GPU's limits."""
    peak = tmp_path / "peak.cu"
    peak.write_text("".join((root / "runtime/cuda" / name).read_text() for name in ("launch.h", "device_peak.h")))
    if gpu == "sm_90":
        done = subprocess.run([nvcc, "-std=c++20", "-O1", "-gencode=arch=compute_90a,code=sm_90a", "-DQK_PEAK_WGMMA", "-Werror", "all-warnings", "-c", peak, "-o",
                               tmp_path / "made.o"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for source in (peak, root / "tests/emitted/cuda_api.cpp", root / "tests/emitted/cuda_faults.cpp"):
        done = subprocess.run([nvcc, "-std=c++20", "-O1", f"-arch={gpu}", "-fmad=false", "-Werror", "all-warnings", "-x", "cu", "-I", projects / "speed", "-c",
                               source, "-o", tmp_path / "made.o"], capture_output=True, text=True)
        assert done.returncode == 0, f"{source.name}: {done.stderr}"


def compiled(nvcc, source, gpu, to, body="qk_qtile_mma"):
    """Compiles without a warning; says what kernels of a body for tensor cores keep outside their registers."""
    done = subprocess.run([nvcc, "-std=c++20", "-O2", f"-arch={gpu}", "-fmad=false", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra",
                           "-Xptxas", "-v", "-c", source, "-o", to], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    blocks = re.findall(rf'qk_launch_blocks\(queue, (\w+),.*"{body}"', source.read_text())
    found = re.findall(r"Compiling entry function '(\w+)'.*\n.*\n\s*(.*)", done.stderr)
    return {name: stack for name in blocks for entry, stack in found if f"{len(name)}{name}E" in entry}


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90"])
def test_tiles_of_a_free_batch_are_in_registers(quantc, nvcc, gpu, tmp_path):
    """What is not free are constants: registers have no index that is known at run time only."""
    model = batch_model(tmp_path / "net.onnx")
    quantc("calibrate", model, "--data", model.with_suffix(".npz"), "--dim", "batch=8", "-o", tmp_path / "rules.toml")
    quantc("compile", model, "--rules", tmp_path / "rules.toml", "--dim", "batch=1..256", "--target", f"cuda:{gpu}", "-o", tmp_path / "out", "--name", "net")
    stacks = compiled(nvcc, tmp_path / "out/net.cu", gpu, tmp_path / "net.o")
    assert set(stacks) == {"net_conv_relu", "net_fc"} and set(stacks.values()) == {"0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"}, stacks


@pytest.mark.parametrize("gpu, rules", [("sm_80", "static"), ("sm_90", "token")])
def test_scores_of_attention_are_in_registers(quantc, nvcc, models, gpu, rules, tmp_path):
    """With static scales, and with scales found per row; a warning of any kernel of such a network is an error, too."""
    model, to = models / "timm_test_vit.onnx", tmp_path / "out"
    if rules == "static":
        quantc("calibrate", model, "--data", model.with_suffix(".npz"), "-o", tmp_path / "rules.toml")
    else:
        (tmp_path / "rules.toml").write_text("[[rule]]\npattern = '.*'\nkind = 'dynamic'\nper_token = true\nper_channel = true\nskip_unsupported = true\n")
    quantc("compile", model, "--rules", tmp_path / "rules.toml", "--target", f"cuda:{gpu}", "-o", to, "--name", "net")
    stacks = compiled(nvcc, to / "net.cu", gpu, tmp_path / "net.o", "qk_qattention_mma")
    assert stacks and set(stacks.values()) == {"0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"}, stacks


ARCHITECTURES = [75, 80, 86, 89, 90, 100]


def nvcc_takes(nvcc, root, folder, tables, architectures, assembled=()):
    """Compiles sources of kernels, two at a time, for each architecture, for some of them to the GPU's own code; warnings are errors."""
    def one(table):
        codes = [f"-gencode=arch=compute_{a},code={'sm' if a in assembled else 'compute'}_{a}" for a in architectures if a >= 80 or not table.endswith("mma")]
        if table.endswith("wgmma"):
            codes = ["-gencode=arch=compute_90a,code=sm_90a"]
        return subprocess.run([nvcc, "-std=c++20", "-I", folder, "-I", root, *codes, "-Xcicc", "-O0", "-Xptxas", "-O0,--warning-as-error", "-fmad=false",
                               "-Werror", "all-warnings", "-fatbin", folder / f"{table}.cu", "-o", folder / f"{table}.fatbin"], capture_output=True, text=True)
    shutil.copy(root / "tests/cuda/replay.h", folder)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for table, done in zip(tables, pool.map(one, tables)):
            assert done.returncode == 0, f"{table}: {done.stderr}"


def test_nvcc_takes_all_kernels_without_a_warning(gpu_kernels, nvcc, root, tmp_path):
    """A body of each kernel and op. What is written for CUDA is compiled for every architecture, and for the oldest and the H200's to its own code;
    the portable C does not ask which it is."""
    tables = gpu_kernels.write(tmp_path, gpu_kernels.some_of_each())
    own = [t for t in tables if not t.endswith("portable")]
    assert len(own) >= 10 and len(tables) >= 50
    nvcc_takes(nvcc, root, tmp_path, own, ARCHITECTURES, assembled=(75, 90))
    nvcc_takes(nvcc, root, tmp_path, [t for t in tables if t not in own], ARCHITECTURES[:1])


@pytest.mark.soak
def test_nvcc_takes_all_bodies_for_all_architectures(gpu_kernels, nvcc, root, tmp_path):
    tables = gpu_kernels.write(tmp_path)
    own = [t for t in tables if not t.endswith("portable")]
    nvcc_takes(nvcc, root, tmp_path, own, ARCHITECTURES, assembled=ARCHITECTURES)
    nvcc_takes(nvcc, root, tmp_path, [t for t in tables if t not in own], ARCHITECTURES)


def test_docs_say_what_computes_each_kernel(gpu_kernels, root):
    assert gpu_kernels.table() in (root / "docs/cuda-kernel-list.md").read_text(), "python3 tools/gpu_kernels.py prints the table"


@pytest.fixture(scope="module")
def gpu_kernels(root):
    sys.path.insert(0, str(root / "tools"))
    import gpu_kernels
    return gpu_kernels


@pytest.mark.parametrize("name", ["tv_mobilenet_v2_025", "micro_kws_m_qoperator", "timm_test_resnet", "timm_test_vit", "hf_llama", "unetlet",
                                  "lstm", "gru"])
def test_networks_run_by_units_of_portable_kernels(name, quantc, models, tmp_path):
    """What has no body for CUDA is computed by the portable one, a thread for each unit, one thread where it has none."""
    quantc("compile", models / f"{name}.onnx", "--target", "cuda", "--specialise", "size", "-o", tmp_path / "out", "--name", "net",
           "--vectors", models / f"{name}.npz")
    flags = "CFLAGS=-O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
    assert "bits equal" in make(tmp_path / "out", "HOST=1", flags, "test")


def test_code_for_tensor_cores_is_not_built_for_older_gpus(projects, nvcc, tmp_path):
    done = subprocess.run([nvcc, "-std=c++20", "-O0", "-arch=sm_75", "-c", projects / "blocks/digits.cu", "-o", tmp_path / "digits.o"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "for GPUs from sm_80 on" in done.stderr, done.stderr


def test_nvcc_takes_portable_kernels(quantc, models, nvcc, tmp_path):
    quantc("compile", models / "micro_kws_m_qoperator.onnx", "--target", "cuda", "--specialise", "size", "-o", tmp_path / "out", "--name", "net")
    done = subprocess.run([nvcc, "-std=c++20", "-O1", "-arch=sm_80", "-fmad=false", "-Werror", "all-warnings", "-Xcompiler",
                           "-Wall,-Wextra", "-c", tmp_path / "out/net.cu", "-o", tmp_path / "net.o"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_it_cannot_do_is_refused(quantc, models, int8, tmp_path):
    model = models / "digits.onnx"
    done = quantc("compile", model, *int8, "--threads", "-o", tmp_path / "out", status=1)
    assert "target cuda has threads of its own" in done.stderr, done.stderr


def test_never_chosen_by_itself(quantc):
    lines = quantc("targets").stdout.splitlines()
    cuda = next(line for line in lines if line.startswith("cuda "))
    assert "runs here" not in cuda and not lines[-1].endswith(" cuda"), lines


def test_program_copies_at_the_ports(quantc, models, int8):
    text = quantc("inspect", models / "digits.onnx", *int8, "--program").stdout
    steps = [line for line in text.splitlines() if line.endswith(")") and not line.startswith(("%", "input", "output"))]
    assert steps[0].startswith("copy %") and steps[-1].startswith("copy %") and sum("copy %" in s for s in steps) == 2, text
    assert all(re.match(r"\w+\[cuda\b", s) or re.match(r"parallel \d{2,} (de)?quantize", s) for s in steps[1:-1]) and len(steps) >= 10, text
    assert text.count(" device constant ") == text.count(" constant ") > 10, text


def test_channels_are_transposed_at_the_edges(quantc, tmp_path):
    """Three channels in and four out: quantize and dequantize move them to the end and back."""
    rng = np.random.default_rng(1)
    weights = onnx.numpy_helper.from_array(rng.normal(size=(4, 3, 3, 3)).astype(np.float32), "w")
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
             for name, shape in (("x", [1, 3, 6, 5]), ("y", [1, 4, 6, 5]))]
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", ports[:1], ports[1:], [weights])), tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", in_0=rng.normal(size=(1, 3, 6, 5)).astype(np.float32))
    quantc("calibrate", tmp_path / "m.onnx", "--data", tmp_path / "in.npz", "-o", tmp_path / "rules.toml")
    flags = ["--rules", tmp_path / "rules.toml", "--target", "cuda"]
    text = quantc("inspect", tmp_path / "m.onnx", *flags, "--program").stdout
    assert "\nquantize_transposed_device[" in text and "\ndequantize_transposed_device[" in text, text
    quantc("compile", tmp_path / "m.onnx", *flags, "-o", tmp_path / "out", "--name", "net", "--vectors", tmp_path / "in.npz")
    assert "bits equal" in make(tmp_path / "out", "HOST=1", "test")
