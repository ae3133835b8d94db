"""What needs torch: exporting modules, and compiled code as a module. torch is imported when a function is called."""
from __future__ import annotations

import re
from typing import Any, Dict, Optional, Sequence

from ._errors import UserError
from ._graph import CompiledModule, Graph
from ._load import from_pt2


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("this function of quantc needs torch: pip install torch") from error
    return torch


def _dim_names(program: Any) -> Dict[str, str]:
    """Symbols of an ExportedProgram by the names that torch.export.Dim gave them, which torch.export.save leaves out."""
    sizes = [size for node in program.graph.nodes if node.op == "placeholder" and hasattr(node.meta.get("val"), "shape")
             for size in node.meta["val"].shape if hasattr(size, "node")]
    envs = [env for env in (getattr(size.node, "shape_env", None) for size in sizes) if env is not None]
    if not envs:
        return {}
    given = getattr(envs[0], "source_name_to_debug_name", {})  # {"L['x'].size()[0]": "batch"}
    symbols = {source: str(symbol) for source, symbol in getattr(envs[0], "source_to_var", {}).items()}
    names = {symbols[source]: name for source, name in given.items()
             if source in symbols and symbols[source].isidentifier() and re.fullmatch(r"(?!u\d+$)[A-Za-z_]\w*", name, re.ASCII)}
    others = {str(symbol) for size in sizes for symbol in size.node.expr.free_symbols} - names.keys()
    return {symbol: name for symbol, name in names.items() if name not in others}


def save_exported(program: Any, path: Any) -> None:
    """Writes a torch.export.ExportedProgram as ``torch.export.save`` does, and keeps the names of its ``torch.export.Dim``.

    In files of ``torch.export.save`` alone dimensions are called s0, s27, ...
    """
    import json
    _torch().export.save(program, path, extra_files={"quantc_dims.json": json.dumps(_dim_names(program))})


def from_exported(program: Any, **options: Any) -> Graph:
    """A network from a torch.export.ExportedProgram. Dimensions have the names of their ``torch.export.Dim``, outputs those
    of their keys (``logits``). Options as for ``from_onnx``."""
    import io

    file = io.BytesIO()
    save_exported(program, file)
    return from_pt2(file.getvalue(), **options)


def from_torch(model: Any, args: Sequence[Any], kwargs: Optional[Any] = None, dynamic_shapes: Any = None,
               **options: Any) -> Graph:
    """A network from a torch.nn.Module, exported by torch.export with these example inputs.

    The module is exported as it is: call ``model.eval()`` before. ``dynamic_shapes`` is that of torch.export.
    """
    torch = _torch()
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    try:
        with torch.no_grad():
            program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    except Exception as error:  # its classes are not public
        if "transformers.cache_utils" in str(error):
            raise UserError("the model returns its cache of keys and values, which torch.export does not take: export it with "
                            "model.config.use_cache = False, or with kwargs={..., 'use_cache': False}") from error
        raise
    return from_exported(program, **options)


def module_of(compiled: CompiledModule) -> Any:
    """A torch.nn.Module whose forward is the compiled code."""
    _torch()
    from ._module import QuantcModule
    return QuantcModule(compiled)
