"""Compiled code in the process, and the entry points of pytorch_to_c."""
import os
import copy
import warnings

import numpy as np
import pytest
import torch
from package import ROOT, RULES

import quantc

FAST = {"flags": "-O1"}


@pytest.fixture(scope="module")
def compiled(digits, tmp_path_factory):
    return digits.quantize(RULES).compile(tmp_path_factory.mktemp("out"), name="digits", **FAST)


def test_a_compiled_module_is_a_function(compiled, digits, image):
    y = digits.quantize(RULES).run(image)
    assert compiled(image).tobytes() == y.tobytes()
    assert isinstance(compiled(torch.from_numpy(image)), torch.Tensor)
    assert compiled.report.name == "digits" and compiled.report.arena_bytes > 0
    assert "digits" in repr(compiled) and compiled.outputs[0].name == "scores"
    t = compiled.benchmark(image, runs=7)
    assert t.runs == 7 and 0 < t.least <= t.median and t.least <= t.mean
    for bad in ((), (image[:, :, :4],), (image.astype(np.float64),), (image, image)):
        with pytest.raises(quantc.UserError):
            compiled(*bad)


def test_a_module_of_torch(digits, image):
    net = digits.quantize(RULES).to_module(**FAST)
    x = torch.from_numpy(image)
    assert isinstance(net, torch.nn.Module) and not list(net.parameters())
    sequential = torch.nn.Sequential(net, torch.nn.Softmax(dim=1))
    assert sequential(x).shape == (1, 10)
    again = copy.deepcopy(sequential)
    assert net(x).numpy().tobytes() == digits.quantize(RULES).run(image).tobytes()
    del net, sequential
    assert again[0](x).numpy().tobytes() == digits.quantize(RULES).run(image).tobytes()


def test_free_sizes_in_compiled_code():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
    graph = quantc.from_torch(net, (torch.randn(2, 4),), dynamic_shapes={"input": {0: torch.export.Dim("n", min=1, max=8)}})
    symbol = graph.inputs[0].shape[0]
    m = graph.with_options(dims={symbol: (1, 8)}, target="portable").compile(**FAST)
    for n in (1, 5, 8):
        x = torch.randn(n, 4)
        assert m(x).shape == (n, 3) and m(x).numpy().tobytes() == graph.run(x).numpy().tobytes()
    with pytest.raises(quantc.UserError):
        m(torch.randn(9, 4))


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2))

    def forward(self, x):
        self.sum.add_(x)
        return self.sum * 1


def test_state_is_kept_by_compiled_code():
    graph = quantc.from_torch(Counter(), (torch.ones(2),))
    x = torch.ones(2)
    assert graph.run(x).tolist() == [1, 1] and graph.run(x).tolist() == [1, 1]
    m = graph.compile(target="portable", **FAST)
    assert [m(x).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
    other = copy.deepcopy(m)
    assert [m(x).tolist(), m(x).tolist(), other(x).tolist()] == [[4, 4], [5, 5], [4, 4]]
    m.reset()
    assert m(x).tolist() == [1, 1] and other(x).tolist() == [5, 5]


def test_weights_in_a_file(digits, image):
    m = digits.compile(weights="file", target="portable", **FAST)
    assert m(image).tobytes() == digits.run(image).tobytes()


def test_files_of_others_stay(digits, tmp_path):
    (tmp_path / "digits.c").write_text("mine")
    with pytest.raises(quantc.UserError):
        digits.compile(tmp_path, name="digits", build=False)
    assert (tmp_path / "digits.c").read_text() == "mine"
    digits.compile(tmp_path, name="digits", build=False, force=True)


def test_cuda_is_written_but_not_built(digits, tmp_path):
    with pytest.raises(quantc.Unsupported):
        digits.compile(tmp_path / "a", target="cuda")


def test_warnings_are_warnings(tmp_path):
    class Nan(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.full((100,), float("nan")))

        def forward(self, x):
            return x + self.w

    graph = quantc.from_torch(Nan(), (torch.zeros(100),))
    with pytest.warns(quantc.QuantcWarning, match="NaN"):
        graph.compile(tmp_path / "a", build=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph.compile(tmp_path / "b", build=False)  # said once


@pytest.mark.parametrize("call", ["run", "__call__", "run_reference", "explain", "validate", "analyze", "report"])
def test_whatever_compiles_first_warns(image, tmp_path, call):
    """Passes run when their result is asked for: whoever asks first is warned, where the call stands, and nobody else."""
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\npattern = '.*linear.*'\ndtype = 'int8'\nscale = 0.05\n")
    graph = quantc.from_onnx(ROOT / "tests/models/digits.onnx", target="portable", rules_file=str(rules))
    arguments = {"explain": (), "analyze": ([image],), "report": (tmp_path / "r.html", [image])}.get(call, (image,))
    with pytest.warns(quantc.QuantcWarning, match="no input_scale") as warned:
        getattr(graph, call)(*arguments)
    assert len(warned) == 1 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(graph, call)(*arguments)
        graph.run(image)


def test_the_usage_example_of_pytorch_to_c(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    class MyModel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(1, 4, 3)
            self.fc1, self.fc2 = torch.nn.Linear(4 * 26 * 26, 16), torch.nn.Linear(16, 10)

        def forward(self, x):
            x = torch.relu(self.conv1(x.view(1, 1, 28, 28)))
            return self.fc2(torch.relu(self.fc1(torch.flatten(x, 1))))

    from quantc import CPrinter, QuantizationTransform, StaticQuantRule, compile_model

    # Define quantization rules
    rules = [
        # Quantize all linear layers to int8
        StaticQuantRule(
            pattern=r'.*fc.*',      # Match fc1, fc2, etc.
            dtype='int8',
            scale=0.05,             # User provides from calibration
            offset=0,               # zero_point
            per_channel=False
        ),

        # Quantize conv layers to int16
        StaticQuantRule(
            pattern=r'.*conv.*',
            dtype='int16',
            scale=0.01,
            offset=0,
            per_channel=True
        ),
    ]

    # Compile with quantization
    model = MyModel()
    example_input = torch.randn(1, 784)

    # Normal compilation gives float IR
    ir_graph = compile_model(model, example_input, "generated", verbose=False,
                             return_ir=True)

    # Apply quantization rules
    quant_transform = QuantizationTransform(rules)
    quantized_ir = quant_transform.apply(ir_graph)

    # Generate C code from quantized IR
    printer = CPrinter(quantized_ir)
    printer.generate_all("generated_quant")

    assert (tmp_path / "generated" / "model.c").exists() and (tmp_path / "generated_quant" / "model.c").exists()
    ops = [n.op for n in quantized_ir.explain().nodes]
    assert "qconv" in ops and "qlinear" in ops


def test_what_was_in_the_folder_before_is_not_built(digits, image, tmp_path):
    """Makefiles that make would prefer, rules it knows by itself, and objects that look newer than what was written."""
    mark = tmp_path / "mark"
    for name in ("GNUmakefile", "makefile"):
        (tmp_path / name).write_text(f"$(shell touch '{mark}')\nall libdigits.so:\n")
    (tmp_path / "Makefile.sh").write_text(f"all libdigits.so:\n\ttouch '{mark}'\n")
    for name in ("libdigits.so", "digits.o", "digits_weights.o", "Makefile.sh"):
        if not (tmp_path / name).exists():
            (tmp_path / name).write_text("no code")
        os.utime(tmp_path / name, (2**32, 2**32))
    assert digits.compile(tmp_path, name="digits")(image).tobytes() == digits.run(image).tobytes()
    assert not mark.exists()
