"""A decoder block with grouped queries, as PyTorch exports it: a quantize for each value that products read, one product for
queries, keys and values and one for gate and up, and the bits of the block without these passes."""
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

WIDTH, HEADS, GROUPS, HEAD, INNER = 24, 4, 2, 8, 40
PASSES = ("lift_quantize", "merge_products")
RULES = {
    "per token": "kind = 'dynamic'\nper_token = true\nper_channel = true\nsymmetric = true\n",
    "per tensor": "kind = 'dynamic'\n",
    "weights": "kind = 'weight_only'\ngroup = 8\n",
}


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda n, m: torch.nn.Linear(n, m, bias=False)
        self.norm1, self.norm2 = torch.nn.RMSNorm(WIDTH), torch.nn.RMSNorm(WIDTH)
        self.q, self.k, self.v = linear(WIDTH, HEADS * HEAD), linear(WIDTH, GROUPS * HEAD), linear(WIDTH, GROUPS * HEAD)
        self.o, self.gate, self.up, self.down = linear(HEADS * HEAD, WIDTH), linear(WIDTH, INNER), linear(WIDTH, INNER), linear(INNER, WIDTH)

    def forward(self, x):
        b, s, _ = x.shape
        y = self.norm1(x)
        q = self.q(y).view(b, s, HEADS, HEAD).transpose(1, 2)
        k, v = (p(y).view(b, s, GROUPS, HEAD).transpose(1, 2).repeat_interleave(HEADS // GROUPS, 1) for p in (self.k, self.v))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, HEADS * HEAD))
        y = self.norm2(x)
        return x + self.down(torch.nn.functional.silu(self.gate(y)) * self.up(y))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("merged")
    torch.manual_seed(5)
    x = torch.randn(2, 7, WIDTH)
    torch.export.save(torch.export.export(Block().eval(), (x,)), str(made / "block.pt2"))
    np.savez(made / "x.npz", x=x.numpy())
    for name, text in RULES.items():
        (made / f"{name}.toml").write_text("[[rule]]\npattern = '.*'\nop = 'linear'\n" + text)
    return made


def nodes(quantc, folder, rules, *flags):
    said = json.loads(quantc("explain", folder / "block.pt2", "--rules", folder / f"{rules}.toml", "--json", *flags).stdout)
    return [n["op"] for n in said["nodes"]], said["remarks"]


def without(passes):
    return [word for name in passes for word in ("--disable-pass", name)]


@pytest.mark.parametrize("rules", RULES)
def test_products_are_merged(quantc, folder, rules):
    ops, remarks = nodes(quantc, folder, rules, *without(["fuse_quantize"]))
    assert ops.count("qlinear") == 4, ops
    assert "merge_products: 5 products became 2" in remarks
    assert ops.count("quantize_dynamic") == (0 if rules == "weights" else 4), ops
    before, _ = nodes(quantc, folder, rules, *without([*PASSES, "fuse_quantize"]))
    assert before.count("qlinear") == 7 and before.count("quantize_dynamic") == (0 if rules == "weights" else 4)  # equal ones of a value are one


# Rules of queries, keys and values that keep them apart, and what explain says of each pair.
TOKEN, TENSOR = RULES["per token"], RULES["per tensor"]
GROUPS_OF = "kind = 'weight_only'\ngroup = {}\n"
CODES = "i8 q(-127, 127, axis=2, group=24, scale=dynamic, zero=dynamic)", "u8 q(0, 255, scale=dynamic, zero=dynamic)"
APART = {
    "operands": ((TOKEN, TENSOR, GROUPS_OF.format(8)), {
        ("k", "q"): f"it reads {CODES[1]}, the other {CODES[0]}",
        ("v", "q"): f"it reads f32, the other {CODES[0]}",
        ("v", "k"): f"it reads f32, the other {CODES[1]}"}),
    "weights": ((GROUPS_OF.format(8), GROUPS_OF.format(4), "kind = 'weight_only'\ngroup = 8\nweight_dtype = 'int4'\n"), {
        ("k", "q"): "its scales of weights: f32 for groups of 4, the other's: f32 for groups of 8",
        ("v", "q"): "its codes of weights: i4 -8..7, the other's: i8 -127..127",
        ("v", "k"): "its codes of weights: i4 -8..7, the other's: i8 -127..127; "
                    "its scales of weights: f32 for groups of 8, the other's: f32 for groups of 4"}),
}


@pytest.mark.parametrize("kind", APART)
def test_what_keeps_products_apart(quantc, folder, kind):
    """Every pair of products of one value that did not become one is named, with what differs and nothing else."""
    rules, pairs = APART[kind]
    (folder / "apart.toml").write_text("".join(f"[[rule]]\npattern = '{name}'\nop = 'linear'\n{text}" for name, text in zip("qkv", rules)))
    _, remarks = nodes(quantc, folder, "apart")
    said = [r for r in remarks if "stays apart from qlinear" in r]
    assert said == [f"merge_products: qlinear '{a}' stays apart from qlinear '{b}', which reads the same value: {why}"
                    for (a, b), why in pairs.items()]


def test_float_products_stay_apart(quantc, folder):
    (folder / "apart.toml").write_text(f"[[rule]]\npattern = 'gate'\nop = 'linear'\n{TOKEN}")
    _, remarks = nodes(quantc, folder, "apart")
    assert [r for r in remarks if r.startswith("merge_products")] == [
        "merge_products: qlinear 'gate' stays apart from linear 'up', which reads the same value: linear 'up' is a product of floats"]


@pytest.mark.parametrize("rules", RULES)
def test_bits_stay(quantc, folder, rules, tmp_path):
    answers = []
    for i, passes in enumerate(([], PASSES, PASSES[:1], PASSES[1:])):
        quantc("run", folder / "block.pt2", "--rules", folder / f"{rules}.toml", "-i", folder / "x.npz", "-o",
               tmp_path / f"{i}.npz", *without(passes))
        answers.append(list(np.load(tmp_path / f"{i}.npz").values())[0])
    assert all(a.tobytes() == answers[0].tobytes() for a in answers)


def test_layers_are_analyzed_one_by_one(quantc, folder):
    said = json.loads(quantc("analyze", folder / "block.pt2", "--rules", folder / "per token.toml", "--data", folder / "x.npz", "--json").stdout)
    assert len([layer for layer in said["layers"] if layer["op"] == "qlinear" and 20 < layer["cumulative"]["sqnr_db"] < 80]) == 7, said["layers"]
