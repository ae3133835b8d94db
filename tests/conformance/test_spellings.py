"""Every spelling of an op comes to one canonical text after normalising and fusing. The table is in spellings.py; a row of
one of its families (as `quantc ops` lists them) that no spelling uses fails here too."""
import ast
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from spellings import FAMILIES  # noqa: E402

OPSET = 17
STATEMENT = re.compile(r"(\w+) = (?:([\w.]+):)?(\w+)\(([^)]*)\)(?:\{(.*)\})?$")
NODE = re.compile(r"\s*(%[^:]*?) : .*? = (\w+)\((.*?)\)(?: (\{.*?\}))?(?:  loc\(.*\))?$")
CONSTANT = re.compile(r"@(\S+) : \w+\[(.*?)\] = \[(.*)\]$")


class Constants(torch.nn.Module):
    def __init__(self, constants):
        super().__init__()
        for name, value in constants.items():
            self.register_buffer(name, torch.from_numpy(value.copy()))


class Module(torch.nn.Module):
    """All functions, each with inputs and constants of its own, so that nothing of two spellings is shared."""

    def __init__(self, constants, functions):
        super().__init__()
        self.functions = functions
        self.own = torch.nn.ModuleList(Constants(constants) for _ in functions)

    def forward(self, *args):
        each = len(args) // len(self.functions)
        return tuple(f(self.own[i], *args[i * each:(i + 1) * each]) for i, f in enumerate(self.functions))


def torch_model(group, path):
    """Writes all PyTorch spellings as the outputs of one model; gives the rows they use."""
    names = list(group.inputs)
    module = Module(group.constants, group.torch)
    args = tuple(torch.from_numpy(group.inputs[n].copy()) for _ in group.torch for n in names)
    program = torch.export.export(module, args)
    torch.export.save(program, path)
    used = set()
    for node in program.graph.nodes:
        if node.op == "call_function" and hasattr(node.target, "_schema"):
            name, overload = str(node.target).removeprefix("aten.").rsplit(".", 1)
            plain = name if name.startswith("__") else name.removesuffix("_")
            used.add(f"aten {plain}.{overload}")
    inputs = [node.name for node in program.graph.nodes if node.op == "placeholder"][-len(args):]
    return used, dict(zip(inputs, names * len(group.torch)))


def split_list(text):
    """Splits at commas outside brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "[({") - (c in "])}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts] if text.strip() else []


def onnx_model(group, text, path):
    opset = OPSET
    if found := re.match(r"\[(\d+)\] ", text):
        opset, text = int(found[1]), text[found.end():]
    names = {name: name for name in (*group.inputs, *group.constants)}
    initializers = [numpy_helper.from_array(v, n) for n, v in group.constants.items()]
    nodes, used, domains = [], set(), {""}
    for index, statement in enumerate(text.split("; ")):
        target, domain, op, args, attributes = STATEMENT.match(statement).groups()
        inputs = []
        for arg in split_list(args):
            if arg and arg not in names:
                literal = ast.literal_eval(arg)
                array = np.array(literal, np.float32 if isinstance(literal, float) else np.int64)
                names[arg] = f"literal_{len(names)}"
                initializers.append(numpy_helper.from_array(array, names[arg]))
            inputs.append(names.get(arg, ""))
        pairs = [item.split(": ", 1) for item in split_list(attributes or "")]
        nodes.append(helper.make_node(op, inputs, [f"out_{index}"], domain=domain or "",
                                      **{k: ast.literal_eval(v) for k, v in pairs}))
        names[target] = f"out_{index}"
        used.add(f"{domain or 'onnx'} {op}")
        domains.add(domain or "")
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in group.inputs.items()]
    result = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", info, [result], initializers)
    opsets = [helper.make_opsetid(d, opset if d == "" else 1) for d in sorted(domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return used, {name: name for name in group.inputs}


def expressions(text, inputs, constants):
    """The outputs of a graph in text form, each as one nested expression. Constants that equal one of the table's have its
    name, single numbers stand for themselves, others are ?."""
    known, results = {}, None
    for line in text.splitlines():
        if found := CONSTANT.match(line):
            name, shape, contents = found.groups()
            shape = [int(d) for d in split_list(shape)]
            numbers = np.array([float(v) for v in split_list(contents)], np.float32)
            same = [n for n, v in constants.items() if list(v.shape) == shape and np.array_equal(v.ravel(), numbers)]
            number = str(float(numbers[0])) if numbers.size == 1 else f"?{shape}"
            known["@" + name] = f"{same[0]}{shape}" if same else number
        elif line.startswith("graph"):
            for label, name in re.findall(r'(%\d+) "([^"]*)"', line):
                known[label] = inputs[name]
        elif line.strip().startswith("return"):
            results = [known[label] for label in re.findall(r"[%@][^\s,]+", re.sub(r'"[^"]*"', "", line))]
        elif found := NODE.match(line):
            labels, op, operands, attributes = found.groups()
            expression = f"{op}({', '.join(known.get(o, o) for o in split_list(operands))}){attributes or ''}"
            for index, label in enumerate(split_list(labels)):
                known[label] = expression if index == 0 else f"{expression}#{index}"
    return results


def canonical_texts(group, quantc, folder):
    """(what, text) of every spelling, and the rows they use."""
    out, rows = [], set()
    if group.torch:
        used, inputs = torch_model(group, folder / "m.pt2")
        text = quantc("inspect", "--ir", folder / "m.pt2").stdout
        texts = expressions(text, inputs, group.constants)
        assert len(texts) == len(group.torch), text
        out += [(f"PyTorch spelling {i}", t) for i, t in enumerate(texts)]
        rows |= used
    for spelling in group.onnx:
        used, inputs = onnx_model(group, spelling, folder / "m.onnx")
        text = quantc("inspect", "--ir", folder / "m.onnx").stdout
        out += [(f"ONNX {spelling}", t) for t in expressions(text, inputs, group.constants)]
        rows |= used
    return out, rows


def all_rows(quantc):
    rows, domain = set(), None
    for line in quantc("ops").stdout.splitlines():
        if found := re.match(r"## Names read from models: (\S+)", line):
            domain = "onnx" if found[1] == "ONNX" else found[1]
        elif domain and (found := re.match(r"- `([^`]+)`", line)):
            rows.add(f"{domain} {found[1]}")
    return rows


@pytest.mark.parametrize("family", FAMILIES)
def test_spellings(family, quantc, tmp_path):
    wrong, used = [], set()
    for group in FAMILIES[family].groups:
        texts, rows = canonical_texts(group, quantc, tmp_path)
        wrong += [f"{what}\n    gives    {text}\n    expected {group.canonical}" for what, text in texts if text != group.canonical]
        used |= rows
    missing = sorted(r for r in all_rows(quantc) if re.match(FAMILIES[family].rows, r) and r not in used)
    assert not wrong, "\n" + "\n".join(wrong)
    assert not missing, f"rows of the family without a spelling in the table: {missing}"
