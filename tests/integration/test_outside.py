"""What others build on: the installed library, and op folders outside the tree."""
import os
import re
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper


def sh(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_a_program_outside_the_tree_uses_the_installed_library(root, build, models, tmp_path):
    sh("cmake", "--install", build, "--prefix", tmp_path / "prefix")
    assert sh(tmp_path / "prefix/bin/quantc", "--version").startswith("quantc ")
    sh("cmake", "-S", root / "examples/use_library", "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    sh("cmake", "--build", tmp_path / "b")
    program = tmp_path / "b" / "use_library"
    out = sh(program, models / "digits.onnx", tmp_path / "out")
    assert re.fullmatch(r"interpreter equal, from memory equal\nforms: 1 kept, hit rate 0.50\n10 nodes: 7 integer, .*\n"
                        r"text equal\nvalid: yes\ncompiled equal\n"
                        r"digits: 1 outputs, arena \d+ bytes, weights \d+ bytes\n", out), out
    assert (tmp_path / "out" / "digits.c").exists()
    bad = subprocess.run([str(program), str(tmp_path / "absent.onnx"), str(tmp_path / "o2")], capture_output=True, text=True)
    assert bad.returncode == 1 and "error[file]" in bad.stderr


def test_make_builds_all_that_is_installed(root, build, tmp_path):
    """`make && cmake --install build` needs no other step: every file that is installed from the build is made by `make`."""
    targets = re.search(r"--target ([\w ]+)", sh("make", "-n", "all", f"BUILD={build}", cwd=root))[1].split()
    commands = sh("ninja", "-C", build, "-t", "commands", *targets)
    script = (build / "cmake_install.cmake").read_text()
    installed = [name for name in re.findall(rf'"{re.escape(str(build))}/([^"$]+)"', script) if not name.endswith(".cmake")]
    assert "bin/quantc" in installed and "libquantc.so" in installed and not [name for name in installed if name not in commands]


def test_a_rule_class_outside_the_tree(root, build, models, tmp_path):
    """Layers with few weights stay float by the example's own class; the others compute on codes."""
    sh("cmake", "--install", build, "--prefix", tmp_path / "prefix")
    sh("cmake", "-S", root / "examples/custom_rule", "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    sh("cmake", "--build", tmp_path / "b")
    out = sh(tmp_path / "b" / "custom_rule", models / "digits.onnx", tmp_path / "out")
    assert out.startswith("1 convolutions in float, 2 on codes\ndigits: weights "), out
    assert (tmp_path / "out" / "digits.c").exists()


def generated(build) -> set:
    return {p.name for p in (build / "generated" / "ops").glob("*.cpp")}


def rebuilt(build) -> list:
    """Builds the program and says which C++ files were compiled."""
    return sorted(re.findall(r"Building CXX object .*?(\w+)\.cpp\.o", sh("cmake", "--build", build, "--target", "quantc")))


def test_an_op_folder_is_built_in_without_another_edit(root, build, tmp_path):
    """Only the new folder and the list of folders compile; the build is put back afterwards."""
    cube = helper.make_node("Cube", ["x"], ["y"], name="cube1", domain="example")
    graph = helper.make_graph([cube], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports), tmp_path / "cube.onnx")
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
    np.savez(tmp_path / "io.npz", in_0=x, out_0=x * x * x)

    rebuilt(build)
    before = generated(build)
    sh("cmake", "-S", root, "-B", build, f"-DQUANTC_EXTRA_OPS={root / 'examples/extra_ops'}")
    try:
        assert rebuilt(build) == ["cube", "registration"]
        program = build / "bin" / "quantc"
        assert "`cube`" in sh(program, "ops")
        out = sh(program, "validate", tmp_path / "cube.onnx", "-i", tmp_path / "io.npz", "-e", tmp_path / "io.npz", "--atol", "0")
        assert "FAIL" not in out
        (tmp_path / "rules.toml").write_text("[[rule]]\npattern = 'cube1'\nscale = 0.2\ninput_scale = 0.02\n")
        rules = ["--rules", tmp_path / "rules.toml"]
        out = sh(program, "explain", tmp_path / "cube.onnx", *rules)
        assert re.search(r"^cube1 +qcube +integer +rules.toml:1$", out, re.M), out
        out = sh(program, "validate", tmp_path / "cube.onnx", "-i", tmp_path / "io.npz", "-e", tmp_path / "io.npz",
                 "--atol", "0.3", *rules)
        assert "FAIL" not in out
    finally:
        sh("cmake", "-S", root, "-B", build, "-DQUANTC_EXTRA_OPS=")
        sh("cmake", "--build", build, "--target", "quantc")
        for name in generated(build) - before:
            (build / "generated" / "ops" / name).unlink()


def test_a_variant_is_built_in_and_selected_without_another_edit(root, build):
    """A kernel folder outside the tree: its variant takes the calls of qgemm; the build is put back afterwards."""
    rules = ["--rules", root / "examples/digits/rules.toml"]
    model = root / "tests/models/digits.onnx"
    rebuilt(build)
    sh("cmake", "-S", root, "-B", build, f"-DQUANTC_EXTRA_KERNELS={root / 'examples/extra_kernels'}")
    try:
        rebuilt(build)
        program = build / "bin" / "quantc"
        assert ": qk_qgemm_naive" in sh(program, "inspect", model, "--program", *rules)
        out = sh(program, "validate", model, "-i", model.with_suffix(".npz"), *rules)
        assert "FAIL" not in out, out
    finally:
        sh("cmake", "-S", root, "-B", build, "-DQUANTC_EXTRA_KERNELS=")
        rebuilt(build)
    assert "qk_qgemm_naive" not in sh(build / "bin" / "quantc", "inspect", model, "--program", *rules)


def test_touching_one_op_folder_rebuilds_it_alone(root, build):
    rebuilt(build)
    os.utime(root / "src/ops/clamp/clamp.cpp", (time.time(), time.time()))
    assert rebuilt(build) == ["clamp"]
