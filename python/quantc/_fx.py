"""torch.fx graphs: written as the neutral dump of docs/fx-format.md, which quantc itself normalises."""
from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _core
from ._errors import Unsupported, UserError
from ._graph import Graph, options_of
from ._torch import _torch

_SAFE = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int8": "I8", "int16": "I16",
         "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL",
         "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}


def _function_names(torch: Any) -> Dict[int, str]:
    """Names of functions by identity. torch.nn.functional comes first: much of it is the same object as one elsewhere."""
    import operator

    out: Dict[int, str] = {}
    modules: List[Tuple[Any, str]] = [(torch.nn.functional, "torch.nn.functional"), (torch, "torch"),
                                      (torch.special, "torch.special"), (torch.linalg, "torch.linalg"),
                                      (operator, "_operator")]
    for module, prefix in modules:
        for name in sorted(dir(module), key=lambda n: n.startswith("_")):
            if not name.startswith("__"):
                value = getattr(module, name)
                if callable(value):
                    out.setdefault(id(value), f"{prefix}.{name}")
    return out


class _Dumper:
    def __init__(self, torch: Any):
        self.torch = torch
        self.names = _function_names(torch)

    def dtype(self, dtype: Any) -> str:
        """Its name; of quantized tensors that of their codes."""
        name = str(dtype).replace("torch.", "")
        return {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}.get(name, name)

    def target(self, function: Any) -> str:
        if id(function) in self.names:
            return self.names[id(function)]
        module = getattr(function, "__module__", None) or "builtins"
        return f"{module}.{getattr(function, '__name__', type(function).__name__)}"

    def overload(self, node: Any) -> Any:
        """The overload of torch.ops that a node calls: a packet has the one that its arguments fit. None for other functions,
        and for those of torch.ops.quantized, which take what no schema names."""
        torch, ops = self.torch, self.torch._ops
        if node.op != "call_function" or not isinstance(node.target, (ops.OpOverload, ops.OpOverloadPacket)):
            return None
        packet = node.target.overloadpacket if isinstance(node.target, ops.OpOverload) else node.target
        if packet._qualified_op_name.startswith("quantized::"):
            return None
        if packet is not node.target:
            return node.target

        def example(value: Any) -> Any:
            known = value.meta.get("val")
            size = isinstance(value.target, ops.OpOverload) and str(value.target._schema.returns[0].type) in ("int", "SymInt")
            return known if isinstance(known, (bool, int, float)) else 1 if size else torch.empty(0)
        args, kwargs = (torch.fx.node.map_arg(a, example) for a in (node.args, node.kwargs))
        try:
            return getattr(packet, torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs))
        except RuntimeError as error:
            raise Unsupported(f"node '{node.name}': which overload of torch.ops.{packet} is meant cannot be told; "
                              "write it behind a dot (.default)") from error

    def item(self, value: Any) -> Any:
        import math

        torch = self.torch
        if isinstance(value, torch.fx.Node):
            return {"node": value.name}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": "NaN" if value != value else
                                                       "Infinity" if value > 0 else "-Infinity"}
        if isinstance(value, (tuple, list)):
            return [self.item(v) for v in value]
        if isinstance(value, slice):
            return {"slice": [self.item(v) for v in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {"ellipsis": True}
        if isinstance(value, torch.dtype):
            return {"dtype": self.dtype(value)}
        for kind, name in ((torch.device, "device"), (torch.layout, "layout"), (torch.memory_format, "memory_format")):
            if isinstance(value, kind):
                return {name: str(value)}
        raise Unsupported(f"an argument of type {type(value).__name__} in the FX graph")

    def attributes(self, module: Any) -> Dict[str, Any]:
        """What a module was made with: everything that is a number, a text or a list of them."""
        out: Dict[str, Any] = {"training": bool(module.training)}
        for name, value in vars(module).items():
            if name.startswith("_") or name in out:
                continue
            try:
                out[name] = self.item(value)
            except Unsupported:
                continue
        return out

    def guards(self, module: Any) -> List[str]:
        """What a module of torch.export that checks inputs asserts, as a .pt2 file has it: ``L['x'].size()[1] >= 2``. Its function is
        made from these texts, has each in the message of an assertion, and may be wrapped by a decorator."""
        import inspect
        import re

        found = module.forward
        while getattr(found, "__name__", "_") != "_":
            inner = [v for v in inspect.getclosurevars(found).nonlocals.values() if inspect.isfunction(v)]
            found = inner[0] if len(inner) == 1 else None
        if found is None:
            raise Unsupported("the guards of an exported program cannot be read: write it to a .pt2 file, and load that")
        start = "Guard failed: "
        texts = [c[len(start):] for c in found.__code__.co_consts if isinstance(c, str) and c.startswith(start)]
        return [re.sub(r"\b([A-Za-z_]\w*)((?:\[[^]]*\])*)\.size\(\)", r"L['\1']\2.size()", t) for t in texts]

    def module(self, path: str, module: Any, used: Dict[str, Any], tensors: Dict[str, Any]) -> None:
        """Notes a module that is called, with its tensors; of modules that were fused those in it, too."""
        torch = self.torch
        kind = f"{type(module).__module__}.{type(module).__name__}"
        entry: Dict[str, Any] = {"class": kind, "attributes": self.attributes(module)}
        used[path] = entry
        if kind == "torch.export._unlift.GuardsFn":
            entry["attributes"]["guards"] = self.guards(module)
        if kind.startswith("torch.ao.nn.intrinsic.modules.fused."):
            entry["children"] = [name for name, _ in module.named_children()]
            for name, child in module.named_children():
                self.module(f"{path}.{name}", child, used, tensors)
            return
        for name, value in {**dict(module.named_parameters()), **dict(module.named_buffers())}.items():
            tensors[f"{path}.{name}"] = value
        weight = getattr(module, "weight", None)
        if not callable(weight) or isinstance(weight, torch.Tensor):
            return
        if ".quantized.dynamic." in kind:
            engine = torch.backends.quantized.engine
            entry["attributes"]["reduce_range"] = engine != "qnnpack" and module.version is not None and module.version >= 4
            entry["attributes"]["fused"] = engine != "qnnpack"  # product and bias are rounded once
        codes = weight()  # of torch.ao.nn.quantized: packed, so that no parameter has them
        if not codes.is_quantized:
            return  # of 16 bits: what reads the dump says that these are no codes
        channels = codes.qscheme() != torch.per_tensor_affine
        entry["attributes"]["weight_dtype"] = self.item(codes.dtype)
        entry["attributes"]["weight_axis_int"] = codes.q_per_channel_axis() if channels else 0
        tensors[f"{path}.weight"] = codes.int_repr()
        tensors[f"{path}.weight_scale"] = codes.q_per_channel_scales() if channels else torch.tensor(codes.q_scale(), dtype=torch.float64)
        tensors[f"{path}.weight_zero_point"] = codes.q_per_channel_zero_points() if channels else torch.tensor(codes.q_zero_point())
        if module.bias() is not None:
            tensors[f"{path}.bias"] = module.bias()


def _input_meta(node: Any, example: Any) -> Any:
    if example is not None:
        return example
    for key in ("val", "example_value"):
        if node.meta.get(key) is not None:
            return node.meta[key]
    return node.meta.get("tensor_meta")


def _inputs(dumper: _Dumper, placeholders: Sequence[Any], examples: Optional[Sequence[Any]],
            shapes: Optional[Mapping[str, Sequence[Any]]]) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    given = list(examples or [])
    if len(given) > len(placeholders):
        raise UserError(f"the graph has {len(placeholders)} inputs, {len(given)} examples are given", "input")
    for i, node in enumerate(placeholders):
        meta = _input_meta(node, given[i] if i < len(given) else None)
        if meta is None:
            if node.args:
                continue  # it has a default
            raise UserError(f"nothing tells type and shape of input '{node.target}': pass example inputs", "input")
        shape = (shapes or {}).get(str(node.target), meta.shape)
        out[str(node.target)] = {"dtype": dumper.dtype(meta.dtype),
                                 "shape": [s if isinstance(s, str) else str(s) if isinstance(s, dumper.torch.SymInt) else int(s)
                                           for s in shape]}
    return out


def _safetensors(tensors: Mapping[str, Any], dumper: _Dumper) -> List[bytes]:
    """The parts of a safetensors file."""
    import json
    import struct

    header: Dict[str, Any] = {}
    at = 0
    parts = []
    for name, tensor in tensors.items():
        dtype = dumper.dtype(tensor.dtype)
        if dtype not in _SAFE:
            raise Unsupported(f"tensor '{name}' is {dtype}")
        flat = tensor.detach().cpu().contiguous()
        data = flat.reshape(-1).view(dumper.torch.uint8).numpy().tobytes() if flat.numel() else b""
        header[name] = {"dtype": _SAFE[dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64)
    return [struct.pack("<Q", len(text)), text, *parts]


def _module_path(node: Any) -> str:
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    last = list(stack.values())[-1]
    path = last[0] if isinstance(last, tuple) else ""
    return path if isinstance(path, str) else ""


def _values(result: Any) -> Any:
    """Dicts that a network returns as lists of their values, as torch.export flattens them."""
    if isinstance(result, dict):
        result = list(result.values())
    return [_values(r) for r in result] if isinstance(result, (list, tuple)) else result


def _dumped(model: Any, example_inputs: Optional[Sequence[Any]],
            shapes: Optional[Mapping[str, Sequence[Any]]]) -> Tuple[Dict[str, Any], List[bytes]]:
    """A GraphModule as the two parts of a dump: what becomes JSON, and the safetensors file."""
    torch = _torch()
    dumper = _Dumper(torch)
    if example_inputs is not None and isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    modules = dict(model.named_modules(remove_duplicate=False))
    nodes: List[Dict[str, Any]] = []
    used: Dict[str, Any] = {}
    read: Dict[str, Any] = {}
    placeholders = [n for n in model.graph.nodes if n.op == "placeholder"]
    for node in model.graph.nodes:
        target = dumper.target(node.target) if node.op == "call_function" else str(node.target)
        entry: Dict[str, Any] = {"name": node.name, "op": node.op, "target": target}
        if node.op in ("call_function", "call_method"):
            entry["module"] = _module_path(node)
        args, kwargs, overload = node.args, dict(node.kwargs), dumper.overload(node)
        if overload is not None:
            schema = overload._schema
            entry["target"] = dumper.target(overload)
            kwargs = {**{a.name: value for a, value in zip(schema.arguments, args)}, **kwargs}
            args = ()
            if len(schema.returns) > 1 or any(str(r.type).startswith("List[") for r in schema.returns):
                entry["returns_list"] = True
        if node.op == "output":
            args = tuple(_values(a) for a in args)
        if args:
            entry["args"] = [dumper.item(a) for a in args]
        if kwargs:
            entry["kwargs"] = {k: dumper.item(v) for k, v in kwargs.items()}
        if node.op == "call_module":
            dumper.module(target, modules[target], used, read)
        elif node.op == "get_attr":
            value = model
            for part in target.split("."):
                value = getattr(value, part)
            if not isinstance(value, torch.Tensor):
                raise Unsupported(f"attribute '{target}' is a {type(value).__name__}, no tensor")
            read[target] = value
        nodes.append(entry)
    dump = {"format": "quantc.fx", "version": 1, "producer": f"torch {torch.__version__}",
            "inputs": _inputs(dumper, placeholders, example_inputs, shapes), "modules": used, "nodes": nodes}
    return dump, _safetensors(read, dumper)


def dump_fx(model: Any, path: str, example_inputs: Optional[Sequence[Any]] = None,
            shapes: Optional[Mapping[str, Sequence[Any]]] = None) -> None:
    """Writes a GraphModule as ``path`` (model.fx.json) and its tensors beside it (model.safetensors).

    ``shapes`` has sizes for inputs whose examples do not say all: a text in the place of a size makes it symbolic.
    """
    import json

    dump, tensors = _dumped(model, example_inputs, shapes)
    stem = os.path.basename(path)
    for suffix in (".json", ".fx"):
        stem = stem[:-len(suffix)] if stem.endswith(suffix) else stem
    dump["tensors"] = f"{stem}.safetensors"
    with open(os.path.join(os.path.dirname(path), f"{stem}.safetensors"), "wb") as file:
        file.writelines(tensors)
    with open(path, "w", encoding="utf-8") as text:
        json.dump(dump, text, indent=1)
        text.write("\n")


def from_fx(model: Any, example_inputs: Optional[Sequence[Any]] = None, *,
            shapes: Optional[Mapping[str, Sequence[Any]]] = None, **options: Any) -> Graph:
    """A network from a torch.fx.GraphModule, or from a module, which is traced by torch.fx.symbolic_trace.

    Functions, tensor methods, modules, operators and in-place forms all become the same graph. Example inputs tell types and
    shapes where the graph does not carry them; ``shapes={'x': ['batch', 3, 8, 8]}`` makes sizes symbolic. Node names are
    module paths, which patterns of rules match; messages name the class of the module. Other options as for ``from_onnx``.
    """
    import json

    torch = _torch()
    if not isinstance(model, torch.fx.GraphModule):
        model = torch.fx.symbolic_trace(model)
    dump, tensors = _dumped(model, example_inputs, shapes)
    text = json.dumps(dump).encode()
    text += b"\0" * (64 - len(text) % 64)
    name = f"FX graph of {type(model).__name__}"
    return Graph(_core.Model.load_bytes(b"".join([text, *tensors]), name, options_of(None, {"name": "model", **options})))
