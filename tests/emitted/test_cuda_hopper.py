"""Products by the instructions that Hopper alone has: which tiles are chosen, that nvcc leaves them as they are, bits, and what other GPUs are told."""
import re
import subprocess

import numpy as np
import pytest
from tests.support.onnx_models import node, save, value, weight

# Rows, terms and outputs for which each shape of tiles is chosen, small ones where there are any.
SHAPES = {8: (4096, 512, 1024), 9: (1024, 16, 2304), 10: (512, 128, 2304), 11: (512, 16, 2304), 12: (128, 16, 2304)}
RULES = "[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = 0.05\nper_channel = true\n"


def products(folder, sizes):
    """A model with a product for each size."""
    rng = np.random.default_rng(0)
    nodes = [node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"], name=f"product{i}") for i in range(len(sizes))]
    model = save(folder / "net.onnx", nodes, [value(f"x{i}", [m, k]) for i, (m, k, _) in enumerate(sizes)],
                 [value(f"y{i}", [m, n]) for i, (m, _, n) in enumerate(sizes)],
                 [weight(f"w{i}", rng.normal(size=(k, n)).astype(np.float32)) for i, (_, k, n) in enumerate(sizes)])
    np.savez(folder / "in.npz", **{f"x{i}": rng.normal(size=(m, k)).astype(np.float32) for i, (m, k, _) in enumerate(sizes)})
    (folder / "rules.toml").write_text(RULES)
    return model


def test_every_shape_of_tiles_is_chosen_and_compiled_as_it_is_written(quantc, nvcc, tmp_path):
    """No instruction of the compiler's between those that multiply (C75..), no register outside of the registers."""
    model = products(tmp_path, SHAPES.values())
    flags = ["--rules", tmp_path / "rules.toml", "--target", "cuda:sm_90a"]
    program = quantc("inspect", model, "--program", *flags).stdout
    assert [int(s) for s in re.findall(r"qtile_blocks\[wgmma\].* shape = (\d+)", program)] == list(SHAPES), program
    quantc("compile", model, *flags, "-o", tmp_path / "out", "--name", "net")
    done = subprocess.run([nvcc, "-std=c++20", "-O2", "-gencode=arch=compute_90a,code=sm_90a", "-fmad=false", "-Werror", "all-warnings", "-Xptxas", "-v", "-c",
                           tmp_path / "out/net.cu", "-o", tmp_path / "net.o"], capture_output=True, text=True)
    assert done.returncode == 0 and "C75" not in done.stderr, done.stderr
    stacks = re.findall(r"\d+ bytes stack frame.*", done.stderr)
    assert len(stacks) > len(SHAPES) and set(stacks) == {"0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"}, done.stderr
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", done.stderr)]
    assert sum(n > 128 for n in registers) <= 2, "two blocks of the smaller tiles are to share a multiprocessor"


@pytest.fixture(scope="module")
def small(quantc, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hopper")
    model = products(folder, [SHAPES[s] for s in (9, 11, 12)])
    quantc("compile", model, "--rules", folder / "rules.toml", "--target", "cuda:sm_90a", "-o", folder / "out", "--name", "net", "--vectors", folder / "in.npz")
    return folder / "out"


@pytest.mark.parametrize("capability, answer", [(90, "bits equal"),
                                                (100, "failed with code 7: device 0 has compute capability 10.0, and the code is for 9.0 alone")])
def test_bits_on_the_host_and_what_other_gpus_are_told(small, capability, answer):
    done = subprocess.run(["make", "-B", "-C", small, "HOST=1", f"CFLAGS=-O2 -Wall -Wextra -Werror -DQK_HOST_CAPABILITY={capability}", "test"], capture_output=True,
                          text=True)
    assert answer in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("flag, refusal", [("-arch=sm_90a", ""), ("-arch=sm_90", "this_code_is_for_sm_90a_and_not_sm_90"),
                                           ("-arch=sm_80", "this code is for sm_90a"), ("-arch=sm_100", "this code is for sm_90a")])
def test_nvcc_takes_the_generation_by_its_name_and_no_other(quantc, nvcc, flag, refusal, tmp_path):
    """With -arch=sm_90a it also compiles for compute_90, which lacks the instructions."""
    model = products(tmp_path, [SHAPES[12]])
    quantc("compile", model, "--rules", tmp_path / "rules.toml", "--target", "cuda:sm_90a", "-o", tmp_path / "out", "--name", "net")
    assert "qk_qtile_wgmma(" in (tmp_path / "out/net.cu").read_text()
    done = subprocess.run([nvcc, "-std=c++20", flag, "-O1", "-fmad=false", "-Werror", "all-warnings", "-fatbin", tmp_path / "out/net.cu", "-o",
                           tmp_path / "net.fatbin"], capture_output=True, text=True)
    assert (done.returncode != 0) == bool(refusal) and refusal in done.stderr, done.stderr


def test_build_files_name_the_generation_alone(small):
    assert "-gencode=arch=compute_90a,code=sm_90a" in (small / "Makefile").read_text()
    assert 'set(CMAKE_CUDA_ARCHITECTURES "90a")' in (small / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("size, why", [((128, 24, 2304), "input channels are no multiple of 16"), ((16, 64, 64), "estimated")])
def test_other_products_stay_with_mma(quantc, size, why, tmp_path):
    model = products(tmp_path, [size])
    said = quantc("inspect", model, "--kernels", "--rules", tmp_path / "rules.toml", "--target", "cuda:sm_90a").stdout
    assert re.search(rf"^  not wgmma: {why}", said, re.M) and "(mma), estimated" in said, said
