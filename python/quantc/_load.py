"""Loading networks: from files, from bytes, and from what other libraries have in memory."""
from __future__ import annotations

import os
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _core
from ._errors import UserError
from ._graph import CompiledModule, Graph, options_of


def _loaded(source: Any, what: str, name: str, options: Any) -> Graph:
    chosen = options_of(None, options)
    if isinstance(source, (str, PathLike)):
        return Graph(_core.Model.load(fspath(source), chosen))
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    elif hasattr(source, "read"):
        source = source.read()
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    if not isinstance(source, bytes):
        raise UserError(f"{what} cannot be read from a {type(source).__name__}: pass a path, bytes or an open file", "file")
    return Graph(_core.Model.load_bytes(source, name, chosen))


def load(source: Any, **options: Any) -> Any:
    """A network from a file (.onnx, .pt2, .ir, .fx.json) by its path, its bytes or an open file: what is in it decides.

    The path of a folder that ``compile`` wrote gives its ``CompiledModule``, whose code runs in this process: load what you
    trust. It is built by the folder's Makefile where it was not. Code for GPUs takes and gives tensors of the device
    ``device=0``; with ``host=True`` it is built without CUDA and runs here.
    """
    if isinstance(source, (str, PathLike)) and os.path.isdir(source):
        header = next((p for p in Path(fspath(source)).glob("*.h")), None)
        if header is not None:
            unknown = options.keys() - {"host", "device"}
            if unknown:
                raise UserError(f"'{sorted(unknown)[0]}' is decided when a folder is compiled")
            from ._project import core_of
            return CompiledModule(core_of(Path(fspath(source)), **options))
    return _loaded(source, "a model", "model", options)


def from_onnx(source: Any, **options: Any) -> Graph:
    """A network from an ONNX model: a path, bytes, an open file or a ModelProto.

    ``options`` are those of a compilation: ``dims={'batch': 1, 'seq': (1, 512)}`` gives symbolic dimensions a number or a
    range, ``{'min': 1, 'max': 512, 'buckets': [64, 512]}`` one with buckets, ``state='io'`` makes state inputs and outputs, ``name`` prefixes what is generated.
    """
    return _loaded(source, "an ONNX model", "model.onnx", options)


def from_pt2(source: Any, **options: Any) -> Graph:
    """A network from a torch.export archive: a path, bytes or an open file. Options as for ``from_onnx``."""
    return _loaded(source, "a .pt2 archive", "model.pt2", options)
