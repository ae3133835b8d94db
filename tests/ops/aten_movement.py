"""Ops that move, pick, write, create and resample elements against PyTorch, with the argument patterns exports contain."""
import numpy as np
import torch

F = torch.nn.functional


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def ints(high, *shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, high, size=shape))


def assigned(x, position, value):
    y = x.clone()
    y[position] = value
    return y


def edited(x):
    y = x.clone()
    y[:, 1] = 3.0
    y[1:3, 2:] = x[:2, :3]
    y[..., ::2] += 1
    y.transpose(0, 1)[2].mul_(2)
    return y


X, IMAGE, PLANES = floats(4, 5, 6), floats(2, 3, 5, 6), floats(2, 8, 4, 6)
PICK, FEW = ints(4, 2, 3), torch.tensor([0, 2, 2])
GRID, GRID3 = floats(2, 4, 4, 2), floats(2, 2, 3, 4, 3)
MODES = [("bilinear", p, c) for p in ("zeros", "border", "reflection") for c in (True, False)]
INF = 9223372036854775807

GROUPS = {
    "orders": ((X,), [
        lambda x: x.permute(2, 0, -2), lambda x: x.transpose(1, -1), lambda x: x[0].t(), lambda x: x[0].T, lambda x: x.mT,
        lambda x: x.movedim(0, 2), lambda x: torch.movedim(x, (0, 1), (2, 0)), lambda x: x.swapaxes(0, 1), lambda x: x.adjoint(),
        lambda x: torch.rot90(x, 1, [1, 2]), lambda x: torch.rot90(x, -1, [0, 1]), lambda x: torch.rot90(x, 2, [0, 1]),
        lambda x: x.flip(0, 2), lambda x: torch.fliplr(x), lambda x: torch.roll(x, 2, 1),
        lambda x: torch.roll(x, (-1, 3), (0, 2)), lambda x: torch.roll(x, 5), lambda x: x.contiguous().clone().detach() + 1]),
    "parts": ((X,), [
        lambda x: x[1:], lambda x: x[:, -2:], lambda x: x[..., ::2], lambda x: x[:, 1:100:2], lambda x: x[-3:-1],
        lambda x: torch.ops.aten.slice.Tensor(x, 0, None, INF), lambda x: x[:, -1], lambda x: x.select(2, 3),
        lambda x: x.narrow(1, 1, 3), lambda x: x.split(2, 1), lambda x: tuple(x.split([1, 3, 1], 1)), lambda x: x.chunk(4, -1),
        lambda x: x.unbind(1), lambda x: x.tensor_split(4, 1), lambda x: x.tensor_split((1, 4), 1),
        lambda x: x.diagonal(0, 1, 2), lambda x: x.diagonal(1, 0, 1), lambda x: x.diagonal(-1, -1, 0), lambda x: x.unfold(1, 3, 2),
        lambda x: torch.diag(x[0, 0]), lambda x: torch.diag(x[0, 0], 1), lambda x: torch.diag(x[0, 0], -2),
        lambda x: torch.diag(x[0], 1), lambda x: torch.diag_embed(x[0]), lambda x: torch.diag_embed(x[0], 1, 0, 2)]),
    "joins": ((X, X * 2, ints(5, 4, 5, 6)), [
        lambda x, y, i: torch.cat([x, y], 1), lambda x, y, i: torch.cat([x, y, x], -1), lambda x, y, i: torch.cat([x, i], 0),
        lambda x, y, i: torch.cat([torch.zeros(0), x], 1), lambda x, y, i: torch.stack([x, y]), lambda x, y, i: torch.stack([x, y], -1),
        lambda x, y, i: torch.hstack([x, y]), lambda x, y, i: torch.vstack([x, y]), lambda x, y, i: torch.dstack([x, y]),
        lambda x, y, i: torch.column_stack([x[0, 0], y[0, 0]]), lambda x, y, i: torch.vstack([x[0, 0], y[0, 0]]),
        lambda x, y, i: torch.block_diag(x[0], y[1], x[0, 0]), lambda x, y, i: torch.cartesian_prod(x[0, 0], y[0, 0])]),
    "repeats": ((X[:, :1], X[:1, :, 0]), [
        lambda x, y: x.expand(4, 3, -1), lambda x, y: x.expand(2, 4, 3, 6), lambda x, y: torch.broadcast_to(x, (7, 4, 2, 6)),
        lambda x, y: x.repeat(2, 3, 1), lambda x, y: x.repeat(2, 1, 1, 2), lambda x, y: x.tile(2), lambda x, y: x.tile((2, 1, 1, 1)),
        lambda x, y: x.repeat_interleave(3, 1), lambda x, y: torch.repeat_interleave(x, 2), lambda x, y: x.expand_as(y.new_zeros(4, 3, 6)),
        lambda x, y: tuple(torch.broadcast_tensors(x[0, 0], y.mT)), lambda x, y: tuple(torch.meshgrid(x[0, 0], y[0], indexing="ij")),
        lambda x, y: tuple(torch.meshgrid(x[0, 0], y[0], indexing="xy"))]),
    "picks": ((floats(4, 4, 5, 6), PICK, ints(4, 2, 6, 5, 6)), [
        lambda x, i, e: F.embedding(i, x[0, 0]), lambda x, i, e: x.index_select(1, i[0]), lambda x, i, e: x.take(i),
        lambda x, i, e: x.gather(1, e), lambda x, i, e: torch.take_along_dim(x, i.reshape(1, 6, 1, 1), 1),
        lambda x, i, e: x[i], lambda x, i, e: x[:, i], lambda x, i, e: x[:, :, i[0].int()], lambda x, i, e: x[i[0][:, None], i[0][None]],
        lambda x, i, e: x[:, i, i], lambda x, i, e: x[i[0], :, i[0]], lambda x, i, e: x[:, :, i[0], i[0][:, None]],
        lambda x, i, e: x[torch.tensor([-1, 0, -2])], lambda x, i, e: x[torch.tensor([True, False, True, True])],
        lambda x, i, e: F.one_hot(i, 6)]),
    "writes": ((floats(4, 5, 6), FEW, floats(3, 5, 6, seed=1), ints(5, 3, 4, 6)), [
        lambda x, i, v, e: x.index_put((i,), v), lambda x, i, v, e: x.index_put((i,), v, accumulate=True),
        lambda x, i, v, e: x.index_put((i, i), torch.tensor(2.0)), lambda x, i, v, e: assigned(x, (slice(None), i[:2]), v[0, 0]),
        lambda x, i, v, e: assigned(x, (slice(None), i[:2], i[:2]), v[0, :2, 0]), lambda x, i, v, e: x.index_put((x > 0,), torch.tensor(0.5)),
        lambda x, i, v, e: edited(x), lambda x, i, v, e: x.scatter(1, e, v), lambda x, i, v, e: x.scatter(1, e, 2.5),
        lambda x, i, v, e: x.scatter(1, e, v, reduce="add"), lambda x, i, v, e: x.scatter_add(1, e, v),
        lambda x, i, v, e: tuple(x.scatter_reduce(1, e, v, r, include_self=s)
                                 for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)),
        lambda x, i, v, e: x.index_add(0, i, v), lambda x, i, v, e: x.index_add(0, i, v, alpha=2.0),
        lambda x, i, v, e: x.index_copy(0, torch.tensor([0, 3, 1]), v), lambda x, i, v, e: x.index_fill(1, i, 7.0),
        lambda x, i, v, e: torch.slice_scatter(x, v, 0, 1, 4),
        lambda x, i, v, e: torch.select_scatter(x, v[0], 0, -1), lambda x, i, v, e: torch.diagonal_scatter(x[0], v[0, 0, :5], 1),
        lambda x, i, v, e: x.masked_scatter(x > 0, v.repeat(2, 1, 1)), lambda x, i, v, e: x[0].clone().copy_(v[0, 0]),
        lambda x, i, v, e: x.clone().fill_(2.0), lambda x, i, v, e: x.clone().zero_()]),
    "frames": ((IMAGE,), [
        lambda x: F.pad(x, (1, 2)), lambda x: F.pad(x, (1, 2, 0, 3), value=1.5), lambda x: F.pad(x, (-1, 2, -1, 0)),
        lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"), lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"),
        lambda x: F.pad(x, (1, 2, 2, 1), mode="circular"), lambda x: F.unfold(x, (2, 3), padding=1, stride=2),
        lambda x: F.unfold(x, 3, dilation=2), lambda x: F.fold(F.unfold(x, 2), (5, 6), 2), lambda x: x.tril(), lambda x: x.triu(1),
        lambda x: x.tril(-1), lambda x: x.triu(-2)]),
    "blocks": ((PLANES,), [
        lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2), lambda x: F.channel_shuffle(x, 4),
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)]),
    "sizes": ((IMAGE, floats(2, 3, 8), floats(1, 2, 4, 4, 5)), [
        lambda x, y, z: F.interpolate(x, scale_factor=2), lambda x, y, z: F.interpolate(x, size=(7, 11)),
        lambda x, y, z: F.interpolate(x, scale_factor=(1.7, 0.6)), lambda x, y, z: F.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
        lambda x, y, z: F.interpolate(x, scale_factor=2, mode="bilinear"), lambda x, y, z: F.interpolate(x, size=(7, 11), mode="bilinear"),
        lambda x, y, z: F.interpolate(x, size=(7, 11), mode="bilinear", align_corners=True),
        lambda x, y, z: F.interpolate(x, scale_factor=(1.7, 0.6), mode="bilinear"),
        lambda x, y, z: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True),
        lambda x, y, z: F.interpolate(x, scale_factor=2, mode="bicubic"), lambda x, y, z: F.interpolate(x, size=(3, 4), mode="bicubic"),
        lambda x, y, z: F.interpolate(x, size=(7, 11), mode="bicubic", align_corners=True),
        lambda x, y, z: F.interpolate(x, size=(3, 9), mode="bicubic", antialias=True),
        lambda x, y, z: F.interpolate(y, scale_factor=2, mode="linear"), lambda x, y, z: F.interpolate(y, size=5),
        lambda x, y, z: F.interpolate(z, size=(3, 5, 7), mode="trilinear"), lambda x, y, z: F.interpolate(z, scale_factor=2)]),
    "samples": ((IMAGE, GRID, floats(2, 3, 5, 6, 4), GRID3, floats(2, 2, 3)), [
        lambda x, g, z, h, t: tuple(F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=c)
                                    for m in ("bilinear", "nearest", "bicubic") for _, p, c in MODES),
        lambda x, g, z, h, t: tuple(F.grid_sample(z, h, mode=m, padding_mode=p, align_corners=c)
                                    for m in ("bilinear", "nearest") for _, p, c in MODES),
        lambda x, g, z, h, t: F.affine_grid(t, (2, 3, 4, 5), align_corners=True),
        lambda x, g, z, h, t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False)]),
    "makes": ((floats(5),), [
        lambda x: torch.arange(5) + x.long(), lambda x: torch.arange(1, 9, 2), lambda x: torch.arange(0, 1, 0.25), lambda x: torch.zeros(2, 3),
        lambda x: torch.ones_like(x), lambda x: torch.full((2, 2), 7), lambda x: torch.full((2,), 1.5), lambda x: torch.full((1,), True),
        lambda x: torch.full_like(x, 2.5), lambda x: x.new_zeros(3), lambda x: x.new_ones(2), lambda x: x.new_full((2,), 4),
        lambda x: torch.eye(3), lambda x: torch.eye(2, 4), lambda x: torch.linspace(0, 1, 7), lambda x: torch.logspace(0, 1, 5),
        lambda x: torch.hann_window(6), lambda x: torch.tril_indices(3, 4, 1), lambda x: torch.triu_indices(3, 4, 1),
        lambda x: torch.atleast_2d(x), lambda x: torch.atleast_3d(x), lambda x: F.dropout(x, 0.5, False)]),
}
