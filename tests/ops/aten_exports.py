"""What exports of real architectures contain beside plain calls: scopes, casts and copies that do nothing, writes in place,
checks, dead random numbers, and the block of a mixture of experts."""
import numpy as np
import torch

F = torch.nn.functional


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


if not hasattr(torch.ops.transformers, "grouped_mm_fallback"):
    # As the package transformers registers it: rows up to offs[e] times the matrix of expert e.
    @torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
    def grouped_mm(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        ends = [0, *offs.tolist()]
        return torch.cat([input[a:b] @ weight[e] for e, (a, b) in enumerate(zip(ends, ends[1:]))])

    @grouped_mm.register_fake
    def _(input, weight, offs):
        return input.new_empty(input.size(0), weight.size(2))


def experts(x, router, w):
    """Two of four experts for each row, as mixtral and its kin write it."""
    weights, chosen = torch.topk(F.softmax(x @ router, -1), 2, dim=-1)
    flat = chosen.reshape(-1)
    sorted_experts, order = torch.sort(flat)
    rows = x[order // 2]
    counts = torch.histc(sorted_experts.float(), bins=4, min=0, max=3)
    offsets = torch.cumsum(counts, 0, dtype=torch.int32)
    out = torch.ops.transformers.grouped_mm_fallback(rows, w, offsets)
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(order.size(0))
    return (out[inverse].view(x.size(0), 2, -1) * weights[..., None]).sum(1)


def groups_in_bf16(x, w):
    """What torch's own grouped product takes: bf16, sizes of whole 16 bytes. Sums of integers are the same in any order."""
    ends = torch.tensor([3, 3, 5, 9], dtype=torch.int32)
    return torch._grouped_mm((x * 3).round().bfloat16(), (w * 3).round().bfloat16(), offs=ends).float()


def rotary_scope(x):
    """Part of the work under no_grad, in a scope where gradients are on: a nested graph."""
    with torch.enable_grad():
        y = x * 2
        with torch.no_grad():
            angles = y.cumsum(-1)
            z = angles.cos() + angles.sin()
    return z * x


def with_dead_numbers(x):
    torch.rand([])
    return x + 1


def checked(x, mask):
    torch._check_tensor_all(mask)
    return x * 3


def written(x):
    """y[..] = number becomes a constant and fill_; += on slices a copy onto itself."""
    y = x.clone()
    y[:, 1] = 0
    y[..., ::2] += 1
    y[1:3].mul_(1.5)
    y[0].div_(4)
    y[2].add_(x[3])
    y[3].add_(0.5).mul_(x[0])
    y[0].relu_()
    y[1].masked_fill_(x[1] > 0, -2.0)
    y[2].div_(3.0).div_(x[2].abs() + 1)
    return y


def filled(x):
    y = torch.empty(4, 6)
    y[:2] = x[:2]
    y[2:] = torch.zeros_like(x[2:])
    return y


def put(x):
    y = torch.zeros(4, 6)
    y[torch.tensor([1, 3]), torch.tensor([0, 5])] = 2.5
    y[x > 10] = x.sum()
    return y


X, IDS, MASK = floats(4, 6), torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]]), floats(2, 8, seed=1) > -0.5
IMAGE = floats(2, 4, 6, 6)

GROUPS = {
    "scopes": ((X, torch.tensor([True, True])), [
        lambda x, m: rotary_scope(x), lambda x, m: with_dead_numbers(x), lambda x, m: checked(x, m),
        lambda x, m: x * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), lambda x, m: torch.tensor(2.5).detach_() * x,
        lambda x, m: F.dropout(x, 0.1, False, True) + 1, lambda x, m: F.dropout2d(x[None, None], 0.1, False)]),
    "casts": ((X, IDS, MASK), [
        lambda x, i, m: x.to("cpu"), lambda x, i, m: x.to("cpu", torch.float32), lambda x, i, m: i.to("cpu", torch.float32),
        lambda x, i, m: i.to(device="cpu", dtype=torch.float32), lambda x, i, m: i.to(torch.float32, non_blocking=False, copy=True),
        lambda x, i, m: torch.ops.aten.to.dtype_layout(i, dtype=torch.float32, layout=torch.strided, device=torch.device("cpu")),
        lambda x, i, m: x.to(torch.bool), lambda x, i, m: m.to(x.dtype), lambda x, i, m: m.to(torch.int64),
        lambda x, i, m: torch.ops.aten.alias(x) * 2, lambda x, i, m: x.contiguous().detach() - 0.5, lambda x, i, m: i.type_as(x) * 2.0]),
    "shapes": ((X, IMAGE), [
        lambda x, y: y.flatten(1), lambda x, y: y.flatten(2).transpose(-1, -2), lambda x, y: y.flatten(), lambda x, y: y.reshape(2, -1, 3),
        lambda x, y: x.unsqueeze(-1), lambda x, y: x.reshape_as(y[0, 0, :4]), lambda x, y: y.select(-1, 2), lambda x, y: x.split([2, 4], -1),
        lambda x, y: torch.concat([x, x], -1), lambda x, y: torch.multiply(x, 2), lambda x, y: torch.min(x, x.flip(0)),
        lambda x, y: torch.max(x, x.flip(0)), lambda x, y: y.permute(0, 2, 3, 1).contiguous().view(-1, 4), lambda x, y: x[:, :, None].squeeze(-1),
        lambda x, y: F.adaptive_avg_pool2d(y.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), 1)]),
    "makes": ((X, MASK), [
        lambda x, m: torch.arange(4.0) + x[:, 0], lambda x, m: torch.arange(1, 5) * 2, lambda x, m: torch.zeros(3, dtype=torch.int64),
        lambda x, m: torch.ones(2, 3), lambda x, m: torch.ones(4, 6, dtype=torch.bool) & (x > 0), lambda x, m: x.new_ones((2, 2), dtype=torch.bool),
        lambda x, m: torch.zeros_like(x), lambda x, m: m.cumsum(-1, dtype=torch.int64), lambda x, m: m.long().cumsum(-1, dtype=torch.int32),
        lambda x, m: x.new_ones((3, 3)).tril(-1), lambda x, m: torch.arange(6)[None] <= torch.arange(4)[:, None]]),
    "writes": ((X,), [written, filled, put, lambda x: x.long().clone().floor_divide_(2), lambda x: x.clone().clamp_(-0.5, 0.5)]),
    "patterns": ((X, IMAGE, floats(2, 4, 9), floats(4, 2, 3), floats(2, 4, 5, 8), floats(2, 1, 5, 5)), [
        lambda x, y, l, w, q, b: x / 2, lambda x, y, l, w, q, b: F.conv1d(l, w, None, 1, 1, 1, 2), lambda x, y, l, w, q, b: F.conv1d(l, w[:, :1], None, 2, 0, 1, 4),
        lambda x, y, l, w, q, b: F.conv2d(y, y[:, :, :3, :3], padding="valid"), lambda x, y, l, w, q, b: F.group_norm(y, 2),
        lambda x, y, l, w, q, b: F.layer_norm(x, (6,), x[0], None), lambda x, y, l, w, q, b: F.scaled_dot_product_attention(q, q, q, b, scale=0.25),
        lambda x, y, l, w, q, b: x.clamp(-0.5, 0.5), lambda x, y, l, w, q, b: x.le(x.flip(1)), lambda x, y, l, w, q, b: x.topk(3, dim=-1, sorted=True)]),
    "composed": ((X, X.flip(0) * 0.5, torch.tensor([[float("nan"), float("inf"), 1.0], [1.0, 1.00001, -2.0]]), torch.arange(-12, 12, dtype=torch.int8).reshape(4, 6)), [
        lambda x, y, s, i: torch.cdist(x, y), lambda x, y, s, i: torch.cdist(x[None], y[None, :2], p=1.0), lambda x, y, s, i: torch.kron(x[:2], y[0, :3]),
        lambda x, y, s, i: torch.isclose(x, y, rtol=0.5), lambda x, y, s, i: torch.isclose(s, s.flip(1)), lambda x, y, s, i: torch.isclose(s, s, equal_nan=True),
        lambda x, y, s, i: torch.isclose(s[:, :1], s), lambda x, y, s, i: F.rrelu(x), lambda x, y, s, i: torch._int_mm(i.repeat(5, 4), i.repeat(6, 4)),
        lambda x, y, s, i: torch.isclose(i, i.flip(0), atol=3)]),
    "groups_in_bf16": ((floats(9, 8, seed=5), floats(4, 8, 16, seed=6)), [groups_in_bf16]),
    "experts": ((X, floats(6, 4, seed=3), floats(4, 6, 5, seed=4)), [experts]),
    "bags": ((floats(10, 3), torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 3, 3, 7]), floats(8, seed=2)), [
        lambda w, i, o, s: F.embedding_bag(i.reshape(2, 4), w), lambda w, i, o, s: F.embedding_bag(i.reshape(2, 4), w, mode="sum"),
        lambda w, i, o, s: F.embedding_bag(i.reshape(2, 4), w, mode="max"), lambda w, i, o, s: F.embedding_bag(i, w, o),
        lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum"), lambda w, i, o, s: F.embedding_bag(i, w, o, mode="max"),
        lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
        lambda w, i, o, s: F.embedding_bag(i.reshape(2, 4), w, mode="sum", per_sample_weights=s.reshape(2, 4)),
        lambda w, i, o, s: F.embedding_bag(i, w, o, mode="mean", padding_idx=4), lambda w, i, o, s: F.embedding_bag(i, w, o, mode="max", padding_idx=-6),
        lambda w, i, o, s: F.embedding_bag(i, w, torch.cat([o, torch.tensor([8])]), mode="sum", include_last_offset=True),
        lambda w, i, o, s: w.masked_select(torch.tensor([True, False, True])), lambda w, i, o, s: w[:, :1].masked_select(torch.eye(10, 3) > 0)]),
}
