"""Batch norms that no convolution absorbs compute on codes: pre-activation networks, and a head after pooling."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn


class Block(nn.Module):
    """Norm, activation, convolution, twice; the sum beside it goes on unnormalised."""

    def __init__(self, channels):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(torch.relu(self.norm1(x)))
        return x + self.conv2(torch.relu(self.norm2(y)))


class PreActivation(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(Block(channels), Block(channels))
        self.norm = nn.BatchNorm2d(channels)
        self.flat = nn.BatchNorm1d(channels)
        self.head = nn.Linear(channels, 10)

    def forward(self, x):
        y = torch.relu(self.norm(self.blocks(self.stem(x))))
        return self.head(torch.relu(self.flat(y.mean((2, 3)))))


def with_statistics(net):
    """Statistics of a trained network: channels of either sign, one that is off, one that hardly varies."""
    g = torch.Generator().manual_seed(3)
    for m in net.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            m.weight.data = torch.randn(m.weight.shape, generator=g) * 0.7
            m.bias.data = torch.randn(m.bias.shape, generator=g) * 0.4
            m.running_mean = torch.randn(m.bias.shape, generator=g) * 0.2
            m.running_var = torch.rand(m.bias.shape, generator=g) + 0.2
            m.weight.data[0], m.weight.data[1] = 0, 1e-6
    return net.eval()


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("norms")
    torch.manual_seed(0)
    net = with_statistics(PreActivation())
    x = torch.randn(8, 3, 12, 12)
    torch.export.save(torch.export.export(net, (x,)), folder / "net.pt2")
    np.savez(folder / "in.npz", x=x.numpy())
    np.savez(folder / "want.npz", y=net(x).detach().numpy())
    return folder


def calibrated(quantc, case, *flags):
    rules = case / f"{'_'.join(f.strip('-') for f in flags)}.toml"
    if not rules.exists():
        quantc("calibrate", case / "net.pt2", "--data", case / "in.npz", "-o", rules, "--per-channel", *flags)
    return rules


# arithmetic.md: Q63
@pytest.mark.parametrize("activations, least", [("int8", 25.0), ("int16", 55.0)])
def test_integers_everywhere(quantc, case, activations, least):
    rules = calibrated(quantc, case, "--activations", activations)
    out = case / f"{activations}.npz"
    quantc("run", case / "net.pt2", "-i", case / "in.npz", "-o", out, "--rules", rules, "--require-integer")
    got, want = np.load(out), np.load(case / "want.npz")["y"]
    error = got[got.files[0]] - want
    assert 10 * np.log10(np.sum(want**2) / np.sum(error**2)) > least


@pytest.mark.parametrize("flags", [[], ["--arithmetic", "exact,rescale=q31", "--no-float"], ["--arithmetic", "exact,bias=f32"]],
                         ids=["exact", "no_float", "float_bias"])
def test_same_bits(quantc, case, flags):
    rules = calibrated(quantc, case, "--activations", "int8")
    quantc("validate", case / "net.pt2", "--random", "1", "--rules", rules, "--cflags", "-O1", *flags)


def test_dead_channels_keep_their_addend(quantc, tmp_path):
    """A factor of 0 has codes whose accumulators are fine enough for the addend."""
    net = nn.Sequential(nn.ReLU(), nn.BatchNorm2d(3)).eval()
    net[1].weight.data = torch.tensor([0.0, 1e-30, 1.0])
    net[1].bias.data = torch.tensor([0.7, -0.7, 0.1])
    x = torch.rand(1, 3, 4, 4)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    np.savez(tmp_path / "in.npz", in_0=x.numpy())
    (tmp_path / "rules.toml").write_text("[[rule]]\npattern = '.*'\nscale = 0.01\ninput_scale = 0.01\n")
    quantc("run", tmp_path / "net.pt2", "-i", tmp_path / "in.npz", "-o", tmp_path / "y.npz", "--rules", tmp_path / "rules.toml",
           "--require-integer")
    got = np.load(tmp_path / "y.npz")
    assert np.abs(got[got.files[0]] - net(x).detach().numpy()).max() <= 0.0101
