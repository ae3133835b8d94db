"""quantc.load of a compiled folder: C and CUDA, states, free sizes, pickles, torch.compile."""
import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from package import ROOT, RULES
from torch import nn
from torch.export import Dim

import quantc


@pytest.fixture(autouse=True)
def quick_builds(monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O0")


def test_a_folder_of_c(digits, image, tmp_path):
    made = digits.quantize(RULES).compile(tmp_path / "out", target="portable")
    loaded = quantc.load(tmp_path / "out")
    assert isinstance(loaded, quantc.CompiledModule) and repr(loaded) == repr(made) and loaded.folder == str(tmp_path / "out")
    np.testing.assert_array_equal(loaded(image), made(image))
    tensor = loaded(torch.from_numpy(image))
    assert isinstance(tensor, torch.Tensor) and np.array_equal(tensor.numpy(), made(image))
    assert [(p.name, p.type, p.shape) for p in loaded.inputs + loaded.outputs] == [(p.name, p.type, p.shape) for p in made.inputs + made.outputs]
    assert np.array_equal(loaded(image=image), made(image)) and np.array_equal(loaded({"image": image}), made(image))
    assert loaded.benchmark(image, runs=3).runs == 3


@pytest.mark.parametrize("options", [{"weights": "file"}, {"weights": "incbin"}, {"threads": True}, {"single_file": True}], ids=str)
def test_ways_of_compiling(digits, image, tmp_path, options):
    made = digits.compile(tmp_path / "out", target="portable", flags="-O0", **options)
    np.testing.assert_array_equal(quantc.load(str(tmp_path / "out"))(image), made(image))


def test_only_what_was_written_is_built(digits, image, tmp_path):
    """A project without a library is built, one whose source is newer again."""
    digits.compile(tmp_path / "out", target="portable", build=False, name="net")
    library = tmp_path / "out/libnet.so"
    assert not library.exists()
    np.testing.assert_array_equal(quantc.load(tmp_path / "out")(image), digits.run(image))
    first = library.stat().st_mtime_ns
    quantc.load(tmp_path / "out")
    assert library.stat().st_mtime_ns == first


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.tensor([5.0]))

    def forward(self, x):
        self.seen.add_(x.sum())
        return x + self.seen


def test_states_are_kept_copied_and_reset(tmp_path):
    x = torch.ones(2)
    quantc.from_torch(Counter(), (x,)).compile(tmp_path / "out", target="portable")
    m = quantc.load(tmp_path / "out")
    assert m(x).tolist() == [8, 8] and m(x).tolist() == [10, 10]
    other = copy.deepcopy(m)
    assert other(x).tolist() == [12, 12] and m(x).tolist() == [12, 12]
    m.reset()
    assert m(x).tolist() == [8, 8] and other(x).tolist() == [14, 14]


class Sizes(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], 1), (x @ x.transpose(1, 2)).sum(-1)


@pytest.fixture(scope="module")
def sized():
    a, b = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    axes = {"x": {0: Dim("batch", max=4), 1: Dim("left", max=8)}, "y": {0: Dim("batch", max=4), 1: Dim("right", max=8)}}
    return quantc.from_torch(Sizes(), (a, b), dynamic_shapes=axes)


RANGES = {"batch": (1, 4), "left": (1, 8), "right": (1, 8)}


@pytest.mark.parametrize("target", ["portable", "cuda"])
def test_free_sizes(sized, tmp_path, target):
    sized.compile(tmp_path / "out", build=False, target=target, dims=RANGES)
    m = quantc.load(tmp_path / "out", **({"host": True} if target == "cuda" else {}))
    assert [p.shape for p in m.inputs] == [["batch", "left", "4"], ["batch", "right", "4"]]
    assert m.outputs[1].shape == ["batch", "left"]
    for batch, left, right in ((1, 1, 1), (4, 8, 8), (3, 2, 7)):
        x, y = torch.randn(batch, left, 4), torch.randn(batch, right, 4)
        for got, wanted in zip(m(x, y), sized.run(x, y)):
            assert torch.equal(got, wanted) and got.shape == wanted.shape
    with pytest.raises(quantc.UserError, match="batch .*must be 1 to 4"):
        m(torch.randn(5, 2, 4), torch.randn(5, 2, 4))
    with pytest.raises(quantc.UserError, match=r"input 'y' is f32\[batch, right, 4\], got \[2, 2, 4\]"):
        m(torch.randn(3, 2, 4), torch.randn(2, 2, 4))


def test_wrong_arrays(digits, image, tmp_path):
    digits.compile(tmp_path / "out", target="portable", flags="-O0")
    m = quantc.load(tmp_path / "out")
    for arrays, named, text in (((image, image), {}, "takes 1 arrays, got 2"), ((), {"imgae": image}, "no input is named 'imgae'"),
                                ((image.astype(np.float64),), {}, "input 'image' is f32, got float64"), ((image[0],), {}, "got")):
        with pytest.raises(quantc.UserError, match=text):
            m(*arrays, **named)


def test_wrong_folders(tmp_path, digits):
    with pytest.raises(quantc.UserError):
        quantc.load(tmp_path)
    (tmp_path / "a.h").write_text("int f(void);\n")
    with pytest.raises(quantc.UserError, match="no header of a compiled model"):
        quantc.load(tmp_path)
    digits.compile(tmp_path / "out", target="portable", build=False)
    with pytest.raises(quantc.UserError, match="host=True is for code for GPUs"):
        quantc.load(tmp_path / "out", host=True)
    with pytest.raises(quantc.UserError, match="'target' is decided when a folder is compiled"):
        quantc.load(tmp_path / "out", target="portable")


def test_a_folder_of_cuda_on_the_host(digits, image, tmp_path):
    q = digits.quantize(RULES)
    q.compile(tmp_path / "out", build=False, target="cuda", weights="file")
    m = quantc.load(tmp_path / "out", host=True)
    np.testing.assert_array_equal(m(image), q.run(image))
    assert m.benchmark(image, runs=2).runs == 2 and m.report.macs == 452864
    again = pickle.loads(pickle.dumps(m))
    np.testing.assert_array_equal(again(image), q.run(image))


def test_a_state_on_the_device(tmp_path):
    x = torch.ones(2)
    quantc.from_torch(Counter(), (x,)).compile(tmp_path / "out", build=False, target="cuda")
    m = quantc.load(tmp_path / "out", host=True)
    assert m(x).tolist() == [8, 8] and m(x).tolist() == [10, 10]
    m.reset()
    assert m(x).tolist() == [8, 8]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tensors_of_the_device(digits, image, tmp_path):
    q = digits.quantize(RULES)
    q.compile(tmp_path / "out", build=False, target="cuda")
    m = quantc.load(tmp_path / "out")
    x = torch.from_numpy(image).cuda()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        on_side = m(x)
    y = m(x)
    assert y.is_cuda and np.array_equal(y.cpu().numpy(), q.run(image)) and torch.equal(y, on_side)
    np.testing.assert_array_equal(m(image), q.run(image))


def test_modules_are_pickled(digits, image, tmp_path):
    module = digits.to_module(target="portable", flags="-O0")
    x = torch.from_numpy(image)
    torch.save(module, tmp_path / "m.pt")
    wanted = module(x)
    del module  # its temporary folder goes
    assert torch.equal(torch.load(tmp_path / "m.pt", weights_only=False)(x), wanted)
    np.save(tmp_path / "x.npy", image)
    np.save(tmp_path / "y.npy", wanted.numpy())
    program = (f"import numpy as np, torch\nm = torch.load('{tmp_path}/m.pt', weights_only=False)\n"
               f"assert np.array_equal(m(torch.from_numpy(np.load('{tmp_path}/x.npy'))).numpy(), np.load('{tmp_path}/y.npy'))")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_torch_compile_breaks_the_graph_around_them(digits, image):
    net = nn.Sequential(digits.to_module(target="portable", flags="-O0"), nn.Softmax(-1))
    x = torch.from_numpy(image)
    compiled = torch.compile(net, backend="eager")
    assert torch.equal(compiled(x), net(x))


def test_reprs(digits, image):
    assert repr(digits.inputs[0]) == "<quantc.Port image: f32[1, 1, 8, 8]>"
    graph = quantc.from_onnx(ROOT / "tests/models/digits.onnx")
    graph.run(image)
    graph.run(image)
    assert repr(graph.program_cache).startswith("<quantc.CacheReport 1 programs of ") and " 1 misses, 0 evictions>" in repr(graph.program_cache)
