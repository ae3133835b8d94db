"""Faults, memory and steps of the host of generated CUDA, with the stand-in for the runtime; `tools/gpu_check` runs the same faults on a GPU."""
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest

from cuda_projects import build_host

FLAGS = "CFLAGS=-O0 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"


def make(folder, *arguments, status=0):
    done = subprocess.run(["make", "-C", folder, *arguments], capture_output=True, text=True)
    assert (done.returncode == 0) == (status == 0), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def digits(quantc, root, models, tmp_path_factory):
    """The digits network for all GPUs, built for the host."""
    out = tmp_path_factory.mktemp("faults") / "out"
    quantc("compile", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--target", "cuda", "-o", out, "--name", "digits",
           "--vectors", models / "digits.npz")
    return out


def test_every_fault_has_a_code_and_a_text_and_nothing_leaks(quantc, root, tmp_path):
    """Null pointers, a wrong device, out of memory, faults after which all calls fail, 1,000 handles one after another: of a small network."""
    weights = onnx.numpy_helper.from_array(np.ones((64, 10), np.float32), "w")
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size]) for name, size in (("x", 64), ("y", 10))]
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["t"]), onnx.helper.make_node("Sigmoid", ["t"], ["y"])]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], [weights])), tmp_path / "m.onnx")
    out = tmp_path / "out"
    quantc("compile", tmp_path / "m.onnx", "--target", "cuda", "-o", out, "--name", "digits")
    shutil.copy(root / "tests/emitted/cuda_faults.cpp", out)
    subprocess.run(["gcc", "-c", "digits_weights.c"], cwd=out, check=True)
    subprocess.run(["g++", "-std=c++20", "-O1", "-DQK_CUDA_ON_HOST", "-fsanitize=address,undefined", "cuda_faults.cpp", "digits_weights.o", "-o", "faults"],
                   cwd=out, check=True)
    done = subprocess.run([out / "faults"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("ok ") == 10 and "FAILED" not in done.stdout, done.stdout + done.stderr[-3000:]
    assert "cudaSetDevice failed: invalid device ordinal (cudaErrorInvalidDevice)" in done.stdout, done.stdout


@pytest.mark.parametrize("capability, answer", [(80, "bits equal"), (75, "bits equal"),
                                                (70, "failed with code 7: device 0 has compute capability 7.0, and the code is for 7.5 and later")])
def test_code_for_all_gpus_takes_what_this_one_can_run(digits, capability, answer, tmp_path):
    out = shutil.copytree(digits, tmp_path / "out")
    done = subprocess.run(["make", "-C", out, "HOST=1", f"CFLAGS=-O0 -Wall -Wextra -Werror -DQK_HOST_CAPABILITY={capability}", "test"], capture_output=True, text=True)
    assert answer in done.stdout, done.stdout + done.stderr


CHECKED = """
int main(void) {
  static float image[64], scores[10], more[10];
  for (int i = 0; i < 64; ++i) image[i] = (float)(i % 16) / 16;
  const void *inputs[] = {image};
  void *outputs[] = {scores}, *others[] = {more};
  for (int deployment = 0; deployment < 4; ++deployment) {
    digits_handle *h = NULL;
    digits_config config = {};
    digits_analysis figures;
    config.check = 1;
    config.deployment = deployment;
    int code = digits_create(&config, &h);
    if (code == DIGITS_OK) code = digits_analyze(h, &figures);
    if (code == DIGITS_OK) code = digits_run_host(h, inputs, outputs);
    qk_host_capturing = 1; /* the caller's own graph */
    if (code == DIGITS_OK) code = digits_run(h, inputs, others, NULL);
    const int waited = cudaStreamSynchronize(NULL) != cudaSuccess;
    qk_host_capturing = 0;
    if (code == DIGITS_OK) code = digits_run(h, inputs, others, NULL);
    printf("%d %s%d %d\\n", code, digits_error_text(h), memcmp(scores, more, sizeof more), waited);
    digits_destroy(h);
  }
  return 0;
}
"""


def test_a_handle_that_waits_for_every_kernel_waits_for_none_that_becomes_part_of_a_graph(digits, tmp_path):
    """Nobody may wait while a graph is made, by the handle or by the caller; the stand-in says so as CUDA does."""
    program = build_host(shutil.copytree(digits, tmp_path / "out"), CHECKED)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == "0 0 1\n" * 4


OVERLAP = """
int main(void) {
  for (int deployment = 0; deployment < 4; ++deployment) {
    digits_handle *h = NULL;
    digits_config config = {};
    config.deployment = deployment;
    if (digits_create(&config, &h) != DIGITS_OK) return 9;
    printf("%d", h->session.queue.overlap);
    digits_destroy(h);
  }
  return 0;
}
"""


@pytest.mark.parametrize("device, code, overlaps", [(90, 90, "0010"), (90, 80, "0000"), (80, 80, "0000"), (100, 90, "0010")])
def test_kernels_overlap_where_they_were_compiled_to_wait_for_each_other(digits, device, code, overlaps, tmp_path):
    """Code for older GPUs has no such wait, and runs on newer ones all the same."""
    flags = [f"-DQK_HOST_CAPABILITY={device}", f"-DQK_HOST_COMPILED={code}", "-fno-sanitize=all"]
    program = build_host(shutil.copytree(digits, tmp_path / "out"), OVERLAP, flags=flags)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == overlaps


DEVICES = """
int main(void) {
  static float image[64], scores[10];
  const void *inputs[] = {image};
  void *outputs[] = {scores};
  for (int deployment = 0; deployment < 4; ++deployment) {
    digits_handle *h = NULL;
    digits_config config = {};
    digits_analysis figures;
    config.device = 1;
    config.deployment = deployment;
    int made = digits_create(&config, &h), now = qk_host_device;
    printf("%d%d", made, now);
    made = digits_run_host(h, inputs, outputs), now = qk_host_device;
    printf("%d%d", made, now);
    made = digits_run(h, inputs, outputs, NULL), now = qk_host_device;
    printf("%d%d", made, now);
    made = digits_analyze(h, &figures), now = qk_host_device;
    digits_destroy(h);
    printf("%d%d%d ", made, now, qk_host_device);
  }
  return 0;
}
"""


def test_the_callers_device_stays_the_current_one(digits, tmp_path):
    program = build_host(shutil.copytree(digits, tmp_path / "out"), DEVICES, flags=["-DQK_HOST_DEVICES=2"])
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == "000000000 " * 4


PARTS = """
int main(void) {
  digits_handle *h = NULL;
  if (digits_create(NULL, &h) != DIGITS_OK) return 9;
  const qk_program *const part = h->session.program;
  printf("%d %d %d\\n", part->capability, (int)part->weight_bytes, (int)(part - h->session.model->programs));
  digits_destroy(h);
  return 0;
}
"""


def test_only_the_weights_of_the_chosen_code_are_uploaded(digits, tmp_path):
    sizes = {}
    for capability in (90, 75):
        out = shutil.copytree(digits, tmp_path / str(capability))
        program = build_host(out, PARTS, flags=[f"-DQK_HOST_CAPABILITY={capability}", "-fno-sanitize=all"])
        least, weights, part = map(int, subprocess.run([program], check=True, capture_output=True, text=True).stdout.split())
        sizes[capability] = weights
        assert least == (80 if capability == 90 else 75) and part == (0 if capability == 90 else 1)
    whole = int(re.search(r"DIGITS_WEIGHT_BYTES (\d+)", (digits / "digits.h").read_text())[1])
    most = int(re.search(r"DIGITS_DEVICE_WEIGHT_BYTES (\d+)", (digits / "digits.h").read_text())[1])
    assert sizes[75] < sizes[90] == most < whole <= sizes[75] + sizes[90], sizes


def test_cmake_builds_and_runs_it(digits, tmp_path):
    for command in (["cmake", "-S", digits, "-B", tmp_path / "b", "-DDIGITS_HOST=ON"], ["cmake", "--build", tmp_path / "b"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["ctest", "--test-dir", tmp_path / "b", "--output-on-failure"], capture_output=True, text=True)
    assert "100% tests passed" in done.stdout and (tmp_path / "b/libdigits.so").exists(), done.stdout
    text = (digits / "CMakeLists.txt").read_text()
    assert 'set(CMAKE_CUDA_ARCHITECTURES "75;80;86;89;90;100")' in text and "-fmad=false" in text


def test_weights_in_a_file_of_their_own(quantc, models, tmp_path):
    """They are read when a handle is created; without them there is none, and those of another model are known."""
    quantc("compile", models / "digits.onnx", "--target", "cuda", "--weights", "file", "-o", tmp_path / "out", "--vectors", models / "digits.npz")
    assert "bits equal" in make(tmp_path / "out", "HOST=1", FLAGS, "test")
    assert not list((tmp_path / "out").glob("*_weights.[cSo]"))
    program = build_host(tmp_path / "out", """int main(void) {
  digits_handle *h = NULL;
  const int code = digits_create(NULL, &h);
  printf("%d %s\\n", code, digits_error_text(h));
  digits_destroy(h);
  return 0;
}""")
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == "1 the weights are a file, and host_weights is null\n"
    blob = tmp_path / "out/digits_weights.bin"
    blob.write_bytes(blob.read_bytes()[:-1] + b"\xff")
    assert "is missing or of another model" in make(tmp_path / "out", "HOST=1", FLAGS, "test", status=1)


def test_steps_of_the_host_are_asked_for_and_shown(quantc, models, tmp_path):
    """Copies there and back are steps of the program; header and warnings name the layers."""
    flags = ["--target", "cuda:sm_75", "--allow-host"]
    done = quantc("compile", models / "lstm.onnx", *flags, "-o", tmp_path / "out", "--name", "net", "--vectors", models / "lstm.npz")
    line = r"lstm_panels for layer 'node_LSTM_112' \(\d+ bytes to the host, \d+ back\)"
    assert re.search("runs on the host, with copies there and back: " + line, done.stderr), done.stderr
    assert re.search(r"Steps that run on the host.*\n \* " + line, (tmp_path / "out/net.h").read_text())
    assert (tmp_path / "out/net.cu").read_text().count("cudaLaunchHostFunc(queue->stream") == 2
    assert "bits equal" in make(tmp_path / "out", "HOST=1", FLAGS, "test")
    quantc("compile", models / "lstm.onnx", "--target", "cuda:sm_75", "-o", tmp_path / "device", "--name", "net")
    assert "cudaLaunchHostFunc(queue" not in (tmp_path / "device/net.cu").read_text()


@pytest.mark.parametrize("name", ["digits", "tv_mobilenet_v2_025", "timm_test_resnet", "micro_kws_m_qoperator", "cnn_mnist_pytorch"])
def test_the_devices_memory_is_near_what_lives_there(name, quantc, models, tmp_path):
    """Arena and weights take at most 1.05 times the bytes live together and the weights."""
    done = quantc("compile", models / f"{name}.onnx", "--target", "cuda", "-o", tmp_path / "out", "--name", "net")
    arena, live, weights = map(int, re.search(r"on the device: arena (\d+) bytes, of which (\d+) are live together, weights (\d+)", done.stdout).groups())
    print(f"{name}: {arena + weights} bytes, {(arena + weights) / (live + weights):.3f} of what is live")
    assert live > 0 and arena + weights <= 1.05 * (live + weights), done.stdout
    header = (tmp_path / "out/net.h").read_text()
    assert f"NET_DEVICE_ARENA_BYTES {arena}\n" in header and f"NET_DEVICE_WEIGHT_BYTES {weights}\n" in header and f" {live} bytes are live together" in header
