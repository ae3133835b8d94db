"""What a model says about sizes and buffers: guards are checked, state can be inputs and outputs, a size can be left to each run."""
import ctypes
import json
import re
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402


class Halves(nn.Module):
    """Traced for a y twice as long as x, and an even x."""

    def forward(self, x, y):
        return x.reshape(-1, 2, 3).sum(0) * (1 if y.shape[0] == 2 * x.shape[0] else 2) + y.sum()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(3))
        self.register_buffer("x", torch.zeros(3))  # named like the input

    def forward(self, x):
        self.total += x
        self.x += 1
        return self.total * 2 + self.x


class Attention(nn.Module):
    """A block of a transformer with a causal mask and learned positions."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.positions = nn.Parameter(torch.randn(64, 32) * 0.1)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.head = nn.Linear(32, 10)

    def forward(self, tokens):
        n = tokens.shape[1]
        mask = torch.zeros(n, n).masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
        y = self.head(self.block(self.embed(tokens) + self.positions[:n], src_mask=mask))
        return y, y.mean(1)


class Signal(nn.Module):
    """Convolutions whose lengths are rounded quotients of the input's, a residual and a concatenation along time."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(3, 16, 5, stride=2, padding=2)
        self.norm = nn.BatchNorm1d(16)
        self.second = nn.Conv1d(16, 16, 3, padding=1)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        y = torch.cat([torch.relu(self.second(y) + y), y], 2)
        return self.head(y.mean(-1)), nn.functional.avg_pool1d(y, 2)


def export(module, inputs, dims, path):
    torch.export.save(torch.export.export(module.eval(), inputs, dynamic_shapes=dims), path)
    return path


def symbols(quantc, model):
    return re.findall(r'dim "(\w+)"', quantc("inspect", model, "--imported", "--ir").stdout)


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    auto = {0: Dim.AUTO}
    return export(Halves(), (torch.randn(4, 3), torch.randn(8)), {"x": auto, "y": auto},
                  tmp_path_factory.mktemp("halves") / "m.pt2")


def test_guards_of_bound_sizes(halves, quantc, tmp_path):
    """Sizes the model was not traced for are refused, bound by flags or by the arrays of a run."""
    symbol, = symbols(quantc, halves)
    quantc("compile", halves, "-o", tmp_path / "good", "--dim", f"{symbol}=6")
    done = quantc("compile", halves, "-o", tmp_path / "bad", "--dim", f"{symbol}=5", status=1)
    assert "error[dim]" in done.stderr and "the model holds only where" in done.stderr
    np.savez(tmp_path / "in.npz", x=np.zeros((5, 3), "float32"), y=np.zeros(10, "float32"))
    assert "error[dim]" in quantc("run", halves, "-i", tmp_path / "in.npz", status=1).stderr


class Nested(nn.Module):
    """Inputs in containers, guards of quotients and remainders of their sizes."""

    def forward(self, pair, named):
        n, m = pair[1].shape[0], named["Odd key"].shape[0]
        if (n // 3 + max(n, m)) % 4 == 1:
            return pair[0] + pair[1].sum()
        return pair[0] - named["Odd key"].sum()


def test_guards_of_nested_inputs(quantc, tmp_path):
    auto = {0: Dim.AUTO}
    model = export(Nested(), ((torch.randn(2), torch.randn(6)), {"Odd key": torch.randn(7)}),
                   {"pair": ({}, auto), "named": {"Odd key": auto}}, tmp_path / "m.pt2")
    n, m = symbols(quantc, model)
    assert "not checked" not in quantc("compile", "-v", model, "-o", tmp_path / "a", "--dim", f"{n}=6", "--dim", f"{m}=11").stdout
    done = quantc("compile", model, "-o", tmp_path / "b", "--dim", f"{n}=6", "--dim", f"{m}=8", status=1)
    assert "the model holds only where" in done.stderr


class Rounded(nn.Module):
    """A guard of a float made of a size."""

    def forward(self, x):
        return x + 1 if int(x.shape[0] * 1.5) == 9 else x


def test_guards_that_are_not_checked_are_named(quantc, tmp_path):
    model = export(Rounded(), (torch.randn(6, 4),), {"x": {0: Dim.AUTO}}, tmp_path / "m.pt2")
    symbol, = symbols(quantc, model)
    named = "import: guard not checked: math.trunc(1.5*torch.sym_float(L['x'].size()[0])) == 9"
    assert named in quantc("compile", "-v", model, "-o", tmp_path / "a", "--dim", f"{symbol}=6").stdout
    remarks = json.loads(quantc("explain", model, "--json", "--dim", f"{symbol}=6").stdout)["remarks"]
    assert remarks[0] == named
    for command in (["run", model, "--random", "1"], ["compile", model, "-o", tmp_path / "b"], ["validate", model, "--random", "1"]):
        assert f"m.pt2: warning: {named}" in quantc(*command, "--dim", f"{symbol}=6").stderr


def test_guards_of_free_sizes(halves, quantc, tmp_path):
    """Of a range, the sizes a guard excludes are refused by the generated code."""
    symbol, = symbols(quantc, halves)
    quantc("compile", halves, "-o", tmp_path, "--name", "net", "--dim", f"{symbol}=3..20")
    (tmp_path / "main.c").write_text("""#include "net.h"
#include <stdio.h>
int main(void) {
  static float x[60], y[40], out[6];
  _Alignas(64) static unsigned char arena[NET_ARENA_BYTES + 1];
  for (int64_t n = 2; n <= 21; ++n) printf("%d", net_run(x, y, out, arena, &n));
  printf(" %d", net_run(x, y, out, arena, NULL));
  return 0;
}
""")
    subprocess.run(["make", "-C", tmp_path, "libnet.a"], check=True, capture_output=True)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", "libnet.a", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert done.stdout == "33" + "03" * 8 + "03" + " 1"


def test_ranges_of_bound_sizes(quantc, tmp_path):
    model = export(nn.Linear(3, 2), (torch.zeros(4, 3),), ({0: Dim("b", min=2, max=9)},), tmp_path / "m.pt2")
    symbol, = symbols(quantc, model)
    for given in (f"{symbol}=10", f"{symbol}=1", f"{symbol}=2..10"):
        done = quantc("compile", model, "-o", tmp_path / "c", "--dim", given, status=1)
        assert "error[dim]" in done.stderr and "the model allows 2 to 9" in done.stderr


def test_state_as_inputs_and_outputs(quantc, tmp_path):
    torch.export.save(torch.export.export(Counter(), (torch.zeros(3),)), tmp_path / "m.pt2")
    np.savez(tmp_path / "in.npz", x=np.float32([1, 2, 3]), total=np.float32([10, 20, 30]), x_state=np.float32([4, 5, 6]))
    quantc("run", tmp_path / "m.pt2", "--state", "io", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    got = np.load(tmp_path / "out.npz")
    np.testing.assert_array_equal(got["total"], [11, 22, 33])
    np.testing.assert_array_equal(got["x"], [5, 6, 7])
    np.testing.assert_array_equal(got[got.files[0]], [27, 50, 73])
    quantc("validate", tmp_path / "m.pt2", "--state", "io", "-i", tmp_path / "in.npz", "-e", tmp_path / "out.npz", "--atol", "0")
    quantc("compile", tmp_path / "m.pt2", "--state", "io", "-o", tmp_path / "c", "--name", "net")
    header = (tmp_path / "c" / "net.h").read_text()
    assert "#define NET_STATE_BYTES 0" in header and "#define NET_INPUTS 3" in header and "#define NET_OUTPUTS 3" in header
    quantc("compile", tmp_path / "m.pt2", "-o", tmp_path / "kept", "--name", "net")
    assert "#define NET_INPUTS 1" in (tmp_path / "kept" / "net.h").read_text()


CASES = {
    "attention": (Attention, lambda n: torch.randint(0, 50, (1, n)), 1, (2, 40), (2, 3, 7, 8, 33, 40)),
    "signal": (Signal, lambda n: torch.randn(1, 3, n), 2, (8, 90), (8, 9, 31, 64, 90)),
}


STRICT = "-O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"


def header(folder):
    """Numbers the header defines, without the prefix."""
    return {k: int(v) for k, v in re.findall(r"#define NET_(\w+) (\d+)\n", (folder / "net.h").read_text())}


def invoke(net, inputs, like, sizes, n):
    """Calls the model with arrays and the size; the code it returns and the outputs, shaped as `like`."""
    arena = (ctypes.c_ubyte * (sizes["ARENA_BYTES"] + 64))()
    aligned = ctypes.addressof(arena) + -ctypes.addressof(arena) % 64
    outputs = [np.full_like(y, np.nan) for y in like]
    pointers = [(ctypes.c_void_p * len(a))(*[x.ctypes.data for x in a]) for a in (inputs, outputs)]
    return net.net_invoke(*pointers, ctypes.c_void_p(aligned), (ctypes.c_int64 * 1)(n)), outputs


@pytest.mark.parametrize("name, suffix, flags, rules", [
    ("attention", "pt2", [], None), ("attention", "onnx", ["--specialise", "size"], None), ("signal", "pt2", ["-O0"], None),
    ("signal", "onnx", [], None), ("attention", "pt2", [], "[[rule]]\npattern = '.*'\nop = 'linear'\nkind = 'dynamic'\n")])
def test_one_program_for_many_sizes(name, suffix, flags, rules, quantc, tmp_path):
    """Generated code for a range equals the interpreter bit for bit at every size tried, and PyTorch where nothing is quantized."""
    make, inputs, axis, (low, high), sizes = CASES[name]
    torch.manual_seed(0)
    module = make().eval()
    model, dims = tmp_path / f"m.{suffix}", ({axis: Dim("n", min=low, max=high)},)
    if suffix == "pt2":
        export(module, (inputs(high // 2),), dims, model)
        symbol, = symbols(quantc, model)
    else:
        pytest.importorskip("onnxscript")
        torch.onnx.export(module, (inputs(high // 2),), model, dynamic_shapes=dims, dynamo=True, verbose=False)
        symbol = "n"
    ranged = ["--dim", f"{symbol}={low}..{high}"]
    if rules:
        (tmp_path / "rules.toml").write_text(rules)
        ranged += ["--rules", tmp_path / "rules.toml"]
    quantc("compile", model, *ranged, "-o", tmp_path / "c", "--name", "net", *flags)
    subprocess.run(["make", "-C", tmp_path / "c", f"CFLAGS={STRICT}", "libnet.so"], check=True, capture_output=True)
    net = ctypes.CDLL(str(tmp_path / "c" / "libnet.so"))
    for n in sizes:
        x = inputs(n)
        with torch.no_grad():
            wanted = [y.numpy() for y in module(x)]
        np.savez(tmp_path / "in.npz", in_0=x.numpy())
        quantc("run", model, *ranged, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        with np.load(tmp_path / "out.npz") as arrays:
            reference = [arrays[k] for k in arrays.files]
        for y, want in [] if rules else zip(reference, wanted):
            np.testing.assert_allclose(y, want, rtol=0, atol=1e-5 * np.abs(want).max())
        code, got = invoke(net, [x.numpy()], reference, header(tmp_path / "c"), n)
        assert code == 0
        for y, want in zip(got, reference):
            np.testing.assert_array_equal(y.view("u4"), want.view("u4"), err_msg=f"{symbol} = {n}")
    for n in (low - 1, high + 1):
        assert invoke(net, [x.numpy()], reference, header(tmp_path / "c"), n)[0] == 3
    ranged[1] = f"{symbol}={high}"
    quantc("compile", model, *ranged, "-o", tmp_path / "fixed", "--name", "net", *flags)
    mask = 4 * high * high if name == "attention" else 0  # computed from the size, a constant of the static program
    assert header(tmp_path / "c")["ARENA_BYTES"] - mask <= 1.06 * header(tmp_path / "fixed")["ARENA_BYTES"]


def test_validate_of_a_range(quantc, tmp_path):
    """The recorded vectors of a range have one size, and pass with sanitizers; so does validate."""
    torch.manual_seed(1)
    model = export(Signal(), (torch.randn(1, 3, 20),), ({2: Dim("n", min=8, max=40)},), tmp_path / "m.pt2")
    symbol, = symbols(quantc, model)
    np.savez(tmp_path / "in.npz", in_0=np.random.default_rng(0).normal(size=(1, 3, 13)).astype("float32"))
    quantc("validate", model, "--dim", f"{symbol}=8..40", "-i", tmp_path / "in.npz", "--cflags", "-O1")
    quantc("compile", model, "--dim", f"{symbol}=8..40", "-o", tmp_path / "c", "--name", "net", "--vectors", tmp_path / "in.npz")
    done = subprocess.run(["make", "-C", tmp_path / "c", f"CFLAGS={STRICT} -fsanitize=address,undefined -fno-sanitize-recover=all", "test"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "bits equal" in done.stdout, done.stdout + done.stderr
    np.savez(tmp_path / "in.npz", in_0=np.zeros((1, 3, 41), "float32"))
    assert "error[dim]" in quantc("run", model, "--dim", f"{symbol}=8..40", "-i", tmp_path / "in.npz", status=1).stderr


def test_bad_ranges(quantc, tmp_path):
    model = export(nn.Linear(3, 2), (torch.zeros(4, 3),), ({0: Dim("b", min=2, max=9)},), tmp_path / "m.pt2")
    symbol, = symbols(quantc, model)
    for given, message in {f"{symbol}=5..": "is not NAME=SIZE", f"{symbol}=5..3": "cannot be 5..3", f"{symbol}=2..99999": "cannot be 2..99999",
                           "other=2..3": "no dimension is named 'other'"}.items():
        assert message in quantc("compile", model, "-o", tmp_path / "c", "--dim", given, status=1).stderr
    both = ["--dim", f"{symbol}=2..3", "--dim", "other=2..3"]
    assert "no dimension is named 'other'" in quantc("compile", model, "-o", tmp_path / "c", *both, status=1).stderr
    assert "cannot be 2..9:2" in quantc("compile", model, "-o", tmp_path / "c", "--dim", f"{symbol}=2..9:2", status=1).stderr
