"""Products, convolutions, pools, norms, attention and recurrent layers against PyTorch, with the argument patterns exports
contain."""
import numpy as np
import torch

F = torch.nn.functional
aten = torch.ops.aten


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def positive(*shape, seed=0):
    return floats(*shape, seed=seed).abs() + 0.5


ROWS, MATRIX, BATCH = floats(4, 6), floats(6, 5, seed=1), floats(2, 4, 6, seed=2)
LINE, IMAGE, VOLUME = floats(2, 4, 9), floats(2, 4, 8, 7), floats(1, 4, 5, 6, 4)
HEADS = floats(2, 4, 5, 8)
MASK = torch.from_numpy(np.random.default_rng(9).random((2, 1, 5, 5)) > 0.4) | torch.eye(5, dtype=torch.bool)

GROUPS = {
    "products": ((ROWS, MATRIX, BATCH), [
        lambda a, b, x: F.linear(x, b.t()), lambda a, b, x: F.linear(a, b.t(), b[0]), lambda a, b, x: F.linear(a[0], b.t()),
        lambda a, b, x: a @ b, lambda a, b, x: x @ b, lambda a, b, x: x @ x.transpose(1, 2), lambda a, b, x: a[0] @ b,
        lambda a, b, x: a @ b[:, 0], lambda a, b, x: a[0] @ b[:, 0], lambda a, b, x: torch.mm(a, b),
        lambda a, b, x: torch.bmm(x, x.mT), lambda a, b, x: torch.addmm(b[0], a, b),
        lambda a, b, x: torch.addmm(a[:, :5], a, b, beta=0.5, alpha=2), lambda a, b, x: torch.addmm(b[0], a, b, beta=0),
        lambda a, b, x: torch.baddbmm(x[:, :, :4], x, x.mT, beta=0.25, alpha=0.5), lambda a, b, x: torch.outer(a[0], b[0]),
        lambda a, b, x: torch.einsum("ij,jk->ik", a, b), lambda a, b, x: torch.einsum("bij,jk->bik", x, b),
        lambda a, b, x: torch.einsum("bij,bkj->bik", x, x), lambda a, b, x: torch.einsum("bij->bj", x),
        lambda a, b, x: torch.einsum("i,j->ij", a[0], b[0]), lambda a, b, x: torch.einsum("ii->i", a[:, :4]),
        lambda a, b, x: torch.dot(a[0], a[1]), lambda a, b, x: torch.mv(a, b[:, 1]),
        lambda a, b, x: torch.tensordot(x, b, dims=([2], [0]))]),
    "convolutions": ((LINE, IMAGE, VOLUME, floats(6, 4, 3, 3, seed=3), floats(8, 2, 3, 2, seed=4), floats(4, 1, 3, 3, seed=5),
                      floats(6, seed=6), floats(5, 4, 3, seed=7), floats(3, 4, 2, 3, 2, seed=8)), [
        lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i, w, b), lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i, w, None, 2, 1),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i, w, b, (1, 2), (2, 0), (2, 1)),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i, g, None, 1, (1, 0), 1, 2),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i, d, b[:4], 1, 1, 1, 4), lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i, w, b, padding="same"),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i, w, b, padding="valid"), lambda l, i, v, w, g, d, b, w1, w3: F.conv2d(i[0], w, b),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv1d(l, w1, b[:5], 2, 2, 1), lambda l, i, v, w, g, d, b, w1, w3: F.conv1d(l, w1, padding="same"),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv3d(v, w3, b[:3], (1, 2, 1), 1),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv_transpose2d(i, w[:4, :3], b[:3], 2, 1, 1),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv_transpose2d(i, g[:4], None, (2, 1), 0, 0, 2),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv_transpose2d(i, w[:4, :2], None, 1, 1, 0, 1, 2),
        lambda l, i, v, w, g, d, b, w1, w3: F.conv_transpose1d(l, w1[:4, :3], b[:3], 3, 1, 2)]),
    "pools": ((LINE, IMAGE, VOLUME), [
        lambda l, i, v: F.max_pool2d(i, 2), lambda l, i, v: F.max_pool2d(i, 3, 2, 1), lambda l, i, v: F.max_pool2d(i, (2, 3), 1, (1, 0)),
        lambda l, i, v: F.max_pool2d(i, 3, 2, 1, 1, True), lambda l, i, v: F.max_pool2d(i, 2, 1, 0, 2), lambda l, i, v: F.max_pool1d(l, 3, 2),
        lambda l, i, v: F.max_pool3d(v, 2), lambda l, i, v: tuple(aten.max_pool2d_with_indices(i, [2, 2])),
        lambda l, i, v: F.avg_pool2d(i, 2), lambda l, i, v: F.avg_pool2d(i, 3, 2, 1), lambda l, i, v: F.avg_pool2d(i, 3, 2, 1, True),
        lambda l, i, v: F.avg_pool2d(i, 3, 2, 1, False, False), lambda l, i, v: F.avg_pool2d(i, 2, divisor_override=3),
        lambda l, i, v: F.avg_pool1d(l, 3, 2, 1), lambda l, i, v: F.avg_pool3d(v, 2), lambda l, i, v: F.adaptive_avg_pool2d(i, 1),
        lambda l, i, v: F.adaptive_avg_pool2d(i, (3, 2)), lambda l, i, v: F.adaptive_avg_pool2d(i, (None, 4)),
        lambda l, i, v: F.adaptive_avg_pool1d(l, 4), lambda l, i, v: F.adaptive_max_pool2d(i, (2, 3)), lambda l, i, v: F.lp_pool2d(i.abs(), 2, 2)]),
    "norms": ((BATCH, IMAGE, floats(6, seed=1), floats(6, seed=2), floats(4, seed=3), positive(4, seed=4)), [
        lambda x, i, w, b, c, v: F.layer_norm(x, (6,)), lambda x, i, w, b, c, v: F.layer_norm(x, (6,), w, b, 1e-6),
        lambda x, i, w, b, c, v: F.layer_norm(x, (4, 6), x[0], x[1]), lambda x, i, w, b, c, v: F.layer_norm(x, (6,), w),
        lambda x, i, w, b, c, v: F.batch_norm(i, c, v, v, c), lambda x, i, w, b, c, v: F.batch_norm(i, c, v, eps=1e-3),
        lambda x, i, w, b, c, v: F.batch_norm(x, c, v, v, c), lambda x, i, w, b, c, v: F.group_norm(i, 2, v, c),
        lambda x, i, w, b, c, v: F.group_norm(i, 4), lambda x, i, w, b, c, v: F.instance_norm(i),
        lambda x, i, w, b, c, v: F.instance_norm(i, weight=v, bias=c), lambda x, i, w, b, c, v: F.rms_norm(x, (6,), w, 1e-6),
        lambda x, i, w, b, c, v: F.rms_norm(x, (6,)), lambda x, i, w, b, c, v: F.normalize(x, dim=-1),
        lambda x, i, w, b, c, v: F.local_response_norm(i, 2), lambda x, i, w, b, c, v: torch._weight_norm(i[0], i[0, :, :1, :1], 0),
        lambda x, i, w, b, c, v: torch.linalg.vector_norm(x, 2, -1, True),
        lambda x, i, w, b, c, v: x / x.pow(2).mean(-1, keepdim=True).add(1e-6).sqrt()]),
    "attention": ((HEADS, HEADS * 0.5, HEADS.flip(2), MASK, floats(2, 1, 5, 5, seed=4)), [
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v), lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v, m),
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v, f), lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v, scale=0.3),
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v, m & (torch.arange(5) < 2).unsqueeze(-1)),
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v, m, scale=1.0),
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q[:, :, :3], k, v, m[:, :, :3]),
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True),
        lambda q, k, v, m, f: F.scaled_dot_product_attention(q, k, v[..., :6]),
        lambda q, k, v, m, f: F.softmax(q, -1), lambda q, k, v, m, f: F.softmax(q, 1, dtype=torch.float32), lambda q, k, v, m, f: F.log_softmax(q, 2),
        lambda q, k, v, m, f: aten._softmax(q, -1, False), lambda q, k, v, m, f: F.softmin(q, 0),
        lambda q, k, v, m, f: F.softmax((q @ k.mT) / 8**0.5 + f, -1) @ v]),
}

LAYERS = {
    "lstm": (torch.nn.LSTM(6, 5), BATCH), "lstm_batch_first": (torch.nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True), BATCH),
    "lstm_no_bias": (torch.nn.LSTM(6, 5, bias=False), BATCH), "lstm_projected": (torch.nn.LSTM(6, 5, 2, proj_size=3, bidirectional=True), BATCH),
    "gru": (torch.nn.GRU(6, 5, 2, bidirectional=True), BATCH), "rnn_tanh": (torch.nn.RNN(6, 5), BATCH),
    "rnn_relu": (torch.nn.RNN(6, 5, nonlinearity="relu", batch_first=True), BATCH), "unbatched": (torch.nn.GRU(6, 5), ROWS),
    "lstm_cell": (torch.nn.LSTMCell(6, 5), ROWS), "gru_cell": (torch.nn.GRUCell(6, 5), ROWS), "rnn_cell": (torch.nn.RNNCell(6, 5), ROWS),
    "transformer_layer": (torch.nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), BATCH),
    "multihead": (torch.nn.TransformerEncoderLayer(6, 3, 12, norm_first=True, activation="gelu"), BATCH),
}
