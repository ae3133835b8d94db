"""Rotary embeddings as networks write them: each spelling becomes one op, near what PyTorch computes, with the same bits in C.

Spellings are those of the models of PyPI's transformers that turn pairs (named beside each), and those of other libraries."""
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

BATCH, HEADS, STEPS, DEPTH = 2, 3, 5, 8


def angles(depth, steps=STEPS):
    """An angle for each position and pair."""
    return torch.arange(steps).float()[:, None] * 100.0 ** -(torch.arange(depth // 2).float() / (depth // 2))


def by_halves(depth=DEPTH):
    both = torch.cat([angles(depth)] * 2, -1)
    return both.cos(), both.sin()


def by_neighbours(depth=DEPTH):
    both = angles(depth).repeat_interleave(2, -1)
    return both.cos(), both.sin()


def once(depth=DEPTH):
    return angles(depth).cos(), angles(depth).sin()


def half_by_slices(x):
    return torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), -1)


def half_by_chunks(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), -1)


def half_by_split(x):
    first, second = x.split(x.shape[-1] // 2, -1)
    return torch.cat([second * -1, first], -1)


def half_by_unbind(x):
    first, second = x.reshape(*x.shape[:-1], 2, -1).unbind(-2)
    return torch.cat((-second, first), -1)


def pairs_by_strides(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


def pairs_reshaped(x):
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape_as(x)


def pairs_by_unbind(x):
    first, second = x.view(*x.shape[:-1], -1, 2).unbind(-1)
    return torch.stack((-second, first), -1).flatten(-2)


def pairs_by_concat(x):
    first, second = x.view(*x.shape[:-1], -1, 2).split(1, -1)
    return torch.cat((-second, first), -1).view_as(x)


def rotated(rotate):
    return lambda x, c, s: x * c + rotate(x) * s


def products_of_halves(x, c, s):
    first, second = x.chunk(2, -1)
    return torch.cat((first * c - second * s, second * c + first * s), -1)


def products_of_neighbours(x, c, s):
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack((first * c - second * s, first * s + second * c), -1).flatten(-2)


def products_of_pairs(x, c, s):
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    return torch.stack([pairs[..., 0] * c - pairs[..., 1] * s, pairs[..., 1] * c + pairs[..., 0] * s], -1).flatten(-2)


def neighbours_to_halves(x, c, s):
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.cat([first * c - second * s, second * c + first * s], -1)


def viewed_as_halves(x, c, s):
    b, h, n, d = x.shape
    x = x.view(b, h, n, d // 2, 2).transpose(4, 3).reshape(b, h, n, d)
    return x * c + half_by_slices(x) * s


def other_way(x, c, s):
    half = x.shape[-1] // 2
    return x * c + torch.cat((x[..., half:], -x[..., :half]), -1) * s


def part(of, rotate, end=False):
    """The first or last `of` elements of each head turn."""
    def forward(x, c, s):
        rotated_part, rest = (x[..., -of:], x[..., :-of]) if end else (x[..., :of], x[..., of:])
        rotated_part = rotated_part * c + rotate(rotated_part) * s
        return torch.cat((rest, rotated_part) if end else (rotated_part, rest), -1)
    return forward


def later_tokens(x, c, s):
    first, others = x.split((1, STEPS - 1), -2)
    return torch.cat((first, others * c[1:] + half_by_slices(others) * s[1:]), -2)


def in_f64(x, c, s):
    y = x.double()
    return (y * c.double() + half_by_slices(y) * s.double()).to(x.dtype)


# name: how, cosines and sines, how x is laid: heads before steps, after them, or none
SPELLINGS = {
    "slices (llama, mistral, gemma, qwen3, falcon)": (rotated(half_by_slices), by_halves(), "bhsd"),
    "chunks (torchtune, esm)": (rotated(half_by_chunks), by_halves(), "bhsd"),
    "split, times -1": (rotated(half_by_split), by_halves(), "bhsd"),
    "unbind of halves": (rotated(half_by_unbind), by_halves(), "bhsd"),
    "the sum the other way round": (lambda x, c, s: half_by_slices(x) * s + c * x, by_halves(), "bhsd"),
    "sine first in its product": (lambda x, c, s: x * c + s * half_by_slices(x), by_halves(), "bhsd"),
    "heads after steps (wav2vec2_conformer, vision encoders)": (rotated(half_by_slices), by_halves(), "bshd"),
    "no heads": (rotated(half_by_slices), by_halves(), "bsd"),
    "f64 (musicflamingo)": (in_f64, by_halves(), "bhsd"),
    "part of a head (gpt_neox, phi, stablelm, nemotron)": (part(4, half_by_slices), by_halves(4), "bhsd"),
    "the last part of a head (deepseek_v4)": (part(4, pairs_by_strides, end=True), by_neighbours(4), "bhsd"),
    "later tokens (dinov3_vit)": (later_tokens, by_halves(), "bhsd"),
    "neighbours by strides (gptj, cohere, ernie4_5)": (rotated(pairs_by_strides), by_neighbours(), "bshd"),
    "neighbours, reshaped (roformer)": (rotated(pairs_reshaped), by_neighbours(), "bhsd"),
    "neighbours by unbind (sam2_video, vjepa2)": (rotated(pairs_by_unbind), by_neighbours(), "bhsd"),
    "neighbours by concat": (rotated(pairs_by_concat), by_neighbours(), "bhsd"),
    "part of a head, neighbours (gptj, glm, moonshine)": (part(4, pairs_by_strides), by_neighbours(4), "bshd"),
    "four products of halves (gpt_oss)": (products_of_halves, once(), "bhsd"),
    "four products of neighbours": (products_of_neighbours, once(), "bhsd"),
    "four products of pairs (torchtune)": (products_of_pairs, once(), "bhsd"),
    "neighbours to halves (mistral4, deepseek_v3)": (neighbours_to_halves, once(), "bhsd"),
    "neighbours seen as halves (older deepseek_v3)": (viewed_as_halves, by_halves(), "bhsd"),
    "the other way (nanochat)": (other_way, by_halves(), "bhsd"),
}
SHAPES = {"bhsd": (BATCH, HEADS, STEPS, DEPTH), "bshd": (BATCH, STEPS, HEADS, DEPTH), "bsd": (BATCH, STEPS, DEPTH)}


class Rotated(nn.Module):
    """Two values rotated by angles that are constants, or found from positions that are an input."""

    def __init__(self, how, tables, layout, given):
        super().__init__()
        self.how, self.layout, self.given = how, layout, given
        self.register_buffer("cos", tables[0])
        self.register_buffer("sin", tables[1])

    def forward(self, q, k, positions=None):
        c, s = (t[positions] if self.given else t for t in (self.cos, self.sin))
        if self.layout == "bshd":
            c, s = c[:, None], s[:, None]
        return self.how(q, c, s), self.how(k, c, s)


def exported(folder, name, given):
    how, tables, layout = SPELLINGS[name]
    torch.manual_seed(0)
    net = Rotated(how, tables, layout, given).eval()
    inputs = (torch.randn(SHAPES[layout]), torch.randn(SHAPES[layout]), *([torch.arange(STEPS)] if given else []))
    torch.export.save(torch.export.export(net, inputs), folder / "net.pt2")
    np.savez(folder / "io.npz", **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)},
             **{f"out_{i}": y.numpy() for i, y in enumerate(net(*inputs))})
    return folder / "net.pt2", folder / "io.npz"


def ops_of(quantc, net):
    return re.findall(r" = (\w+)\(", quantc("inspect", net, "--ir").stdout)


@pytest.mark.parametrize("given", [False, True], ids=["constants", "positions"])
@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_one_op(name, given, quantc, tmp_path):
    net, io = exported(tmp_path, name, given)
    ops = ops_of(quantc, net)
    # Sines of a turn the other way are negated: when compiling, or those that were found.
    assert ops.count("rotary") == 2 and not {"mul", "add", "sub", *([] if given and "other way" in name else ["neg"])} & set(ops), ops
    assert len(re.findall(r"^rotary\[f\d\d\]\(", quantc("inspect", net, "--program", "--target", "portable").stdout, re.M)) == 2
    quantc("validate", net, "-i", io, "-e", io, "--rtol", "1e-5", "--atol", "1e-6", "--cflags=-O0")


def no_pair(x, c, s):
    half = x.shape[-1] // 2
    return x * c + torch.cat((-x[..., :half], x[..., half:]), -1) * s


def both_negated(x, c, s):
    half = x.shape[-1] // 2
    return x * c + torch.cat((-x[..., half:], -x[..., :half]), -1) * s


def halves_as_neighbours(x, c, s):
    first, second = x.chunk(2, -1)
    return x * c + torch.stack((-second, first), -1).flatten(-2) * s


def another_value(x, c, s):
    return (x + 1) * c + half_by_slices(x) * s


def other_angles(x, c, s):
    first, second = x.chunk(2, -1)
    half = first.shape[-1]
    return torch.cat((first * c[..., :half] - second * s[..., :half], second * c[..., half:] + first * s[..., half:]), -1)


def matrices(x, c, s):
    """As pe_audio: two by two numbers for each pair, and a sum."""
    half = x.shape[-1] // 2
    rotated_part = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)[..., :half, :, :]
    return (x.reshape(*x.shape[:-1], half, 1, 2) * rotated_part).sum(-1).flatten(-2)


@pytest.mark.parametrize("how", [no_pair, both_negated, halves_as_neighbours, another_value, other_angles, matrices], ids=lambda how: how.__name__)
def test_what_is_no_rotation_stays(how, quantc, tmp_path, monkeypatch):
    """What only looks like a rotation, and matrices of pairs, which are products and sums."""
    monkeypatch.setitem(SPELLINGS, "none", (how, by_halves(), "bhsd"))
    net, io = exported(tmp_path, "none", True)
    assert "rotary" not in ops_of(quantc, net)
    quantc("validate", net, "-i", io, "-e", io, "--rtol", "1e-5", "--atol", "1e-6", "--cflags=-O0")


def complex_numbers(x, c, s):
    """As llama4 and deepseek_v2."""
    half = x.shape[-1] // 2
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], half, 2)) * torch.complex(c[..., :half], s[..., :half])
    return torch.view_as_real(pairs).flatten(-2)


def test_complex_numbers_are_refused(quantc, tmp_path, monkeypatch):
    monkeypatch.setitem(SPELLINGS, "complex", (complex_numbers, by_halves(), "bhsd"))
    net, _ = exported(tmp_path, "complex", True)
    said = quantc("explain", net, status=2).stderr
    assert "aten.view_as_complex.default: 2 nodes" in said, said
