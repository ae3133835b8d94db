"""Models whose sizes each run chooses: exported with names for their dimensions, and compiled C as a library that takes any of them."""
import ctypes
import re
import subprocess

import numpy as np

DYNAMIC = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nskip_unsupported = true\n"


def export(module, example, dims, path):
    """Writes a .pt2 file whose one input has free axes; `dims` has the axis and the range of each by its name. Gives the symbols that
    stand for them in the file."""
    import torch

    shapes = ({axis: torch.export.Dim(d, min=low, max=high) for d, (axis, low, high) in dims.items()},)
    with torch.no_grad():
        program = torch.export.export(module, (example,), dynamic_shapes=shapes, strict=False)
    torch.export.save(program, path)
    value = [n for n in program.graph.nodes if n.op == "placeholder"][-1].meta["val"]
    return {d: str(value.shape[axis]) for d, (axis, _, _) in dims.items()}


class Compiled:
    """A project built as a library, called with any sizes in its range; with none where it was compiled for numbers."""

    def __init__(self, folder, cflags="-O1"):
        subprocess.run(["make", "-C", folder, f"CFLAGS={cflags}", "libnet.so"], check=True, capture_output=True)
        self.library = ctypes.CDLL(str(folder / "libnet.so"))
        header = (folder / "net.h").read_text()
        self.macros = dict(re.findall(r"#define NET_(\w+) (\S+)", header))
        self.names = [self.macros[f"DIM_{i}_NAME"].strip('"') for i in range(int(self.macros.get("DIMS", 0)))]
        if self.names:
            self.library.net_arena_bytes.restype = ctypes.c_size_t
            self.library.net_size_error.restype = ctypes.c_char_p

    def _dims(self, sizes):
        return [(ctypes.c_int64 * len(self.names))(*(sizes[n] for n in self.names))] if self.names else []

    def arena_bytes(self, sizes):
        return self.library.net_arena_bytes(*self._dims(sizes)) if self.names else int(self.macros["ARENA_BYTES"])

    def size_error(self, sizes):
        found = self.library.net_size_error(*self._dims(sizes))
        return found and found.decode()

    def run(self, x, sizes, like):
        """The status, and the output where it has the shape of `like`. The arena is as small as may be, the output guarded."""
        def aligned(count):
            memory = np.full(count + 128, 0xA5, np.uint8)
            return memory[-memory.ctypes.data % 64:][:count]

        arena, y = aligned(max(self.arena_bytes(sizes), 64)), aligned(int(self.macros["OUTPUT_0_BYTES"]) + 64)
        given = aligned(x.nbytes)
        given[:] = np.frombuffer(x.tobytes(), np.uint8)
        pointers = [(ctypes.c_void_p * 1)(a.ctypes.data) for a in (given, y)]
        status = self.library.net_invoke(*pointers, ctypes.c_void_p(arena.ctypes.data), *self._dims(sizes))
        assert status != 0 or (y[like.nbytes:] == 0xA5).all(), "bytes behind the output are written"
        return status, y[:like.nbytes].view(like.dtype).reshape(like.shape) if status == 0 else None, y


def interpreted(quantc, path, x, folder, *flags):
    np.savez(folder / "in.npz", in_0=x)
    quantc("run", path, "-i", folder / "in.npz", "-o", folder / "out.npz", *flags)
    with np.load(folder / "out.npz") as arrays:
        return arrays[arrays.files[0]]
