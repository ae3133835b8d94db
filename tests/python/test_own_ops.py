"""Ops that are written in Python: values, imports, forms on codes, generated code and what is wrong in them."""
import gc
import pickle
import re
import subprocess
import sys
import threading
from typing import List, Literal, Tuple

import numpy as np
import onnx.parser
import pytest
import torch
from package import ROOT

import quantc


def define(name="test::double", form=None, **members):
    """An op that doubles, but for what is given."""
    class Double:
        inputs, outputs = {"x": "f32"}, {"y": "f32"}
        c = "for (int32_t i = 0; i < p->x_size; ++i) y[i] = 2 * x[i];"

        def shape(self, x):
            return x

        def evaluate(self, x):
            return 2 * x
    for key, value in members.items():
        setattr(Double, key, value)
    Double.__annotations__ = members.get("__annotations__", {})
    return quantc.op(name, quantizes=form, onnx=name.split(":")[-1].capitalize())(Double)


def onnx_of(node, inputs="float[4,16] x", outputs="float[4,16] y"):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["test": 1]> g ({inputs}) => ({outputs}) {{ {node} }}')


def in_fresh_python(text, **environment):
    import os
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).standard_normal((4, 16), dtype=np.float32)


def test_the_example_has_sixty_lines_and_equal_bits():
    example = ROOT / "examples" / "own_op.py"
    assert len(example.read_text().splitlines()) <= 60
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    where = "['in process', 'C', 'CUDA on the host']"
    assert f"equal bits: {where} {where}" in done.stdout
    assert re.search(r"squash +example\.squash_codes +integer +rule 1", done.stdout), done.stdout
    assert "3 integer, 0 float" in done.stdout and "compiled: True" in done.stdout and "from ONNX: True" in done.stdout


class Mix:
    """Two operands of different types, two results, and parameters of every kind."""
    inputs, outputs = {"x": "f32", "index": "i32"}, {"y": "f32", "count": "i64"}
    times: int = 3
    factor: float = 0.1
    negate: bool = False
    mode: Literal["plain", "square"] = "plain"
    taps: Tuple[float, ...] = (0.5, 0.25)
    steps: List[int] = [1]

    def shape(self, x, index):
        return [(x[0], index[0] + 1), ()]

    def evaluate(self, x, index):
        f = np.float32
        y = np.zeros((x.shape[0], index.shape[0] + 1), f)
        for k, i in enumerate(index):
            v = x[:, i] * f(self.factor)
            v = v * v if self.mode == "square" else v
            for tap in self.taps:
                v = v + f(tap)
            y[:, k] = -v if self.negate else v
        return y, np.asarray(self.times * sum(self.steps), np.int64)

    helpers = "QK_INLINE float test_squared(float v) { return v * v; }"
    c = """
      for (int32_t r = 0; r < p->y_shape[0]; ++r) {
        for (int32_t k = 0; k < p->y_shape[1]; ++k) {
          float v = 0;
          if (k < p->index_shape[0]) {
            v = qn_mulf(x[r * p->x_shape[1] + index[k]], p->factor);
            if (p->mode == square) v = test_squared(v);
            for (int32_t t = 0; t < p->taps_count; ++t) v = v + taps[t];
            if (p->negate) v = -v;
          }
          y[r * p->y_shape[1] + k] = v;
        }
      }
      count[0] = 0;
      for (int32_t s = 0; s < p->steps_count; ++s) count[0] += p->times * steps[s];"""


def test_operands_results_and_parameters_of_every_kind(x):
    op = quantc.op("test::mix")(Mix)
    index = np.array([3, 0, 15], np.int32)
    assert quantc.check_op(op, x, index) == ["in process", "C"]
    quantc.check_op(op, x, index, times=-7, factor=3e-8, negate=True, mode="square", taps=[1.0, 2.0, 4.0], steps=[5, 6])
    model = onnx_of('y, n = test.Mix<mode = "square", taps = [1.0], negate = 1, times = 2, steps = [4]>(x, i)',
                    "float[4,16] x, int32[3] i", "float[4,4] y, int64[] n")
    y, n = quantc.from_onnx(model).run(x, index)
    assert n == 8 and np.array_equal(y[:, 0], -((x[:, 3] * np.float32(0.1)) ** 2 + 1)) and not y[:, 3].any()
    with pytest.raises(quantc.UserError, match="mode of test.mix is 'cube', expected one of plain, square"):
        quantc.from_onnx(onnx_of('y, n = test.Mix<mode = "cube">(x, i)', "float[4,16] x, int32[3] i", "float[4,4] y, int64[] n"))
    with pytest.raises(quantc.UserError, match="op 'test::mix' has no parameter 'extra'"):
        quantc.from_onnx(onnx_of("y, n = test.Mix<extra = 1>(x, i)", "float[4,16] x, int32[3] i", "float[4,4] y, int64[] n"))
    with pytest.raises(quantc.UserError, match="operand 'index' of test.mix is i64, expected i32"):
        quantc.from_onnx(onnx_of("y, n = test.Mix(x, i)", "float[4,16] x, int64[3] i", "float[4,4] y, int64[] n"))


@torch.library.custom_op("test::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return x * by


scaled.register_fake(lambda x, by=2.0: torch.empty_like(x))


class Scaled(torch.nn.Module):
    def forward(self, x):
        return torch.ops.test.scaled(torch.ops.test.scaled(x, 3.0))


def define_scaled(**members):
    return define("test::scaled", __annotations__={"by": float}, by=2.0, evaluate=lambda self, x: x * np.float32(self.by),
                  c="for (int32_t i = 0; i < p->x_size; ++i) y[i] = qn_mulf(x[i], p->by);", **members)


def test_imports_of_torch(x, tmp_path):
    define_scaled()
    t = torch.from_numpy(x)
    program = torch.export.export(Scaled(), (t,))
    torch.export.save(program, tmp_path / "net.pt2")
    for graph in (quantc.from_torch(Scaled(), (t,)), quantc.from_fx(Scaled(), (t,)), quantc.from_fx(program.module(), (t,)),
                  quantc.load(tmp_path / "net.pt2")):
        assert [n.op for n in graph.nodes] == ["test.scaled"] * 2
        assert torch.equal(graph.run(t), 6 * t)


def test_free_sizes(x):
    define_scaled(shape=lambda self, x: (x[0], x[1]))
    batch = torch.export.Dim("batch", min=1, max=64)
    graph = quantc.from_torch(Scaled(), (torch.from_numpy(x),), dynamic_shapes=({0: batch},), dims={"batch": (1, 64)})
    compiled = graph.compile()
    for rows in (1, 4):
        assert np.array_equal(compiled(x[:rows]), 6 * x[:rows]) and np.array_equal(graph.run(x[:rows]), 6 * x[:rows])
    define_scaled(shape=lambda self, x: (x[0] if x[0] > 2 else 2, x[1]))
    with pytest.raises(quantc.UserError, match=r"shape needs a number for the free size \w+: give it one with dims"):
        quantc.from_torch(Scaled(), (torch.from_numpy(x),), dynamic_shapes=({0: batch},), dims={"batch": (1, 64)})
    define("test::halves", shape=lambda self, x: (x[0] // 2 * 2, 8 - 1 + x[1] % 3), evaluate=lambda self, x: x[:, :7],
           c="for (int32_t i = 0; i < p->y_size; ++i) y[i] = x[i / 7 * 16 + i % 7];")
    graph = quantc.from_onnx(onnx_of("y = test.Halves(x)", "float[N,16] x", "float[M,8] y"), dims={"N": (2, 8)})
    assert graph.outputs[0].shape[1] == "8" and "N" in graph.outputs[0].shape[0]


def test_forms_on_codes(x):
    whole = define("test::neg", evaluate=lambda self, x: -x, c="for (int32_t i = 0; i < p->x_size; ++i) y[i] = -x[i];")
    model = onnx_of("y = test.Neg(x)")
    rule = quantc.StaticQuantRule(pattern=".*", dtype="int8", scale=0.02, input_scale=0.02)
    in_float = quantc.from_onnx(model).quantize([rule])
    assert [n.computes for n in in_float.explain().nodes if n.op == "test.neg"] == ["float"]
    form = define("test::neg_codes", whole, inputs={"x": "i8"}, outputs={"y": "i8"},
                  evaluate=lambda self, x: np.clip(self.x_zero_point - x.astype(np.int32) + self.y_zero_point, self.y_qmin,
                                                   self.y_qmax).astype(np.int8),
                  c="""for (int32_t i = 0; i < p->x_size; ++i) {
                         const int32_t v = p->x_zero_point - x[i] + p->y_zero_point;
                         y[i] = (int8_t)(v < p->y_qmin ? p->y_qmin : v > p->y_qmax ? p->y_qmax : v);
                       }""")
    quantc.check_op(form, x)
    codes = quantc.from_onnx(model).quantize([rule])
    assert [n.op for n in codes.explain().nodes if n.computes == "integer"] == ["test.neg_codes"]
    assert codes.run(x).tobytes() == codes.run_reference(x).tobytes() == codes.compile()(x).tobytes()
    unsigned = quantc.StaticQuantRule(pattern=".*", dtype="uint8", scale=0.02, offset=128, input_scale=0.02, input_offset=128)
    with pytest.raises(quantc.UserError, match="asks for a quantized test.neg, but its form on codes gives i8, not u8"):
        quantc.from_onnx(model).quantize([unsigned])
    with pytest.raises(quantc.UserError, match="has its operands and parameters, and one result of codes"):
        define("test::bad_codes", whole, inputs={"x": "i8"}, outputs={"y": "f32"})
    with pytest.raises(quantc.UserError, match="str is no op: decorate it"):
        define("test::bad_codes", str)


@pytest.mark.parametrize("members, said", [
    ({"c": "\n  for (int32_t i = 0; i < p->x_size; ++i)\n    y[i] = twice(x[i]);"}, r"op 'test::wrong', line 3 of its C text: .*twice"),
    ({"c": "y[0] = 1;\nnonsense here;"}, r"op 'test::wrong', line 2 of its C text: .*nonsense"),
    ({"c": "y[0] = p->x_length;"}, r"op 'test::wrong', line 1 of its C text: .*x_length"),
    ({"helpers": "int a;\n\nfloat b = ;"}, r"op 'test::wrong', line 3 of its helpers: "),
    ({"units": "p->x_size +"}, r"op 'test::wrong', line 1 of its units: "),
    ({"units": "p->x_size", "cuda": "\ny[unit] = z;"}, r"op 'test::wrong', line 2 of its CUDA text: .*z"),
    ({"cuda": "y[unit] = 1;"}, "`units` says how many there are"),
    ({"c": ""}, "op 'test::wrong': has no C text"),
    ({"inputs": {"for": "f32"}}, "operand 'for' has no name that C can have"),
    ({"inputs": {"y": "f32"}}, "two of its values are called 'y'"),
    ({"__annotations__": {"x_size": int}, "x_size": 1}, "two of its values are called 'x_size'"),
    ({"inputs": {"x": "f16"}}, "'x' is f16, which C has no type for"),
    ({"inputs": {"x": "float"}}, "'x' has the unknown type 'float'"),
    ({"__annotations__": {"k": int}}, "parameter 'k' has no default"),
    ({"__annotations__": {"k": str}, "k": "a"}, "parameters are bool, int, float"),
])
def test_what_is_wrong_is_said_with_the_op_and_the_line(members, said):
    with pytest.raises(quantc.UserError, match=said):
        define("test::wrong", **members)


@pytest.mark.parametrize("name", ["relu", "::relu", "test::", "te st::x", "test::a::b", 'te"st::x', "aten::relu"])
def test_names(name):
    with pytest.raises(quantc.UserError, match="is not the name of an op: domain::name|is an op of quantc"):
        define(name)


def test_what_functions_give_is_checked(x):
    model = onnx_of("y = test.Double(x)")
    for members, said in [({"shape": lambda self, x: (-1, 4)}, r"gives \[-1, 4\]: a size is negative"),
                          ({"shape": lambda self, x: (1,) * 9}, "too many axes"),
                          ({"evaluate": lambda self, x: x.astype(np.float64)}, r"gives f64\[4, 16\] for 'y', expected f32"),
                          ({"evaluate": lambda self, x: x[:2]}, r"gives f32\[2, 16\] for 'y'")]:
        define(**members)
        with pytest.raises(quantc.UserError, match=said):
            quantc.from_onnx(model).run_reference(x)

    def fails(self, x):
        raise KeyError("mine")
    for member in ("shape", "evaluate"):
        define(**{member: fails})
        with pytest.raises(KeyError, match="mine") as caught:
            quantc.from_onnx(model).run_reference(x)
        assert "in op 'test::double'" in caught.value.__notes__
    with pytest.raises(quantc.UserError, match="in process it gives other bits than evaluate"):
        quantc.check_op(define(evaluate=lambda self, x: 2 * x + np.float32(1e-3)), x)


def test_one_node_of_a_model_is_one_op():
    quantc.op("test::first", onnx="Shared")(define("test::other"))
    with pytest.raises(quantc.UserError, match="op 'test::second': 'Shared' of that domain imports op 'test.first' already"):
        quantc.op("test::second", onnx="Shared")(define("test::other"))


def test_an_op_that_nobody_defined(x):
    with pytest.raises(quantc.Unsupported, match="Nowhere"):
        quantc.from_onnx(onnx_of("y = test.Nowhere(x)"))
    with pytest.raises(quantc.UserError, match="there is no op 'test.nowhere'"):
        quantc.load(b'graph (%x "x" : f32[4]) { %y = test.nowhere(%x) return %y }')


def test_defined_again(x):
    """Networks that are loaded keep what they have; those loaded later have the new op."""
    model = onnx_of("y = test.Double(x)")
    define()
    old = quantc.from_onnx(model)
    define(evaluate=lambda self, x: 3 * x, c="for (int32_t i = 0; i < p->x_size; ++i) y[i] = 3 * x[i];")
    gc.collect()
    new = quantc.from_onnx(model)
    for graph, factor in ((old, 2), (new, 3)):
        for run in (graph.run, graph.run_reference, graph.compile()):
            assert np.array_equal(run(x), factor * x)


def test_generated_code_needs_no_definition(x, tmp_path):
    define()
    graph = quantc.from_onnx(onnx_of("y = test.Double(x)"))
    compiled = graph.compile(tmp_path / "out")
    graph.compile(tmp_path / "cuda", target="cuda", build=False)  # without units a thread of a GPU computes the call
    assert np.array_equal(quantc.load(tmp_path / "cuda", host=True)(x), 2 * x)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "pickled").write_bytes(pickle.dumps(compiled))
    out = in_fresh_python(f"""
import numpy, pickle, quantc
x = numpy.load({str(tmp_path / 'x.npy')!r})
for m in (quantc.load({str(tmp_path / 'out')!r}), pickle.load(open({str(tmp_path / 'pickled')!r}, 'rb'))):
    print((m(x) == 2 * x).all())""")
    assert out == "True\nTrue\n"


def test_without_a_compiler(x, tmp_path):
    """The network runs by what evaluates it, and code is written all the same."""
    out = in_fresh_python(f"""
import sys, numpy as np, quantc
sys.path.insert(0, {str(ROOT / 'tests' / 'python')!r})
import test_own_ops
test_own_ops.define(evaluate=lambda self, x: 5 * x)
graph = quantc.from_onnx(test_own_ops.onnx_of('y = test.Double(x)'))
x = np.ones((4, 16), np.float32)
print(graph.run(x).sum(), graph.run(x).sum(), graph.compile({str(tmp_path / 'out')!r}, build=False).macs)""", CC="no-such-compiler")
    assert out == "320.0 320.0 0\n"
    assert "y[i] = 2 * x[i]" in (tmp_path / "out" / "model_kernels.h").read_text()


def test_threads_that_define_and_run(x):
    model = onnx_of("y = test.Double(x)")
    define()
    wrong = []

    def work(n):
        for k in range(5):
            define(f"test::op{n}_{k}", c=f"for (int32_t i = 0; i < p->x_size; ++i) y[i] = 2 * x[i]; /* {n} */")
            if not np.array_equal(quantc.from_onnx(model).run(x), 2 * x):
                wrong.append((n, k))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
