"""Corners of operations: tensors of rank 0 with an axis named, unusual element types and windows, indices computed at run
time, and operations that few networks contain."""
import numpy as np
import torch

F = torch.nn.functional
aten = torch.ops.aten


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


ONE, X, Y = torch.tensor(2.5), floats(3, 4), floats(3, 4, seed=1)
BYTES, IMAGE = torch.tensor([[1, 0], [3, 2]], dtype=torch.uint8), torch.arange(-12, 36).view(1, 4, 3, 4)
PLACE = torch.tensor(1)
SPECIAL = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 0.5, -2.5, 3.5])
LOGITS, LABELS = floats(5, 4), torch.tensor([1, 3, -100, 0, 2])
MAPS, MAP_LABELS = floats(2, 4, 3), torch.tensor([[0, 3, 1], [-100, 2, 2]])
CLASS_WEIGHT, SOFT = torch.tensor([0.5, 2.0, 1.0, 0.25]), floats(5, 4, seed=2).softmax(1)
BATCH1, BATCH2 = floats(3, 2, 4), floats(3, 4, 5, seed=1)

GROUPS = {
    "rank0": ((ONE,), [
        lambda s: s.squeeze(0) * 1, lambda s: s.squeeze((0,)) * 1, lambda s: s.squeeze(-1) + 1, lambda s: s.max(0), lambda s: s.min(-1),
        lambda s: s.max(0, keepdim=True), lambda s: s.cummax(0), lambda s: s.cummin(-1), lambda s: s.kthvalue(1), lambda s: s.kthvalue(1, 0, True),
        lambda s: s.median(0), lambda s: s.median(-1, True), lambda s: F.prelu(s, torch.tensor([0.1])), lambda s: F.prelu(-s, torch.tensor([0.1])),
        lambda s: s.logcumsumexp(0), lambda s: s.nanmean(0), lambda s: s.any(0), lambda s: s.cumsum(0)]),
    "types": ((X, BYTES, IMAGE), [
        lambda x, u, i: x.clamp(min=float("nan")), lambda x, u, i: x.clamp(max=float("nan")), lambda x, u, i: u.any(), lambda x, u, i: u.all(0),
        lambda x, u, i: u.any(1, keepdim=True), lambda x, u, i: u.all(), lambda x, u, i: u.bool().sign(), lambda x, u, i: u.bool().square(),
        lambda x, u, i: u.bool().sgn(), lambda x, u, i: u.bool().clamp(max=1), lambda x, u, i: F.max_pool2d(i, 2), lambda x, u, i: F.avg_pool2d(i, 2),
        lambda x, u, i: F.avg_pool2d(i, 2, divisor_override=3), lambda x, u, i: F.avg_pool2d(i, 3, 2, padding=1), lambda x, u, i: F.avg_pool1d(i[0], 2, 1),
        lambda x, u, i: F.conv2d(i, i[:, :2, :2, :3].reshape(2, 2, 3, 1), torch.tensor([1, -2]), stride=(1, 2), padding=(1, 0), groups=2),
        lambda x, u, i: F.conv2d(i, torch.full((2, 4, 2, 2), 2**61 + 1)), lambda x, u, i: F.conv1d(i[0].int(), torch.ones(2, 3, 2, dtype=torch.int32), stride=2),
        lambda x, u, i: x.view(torch.int16), lambda x, u, i: x.view(torch.uint8), lambda x, u, i: x.view(torch.float64).view(torch.int32),
        lambda x, u, i: x.t().contiguous().view(torch.uint8).view(torch.int16), lambda x, u, i: x.view(torch.int32),
        lambda x, u, i: F.avg_pool1d(x, 2, ceil_mode=True), lambda x, u, i: F.avg_pool2d(x[None], 2, divisor_override=-2)]),
    "windows": ((X, floats(1, 1, 1), floats(2, 1, 2)), [
        lambda x, a, b: F.max_pool1d(x[None], 3, 3, dilation=2, ceil_mode=True), lambda x, a, b: F.max_pool2d(x[None], (3, 4), ceil_mode=True, dilation=(2, 1)),
        lambda x, a, b: F.max_pool1d(x[None], 3, 3, dilation=2, ceil_mode=True, return_indices=True), lambda x, a, b: x.roll(9, 1), lambda x, a, b: x.roll((-5, 4), (0, 1)),
        lambda x, a, b: torch.tensordot(a, b, dims=([0, 1], [2, 0])), lambda x, a, b: torch.tensordot(x[:, :1], x, dims=([1], [0]))]),
    "places": ((X, PLACE), [
        lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x[i, i], lambda x, i: x[i, :2], lambda x, i: x[-i], lambda x, i: x[i.int()]]),
    "special": ((SPECIAL,), [
        torch.isposinf, torch.isneginf, torch.special.ndtr, torch.special.entr, torch.nanmean, lambda x: x.logcumsumexp(0), lambda x: x[2:].logcumsumexp(0),
        lambda x: torch.isin(x, torch.tensor([0.5, 1.0, float("inf")])), lambda x: torch.isin(x[3:].int(), 3, invert=True),
        lambda x: torch.isposinf(x[3:].int())]),
    "few": ((X, Y), [
        lambda x, y: x.logcumsumexp(1), lambda x, y: (x * 100).logcumsumexp(0), lambda x, y: x.double().logcumsumexp(1), lambda x, y: x.half().logcumsumexp(-1),
        lambda x, y: torch.isin((x * 2).int(), torch.tensor([[0, 1], [2, 3]])), lambda x, y: aten.isin.Scalar_Tensor(2, (x * 2).int()),
        lambda x, y: torch.addr(x, y[:, 0], y[0]), lambda x, y: torch.addr(x, x[:, 0], y[1], beta=0.5, alpha=2), lambda x, y: torch.addr(x.int(), x[:, 0].int(), y[1].int(), alpha=3),
        lambda x, y: torch.addr(x, x[:, 0], y[1], beta=0), lambda x, y: torch.special.ndtr(x * 3), lambda x, y: torch.special.ndtr(x.double()), lambda x, y: torch.special.entr(x.abs()),
        lambda x, y: torch.trace(x), lambda x, y: torch.trace((x * 9).int()), lambda x, y: torch.remainder(2.5, x), lambda x, y: torch.remainder(7, (x * 9).int() * 2 + 1),
        lambda x, y: torch.where(x > 1, torch.nan, x).nanmean(1), lambda x, y: x.nanmean((0, 1), keepdim=True), lambda x, y: x.nanmean(dtype=torch.float64),
        lambda x, y: torch.linalg.cross(x[:, :3], y[:, 1:]), lambda x, y: torch.linalg.cross(x, y[:, :1], dim=0), lambda x, y: torch.cross(x, y, dim=0), lambda x, y: aten.cross.default(x, y),
        lambda x, y: aten.addbmm.default(x[:, :3] * 1, x.view(3, 1, 4).expand(3, 3, 4), y.view(3, 4, 1).expand(3, 4, 3), beta=0.5, alpha=2)]),
    "batches": ((floats(2, 5, seed=5), BATCH1, BATCH2), [
        lambda c, a, b: torch.addbmm(c, a, b), lambda c, a, b: torch.addbmm(c, a, b, beta=0), lambda c, a, b: torch.addbmm(c, a, b, beta=0.5, alpha=0.3)]),
    "losses": ((LOGITS, LABELS, CLASS_WEIGHT, SOFT), [
        lambda x, t, w, p: F.cross_entropy(x, t), lambda x, t, w, p: F.cross_entropy(x, t, w), lambda x, t, w, p: F.cross_entropy(x, t, w, reduction="none"),
        lambda x, t, w, p: F.cross_entropy(x[:2], t[:2], reduction="sum", ignore_index=3), lambda x, t, w, p: F.cross_entropy(x, t, label_smoothing=0.1),
        lambda x, t, w, p: F.cross_entropy(x, t, reduction="none", label_smoothing=0.3), lambda x, t, w, p: F.cross_entropy(x, p), lambda x, t, w, p: F.cross_entropy(x, p, w, label_smoothing=0.2),
        lambda x, t, w, p: F.cross_entropy(x, p, w, reduction="none"), lambda x, t, w, p: F.cross_entropy(x[0], t[0]), lambda x, t, w, p: F.cross_entropy(x[:2], t[:2], w, label_smoothing=0.1),
        lambda x, t, w, p: F.nll_loss(F.log_softmax(x, 1), t), lambda x, t, w, p: F.nll_loss(F.log_softmax(x, 1), t, w, reduction="sum"), lambda x, t, w, p: F.nll_loss(x, t, w, reduction="none"),
        lambda x, t, w, p: F.nll_loss(x[3], t[3]), lambda x, t, w, p: aten.nll_loss.default(x, t, w), lambda x, t, w, p: aten.nll_loss_forward.default(x, t, w, 1, -100), lambda x, t, w, p: aten.nll_loss_nd.default(x, t)]),
    "loss_maps": ((MAPS, MAP_LABELS, CLASS_WEIGHT), [
        lambda x, t, w: F.cross_entropy(x, t, w), lambda x, t, w: F.cross_entropy(x, t, reduction="none"), lambda x, t, w: F.nll_loss(x, t), lambda x, t, w: F.nll_loss(x[..., None], t[..., None], w),
        lambda x, t, w: aten.nll_loss2d.default(x[..., None], t[..., None], w), lambda x, t, w: aten.nll_loss2d_forward.default(x[..., None], t[..., None], w, 2, -100)]),
}
