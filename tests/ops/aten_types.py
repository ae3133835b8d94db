"""Narrow and wide element types: numbers beside f16 and bf16 tensors, steps inside one operation, integers that wrap, integers
beyond 2^53 and doubles with all of their digits. Results of bf16 are compared as f32, which NumPy has."""
import numpy as np
import torch

F = torch.nn.functional


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


HALF = torch.tensor([0.5, 100.0, -60000.0, 300.0, -0.6015625, 0.0, 1e-7, 2047.0]).half()
OTHER = torch.tensor([3.0, -0.25, 7.5, 1e-3, 0.3, 40000.0, -2.0, 1.5]).half()
MATRIX = (floats(4, 6) * 100).half()
BYTES, SHORTS = torch.tensor([5, 6, 250], dtype=torch.uint8), torch.tensor([5, -6, 32767], dtype=torch.int16)
LONGS = torch.tensor([0, 2**53, 2**53 + 3, -(2**60) - 1, 7])
DOUBLES = torch.tensor([0.1, -0.7, 1.0 / 3.0, 4.0, -1e-3], dtype=torch.float64)
SQUARE = torch.arange(9.0, dtype=torch.float64).view(3, 3) / 7
POSITIONS = torch.tensor([0, 2, 2])

NUMBERS = [
    lambda h, o: h * 1e5, lambda h, o: h / 1e5, lambda h, o: h * 1e-7 * 1e4, lambda h, o: h // 0.3, lambda h, o: 1e-3 * h,
    lambda h, o: torch.div(h, 0.3, rounding_mode="trunc"), lambda h, o: h + 0.1, lambda h, o: 0.1 - h, lambda h, o: h % 0.3,
    lambda h, o: torch.fmod(h, 0.3), lambda h, o: torch.add(h, o, alpha=0.3), lambda h, o: torch.sub(h, o, alpha=300),
    lambda h, o: h.clamp(-0.3, 0.1), lambda h, o: h.abs() ** 0.3, lambda h, o: h < 0.1, lambda h, o: h * 3, lambda h, o: h / 70000,
    lambda h, o: h * torch.tensor(1e5), lambda h, o: torch.where(h > 0, h, 0.1)]
STEPS = [
    lambda h, o: torch.addcmul(h, o, h, value=0.1), lambda h, o: torch.addcdiv(h, o, h + 1, value=1e5), lambda h, o: torch.lerp(h, o, 0.3),
    lambda h, o: torch.lerp(h, o, o), lambda h, o: (h / 300)**3, lambda h, o: F.glu(h), lambda h, o: torch.round(h, decimals=2),
    lambda h, o: torch.ldexp(h, torch.tensor([17, 20, -3, 0, 2, 1, 20, 3])), lambda h, o: torch.rsub(h, o, alpha=3)]

GROUPS = {
    "numbers": ((HALF, OTHER), NUMBERS),
    "numbers_bf16": ((HALF, OTHER), [lambda h, o, f=f: f(h.bfloat16(), o.bfloat16()).float() for f in NUMBERS]),
    "steps": ((HALF, OTHER), STEPS),
    "norms": ((MATRIX,), [
        lambda x: x.norm(p=6, dim=1), lambda x: x.norm(p=3), lambda x: x.norm(p=0.5, dim=0) / 4, lambda x: torch.linalg.vector_norm(x, 4, dim=1),
        lambda x: x.bfloat16().norm(p=6, dim=1).float(), lambda x: torch.addmm(x[:, :4], x / 100, x.t() / 100, beta=0.1, alpha=1e-3),
        lambda x: torch.baddbmm(x[None, :, :4], x[None], x.t()[None], beta=0.3, alpha=1e-5)]),
    "wrapping": ((BYTES, SHORTS), [
        lambda u, s: torch.add(u, u, alpha=-3), lambda u, s: torch.sub(u, u, alpha=-3), lambda u, s: torch.rsub(u, u, alpha=-2),
        lambda u, s: u.index_add(0, torch.tensor([0]), u[:1], alpha=-1), lambda u, s: torch.add(u, -3), lambda u, s: u * -2,
        lambda u, s: torch.add(s, s, alpha=-700), lambda u, s: u.clamp(min=7), lambda u, s: u.clamp(max=30),
        lambda u, s: torch.addcmul(s, s, s, value=-3), lambda u, s: u - 300 * u]),
    "longs": ((LONGS,), [
        lambda x: x.clamp(min=2**53 + 1), lambda x: x.clamp(max=2**53 + 1), lambda x: x.clamp(-(2**60) + 1, 2**53 + 1),
        lambda x: F.pad(x, (1, 2), value=2**24 + 1), lambda x: F.pad(x, (1, 0), value=-(2**61) - 1), lambda x: x.to(torch.int32).clamp(max=2**24 + 1),
        lambda x: x.masked_fill(x > 0, 2**62 + 1), lambda x: torch.full_like(x, 2**53 + 1), lambda x: x.clamp(2**53 + 3, 2**53 + 1),
        lambda x: x.scatter(0, torch.tensor([1]), 2**53 + 1), lambda x: torch.add(x, x, alpha=2**53 + 1), lambda x: x + (2**53 + 1)]),
    "doubles": ((DOUBLES, SQUARE), [
        lambda d, q: d.clamp(-0.1, 0.3), lambda d, q: d.clamp(min=0.7), lambda d, q: F.pad(d, (1, 1), value=0.1), lambda d, q: F.hardtanh(d, -0.3, 0.7),
        lambda d, q: torch.full((2,), 0.1, dtype=torch.float64) + d[:2], lambda d, q: torch.full_like(d, 0.1), lambda d, q: d.new_full((2,), 0.7),
        lambda d, q: d.masked_fill(d > 0, 0.1), lambda d, q: d.scatter(0, torch.tensor([1]), 0.1), lambda d, q: (d * 1).fill_(0.1),
        lambda d, q: d.index_fill(0, torch.tensor([1]), 0.1), lambda d, q: torch.where(d > 0, d, 0.1), lambda d, q: torch.scalar_tensor(0.1, dtype=torch.float64),
        lambda d, q: q.clone().fill_diagonal_(0.1), lambda d, q: F.leaky_relu(d, 0.1), lambda d, q: F.elu(d, 0.3), lambda d, q: F.threshold(d, 0.1, 0.7),
        lambda d, q: F.softshrink(d, 0.1), lambda d, q: F.selu(d), lambda d, q: F.hardsigmoid(d), lambda d, q: torch.add(d, d, alpha=0.1),
        lambda d, q: d.lerp(d.flip(0), 0.1), lambda d, q: torch.addcmul(d, d, d, value=0.1), lambda d, q: d.norm(p=3), lambda d, q: torch.logit(d, 0.1),
        lambda d, q: d.index_put((torch.tensor([1]),), torch.tensor(0.1, dtype=torch.float64)), lambda d, q: d.nan_to_num(0.1), lambda d, q: F.softplus(d, 0.3)]),
    "integer_means": ((torch.tensor([-5, 4, -7]), torch.tensor([-2, -4, 9])), [
        lambda x, y: x.scatter_reduce(0, POSITIONS, y, "mean"), lambda x, y: x.scatter_reduce(0, POSITIONS, y, "mean", include_self=False),
        lambda x, y: x.int().scatter_reduce(0, POSITIONS, y.int(), "mean")]),
}
