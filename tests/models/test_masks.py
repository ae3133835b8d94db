"""Masks that depend on sizes alone are no tensors: attention has them as a window, whatever the sizes, and so sequences may be long."""
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import transformers as hf  # noqa: E402
from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402

from tests.models.test_free_sizes import DYNAMIC, Compiled, interpreted  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4)
LONG = 65536


class First(nn.Module):
    def __init__(self, net, **more):
        super().__init__()
        self.net, self.more = net, more

    def forward(self, ids):
        return self.net(ids, **self.more)[0]


def decoder(net, config, **more):
    return First(net(config(**SIZES, num_key_value_heads=2, max_position_embeddings=LONG, **more)), use_cache=False, return_dict=False)


# The network, and what its attention says of the mask.
NETWORKS = {
    "bert": (lambda: First(hf.BertModel(hf.BertConfig(**SIZES, max_position_embeddings=LONG), add_pooling_layer=False), return_dict=False), ""),
    "llama": (lambda: decoder(hf.LlamaForCausalLM, hf.LlamaConfig), "right = 0, "),
    "mistral": (lambda: decoder(hf.MistralForCausalLM, hf.MistralConfig, sliding_window=7), "left = 6, right = 0, "),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Each network as a .pt2 file, and the symbols of its batch and its sequence."""
    made = {}

    def get(name):
        if name not in made:
            torch.manual_seed(1)
            module = NETWORKS[name][0]().eval()
            path = tmp_path_factory.mktemp("masks") / f"{name}.pt2"
            ranges = {0: Dim("batch", min=1, max=8), 1: Dim("seq", min=1, max=LONG)}
            with torch.no_grad():
                program = torch.export.export(module, (torch.randint(3, 64, (3, 21)),), dynamic_shapes=(ranges,), strict=False)
            torch.export.save(program, path)
            value = next(n for n in program.graph.nodes if n.op == "placeholder" and n.name == "ids").meta["val"]
            made[name] = module, path, [str(d) for d in value.shape]
        return made[name]

    return get


@pytest.mark.parametrize("name", NETWORKS)
def test_long_sequences_compile_and_no_mask_is_left(name, exported, quantc, tmp_path):
    module, path, (batch, seq) = exported(name)
    window = NETWORKS[name][1]
    for length in ("1..65536", "21", "600", "65536"):  # with numbers constants are folded before any pass, or left as nodes
        flags = ["--dim", f"{batch}=1", "--dim", f"{seq}={length}"]
        text = quantc("inspect", path, "--ir", *flags).stdout
        found = re.findall(r"= attention\(([^)]*)\) \{(.*?)joined = true\}", text)
        assert found and "bool[" not in text
        for operands, attributes in found:
            assert len(operands.split(", ")) == 3 and attributes == window
    quantc("compile", path, "-o", tmp_path / "c", "--dim", f"{batch}=1", "--dim", f"{seq}=1..65536")


@pytest.mark.parametrize("name, rules, spec", [("mistral", None, "1..65536"), ("mistral", DYNAMIC, "1..64:buckets=16,64"), ("llama", DYNAMIC, "1..64")])
def test_windows_have_the_bits_of_masks(name, rules, spec, exported, quantc, tmp_path):
    """A window is what a mask of numbers is: PyTorch's answer, and the bits of the program for each size."""
    module, path, (batch, seq) = exported(name)
    given = []
    if rules:
        (tmp_path / "rules.toml").write_text(rules)
        given = ["--rules", tmp_path / "rules.toml"]
    quantc("compile", path, "-o", tmp_path / "c", "--name", "net", "--verify", "--plan", "smallest", "--dim", f"{batch}=1..2", "--dim", f"{seq}={spec}", *given)
    net = Compiled(tmp_path / "c")
    for sizes in ((1, 1), (2, 6), (1, 7), (2, 8), (1, 40), (2, 64)):
        x = torch.randint(3, 64, sizes)
        want = interpreted(quantc, path, x.numpy(), tmp_path, *given)
        if not rules:
            with torch.no_grad():
                wanted = module(x).numpy()
            np.testing.assert_allclose(want, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())
        status, got, _ = net.run(x.numpy(), {batch: sizes[0], seq: sizes[1]}, want)
        assert status == 0
        np.testing.assert_array_equal(got.view("u4"), want.view("u4"), err_msg=str(sizes))
