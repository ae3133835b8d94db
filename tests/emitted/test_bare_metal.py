"""Generated projects and single files with users' own flags: gcc, clang, and arm-none-eabi with newlib, run by qemu."""
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from tests.conftest import QUANTC

BOARD = pathlib.Path(__file__).resolve().parent / "bare_metal"
CORES = {"m3": (["-mthumb", "-mcpu=cortex-m3"], "mps2-an385"),
         "m4": (["-mthumb", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"], "mps2-an386")}
FLOAT_HELPERS = ("__aeabi_f", "__aeabi_d", "__aeabi_i2", "__aeabi_ui2", "__aeabi_l2", "__aeabi_ul2", "fma", "rint")


def sh(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def projects(quantc, models, root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    rng = np.random.default_rng(0)
    np.savez(folder / "codes.npz", in_0=rng.integers(-128, 128, (1, 1, 8, 8), dtype=np.int8))
    np.savez(folder / "floats.npz", in_0=rng.random((1, 1, 8, 8), dtype=np.float32))
    variants = {"codes": ["--vectors", folder / "floats.npz"], "no_float": ["--no-float", "--vectors", folder / "codes.npz"],
             "one_file": ["--single-file", "--vectors", folder / "floats.npz"],
             "one_no_float": ["--single-file", "--no-float", "--vectors", folder / "codes.npz"]}
    for name, flags in variants.items():
        quantc("compile", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--target", "portable",
               "-o", folder / name, "--name", "net", *flags)
    return folder


def copied(projects, name, tmp_path):
    return pathlib.Path(shutil.copytree(projects / name, tmp_path / name))


def test_a_single_file_is_all_there_is(projects):
    files = {p.name for p in (projects / "one_file").iterdir()}
    assert files == {"net.c", "net.h", "net_test.c", "Makefile", "CMakeLists.txt"}


@pytest.mark.parametrize("compiler, level, name", [("gcc", "-O2", "one_file"), ("clang", "-Os", "one_file"), ("clang", "-O2", "one_no_float"),
                                                   ("gcc", "-Os", "one_no_float"), ("gcc", "-Os", "no_float")])
def test_plain_flags_give_the_bits(projects, compiler, level, name, tmp_path):
    folder = copied(projects, name, tmp_path)
    if name.startswith("one"):  # by itself, the header not beside it
        (tmp_path / "alone.c").write_text((folder / "net.c").read_text())
        sh(compiler, "-std=c11", level, "-Wall", "-Wextra", "-Werror", "-c", tmp_path / "alone.c", "-o", tmp_path / "alone.o")
    sh("make", "-C", folder, f"CC={compiler}", f"CFLAGS={level}", "net_test")
    assert "bits equal" in sh(folder / "net_test", cwd=folder)


def test_cmake_builds_a_single_file(projects, tmp_path):
    sh("cmake", "-S", projects / "one_file", "-B", tmp_path, "-DCMAKE_BUILD_TYPE=MinSizeRel")
    sh("cmake", "--build", tmp_path)
    assert "bits equal" in sh(tmp_path / "net_test")


@pytest.fixture
def board(tmp_path):
    """The flags of a core, those that link a program for its board, and what runs one."""
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")

    def of(core):
        machine, name = CORES[core]
        start = tmp_path / "start.o"
        sh("arm-none-eabi-gcc", "-O1", *machine, "-c", BOARD / "start.c", "-o", start)
        link = f"--specs=rdimon.specs -nostartfiles -T {BOARD / 'board.ld'} {start}"
        return machine, link, lambda program: sh("qemu-system-arm", "-M", name, "-nographic", "-semihosting", "-kernel", program,
                                                 stdin=subprocess.DEVNULL)
    return of


def undefined(library):
    return [line.split()[-1] for line in sh("arm-none-eabi-nm", "-u", library).splitlines() if line.strip().startswith("U ")]


@pytest.mark.parametrize("core, level, name", [("m3", "-O2", "no_float"), ("m3", "-Os", "one_no_float"), ("m3", "-Os", "codes"),
                                               ("m4", "-Os", "codes"), ("m4", "-O2", "one_file")])
def test_newlib_gives_the_bits(projects, board, core, level, name, tmp_path):
    machine, link, run = board(core)
    folder = copied(projects, name, tmp_path)
    sh("make", "-C", folder, "CC=arm-none-eabi-gcc", "AR=arm-none-eabi-ar", "CFLAGS=" + " ".join([level, *machine]), f"LDFLAGS={link}")
    assert not (folder / "libnet.so").exists()
    assert "bits equal" in run(folder / "net_test")
    symbols = undefined(folder / "libnet.a")
    if "no_float" in name:
        assert not [s for s in symbols if s.startswith(FLOAT_HELPERS)], symbols
    if core == "m4":
        assert not [s for s in symbols if s.startswith("rint")], symbols


@pytest.mark.parametrize("core, kind, name", [("m3", "MinSizeRel", "no_float"), ("m4", "Release", "codes")])
def test_cmake_with_newlib_gives_the_bits(projects, board, core, kind, name, tmp_path):
    machine, link, run = board(core)
    made = tmp_path / "build"
    sh("cmake", "-S", projects / name, "-B", made, f"-DCMAKE_TOOLCHAIN_FILE={BOARD / 'toolchain.cmake'}", f"-DCMAKE_BUILD_TYPE={kind}",
       "-DCMAKE_C_FLAGS=" + " ".join(machine), f"-DCMAKE_EXE_LINKER_FLAGS={link}")
    sh("cmake", "--build", made)
    assert not (made / "libnet.so").exists()
    assert "bits equal" in run(next(made.glob("net_test*")))
    if "no_float" in name:
        symbols = undefined(made / "libnet.a")
        assert not [s for s in symbols if s.startswith(FLOAT_HELPERS)], symbols


def test_what_needs_floats_is_refused_by_name(quantc, models, root, tmp_path):
    flags = ("compile", models / "digits.onnx", "-o", tmp_path / "out", "--name", "net", "--no-float")
    assert "node_Conv_50" in quantc(*flags, status=1).stderr
    rules = ("--rules", root / "examples/digits/rules.toml")
    refused = quantc(*flags, *rules, "--arithmetic", "exact", status=1).stderr
    assert "need floats" in refused and "node_linear" in refused
    assert not (tmp_path / "out").exists()
    for more in (["--target", "x86"], ["--weights", "file", "--target", "portable"], ["--target", "cuda"]):
        assert "--single-file" in quantc(*flags[:-1], *rules, "--single-file", *more, status=1).stderr


@pytest.mark.parametrize("kind", ["qdq", "qoperator"])
def test_quantized_models_need_no_floats_but_where_they_are_named(quantc, models, tmp_path, kind):
    """They bring an arithmetic that rescales in float; without floats another is taken, unless one is given."""
    path = models / f"micro_kws_m_{kind}.onnx"
    flags = ("--no-float", *(["--dim", "unk__68=1"] if kind == "qdq" else []))
    refused = quantc("compile", path, "-o", tmp_path / "o", *flags, status=1).stderr
    assert "1 operation computes in float, which --no-float does not allow" in refused and "softmax" in refused
    assert "conv2d" not in refused and "end the model before it" in refused
    given = quantc("compile", path, "-o", tmp_path / "o", *flags, "--arithmetic", "onnxruntime", status=1).stderr
    assert "conv2d" in given and "rescales in float (multipliers" in given and "--arithmetic exact,rescale=q31 rescales by integers" in given
    model = onnx.load(path)
    softmax = next(n for n in model.graph.node if "Softmax" in n.op_type)
    end = softmax.input[0]
    is_float = softmax.op_type == "Softmax"
    keep = [n for n in model.graph.node if n != softmax and softmax.output[0] not in n.input and not (set(n.output) & {o.name for o in model.graph.output})]
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.extend(keep)
    kind_of_end = onnx.TensorProto.FLOAT if is_float else onnx.TensorProto.INT8
    model.graph.output.append(onnx.helper.make_tensor_value_info(end, kind_of_end, None))
    onnx.save(model, tmp_path / "cut.onnx")
    said = quantc("compile", tmp_path / "cut.onnx", "-o", tmp_path / "o", "--name", "net", *flags).stdout
    assert "for target portable" in said and "note:" not in said
    assert "QK_INTEGER_ONLY" in (tmp_path / "o/net_kernels.h").read_text() and "USES FLOATS" not in (tmp_path / "o/net.h").read_text()
    quantc("validate", tmp_path / "cut.onnx", *flags, "--random", 1, "--target", "portable")


def test_the_reason_of_each_step_is_said(quantc, models, tmp_path):
    quantc("calibrate", models / "gru.onnx", "--data", models / "gru.npz", "-o", tmp_path / "r.toml")
    flags = ("compile", models / "gru.onnx", "--rules", tmp_path / "r.toml", "-o", tmp_path / "o", "--name", "net")
    refused = quantc(*flags, "--no-float", status=1).stderr
    assert "node_gru__1: qrnn" in refused and "computes in float between the codes it reads and writes (x_multipliers" in refused
    assert "these have no form in integers" in refused
    said = quantc(*flags, "--target", "portable").stdout
    assert "steps compute with floats, which a core without an FPU does in software" in said and "--no-float" in said
    assert "USES FLOATS" in (tmp_path / "o/net.h").read_text()
    assert "core without an FPU" not in quantc(*flags, "--target", "x86-avx2").stdout
    assert "core without an FPU" not in quantc("compile", models / "gru.onnx", "-o", tmp_path / "f", "--target", "portable").stdout, "that of fma is said"


@pytest.mark.parametrize("name", ["timm_test_resnet", "tv_mobilenet_v2_025"])
def test_larger_networks_without_floats_link_no_float_helper(quantc, models, name, tmp_path):
    """Strided, grouped and depthwise convolutions, residual sums and means: kernels that the digits do not have."""
    if not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("arm-none-eabi-gcc is not installed")
    quantc("calibrate", models / f"{name}.onnx", "--data", models / f"{name}.npz", "-o", tmp_path / "r.toml", "--per-channel")
    quantc("compile", models / f"{name}.onnx", "--rules", tmp_path / "r.toml", "--no-float", "-o", tmp_path / "o", "--name", "net")
    sh("make", "-s", "-C", tmp_path / "o", "CC=arm-none-eabi-gcc", "AR=arm-none-eabi-ar", "CFLAGS=" + " ".join(["-Os", *CORES["m3"][0]]), "libnet.a")
    symbols = undefined(tmp_path / "o/libnet.a")
    assert not [s for s in symbols if s.startswith(FLOAT_HELPERS)], symbols


def test_validate_builds_the_code_that_compile_writes(models, root, tmp_path):
    """Without --target it is that of the options: with --no-float portable."""
    (tmp_path / "quantc.toml").write_text("target = 'portable'\n")

    def validate(*flags):
        return subprocess.run([QUANTC, "validate", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--random", "1", *flags],
                              capture_output=True, text=True)
    for flags in (["--no-float"], ["--config", tmp_path / "quantc.toml"]):
        done = validate(*flags)
        assert done.returncode == 0 and "\nportable " in done.stdout and "\nnative " not in done.stdout, done.stdout + done.stderr
    assert "\nnative " in validate().stdout
    refused = validate("--no-float", "--cc", "arm-none-eabi-gcc")
    assert refused.returncode != 0 and "for another one, compile --vectors writes a test program" in refused.stderr, refused.stderr
