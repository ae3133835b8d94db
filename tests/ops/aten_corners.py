"""Corners of arguments and element types that PyTorch's own databases of operations show."""
import torch

from aten_movement import floats

F = torch.nn.functional
X, ROW, INTS, BYTES = floats(1, 2, 5), floats(5), torch.arange(-6, 6).reshape(3, 4), torch.arange(240, 252, dtype=torch.uint8).reshape(3, 4)

GROUPS = {
    # Borders of reflected or repeated elements around what negative sizes leave: also of elements that they take away.
    "frames": ((X,), [lambda x, p=p, mode=mode: F.pad(x, p, mode=mode) for mode in ("reflect", "replicate")
                      for p in ((-3, 3), (3, -3), (-4, 4), (-5, 4), (4, -5), (-1, 2), (-2, 0))]),
    "integers": ((INTS, BYTES), [
        lambda i, u: F.threshold(i, -2, 7), lambda i, u: F.threshold(u, 244, 3), lambda i, u: F.pairwise_distance(i, i + 2),
        lambda i, u: F.pairwise_distance(i, i * 2, p=1.0), lambda i, u: torch.einsum("ij->", u), lambda i, u: torch.einsum("ij->i", u),
        lambda i, u: torch.einsum("ij->ij", u) + 1]),
    "flags": ((INTS > 0, INTS[0] > -5), [lambda a, b: torch.outer(a[1], b), lambda a, b: torch.kron(a, b), lambda a, b: torch.clamp_min(a, b), lambda a, b: torch.clamp_max(a, b),
                                               lambda a, b: a.cummax(1), lambda a, b: a.cummin(0), *[lambda a, b, alpha=alpha: a.index_add(0, torch.tensor([2, 0, 2]), a, alpha=alpha) for alpha in (True, False, 2)],
                                               *[lambda a, b, k=k: torch.addr(a, a[:, 1], b, **k) for k in ({}, {"beta": 0}, {"beta": 3, "alpha": 0}, {"alpha": 256})],
                                               lambda a, b: a.scatter_add(0, a.long(), ~a), lambda a, b: a.scatter_reduce(0, a.long(), ~a, "prod"), lambda a, b: a.scatter_reduce(1, a.long(), a, "amax", include_self=False)]),
    "numbers": ((floats(3)[0], floats(4)[1]), [lambda a, b: F.cosine_similarity(a, b, dim=0), lambda a, b: F.cosine_similarity(a, b, dim=-1)]),
    "nothing": ((ROW, torch.zeros(2, 0, dtype=torch.int64)), [lambda x, i: x.gather(0, i), lambda x, i: F.batch_norm(x[:0], x[:0], x[:0], training=False)]),
    "doubles": ((floats(2, 3, 4).double(), floats(3).double(), floats(3).double().abs() + 1), [
        lambda x, m, v: torch.ops.aten.native_batch_norm.default(x, None, None, m, v, False, 0.1, 1e-5),
        lambda x, m, v: torch.ops.aten._native_batch_norm_legit.default(x, v, m, m.clone(), v.clone(), False, 0.1, 1e-5)]),
}
