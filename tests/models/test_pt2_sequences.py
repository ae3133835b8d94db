"""Recurrent layers and attention as PyTorch exports them, run by the interpreter and compared with PyTorch."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional


def data(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))


class Attention(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **self.options)


def layer(kind, **options):
    torch.manual_seed(3)
    return getattr(torch.nn, kind)(5, 7, **options)


X = data(4, 3, 5, seed=1)
Q, K, V = data(2, 4, 6, 8, seed=2), data(2, 4, 9, 8, seed=3), data(2, 4, 9, 5, seed=4)
KEEP = data(6, 9, seed=5) > 0
KEEP[2] = False
CASES = {
    "lstm": (layer("LSTM"), (X,)),
    "lstm states": (layer("LSTM"), (X, (data(1, 3, 7, seed=6), data(1, 3, 7, seed=7)))),
    "lstm layers": (layer("LSTM", num_layers=3, bidirectional=True, batch_first=True), (X,)),
    "lstm without bias": (layer("LSTM", bias=False, num_layers=2), (X,)),
    "lstm single": (layer("LSTM"), (data(4, 5, seed=1),)),
    "gru": (layer("GRU", num_layers=2), (X, data(2, 3, 7, seed=6))),
    "gru both ways": (layer("GRU", bidirectional=True, batch_first=True), (X,)),
    "rnn": (layer("RNN", num_layers=2, bidirectional=True), (X,)),
    "rnn relu": (layer("RNN", nonlinearity="relu", bias=False), (X,)),
    "lstm cell": (layer("LSTMCell"), (data(3, 5), (data(3, 7, seed=6), data(3, 7, seed=7)))),
    "gru cell": (layer("GRUCell"), (data(3, 5), data(3, 7, seed=6))),
    "rnn cell": (layer("RNNCell", bias=False), (data(3, 5), data(3, 7, seed=6))),
    "attention": (Attention(), (Q, K, V)),
    "attention causal": (Attention(is_causal=True), (Q, K, V)),
    "attention scale": (Attention(scale=0.3), (Q, K, V)),
    "attention keep": (Attention(), (Q, K, V, KEEP)),
    "attention bias": (Attention(), (Q, K, V, data(2, 1, 6, 9, seed=8))),
    "attention groups": (Attention(enable_gqa=True), (data(2, 8, 6, 8), K, V)),
    "attention three axes": (Attention(), (Q[0], K[0], V[0], data(4, 6, 9, seed=8))),
    "attention two axes": (Attention(), (Q[0, 0], K[0, 0], V[0, 0])),
    "attention five axes": (Attention(), (Q[None], K[None].expand(3, 2, 4, 9, 8), V[None], data(2, 1, 6, 9, seed=8))),
    "multi-head attention": (torch.nn.TransformerEncoderLayer(8, 2, 16), (data(4, 3, 8),)),
}


def leaves(value):
    return [t for t in torch.utils._pytree.tree_flatten(value)[0] if isinstance(t, torch.Tensor)]


@pytest.mark.parametrize("dialect", ["exported", "decomposed"])
@pytest.mark.parametrize("case", CASES)
def test_sequences(case, dialect, quantc, tmp_path):
    module, args = CASES[case]
    program = torch.export.export(module.eval(), args)
    if dialect == "decomposed":
        program = program.run_decompositions()
    torch.export.save(program, tmp_path / "m.pt2")
    np.savez(tmp_path / "in.npz", **{f"in_{i}": t.numpy() for i, t in enumerate(leaves(args))})
    quantc("run", tmp_path / "m.pt2", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    actual = list(np.load(tmp_path / "out.npz").values())
    expected = leaves(module(*args))
    assert len(actual) == len(expected)
    for want, got in zip(expected, actual):
        np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-5, atol=2e-6)
