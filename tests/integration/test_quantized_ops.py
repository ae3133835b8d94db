"""Quantized forms from a model to numbers: calibrate, run the rules, compare with float; interpreter = C."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
datasets = pytest.importorskip("sklearn.datasets")


def export(module, example, path):
    torch.export.save(torch.export.export(module.eval(), (torch.tensor(example),)), path)
    return path


def outputs(quantc, model, data, out, *options):
    quantc("run", model, "-i", data, "-o", out, *options)
    arrays = np.load(out)
    return arrays[arrays.files[0]]


def psnr(got, want):
    return -20 * np.log10(np.sqrt(np.mean((got - want) ** 2)) / (want.max() - want.min()))


class Rows(torch.nn.Module):
    """An 8x8 digit read row by row."""

    def __init__(self, kind):
        super().__init__()
        self.rnn = getattr(torch.nn, kind)(8, 24, batch_first=True)
        self.head = torch.nn.Linear(24, 10)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_digits_as_rows(quantc, tmp_path, kind):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = datasets.load_digits()
    images, labels = (digits.images / 16).astype(np.float32), digits.target
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1300], order[1300:]
    net = Rows(kind)
    step = torch.optim.Adam(net.parameters(), lr=1e-2)
    x, y = torch.tensor(images[train]), torch.tensor(labels[train])
    for _ in range(12):
        for batch in torch.randperm(len(x)).split(64):
            step.zero_grad()
            torch.nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
            step.step()
    model = export(net, images[test], tmp_path / "rows.pt2")
    few = export(net, images[train][:64], tmp_path / "few.pt2")
    np.savez(tmp_path / "few.npz", in_0=images[train][:64])
    np.savez(tmp_path / "test.npz", in_0=images[test])
    quantc("calibrate", few, "--data", tmp_path / "few.npz", "-o", tmp_path / "rules.toml", "--per-channel", "--reference")
    plain = outputs(quantc, model, tmp_path / "test.npz", tmp_path / "float.npz")
    codes = outputs(quantc, model, tmp_path / "test.npz", tmp_path / "int8.npz", "--rules", tmp_path / "rules.toml",
                    "--require-integer")
    right = [np.mean(o.argmax(1) == labels[test]) for o in (plain, codes)]
    assert right[0] > 0.93
    assert right[1] >= right[0] - 0.005
    quantc("validate", few, "-i", tmp_path / "few.npz", "--rules", tmp_path / "rules.toml")
    table = quantc("explain", model, "--rules", tmp_path / "rules.toml").stdout
    assert f"q{kind.lower()}" in table and "0 float" in table


class Floats(torch.nn.Module):
    """Ops whose quantized forms compute in float between codes, and those around them that do not."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.group = torch.nn.GroupNorm(2, 8)
        self.first = torch.nn.Linear(8, 16)
        self.layer = torch.nn.LayerNorm(16)
        self.rms = torch.nn.RMSNorm(16)
        self.last = torch.nn.Linear(16, 6)
        with torch.no_grad():
            for norm in (self.group, self.layer, self.rms):
                norm.weight.uniform_(0.5, 1.5)

    def forward(self, x):
        y = torch.nn.functional.silu(self.group(self.conv(x)))
        y = torch.nn.functional.interpolate(y, scale_factor=2, mode="bilinear")
        y = torch.nn.functional.avg_pool2d(y, 2, ceil_mode=True).mean((2, 3))
        y = torch.nn.functional.gelu(self.layer(self.first(y)))
        return torch.softmax(self.last(self.rms(y) + y), -1)


@pytest.mark.parametrize("activations, least", [("int8", 30), ("int16", 70)])
def test_forms_that_compute_in_float(quantc, tmp_path, activations, least):
    torch.manual_seed(1)
    data = np.random.default_rng(2).normal(size=(8, 3, 9, 9)).astype(np.float32)
    model = export(Floats(), data, tmp_path / "floats.pt2")
    np.savez(tmp_path / "x.npz", in_0=data)
    rules = tmp_path / "rules.toml"
    quantc("calibrate", model, "--data", tmp_path / "x.npz", "-o", rules, "--per-channel", "--reference",
           "--activations", activations)
    plain = outputs(quantc, model, tmp_path / "x.npz", tmp_path / "float.npz")
    codes = outputs(quantc, model, tmp_path / "x.npz", tmp_path / "codes.npz", "--rules", rules)
    assert psnr(codes, plain) > least
    quantc("validate", model, "-i", tmp_path / "x.npz", "--rules", rules)
    listed = quantc("run", model, "-i", tmp_path / "x.npz", "-o", tmp_path / "no.npz", "--rules", rules,
                    "--require-integer", status=1).stderr
    for op in ("softmax", "layer_norm", "group_norm", "rms_norm"):
        assert op in listed
