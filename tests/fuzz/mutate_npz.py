"""Archives of arrays with headers, sizes and members changed; the zip around them stays well formed mostly. The same seed
gives the same files."""
import io
import random
import struct
import zipfile

import numpy as np

STAMP = (2024, 1, 1, 0, 0, 0)
TYPES = ["<f4", "<f8", "<i8", "<u4", "|b1", "|i1", "<f2", ">f4", "|O", "<U8", "<c16", "V2", ""]
REALS = [0.0, -0.0, 1e-40, 1.0, -1e3, 1e38, -3.4e38, float("inf"), float("-inf"), float("nan")]
SIZES = [0, 1, 2, 3, 64, 65536, 2**31, 2**40, 2**62, 2**63, -1]


class Mutator:
    def __init__(self, seed: int, paths) -> None:
        self.random = random.Random(seed)
        self.archives = []
        for path in paths:
            with zipfile.ZipFile(path) as archive:
                self.archives.append([(n, archive.read(n)) for n in archive.namelist()])

    def header(self, data: bytes) -> bytes:
        r = self.random
        shape = ", ".join(str(r.choice(SIZES)) for _ in range(r.randrange(6)))
        text = f"{{'descr': '{r.choice(TYPES)}', 'fortran_order': {r.choice([True, False])}, 'shape': ({shape}{',' if shape else ''}), }}"
        text = text.ljust(r.choice([54, 118, 182])) + "\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data[-64:]

    def values(self, data: bytes) -> bytes:
        """Elements at their corners; the header stays."""
        r, out = self.random, bytearray(data)
        for _ in range(r.choice([1, 1, 30])):
            at = 128 + 4 * r.randrange(max(1, (len(out) - 128) // 4))
            if at + 4 <= len(out):
                out[at:at + 4] = struct.pack("<f", r.choice(REALS))
        return bytes(out)

    def fresh(self) -> bytes:
        """A well-formed array of another type and shape."""
        r = self.random
        shape = [r.choice([0, 1, 1, 2, 7, 8, 10]) for _ in range(r.randrange(5))]
        out = io.BytesIO()
        np.save(out, np.full(shape, r.choice([0, 1, 3]), r.choice(["f4", "f8", "f2", "i8", "i4", "i1", "u1", "?"])))
        return out.getvalue()

    def member(self, data: bytes) -> bytes:
        r, action = self.random, self.random.randrange(8)
        if action >= 5:
            return self.values(data) if action > 5 else self.fresh()
        if action == 0:
            return self.header(data)
        if action == 1:
            return data[:r.randrange(len(data) + 1)]
        if action == 2:
            return data + bytes(r.choice([1, 1000, 3_000_000]))
        out = bytearray(data)
        for _ in range(r.choice([1, 3])):
            if out:
                out[r.randrange(min(len(out), 200))] = r.randrange(256)
        return bytes(out)

    def bytes(self) -> bytes:
        r = self.random
        members = list(r.choice(self.archives))
        at = r.randrange(len(members))
        name, data = members[at]
        if r.random() < 0.2:
            members[at] = (r.choice(["", "../x.npy", "/y.npy", "x", name * 20]), data)
        else:
            members[at] = (name, self.member(data))
        out = io.BytesIO()
        method = r.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        with zipfile.ZipFile(out, "w") as archive:
            for n, d in members:
                archive.writestr(zipfile.ZipInfo(n, STAMP), d, method)
        file = bytearray(out.getvalue())
        if r.random() < 0.2:
            file[r.randrange(len(file))] = r.randrange(256)
        return bytes(file)
