"""Generated projects and single files with users' own flags: gcc, clang, and arm-none-eabi with newlib, run by qemu."""
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

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
    forms = {"codes": ["--vectors", folder / "floats.npz"], "no_float": ["--no-float", "--vectors", folder / "codes.npz"],
             "one_file": ["--single-file", "--vectors", folder / "floats.npz"],
             "one_no_float": ["--single-file", "--no-float", "--vectors", folder / "codes.npz"]}
    for name, flags in forms.items():
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
