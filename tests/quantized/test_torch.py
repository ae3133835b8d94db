"""PT2E models in .pt2: the codes of every quantize equal PyTorch's, and networks stay within a step of the converted graph."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
torch = pytest.importorskip("torch")
pytest.importorskip("torchao")
import torch_models
from support import Cases, check

MODELS = {"residual_static": ("residual", False, False), "residual_reduced": ("residual", False, True),
          "layers_static": ("layers", False, False), "layers_dynamic": ("layers", True, False)}
INPUTS = 8


def arrays(tensors) -> list[np.ndarray]:
    return [t.detach().numpy() for t in tensors]


@pytest.fixture(scope="module")
def graphs():
    return {name: torch_models.converted(*how) for name, how in MODELS.items()}


def inputs_of(shape):
    torch.manual_seed(11)
    return [torch.randn(shape) * s for s in np.linspace(0.5, 1.5, INPUTS)]


def near_ties(x, scale, zero, lo, hi):
    """The values PyTorch saw, and as many within two units in the last place of half a step."""
    rng = np.random.default_rng(5)
    ties = ((rng.integers(lo - zero, hi - zero, x.shape) + 0.5) * scale).astype(np.float32)
    for _ in range(2):
        ties = np.where(rng.random(ties.shape) < 0.4, np.nextafter(ties, np.float32(np.inf)), ties)
        ties = np.where(rng.random(ties.shape) < 0.4, np.nextafter(ties, np.float32(-np.inf)), ties)
    return torch.cat([x, torch.from_numpy(ties)])


# arithmetic.md: P4
def test_codes_of_every_quantize(build, graphs, tmp_path):
    cases = Cases(build / "quantized_torch_codes")
    names = [name for name in MODELS if not name.endswith("dynamic")]
    for name in names:
        graph, shape = graphs[name]
        calls = torch_models.quantize_calls(graph, inputs_of(shape)[0])
        module = torch_models.Quantizes([(target, rest) for target, rest, _ in calls])
        feeds = tuple(near_ties(x, *rest[:4]) for _, rest, x in calls)
        path = tmp_path / f"{name}.pt2"
        torch.export.save(torch.export.export(module, feeds), path)
        cases.add(name, path, [(arrays(feeds), arrays(module(*feeds)))])
    outcomes = cases.run(build)
    for name in names:
        check(outcomes[name])


def steps_apart(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    return np.abs(got.astype(np.int64) - want.astype(np.int64))


# arithmetic.md: P5
@pytest.mark.parametrize("name", MODELS)
def test_network(quantc, graphs, tmp_path, name):
    graph, shape = graphs[name]
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(graph, (torch.zeros(shape),)), path)
    distances, got_floats, want_floats = [], [], []
    for x in inputs_of(shape):
        np.savez(tmp_path / "in.npz", in_0=x.numpy())
        quantc("run", path, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        got = list(np.load(tmp_path / "out.npz").values())
        want = arrays(graph(x))
        assert len(got) == len(want) and len(want) > 2
        distances += [steps_apart(a, b).reshape(-1) for a, b in zip(got[1:], want[1:])]
        got_floats.append(got[0])
        want_floats.append(want[0])
    distances = np.concatenate(distances)
    assert distances.max() <= 1
    assert np.count_nonzero(distances) <= 0.001 * distances.size
    # The results are floats: in steps of the 8-bit codes that would hold them. Less than a hundredth is float rounding.
    want = np.concatenate(want_floats)
    apart = np.abs(np.concatenate(got_floats) - want) / ((want.max() - want.min()) / 255)
    assert apart.max() <= 1
    assert np.count_nonzero(apart > 0.01) <= 0.001 * apart.size
