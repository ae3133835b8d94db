#!/usr/bin/env python3
"""Writes well-formed ONNX files with fields changed: mutate_onnx.py OUT COUNT SEED MODEL...

A bit flip mostly breaks the wire format; these files always parse, so that they reach the import rows and what follows.
The same arguments give the same files.
"""
import random
import re
import sys
from pathlib import Path

import onnx
from google.protobuf.descriptor import FieldDescriptor as Field

NUMBERS = [0, 1, -1, 2, 3, 4, 7, 8, 16, 64, 255, 256, 1000, 65536, 2**31 - 1, 2**31, -2**31, 2**32, 2**40, 2**62, 2**63 - 1, -2**63]
SIZES = ["n", "m", "2*n", "n + 1", "n*m", "n//2", "(n + m)**8", "n%0", "(n + 9223372036854775807)//(-1)", "max(n, m - 3)"]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-40, 3e38, float("inf"), float("-inf"), float("nan")]
TYPES = [1, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16]  # of tensors: float, uint8, ...
UNARY = ["Abs", "Cast", "Ceil", "CumSum", "Exp", "Flatten", "GlobalAveragePool", "HardSwish", "Identity", "LogSoftmax", "Neg", "NonZero",
         "Not", "ReduceMax", "ReduceMean", "ReduceSum", "Relu", "Shape", "Sigmoid", "Size", "Softmax", "Sqrt", "Squeeze", "Transpose", "Unique"]
BINARY = ["Add", "And", "Concat", "Div", "Equal", "Expand", "Gather", "GreaterOrEqual", "MatMul", "Max", "Mod", "Mul", "Pow", "Reshape", "Sub",
          "Tile"]
RANGES = {Field.CPPTYPE_INT32: (-2**31, 2**31 - 1), Field.CPPTYPE_INT64: (-2**63, 2**63 - 1),
          Field.CPPTYPE_UINT32: (0, 2**32 - 1), Field.CPPTYPE_UINT64: (0, 2**64 - 1)}


class Mutator:
    def __init__(self, seed: int, models: list[onnx.ModelProto]) -> None:
        self.random = random.Random(seed)
        self.models = models
        self.parts: dict[str, list] = {}  # messages of all models by type, for exchange
        self.texts: dict[str, list] = {}  # strings by field
        for model in models:
            for message in self.messages(model):
                self.parts.setdefault(message.DESCRIPTOR.name, []).append(message)
                for field, content in message.ListFields():
                    if field.type == Field.TYPE_STRING:
                        texts = content if field.is_repeated else [content]
                        self.texts.setdefault(field.full_name, []).extend(texts)

    def messages(self, message):
        yield message
        for field, content in message.ListFields():
            if field.cpp_type == Field.CPPTYPE_MESSAGE:
                for inner in content if field.is_repeated else [content]:
                    yield from self.messages(inner)

    def scalar(self, field, old):
        r = self.random
        if field.cpp_type in RANGES:
            low, high = RANGES[field.cpp_type]
            near = [(old or 0) + d for d in (-1, 1)] + [(old or 0) * 2, -(old or 0), r.randrange(32)]
            return min(max(r.choice(NUMBERS + near + near), low), high)
        if field.cpp_type in (Field.CPPTYPE_FLOAT, Field.CPPTYPE_DOUBLE):
            return r.choice(REALS)
        if field.cpp_type == Field.CPPTYPE_ENUM:
            return r.choice(field.enum_type.values).number
        if field.cpp_type == Field.CPPTYPE_BOOL:
            return r.random() < 0.5
        if field.type == Field.TYPE_BYTES:
            data = bytearray(old or b"\0" * 8)
            if data and r.random() < 0.7:
                data[r.randrange(len(data))] = r.randrange(256)
                return bytes(data)
            return bytes(data[:r.randrange(len(data) + 1)]) if r.random() < 0.5 else bytes(data) * 2
        return r.choice(self.texts.get(field.full_name) or [""]) if r.random() < 0.9 else ""

    def change_list(self, message, field, content) -> None:
        r, action = self.random, self.random.randrange(4)
        at = r.randrange(len(content)) if len(content) else 0
        nested = field.cpp_type == Field.CPPTYPE_MESSAGE
        if action == 0 and len(content):
            del content[at]
        elif action == 1 and len(content) > 1:
            other = r.randrange(len(content))
            items = [type(x).FromString(x.SerializeToString()) if nested else x for x in content]
            items[at], items[other] = items[other], items[at]
            del content[:]
            content.extend(items)
        elif action == 2 and len(content) < 64:
            if nested:
                content.add().CopyFrom(r.choice(self.parts.get(field.message_type.name) or [field.message_type._concrete_class()]))
            else:
                content.append(self.scalar(field, content[at] if len(content) else None))
        elif len(content):
            if nested:
                content[at].CopyFrom(r.choice(self.parts.get(field.message_type.name) or [content[at]]))
            else:
                content[at] = self.scalar(field, content[at])

    def free_a_size(self, model) -> None:
        """Makes a size of an input symbolic; models of tests mostly have numbers."""
        dims = [d for v in model.graph.input for d in v.type.tensor_type.shape.dim]
        if dims:
            self.random.choice(dims).dim_param = self.random.choice(SIZES)

    def resize(self, model) -> None:
        """Gives all sizes of inputs that are equal to one of them another value, or a name; outputs lose their types."""
        r = self.random
        dims = [d for v in model.graph.input for d in v.type.tensor_type.shape.dim]
        if not dims:
            return
        old, name, size = r.choice(dims).dim_value, r.choice(["n", "m", "n", "2*n", "n + 1", ""]), r.choice([1, 2, 3, 4, 5, 8, 33])
        for dim in dims:
            if dim.dim_value == old and name:
                dim.dim_param = name
            elif dim.dim_value == old:
                dim.dim_value = size
        self.forget_results(model)

    def retype(self, model) -> None:
        """Gives all inputs and weights of an element type another one; weights are cast."""
        r = self.random
        types = [v.type.tensor_type.elem_type for v in model.graph.input] + [t.data_type for t in model.graph.initializer]
        if not types:
            return
        old, new = r.choice(types), r.choice(TYPES)
        for value in model.graph.input:
            if value.type.tensor_type.elem_type == old:
                value.type.tensor_type.elem_type = new
        for i, tensor in enumerate(model.graph.initializer):
            if tensor.data_type == old and tensor.data_location != onnx.TensorProto.EXTERNAL:
                try:
                    values = onnx.numpy_helper.to_array(tensor)
                    model.graph.initializer[i].CopyFrom(onnx.helper.make_tensor(tensor.name, new, tensor.dims, values.astype(float).ravel()))
                except (ValueError, TypeError, OverflowError, KeyError, IndexError):
                    pass  # not of numbers, or of none that the type has
        self.forget_results(model)

    def forget_results(self, model) -> None:
        del model.graph.value_info[:]
        for value in model.graph.output:
            value.ClearField("type")

    def append(self, model) -> None:
        """Lets a node of one operand, or of the same operand twice, follow an output or an input."""
        r, graph = self.random, model.graph
        if not graph.output:
            return
        output, name = r.choice(graph.output), f"appended{len(graph.node)}"
        source = r.choice([output.name, output.name, *[v.name for v in graph.input]])
        if r.random() < 0.7:
            node = onnx.NodeProto(op_type=r.choice(UNARY), input=[source], output=[name])
        else:
            node = onnx.NodeProto(op_type=r.choice(BINARY), input=[source, output.name], output=[name])
        if node.op_type == "Cast":
            node.attribute.append(onnx.helper.make_attribute("to", r.choice(TYPES)))
        graph.node.append(node)
        output.name = name
        output.ClearField("type")

    def join(self, model) -> None:
        """Puts the nodes of another model behind; its inputs are this one's outputs where they may be."""
        other = onnx.ModelProto()
        other.CopyFrom(self.random.choice(self.models))
        mark = f"joined{len(model.graph.node)}_"
        names = {v.name: mark + v.name for part in (other.graph.input, other.graph.initializer, other.graph.output) for v in part}
        names.update({o: mark + o for n in other.graph.node for o in n.output if o})
        for value, source in zip(other.graph.input, model.graph.output):
            names[value.name] = source.name
        for node in other.graph.node:
            node.input[:] = [names.get(i, i) for i in node.input]
            node.output[:] = [names.get(o, o) for o in node.output]
        for part in (other.graph.input, other.graph.initializer, other.graph.output):
            for value in part:
                value.name = names[value.name]
        taken = {v.name for v in model.graph.output}
        model.graph.input.extend([v for v in other.graph.input if v.name not in taken])
        model.graph.node.extend(other.graph.node)
        model.graph.initializer.extend(other.graph.initializer)
        del model.graph.output[:]
        model.graph.output.extend(other.graph.output)
        self.forget_results(model)
        have = {o.domain for o in model.opset_import}
        model.opset_import.extend([o for o in other.opset_import if o.domain not in have])
        model.functions.extend(other.functions)

    def widen(self, model) -> None:
        """Gives an input, a weight or a list of an attribute a size at a corner."""
        r = self.random
        dims = [d for v in model.graph.input for d in v.type.tensor_type.shape.dim]
        lists = [a.ints for n in model.graph.node for a in n.attribute if a.ints] + [t.dims for t in model.graph.initializer if t.dims]
        if dims and r.random() < 0.5:
            r.choice(dims).dim_value = r.choice([0, 1, 64, 1000, 65536, 2**31, 2**40])
        elif lists:
            numbers = r.choice(lists)
            numbers[r.randrange(len(numbers))] = r.choice(NUMBERS)

    def repeat(self, model) -> None:
        """Makes a chain of a node, or one value all operands of a node."""
        r, graph = self.random, model.graph
        if not graph.node:
            return
        node = r.choice(graph.node)
        if r.random() < 0.3 and node.input:
            node.input.extend([r.choice(node.input)] * r.choice([1, 20, 2000]))
        elif node.output:
            for i in range(r.choice([2, 40])):
                other = graph.node.add()
                other.CopyFrom(node)
                if other.input:
                    other.input[0] = node.output[0] if i == 0 else f"chain{i - 1}"
                del other.output[:]
                other.output.append(f"chain{i}")

    def enclose(self, model) -> None:
        """Puts the graph's nodes into a branch that captures its inputs."""
        graph = model.graph
        names = [o.name for o in graph.output]
        branch = onnx.GraphProto(name="branch", node=graph.node, output=graph.output, initializer=graph.initializer)
        then = onnx.AttributeProto(name="then_branch", type=onnx.AttributeProto.GRAPH, g=branch)
        other = onnx.AttributeProto(name="else_branch", type=onnx.AttributeProto.GRAPH, g=branch)
        del graph.node[:]
        del graph.initializer[:]
        graph.input.append(onnx.helper.make_tensor_value_info("branch_taken", onnx.TensorProto.BOOL, []))
        graph.node.append(onnx.NodeProto(op_type="If", input=["branch_taken"], output=names, attribute=[then, other]))

    def move_outside(self, model) -> None:
        """Says that a weight lies in another file."""
        if model.graph.initializer:
            tensor = self.random.choice(model.graph.initializer)
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, values in (("location", ["x", "../x", "/dev/zero", "", "."]), ("offset", ["0", "-1", str(2**63)]), ("length", ["4", str(2**62)])):
                tensor.external_data.add(key=key, value=self.random.choice(values))

    def change(self, model) -> None:
        r = self.random
        if r.random() < 0.5:
            chances = ([self.free_a_size] * 4 + [self.resize] * 5 + [self.append] * 5 + [self.retype] * 3 + [self.join] * 4 +
                       [self.widen] * 3 + [self.repeat] * 2 + [self.enclose, self.move_outside])
            return r.choice(chances)(model)
        message = r.choice(list(self.messages(model)))
        # Mostly fields that are there; now and then any.
        present = [f for f, _ in message.ListFields()]
        fields = present if present and r.random() < 0.85 else message.DESCRIPTOR.fields
        field = r.choice(fields)
        if field.name in ("doc_string", "metadata_props", "training_info", "quantization_annotation"):
            return
        content = getattr(message, field.name)
        if field.is_repeated:
            self.change_list(message, field, content)
        elif field.cpp_type == Field.CPPTYPE_MESSAGE:
            if r.random() < 0.3:
                message.ClearField(field.name)
            elif parts := self.parts.get(field.message_type.name):
                content.CopyFrom(r.choice(parts))
        elif r.random() < 0.1:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, self.scalar(field, content))

    def model(self) -> bytes:
        while True:
            self.chosen = self.random.randrange(len(self.models))  # which one it was
            out = onnx.ModelProto()
            out.CopyFrom(self.models[self.chosen])
            for _ in range(self.random.choice([1, 1, 1, 2, 3, 5])):
                self.change(out)
            data = out.SerializeToString()
            if len(data) < 1 << 17:
                self.symbols = sorted({w for v in out.graph.input for d in v.type.tensor_type.shape.dim
                                       for w in re.findall(r"[A-Za-z_]\w*", d.dim_param)} - {"max", "min"})
                return data


def main() -> None:
    out, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    mutator = Mutator(seed, [onnx.load(p) for p in sys.argv[4:]])
    for i in range(count):
        (out / f"{i:06}.onnx").write_bytes(mutator.model())


if __name__ == "__main__":
    main()
