"""Float dot products with a rounded product and a rounded sum for each step: --arithmetic dot=mul_add."""
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

MUL_ADD = ("--arithmetic", "dot=mul_add")
M3 = ["-mthumb", "-mcpu=cortex-m3"]


def saved(folder, nodes, inputs, outputs, weights):
    """A model of these nodes; inputs and outputs: name -> shape."""
    ports = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in p.items()] for p in (inputs, outputs)]
    constants = [numpy_helper.from_array(np.asarray(w, np.float32 if np.asarray(w).dtype.kind == "f" else None), n) for n, w in weights.items()]
    graph = helper.make_graph(nodes, "g", *ports, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    return folder / "m.onnx"


def dot(a, b, start):
    """The definition: one accumulator, a rounded product and a rounded sum for each step."""
    total = np.float32(start)
    for x, y in zip(np.ravel(a), np.ravel(b), strict=True):
        total = np.float32(total + np.float32(x * y))
    return total


def outputs(quantc, model, arrays, *flags):
    folder = model.parent
    np.savez(folder / "in.npz", **arrays)
    quantc("run", model, "-i", folder / "in.npz", "-o", folder / "out.npz", *flags)
    return np.load(folder / "out.npz")["y"]


def all_ways(quantc, model, *flags, targets=("portable", "native")):
    """Interpreter, kernels in process and C give the same bits."""
    for target in targets:
        said = quantc("validate", model, "-i", model.parent / "in.npz", "--target", target, *flags).stdout
        equal = [line.split("  ")[0] for line in said.splitlines() if " interpreter " in line and line.split()[-2:] == ["yes", "ok"]]
        assert equal == ["in process", target], said


rng = np.random.default_rng(14)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def linear(folder):
    w, b, x = floats(17, 40), floats(17), floats(3, 40)
    model = saved(folder, [helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)], {"x": [3, 40]}, {"y": [3, 17]}, {"w": w, "b": b})
    return model, {"x": x}, np.array([[dot(x[m], w[n], b[n]) for n in range(17)] for m in range(3)])


def matmul(folder):
    a, b = floats(2, 5, 33), floats(2, 33, 19)
    model = saved(folder, [helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": [2, 5, 33], "b": [2, 33, 19]}, {"y": [2, 5, 19]}, {})
    return model, {"a": a, "b": b}, np.array([[[dot(a[i, m], b[i, :, n], 0) for n in range(19)] for m in range(5)] for i in range(2)])


def windows(x, w, b, group):
    """A convolution 3 x 3 without padding, taps outermost."""
    outputs, each = w.shape[0], w.shape[1]
    y = np.zeros((1, outputs, x.shape[2] - 2, x.shape[3] - 2), np.float32)
    for o, i, j in np.ndindex(y.shape[1:]):
        first = o // (outputs // group) * each
        part = x[0, first:first + each, i:i + 3, j:j + 3]
        y[0, o, i, j] = dot(part.transpose(1, 2, 0), w[o].transpose(1, 2, 0), b[o])
    return y


def convolution(folder, group, channels, results):
    w, b, x = floats(results, channels // group, 3, 3), floats(results), floats(1, channels, 6, 7)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=group)
    model = saved(folder, [node], {"x": [1, channels, 6, 7]}, {"y": [1, results, 4, 5]}, {"w": w, "b": b})
    return model, {"x": x}, windows(x, w, b, group)


KERNELS = {"linear": linear, "matmul": matmul, "conv": lambda f: convolution(f, 1, 5, 20), "depthwise": lambda f: convolution(f, 18, 18, 18)}


# arithmetic.md: D1, D2
@pytest.mark.parametrize("name", KERNELS)
def test_answers_are_those_of_a_loop(quantc, name, tmp_path):
    model, arrays, want = KERNELS[name](tmp_path)
    got = outputs(quantc, model, arrays, *MUL_ADD)
    assert np.array_equal(got.view(np.uint32), want.view(np.uint32))
    assert not np.array_equal(got, outputs(quantc, model, arrays)), "an fma for each step would give the same"
    all_ways(quantc, model, *MUL_ADD)


# arithmetic.md: S1, D1
def test_one_step_tells_them_apart(quantc, tmp_path):
    """(1 + 2^-12)^2 is 2^-24 above what its product is rounded to."""
    model = saved(tmp_path, [helper.make_node("Gemm", ["x", "w", "b"], ["y"])], {"x": [1, 1]}, {"y": [1, 1]},
                  {"w": [[1 + 2.0**-12]], "b": [-1 - 2.0**-11]})
    x = np.array([[1 + 2.0**-12]], np.float32)
    assert outputs(quantc, model, {"x": x}) == 2.0**-24 and outputs(quantc, model, {"x": x}, *MUL_ADD) == 0.0


def network(models, folder, name):
    """A network of the tests with inputs of its own."""
    shutil.copy(models / f"{name}.onnx", folder / "m.onnx")
    with np.load(models / f"{name}.npz") as arrays:
        np.savez(folder / "in.npz", **{n: arrays[n] for n in arrays if not n.startswith("out_")})
    return folder / "m.onnx"


# arithmetic.md: D1, D2
@pytest.mark.parametrize("name", ["digits", "lstm", "gru", "timm_test_vit"])
def test_networks_agree(quantc, models, name, tmp_path):
    all_ways(quantc, network(models, tmp_path, name), *MUL_ADD, targets=("portable",))


# arithmetic.md: D2
def test_weights_alone_as_codes(quantc, models, tmp_path):
    """Products of floats with decoded weights follow the choice, too."""
    model = network(models, tmp_path, "digits")
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = '.*'\nkind = 'weight_only'\n")
    flags = ("--rules", tmp_path / "r.toml", "--allow-unused-rules")
    all_ways(quantc, model, *MUL_ADD, *flags, targets=("portable",))
    for more in ((), MUL_ADD):
        quantc("run", model, "-i", tmp_path / "in.npz", "-o", tmp_path / f"{len(more)}.npz", *flags, *more)
    fused, rounded = (np.load(tmp_path / f"{n}.npz") for n in (0, 2))
    assert any(not np.array_equal(fused[k], rounded[k]) for k in fused)


def undefined(nm, file):
    said = subprocess.run([nm, "-u", file], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1] for line in said.splitlines() if line.strip()]


# arithmetic.md: D4
@pytest.mark.parametrize("compiler, nm, flags", [("gcc", "nm", []), ("clang", "nm", []), ("arm-none-eabi-gcc", "arm-none-eabi-nm", M3)])
def test_plain_builds_call_no_fma(quantc, models, compiler, nm, flags, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    for name, more in (("fused", ()), ("rounded", MUL_ADD)):
        quantc("compile", models / "digits.onnx", "-o", tmp_path / name, "--name", "net", *more)
        done = subprocess.run([compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", *flags, "-c", tmp_path / name / "net.c", "-o", tmp_path / f"{name}.o"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert ("no fma instruction" in done.stderr) == (name == "fused"), done.stderr
    assert "fmaf" in undefined(nm, tmp_path / "fused.o")
    assert not [s for s in undefined(nm, tmp_path / "rounded.o") if "fma" in s]


# arithmetic.md: D1
def test_every_option_of_compilers_gives_the_bits(quantc, models, tmp_path):
    """Products are not fused with sums behind our back: -ffp-contract=fast where there are instructions for it."""
    quantc("compile", models / "digits.onnx", "-o", tmp_path / "out", "--name", "net", "--vectors", models / "digits.npz", *MUL_ADD)
    flags = ["-O0", "-O3 -ffp-contract=fast"]
    if "avx2 " in open("/proc/cpuinfo").read() and "fma " in open("/proc/cpuinfo").read():
        flags += ["-O3 -mavx2 -mfma -ffp-contract=fast", "-O2 -mfma -ffp-contract=fast"]
    for compiler in ("gcc", "clang"):
        for each in flags:
            subprocess.run(["make", "-s", "-B", "-C", tmp_path / "out", f"CC={compiler}", f"CFLAGS={each}", "net_test"], capture_output=True, check=True)
            said = subprocess.run([tmp_path / "out" / "net_test"], cwd=tmp_path / "out", capture_output=True, text=True)
            assert "bits equal" in said.stdout, (compiler, each, said)


def test_what_was_chosen_is_said(quantc, models, tmp_path):
    fused = quantc("compile", models / "digits.onnx", "-o", tmp_path / "fused", "--name", "net").stdout
    assert "--arithmetic dot=mul_add" in fused and "dot=mul_add" in (tmp_path / "fused/net.h").read_text()
    said = quantc("compile", models / "digits.onnx", "-o", tmp_path / "out", "--name", "net", *MUL_ADD).stdout
    header = (tmp_path / "out/net.h").read_text()
    assert "fma" not in said and "SLOW" not in header and "(dot = mul_add)" in header
    assert "remark: each step of a float dot product" in quantc("explain", models / "digits.onnx", *MUL_ADD).stdout
    graph = quantc("inspect", models / "digits.onnx", "--ir", *MUL_ADD).stdout
    assert "\n  dot mul_add\n" in graph
    assert quantc("inspect", models / "digits.onnx", "--program", *MUL_ADD).stdout.splitlines()[0].endswith(" dot mul_add")
    (tmp_path / "quantc.toml").write_text("arithmetic = 'dot=mul_add'\n")
    assert quantc("inspect", models / "digits.onnx", "--ir", "--config", tmp_path / "quantc.toml").stdout == graph
    # Code for a GPU says so, too.
    quantc("compile", models / "digits.onnx", "-o", tmp_path / "cuda", "--name", "net", "--target", "cuda", *MUL_ADD)
    assert "#define QN_DOT_MUL_ADD 1" in (tmp_path / "cuda/net_kernels.h").read_text() and "(dot = mul_add)" in (tmp_path / "cuda/net.h").read_text()


# arithmetic.md: D3
def test_it_leaves_the_arithmetic_of_a_quantized_model(quantc, models):
    flags = ("inspect", models / "micro_kws_m_qdq.onnx", "--ir")
    plain, chosen = quantc(*flags).stdout, quantc(*flags, *MUL_ADD).stdout
    assert 'arithmetic = "onnxruntime' in plain and chosen.replace("  dot mul_add\n", "") == plain
    assert quantc(*flags, "--arithmetic", "exact,dot=mul_add").stdout.replace("  dot mul_add\n", "") == quantc(*flags, "--arithmetic", "exact").stdout


@pytest.mark.parametrize("given, said", [("dot=muladd", "dot is one of fma, mul_add; did you mean 'mul_add'?"), ("dot", "dot is one of fma, mul_add"),
                                         ("dt=mul_add", "did you mean 'dot'?")])
# arithmetic.md: D5
def test_mistakes_are_named(quantc, models, given, said):
    assert said in quantc("explain", models / "digits.onnx", "--arithmetic", given, status=1).stderr


# arithmetic.md: D5
def test_one_choice_for_the_whole_model(quantc, models, tmp_path):
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = 0.1\narithmetic = 'exact,dot=mul_add'\n")
    assert "one choice for the whole model" in quantc("explain", models / "digits.onnx", "--rules", tmp_path / "r.toml", status=1).stderr
