"""Compiled code as a torch.nn.Module. Importing this needs torch."""
from __future__ import annotations

from typing import Any

import torch

from ._graph import CompiledModule


class QuantcModule(torch.nn.Module):
    """Compiled code in the place of a module. It has no parameters and no gradients."""

    def __init__(self, compiled: CompiledModule) -> None:
        super().__init__()
        self.compiled = compiled

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, *inputs: Any) -> Any:
        return self.compiled(*inputs)

    def extra_repr(self) -> str:
        return repr(self.compiled)
