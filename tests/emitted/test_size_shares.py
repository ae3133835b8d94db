"""--specialise size: the bits of speed, in less code, and one function for each body and set of operands."""
import re
import subprocess

import pytest

NETWORKS = [("digits.onnx", ["--rules", "examples/digits/rules.toml"]), ("micro_kws_m_qoperator.onnx", []), ("tv_mobilenet_v2_025.onnx", []), ("lstm.onnx", [])]


def code_of(folder, compiler):
    """Bytes of .text, and what every function of a layer calls with which operands absent."""
    done = subprocess.run([compiler, "-Os", "-std=c11", "-DQUANTC_SLOW_FMA", "-ffp-contract=off", "-c", "net.c", "-o", "net.o"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sections = subprocess.run(["size", "-A", "net.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
    calls = re.findall(r"^  (qk_\w+)\(&p((?:, \w+)*)\);$", (folder / "net.c").read_text(), re.M)
    functions = [(body, tuple(i for i, operand in enumerate(operands.split(", ")) if operand == "NULL")) for body, operands in calls]
    return sum(int(n) for n in re.findall(r"^\.text\S*\s+(\d+)", sections, re.M)), functions


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("network, flags", NETWORKS, ids=[n for n, _ in NETWORKS])
def test_small_code_is_smaller_and_shares_functions(quantc, root, models, tmp_path, network, flags, compiler):
    flags = [root / f if f.endswith(".toml") else f for f in flags]
    made = {}
    for mode in ("speed", "size"):
        out = tmp_path / mode
        quantc("compile", models / network, "-o", out, "--name", "net", "--specialise", mode, "--vectors", (models / network).with_suffix(".npz"), *flags)
        made[mode] = code_of(out, compiler)
    (fast, many), (small, few) = made["speed"], made["size"]
    # Of two layers that differ in one number, clang makes a little less of two functions than of one (8,198 and 7,976 bytes here).
    most = 1.03 * fast if (network, compiler) == ("lstm.onnx", "clang") else fast
    assert small <= most and set(few) == set(many), (small, fast)
    # Short calls that differ in many numbers may keep a function each; those of products share one.
    products = [f for f in few if re.match(r"qk_(q?conv|q?gemm|lstm)", f[0])]
    assert products and len(products) == len(set(products)), products
    run = subprocess.run(["sh", "-c", f"{compiler} -O1 -std=c11 -DQUANTC_SLOW_FMA -w *.c -o run -lm && ./run"], cwd=tmp_path / "size", capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_small_code_for_a_target_does_not_ask_for_more(quantc, models, tmp_path):
    for mode, asks in (("speed", True), ("size", False)):
        quantc("compile", models / "digits.onnx", "-o", tmp_path / mode, "--name", "net", "--specialise", mode, "--target", "x86-avx2")
        assert ('"O3"' in (tmp_path / mode / "net.c").read_text()) == asks
