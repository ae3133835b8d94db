"""Recurrent layers that are not quantc's: ONNX Runtime's, and formulas of docs/arithmetic.md on codes in double."""
import numpy as np


def onnx_cells(op: str, given, **attributes):
    """Both directions in ONNX Runtime; operands in ONNX's order, as the cases have them.

    The states of a sequence without steps are those it starts from; ONNX Runtime has 0 there.
    """
    from tests.ops.outside import onnx_node

    names = ["x", "w", "r", "b", "lengths", "h", "c", "p"]
    arrays = [a.astype(np.int32) if a.dtype.kind == "i" else a for a in given]
    outputs = 3 if op == "LSTM" else 2
    results = onnx_node(op, dict(zip(names, arrays)), outputs, hidden_size=given[2].shape[2], direction="bidirectional", **attributes)
    for state, first in zip(results[1:], arrays[5:]):
        state[:, arrays[4] == 0] = first[:, arrays[4] == 0]
    return results


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def coded_cells(cell, x, x_format, w, w_scale, r, r_scale, b, to, lengths=None, h0=None, c0=None, peepholes=None,
                clip=np.inf, input_forget=False, linear_before_reset=False, reverse=False):
    """A layer on codes: exact integer sums, gates and the state c as numbers, h encoded at every step.

    `x_format` is a scale and zero point, `to` the same of h and its lowest and highest code.
    """
    single = lambda v: float(np.float32(v))
    (sx, zx), (sh, zh, low, high) = x_format, to
    sx, sh, sw, sr = single(sx), single(sh), single(w_scale), single(r_scale)
    steps, batch, _ = x.shape
    sides, hidden = w.shape[0], r.shape[2]
    gates = w.shape[1] // hidden
    encode = lambda v: np.clip(np.round(v / sh) + zh, low, high).astype(np.int64)
    y = np.full((steps, sides, batch, hidden), zh, np.int64)
    last, cells = np.empty((sides, batch, hidden), np.int64), np.zeros((sides, batch, hidden))
    for d, n in np.ndindex(sides, batch):
        code = h0[d, n] if h0 is not None else np.full(hidden, zh)
        c = c0[d, n].astype(np.float64) if c0 is not None else np.zeros(hidden)
        bias = b[d].astype(np.float64).reshape(2, gates, hidden)
        p = peepholes[d].astype(np.float64).reshape(3, hidden) if peepholes is not None else np.zeros((3, hidden))
        length = int(lengths[n]) if lengths is not None else steps
        order = range(length)
        for t in reversed(order) if d == 1 or reverse else order:
            given = ((w[d] @ (x[t, n] - zx)) * (sx * sw)).reshape(gates, hidden)
            state = lambda codes: ((r[d] @ (codes - zh)) * (sh * sr)).reshape(gates, hidden)
            h = (code - zh) * sh
            limit = lambda v: np.clip(v, -clip, clip)
            if cell == "lstm":
                i, o, f, g = given + state(code) + bias.sum(0)
                i = sigmoid(limit(i + p[0] * c))
                f = 1 - i if input_forget else sigmoid(limit(f + p[2] * c))
                c = f * c + i * np.tanh(limit(g))
                code = encode(sigmoid(limit(o + p[1] * c)) * np.tanh(c))
            else:
                all_gates = given + state(code) + bias.sum(0)
                z, reset = sigmoid(limit(all_gates[0])), sigmoid(limit(all_gates[1]))
                if linear_before_reset:
                    a = given[2] + bias[0][2] + reset * (state(code)[2] + bias[1][2])
                else:
                    a = given[2] + bias.sum(0)[2] + state(encode(reset * h))[2]
                code = encode(z * h + (1 - z) * np.tanh(limit(a)))
            y[t, d, n] = code
        last[d, n], cells[d, n] = code, c
    return (y, last, cells) if cell == "lstm" else (y, last)
