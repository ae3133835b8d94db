#!/usr/bin/env python3
"""Writes the ONNX conformance cases as files that the C++ runner reads: export_cases.py DIR [--light].

With --light it writes the networks of onnx's group `light`, else all other cases.

DIR/cases.tsv has one line per case: name, group, rtol, atol, number of data sets, variants, reason.
A case whose inputs or outputs are not tensors of numbers has a reason and no files. The others have
DIR/NAME/set_I.npz with the arrays in_0, ..., out_0, ..., and one or more variants of the model. The node tests
feed everything at run time, shapes and axes included; compiled code has static shapes, so variant L of a
model has some inputs turned into constants:
  0  none
  1  integer inputs of rank 0 and 1
  2  every input of rank 0 and 1 except the first input
  3  all inputs
`variants` lists them as L:inputs that remain, as in "0:0,1|1:0".
"""
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import DATA_DIR
from onnx.backend.test.runner import Runner

ROOT = Path(DATA_DIR)
INTEGERS = (TensorProto.INT32, TensorProto.INT64)
# Bytes numpy can save: these types travel as the integers that hold their bits.
RAW = {"bfloat16": np.uint16, "int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}


class NotTensors(Exception):
    """The case uses strings, sequences, optionals or maps."""


def plain(item) -> np.ndarray:
    """The array in a type that numpy can save."""
    if isinstance(item, TensorProto):
        item = numpy_helper.to_array(item)
    if item is None:
        raise NotTensors("optional type")
    if isinstance(item, (list, tuple, dict)):
        raise NotTensors("sequence type")
    array = np.asarray(item)
    if array.dtype == object or array.dtype.kind in "USO":
        raise NotTensors("string type")
    if array.dtype.kind == "c":
        raise NotTensors("complex type")
    name = array.dtype.name
    if name in ("int4", "int2", "uint4", "uint2"):
        return array.astype(RAW[name])
    if name in RAW:
        return array.view(RAW[name])
    if name.startswith("float") and array.dtype.itemsize == 1:
        return array.view(np.uint8)
    return array


def check_types(model: onnx.ModelProto) -> None:
    for value in list(model.graph.input) + list(model.graph.output):
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise NotTensors(f"{(kind or 'no_type').split('_')[0]} type")
        if value.type.tensor_type.elem_type == TensorProto.STRING:
            raise NotTensors("string type")
        if value.type.tensor_type.elem_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
            raise NotTensors("complex type")


def runtime_inputs(model: onnx.ModelProto) -> list:
    constant = {t.name for t in model.graph.initializer}
    return [v for v in model.graph.input if v.name not in constant]


def variants(inputs: list, arrays: list[np.ndarray]) -> dict[int, list[int]]:
    """Variant number -> indices of the inputs that stay; variants that repeat an earlier one are left out."""
    def keep(level: int, i: int) -> bool:
        small = arrays[i].ndim <= 1
        if level == 1:
            return not (small and inputs[i].type.tensor_type.elem_type in INTEGERS)
        if level == 2:
            return i == 0 or not small
        return level == 0

    found: dict[int, list[int]] = {}
    for level in range(4):
        stay = [i for i in range(len(inputs)) if keep(level, i)]
        if stay not in found.values():
            found[level] = stay
    return found


def frozen(model: onnx.ModelProto, tensors: list[TensorProto], stay: list[int]) -> onnx.ModelProto:
    """The model with every input that does not stay turned into an initializer."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    inputs = runtime_inputs(copy)
    for i, value in enumerate(inputs):
        if i in stay:
            continue
        tensor = copy.graph.initializer.add()
        tensor.CopyFrom(tensors[i])
        tensor.name = value.name
        copy.graph.input.remove(value)
    return copy


def as_proto(item, elem_type: int) -> TensorProto:
    if isinstance(item, TensorProto):
        return item
    proto = numpy_helper.from_array(np.asarray(item))
    if proto.data_type != elem_type:
        raise NotTensors(f"input of type {proto.data_type}, declared {elem_type}")
    return proto


class Writer:
    def __init__(self, out: Path) -> None:
        self.out = out
        self.lines: list[str] = []

    def add(self, name: str, group: str, model: onnx.ModelProto, sets: list, rtol: float, atol: float) -> None:
        levels, reason = "", ""
        try:
            check_types(model)
            inputs = runtime_inputs(model)
            arrays = [([plain(a) for a in ins], [plain(a) for a in outs]) for ins, outs in sets]
            folder = self.out / name
            folder.mkdir(parents=True, exist_ok=True)
            for i, (ins, outs) in enumerate(arrays):
                named = {f"in_{k}": a for k, a in enumerate(ins)} | {f"out_{k}": a for k, a in enumerate(outs)}
                np.savez(folder / f"set_{i}.npz", **named)
            # Constants are only right for one data set.
            found = variants(inputs, arrays[0][0]) if len(sets) == 1 else {0: list(range(len(inputs)))}
            for level, stay in found.items():
                tensors = []
                if level:
                    tensors = [as_proto(a, v.type.tensor_type.elem_type) for a, v in zip(sets[0][0], inputs)]
                onnx.save(frozen(model, tensors, stay) if level else model, folder / f"model_{level}.onnx")
            levels = "|".join(f"{level}:{','.join(map(str, stay))}" for level, stay in found.items())
        except NotTensors as why:
            reason = str(why)
        self.lines.append("\t".join([name, group, repr(rtol), repr(atol), str(len(sets)), levels, reason]))

    def finish(self) -> None:
        (self.out / "cases.tsv").write_text("\n".join(sorted(self.lines)) + "\n")


def load_pb(path: Path, value) -> TensorProto:
    if value.type.WhichOneof("value") != "tensor_type":
        raise NotTensors(f"{value.type.WhichOneof('value').split('_')[0]} type")
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor


def add_node_cases(writer: Writer) -> None:
    import onnx.backend.test.case.node as node  # building the cases takes seconds: only when asked for

    for case in node.collect_testcases(None):
        writer.add(case.name, "node", case.model, case.data_sets, case.rtol, case.atol)


def add_stored_cases(writer: Writer, group: str) -> None:
    for folder in sorted((ROOT / group).iterdir()):
        if not (folder / "model.onnx").exists():
            continue
        model = onnx.load(folder / "model.onnx")
        try:
            sets = []
            for data in sorted(folder.glob("test_data_set_*")):
                ins = [load_pb(data / f"input_{i}.pb", v) for i, v in enumerate(runtime_inputs(model))]
                outs = [load_pb(data / f"output_{i}.pb", v) for i, v in enumerate(model.graph.output)]
                sets.append((ins, outs))
        except NotTensors:
            sets = []  # check_types gives the reason
        writer.add(folder.name, group, model, sets, 1e-3, 1e-7)


def add_light_cases(writer: Writer) -> None:
    for path in sorted((ROOT / "light").glob("*.onnx")):
        model = onnx.load(path)
        ins = [Runner.generate_dummy_data(v) for v in runtime_inputs(model)]
        outs = [load_pb(path.with_name(f"{path.stem}_output_{i}.pb"), v) for i, v in enumerate(model.graph.output)]
        rtol = 2e-3 if "densenet121" in path.stem else 1e-3  # as in onnx's own list of these tests
        writer.add(path.stem, "light", model, [(ins, outs)], rtol, 1e-7)


def main() -> None:
    warnings.simplefilter("ignore")
    out = Path(sys.argv[1])
    stamp = out / "stamp"
    mark = onnx.__version__ + "\n" + Path(__file__).read_text()
    if stamp.exists() and stamp.read_text() == mark:
        return
    writer = Writer(out)
    if "--light" in sys.argv:
        add_light_cases(writer)
    else:
        add_node_cases(writer)
        for group in ("simple", "pytorch-operator", "pytorch-converted"):
            add_stored_cases(writer, group)
    writer.finish()
    stamp.write_text(mark)


if __name__ == "__main__":
    main()
