"""Tiny networks of PyPI's transformers with free sizes, float, dynamic and static W8A8: compiled once for all sizes, and once more with
buckets, they give the bits of the static model at sampled sizes, in C and in the interpreter, and float ones PyTorch's answers."""
import random
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import transformers as hf  # noqa: E402
from torch import nn  # noqa: E402

from tests.support.free_sizes import DYNAMIC, Compiled, export, interpreted  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=600)
SHARED = dict(SIZES, num_key_value_heads=2)
VIT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=16, patch_size=4, num_labels=10)
T5 = dict(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
RESNET = dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5)
FREE = {"batch": (0, 1, 8), "seq": (1, 1, 512)}


class Answer(nn.Module):
    """One of what a network returns."""

    def __init__(self, net, key="logits", **more):
        super().__init__()
        self.net, self.key, self.more = net, key, more

    def forward(self, x):
        return self.net(x, **self.more)[self.key]


def tokens(batch, seq):
    return torch.randint(3, 64, (batch, seq))


def image(batch, h=16, w=16):
    return torch.randn(batch, 3, h, w)


def hidden(net, config, **more):
    return lambda: Answer(net(config, **more), "last_hidden_state")


# The module, what makes inputs from sizes, for each dimension its axis and range, and buckets by the dimension they are for.
TEXT = ":buckets=40,512"
NETWORKS = {
    "bert": (hidden(hf.BertModel, hf.BertConfig(**SIZES), add_pooling_layer=False), tokens, FREE, {"seq": TEXT}),
    "roberta": (hidden(hf.RobertaModel, hf.RobertaConfig(**SIZES), add_pooling_layer=False), tokens, FREE, {"seq": TEXT}),
    "mistral": (lambda: Answer(hf.MistralForCausalLM(hf.MistralConfig(**SHARED, sliding_window=40)), use_cache=False), tokens, FREE, {"seq": TEXT}),
    "llama": (lambda: Answer(hf.LlamaForCausalLM(hf.LlamaConfig(**SHARED)), use_cache=False), tokens, FREE, {"seq": TEXT}),
    "t5": (hidden(hf.T5EncoderModel, hf.T5Config(**T5)), tokens, FREE, {"seq": TEXT}),
    "vit": (lambda: Answer(hf.ViTForImageClassification(hf.ViTConfig(**VIT))), image, {"batch": (0, 1, 8)}, {"batch": ":buckets=3,8"}),
    "resnet": (lambda: Answer(hf.ResNetForImageClassification(hf.ResNetConfig(**RESNET))), image,
               {"batch": (0, 1, 8), "h": (2, 33, 128), "w": (3, 33, 128)}, {"h": ":buckets=64,128", "w": ":buckets=128"}),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Each network as a .pt2 file, and the symbols that stand for its dimensions, by their names."""
    made = {}

    def get(name):
        if name not in made:
            torch.manual_seed(0)
            make, inputs, dims, _ = NETWORKS[name]
            module, path = make().eval(), tmp_path_factory.mktemp("free") / f"{name}.pt2"
            example = inputs(**{d: low + 11 if high > 8 else 3 for d, (_, low, high) in dims.items()})
            made[name] = module, path, export(module, example, dims, path)
        return made[name]

    return get


def sampled(dims, whole):
    """Sizes of 40 runs. Of the whole range: all at their largest, all at their least, and others; else each at its largest with the
    others small, and small ones, which take little time."""
    pick = random.Random(9)
    sizes = [{d: r[k] for d, r in dims.items()} for k in (2, 1)] if whole else [
        {d: high if d == one else low + (high > low) for d, (_, low, high) in dims.items()} for one in dims]
    while len(sizes) < 40:
        sizes.append({d: pick.randint(low, high if whole else min(high, low + 39)) for d, (_, low, high) in dims.items()})
    return sizes


def rules_of(kind, quantc, path, inputs, dims, folder):
    if kind == "float":
        return []
    if kind == "dynamic":
        (folder / "rules.toml").write_text(DYNAMIC)
    else:
        np.savez(folder / "data.npz", in_0=inputs(**{d: min(high, 48) for d, (_, _, high) in dims.items()}).numpy())
        quantc("calibrate", path, "--data", folder / "data.npz", "-o", folder / "rules.toml")
    return ["--rules", folder / "rules.toml"]


def compare(name, kind, flags, cflags, whole, static_sizes, exported, quantc, folder, ranges=None):
    """`ranges` are dimensions and buckets in place of the network's."""
    module, path, symbols = exported(name)
    inputs = NETWORKS[name][1]
    dims, buckets = ranges or NETWORKS[name][2:]
    given = rules_of(kind, quantc, path, inputs, dims, folder)

    def build(tag, text):
        sizes = [f for d in dims for f in ("--dim", f"{symbols[d]}={text(d)}")]
        quantc("compile", path, "-o", folder / tag, "--name", "net", *sizes, *given, *flags)
        return Compiled(folder / tag, cflags)

    free = build("free", lambda d: f"{dims[d][1]}..{dims[d][2]}")
    padded = build("padded", lambda d: f"{dims[d][1]}..{dims[d][2]}{buckets.get(d, '')}")
    for i, sizes in enumerate(sampled(dims, whole)):
        x = inputs(**sizes)
        want = interpreted(quantc, path, x.numpy(), folder, *given)  # of the static model: sizes are bound before any pass
        here = {symbols[d]: n for d, n in sizes.items()}
        programs = {"free": (free, here), "padded": (padded, here)}
        if i < static_sizes:
            programs["static"] = build(f"static_{i}", lambda d, at=sizes: at[d]), {}
        for what, (program, free_sizes) in programs.items():
            status, got, _ = program.run(x.numpy(), free_sizes, want)
            assert status == 0, (what, sizes)
            np.testing.assert_array_equal(got.view("u4"), want.view("u4"), err_msg=f"{what} at {sizes}")
        if kind == "float":
            with torch.no_grad():
                wanted = module(x).numpy()
            np.testing.assert_allclose(want, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max(), err_msg=str(sizes))


SMALL = ["--specialise", "size"]


@pytest.mark.parametrize("name, kind", [(name, kind) for name, kinds in {
    "bert": "float dynamic", "roberta": "float", "mistral": "float", "llama": "float static", "t5": "float dynamic", "vit": "float static",
    "resnet": "float static"}.items() for kind in kinds.split()])
def test_free_sizes_have_the_bits_of_the_static_network(name, kind, exported, quantc, tmp_path):
    compare(name, kind, SMALL, "-O2", False, 0, exported, quantc, tmp_path)


@pytest.mark.parametrize("kind", ["float", "dynamic", "static"])
def test_a_stored_table_of_two_free_axes(kind, exported, quantc, tmp_path):
    """T5's relative positions, which attention reads where they are: up to 1 MB they are stored."""
    ranges = {"batch": (0, 1, 4), "seq": (1, 1, 60)}, {"seq": ":buckets=40,60"}
    compare("t5", kind, SMALL, "-O2", False, 0, exported, quantc, tmp_path, ranges)


def arena(quantc, *flags):
    return int(re.search(r"arena (\d+) bytes", quantc("compile", *flags, "--name", "net").stdout)[1])


@pytest.mark.parametrize("kind", ["float", "dynamic", "static"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_arena_is_that_of_the_largest_sizes(name, kind, exported, quantc, tmp_path):
    """What follows from sizes alone is among the weights, as it is in a static program."""
    _, path, symbols = exported(name)
    _, inputs, dims, _ = NETWORKS[name]
    given = rules_of(kind, quantc, path, inputs, dims, tmp_path)
    for most in (40, 128, 512):
        highest = {symbols[d]: min(high, max(most, low)) for d, (_, low, high) in dims.items()}
        free = [f for d, (_, low, _) in dims.items() for f in ("--dim", f"{symbols[d]}={low}..{highest[symbols[d]]}")]
        numbers = [f for d in dims for f in ("--dim", f"{symbols[d]}={highest[symbols[d]]}")]
        ours, theirs = (arena(quantc, path, "-o", tmp_path / tag, *given, *sizes) for tag, sizes in (("free", free), ("static", numbers)))
        assert ours <= 1.02 * theirs, (most, ours, theirs)


def test_storing_tables_is_explained_and_can_be_left_out(exported, quantc, tmp_path):
    """LLaMA's cosines and sines are stored; T5's relative positions are larger than tables may be."""
    def flags(name):
        _, path, symbols = exported(name)
        return [path, *(f for d, (_, low, high) in FREE.items() for f in ("--dim", f"{symbols[d]}={low}..{high}"))]

    def remarks(name):
        return " ".join(quantc("explain", *flags(name)).stdout.split()).split("remark: ")[1:]

    stored, computed = (arena(quantc, *flags("llama"), "-o", tmp_path / str(len(off)), *off) for off in ([], ["--disable-pass", "store_tables"]))
    assert computed == stored + 2 * 16384
    assert [r.strip().split("' ")[1] for r in remarks("llama")] == 2 * ["is stored for the largest sizes, 16384 bytes"]
    assert [r.split("' ")[1].split(":")[0] for r in remarks("t5")] == ["is computed in every run"]


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["float", "dynamic", "static"])
@pytest.mark.parametrize("name", NETWORKS)
def test_all_kinds_of_all_networks(name, kind, exported, quantc, tmp_path):
    """Code for speed and this processor, sizes of the whole range, and static programs of some."""
    compare(name, kind, ["--target", "native"], "-O2", True, 3, exported, quantc, tmp_path)
