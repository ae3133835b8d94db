"""Every form of PyTorch's quantize and dequantize ops, and the ops that choose scales at run time: PyTorch's bits."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
torch = pytest.importorskip("torch")
pytest.importorskip("torchao")
import torch_models  # noqa: F401  registers the ops
from support import Cases, check

decomposed, torchao = torch.ops.quantized_decomposed, torch.ops.torchao
I8, U8 = torch.int8, torch.uint8
EPS = float(torch.finfo(torch.float32).eps)


class Call(torch.nn.Module):
    """A function of inputs, and of constants that the module holds."""

    def __init__(self, function, constants=()):
        super().__init__()
        self.function, self.count = function, len(constants)
        for i, c in enumerate(constants):
            self.register_buffer(f"c{i}", c)

    def forward(self, *inputs):
        return self.function(*inputs, *(getattr(self, f"c{i}") for i in range(self.count)))


def affine(mapping, block, dtype, keepdim=False, **limits):
    """Scales of blocks chosen at run time, the codes, and what they stand for."""
    def function(x):
        lo, hi = limits.get("lo"), limits.get("hi")
        scale, zero = torchao.choose_qparams_affine(x, mapping, block, dtype, lo, hi, None, None, torch.int32, keepdim)
        q = torchao.quantize_affine(x, block, scale, zero, dtype, lo, hi)
        return scale, zero, q, torchao.dequantize_affine(q, block, scale, zero, dtype, lo, hi)
    return function


def by_tokens(choose):
    def function(x):
        scale, zero = choose(x, I8)
        q = decomposed.quantize_per_token(x, scale, zero, -128, 127, I8)
        return scale, zero, q, decomposed.dequantize_per_token(q, scale, zero, -128, 127, I8, torch.float32)
    return function


def whole(choose, dtype, lo, hi):
    def function(x):
        scale, zero = choose(x, lo, hi, EPS, dtype)
        q = decomposed.quantize_per_tensor.tensor(x, scale, zero, lo, hi, dtype)
        return scale, zero, q, decomposed.dequantize_per_tensor.tensor(q, scale, zero, lo, hi, dtype)
    return function


def through_tensor(x, scale, zero):
    q = decomposed.quantize_per_tensor.tensor(x, scale, zero, 0, 127, U8)
    return q, decomposed.dequantize_per_tensor.tensor(q, scale, zero, 0, 127, U8)


def through_tensor2(x, scale, zero, lo, hi):
    q = decomposed.quantize_per_tensor.tensor2(x, scale, zero, lo, hi, I8)
    return q, decomposed.dequantize_per_tensor.tensor2(q, scale, zero, lo, hi, I8)


def through_affine(block):
    def function(x, scale, zero):
        q = torchao.quantize_affine(x, block, scale, zero, I8, -127, 127)
        return q, torchao.dequantize_affine(q, block, scale, zero, I8, -127, 127)
    return function


def through_groups(lo, hi, size):
    def function(x, scale, zero):
        q = decomposed.quantize_per_channel_group(x, scale, zero, lo, hi, I8, size)
        return q, decomposed.dequantize_per_channel_group(q, scale, zero, lo, hi, I8, size, torch.float32)
    return function


def fake_tensor(lo, hi):
    return lambda x: (torch.fake_quantize_per_tensor_affine(x, 0.037, lo + 5, lo, hi),)


def fake_tensors(x, scale, zero):
    return (torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 255),)


def fake_chosen(x):
    return (torch.fake_quantize_per_tensor_affine(x, x.abs().amax() / 127 + 0.01, number(3, torch.int32), -128, 127),)


def fake_channels(axis, lo, hi):
    return lambda x, scale, zero: (torch.fake_quantize_per_channel_affine(x, scale, zero, axis, lo, hi),)


def number(value, dtype=torch.int64):
    return torch.tensor(value, dtype=dtype)


SCALE = number([0.037], torch.float32)
GROUPS = torch.linspace(0.01, 0.3, 12)
CALLS = {
    "tensor": Call(through_tensor, [SCALE, number([17])]),
    "tensor2": Call(through_tensor2, [SCALE, number([-3]), number(-120), number(127)]),
    "choose_u8": Call(whole(decomposed.choose_qparams.tensor, U8, 0, 255)),
    "choose_reduced": Call(whole(decomposed.choose_qparams.tensor, U8, 0, 127)),
    "choose_symmetric": Call(whole(decomposed.choose_qparams_symmetric.tensor, I8, -127, 127)),
    "token": Call(by_tokens(decomposed.choose_qparams_per_token)),
    "token_asymmetric": Call(by_tokens(decomposed.choose_qparams_per_token_asymmetric)),
    "affine_tensor": Call(through_affine([6, 16]), [SCALE, number([5], torch.int32)]),
    "affine_channel": Call(through_affine([1, 16]), [GROUPS[:6], torch.arange(-3, 3)]),
    "affine_group": Call(through_affine([1, 8]), [GROUPS.reshape(6, 2), torch.arange(-6, 6).reshape(6, 2)]),
    "affine_blocks": Call(through_affine([3, 8]), [GROUPS[:4].reshape(2, 2), torch.arange(4).reshape(2, 2)]),
    "groups": Call(through_groups(-8, 7, 8), [GROUPS.reshape(6, 2), (torch.arange(12) - 6).reshape(6, 2)]),
    "groups_of_rows": Call(through_groups(-128, 127, 16), [GROUPS[:6].reshape(6, 1), torch.arange(-3, 3)]),
    "fake_i8": Call(fake_tensor(-128, 127)),
    "fake_u8": Call(fake_tensor(0, 255)),
    "fake_i4": Call(fake_tensor(-8, 7)),
    "fake_i16": Call(fake_tensor(-32768, 32767)),
    "fake_tensors": Call(fake_tensors, [SCALE, number([17], torch.int32)]),
    "fake_chosen": Call(fake_chosen),
    "fake_rows": Call(fake_channels(0, -127, 127), [GROUPS[:6], torch.arange(-3, 3, dtype=torch.int32)]),
    "fake_columns": Call(fake_channels(1, 0, 15), [torch.linspace(0.01, 0.3, 16), torch.arange(16, dtype=torch.int32)]),
    "choose_affine_tensor": Call(affine("ASYMMETRIC", [6, 16], U8)),
    "choose_affine_rows": Call(affine("ASYMMETRIC", [1, 16], I8)),
    "choose_affine_rows_kept": Call(affine("SYMMETRIC", [1, 16], I8, keepdim=True, lo=-127, hi=127)),
    "choose_affine_columns": Call(affine("SYMMETRIC", [6, 1], I8)),
    "choose_affine_groups": Call(affine("SYMMETRIC_NO_CLIPPING_ERR", [1, 4], I8, lo=-8, hi=7)),
    "choose_affine_blocks": Call(affine("ASYMMETRIC", [2, 8], U8, keepdim=True, lo=0, hi=15)),
}
# Also as PyTorch's own ops below them, which give a mask too.
LOWERED = ["fake_u8", "fake_tensors", "fake_rows"]


def samples():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(6, 16)).astype(np.float32)
    ties = ((rng.integers(-40, 40, (6, 16)) + 0.5) * float(SCALE)).astype(np.float32)
    return [torch.from_numpy(a) for a in (x, ties, np.abs(x) * 1e3, np.zeros_like(x), -np.abs(x) * np.float32(1e-30))]


@pytest.fixture(scope="module")
def outcomes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    cases = Cases(build / "quantized_torch_calls")
    for name, call in {**CALLS, **{f"{name}_lowered": CALLS[name] for name in LOWERED}}.items():
        path = folder / f"{name}.pt2"
        program = torch.export.export(call, (samples()[0],))
        if name.endswith("_lowered"):
            program = program.run_decompositions()
        torch.export.save(program, path)
        # Types as the file has them: PyTorch's own differ from those in one op.
        types = [n.meta["val"].dtype for n in program.graph.find_nodes(op="output")[0].args[0]]
        cases.add(name, path, [([x.numpy()], [t.to(k).numpy() for t, k in zip(call(x), types)]) for x in samples()])
    return cases.run(build)


# arithmetic.md: P4, M7
@pytest.mark.parametrize("name", [*CALLS, *(f"{name}_lowered" for name in LOWERED)])
def test_bits(outcomes, name):
    check(outcomes[name])
