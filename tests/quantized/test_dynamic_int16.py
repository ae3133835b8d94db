"""Dynamic rules with codes of 16 bits: linear layers, convolutions, norms that write such codes, attention beside them."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn


class Network(nn.Module):
    """A convolution, a transformer block, a head."""

    def __init__(self, width=32):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = nn.Linear(width, 10, bias=False)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return self.head((x + self.down(nn.functional.gelu(self.up(self.norm2(x))))).mean(1))


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    torch.manual_seed(0)
    net, x = Network().eval(), torch.randn(2, 3, 16, 16)
    torch.export.save(torch.export.export(net, (x,)), folder / "net.pt2")
    np.savez(folder / "in.npz", x=x.numpy())
    np.save(folder / "want.npy", net(x).detach().numpy())
    return folder


def rules(case, *lines):
    path = case / "rules.toml"
    path.write_text("[[rule]]\npattern = '.*'\nkind = 'dynamic'\ndtype = 'int16'\n" + "".join(f"{line}\n" for line in lines))
    return path


# arithmetic.md: Q35
@pytest.mark.parametrize("lines, least", [([], 70.0), (["per_token = true", "per_channel = true"], 75.0),
                                          (["per_token = true", "per_channel = true", "weight_dtype = 'int8'"], 38.0)],
                         ids=["tensor", "token", "int8_weights"])
def test_near_float_and_the_same_bits(quantc, case, lines, least):
    path = rules(case, *lines)
    quantc("validate", case / "net.pt2", "--random", "1", "--rules", path, "--cflags", "-O1")
    quantc("run", case / "net.pt2", "-i", case / "in.npz", "-o", case / "y.npz", "--rules", path)
    got, want = np.load(case / "y.npz"), np.load(case / "want.npy")
    error = got[got.files[0]] - want
    assert 10 * np.log10(np.sum(want**2) / np.sum(error**2)) > least


def test_codes_of_16_bits_are_symmetric(quantc, case):
    """Every product with weights has codes i16 and no zero point; norms write them."""
    text = quantc("compile", case / "net.pt2", "-o", case / "out", "--force", "--rules", rules(case, "per_token = true"),
                  "--print-ir-after", "fuse_quantize").stdout
    products = [line for line in text.splitlines() if "= qlinear(" in line or "= qconv(" in line]
    assert len(products) == 6
    assert text.count("layer_norm_quantize_dynamic(") == 2 and "quantize_dynamic(" in text
    assert "to = i16, symmetric = true" in text and "to = u8" not in text and "to = i8" not in text


def test_what_cannot_be(quantc, case):
    refused = quantc("explain", case / "net.pt2", "--rules", rules(case, "attention = 'int8'"), status=1).stderr
    assert "attention" in refused and "8 bits" in refused
    path = rules(case)
    path.write_text(path.read_text().replace("int16", "uint16"))
    refused = quantc("explain", case / "net.pt2", "--rules", path, status=1).stderr
    assert "'uint16' is unknown: use one of int8, uint8, int16" in refused
