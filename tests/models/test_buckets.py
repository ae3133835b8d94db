"""Buckets of sizes: runs are padded to the smallest that holds their size, and answers keep every bit."""
import ctypes
import re
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402

F = nn.functional
LOW, HIGH = 3, 42


class Bert(nn.Module):
    """Embeddings, masked attention (fused, or written out), norms, a feed-forward part and the first token."""

    def __init__(self, written_out):
        super().__init__()
        self.written_out = written_out
        self.tokens, self.positions, self.first = nn.Embedding(30, 16), nn.Embedding(64, 16), nn.LayerNorm(16)
        self.qkv, self.out, self.up, self.down, self.pool = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 64), nn.Linear(64, 16), nn.Linear(16, 16)
        self.second, self.third = nn.LayerNorm(16), nn.LayerNorm(16)
        self.register_buffer("ids", torch.arange(64)[None])

    def forward(self, ids, mask):
        b, s = ids.shape
        x = self.first(self.tokens(ids) + self.positions(self.ids[:, :s]))
        q, k, v = (t.view(b, s, 2, 8).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        bias = (1.0 - mask[:, None, None, :].float()) * -3.4e38
        if self.written_out:
            y = torch.softmax(q @ k.transpose(-1, -2) / 3 + bias, -1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = self.second(x + self.out(y.transpose(1, 2).reshape(b, s, -1)))
        x = self.third(x + self.down(F.gelu(self.up(x))))
        return x, torch.tanh(self.pool(x[:, 0]))

    @staticmethod
    def inputs(b, s):
        mask = torch.ones(b, s, dtype=torch.int64)
        mask[0, s // 2:] = 0
        return torch.randint(0, 30, (b, s)), mask


class Llama(nn.Module):
    """Rotated queries and keys, causal attention with shared key heads, a gated part and the last token."""

    def __init__(self):
        super().__init__()
        self.tokens, self.first, self.second = nn.Embedding(30, 16), nn.RMSNorm(16), nn.RMSNorm(16)
        self.q, self.kv, self.o, self.head = (nn.Linear(16, n, bias=False) for n in (16, 16, 16, 30))
        self.gate, self.up, self.down = nn.Linear(16, 24, bias=False), nn.Linear(16, 24, bias=False), nn.Linear(24, 16, bias=False)
        self.register_buffer("inverse", 1.0 / 100**(torch.arange(0, 8, 2).float() / 8))

    def forward(self, ids):
        b, s = ids.shape
        x = self.tokens(ids)
        angles = torch.arange(s)[:, None].float() * self.inverse[None]
        angles = torch.cat([angles, angles], -1)

        def rotated(t):
            half = t.chunk(2, -1)
            return t * angles.cos() + torch.cat([-half[1], half[0]], -1) * angles.sin()

        y = self.first(x)
        q, (k, v) = self.q(y).view(b, s, 2, 8).transpose(1, 2), (t.view(b, s, 1, 8).transpose(1, 2) for t in self.kv(y).chunk(2, -1))
        k, v = rotated(k).repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        y = F.scaled_dot_product_attention(rotated(q), k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, -1))
        y = self.second(x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return self.head(x[:, -1]), x

    @staticmethod
    def inputs(b, s):
        return (torch.randint(0, 30, (b, s)),)


class Mixed(nn.Module):
    """Attention without a mask, and what else elements along an axis meet in."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, 2, 8).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b * s, d)).view(b, s, d)
        return (y, y.sum(1), y.amax(1), y.amin((1, 2)), y.cumsum(1), y[:, 1:], y.argmax(1), (y * y).sum((1, 2)), y.transpose(1, 2) @ x,
                torch.softmax(y, 1), torch.tril(y @ y.transpose(1, 2)), x.sum(1) * s, y.abs().prod(1), y.logsumexp(1))

    @staticmethod
    def inputs(b, s):
        return (torch.randn(b, s, 16),)


class OwnSize(nn.Module):
    """What takes the run's own size where that is allowed, between what is padded: what is joined, turned round or has a deviation."""

    def __init__(self):
        super().__init__()
        self.first, self.conv, self.out = nn.Linear(16, 16), nn.Conv1d(16, 8, 3, 2, 1), nn.Linear(8, 5)

    def forward(self, x):
        y = torch.softmax(self.first(x), 1)
        z = F.max_pool2d(torch.relu(self.conv(y.transpose(1, 2)))[:, None], (1, 2), 1, (0, 1)).squeeze(1)
        return z, z.mean(2), torch.cat([x, y], 1).mean(1), self.out(z.transpose(1, 2)), y.flip(1) @ self.first.weight, y.std(1)

    @staticmethod
    def inputs(b, s):
        return (torch.randn(b, s, 16),)


class Image(nn.Module):
    """Convolutions, pools and means over height and width, at borders that the size of a run decides on."""

    def __init__(self):
        super().__init__()
        self.first, self.apart, self.wide = nn.Conv2d(3, 8, 5, 2, 2), nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Conv2d(8, 16, 3, 2, 1)
        self.short, self.head = nn.Conv2d(8, 16, 1, 2), nn.Linear(16, 5)

    def forward(self, x):
        y = F.max_pool2d(torch.relu(self.first(x)), 3, 2, 1)
        z = torch.relu(self.wide(torch.relu(self.apart(y))) + self.short(y))
        return (self.head(z.mean((2, 3))), F.adaptive_avg_pool2d(z, 1), F.avg_pool2d(z, 3, 1, 1, count_include_pad=False), z.mean(2),
                z.sum((2, 3)), F.adaptive_max_pool2d(y, 3))

    @staticmethod
    def inputs(b, h, w):
        return (torch.randn(b, 3, h, w),)


MODELS = {"own_size": OwnSize, "bert": lambda: Bert(False), "bert_written_out": lambda: Bert(True), "llama": Llama, "mixed": Mixed}
DYNAMIC = "[[rule]]\npattern = '.*'\nop = 'linear'\nkind = 'dynamic'\nper_token = true\n"
TENSOR = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nskip_unsupported = true\n"
STATIC = "[[rule]]\npattern = '.*'\nkind = 'static'\nmin = -4.0\nmax = 4.0\nskip_unsupported = true\n"


def exported(module, inputs, folder, axes=("b", "s")):
    sizes = {"b": Dim("b", min=1, max=8), "s": Dim("s", min=LOW, max=HIGH)}
    dims = tuple({i: sizes[axis] for i, axis in enumerate(axes)} for _ in inputs)
    torch.export.save(torch.export.export(module.eval(), inputs, dynamic_shapes=dims), folder / "m.pt2")
    return folder / "m.pt2"


def symbols(quantc, model):
    """Of the first two axes of the first input."""
    return re.findall(r"\[(\w+), (\w+)", quantc("inspect", model).stdout)[0]


class Built:
    """A compiled model as a library."""

    def __init__(self, quantc, model, folder, *flags):
        self.said = quantc("compile", model, "-v", "-o", folder, "--name", "net", *flags).stdout
        text = (folder / "net.h").read_text()
        self.numbers = {k: int(v) for k, v in re.findall(r"#define NET_(\w+) (\d+)\n", text)}
        self.dims = [name for _, name in sorted(re.findall(r"#define NET_DIM_(\d+)_NAME \"(\w+)\"", text))]
        subprocess.run(["make", "-C", folder, "CFLAGS=-O1 -Wall -Wextra -Werror", "libnet.so"], check=True, capture_output=True)
        self.net = ctypes.CDLL(str(folder / "libnet.so"))
        self.net.net_size_error.restype = ctypes.c_char_p

    def sizes_in_order(self, sizes):
        return (ctypes.c_int64 * len(self.dims))(*[sizes[name] for name in self.dims])

    def size_error(self, sizes):
        return self.net.net_size_error(self.sizes_in_order(sizes)).decode()

    def __call__(self, inputs, like, sizes):
        """The code it returns and the outputs, shaped as `like`. The arena holds NaNs before."""
        size = self.numbers["ARENA_BYTES"]
        arena = np.full(size + 64, 255, "u1")
        outputs = [np.full(y.shape, 77, y.dtype) for y in like]
        pointers = [(ctypes.c_void_p * len(a))(*[x.ctypes.data for x in a]) for a in (inputs, outputs)]
        aligned = arena.ctypes.data + -arena.ctypes.data % 64
        return self.net.net_invoke(*pointers, ctypes.c_void_p(aligned), self.sizes_in_order(sizes)), outputs


def same(got, wanted, what):
    for i, (y, want) in enumerate(zip(got, wanted, strict=True)):
        assert y.dtype == want.dtype and y.shape == want.shape and y.tobytes() == want.tobytes(), f"output {i} at {what}"


@pytest.mark.parametrize("name, buckets, rules, flags", [
    ("bert", "=8,16,42", "", []), ("bert_written_out", "", "", ["--specialise", "size"]), ("llama", "=4,42", "", ["-O0"]),
    ("mixed", "=5,12,42", "", []), ("llama", "=9,42", DYNAMIC, []), ("bert_written_out", "=42", STATIC, []),
    ("own_size", "=9,42:own-size", "", []), ("own_size", "=42:own-size", STATIC, []), ("llama", "=9,42", TENSOR, []),
    ("bert", "=12,42", TENSOR, [])])
def test_padding_changes_no_bit(name, buckets, rules, flags, quantc, tmp_path):
    """Generated code in buckets gives the bits of the program for all sizes, that of the interpreter, whatever the arena held."""
    torch.manual_seed(0)
    module = MODELS[name]()
    model = exported(module, module.inputs(2, 5), tmp_path)
    b, s = symbols(quantc, model)
    ranged = ["--dim", f"{b}=1..3"]
    if rules:
        (tmp_path / "rules.toml").write_text(rules)
        ranged += ["--rules", tmp_path / "rules.toml"]
    free = Built(quantc, model, tmp_path / "free", *ranged, *flags, "--dim", f"{s}={LOW}..{HIGH}")
    padded = Built(quantc, model, tmp_path / "padded", *ranged, *flags, "--dim", f"{s}={LOW}..{HIGH}:buckets{buckets}")
    assert f"'{s}' is padded to" in padded.said
    for n in range(LOW, HIGH + 1):
        sizes = {b: 1 + n % 3, s: n}
        inputs = module.inputs(sizes[b], n)
        with torch.no_grad():
            like = module(*inputs)
        like = [y.numpy() for y in (like if isinstance(like, tuple) else (like,))]
        arrays = [x.numpy() for x in inputs]
        (code, wanted), (padded_code, got) = free(arrays, like, sizes), padded(arrays, like, sizes)
        assert code == padded_code == 0
        same(got, wanted, sizes)
        if n in (LOW, 17):
            np.savez(tmp_path / "in.npz", **{f"in_{i}": x for i, x in enumerate(arrays)})
            quantc("run", model, *ranged, "--dim", f"{s}={LOW}..{HIGH}:buckets{buckets}", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
            with np.load(tmp_path / "out.npz") as reference:
                same(got, [reference[k] for k in reference.files], sizes)
        if not rules:
            for y, want in zip(got, like):
                np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4 * max(1, np.abs(want).max()))
    for n in (LOW - 1, HIGH + 1, 0, -1, 2**31):
        code, got = padded(arrays, like, {b: 1, s: n})
        assert code == 3 and all((y == 77).all() for y in got)
        assert padded.size_error({b: 1, s: n}).startswith(f"{s} (axis 1 of ")


@pytest.mark.parametrize("rules, flags", [("", []), ("", ["-O0"]), (STATIC, []), (TENSOR, [])])
def test_height_and_width_are_padded(rules, flags, quantc, tmp_path):
    """Windows at the border of a run see nothing beyond it, and means count its own elements."""
    torch.manual_seed(0)
    module = Image().eval()
    axes = {0: Dim("b", min=1, max=3), 2: Dim("h", min=9, max=48), 3: Dim("w", min=9, max=48)}
    torch.export.save(torch.export.export(module, module.inputs(2, 12, 11), dynamic_shapes=(axes,)), tmp_path / "m.pt2")
    model = tmp_path / "m.pt2"
    b, h, w = re.findall(r"\[(\w+), 3, (\w+), (\w+)\]", quantc("inspect", model).stdout)[0]
    ranged = ["--dim", f"{b}=1..3", *flags]
    if rules:
        (tmp_path / "rules.toml").write_text(rules)
        ranged += ["--rules", tmp_path / "rules.toml"]
    free = Built(quantc, model, tmp_path / "free", *ranged, "--dim", f"{h}=9..48", "--dim", f"{w}=9..48")
    padded = Built(quantc, model, tmp_path / "padded", *ranged, "--dim", f"{h}=9..48:buckets=19,48", "--dim", f"{w}=9..48:buckets=48")
    for n in range(9, 49, 1 if not flags else 5):
        sizes = {b: 1 + n % 3, h: n, w: 9 + n * 7 % 40}
        inputs = module.inputs(*sizes.values())
        with torch.no_grad():
            like = [y.numpy() for y in module(*inputs)]
        (code, wanted), (padded_code, got) = free([inputs[0].numpy()], like, sizes), padded([inputs[0].numpy()], like, sizes)
        assert code == padded_code == 0
        same(got, wanted, sizes)
        if not rules:
            for y, want in zip(got, like):
                np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)


def compiled_with(quantc, tmp_path, sizes, status, module=None, inputs=None):
    """What compiling a model with these sizes of its second axis says."""
    model = exported(module or Mixed(), inputs or Mixed.inputs(2, 5), tmp_path)
    b, s = symbols(quantc, model)
    done = quantc("compile", model, "-v", "-o", tmp_path / "c", "--dim", f"{b}=2", "--dim", f"{s}={sizes}", status=status)
    return (done.stdout + done.stderr).replace(f"'{s}'", "'s'").replace(f"{s}=", "s=")


class Twice(nn.Module):
    def forward(self, x):
        return torch.cat([torch.softmax(x, 1), x.sin()], 1).sum(1)


class Spread(nn.Module):
    def forward(self, x):
        return x.std(1)


def test_what_cannot_be_padded_is_refused_by_name(quantc, tmp_path):
    """All of it at once, unless the dimension allows the run's own size for it."""
    why = "concat cannot be padded along 's': what comes after padding would not follow at once"
    said = re.sub(r"\s+", " ", compiled_with(quantc, tmp_path, "3..40:buckets", 2, Twice()))
    assert "error[unsupported]: 1 layer cannot be padded to the buckets of 's'" in said and "cat: " + why in said and "own-size" in said
    assert not (tmp_path / "c").exists()
    assert why + "; it takes the run's own size" in compiled_with(quantc, tmp_path, "3..40:buckets:own-size", 0, Twice())
    assert "reduce_std cannot be padded" in compiled_with(quantc, tmp_path, "3..40:buckets=8,40", 2, Spread())
    assert "warning: buckets of 's' pad no layer" in re.sub(r"\s+", " ", compiled_with(quantc, tmp_path, "3..40:buckets:own-size", 0, Spread()))


def test_what_needs_numbers_is_refused_by_name(quantc, tmp_path):
    (tmp_path / "m.ir").write_text('graph (%0 "x" : f32[1, 1, n, 4]) {\n  dim "n" = 1..9\n'
                                   '  %1 = resize(%0) {size = [1, 1, #(2*n), 8], mode = "nearest"}\n  return %1\n}\n')
    said = quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--dim", "n=1..9:buckets:own-size", status=2).stderr
    assert "'resize' needs numbers for its sizes" in said and not (tmp_path / "c").exists()
    said = quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--dim", "n=1..9:buckets", status=2).stderr
    assert "resize cannot be padded along 'n'" in said and not (tmp_path / "c").exists()


@pytest.mark.parametrize("sizes, message", [
    ("3..40:buckets=8,16", "must ascend from 3 or more to 40"), ("3..40:buckets=16,8,40", "must ascend"), ("3..40:buckets=1,40", "must ascend"),
    ("3..40:buckets:own", "is not NAME=SIZE"), ("3..40:own-size", "is not NAME=SIZE"), ("3..40:buckets=", "is not NAME=SIZE"), ("3..40:bucket", "is not NAME=SIZE"), ("3..40:buckets=auto", "write buckets=auto@FILE"), ("3..40:buckets=auto,3@", "write buckets=auto@FILE"),
    ("3..40:buckets=1.05", "is not NAME=SIZE"), ("3..40:buckets=2.x", "is not NAME=SIZE"), ("3..40:buckets=-1.5", "is not NAME=SIZE"),
    ("-1..40", "cannot be -1..40: sizes are 0 or more"), ("40..3", "cannot be 40..3: it ends before it begins"),
    ("3..70000", "cannot be 3..70000: give no size above 65536"), ("3..40:0", "cannot be 3..40:0: a step is 1 or more"),
    ("3..40:10", "cannot be 3..40:10: steps reach 33, not 40"),
    ("3..40:buckets=auto,x@f", "is not NAME=SIZE"), ("3..40:buckets=auto,99@f", "1 to 32 buckets"), ("3..40:buckets=auto@none.txt", "none.txt")])
def test_bad_sizes(sizes, message, quantc, tmp_path):
    (tmp_path / "m.ir").write_text('graph (%0 "x" : f32[s, 4]) {\n  dim "s" = 3..42\n  %1 = softmax(%0) {axis = 0}\n  return %1\n}\n')
    done = quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--dim", f"s={sizes}", status=1)
    assert message in done.stderr and not (tmp_path / "c").exists()


def together(said):
    """How much more than needed is computed for sizes that are all as frequent."""
    return float(re.search(r"is padded to (.*): .*, x([\d.]+) together", said)[2])


def test_chosen_buckets(quantc, tmp_path):
    """From a file of sizes: short ones and some long, so that powers of two fit neither."""
    (tmp_path / "sizes.txt").write_text("9 9 10\n9, 10 9 33\n" * 9)
    said = compiled_with(quantc, tmp_path, f"3..40:buckets=auto,3@{tmp_path / 'sizes.txt'}", 0)
    assert re.search(r"'s' is padded to 10 \(x[\d.]+\), 33 \(x[\d.]+\), 40 \(", said), said
    for text, message in {"": "there are no sizes", "9 x": "whole numbers", "41": "outside the range 3 to 40", "-1": "outside"}.items():
        (tmp_path / "sizes.txt").write_text(text)
        assert message in compiled_with(quantc, tmp_path, f"3..40:buckets=auto,3@{tmp_path / 'sizes.txt'}", 1)


def test_growing_buckets(quantc, tmp_path):
    said = compiled_with(quantc, tmp_path, "3..40:buckets=1.5", 0)
    assert re.findall(r"(\d+) \(x", said) == ["3", "5", "8", "12", "18", "27", "40"], said
    said = compiled_with(quantc, tmp_path, "3..40:buckets", 0)
    assert re.findall(r"(\d+) \(x", said) == ["4", "8", "16", "32", "40"], said


def test_explain_says_what_padding_costs(quantc, tmp_path):
    model = exported(Mixed(), Mixed.inputs(2, 5), tmp_path)
    b, s = symbols(quantc, model)
    few, many = (re.sub(r"\s+", " ", quantc("explain", model, "--dim", f"{b}=2", "--dim", f"{s}=3..40:buckets{buckets}").stdout)
                 for buckets in ("=40", ""))
    assert 1 < together(many) < together(few)


def test_explain_names_what_is_refused_and_what_takes_the_runs_own_size(quantc, tmp_path):
    model = exported(Twice(), Mixed.inputs(2, 5), tmp_path)
    b, s = symbols(quantc, model)
    why = f"cat: concat cannot be padded along '{s}'"
    said = {own: re.sub(r"\s+", " ", quantc("explain", model, "--dim", f"{b}=2", "--dim", f"{s}=3..40:buckets{own}").stdout)
            for own in ("", ":own-size")}
    assert f"1 layer cannot be padded to the buckets of '{s}'" in said[""] and why in said[""]
    assert "it takes the run's own size" in said[":own-size"] and why in said[":own-size"]
