"""Numbers computed from sizes and from single elements, in exports with two free sizes, against PyTorch at several."""
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.support.aten import DIALECTS, Group, close, in_dialect  # noqa: E402

F = torch.nn.functional
SHAPES = [(6, 5), (9, 4), (7, 12)]


def of_sizes(function):
    """function(x, rows, columns)."""
    return lambda x: function(x, *x.shape)


def of_element(function):
    """function(x, its largest element, the place of that, rows)."""
    return lambda x: function(x, x.max().item(), x.argmax().item(), x.shape[0])


FUNCTIONS = [*map(of_sizes, [
    # Sizes of results.
    lambda x, n, m: torch.zeros(torch.sym_max(n, m)) + x.sum(), lambda x, n, m: torch.ones(torch.sym_min(n, m)) * x.sum(),
    lambda x, n, m: F.pad(x, (0, (4 - n % 4) % 4)), lambda x, n, m: x[:n // 2], lambda x, n, m: x[n // 3:], lambda x, n, m: torch.arange(n * 2 + m),
    lambda x, n, m: torch.full((n // 2, m - 1), n * 1.5), lambda x, n, m: F.interpolate(x[None, None], size=(n * 2, m + 1), mode="bilinear"),
    lambda x, n, m: x[None].expand(m, -1, -1).sum(0), lambda x, n, m: x.reshape(m, n).T.reshape(-1, 1),
    lambda x, n, m: x.roll(20, 0), lambda x, n, m: x.roll(-9, 1), lambda x, n, m: x.roll(500),
    # Integers.
    lambda x, n, m: x * (-n), lambda x, n, m: x * n * m, lambda x, n, m: x * ((3 - n) // 2), lambda x, n, m: x * ((3 - n) % 4), lambda x, n, m: x * n**2,
    lambda x, n, m: torch.zeros(n).fill_(m), lambda x, n, m: x * torch.sym_max(n, 8), lambda x, n, m: x * (torch.sym_min(n, m) - m),
    # Reals.
    lambda x, n, m: x * (n / 3), lambda x, n, m: x * (n / m), lambda x, n, m: x * n**0.5, lambda x, n, m: x * n**-0.5, lambda x, n, m: x * 2.0**m,
    lambda x, n, m: x * (n / 8)**m, lambda x, n, m: x / torch.sym_sqrt(n * m), lambda x, n, m: x * torch.sym_float(m), lambda x, n, m: x * (n * 2.5 - 1 + m),
    lambda x, n, m: x * (1 - n / 7.5), lambda x, n, m: x * torch.sym_max(n * 0.5, m / 2), lambda x, n, m: x * torch.sym_min(n * 0.5, 3.25),
    lambda x, n, m: x * ((n * 0.7) % 2), lambda x, n, m: x * ((n * 0.7) % -2.0), lambda x, n, m: x * -(n / m), lambda x, n, m: x / x.numel(),
    lambda x, n, m: torch.arange(n) / n, lambda x, n, m: torch.full((3,), n / m)]), *map(of_element, [
        lambda x, v, i, n: x * v, lambda x, v, i, n: x * (v * 2 + 1), lambda x, v, i, n: x * (v / n), lambda x, v, i, n: x * v**2, lambda x, v, i, n: x * -v,
        lambda x, v, i, n: x + (3 - v), lambda x, v, i, n: torch.full((2,), v + n), lambda x, v, i, n: x * (i + 1), lambda x, v, i, n: x * (i * n),
        lambda x, v, i, n: x * (i / 4), lambda x, v, i, n: x * (i % 3), lambda x, v, i, n: x * (i // 2), lambda x, v, i, n: x * torch.sym_max(i, 3),
        lambda x, v, i, n: x * torch.sym_min(i, n)])]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_computed_numbers(dialect, quantc, tmp_path):
    """With the sizes taken from the arrays, and bound before anything is imported."""
    module, free = Group(FUNCTIONS), {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    with torch.no_grad():
        program = torch.export.export(module, (torch.randn(*SHAPES[0]),), dynamic_shapes=((free,),))
    torch.export.save(in_dialect(program, dialect), tmp_path / "m.pt2")
    symbols = next(node.meta["val"].shape for node in program.graph.nodes if node.op == "placeholder")
    for shape in SHAPES:
        x = torch.from_numpy(np.random.default_rng(shape[0]).normal(size=shape).astype("float32"))
        np.savez(tmp_path / "in.npz", in_0=x.numpy())
        wanted = module(x)
        for bound in ([], [word for pair in zip(symbols, shape) for word in ("--dim", "{}={}".format(*pair))]):
            quantc("run", tmp_path / "m.pt2", *bound, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
            with np.load(tmp_path / "out.npz") as got:
                assert len(got.files) == len(wanted)
                for i, (want, name) in enumerate(zip(wanted, got.files)):
                    close(want.numpy(), got[name], f"result {i} of {shape}, {bound}")
