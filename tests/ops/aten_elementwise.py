"""Elementwise ops, reductions, searches and softmax against PyTorch, with the argument patterns exports contain."""
import numpy as np
import torch

F = torch.nn.functional


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


X, Y = floats(3, 4, 5), floats(3, 4, 5, seed=1)
ROW, UNIT = floats(5, seed=2), torch.sigmoid(floats(3, 4, 5, seed=3))
INTS, MORE = torch.randint(-9, 9, (3, 4, 5), generator=torch.manual_seed(0)), torch.tensor([3, -2, 4, 1, -5])
MASK = floats(3, 4, 5, seed=4) > 0
SPECIAL = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.5, -2.5, 3.5])

FUNCTIONS = [
    torch.abs, torch.neg, torch.sign, torch.square, torch.exp, torch.exp2, torch.expm1, torch.sin, torch.cos, torch.tan,
    torch.atan, torch.sinh, torch.cosh, torch.asinh, torch.tanh, torch.sigmoid, torch.erf, torch.erfc, torch.floor,
    torch.ceil, torch.round, torch.trunc, torch.frac, torch.reciprocal, torch.sgn, torch.positive, torch.deg2rad,
    torch.rad2deg, torch.sinc, torch.digamma, torch.lgamma, lambda x: torch.round(x, decimals=2),
    lambda x: torch.round(x * 100, decimals=-1), torch.isnan, torch.signbit]
# Without gelu: PyTorch's own is NaN at inf in vectors of 8, but not in shorter ones.
ACTIVATIONS = [
    F.relu, F.relu6, lambda x: F.gelu(x, approximate="tanh"), F.silu, F.mish, F.elu, lambda x: F.elu(x, alpha=0.5),
    F.selu, F.celu, lambda x: F.celu(x, alpha=2.0), F.leaky_relu, lambda x: F.leaky_relu(x, 0.2), F.hardswish, F.hardsigmoid,
    F.hardtanh, lambda x: F.hardtanh(x, -0.5, 0.25), F.logsigmoid, F.softplus, lambda x: F.softplus(x, 2.0, 1.0), F.softsign,
    F.softshrink, lambda x: F.softshrink(x, 0.1), F.hardshrink, F.tanhshrink, lambda x: F.threshold(x, 0.1, 20.0),
    lambda x: F.prelu(x, torch.tensor([0.25])), lambda x: x.clamp(-0.5), lambda x: x.clamp(max=0.5),
    lambda x: x.clamp(min=torch.tensor(0.1)), lambda x: torch.clip(x, -0.1, 0.1)]

GROUPS = {
    "functions": ((X,), FUNCTIONS),
    "positive": ((UNIT,), [
        torch.log, torch.log2, torch.log10, torch.log1p, torch.sqrt, torch.rsqrt, torch.asin, torch.acos, torch.atanh,
        torch.erfinv, torch.logit, lambda x: torch.logit(x, eps=0.3), lambda x: torch.acosh(x + 1)]),
    "special": ((SPECIAL,), [
        *FUNCTIONS, *ACTIVATIONS, lambda x: tuple(F.gelu(x[i:i + 1]) for i in range(8)), torch.log, torch.sqrt, torch.rsqrt, torch.log1p,
        torch.asin, torch.acosh, torch.isinf, torch.isfinite, torch.nan_to_num, lambda x: torch.nan_to_num(x, 1.0, 2.0, -3.0),
        lambda x: torch.maximum(x, torch.zeros(1)), lambda x: torch.fmax(x, torch.zeros(1)),
        lambda x: torch.fmin(x, torch.zeros(1)), lambda x: x == x, lambda x: x < 1, lambda x: x != 0, torch.argmax, torch.argmin,
        lambda x: torch.sort(x), lambda x: torch.sort(x, descending=True), lambda x: x.max(dim=0), lambda x: x.amin(),
        lambda x: torch.cummax(x, 0), lambda x: torch.cummin(x, 0), lambda x: x.nansum(), torch.median, lambda x: x.median(dim=0),
        lambda x: x[2:].median(dim=0, keepdim=True), lambda x: x.kthvalue(7), lambda x: x.topk(3), torch.sum, torch.var,
        lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 0.5])), lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0]), right=True),
        lambda x: torch.heaviside(x, torch.tensor([0.5])), lambda x: x ** x.flip(0), lambda x: torch.hypot(x, x.flip(0)),
        lambda x: torch.atan2(x, x.flip(0)), lambda x: torch.copysign(x, x.flip(0)), lambda x: torch.logaddexp(x, x.flip(0)),
        lambda x: torch.xlogy(x, x.flip(0)), lambda x: torch.div(x, x.flip(0), rounding_mode="floor"), lambda x: x.softmax(0),
        lambda x: x[2:].softmax(0), lambda x: x[2:3].expand(4).softmax(0), lambda x: x[1:].logsumexp(0), lambda x: x[2:3].expand(3).logsumexp(0),
        lambda x: x[2:].log_softmax(0), lambda x: F.max_pool1d(x[None], 3, 2), lambda x: x.bool(), lambda x: x.clamp(-1, 1)]),
    "activations": ((X,), [*ACTIVATIONS, F.gelu, lambda x: F.glu(x, dim=1), lambda x: F.prelu(x, torch.tensor([0.25, 0.5, 0.1, -1.0]))]),
    "arithmetic": ((X, Y, ROW), [
        lambda a, b, r: a + b, lambda a, b, r: torch.add(a, b, alpha=2), lambda a, b, r: torch.sub(a, r, alpha=0.5),
        lambda a, b, r: a * r, lambda a, b, r: a / r, lambda a, b, r: 1 - a, lambda a, b, r: 2.5 - a, lambda a, b, r: a - 1,
        lambda a, b, r: torch.rsub(a, b, alpha=3), lambda a, b, r: 1 / a, lambda a, b, r: a // b, lambda a, b, r: a % b,
        lambda a, b, r: a % 0.7, lambda a, b, r: a // 2, lambda a, b, r: torch.fmod(a, b), lambda a, b, r: torch.fmod(a, 0.3),
        lambda a, b, r: torch.div(a, b, rounding_mode="floor"), lambda a, b, r: torch.div(a, b, rounding_mode="trunc"),
        lambda a, b, r: torch.div(a, 3, rounding_mode="trunc"), lambda a, b, r: a ** 2, lambda a, b, r: a ** 3,
        lambda a, b, r: a.abs() ** 0.5, lambda a, b, r: a.abs() ** -0.5, lambda a, b, r: a ** -1, lambda a, b, r: a ** 4.0,
        lambda a, b, r: 2.0 ** a, lambda a, b, r: a.abs() ** b, lambda a, b, r: a ** 1, lambda a, b, r: a ** 0,
        lambda a, b, r: torch.maximum(a, r), lambda a, b, r: torch.minimum(a, b), lambda a, b, r: torch.max(a, b),
        lambda a, b, r: torch.atan2(a, b), lambda a, b, r: torch.hypot(a, b), lambda a, b, r: torch.copysign(a, b),
        lambda a, b, r: torch.xlogy(a.abs(), b.abs()), lambda a, b, r: torch.logaddexp(a, b), lambda a, b, r: torch.lerp(a, b, 0.3),
        lambda a, b, r: torch.lerp(a, b, 0.7), lambda a, b, r: torch.lerp(a, b, r), lambda a, b, r: torch.addcmul(a, b, r),
        lambda a, b, r: torch.addcmul(a, b, r, value=0.5), lambda a, b, r: torch.addcdiv(a, b, r, value=-2),
        lambda a, b, r: torch.ldexp(a, torch.tensor([1, 2, 3, -1, 0])), lambda a, b, r: torch.heaviside(a, r),
        lambda a, b, r: a[:1] + b[:, :1], lambda a, b, r: a.mT + b.mT,
        lambda a, b, r: F.mse_loss(a, b), lambda a, b, r: F.mse_loss(a, b, reduction="sum"), lambda a, b, r: F.l1_loss(a, b),
        lambda a, b, r: F.cosine_similarity(a, b), lambda a, b, r: F.cosine_similarity(a, r, dim=-1),
        lambda a, b, r: F.cosine_similarity(a, torch.zeros(5), dim=2, eps=1e-6), lambda a, b, r: F.pairwise_distance(a, b)]),
    "integers": ((INTS, MORE), [
        lambda a, b: a + b, lambda a, b: a - 1, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b,
        lambda a, b: a // 2, lambda a, b: a % 4, lambda a, b: torch.fmod(a, b), lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        lambda a, b: torch.div(a, b, rounding_mode="floor"), lambda a, b: a ** 2, lambda a, b: a ** 3, lambda a, b: -a,
        lambda a, b: a.abs(), lambda a, b: a.sign(), lambda a, b: a & b, lambda a, b: a | 3, lambda a, b: a ^ b, lambda a, b: ~a,
        lambda a, b: a << 2, lambda a, b: a >> 1, lambda a, b: a * 0.5, lambda a, b: a + True, lambda a, b: a.sqrt(),
        lambda a, b: a.float().exp(), lambda a, b: a.to(torch.uint8), lambda a, b: a.to(torch.int8) * 2, lambda a, b: a.bool(),
        lambda a, b: a.clamp(-2, 3), lambda a, b: a.clamp(min=0.5), lambda a, b: a.floor(), lambda a, b: a.to(torch.int32) + b,
        lambda a, b: torch.maximum(a, b), lambda a, b: a.sum(), lambda a, b: a.prod(2), lambda a, b: a.to(torch.int32).sum(1),
        lambda a, b: a.amax(1), lambda a, b: a.cumsum(1), lambda a, b: a.cumprod(2), lambda a, b: torch.sort(a, stable=True),
        lambda a, b: a.isinf(), lambda a, b: a.isfinite(), lambda a, b: torch.true_divide(a, 4)]),
    "logic": ((X, Y, MASK, INTS), [
        lambda a, b, m, i: a > b, lambda a, b, m, i: a >= 0.5, lambda a, b, m, i: a < b, lambda a, b, m, i: a <= 0,
        lambda a, b, m, i: i == 3, lambda a, b, m, i: i != 3, lambda a, b, m, i: i > 0.5, lambda a, b, m, i: m & (a > 0),
        lambda a, b, m, i: m | (a > 0), lambda a, b, m, i: m ^ (a > 0), lambda a, b, m, i: ~m, lambda a, b, m, i: m == (a > 0),
        lambda a, b, m, i: torch.logical_and(a, i), lambda a, b, m, i: torch.logical_or(m, i),
        lambda a, b, m, i: torch.logical_xor(m, i), lambda a, b, m, i: torch.logical_not(i), lambda a, b, m, i: torch.where(m, a, b),
        lambda a, b, m, i: torch.where(m, a, 0.0), lambda a, b, m, i: torch.where(m, 1, i), lambda a, b, m, i: torch.where(m, 0.5, 2.5),
        lambda a, b, m, i: torch.where(m[:1], a, b[:, :, :1]), lambda a, b, m, i: a.masked_fill(m, -1e9),
        lambda a, b, m, i: a.masked_fill(m[0], float("-inf")), lambda a, b, m, i: a.masked_fill(m, torch.tensor(2.0)),
        lambda a, b, m, i: m + m, lambda a, b, m, i: m * m, lambda a, b, m, i: m.sum(1), lambda a, b, m, i: m.float() * a,
        lambda a, b, m, i: m.any(), lambda a, b, m, i: m.all(dim=1), lambda a, b, m, i: i.any(dim=2, keepdim=True),
        lambda a, b, m, i: m.cumsum(-1), lambda a, b, m, i: torch.count_nonzero(i, dim=1), lambda a, b, m, i: m.long().argmax(-1)]),
    "reductions": ((X,), [
        torch.sum, torch.mean, torch.prod, torch.amax, torch.max, torch.min, torch.std, torch.var, torch.argmax, torch.argmin,
        lambda x: x.sum(1), lambda x: x.sum((0, 2), keepdim=True), lambda x: x.mean(-1, keepdim=True), lambda x: x.mean((1, 2)),
        lambda x: x.mean(0, dtype=torch.float64), lambda x: x.prod(1, keepdim=True), lambda x: x.amax((0, 1)), lambda x: x.amin(2),
        lambda x: x.max(dim=1), lambda x: x.min(dim=-1, keepdim=True), lambda x: torch.aminmax(x, dim=1), lambda x: x.std(1),
        lambda x: x.var((1, 2), unbiased=False), lambda x: x.var(2, correction=0, keepdim=True), lambda x: torch.std_mean(x, dim=1),
        lambda x: torch.var_mean(x, dim=(0, 1), correction=2), lambda x: x.logsumexp(1), lambda x: x.logsumexp((0, 2), keepdim=True),
        lambda x: torch.linalg.vector_norm(x, dim=-1), lambda x: torch.linalg.vector_norm(x, 1, (0, 1)),
        lambda x: torch.linalg.vector_norm(x, float("inf"), dim=1), lambda x: torch.linalg.vector_norm(x, 3, dim=1, keepdim=True),
        lambda x: torch.linalg.norm(x, dim=2), lambda x: x.norm(), lambda x: x.norm(dim=1), lambda x: x.norm(1, dim=0),
        lambda x: F.normalize(x, dim=1), lambda x: x.argmax(1), lambda x: x.argmin(-1, keepdim=True), lambda x: (x > 0).any(1),
        lambda x: x.cumsum(0), lambda x: x.cumprod(-1), lambda x: torch.diff(x, dim=1), lambda x: x.median(dim=1),
        lambda x: x.median(), lambda x: x.kthvalue(2, dim=1), lambda x: x.sum([]), lambda x: torch.norm(x, p=2, dim=1)]),
    "sorting": ((X,), [
        lambda x: x.topk(2), lambda x: x.topk(3, dim=1, largest=False), lambda x: x.sort(1), lambda x: x.sort(-1, descending=True),
        lambda x: x.argsort(0), lambda x: x.argsort(1, descending=True), lambda x: torch.histc(x, bins=7, min=-1, max=1),
        lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 0.5])), lambda x: torch.searchsorted(torch.tensor([-1.0, 0.5]), x)]),
    "softmax": ((X, MASK), [
        lambda x, m: x.softmax(-1), lambda x, m: x.softmax(0), lambda x, m: x.softmax(1, dtype=torch.float64),
        lambda x, m: x.log_softmax(-1), lambda x, m: F.softmin(x, 1), lambda x, m: x.masked_fill(m | (x > 0), float("-inf")).softmax(-1),
        lambda x, m: torch.special.softmax(x, 2), lambda x, m: x.logsumexp(-1)]),
    "casts": ((X * 3, INTS, MASK), [
        lambda x, i, m: x.to(torch.float64), lambda x, i, m: x.double() * 0.1, lambda x, i, m: x.to(torch.float16).float(),
        lambda x, i, m: x.bfloat16().float(), lambda x, i, m: x.to(torch.int32), lambda x, i, m: x.long(), lambda x, i, m: x.bool(),
        lambda x, i, m: i.float(), lambda x, i, m: m.int(), lambda x, i, m: i.type_as(x), lambda x, i, m: x.to(i.dtype),
        lambda x, i, m: (x.half() * 3 + x.half()).float(), lambda x, i, m: x.half().sum(1).float(),
        lambda x, i, m: x.bfloat16().softmax(-1).float(), lambda x, i, m: x.view(torch.int32)]),
}
