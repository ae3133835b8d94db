"""Every way into a graph."""
import io
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from package import ROOT

import quantc

ONNX, PT2 = ROOT / "tests" / "models" / "digits.onnx", ROOT / "tests" / "models" / "digits.pt2"


@pytest.mark.parametrize("source", [str(ONNX), ONNX, ONNX.read_bytes(), bytearray(ONNX.read_bytes()), onnx.load(ONNX),
                                    io.BytesIO(ONNX.read_bytes())], ids=["text", "path", "bytes", "bytearray", "proto", "file"])
def test_from_onnx(source, digits, image):
    assert quantc.from_onnx(source).run(image).tobytes() == digits.run(image).tobytes()


def test_from_pt2(image):
    a, b = quantc.from_pt2(PT2), quantc.from_pt2(PT2.read_bytes())
    assert a.run(image).tobytes() == b.run(image).tobytes()
    assert a.run(image).tobytes() == a.run_reference(image).tobytes()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 5)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).mean((2, 3)))


def test_from_torch_and_from_exported_are_the_same():
    torch.manual_seed(1)
    net, x = Net().eval(), torch.randn(2, 3, 8, 8)
    graph = quantc.from_torch(net, (x,))
    exported = quantc.from_exported(torch.export.export(net, (x,)))
    assert graph.text() == exported.text()
    y = graph.run(x)
    assert isinstance(y, torch.Tensor)
    torch.testing.assert_close(y, net(x).detach(), rtol=1e-4, atol=1e-4)


def test_sizes_can_stay_free():
    batch = torch.export.Dim("batch", min=1, max=16)
    net = Net().eval()
    graph = quantc.from_torch(net, (torch.randn(2, 3, 8, 8),), dynamic_shapes={"x": {0: batch}})
    for n in (1, 5, 1):
        x = torch.randn(n, 3, 8, 8)
        torch.testing.assert_close(graph.run(x), net(x).detach(), rtol=1e-4, atol=1e-4)
    assert (graph.program_cache.misses, graph.program_cache.hits, graph.program_cache.count) == (2, 1, 2)


def test_errors_have_code_and_place(tmp_path):
    with pytest.raises(quantc.UserError) as e:
        quantc.from_onnx(tmp_path / "absent.onnx")
    assert e.value.code == "file" and e.value.loc.file.endswith("absent.onnx") and isinstance(e.value, ValueError)
    with pytest.raises(quantc.UserError) as e:
        quantc.from_onnx(b"nonsense")
    assert e.value.code == "format"
    with pytest.raises(quantc.UserError):
        quantc.from_onnx(7)
    closed = open(ONNX, "rb")
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        quantc.from_onnx(closed)
    node = onnx.helper.make_node("NoSuchOp", ["x"], ["y"], name="n", domain="")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [1])], [value("y", 1, [1])])
    with pytest.raises(quantc.Unsupported) as e:
        quantc.from_onnx(onnx.helper.make_model(graph))
    assert e.value.code == "unsupported_op" and "NoSuchOp" in str(e.value)
    with pytest.raises(quantc.UserError, match="unknown option 'tagret'"):
        quantc.from_onnx(ONNX, tagret="portable")


def test_a_graph_can_be_saved(digits, image, tmp_path):
    digits.save(tmp_path / "digits.ir")
    assert quantc.load(tmp_path / "digits.ir").run(image).tobytes() == digits.run(image).tobytes()


def test_torch_is_imported_only_where_it_is_needed():
    code = ("import time; t = time.perf_counter(); import quantc, sys; t = time.perf_counter() - t\n"
            "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
            f"g = quantc.from_onnx({str(ONNX)!r}); import numpy as np\n"
            "y = g.run(np.zeros((1, 1, 8, 8), np.float32)); assert y.shape == (1, 10) and 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_line_is_in_the_package(command, image, tmp_path, digits):
    assert command("--version").startswith("quantc ")
    np.savez(tmp_path / "in.npz", in_0=image)
    command("run", ONNX, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        assert out["scores"].tobytes() == digits.run(image).tobytes()
    done = subprocess.run([sys.executable, "-m", "quantc", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"quantc {quantc.__version__}\n"
