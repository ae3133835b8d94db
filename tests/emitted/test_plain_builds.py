"""What users do with generated code: their own flags, CMake, the page on integration."""
import json
import platform
import re
import subprocess

import pytest

X86 = platform.machine() == "x86_64"
NOTE = "no fma instruction with these flags"


def sh(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def projects(quantc, models, root, tmp_path_factory):
    """name -> (folder, what compile said)"""
    folder = tmp_path_factory.mktemp("projects")
    flags = {"floats": ["--target", "portable"], "codes": ["--target", "portable", "--rules", root / "examples/digits/rules.toml"],
             "named": ["--target", "x86-avx2"]}
    return {name: (folder / name, quantc("compile", models / "digits.onnx", "-o", folder / name, "--name", "net", *more).stdout) for name, more in flags.items()}


# arithmetic.md: G3, F11
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_builds_without_fma_say_so(projects, compiler, tmp_path):
    folder, said = projects["floats"]
    assert "-mfma" in said and "SLOW WITHOUT FMA" in (folder / "net.h").read_text()
    build = (compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", folder / "net.c", "-o", tmp_path / "o.o")
    for flags, noted in ((["-O2"], X86), (["-Os"], X86), (["-O2", "-DQUANTC_SLOW_FMA"], False), *([(["-O2", "-mfma"], False)] if X86 else [])):
        assert (NOTE in sh(*build, *flags)) == noted, flags
    for name in ("codes", "named"):
        folder, said = projects[name]
        assert "mfma" not in said and "SLOW" not in (folder / "net.h").read_text() and NOTE not in (folder / "net_kernels.h").read_text()


def commands(folder, build):
    sh("cmake", "-S", folder, "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    return {c["file"].split("/")[-1]: c["command"] for c in json.loads((build / "compile_commands.json").read_text())}


@pytest.mark.parametrize("name", ["floats", "named"])
def test_cmake_has_the_flags_of_make(projects, name, tmp_path):
    """By itself, and as a part of a project that names no build type."""
    folder, _ = projects[name]
    (tmp_path / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.13)\nproject(mine LANGUAGES C)\nadd_subdirectory({folder} out)\n")
    wanted = re.search(r"^CFLAGS \?= (.*)$", (folder / "Makefile").read_text(), re.M)[1].split()
    for position in (folder, tmp_path):
        command = commands(position, tmp_path / f"build_{position.name}")["net.c"]
        assert re.search(r"-O[23]\b", command), command
        assert [flag for flag in wanted if flag.startswith("-m")] == re.findall(r"-m\S+", command), command


def test_the_page_on_integration_is_right(projects, root, tmp_path):
    folder, _ = projects["codes"]
    page = (root / "docs/integration.md").read_text()
    code = re.findall(r"^```c\n(.*?)^```$", page, re.M | re.S)[0]
    (tmp_path / "a.c").write_text(code)
    sh("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", folder, "-c", tmp_path / "a.c", "-o", tmp_path / "a.o")
    header = (folder / "net.h").read_text()
    for name in ("NET_ARENA_BYTES", "NET_ARENA_ALIGN", "NET_STATE_BYTES", "NET_STACK_BYTES", "NET_NULL_POINTER", "NET_MISALIGNED", "NET_BAD_SIZE"):
        assert name in page and name in header
