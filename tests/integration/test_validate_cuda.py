"""`validate --target cuda`: code for GPUs, built without CUDA here, beside the interpreter."""
import json
import os
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    """Two inputs that are read one after the other, and an output that others read."""
    folder = tmp_path_factory.mktemp("ports")
    values = {n: helper.make_tensor_value_info(n, t, [1, 8]) for n, t in (
        ("x", TensorProto.FLOAT), ("late", TensorProto.FLOAT), ("y", TensorProto.FLOAT), ("q", TensorProto.INT8), ("z", TensorProto.FLOAT))}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "o"], ["q"], name="q"),
             helper.make_node("DequantizeLinear", ["q", "s", "o"], ["y"], name="d"),
             helper.make_node("Add", ["y", "late"], ["z"], name="a")]
    constants = [numpy_helper.from_array(np.float32(0.02), "s"), numpy_helper.from_array(np.int8(-3), "o")]
    graph = helper.make_graph(nodes, "g", [values["x"], values["late"]], [values["y"], values["q"], values["z"]], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "m.onnx")
    return folder / "m.onnx"


def test_bits_are_the_interpreters(quantc, models, root, ports):
    done = quantc("validate", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "-i", models / "digits.npz", "--target",
                  "cuda", "--host", "--per-layer", "--json")
    report = json.loads(done.stdout)
    against = {(c["run"], c["against"]): c for c in report["comparisons"]}
    assert against["cuda", "interpreter"]["bits_equal"] and report["ok"] and not report["first_layers_that_differ"]
    report = json.loads(quantc("validate", ports, "--random", "1", "--target", "cuda", "--host", "--json").stdout)
    assert report["ok"] and sum(c["run"] == "cuda" for c in report["comparisons"]) == 3


def test_without_nvcc_or_a_gpu(quantc, models, monkeypatch, tmp_path):
    """A compiler that stands for nvcc builds for the host, where choosing a device fails as it does without a GPU."""
    call = (models / "digits.onnx", "--random", "1", "--target", "cuda")
    monkeypatch.setenv("NVCC", str(tmp_path / "nvcc"))
    assert "there is no" in quantc("validate", *call, status=2).stderr
    (tmp_path / "no_gpu.h").write_text('#include <string.h>\n#define QK_HOST_STATUS(call) '
                                       '(strcmp(call, "cudaSetDevice") == 0 ? cudaErrorMemoryAllocation : cudaSuccess)\n')
    script = ['#!/bin/bash', 'args=()', 'for a in "$@"; do', '  case "$a" in -t0|-gencode|-gencode=*|arch=*|-arch=*|-fmad=*|-prec-div=*|-ftz=*|-Xcompiler) ;;',
              '  *.cu) args+=(-x c++ "$a" -x none) ;;', '  *) args+=("$a") ;; esac', 'done',
              f'exec g++ -DQK_CUDA_ON_HOST -include {tmp_path / "no_gpu.h"} -fPIC "${{args[@]}}"']
    (tmp_path / "nvcc").write_text("\n".join(script) + "\n")
    os.chmod(tmp_path / "nvcc", 0o755)
    failed = quantc("validate", *call, status=2).stderr
    assert "no GPU here runs code for target cuda: cudaSetDevice" in failed and "--host" in failed


# One range over all elements is known when every block is done, so that the first call of two leaves floats and ranges, and no codes. The
# recurrent layer is a step of the host, where that is allowed.
NO_FIRST_RESULT = """@w : f32[1, 4, 4] = [.5, .25, -1., 2., .5, .25, -1., 2., .5, .25, -1., 2., .5, .25, -1., 2.]
@r : f32[1, 4, 1] = [.5, .25, -1., 2.]
graph (%0 "x" : f32[3, 2, 4], %1 "c" : f32[4], %2 "s" : f32[4]) {
  %3 = PRODUCER
  %4, %5, %6 = quantize_dynamic(%3) {to = u8}
  %7, %8, %9 = lstm(%0, @w, @r)
  return %4 "q", %5 "scale", %6 "zero", %7 "h"
}
"""


@pytest.mark.parametrize("producer", ["rms_norm(%0) {eps = 0.1}", "silu(%0)", "rotary(%0, %1, %2)", "softmax(%0) {axis = 2}"])
def test_calls_without_their_first_result(quantc, tmp_path, producer):
    (tmp_path / "net.ir").write_text(NO_FIRST_RESULT.replace("PRODUCER", producer))
    net = (tmp_path / "net.ir", "--target", "cuda:sm_75", "--allow-host")
    program = quantc("inspect", *net, "--program").stdout
    assert re.search(r"^\w+_quantize_block\[.*-> \(floats=.*ranges=", program, re.M), program
    report = json.loads(quantc("validate", *net, "--random", "1", "--host", "--json").stdout)
    assert report["ok"] and sum(c["run"] == "cuda:sm_75" and c["bits_equal"] for c in report["comparisons"]) == 4, report


def test_a_target_of_the_options_that_does_not_run_here(quantc, models, monkeypatch, tmp_path):
    """Options for another machine: what validates the model nevertheless."""
    for target in ("cuda", "aarch64"):
        (tmp_path / "quantc.toml").write_text(f'target = "{target}"\nspecialise = "size"\n')
        monkeypatch.setenv("NVCC", str(tmp_path / "nvcc"))
        call = ("validate", models / "digits.onnx", "--random", "1", "--config", tmp_path / "quantc.toml")
        said = quantc(*call, status=2).stderr
        assert f"target {target}" in said and "--target native" in said
    quantc(*call, "--target", "native", "--cflags", "-O0 -w")
