"""Networks of as many nodes as a test asks for, and what a command costs in instructions of the processor, which are the same in every run."""
import re
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 16


def _binary(i, op, a, b, out):
    return helper.make_node(op, [a, b], [out], name=f"n{i}")


def chain(count):
    """Sigmoid and Add interleaved, each of the one before."""
    nodes = [helper.make_node("Sigmoid", [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") if i % 2 == 0 else _binary(i, "Add", f"v{i}", "bias", f"v{i + 1}")
             for i in range(count)]
    return nodes, [("v0", [1, WIDTH])], [(f"v{count}", [1, WIDTH])], {"bias": np.linspace(-1, 1, WIDTH, dtype=np.float32)}


def free(count):
    """The same for any number of rows."""
    nodes, inputs, outputs, weights = chain(count)
    return nodes, [(inputs[0][0], ["rows", WIDTH])], [(outputs[0][0], ["rows", WIDTH])], weights


def wide(count):
    """Products with a constant each, and the tree of their sums: half of the values live together."""
    leaves = count // 2 + 1
    nodes = [_binary(i, "Mul", "x", f"w{i}", f"t{i}") for i in range(leaves)]
    rest, made = [f"t{i}" for i in range(leaves)], leaves
    while len(rest) > 1:
        pairs = []
        for a, b in zip(rest[::2], rest[1::2]):
            nodes.append(_binary(made, "Add", a, b, f"t{made}"))
            pairs.append(f"t{made}")
            made += 1
        rest = pairs + rest[len(pairs) * 2:]
    return nodes, [("x", [1, WIDTH])], [(rest[0], [1, WIDTH])], {f"w{i}": np.full(WIDTH, i + 1, np.float32) for i in range(leaves)}


def hub(count):
    """A chain of which each node reads one value besides."""
    nodes = [helper.make_node("Sigmoid", ["x"], ["h"], name="h")]
    nodes += [_binary(i, "Add" if i % 2 else "Mul", f"v{i}" if i else "x", "h", f"v{i + 1}") for i in range(count - 1)]
    return nodes, [("x", [1, WIDTH])], [(f"v{count - 1}", [1, WIDTH])], {}


def views(count):
    """Reshapes, transposes and slices interleaved, with an activation after each."""
    moved = {"Reshape": ["wide"], "Transpose": [], "Slice": ["first", "last"]}
    nodes, last = [], "x"
    for i in range(count):
        op = [*moved][i // 2 % 3] if i % 2 == 0 else "Sigmoid"
        nodes.append(helper.make_node(op, [last, *moved.get(op, [])], [f"v{i}"], name=f"n{i}"))
        last = f"v{i}"
    shapes = {"wide": np.array([8, 4], np.int64), "first": np.array([0, 0], np.int64), "last": np.array([4, 8], np.int64)}
    return nodes, [("x", [4, 8])], [(last, [4, 8])], shapes


def ports(count):
    """As many inputs and outputs as nodes."""
    return ([helper.make_node("Sigmoid", [f"x{i}"], [f"y{i}"], name=f"n{i}") for i in range(count)],
            [(f"x{i}", [1, WIDTH]) for i in range(count)], [(f"y{i}", [1, WIDTH]) for i in range(count)], {})


def layers(count):
    """Linear layers with weights of their own, and an activation after each."""
    rng = np.random.default_rng(0)
    few = [rng.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 4 for _ in range(8)]
    nodes, weights = [], {}
    for i in range(count):
        if i % 2:
            nodes.append(helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], name=f"n{i}"))
        else:
            weights[f"w{i}"] = few[i // 2 % len(few)]
            nodes.append(helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], name=f"n{i}"))
    return nodes, [("v0", [1, WIDTH])], [(f"v{count}", [1, WIDTH])], weights


def write(path, shape, count):
    """Writes the network of one of the functions above."""
    nodes, inputs, outputs, weights = shape(count)
    infos = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "grown", *infos, [numpy_helper.from_array(v, k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


IDLE = """#!/bin/sh
for word; do
  case $word in *_weights.c) name=$(basename "$word" _weights.c) ;; esac
  [ "$before" = -o ] && to=$word
  before=$word
done
echo "int ${name}_invoke_args(const void *args) { return args == 0; }" | cc -shared -fPIC -x c - -o "$to"
"""


def idle_compiler(folder):
    """A C compiler that is done at once: its models compute nothing."""
    path = folder / "idle_cc"
    path.write_text(IDLE)
    path.chmod(0o755)
    return path


def instructions(*command, status=0):
    """How many instructions a command takes, without those of programs that it starts."""
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *map(str, command)],
                          capture_output=True, text=True)
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))
