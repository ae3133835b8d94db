"""Random arrays and shapes for single nodes: small, odd, empty, with the values where arithmetic has its corners."""
import numpy as np

FLOATS = ["float32", "float64", "float16"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS = FLOATS + INTEGERS
ALL = [*NUMBERS, "bool"]
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-30, -1e30, 255.5, 65519.0]


class Draw:
    """Random choices with names that read well in tables of operations."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def some(self, p=0.5):
        return bool(self.rng.random() < p)

    def int(self, low, high):
        """Both ends belong."""
        return int(self.rng.integers(low, high + 1))

    def dtype(self, choices=NUMBERS):
        """float32 as often as all others together."""
        return "float32" if "float32" in choices and self.some(0.4) else self.one(*choices)

    def size(self, empty=0.04):
        return 0 if self.some(empty) else self.one(1, 1, 2, 3, 4, 5, 7)

    def shape(self, low=0, high=5, empty=0.04):
        rank = self.int(low, high)
        return [self.size(empty) if rank < 4 else min(self.size(empty), 4) for _ in range(rank)]

    def array(self, dtype, shape, corners=0.0, scale=2.0):
        """Numbers around 0; with probability `corners` some of the values where types and functions end."""
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.rng.random(shape) < 0.5
        at_corners = self.some(corners)
        if kind == "f":
            values = np.asarray(self.rng.standard_normal(shape) * scale)
            special = self.rng.choice(CORNERS, shape)
        else:
            bounds = np.iinfo(dtype)
            values = self.rng.integers(max(bounds.min, -9), 10, shape)
            special = self.rng.choice(np.array([bounds.min, bounds.max, 0, 1, bounds.max // 2 + 1], dtype), shape)
        with np.errstate(all="ignore"):
            values, special = np.asarray(values).astype(dtype), np.asarray(special).astype(dtype)
        return np.where(self.rng.random(shape) < 0.4, special, values) if at_corners else values

    def positive(self, dtype, shape):
        return (np.abs(self.array(dtype, shape)) + 0.1).astype(dtype)

    def part(self, shape):
        """A shape that broadcasts to `shape`."""
        cut = [1 if self.some(0.3) else size for size in shape]
        return cut[self.int(0, len(cut)):] if self.some(0.3) else cut

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def axes(self, rank, most=None):
        chosen = self.rng.permutation(rank)[:self.int(1, most or rank)]
        return [int(a) - (rank if self.some(0.3) else 0) for a in chosen]
