"""Aliases, overloads and copies of operations that the other tables do not contain: rows that a program calls by name, so that
every import row is compared with PyTorch."""
import numpy as np
import torch

F = torch.nn.functional
aten = torch.ops.aten


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def ints(low, high, *shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(low, high, size=shape))


X, Y, ROW = floats(3, 4, 5), floats(3, 4, 5, seed=1), floats(5, seed=2)
UNIT = torch.sigmoid(floats(3, 4, 5, seed=3))
I, J = ints(-9, 9, 3, 4, 5), ints(1, 5, 5, seed=1)
LINE, IMAGE, VOLUME = floats(2, 4, 9), floats(2, 4, 5, 6), floats(2, 4, 4, 5, 6)
MEAN, SCALE = floats(4, seed=3), floats(4, seed=4).abs() + 0.5
HEADS = floats(2, 4, 5, 8)
FLOAT64 = {"dtype": torch.float64}


def equal_in_part(a, b):
    return torch.where(a > 0, a, b)


def running(image, mean, scale, norm):
    """Normalised by given statistics; these after it, since some forms may write them."""
    m, v = mean * 1, scale * 1
    return norm(image, scale, mean, m, v, False, 0.1, 0.3)[0], m, v


def on_gpu(there, here):
    """There, in the exported program: operations that only other devices have. Here, what they compute."""
    return lambda *args, **kwargs: there(*args, **kwargs)[0] if torch.compiler.is_exporting() else here(*args, **kwargs)


def attention(q, k, v, mask, _, dropout=0.0, is_causal=False, scale=None):
    return F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal, scale=scale)


def diagonal_filled(x):
    return x.clone().fill_diagonal_(7.0), x.repeat(3, 1).fill_diagonal_(-1.5, wrap=True)


def through(view):
    """What a tensor is after its view was changed."""
    def changed(x, y):
        z = x * 1
        view(z).mul_(y.flatten()[0])
        return z
    return changed


GROUPS = {
    "functions": ((X, UNIT), [
        *[lambda x, u, f=f: f(x) for f in (
            aten.absolute.default, aten.negative.default, aten.fix.default, aten.arctan.default, aten.special_digamma.default,
            aten.special_erf.default, aten.special_expit.default, aten.special_gammaln.default, aten.special_sinc.default,
            aten.alias_copy.default, aten.detach_copy.default, aten.conj.default,
            aten.resolve_conj.default, aten.resolve_neg.default, aten.ravel.default, aten.mH.default, aten.flipud.default,
            aten.std.default, aten.var.default, aten.std_mean.default, aten.var_mean.default, aten.norm.Scalar, aten.atleast_1d.default)],
        lambda x, u: aten.log_sigmoid_forward.default(x)[0], lambda x, u: aten.arccos.default(u), lambda x, u: aten.arcsin.default(u), lambda x, u: aten.special_logit.default(u),
        lambda x, u: aten.special_logit.default(u, 0.3), lambda x, u: [f(x[(0,) * n]) for f in (aten.atleast_1d.default, torch.atleast_2d, torch.atleast_3d) for n in range(4)],
        lambda x, u: aten._prelu_kernel.default(x, u[:1, :, :1]), lambda x, u: aten._safe_softmax.default(x.masked_fill(x < u, -torch.inf), -1),
        lambda x, u: aten._safe_softmax.default(x.masked_fill(x[:, :1] < 0, -torch.inf), 1, torch.float64),
        lambda x, u: aten.special_log_softmax.default(x, 1), lambda x, u: aten.special_log_softmax.default(x, -1, **FLOAT64),
        lambda x, u: aten.alpha_dropout.default(x, 0.3, False), lambda x, u: aten.feature_alpha_dropout.default(x, 0.3, False),
        lambda x, u: aten.native_dropout.default(x, 0.3, False), lambda x, u: aten.requires_grad_.default(x.clone(), False) * 2]),
    "pairs": ((X, Y, ROW), [
        *[lambda a, b, r, f=f: (f(a, equal_in_part(a, b)), f(a, r)) for f in (
            aten.greater.Tensor, aten.greater_equal.Tensor, aten.less.Tensor, aten.less_equal.Tensor, aten.not_equal.Tensor, aten.ne.Tensor,
            aten.clamp_max.Tensor, aten.clamp_min.Tensor, aten.divide.Tensor, aten.subtract.Tensor, aten.arctan2.default)],
        *[lambda a, b, r, f=f: (f(a, 0.4), f((a * 4).round(), -1), f((a * 4).long(), 2)) for f in (
            aten.greater.Scalar, aten.greater_equal.Scalar, aten.less.Scalar, aten.less_equal.Scalar, aten.not_equal.Scalar,
            aten.clamp_max.default, aten.div.Scalar, aten.divide.Scalar, aten.true_divide.Scalar, aten.multiply.Scalar, aten.sub.Scalar,
            aten.subtract.Scalar, aten.floor_divide.Scalar, aten.copysign.Scalar)],
        *[lambda a, b, r, f=f: (f(a, 0.7, rounding_mode=None), f(a, -0.7, rounding_mode="floor"), f((a * 9).int(), 4, rounding_mode="trunc"))
          for f in (aten.div.Scalar_mode, aten.divide.Scalar_mode)],
        *[lambda a, b, r, m=m: (aten.divide.Tensor_mode(a, r, rounding_mode=m), aten.divide.Tensor_mode((a * 9).int(), 4 - a.int(), rounding_mode=m))
          for m in (None, "floor", "trunc")],
        lambda a, b, r: aten.sub.Scalar(a, 3, 0.5), lambda a, b, r: aten.subtract.Scalar(a, 3, 0.5),
        lambda a, b, r: aten.subtract.Tensor(a, r, alpha=0.25), lambda a, b, r: aten.copysign.Scalar(a, -0.0),
        lambda a, b, r: aten.clip.Tensor(a, r - 0.5, r + 0.5), lambda a, b, r: aten.clip.Tensor(a, None, b), lambda a, b, r: aten.clip.Tensor(a, b),
        lambda a, b, r: aten.xlogy.Scalar_Other(a, 2.5), lambda a, b, r: aten.xlogy.Scalar_Self(2, b.abs()),
        lambda a, b, r: aten.xlogy.Scalar_Self(0, b.relu())]),
    "bits": ((I, J), [
        *[lambda i, j, f=f: (f(i, 6), f(i.to(torch.uint8), 12), f(i > 0, True)) for f in (
            aten.__and__.Scalar, aten.__xor__.Scalar, aten.bitwise_and.Scalar, aten.bitwise_xor.Scalar)],
        *[lambda i, j, f=f: (f(i, j), f(i.to(torch.int32), j.int())) for f in (
            aten.__lshift__.Tensor, aten.__rshift__.Tensor, aten.bitwise_left_shift.Tensor, aten.bitwise_right_shift.Tensor)],
        *[lambda i, j, f=f: (f(i, 2), f(i.to(torch.int8), 3)) for f in (aten.bitwise_left_shift.Tensor_Scalar, aten.bitwise_right_shift.Tensor_Scalar)],
        lambda i, j: aten.all.default(i), lambda i, j: aten.all.default(j), lambda i, j: aten._is_any_true.default(i > 8),
        lambda i, j: aten._is_any_true.default(i > 7), lambda i, j: aten.all.dims(i, [0, -1]), lambda i, j: aten.all.dims(i < 7, [1, 2], True),
        lambda i, j: aten.all.dims(i), lambda i, j: aten.count_nonzero.dim_IntList(i, [0, -1]), lambda i, j: aten.count_nonzero.dim_IntList(i > 2, [1])]),
    "reductions": ((X,), [
        lambda x: aten.std.default(x, False), lambda x: aten.var.default(x, False), lambda x: aten.std_mean.default(x, False),
        lambda x: aten.var_mean.default(x, False), lambda x: aten.var_mean.dim(x, [0, -1], False, True), lambda x: aten.var_mean.dim(x, [1]),
        lambda x: aten.std_mean.correction(x, [0, -1], correction=2, keepdim=True), lambda x: aten.std_mean.correction(x),
        lambda x: aten.special_logsumexp.default(x, [0, -1], True), lambda x: aten.special_logsumexp.default(x, [1]),
        *[lambda x, p=p: aten.norm.Scalar(x, p) for p in (0, 1, 3, -2, float("inf"), -float("inf"))],
        lambda x: aten.norm.ScalarOpt_dim(x, None, [1]), lambda x: aten.norm.ScalarOpt_dim(x, 3, [0, -1], True),
        lambda x: aten.norm.ScalarOpt_dim(x, 0.5, [-1]), lambda x: aten.norm.ScalarOpt_dim_dtype(x, 1, [0, 2], True, **FLOAT64),
        lambda x: aten.norm.ScalarOpt_dim_dtype(x, None, [1], False, **FLOAT64), lambda x: aten.norm.ScalarOpt_dtype(x, 3, **FLOAT64),
        lambda x: aten.norm.ScalarOpt_dtype(x, None, **FLOAT64), lambda x: aten.argsort.stable(x.round(), stable=True, dim=1),
        lambda x: aten.argsort.stable((x * 2).int(), stable=True, dim=0, descending=True),
        lambda x: aten.bucketize.Scalar(0.5, x[0, 0].sort()[0]), lambda x: aten.bucketize.Scalar(2, torch.arange(5), right=True, out_int32=True),
        lambda x: aten.searchsorted.Scalar(x[0, 0].sort()[0], 0.1), lambda x: aten.searchsorted.Scalar(torch.arange(5), 2, side="right"),
        lambda x: torch.searchsorted(x.sort(-1)[0], x.flip(0)[..., :3].contiguous()), lambda x: torch.searchsorted(x, x.round(), side="right", sorter=x.argsort(-1)),
        lambda x: aten.searchsorted.Scalar(torch.tensor([3, 1, 2, 0]), 2, right=True, sorter=torch.tensor([3, 1, 2, 0]), out_int32=True)]),
    "views": ((X, Y), [
        lambda x, y: aten.expand_copy.default(x[:, :1], [2, -1, 4, 5]), lambda x, y: aten.permute_copy.default(x, [2, 0, -2]),
        lambda x, y: aten.transpose_copy.int(x, 0, -1), lambda x, y: aten.t_copy.default(x[0]), lambda x, y: aten.t_copy.default(x[0, 0]),
        lambda x, y: aten.select_copy.int(x, -2, -1), lambda x, y: aten.slice_copy.Tensor(x, -1, 1, 100, 2), lambda x, y: aten.slice_copy.Tensor(x),
        lambda x, y: aten.narrow_copy.default(x, -1, 1, 3), lambda x, y: aten.unfold_copy.default(x, 1, 3, 1),
        lambda x, y: aten.diagonal_copy.default(x, -1, -1, 0), lambda x, y: aten.unbind_copy.int(x, -2),
        lambda x, y: aten.split_with_sizes_copy.default(x, [1, 3, 1], -1), lambda x, y: aten.split.sizes(x, [1, 2, 1], 1),
        lambda x, y: aten.as_strided_copy.default(x, [2, 3], [7, 2], 5), lambda x, y: aten.as_strided_copy.default(x, [4, 2, 2], [1, 0, 3]),
        lambda x, y: aten.as_strided_scatter.default(x, y[0, :2, :3], [2, 3], [7, 2], 5),
        lambda x, y: aten.as_strided_scatter.default(x, y[0], [4, 5], [1, 4]), lambda x, y: aten.moveaxis.int(x, 0, -1),
        lambda x, y: aten.moveaxis.intlist(x, [0, -1], [1, 0]), lambda x, y: aten.swapdims.default(x, 0, -1),
        lambda x, y: aten.squeeze.default(x[:1, :, :1]), lambda x, y: aten._unsafe_view.default(x, [4, -1]),
        lambda x, y: aten.view_as.default(x, y.reshape(5, 12)), lambda x, y: aten.to.other(x, y.long()), lambda x, y: aten.to.other(x.int(), y),
        lambda x, y: torch.ops.prims.convert_element_type.default(x * 9, torch.int8),
        lambda x, y: aten.concatenate.default([x, y[:, :2]], -2), lambda x, y: aten.row_stack.default([x[0], y[1]]),
        lambda x, y: aten.row_stack.default([x[0, 0], y[0, 1]]), lambda x, y: aten.meshgrid.default([x[0, 0], y[0, :, 0]]),
        *[lambda x, y, f=f: [f([x[(0,) * n], y[(1,) * n]]) for n in range(4)] for f in (torch.hstack, torch.vstack, torch.dstack, torch.column_stack)],
        lambda x, y: aten.native_channel_shuffle.default(x[:, :, None], 2), lambda x, y: diagonal_filled(x[0])]),
    "written": ((X, Y), [through(view) for view in (
        aten.conj.default, aten.resolve_conj.default, aten.resolve_neg.default, torch.positive, lambda x: aten.requires_grad_.default(x, False),
        lambda x: aten.alpha_dropout.default(x, 0.3, False), lambda x: aten.feature_alpha_dropout.default(x, 0.3, False), lambda x: x[0].mH,
        lambda x: x[:, 1:3].adjoint(), lambda x: aten.swapdims.default(x, 0, -1)[1], lambda x: x.tensor_split(3, 1)[1],
        lambda x: x.tensor_split((1, 3), -1)[2], lambda x: aten.split.sizes(x, [1, 2, 1], 1)[1], lambda x: x[0].ravel()[3:],
        lambda x: aten.view_as.default(x, torch.zeros(5, 12))[2], lambda x: aten.to.other(x, torch.zeros(1))[0], lambda x: x[:1].squeeze()[2],
        lambda x: aten.atleast_1d.default(x)[1], lambda x: torch.atleast_3d(x[0])[1], lambda x: x.diagonal(-1, -1, 0), lambda x: x.unflatten(1, (2, 2))[:, 1],
        lambda x: torch.broadcast_tensors(x[0, 0], x)[1][2])]),
    "picks": ((X, I % 4, J - 1), [
        lambda x, i, j: aten._unsafe_index.Tensor(x, [None, j, j]), lambda x, i, j: aten._unsafe_index.Tensor(x, [j[:1], None, j]),
        lambda x, i, j: aten._unsafe_index_put.default(x, [None, j[:2]], x[0, 0, 0]),
        lambda x, i, j: aten._unsafe_index_put.default(x, [None, j], x[:, :1], True),
        lambda x, i, j: aten._index_put_impl.default(x, [None, j], x[:, :1], True, True),
        lambda x, i, j: aten.index_fill.int_Tensor(x, -1, j[:2], x[0, 0, 0]), lambda x, i, j: aten.scatter.value_reduce(x, 1, i, 2.5, reduce="add"),
        lambda x, i, j: aten.scatter.value_reduce(x, 1, i[:, :2], -2, reduce="multiply")]),
    "bags": ((floats(6, 4), torch.tensor([2, 0, 5, 5, 1, 3, 2]), torch.tensor([0, 3, 3, 5]), floats(7, seed=1)), [
        *[lambda w, i, o, s, m=m: (aten.embedding_bag.default(w, i, o, False, m)[0], aten._embedding_bag.default(w, i, o, False, m)[0]) for m in (0, 1, 2)],
        lambda w, i, o, s: aten.embedding_bag.default(w, i, o, False, 0, False, s)[0],
        lambda w, i, o, s: aten._embedding_bag.default(w, i, o, False, 0, False, s, True)[0]]),
    "products": ((X, Y, floats(6, 4, 5), ROW), [
        lambda x, y, w, r: aten.addmv.default(x[0, :, 0], y[0], r, beta=0.5, alpha=-2), lambda x, y, w, r: aten.addmv.default(r[0], y[0], r),
        lambda x, y, w, r: aten.ger.default(r, x[0, :, 1]), lambda x, y, w, r: aten.vdot.default(r, x[0, 0]),
        lambda x, y, w, r: aten.inner.default(x, y[0]), lambda x, y, w, r: aten.inner.default(x, r), lambda x, y, w, r: aten.inner.default(x, r[1]),
        lambda x, y, w, r: aten.linalg_matmul.default(x, y.mT), lambda x, y, w, r: aten.linalg_matmul.default(x, r),
        lambda x, y, w, r: aten.linalg_multi_dot.default([x[0], y[0].mT, w[0], r]), lambda x, y, w, r: aten.linalg_multi_dot.default([r, x[0].mT, y[0]]),
        lambda x, y, w, r: aten.bilinear.default(x[:, :, :4], y, w, x[0, 0, 0].expand(6)), lambda x, y, w, r: aten.bilinear.default(x[0, :, :4], y[0], w),
        lambda x, y, w, r: aten._trilinear.default(x, y, w[:3], [], [], [], [1]),
        lambda x, y, w, r: aten._trilinear.default(x[0], y[:, 0], w[0, :, :], [1], [0], [1], [2, 0]),
        lambda x, y, w, r: aten.rnn_relu_cell.default(x[0], y[0], w[0, 0].diag(), w[1, :, :].mT @ w[1], r, r * 2)]),
    "convolutions": ((LINE, IMAGE, VOLUME, floats(6, 2, 3, 2, seed=3), floats(4, 3, 2, 3, 2, seed=5), floats(6, seed=6)), [
        lambda l, i, v, w, u, b: aten._convolution.default(i, w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 2, False, False, True, True),
        lambda l, i, v, w, u, b: aten._convolution.default(i, w[:4], None, [2, 1], [1, 0], [1, 1], True, [1, 0], 2, False, False, True, True),
        lambda l, i, v, w, u, b: aten._convolution.deprecated(i, w, None, [1, 2], [1, 1], [1, 1], False, [0, 0], 2, False, False, True),
        lambda l, i, v, w, u, b: aten.conv3d.padding(v, u.transpose(0, 1), b[:3], [1, 1, 1], "same"),
        lambda l, i, v, w, u, b: aten.conv3d.padding(v, u.transpose(0, 1), None, [1, 2, 1], "valid"),
        lambda l, i, v, w, u, b: aten.conv_transpose3d.input(v, u, b[:3], [1, 2, 1], [0, 1, 1], [0, 1, 0]),
        lambda l, i, v, w, u, b: aten.adaptive_avg_pool3d.default(v, [3, 1, 4]), lambda l, i, v, w, u, b: aten._adaptive_avg_pool3d.default(v, [2, 3, 6]),
        lambda l, i, v, w, u, b: aten.adaptive_max_pool1d.default(l, [4]), lambda l, i, v, w, u, b: aten.adaptive_max_pool3d.default(v, [2, 3, 4]),
        lambda l, i, v, w, u, b: aten.max_pool1d_with_indices.default(l, [3], [2], [1], [2], True),
        lambda l, i, v, w, u, b: aten.max_unpool3d.default(*F.max_pool3d(v, 2, return_indices=True), [4, 5, 6], [2, 2, 2], [0, 0, 0])]),
    "norms": ((X, IMAGE, MEAN, SCALE, ROW), [
        lambda x, i, m, s, r: aten._fused_rms_norm.default(x, [5], r, 1e-3), lambda x, i, m, s, r: aten._fused_rms_norm.default(x, [4, 5], x[0], None),
        lambda x, i, m, s, r: aten._weight_norm_interface.default(x, s[:3, None, None], 0),
        lambda x, i, m, s, r: aten._weight_norm_interface.default(x, r[None, None], 2),
        *[lambda x, i, m, s, r, f=f: running(i, m, s, f) for f in (
            aten._native_batch_norm_legit.default, aten.native_batch_norm.default, aten._native_batch_norm_legit_functional.default)],
        lambda x, i, m, s, r: aten._native_batch_norm_legit_functional.default(i, s, m, m, s, False, 0.1, 0.3)[3:],
        lambda x, i, m, s, r: on_gpu(aten.cudnn_batch_norm.default, lambda i, s, m, *a: F.batch_norm(i, m, s, s, m, eps=0.3))(i, s, m, m, s, False, 0.1, 0.3)]),
    "frames": ((LINE, IMAGE, VOLUME), [
        lambda l, i, v: aten.reflection_pad1d.default(l, [3, 1]), lambda l, i, v: aten.replication_pad1d.default(l, [3, 1]),
        lambda l, i, v: aten.reflection_pad2d.default(i, [2, 1, 0, 3]), lambda l, i, v: aten.replication_pad2d.default(i, [2, 1, 0, 3]),
        lambda l, i, v: aten.reflection_pad3d.default(v, [2, 1, 0, 3, 1, 0]), lambda l, i, v: aten.replication_pad3d.default(v, [2, 1, 0, 3, 1, 0])]),
    "sizes": ((LINE, IMAGE, VOLUME), [
        *[lambda l, i, v, f=f: (f(l, [14]), f(l, [14], 1.6), f(l, [5])) for f in (aten.upsample_nearest1d.default, aten._upsample_nearest_exact1d.default)],
        *[lambda l, i, v, f=f: (f(i, [7, 11]), f(i, [7, 11], 1.5, 1.9), f(i, [3, 9])) for f in (
            aten.upsample_nearest2d.default, aten._upsample_nearest_exact2d.default)],
        *[lambda l, i, v, f=f: (f(v, [3, 7, 11]), f(v, [5, 7, 11], 1.3, 1.5, 1.9)) for f in (
            aten.upsample_nearest3d.default, aten._upsample_nearest_exact3d.default)],
        lambda l, i, v: F.interpolate(l, scale_factor=1.6, mode="nearest-exact"), lambda l, i, v: F.interpolate(v, size=(3, 7, 11), mode="nearest-exact"),
        *[lambda l, i, v, c=c: (
            aten.upsample_linear1d.default(l, [14], c), aten.upsample_linear1d.default(l, [14], c, 1.6), aten.upsample_bilinear2d.default(i, [7, 4], c),
            aten.upsample_bilinear2d.default(i, [7, 11], c, 1.5, 1.9), aten.upsample_bicubic2d.default(i, [7, 4], c),
            aten.upsample_bicubic2d.default(i, [7, 11], c, 1.5, 1.9), aten.upsample_trilinear3d.default(v, [3, 7, 11], c),
            aten.upsample_trilinear3d.default(v, [5, 7, 11], c, 1.3, 1.5, 1.9)) for c in (False, True)]]),
    "fake": ((X,), [
        lambda x: torch.fake_quantize_per_tensor_affine(x, 0.037, 5, 0, 255),
        lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor([0.037]), torch.tensor([5], dtype=torch.int32), -8, 7),
        lambda x: torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.02, 0.3, 0.04]), torch.tensor([0, 3, -4, 1]).int(), 1, -128, 127)]),
    "makes": ((X,), [
        lambda x: aten.hamming_window.default(7), lambda x: aten.hamming_window.default(8, **FLOAT64), lambda x: aten.hamming_window.periodic(7, False),
        lambda x: aten.hann_window.periodic(7, False), lambda x: aten.hann_window.periodic(6, True, **FLOAT64),
        lambda x: aten.new_empty.default(x, [2, 3]).fill_(2.5), lambda x: aten.new_empty_strided.default(x, [2, 3], [1, 2], dtype=torch.int64).fill_(4),
        lambda x: aten.empty_strided.default([3, 2], [2, 1]).copy_(x[0, :3, :2]),
        lambda x: aten.nonzero.default(torch.tensor([[1, 0, -2], [0, 0, 3]])), lambda x: x[0].flatten()[torch.tensor([0, 0, 3, 1]).nonzero()]]),
    "attention": ((HEADS, HEADS * 0.5, HEADS.flip(2), floats(2, 1, 5, 5, seed=4)), [
        *[lambda q, k, v, m, c=c: (
            aten._scaled_dot_product_attention_math.default(q, k, v, is_causal=c)[0],
            aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, c)[0]) for c in (False, True)],
        lambda q, k, v, m: aten._scaled_dot_product_attention_math.default(q, k[:, :2], v[:, :2], m, scale=0.3, enable_gqa=True)[0],
        lambda q, k, v, m: aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, attn_mask=m, scale=0.3)[0],
        *[lambda q, k, v, m, f=on_gpu(f, attention): (f(q, k, v, None, False, 0.0, True), f(q, k, v, m.expand(2, 4, 5, 5), False, scale=0.3))
          for f in (aten._scaled_dot_product_efficient_attention.default, aten._scaled_dot_product_cudnn_attention.default)],
        lambda q, k, v, m: on_gpu(aten._scaled_dot_product_flash_attention.default, lambda *a, **n: attention(*a[:3], None, None, *a[3:], **n))(
            q, k, v, 0.0, True, scale=0.3),
        lambda q, k, v, m: on_gpu(aten._scaled_dot_product_fused_attention_overrideable.default, lambda *a, **n: attention(*a, None, **n))(
            q, k, v, m.expand(2, 4, 5, 5), scale=0.3)]),
}
