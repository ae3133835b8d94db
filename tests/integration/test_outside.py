"""What others build on: the installed library, and op folders outside the tree."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
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
    assert re.fullmatch(r"""interpreter equal, from memory equal
own memory equal, 1 outputs
forms: 1 kept, hit rate 0.50
forms: 0 kept
2 rows equal
5 rows equal
9 rows: dim
counter: 2, its copy 2, after a reset 1
limits: equal, differs, differs
reference run: limit
5 rules, the first for '.*node_Conv_50.*'
of a class: 9 nodes: 1 integer, .*
linear: 1 producer of op reshape, 0 users
qlinear reads i8: 1 scale, 1 zero point
10 nodes: 7 integer, .*; a table of text
worst layer: q\w+; the page has plots
layers: 8
valid: yes, all layers compared
text equal
compiled equal, 10 calls in order: yes
digits in its folder
digits: arena \d+ bytes, weights \d+ bytes
own op: equal
its text: op 'example::scaled', line 2 of its C text
""", out), out
    assert (tmp_path / "out" / "digits.c").exists()
    bad = subprocess.run([str(program), str(tmp_path / "absent.onnx"), str(tmp_path / "o2")], capture_output=True, text=True)
    assert bad.returncode == 1 and "error[file]" in bad.stderr


def test_the_example_shows_every_function_of_the_api(root):
    """Names that the public headers declare, but for what is private, in a program of its own."""
    shown = re.sub(r"//.*", "", (root / "examples/use_library/main.cpp").read_text())
    declared = set()
    for header in (root / "include" / "quantc").glob("*.h"):
        text = re.sub(r"//.*", "", header.read_text())
        text = re.sub(r"(?s)private:.*?\n};", "};", text)
        text = re.sub(r"\[\[deprecated[^{;]*", "", text)  # earlier names
        declared |= set(re.findall(r"[\w>&*] [&*]?(\w+)\((?!\*)", text)) - {"bool", "sizeof"}
    assert {"load", "analyze", "parse_rules", "benchmark", "erase", "limit_program_cache"} <= declared and len(declared) > 40
    assert not [name for name in sorted(declared) if not re.search(rf"\b{name}(<\w+>)?\(", shown)]


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


@contextlib.contextmanager
def built_with(root, build, **folders):
    """The program of the build with folders from outside the tree; the build is put back afterwards."""
    rebuilt(build)
    before = generated(build)
    sh("cmake", "-S", root, "-B", build, *(f"-D{option}={folder}" for option, folder in folders.items()))
    try:
        yield rebuilt(build)
    finally:
        sh("cmake", "-S", root, "-B", build, *(f"-D{option}=" for option in folders))
        sh("cmake", "--build", build, "--target", "quantc")
        for name in generated(build) - before:
            (build / "generated" / "ops" / name).unlink()


def test_an_op_folder_is_built_in_without_another_edit(root, build, tmp_path):
    """Only the new folder and the list of folders compile; the build is put back afterwards."""
    cube = helper.make_node("Cube", ["x"], ["y"], name="cube1", domain="example")
    graph = helper.make_graph([cube], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports), tmp_path / "cube.onnx")
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
    np.savez(tmp_path / "io.npz", in_0=x, out_0=x * x * x)

    with built_with(root, build, QUANTC_EXTRA_OPS=root / "examples/extra_ops") as compiled:
        assert compiled == ["cube", "registration"]
        assert "QC_OP_SAMPLE(cube)" in (build / "generated/tests/random/samples.inc").read_text()
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


def test_a_variant_is_built_in_and_selected_by_its_estimate(root, build, tmp_path):
    """A kernel folder outside the tree: its variant takes the calls of qgemm that it is estimated to be faster for, those of few outputs."""
    rng = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", [f"x{n}", f"w{n}"], [f"y{n}"], name=f"outputs{n}") for n in (1, 32)]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, n]) for name, n in (("x1", 64), ("x32", 64), ("y1", 1), ("y32", 32))]
    weights = [onnx.numpy_helper.from_array(rng.normal(size=(64, n)).astype(np.float32), f"w{n}") for n in (1, 32)]
    model = tmp_path / "net.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", info[:2], info[2:], weights)), model)
    np.savez(tmp_path / "in.npz", **{f"x{n}": rng.normal(size=(4, 64)).astype(np.float32) for n in (1, 32)})
    (tmp_path / "rules.toml").write_text("[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = 0.05\n")
    flags = ["--rules", tmp_path / "rules.toml", "--target", "portable"]
    with built_with(root, build, QUANTC_EXTRA_KERNELS=root / "examples/extra_kernels"):
        program = build / "bin" / "quantc"
        assert sh(program, "inspect", model, "--program", *flags).count(": qk_qgemm_naive") == 1
        said = sh(program, "inspect", model, "--kernels", *flags)
        assert re.search(r"^outputs1: qgemm by qk_qgemm_naive \(naive\), estimated [\d.]+ \ws$", said, re.M), said
        assert re.search(r"^outputs32: qgemm by qk_qgemm \(portable\), estimated [\d.]+ \ws$(\n  not \w+: .*)*\n  not naive: estimated", said, re.M), said
        out = sh(program, "validate", model, "-i", tmp_path / "in.npz", *flags)
        assert "FAIL" not in out, out
    assert "naive" not in sh(build / "bin" / "quantc", "inspect", model, "--kernels", *flags)


def test_an_instruction_set_is_a_row_of_a_table(root, build, models, tmp_path):
    """Its target is listed, is a part of `x86`, and its code names the instructions and asks the processor for them."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/isa.table").write_text(
        "isa bf16 on x86_64\n  needs avx2 fma avx512f avx512bw avx512vl avx512dq avx512vnni avx512bf16\n"
        "  macro QK_TARGET_BF16 QK_TARGET_AVX512VNNI QK_TARGET_FMA\n"
        "  target x86-bf16 'x86-64 with AVX-512 BF16' avx2 avx512 avx512vnni bf16 unsigned_codes\n"
        "  facts 'a core of tomorrow' clock_ghz=3.5 vector_bytes=64 i8_gmacs=500\n")
    rules = ["--rules", root / "examples/digits/rules.toml"]
    with built_with(root, build, QUANTC_EXTRA_KERNELS=tmp_path):
        program = build / "bin" / "quantc"
        assert re.search(r"^x86-bf16 +x86-64 with AVX-512 BF16", sh(program, "targets"), re.M)
        assert re.search(r"^x86-bf16: a core of tomorrow\n  clock +3.5 GHz\n  vector +64 bytes\n  f32 +8 GMAC/s\n", sh(program, "targets", "--facts"), re.M)
        sh(program, "compile", models / "digits.onnx", *rules, "-o", tmp_path / "one", "--name", "net", "--target", "x86-bf16")
        sh(program, "compile", models / "digits.onnx", *rules, "-o", tmp_path / "all", "--name", "net", "--target", "x86")
    text = (tmp_path / "one/net.c").read_text()
    assert '__builtin_cpu_supports("avx512bf16")' in text and "qk_qgemm_avx512vnni(" in text
    header = (tmp_path / "one/net_kernels.h").read_text()
    assert "#define QK_TARGET_BF16 1" in header and '#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")' in header
    sh("make", "-C", tmp_path / "one", "libnet.a")
    parts = re.findall(r"net_x86_\w+_steps\(dims", (tmp_path / "all/net.c").read_text())
    assert parts[0] == "net_x86_bf16_steps(dims" and len(parts) >= 3
    assert "x86-bf16" not in sh(build / "bin" / "quantc", "targets")


def test_a_runtime_outside_the_tree_is_embedded(root, tmp_path):
    """A backend prints `embedded_header("runtime/<runtime>/<file>.h")`; the table of those has the runtimes of every root."""
    (tmp_path / "extra/runtime/probe").mkdir(parents=True)
    (tmp_path / "extra/runtime/probe/session.h").write_text("typedef struct probe_session { int id; } probe_session;\n")
    sh(sys.executable, root / "cmake/kernel_tables.py", tmp_path / "out", root, tmp_path / "extra")
    table = (tmp_path / "out/sources.inc").read_text().split("const Part kParts")[0]
    assert '{"runtime/probe/session.h", R"qk(typedef struct probe_session { int id; } probe_session;' in table
    inside = re.findall(r'^\{"(runtime/cuda/\w+\.h)"', table, re.M)
    assert inside == sorted(p.relative_to(root).as_posix() for p in (root / "runtime/cuda").iterdir())


@pytest.mark.parametrize("text, says", [
    ("isa avx2 on x86_64\n", "there is another isa avx2"), ("isa one\n  flags -m1\n", "`isa` takes needs"),
    ("isa one on x86_64\n  target x86-one\n", "and has a macro"), ("isa one on x86_64\n  macro ONE\n  target x86-one 'one' one\n  facts 'a core' f32=1\n", "facts are"), ("feature i8mm on aarch64\n  linux HWCAP2_I8MM\n", "needs a processor, linux, apple"),
    ("  needs avx2\n", "expected `isa NAME`")])
def test_rows_that_say_too_little_are_named(root, tmp_path, text, says):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/isa.table").write_text("# a comment\n" + text)
    roots = [tmp_path] if text[0].isspace() else [root, tmp_path]
    script = f"import isa_tables; isa_tables.outputs({[str(r) for r in roots]!r})"
    done = subprocess.run([sys.executable, "-c", script], cwd=root / "cmake", capture_output=True, text=True)
    assert done.returncode == 1 and says in done.stderr and str(tmp_path) in done.stderr, done.stderr


HEADER = """typedef struct {
  int32_t on[2];
  float lo;
} qk_limit_stage;
typedef struct {
  int32_t n;
  qk_limit_stage limit;
} qk_hold_params;
"""
SIGNATURES = """kernel hold[type](x) -> (y)
  params qk_hold_params
  epilogue limit
stage limit()
  params qk_limit_stage
  from hold of n if type=f32 before.lo=0 with on=1 lo=-inf
"""


@pytest.mark.parametrize("old, new, says", [
    ("", "", ""), ("qk_limit_stage limit;", "float lo;", "has 0 members qk_limit_stage, not one"),
    ("qk_limit_stage limit;", "qk_limit_stage limit, other;", "has 2 members qk_limit_stage, not one"),
    ("qk_limit_stage limit;", "qk_limits limit;", "no header declares qk_limits"), ("int32_t n;", "char n;", "may hold int32_t"),
    ("int32_t n;", "int32_t n; qk_limit_stage limits[2];", "a member is a number, an array of numbers or a struct"),
    ("stage limit()", "stage limit(residual)", "takes stage limit and lacks residual?"), ("from hold", "from fold", "there is no kernel fold"),
    ("of n", "of m", "hold has no m"), ("type=f32", "kind=f32", "hold has no kind"), ("lo=-inf", "lo=least", "hold has no least"),
    ("on=1", "off=1", "stage limit has no member off"), ("  epilogue limit\n", "  epilogue limit\n  means copy bytes\n", "hold has no bytes"),
    ("  epilogue limit\n", "  from hold of n\n", "expected `kernel` or `stage`"), ("epilogue limit", "epilogue limits", "there is no stage limits")])
def test_signatures_that_say_too_little_are_named(root, tmp_path, monkeypatch, old, new, says):
    monkeypatch.syspath_prepend(root / "cmake")
    import kernel_tables
    (tmp_path / "hold").mkdir()
    header, sig = (text.replace(old, new) if old else text for text in (HEADER, SIGNATURES))
    (tmp_path / "hold/kernels.sig").write_text(sig)

    def read():
        structs = kernel_tables.read_structs(header, "hold.h")
        kernels = kernel_tables.signatures(tmp_path / "hold/kernels.sig", structs)
        kernel_tables.check_epilogues(kernels, structs)
        return kernel_tables.table(tmp_path / "hold", kernels, structs, {k.name: k for k in kernels if not k.stage})

    if not says:
        text = read()
        assert '"i n,i limit.on[2],f limit.lo", "qk_limit_stage limit"' in text and "offsetof(qk_hold_params, limit.lo)" in text
        assert '{{"hold", 0, "n", "type=f32 before.lo=0", "on=1 lo=-inf"}}' in text
        return
    with pytest.raises(SystemExit) as failed:
        read()
    assert says in str(failed.value), failed.value


def test_a_backend_is_built_in_without_another_edit(root, build, models, tmp_path):
    """Pseudo-code with a runner of its own: only the new folder and the lists of backends and targets compile."""
    rng = np.random.default_rng(3)
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 4]) for name in "xyz"]
    nodes = [helper.make_node("Mul", ["x", "w"], ["t"], name="scale"), helper.make_node("Sub", ["t", "y"], ["u"], name="less"),
             helper.make_node("Relu", ["u"], ["v"], name="relu"), helper.make_node("Add", ["v", "x"], ["z"], name="more")]
    weights = onnx.numpy_helper.from_array(rng.normal(size=4).astype(np.float32), "w")
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", info[:2], info[2:], [weights])), tmp_path / "add.onnx")
    np.savez(tmp_path / "in.npz", x=rng.normal(size=(2, 3, 4)).astype(np.float32), y=rng.normal(size=(2, 3, 4)).astype(np.float32))
    flags = ["--target", "pseudo", "--weights", "file", "-o", tmp_path / "out"]
    with built_with(root, build, QUANTC_EXTRA_BACKENDS=root / "examples/extra_backend") as compiled:
        assert set(compiled) | {"pseudo_backend"} == {"pseudo_backend", "registry", "target"}  # an earlier test may have built it
        program = build / "bin" / "quantc"
        assert re.search(r"^pseudo +pseudo-code for people", sh(program, "targets"), re.M)
        sh(program, "compile", tmp_path / "add.onnx", *flags, "--vectors", tmp_path / "in.npz")
        assert "add: bits equal" in sh("make", "-C", tmp_path / "out", "test")
        assert "output 0[0: 4, 1] = input 0[0: 4, 1] * weights[0: 0, 1]" in (tmp_path / "out/add.txt").read_text()
        done = subprocess.run([program, "compile", models / "digits.onnx", *flags], capture_output=True, text=True)
        assert done.returncode == 2 and "pseudo-code has no words for conv" in done.stderr, done.stderr
    assert "pseudo" not in sh(build / "bin" / "quantc", "targets")


def held_peaks(x, decay):
    out = x.copy()
    for k in range(1, x.shape[-1]):
        out[..., k] = np.maximum(x[..., k], out[..., k - 1] * np.float32(decay))
    return out


def peak_hold_models(folder):
    """The op of examples/own_op as an ONNX node of a domain of its own, and as a custom op of PyTorch."""
    import torch
    node = helper.make_node("PeakHold", ["x"], ["y"], name="peaks", domain="example", decay=0.75)
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 16]) for name in "xy"]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
    onnx.save(helper.make_model(helper.make_graph([node], "g", info[:1], info[1:]), opset_imports=imports), folder / "peaks.onnx")

    @torch.library.custom_op("example::peak_hold", mutates_args=())
    def peak_hold(x: torch.Tensor, decay: float) -> torch.Tensor:
        return torch.from_numpy(held_peaks(x.numpy(), decay))

    peak_hold.register_fake(lambda x, decay: torch.empty_like(x))

    class Peaks(torch.nn.Module):
        def forward(self, x):
            return torch.ops.example.peak_hold(x, 0.75)

    torch.export.save(torch.export.export(Peaks(), (torch.zeros(2, 3, 16),)), folder / "peaks.pt2")
    return [folder / "peaks.onnx", folder / "peaks.pt2"]


def edited(path, *pairs):
    text = path.read_text()
    for old, new in pairs:
        assert text.count(old) == 1, (path, old)
        text = text.replace(old, new)
    path.write_text(text)


def own_kernel_with_a_stage(root, folder):
    """The kernel of examples/own_op, which takes a stage of its own besides: a clamp behind it."""
    shutil.copytree(root / "examples/own_op/kernels", folder / "kernels")
    own = folder / "kernels/peak_hold"
    edited(own / "kernels.sig", ("  params qk_peak_hold_params\n", "  params qk_peak_hold_params\n  epilogue limit\n"))
    with open(own / "kernels.sig", "a") as signatures:
        signatures.write("\nstage limit()\n  params qk_limit_stage\n  from clamp of n if type=f32 with on=1\n")
    edited(own / "peak_hold.h", ("/* x and y", "typedef struct {\n  int32_t on;\n  float lo, hi;\n} qk_limit_stage;\n\n/* x and y"),
           ("  float decay;\n", "  float decay;\n  qk_limit_stage limit;\n"))
    edited(own / "portable.c", ("      y[at] = held;", "      y[at] = !p->limit.on ? held : held < p->limit.lo ? p->limit.lo : held > p->limit.hi ? p->limit.hi : held;"))
    return folder


def check_own_stage(program, folder, x):
    """A clamp behind the op is a stage of its call, in the Program's text and in C, and has the bits of two steps."""
    nodes = [helper.make_node("PeakHold", ["x"], ["p"], name="peaks", domain="example", decay=0.75),
             helper.make_node("Clip", ["p", "lo", "hi"], ["y"], name="limits")]
    limits = [onnx.numpy_helper.from_array(np.array(v, np.float32), name) for name, v in (("lo", -0.25), ("hi", 0.75))]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 16]) for name in "xy"]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:], limits), opset_imports=imports), folder / "limits.onnx")
    np.savez(folder / "limits.npz", in_0=x, out_0=np.clip(held_peaks(x, 0.75), np.float32(-0.25), np.float32(0.75)))
    steps = sh(program, "inspect", folder / "limits.onnx", "--program")
    assert "limit = {on = 1, lo = -0.25, hi = 0.75}" in steps and "clamp[" not in steps, steps
    out = sh(program, "validate", folder / "limits.onnx", "-i", folder / "limits.npz", "-e", folder / "limits.npz", "--atol", "0")
    assert "FAIL" not in out and "native          interpreter" in out, out
    sh(program, "compile", folder / "limits.onnx", "-o", folder / "limits", "--name", "net")
    assert ".limit = {.on = 1, .lo = -0x1p-2f, .hi = 0x1.8p-1f}" in (folder / "limits/net.c").read_text()
    sh(program, "compile", folder / "limits.onnx", "-o", folder / "apart", "--name", "net", "--disable-pass", "fuse_epilogues")
    apart = (folder / "apart/net.c").read_text()
    assert ".limit" not in apart and "qk_clamp_f32(" in apart


def test_an_op_with_its_own_kernel_is_built_in_without_another_edit(root, build, tmp_path):
    """Class, import rows and C of examples/own_op: interpreter, in-process kernels and generated C give the same bits. Its
    kernel also takes a stage that no file of quantc names."""
    x = np.random.default_rng(0).standard_normal((2, 3, 16), dtype=np.float32)
    np.savez(tmp_path / "io.npz", in_0=x, out_0=held_peaks(x, 0.75))
    io = ["-i", tmp_path / "io.npz", "-e", tmp_path / "io.npz"]
    paths = peak_hold_models(tmp_path)
    (tmp_path / "rules.toml").write_text("[[rule]]\npattern = '.*peak.*'\nscale = 0.02\ninput_scale = 0.02\n")
    with built_with(root, build, QUANTC_EXTRA_OPS=root / "examples/own_op/ops", QUANTC_EXTRA_KERNELS=own_kernel_with_a_stage(root, tmp_path / "own")):
        program = build / "bin" / "quantc"
        assert "`peak_hold`" in sh(program, "ops")
        for path in paths:
            out = sh(program, "validate", path, *io, "--atol", "0")
            assert "FAIL" not in out and "native          interpreter" in out, out
            sh(program, "compile", path, "-o", tmp_path / path.suffix[1:])
            assert "qk_peak_hold_f32" in (tmp_path / path.suffix[1:] / "peaks_kernels.h").read_text()
        out = sh(program, "validate", paths[0], *io, "--rules", tmp_path / "rules.toml", "--atol", "0.03")
        assert "FAIL" not in out, out
        check_own_stage(program, tmp_path, x)


def test_touching_one_op_folder_rebuilds_it_alone(root, build):
    rebuilt(build)
    os.utime(root / "src/ops/clamp/clamp.cpp", (time.time(), time.time()))
    assert rebuilt(build) == ["clamp"]
