"""Which tensors of an exported program share memory: writes through views, to bases and to copies, compared with PyTorch.

Every program works on memory of its own (`base(x)`), makes a view or a copy of it, writes to one side and returns both."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim  # noqa: E402

aten = torch.ops.aten
CHANNELS_LAST = torch.channels_last


# Bases: how the first tensor lies in its storage.
BASES = {
    "dense": lambda x: x * 1,
    "transposed": lambda x: (x * 1).t(),
    "kept order": lambda x: x.t() * 1,
    "rows": lambda x: (x * 1)[1:],
    "columns": lambda x: (x * 1)[:, 1:],
    "every other": lambda x: (x * 1)[:, ::2],
    "upright": lambda x: (x * 1).t()[1:],
}

# What PyTorch gives back as a view or as a copy, depending on the base; for any sizes of two axes.
ANY_SIZE = {
    "itself": lambda y: y,
    "detach": lambda y: y.detach(),
    "alias": lambda y: aten.alias(y),
    "positive": lambda y: +y,
    "conj": lambda y: y.conj(),
    "dropout": lambda y: torch.nn.functional.dropout(y, 0.5, False),
    "to": lambda y: y.to(torch.float32),
    "to copy": lambda y: y.to(torch.float32, copy=True),
    "to device": lambda y: y.to("cpu"),
    "to other": lambda y: y.to(torch.zeros(1)),
    "to other copy": lambda y: y.to(torch.zeros(1), copy=True),
    "to contiguous": lambda y: y.to(memory_format=torch.contiguous_format),
    "type_as": lambda y: y.type_as(torch.zeros(1)),
    "double": lambda y: y.to(torch.float64),
    "clone": lambda y: y.clone(),
    "contiguous": lambda y: y.contiguous(),
    "t": lambda y: y.t(),
    "T": lambda y: y.T,
    "mT": lambda y: y.mT,
    "mH": lambda y: y.mH,
    "adjoint": lambda y: y.adjoint(),
    "transpose": lambda y: y.transpose(-1, 0),
    "swapaxes": lambda y: y.swapaxes(0, 1),
    "swapdims": lambda y: y.swapdims(0, 1),
    "permute": lambda y: y.permute(1, 0),
    "movedim": lambda y: y.movedim(0, 1),
    "moveaxis": lambda y: y.moveaxis((0, 1), (1, 0)),
    "einsum": lambda y: torch.einsum("ij->ji", y),
    "einsum same": lambda y: torch.einsum("i j", y),
    "einsum ellipsis": lambda y: torch.einsum("...j->j...", y),
    "einsum sum": lambda y: torch.einsum("ij->j", y),
    "einsum implicit": lambda y: torch.einsum("ba", y),
    "einsum product": lambda y: torch.einsum("ij,->ij", y, torch.ones(())),
    "slice": lambda y: y[1:],
    "slice columns": lambda y: y[:, :-1],
    "steps": lambda y: y[::2, 1:],
    "select": lambda y: y[1],
    "select column": lambda y: y[:, -1],
    "narrow": lambda y: y.narrow(1, 1, 2),
    "diagonal": lambda y: y.diagonal(1),
    "unsqueeze": lambda y: y.unsqueeze(1),
    "squeeze": lambda y: y[:1].squeeze(0),
    "atleast": lambda y: torch.atleast_3d(y),
    "flatten": lambda y: y.flatten(),
    "ravel": lambda y: y.ravel(),
    "reshape": lambda y: y.reshape(-1),
    "reshape new axis": lambda y: y.reshape(1, *y.shape),
    "reshape_as": lambda y: y.reshape_as(y.t() * 1),
    "reshape transposed": lambda y: y.t().reshape(-1),
    "contiguous transposed": lambda y: y.t().contiguous(),
    "flatten three": lambda y: y[None].transpose(1, 2).flatten(0, 1),
    "expand": lambda y: y.expand(-1, -1),
    "expand_as": lambda y: y.expand_as(y),
    "expand new axis": lambda y: y.expand(1, -1, -1),
    "broadcast_to": lambda y: y.broadcast_to(y.shape),
    "broadcast_tensors": lambda y: torch.broadcast_tensors(y, y[:1] * 1)[0],
    "view of view": lambda y: y.t()[1:].unsqueeze(0)[:, :, 1],
}

# The same with sizes that must be numbers.
FIXED_SIZE = {
    "split": lambda y: y.split(2)[1],
    "split sizes": lambda y: y.split([1, y.shape[0] - 1])[1],
    "chunk": lambda y: y.chunk(2, 1)[0],
    "tensor_split": lambda y: y.tensor_split(2)[1],
    "tensor_split indices": lambda y: y.tensor_split([1], 1)[1],
    "unbind": lambda y: y.unbind(1)[1],
    "cartesian_prod": lambda y: torch.cartesian_prod(y[0]),
    "meshgrid": lambda y: torch.meshgrid(y[:, 0], y[0, :1], indexing="ij")[0],
    "unflatten": lambda y: y.unflatten(1, (1, -1)),
    "reshape blocks": lambda y: y.reshape(y.shape[0], 1, -1),
    "einsum diagonal": lambda y: torch.einsum("ii->i", y[:3, :3]),
    "image": lambda y: y.reshape(1, 1, *y.shape).contiguous(memory_format=CHANNELS_LAST),
    "channels last": lambda y: y[:2, :2].reshape(1, 2, 2, 1).contiguous(memory_format=CHANNELS_LAST),
    "channels last again": lambda y: y[:2, :3].reshape(1, 2, 3, 1).contiguous(memory_format=CHANNELS_LAST)
                                      .contiguous(memory_format=CHANNELS_LAST),
    "to channels last": lambda y: y[None, :2, :2, None].to(memory_format=CHANNELS_LAST),
    "windows apart": lambda y: y.unfold(0, 2, 2),
    "as_strided own": lambda y: y.as_strided(y.shape, y.stride()),
    "as_strided": lambda y: y.as_strided((2, 2), (1, 3)),
    "as_strided offset": lambda y: y.as_strided((2, 2), (3, 1), 2),
    "as_strided same shape": lambda y: y[:2, :2].as_strided((2, 2), (1, 2)),
    "as_strided flat": lambda y: y[0].as_strided((3,), (2,)),
    "as_strided copy": lambda y: aten.as_strided_copy(y, [2, 3], [3, 1], 1),
    "as_strided scatter": lambda y: torch.as_strided_scatter(y, torch.zeros(2, 2), (2, 2), (4, 1), 1),
}


def program(base, view):
    """Writes to the result, to the base, and to parts of both; what each of them is in between."""
    def run(x):
        y = base(x)
        v = view(y)
        v.add_(100)
        seen = [y * 1, v * 1]
        y.mul_(-2)
        seen += [y * 1, v * 1]
        v[:1].mul_(3)
        y[:, :1].sub_(7)
        v.relu_()
        return seen + [y * 1, v * 1]
    return run


X = torch.arange(-7.0, 17.0).reshape(4, 6)


class Programs(torch.nn.Module):
    def __init__(self, programs):
        super().__init__()
        self.programs = programs

    def forward(self, x):
        return {name: program(x) for name, program in self.programs.items()}


def table(base, views):
    return {view: program(BASES[base], views[view]) for view in views}


def flat(results):
    return torch.utils._pytree.tree_flatten(results)[0]


def compare(module, program, x, quantc, folder):
    torch.export.save(program, folder / "m.pt2")
    with torch.no_grad():
        wanted = module(x.clone())
    np.savez(folder / "in.npz", x=x.numpy())
    quantc("run", folder / "m.pt2", "-i", folder / "in.npz", "-o", folder / "out.npz")
    actual = list(np.load(folder / "out.npz").values())
    assert len(actual) == len(flat(wanted))
    faults = []
    for name in wanted:
        for part, want in enumerate(flat(wanted[name])):
            got = actual.pop(0)
            if want.shape != got.shape or not np.array_equal(want.numpy(), got):
                faults.append(f"{name}, result {part}: expected\n{want.numpy()}\ngot\n{got}")
    assert not faults, f"{len(faults)} differ\n" + "\n".join(faults)


def bases(*quick):
    """A few bases in every run, all of them in long ones."""
    return pytest.mark.parametrize("base", [b if b in quick else pytest.param(b, marks=pytest.mark.soak) for b in BASES])


class Buffers(torch.nn.Module):
    """Buffers that lie in one storage; forward writes to the first."""

    def __init__(self, *buffers):
        super().__init__()
        for i, buffer in enumerate(buffers):
            self.register_buffer(f"b{i}", buffer)

    def forward(self, x):
        self.b0.add_(x)
        self.b1[:1].mul_(10)
        return {f"b{i}": buffer * 1 for i, buffer in enumerate(self.buffers())}


def storage():
    return torch.arange(12.0)


SHARED_BUFFERS = {
    "slice of the written one": lambda t: (t, t[1:]),
    "written slice": lambda t: (t[3:6], t),
    "the same tensor": lambda t: (t, t),
    "transposed": lambda t: (t.view(3, 4), t.view(3, 4).t()),
    "overlapping parts": lambda t: (t[:7], t[4:]),
    "parts and the whole": lambda t: (t[1:4], t[2:8], t.view(3, 4)),
    "apart": lambda t: (t[:3], t[6:]),
}


@pytest.mark.filterwarnings("ignore:No complete tensor")
@pytest.mark.parametrize("case", SHARED_BUFFERS)
def test_buffers_of_one_storage(case, quantc, tmp_path):
    def make():
        return Buffers(*SHARED_BUFFERS[case](storage()))
    program = torch.export.export(make(), (torch.tensor(5.0),), strict=False)
    compare(make(), program, torch.tensor(5.0), quantc, tmp_path)


def copy_of_columns(x):
    y = x * 1
    z = y.t().contiguous()
    z.add_(1)
    return y * 1, z


def test_copy_that_is_a_view_of_one_row(quantc, tmp_path):
    """With one row `contiguous` copies nothing: what was traced with four holds for other sizes alone."""
    module = Programs({"copy": copy_of_columns})
    program = torch.export.export(module, (X,), strict=False, dynamic_shapes=({0: Dim("rows", min=1)},))
    for rows in (4, 3):
        compare(module, program, X[:rows], quantc, tmp_path)
    np.savez(tmp_path / "in.npz", x=X[:1].numpy())
    done = quantc("run", tmp_path / "m.pt2", "-i", tmp_path / "in.npz", status=1)
    assert "is not 1" in done.stderr
    # Where nobody reads the operand after the write, one row is as good as any other number.
    module = Programs({"copy": lambda x: copy_of_columns(x)[1]})
    program = torch.export.export(module, (X,), strict=False, dynamic_shapes=({0: Dim("rows", min=1)},))
    for rows in (4, 1):
        compare(module, program, X[:rows], quantc, tmp_path)


REFUSED = {
    "one element seen twice": lambda y: y.as_strided((3, 2), (1, 1)).add_(1),
    "windows that overlap": lambda y: y.unfold(0, 3, 1).add_(1),
    "memory as another type": lambda y: y.view(torch.int32).add_(1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, quantc, tmp_path):
    def run(x):
        y = x * 1
        REFUSED[case](y)
        return y
    program = torch.export.export(Programs({"p": run}), (X,), strict=False)
    torch.export.save(program, tmp_path / "m.pt2")
    np.savez(tmp_path / "in.npz", x=X.numpy())
    quantc("run", tmp_path / "m.pt2", "-i", tmp_path / "in.npz", status=2)


@bases("dense", "upright")
def test_fixed_sizes(base, quantc, tmp_path):
    module = Programs(table(base, ANY_SIZE | FIXED_SIZE))
    compare(module, torch.export.export(module, (X,), strict=False), X, quantc, tmp_path)


@bases("transposed")
def test_symbolic_sizes(base, quantc, tmp_path):
    module = Programs(table(base, ANY_SIZE))
    with torch.no_grad():
        exported = torch.export.export(module, (X,), strict=False, dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    for rows, columns in [(4, 6), (5, 8)]:  # "every other" is a view in one axis where the number of columns is even
        compare(module, exported, torch.arange(-7.0, rows * columns - 7).reshape(rows, columns), quantc, tmp_path)


def random_step(rng, tensors):
    """An op on one of the tensors, as a function of all of them: a view, a copy, or a write."""
    at = int(rng.integers(len(tensors)))
    shape = tensors[at].shape
    axis = int(rng.integers(len(shape)))
    other = int(rng.integers(len(shape)))
    size, cut = shape[axis], int(rng.integers(max(shape[axis], 1)))
    steps = [
        lambda t: t[at].transpose(axis, other),
        lambda t: t[at].movedim(axis, other),
        lambda t: t[at].narrow(axis, cut, size - cut),
        lambda t: t[at].unsqueeze(axis),
        lambda t: t[at].unfold(axis, 2, 2),
        lambda t: t[at].reshape(-1, size),
        lambda t: t[at].flatten(),
        lambda t: t[at].contiguous(),
        lambda t: t[at].expand_as(t[at]),
        lambda t: torch.einsum("...i->i...", t[at]),
        lambda t: t[at].to(torch.float32, copy=cut == 0),
        lambda t: t[at].select(axis, cut),
        lambda t: t[at].split(1 + size // 2, axis)[-1],
        lambda t: t[at].diagonal(cut % 2, axis, other),
        lambda t: t[at].as_strided(shape[::-1], t[at].stride()[::-1]),
        lambda t: t[at].as_strided((2, 2), (1, 3), cut),
    ]
    writes = [lambda t: t[at].add_(cut + 1), lambda t: t[at].mul_(-2), lambda t: t[at].narrow(axis, cut, 1).relu_(),
              lambda t: t[at].copy_(t[at].flip(axis)), lambda t: t[at].sub_(t[0].sum())]
    if rng.random() < 0.4:
        return writes[rng.integers(len(writes))], False
    return steps[rng.integers(len(steps))], True


def random_program(seed):
    """Steps that PyTorch accepts, tried one by one; results of one or two elements at most lead nowhere and are left out."""
    rng = np.random.default_rng(seed)
    tensors, steps = [X * 1], []
    while len(steps) < 14:
        step, makes = random_step(rng, tensors)
        try:
            result = step(tensors)
        except (RuntimeError, IndexError):
            continue
        if makes and (not 1 <= result.dim() <= 4 or result.numel() < 2):
            continue
        steps.append((step, makes))
        if makes:
            tensors.append(result)

    def run(x):
        tensors = [x * 1]
        for step, makes in steps:
            result = step(tensors)
            if makes:
                tensors.append(result)
        return [t * 1 for t in tensors]
    return run


@pytest.mark.parametrize("first, count", [(0, 12), pytest.param(100, 400, marks=pytest.mark.soak)])
def test_random_programs(first, count, quantc, tmp_path):
    for start in range(first, first + count, 12):
        module = Programs({f"seed {seed}": random_program(seed) for seed in range(start, min(start + 12, first + count))})
        compare(module, torch.export.export(module, (X,), strict=False), X, quantc, tmp_path)
