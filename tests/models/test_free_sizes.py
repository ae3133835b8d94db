"""One program for every size: plans and targets, against static twins, PyTorch and the interpreter; sizes that are refused.
test_free_networks.py has the networks of transformers."""
import random
import re
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from tests.support.free_sizes import DYNAMIC, Compiled, export, interpreted  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Attention(nn.Module):
    """Grouped queries, rotary positions computed from the length, causal or not."""

    def __init__(self, width, heads, groups, causal):
        super().__init__()
        self.heads, self.groups, self.causal, self.depth = heads, groups, causal, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, n, bias=False) for n in (width, groups * self.depth, groups * self.depth, width))

    def forward(self, x):
        b, s, w = x.shape
        q, k, v = (p(x).view(b, s, -1, self.depth).transpose(1, 2) for p in (self.q, self.k, self.v))
        angle = torch.arange(s)[:, None] * (10 ** -torch.linspace(0, 1, self.depth // 2))[None]
        angle = torch.cat([angle, angle], -1)

        def rotate(t):
            half = self.depth // 2
            return t * angle.cos() + torch.cat([-t[..., half:], t[..., :half]], -1) * angle.sin()

        q, k = rotate(q), rotate(k)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.o(y.transpose(1, 2).reshape(b, s, w))


class Block(nn.Module):
    def __init__(self, width, causal):
        super().__init__()
        self.a, self.n, self.m = Attention(width, 4, 2, causal), nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.gate, self.down = nn.Linear(width, 48), nn.Linear(width, 48), nn.Linear(48, width)

    def forward(self, x):
        x = x + self.a(self.n(x))
        y = self.m(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Transformer(nn.Module):
    def __init__(self, causal, learned=False):
        super().__init__()
        self.e, self.b, self.f = nn.Embedding(50, 32), nn.Sequential(Block(32, causal), Block(32, causal)), nn.Linear(32, 11)
        self.p = nn.Embedding(128, 32) if learned else None

    def forward(self, ids):
        x = self.e(ids)
        if self.p is not None:  # a table that depends on the length alone, and larger than what it is added to
            x = x + 3 * self.p(torch.arange(ids.shape[1]))
        return self.f(self.b(x))


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.a, self.b, self.s = nn.Conv2d(i, o, 3, stride, 1), nn.Conv2d(o, o, 3, 1, 1), nn.Conv2d(i, o, 1, stride)

    def forward(self, x):
        return torch.relu(self.b(torch.relu(self.a(x))) + self.s(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.b, self.f = nn.Conv2d(3, 16, 7, 2, 3), nn.Sequential(Residual(16, 16, 1), Residual(16, 32, 2)), nn.Linear(32, 10)

    def forward(self, x):
        return self.f(self.b(nn.functional.max_pool2d(torch.relu(self.c(x)), 3, 2, 1)).mean((2, 3)))


def ids(batch, seq):
    return torch.randint(0, 50, (batch, seq))


def image(batch, h, w):
    return torch.randn(batch, 3, h, w)


# The module, what makes inputs from sizes, and for each dimension its axis and range.
NETWORKS = {
    "encoder": (lambda: Transformer(False), ids, {"batch": (0, 1, 8), "seq": (1, 1, 128)}),
    "decoder": (lambda: Transformer(True), ids, {"batch": (0, 1, 8), "seq": (1, 1, 128)}),
    "learned": (lambda: Transformer(False, True), ids, {"batch": (0, 1, 8), "seq": (1, 1, 128)}),
    "resnet": (ResNet, image, {"batch": (0, 1, 4), "h": (2, 17, 80), "w": (3, 17, 80)}),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Each network as a .pt2 file, and the symbols that stand for its dimensions, by their names."""
    made = {}

    def get(name):
        if name not in made:
            torch.manual_seed(1)
            make, inputs, dims = NETWORKS[name]
            module = make().eval()
            path = tmp_path_factory.mktemp("free") / f"{name}.pt2"
            example = inputs(**{d: low + 3 for d, (_, low, _) in dims.items()})
            made[name] = module, inputs, path, export(module, example, dims, path)
        return made[name]

    return get


@pytest.mark.parametrize("name, rules, flags", [
    ("encoder", DYNAMIC, ["--plan", "smallest"]), ("decoder", None, ["--plan", "smallest", "--target", "x86"]), ("learned", "calibrated", []),
    ("resnet", "calibrated", ["--plan", "smallest"])])
def test_every_size_has_the_bits_of_its_static_program(name, rules, flags, exported, quantc, tmp_path):
    module, inputs, path, symbols = exported(name)
    dims = NETWORKS[name][2]
    ranges = [f for d, (_, low, high) in dims.items() for f in ("--dim", f"{symbols[d]}={low}..{high}")]
    given = []
    if rules == "calibrated":
        np.savez(tmp_path / "data.npz", in_0=inputs(**{d: high for d, (_, _, high) in dims.items()}).numpy())
        quantc("calibrate", path, "--data", tmp_path / "data.npz", "-o", tmp_path / "rules.toml")
    elif rules:
        (tmp_path / "rules.toml").write_text(rules)
    if rules:
        given = ["--rules", tmp_path / "rules.toml"]
    quantc("compile", path, "-o", tmp_path / "c", "--name", "net", "--verify", *ranges, *given, *flags)
    net = Compiled(tmp_path / "c")
    pick = random.Random(5)
    corners = [{d: r[k] for d, r in dims.items()} for k in (1, 2)]
    arenas = []
    for sizes in corners + [{d: pick.randint(low, high) for d, (_, low, high) in dims.items()} for _ in range(6)]:
        x = inputs(**sizes)
        want = interpreted(quantc, path, x.numpy(), tmp_path, *given)  # sizes of the input, bound before any pass
        if not rules:
            with torch.no_grad():
                wanted = module(x).numpy()
            np.testing.assert_allclose(want, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())
        status, got, _ = net.run(x.numpy(), {symbols[d]: n for d, n in sizes.items()}, want)
        assert status == 0
        np.testing.assert_array_equal(got.view("u4"), want.view("u4"), err_msg=str(sizes))
        arenas.append(net.arena_bytes({symbols[d]: n for d, n in sizes.items()}))
        assert net.size_error({symbols[d]: n for d, n in sizes.items()}) is None
    assert max(arenas) == arenas[1] <= int(net.macros["ARENA_BYTES"])
    if "smallest" in flags:
        assert arenas[0] * 20 < arenas[1]
    untouched = np.zeros(1, np.float32)
    for d, (_, low, high) in dims.items():
        for wrong in (low - 1, high + 1, 0, -1, 2**31, -2**63):
            sizes = {symbols[k]: wrong if k == d else r[1] for k, r in dims.items()}
            status, _, memory = net.run(x.numpy(), sizes, untouched)
            assert status == int(net.macros["BAD_SIZE"]) and (memory == 0xA5).all()
            assert net.arena_bytes(sizes) == 0
            assert net.size_error(sizes).startswith(f"{symbols[d]} (axis {dims[d][0]} of ") and f"must be {low} to {high}" in net.size_error(sizes)


def test_relations_that_ranges_do_not_prove_are_checked_by_runs(quantc, tmp_path):
    """A range holds sizes that an op does not take: no kernel runs for them, in C and in process."""
    model = tmp_path / "m.ir"
    model.write_text('graph (%0 "x" : f32[n, 4]) {\n  dim "n" = 1..16\n  %1 = reshape(%0) {shape = [8, 4]}\n  %2 = exp(%1)\n  return %2\n}\n')
    quantc("compile", model, "-o", tmp_path / "c", "--name", "net", "--dim", "n=1..16")
    assert "The model holds only where 4*n is 32." in (tmp_path / "c" / "net.h").read_text()
    net = Compiled(tmp_path / "c")
    want = np.exp(np.ones((8, 4), np.float32))
    status, got, _ = net.run(np.ones((8, 4), np.float32), {"n": 8}, want)
    assert status == 0 and np.allclose(got, want)
    for size in (1, 7, 9, 16):
        status, _, memory = net.run(np.ones((size, 4), np.float32), {"n": size}, want)
        assert status == int(net.macros["BAD_SIZE"]) and (memory == 0xA5).all()
        np.savez(tmp_path / "in.npz", in_0=np.ones((size, 4), np.float32))
        assert "reshape" in quantc("run", model, "-i", tmp_path / "in.npz", status=1).stderr
    assert "no size in the ranges" in quantc("compile", model, "-o", tmp_path / "d", "--dim", "n=9..16", status=1).stderr


def test_multiples(exported, quantc, tmp_path):
    _, inputs, path, symbols = exported("encoder")
    batch, seq = symbols["batch"], symbols["seq"]
    quantc("compile", path, "-o", tmp_path / "c", "--name", "net", "--dim", f"{batch}=2", "--dim", f"{seq}=8..64:8")
    net = Compiled(tmp_path / "c")
    for length, status in {8: 0, 40: 0, 64: 0, 12: 3, 72: 3}.items():
        x = inputs(2, length)
        want = interpreted(quantc, path, x.numpy(), tmp_path)
        code, got, _ = net.run(x.numpy(), {seq: length}, want)
        assert code == status
        if not code:
            np.testing.assert_array_equal(got.view("u4"), want.view("u4"))


class Ends(nn.Module):
    """Parts of a free axis that are counted from its end."""

    def forward(self, x):
        return torch.cat([x.roll(3, 1), x[:, -2:], x[:, :-1]], 1)


def test_parts_counted_from_the_end(quantc, tmp_path):
    seq = export(Ends(), torch.zeros(2, 5, 4), {"seq": (1, 3, 16)}, tmp_path / "ends.pt2")["seq"]
    quantc("compile", tmp_path / "ends.pt2", "-o", tmp_path / "c", "--name", "net", "--dim", f"{seq}=3..16")
    net = Compiled(tmp_path / "c")
    for length in (3, 4, 9, 16):
        x = torch.rand(2, length, 4)
        want = Ends()(x).numpy()
        status, got, _ = net.run(x.numpy(), {seq: length}, want)
        assert status == 0
        np.testing.assert_array_equal(got, want)


def test_what_is_too_large_or_needs_numbers_is_refused_by_name(exported, quantc, tmp_path):
    _, _, path, symbols = exported("encoder")
    flags = ["-o", tmp_path / "c", "--dim", f"{symbols['batch']}=1"]
    found = quantc("compile", path, *flags, "--dim", f"{symbols['seq']}=1..4096", status=1).stderr
    assert f"dimension '{symbols['seq']}' cannot be 4096: the model allows" in found
    found = quantc("compile", path, *flags, "--dim", f"{symbols['seq']}=1..70000", status=1).stderr
    assert "no size above 65536" in found
    (tmp_path / "m.ir").write_text('graph (%0 "x" : f32[1, 1, n, 4]) {\n  dim "n" = 1..9\n'
                                   '  %1 = resize(%0) {size = [1, 1, #(2*n), 8], mode = "nearest"}\n  return %1\n}\n')
    found = quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--dim", "n=1..9", status=2).stderr
    assert "'resize' needs numbers for its sizes" in found and "--dim n=SIZE" in found
    (tmp_path / "m.ir").write_text('graph (%0 "x" : f32[1, 2, 3, n]) {\n  dim "n" = 1..9\n  %1 = attention(%0, %0, %0)\n  return %1\n}\n')
    found = quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--dim", "n=1..9", status=2).stderr
    assert "the scale of attention follows from a depth of n, which is free: give --dim n=SIZE" in found


@pytest.mark.parametrize("shape, op, ranges, says", [
    ("f32[b, s, 4096]", "tanh(%0)", {"b": (1, 8), "s": (1, 65536)}, "'x': a value of 8589934592 bytes at the largest sizes, b=8, s=65536"),
    ("f32[b, 1, 8]", "matmul(%0, %0) {transpose_b = true}", {"b": (1, 65536)}, None),
    ("f32[s, 64]", "matmul(%0, %0) {transpose_b = true}", {"s": (1, 32768)}, "a value of 4294967296 bytes at the largest sizes, s=32768"),
    ("i8[s, s, s, s]", "neg(%0)", {"s": (1, 65536)}, "a value of more than 2^40 bytes at the largest sizes, s=65536"),
    ("i8[s, s, s]", "neg(%0)", {"s": (7, 1291)}, "a value of 2151685171 bytes at the largest sizes, s=1291"),
    ("i8[s, s, s]", "neg(%0)", {"s": (7, 1290)}, None)])
def test_values_beyond_32_bits_are_refused_by_the_name_of_their_sizes(shape, op, ranges, says, quantc, tmp_path):
    retained = "".join(f'  dim "{d}" = {low}..{high}\n' for d, (low, high) in ranges.items())
    (tmp_path / "m.ir").write_text(f'graph (%0 "x" : {shape}) {{\n{retained}  %1 = {op}\n  return %1\n}}\n')
    flags = [f for d, (low, high) in ranges.items() for f in ("--dim", f"{d}={low}..{high}")]
    done = quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "c", *flags, status=0 if says is None else 2)
    assert (tmp_path / "c").exists() == (says is None)
    if says is not None:
        assert says in done.stderr and "end the range of --dim " + " or of --dim ".join(ranges) + " earlier" in done.stderr


def test_the_wrong_size_is_named(quantc, tmp_path):
    """Also a relation that does not hold, in one file, and with names that C must quote."""
    (tmp_path / "m.ir").write_text('graph (%0 "x\\"%d" : f32[a, b]) {\n  dim "a" = 2..8\n  dim "b" = 4..64\n  guard "mod(b, a) == 0"\n'
                                   '  %1 = tanh(%0)\n  return %1\n}\n')
    quantc("compile", tmp_path / "m.ir", "-o", tmp_path / "c", "--name", "net", "--target", "portable", "--single-file",
           "--dim", "a=2..8", "--dim", "b=4..64:4")
    source = tmp_path / "c" / "use.c"
    source.write_text("""#include "net.c"
#include <stdio.h>
int main(void) {
  static const int64_t sizes[][2] = {{2, 4}, {8, 64}, {1, 4}, {9, 4}, {2, 6}, {2, 68}, {3, 4}, {0, 0}, {INT64_MIN, INT64_MAX}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const char *text = net_size_error(sizes[i]);
    const int refused = net_invoke(NULL, NULL, NULL, sizes[i]) == NET_BAD_SIZE;
    if (refused != (text != NULL) || refused != (net_arena_bytes(sizes[i]) == 0)) return 1;
    puts(text != NULL ? text : "taken");
  }
  puts(net_size_error(NULL));
  return 0;
}
""")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-std=c11", "-o", tmp_path / "use", source, "-lm"], check=True)
    a, b = 'a (axis 0 of x"%d) must be 2 to 8', 'b (axis 1 of x"%d) must be 4 to 64 in steps of 4'
    assert subprocess.run([tmp_path / "use"], check=True, capture_output=True, text=True).stdout.splitlines() == [
        "taken", "taken", a, a, b, b, "the model holds only where mod(b, a) is 0", a, a, "dims is null"]


def test_what_takes_no_time_is_compiled_to_be_small(exported, quantc, tmp_path):
    """Positions are worked out by functions for size, layers by functions for speed."""
    _, _, path, symbols = exported("decoder")
    sizes = ["--dim", f"{symbols['batch']}=1..8", "--dim", f"{symbols['seq']}=1..128"]
    quantc("compile", path, "-o", tmp_path / "c", "--name", "net", *sizes, "--disable-pass", "store_tables")
    made = re.findall(r"static (QC_\w+) void \w+\([^{]*\{\n[^\n]*\};\n  (qk_\w+)\(", (tmp_path / "c" / "net.c").read_text())
    kinds = {kind: {kernel for k, kernel in made if k == kind} for kind in ("QC_RARE", "QC_NOINLINE")}
    assert {"qk_sequence", "qk_cast_i64_f32"} <= kinds["QC_RARE"]
    assert {"qk_attention_f32", "qk_gemm_f32", "qk_norm_f32"} <= kinds["QC_NOINLINE"]


def test_the_examples_of_the_pages(quantc, root, tmp_path):
    """What docs/sizes.md and docs/sizes-buckets.md show of attend.ir is what a reader gets."""
    page, buckets = ((root / "docs" / f"{name}.md").read_text() for name in ("sizes", "sizes-buckets"))
    blocks = re.findall(r"```c?\n(.*?)```", page + buckets, re.S)
    (tmp_path / "attend.ir").write_text(next(b for b in blocks if b.startswith("graph (")))
    shown = [b for b in blocks if b.startswith("$ quantc compile attend.ir")]
    assert len(shown) == 2
    for block in shown:
        command, *lines = block.splitlines()
        said = quantc(*command.split()[2:], "--force", cwd=tmp_path).stdout.splitlines()
        assert [line for line in lines if line != "..." and line not in said] == []
        if block is shown[0]:
            header = (tmp_path / "out" / "attend.h").read_text()
            assert next(b for b in blocks if b.startswith("#define ATTEND_DIMS")) in header
    said = quantc("compile", "attend.ir", "-o", "long", "--dim", "batch=1..8", "--dim", "seq=1..65536", cwd=tmp_path).stdout
    arena = int(re.search(r"arena (\d+)", said)[1])
    assert f"arena of {arena:,} bytes" in page
