#!/usr/bin/env python3
"""Writes one small .pt2 per archive layout into tests/data/pt2/.

The newest layout is written by the installed PyTorch. The older ones are written by hand from the
same exported program: the containers, file names and JSON habits of torch 2.4, 2.6 and 2.8.
"""
import copy
import io
import json
import pathlib
import re
import zipfile

import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "pt2"


class Small(torch.nn.Module):
    """A strided weight, a tied weight, a buffer, a lifted constant and a symbolic batch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)
        self.fc = torch.nn.Linear(4, 3)
        base = torch.randn(5, 4)
        self.register_buffer("rows", base[2:5])          # offset into a shared storage
        self.register_buffer("cols", base.t()[:, :3])    # strided view of it
        self.register_buffer("scratch", torch.ones(3), persistent=False)

    def forward(self, x):
        y = torch.relu_(self.conv(x)).mean((2, 3))
        y = self.fc(y) + y @ self.cols + torch.nn.functional.linear(y, self.rows) * self.scratch
        return torch.clamp(y + torch.tensor([1.0, 2.0, 3.0]), max=float("inf"))


class Tiny(torch.nn.Module):
    """As little as goes through every part of an archive: a weight, a constant, a symbolic size."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.w = torch.nn.Parameter(torch.randn(2, 2))

    def forward(self, x):
        return torch.relu(x @ self.w) + torch.tensor([1.0, 2.0])


def infix(node):
    """sympy srepr -> str, as old writers spelled sizes."""
    text = re.sub(r"Symbol\('(\w+)'[^)]*\)", r"\1", node)
    return re.sub(r"Integer\((-?\d+)\)", r"\1", text)


def walk(value, change):
    value = change(value)
    if isinstance(value, dict):
        return {k: walk(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [walk(v, change) for v in value]
    return value


def old_json(program, major, minor):
    """The JSON as torch 2.4 to 2.6 wrote it."""
    doc = copy.deepcopy(program)
    doc["schema_version"] = {"major": major, "minor": minor}

    def change(v):
        if not isinstance(v, dict):
            return v
        v = {k: x for k, x in v.items() if x is not None}        # absent, not null
        if "as_none" in v:
            v["as_none"] = []
        if "expr_str" in v:
            v["expr_str"] = infix(v["expr_str"])
        if "arg" in v:
            v.pop("kind", None)
        if "target" in v and "metadata" in v:
            v.pop("name", None)
            v.pop("is_hop_single_tensor_return", None)
        if "as_float" in v and v["as_float"] in ("Infinity", "-Infinity", "NaN"):
            v["as_float"] = float(v["as_float"].replace("Infinity", "inf"))
        return v

    doc = walk(doc, change)
    graph = doc["graph_module"]["graph"]
    graph.pop("sym_float_values", None)
    doc["graph_module"].pop("treespec_namedtuple_fields", None)
    doc.pop("guards_code", None)
    for bounds in doc["range_constraints"].values():
        bounds.setdefault("max_val", 9223372036854775806)
    if major < 8:
        doc["dialect"] = doc.pop("verifiers")[0]
        doc.pop("torch_version")
    return json.dumps(doc)  # writes bare Infinity


def saved(tensors, **options):
    buffer = io.BytesIO()
    torch.save(tensors, buffer, **options)
    return buffer.getvalue()


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)


def bare(program):
    """Takes paths of the writing machine out."""
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
        node.meta.pop("from_node", None)
    return program


def plain(value):
    """Lists of strings that only explain, as JSON has them, made empty."""
    return {} if isinstance(value, dict) and "nn_module_stack" in value else value


def write_tiny():
    """Two archives small enough to damage every byte of: the newest layout and an old one."""
    x = torch.ones(2, 2)
    program = bare(torch.export.export(Tiny().eval(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("n", max=4)}}))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    with zipfile.ZipFile(buffer) as archive:
        root = archive.namelist()[0].split("/")[0]
        members = {n.replace(root, "t", 1): archive.read(n) for n in archive.namelist() if "sample_inputs" not in n}
    text = walk(json.loads(members["t/models/model.json"]), plain)
    members["t/models/model.json"] = json.dumps(text, separators=(",", ":"))
    write_zip(OUT / "tiny_new.pt2", members.items())
    write_zip(OUT / "tiny_old.pt2", [
        ("serialized_exported_program.json", old_json(text, 8, 1)),
        ("serialized_state_dict.pt", saved(dict(program.state_dict))),
        ("serialized_constants.pt", saved(dict(program.constants))),
        ("version", "8.1"),
    ])


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    model = Small().eval()
    x = torch.linspace(-1, 1, 3 * 2 * 4 * 4).reshape(3, 2, 4, 4)
    batch = torch.export.Dim("batch", min=1, max=16)
    program = bare(torch.export.export(model, (x,), dynamic_shapes={"x": {0: batch}}))
    np.savez(OUT / "small.npz", in_0=x.numpy(), out_0=model(x).detach().numpy())

    newest = OUT / "torch_2_13.pt2"
    torch.export.save(program, newest)
    with zipfile.ZipFile(newest) as archive:
        names = archive.namelist()
        root = names[0].split("/")[0]
        text = json.loads(archive.read(f"{root}/models/model.json"))
    state, constants = dict(program.state_dict), dict(program.constants)

    pytorch_zip = [
        (f"{root}/data/weights/model.pt", saved(state)),
        (f"{root}/data/constants/model.pt", saved(constants)),
        (f"{root}/models/model.json", json.dumps(text)),
        (f"{root}/data/sample_inputs/model.pt", saved(((x,), {}))),
        (f"{root}/archive_format", "pt2"),
        (f"{root}/archive_version", "0"),
        (f"{root}/.data/version", "6\n"),
        (f"{root}/byteorder", "little"),
    ]
    write_zip(OUT / "torch_2_8.pt2", pytorch_zip)
    for name, version, suffix in (("torch_2_6", (8, 1), "pt"), ("torch_2_4", (5, 3), "json")):
        write_zip(OUT / f"{name}.pt2", [
            ("serialized_exported_program.json", old_json(text, *version)),
            (f"serialized_state_dict.{suffix}", saved(torch.nn.Module.state_dict(model))),
            (f"serialized_constants.{suffix}", saved(constants)),
            ("serialized_example_inputs.pt", saved(((x,), {}))),
            ("version", "%d.%d" % version),
            ("extra_files/note.txt", "nothing"),
        ])

    # A weight saved by pickle inside the newest layout, and archives that must be refused.
    with zipfile.ZipFile(newest) as archive:
        members = [(n, archive.read(n)) for n in archive.namelist()]
    config = f"{root}/data/weights/model_weights_config.json"
    entries = json.loads(dict(members)[config])
    entries["config"]["fc.bias"]["use_pickle"] = True
    pickled = f"{root}/data/weights/" + entries["config"]["fc.bias"]["path_name"]
    replaced = {config: json.dumps(entries), pickled: saved(model.fc.bias.data)}
    write_zip(OUT / "pickled_weight.pt2", [(n, replaced.get(n, d)) for n, d in members])
    write_zip(OUT / "incomplete.pt2", [m for m in members if "/models/" not in m[0]])
    write_zip(OUT / "aotinductor.pt2", [
        ("model/data/aotinductor/model/code.so", b"\x7fELF"), ("model/archive_format", "pt2")])
    write_tiny()


if __name__ == "__main__":
    main()
