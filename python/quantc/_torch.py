"""What needs torch: exporting modules, and compiled code as a module. torch is imported when a function is called."""
from __future__ import annotations

from typing import Any, Optional, Sequence

from ._graph import CompiledModule, Graph
from ._load import from_pt2


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("this function of quantc needs torch: pip install torch") from error
    return torch


def from_exported(program: Any, **options: Any) -> Graph:
    """A network from a torch.export.ExportedProgram. Options as for ``from_onnx``."""
    import io

    file = io.BytesIO()
    _torch().export.save(program, file)
    return from_pt2(file.getvalue(), **options)


def from_torch(model: Any, args: Sequence[Any], kwargs: Optional[Any] = None, dynamic_shapes: Any = None,
               **options: Any) -> Graph:
    """A network from a torch.nn.Module, exported by torch.export with these example inputs.

    The module is exported as it is: call ``model.eval()`` before. ``dynamic_shapes`` is that of torch.export.
    """
    torch = _torch()
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    with torch.no_grad():
        program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    return from_exported(program, **options)


def module_of(compiled: CompiledModule) -> Any:
    """A torch.nn.Module whose forward is the compiled code."""
    torch = _torch()

    class QuantcModule(torch.nn.Module):  # type: ignore[name-defined, misc]
        """Compiled code in the place of a module. It has no parameters and no gradients."""

        def __init__(self) -> None:
            super().__init__()
            self.compiled = compiled

        def forward(self, *inputs: Any) -> Any:
            return self.compiled(*inputs)

        def extra_repr(self) -> str:
            return repr(self.compiled)

    return QuantcModule()
