"""Small PyTorch modules, each about one thing the .pt2 front end must get right, exported on the fly both as
exported and decomposed, run by the interpreter and compared with PyTorch."""
import copy
import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional


class Case(torch.nn.Module):
    """A function of its arguments, with the parameters and buffers given."""

    def __init__(self, function, **tensors):
        super().__init__()
        self.function = function
        for name, value in tensors.items():
            if isinstance(value, torch.nn.Module):
                setattr(self, name, value)
            elif isinstance(value, torch.nn.Parameter):
                self.register_parameter(name, value)
            else:
                self.register_buffer(name, value)

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


def data(*shape, seed=0, dtype=torch.float32):
    values = torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))
    return (values * 10).to(dtype) if dtype in (torch.int64, torch.int32) else values.to(dtype)


X = data(4, 6)


# Writes in place and through views.
def relu_in_place(m, x):
    y = x * 2
    z = y.view(2, 12)
    y.relu_()
    return z + 1


def write_to_row(m, x):
    y = x * 1
    y[1] = 0
    return y


def write_to_column_through_views(m, x):
    y = x.clone()
    y[:, 1:4][1:3] += x[1:3, :3] * 3
    return y, y.sum(0)


def strided_update(m, x):
    y = x.clone()
    y[..., ::2] += 1
    return y


def write_transposed(m, x):
    y = x.clone()
    y.t()[2].mul_(5)
    return y


def write_permuted(m, x):
    y = x.reshape(2, 2, 6).clone()
    y.permute(2, 0, 1)[1:3].fill_(7)
    return y


def write_split_part(m, x):
    y = x.clone()
    a, b, c = y.split([1, 3, 2], dim=1)
    b.add_(a)
    c.copy_(a.expand(4, 2))
    return y, b


def write_chunk(m, x):
    y = x.clone()
    a, b = y.chunk(2)
    b.sub_(a)
    return y


def write_unbound(m, x):
    y = x.clone()
    parts = y.unbind(1)
    parts[2].zero_()
    return y


def view_sees_later_write(m, x):
    y = x.clone()
    v = y[1:3]
    w = v.unsqueeze(0).transpose(1, 2)
    y.add_(10)
    return v, w


def sibling_views(m, x):
    y = x.clone()
    a, b = y[:3], y[1:]
    a.mul_(2)
    return b.clone(), b.add_(1), a


def flatten_is_a_view(m, x):
    y = x.clone()
    y.flatten().add_(1)
    return y


def reshape_copies_when_strided(m, x):
    y = x.clone()
    z = y.t().reshape(-1)
    z.add_(100)
    return y, z


def contiguous_copies_when_strided(m, x):
    y = x.clone()
    z = y.t().contiguous()
    z.add_(100)
    return y, z


def clone_is_fresh(m, x):
    y = x.clone()
    z = y.clone()
    z.add_(1)
    return y, z


def expanded_view_reads_new_value(m, x):
    y = x[:1].clone()
    z = y.expand(4, 6)
    y.add_(3)
    return z * 1


def detach_is_a_view(m, x):
    y = x.clone()
    y.detach().neg_()
    return y


def in_place_keeps_type(m, x):
    y = torch.zeros(4, 6, dtype=torch.float32)
    y.add_(torch.arange(6))
    y.mul_(x)
    return y


def masked_fill_in_place(m, x):
    y = x * 1
    y.masked_fill_(x > 0, -1.0)
    return y


def index_put_rows(m, x):
    y = x.clone()
    y[torch.tensor([0, 2])] = 5.0
    return y


def index_put_accumulate(m, x):
    y = x.clone()
    y.index_put_((torch.tensor([1, 1, 3]),), data(3, 6, seed=3), accumulate=True)
    return y


def write_to_input(m, x):
    x.add_(1)
    return x * 2


def dropout_in_eval(m, x):
    return F.dropout(x, 0.5, training=False) + F.dropout2d(x[None, :, :, None], 0.5, False)[0, :, :, 0]


WRITES = [relu_in_place, write_to_row, write_to_column_through_views, strided_update, write_transposed,
          write_permuted, write_split_part, write_chunk, write_unbound, view_sees_later_write, sibling_views,
          flatten_is_a_view, reshape_copies_when_strided, contiguous_copies_when_strided, clone_is_fresh,
          expanded_view_reads_new_value, detach_is_a_view, in_place_keeps_type, masked_fill_in_place,
          index_put_rows, index_put_accumulate, write_to_input, dropout_in_eval]


# Parameters, buffers, constants, state.
def counter(m, x):
    m.n.add_(1)
    return x * m.n


def cache_row(m, x):
    m.cache[1:2].copy_(x[:1])
    return m.cache.sum(0)


def shadow(m, x):
    m.cache.copy_(m.cache * 0.5 + x)
    return m.cache + 0


def written_through_operators(m, x):
    bits = m.bits * 1
    bits[1:] |= m.other[1:]
    bits[:, 2:] &= 6
    bits[:2] ^= m.other[:2]
    bits[2:] <<= 1
    return x.sum() + bits, bits >> 1


def tied(m, x):
    return F.linear(F.linear(x, m.a), m.b.t())


def lifted_constant(m, x):
    return x + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) * torch.tensor(2)


def own_weights(m, x):
    return F.linear(x, m.w)


def strided_buffers(m, x):
    return x @ m.t + x[:, :3] @ m.window + x * m.expanded


def channels_last_conv(m, x):
    return m.conv(x.reshape(1, 2, 3, 4))


_shared = torch.nn.Parameter(data(6, 6, seed=1))
_base = data(8, 12, seed=2)
TENSORS = [
    (counter, dict(n=torch.zeros(1))),
    (cache_row, dict(cache=data(4, 6, seed=5))),
    (shadow, dict(cache=data(4, 6, seed=6))),
    (written_through_operators, dict(bits=torch.arange(24).reshape(4, 6), other=torch.arange(24).reshape(4, 6) % 7)),
    (tied, dict(a=_shared, b=_shared, unused=torch.nn.Parameter(data(3)))),
    (lifted_constant, {}),
    (own_weights, dict(w=torch.nn.Parameter(data(6, 5, seed=4).t()))),
    (strided_buffers, dict(t=data(6, 6, seed=7).t(), window=_base[2:5, 1:12:2], expanded=data(6, seed=8).expand(4, 6))),
    (channels_last_conv, dict(conv=torch.nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last))),
]


# Control of gradients and types, dead code, checks.
def no_grad_inside(m, x):
    with torch.no_grad():
        y = x * 2
        z = y.sin()
    return y + z


def two_no_grad_blocks(m, x):
    with torch.no_grad():
        x = x + 1
    y = x * 3
    with torch.no_grad():
        y = y.cos()
        x = y - x
    return x, y


def autocast_block(m, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = F.linear(x, m.w)
        z = F.softmax(y, -1)
    return y.float(), z.float()


def dead_random(m, x):
    torch.rand(3)
    noise = torch.randn_like(x)
    noise.add_(1)
    return x * 2


def checks(m, x):
    torch._check(x.shape[0] == 4)
    torch._assert(x.shape[1] == 6, "six")
    return x.to(torch.float32) + 1


BLOCKS = [(no_grad_inside, {}), (two_no_grad_blocks, {}), (autocast_block, dict(w=data(5, 6, seed=9))),
          (dead_random, {}), (checks, {})]


# Control flow.
def branch(m, x):
    return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: (x - 1).sin(), (x,))


def branch_with_weights(m, x):
    return torch.cond(x[0, 0] > 100, lambda x: x + m.w, lambda x: x * m.w, (x,)) + 1


def repeat_until_small(m, x):
    return torch._higher_order_ops.while_loop(
        lambda i, y: y.abs().sum() > 1, lambda i, y: (i + 1, y * 0.5), (torch.tensor(0), x.clone()))


def running_sum(m, x):
    from torch._higher_order_ops.scan import scan
    carry, rows = scan(lambda c, row: (c + row, c * row), torch.zeros(6), x)
    return carry, rows


def per_row(m, x):
    from torch._higher_order_ops.map import map as map_rows
    return map_rows(lambda row, w: row * w + 1, x, m.w)


CONTROL = [(branch, {}), (branch_with_weights, dict(w=data(4, 6, seed=13))), (repeat_until_small, {}),
           (running_sum, {}), (per_row, dict(w=data(6, seed=14)))]


# Outputs and inputs of every kind.
def many_outputs(m, x):
    return x, x * 2, m.b, x, None, 3, {"a": x + 1, "b": [x - 1, 2.5]}


def nested_inputs(m, pair, extra):
    return pair[0] * extra["k"] + pair[1]["z"]


def literal_inputs(m, x, flag, scale, nothing):
    return x * scale if flag and nothing is None else x


def scalar_tensors(m, x):
    return x * x.mean() + x.sum().reshape(()), (x > 0), x.argmax(), x.to(torch.int64)


def several_results(m, x):
    values, indices = x.topk(2, dim=1)
    low, at = x.min(dim=0)
    return values, indices, low, at


EXTRA = {"k": data(4, 6, seed=11)}
INTERFACES = [
    (many_outputs, dict(b=data(2, seed=10)), (X,)),
    (nested_inputs, {}, ((X, {"z": data(6, seed=12)}), EXTRA)),
    (literal_inputs, {}, (X, True, 2.5, None)),
    (scalar_tensors, {}, (X,)),
    (several_results, {}, (X,)),
]


# Symbolic sizes.
def divide_by_size(m, x):
    return x / x.shape[0] + x.shape[1]


def size_root(m, x):
    return x * (x.shape[0] ** 0.5)


def ranges_of_sizes(m, x):
    return torch.arange(x.shape[0])[:, None] + x + torch.zeros(x.shape[0], 1)


def reshape_by_size(m, x):
    b = x.shape[0]
    return x.view(b, 2, 3).transpose(0, 1).reshape(2, b * 3).sum(1), x.reshape(-1)[: b * 2]


def slice_by_size(m, x):
    return x[1:], x[-1:], torch.cat([x, x])[: x.shape[0] + 1]


SYMBOLIC = [divide_by_size, size_root, ranges_of_sizes, reshape_by_size, slice_by_size]

CASES = ([(f, {}, (X,), False) for f in WRITES] + [(f, t, (X,), False) for f, t in TENSORS + BLOCKS + CONTROL] +
         [(f, t, a, False) for f, t, a in INTERFACES] + [(f, {}, (X,), True) for f in SYMBOLIC])


def leaves(value):
    found, _ = torch.utils._pytree.tree_flatten(value)
    return [v for v in found if isinstance(v, torch.Tensor)]


def results(tree):
    """What a model returns: tensors, and numbers as tensors without axes."""
    return [torch.as_tensor(v) for v in torch.utils._pytree.tree_leaves(tree) if v is not None]


def close(expected, actual):
    expected, actual = np.asarray(expected), np.asarray(actual)
    assert expected.shape == actual.shape and expected.dtype == actual.dtype
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(expected, actual)
        return
    scale = float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4 * scale if scale else 1e-6)


@pytest.mark.parametrize("dialect", ["exported", "decomposed"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_module(case, dialect, quantc, tmp_path):
    function, tensors, args, symbolic = case
    module = Case(function, **copy.deepcopy(tensors)).eval()
    shapes = (({0: torch.export.Dim("n", min=3, max=64)},),) if symbolic else None
    program = torch.export.export(module, args, dynamic_shapes=shapes)
    if dialect == "decomposed":
        program = program.run_decompositions()
    model = tmp_path / "m.pt2"
    torch.export.save(program, model)
    inputs = [t.clone() for t in leaves(args)]
    np.savez(tmp_path / "in.npz", **{f"in_{i}": t.numpy() for i, t in enumerate(inputs)})
    if function is autocast_block:
        expected = results(module(*args))
    else:
        fresh = torch.utils._pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, args)
        expected = results(module(*fresh))
    quantc("run", model, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    actual = np.load(tmp_path / "out.npz")
    names = list(actual.keys())
    assert len(names) == len(expected)
    for want, name in zip(expected, names):
        close(want.detach().numpy(), actual[name])


def test_missing_ops_are_listed_at_once(quantc, tmp_path):
    def missing(m, x):
        torch.rand(2)  # dead, so not worth a word
        y = torch.rand_like(x) + torch.rand_like(x)
        return torch.linalg.qr(x)[0].sum() + y

    program = torch.export.export(Case(missing).eval(), (X,))
    torch.export.save(program, tmp_path / "m.pt2")
    done = quantc("inspect", tmp_path / "m.pt2", status=2)
    assert "2 operations are not supported" in done.stderr
    assert "aten.linalg_qr.default: 1 node, first 'linalg_qr'" in done.stderr
    assert "aten.rand_like.default: 2 nodes, first 'rand_like'" in done.stderr


def into_zeros(write, *more):
    def function(m, x):
        made = torch.zeros(2, 4, 6)
        write(x.abs(), *more, out=made[0])
        return made
    return function


@pytest.mark.parametrize("write, op", [
    (into_zeros(torch.add, 1), "add.out"), (into_zeros(torch.xlogy, 2), "xlogy.OutScalar_Other"),
    (into_zeros(functools.partial(torch.div, rounding_mode="floor"), 2), "div.out_mode")])
def test_ops_that_write_to_given_memory_are_refused(write, op, quantc, tmp_path):
    """Nobody reads their results: what they write to is read."""
    torch.export.save(torch.export.export(Case(write).eval(), (X,)), tmp_path / "m.pt2")
    done = quantc("inspect", tmp_path / "m.pt2", status=2)
    assert f"aten.{op}: 1 node" in done.stderr


@pytest.mark.parametrize("read", [lambda m, x: m.n.to(x.device) + x, lambda m, x: m.n.to("cpu", torch.float32)[:, :6] * x,
                                  lambda m, x: (torch.special.i0(m.n), m.n + x)[1]])
def test_buffers_that_are_only_read_are_no_state(read, quantc, tmp_path):
    torch.export.save(torch.export.export(Case(read, n=data(1, 6)).eval(), (X,), strict=False), tmp_path / "m.pt2")
    quantc("compile", tmp_path / "m.pt2", "-o", tmp_path / "c", "--name", "net")
    assert "#define NET_STATE_BYTES 0" in (tmp_path / "c" / "net.h").read_text()


def test_complex_numbers_are_refused(quantc, tmp_path):
    program = torch.export.export(Case(lambda m, x: x + 1).eval(), (torch.complex(X, X),))
    torch.export.save(program, tmp_path / "m.pt2")
    assert "complex64" in quantc("inspect", tmp_path / "m.pt2", status=2).stderr


@pytest.mark.parametrize("module", [torch.nn.BatchNorm1d(6), torch.nn.Dropout(0.5)], ids=["batch_norm", "dropout"])
def test_training_mode_is_refused(module, quantc, tmp_path):
    program = torch.export.export(module.train(), (X,))
    torch.export.save(program, tmp_path / "m.pt2")
    done = quantc("inspect", tmp_path / "m.pt2", status=2)
    assert ".eval()" in done.stderr
