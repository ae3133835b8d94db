"""Resizing and sampling where frameworks disagree with the ONNX reference: as PyTorch and ONNX Runtime do it."""
import itertools

import numpy as np
import pytest

from tests.support import onnx_models
from tests.support.onnx_models import node, value, weight

torch = pytest.importorskip("torch")
F = torch.nn.functional
from tests.support.aten import Group, compare, export  # noqa: E402

SIZES = [(3, 5), (1, 1), (1, 4), (9, 13), (12, 3)]
FACTORS = [1.3, 0.6, (1.7, 0.45)]


def against_torch(functions, x, quantc, folder):
    module = Group(functions)
    compare(module, (x,), export(module, (x,)), quantc, folder)


def resizes(sizes, **options):
    return [lambda x, o=dict(size=s, mode=m, align_corners=c, **options): F.interpolate(x, **o)
            for s, m, c in itertools.product(sizes, ("bilinear", "bicubic"), (False, True))]


# arithmetic.md: S22
def test_antialiasing_begins_half_a_step_inside_the_corners(quantc, tmp_path):
    against_torch(resizes(SIZES, antialias=True), torch.randn(1, 2, 6, 8, generator=torch.Generator().manual_seed(1)), quantc, tmp_path)


# arithmetic.md: S22
def test_scale_factors(quantc, tmp_path):
    functions = [lambda x, o=dict(scale_factor=f, mode=m, recompute_scale_factor=r, align_corners=c): F.interpolate(x, **o)
                 for f, m, r in itertools.product(FACTORS, ("bilinear", "bicubic", "nearest", "nearest-exact"), (None, True))
                 for c in ((None,) if "nearest" in m else (False, True))]
    against_torch(functions, torch.randn(1, 2, 6, 8, generator=torch.Generator().manual_seed(2)), quantc, tmp_path)


# arithmetic.md: S24
@pytest.mark.parametrize("channels", [3, 6])
def test_bytes_are_rounded_after_each_axis(quantc, tmp_path, channels):
    x = torch.randint(0, 256, (1, channels, 6, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
    functions = resizes([(3, 5), (9, 13)]) + resizes([(3, 5), (9, 13)], antialias=True)
    functions += [lambda x, m=m: F.interpolate(x, scale_factor=(1.7, 0.45), mode=m) for m in ("bilinear", "bicubic")]
    against_torch(functions, x, quantc, tmp_path)


# arithmetic.md: S14
def test_doubles_are_interpolated_in_double_precision(quantc, tmp_path):
    """So are the points of a grid."""
    x = torch.randn(2, 2, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    functions = resizes(SIZES) + resizes(SIZES, antialias=True)
    functions += [lambda x, c=c: F.affine_grid(x[:, 0, :2, :3], (2, 1, 3, 7), align_corners=c) for c in (False, True)]
    against_torch(functions, x, quantc, tmp_path)


# arithmetic.md: S15
def test_sampling_at_no_place(quantc, tmp_path):
    nan, inf = float("nan"), float("inf")
    grid = torch.tensor([[[[nan, 0.3], [0.1, nan], [nan, 9.0], [0.2, -0.1], [0.1, inf]]]])
    functions = [lambda x, o=dict(mode=m, padding_mode=p, align_corners=c): F.grid_sample(x, grid, **o) for m, p, c in itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True))]
    against_torch(functions, torch.arange(1.0, 21.0).reshape(1, 1, 4, 5), quantc, tmp_path)


def attributes():
    """What a Resize may say; each with scales or sizes. Shrinking between corners by scales is left to the ONNX node tests."""
    positions = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    scales = [("scales", s) for s in ((1.3, 1.3), (0.6, 0.6), (0.37, 2.7), (0.2, 0.2))]
    sizes = [("sizes", s) for s in ((1, 1), (3, 5), (9, 13), (1, 13))]
    for mode, position, (kind, to) in itertools.product(("linear", "cubic", "nearest"), positions, scales + sizes):
        if position == "align_corners" and mode != "nearest" and kind == "scales" and min(to) < 1:
            continue
        for rounding in ("floor", "round_prefer_floor", "ceil") if mode == "nearest" else ("floor",):
            yield kind, to, dict(mode=mode, coordinate_transformation_mode=position, nearest_mode=rounding)
    for mode, position, exclude, (kind, to) in itertools.product(("linear", "cubic"), positions, (0, 1), scales[1:3] + sizes):
        yield kind, to, dict(mode=mode, coordinate_transformation_mode=position, antialias=1, exclude_outside=exclude)


# arithmetic.md: S23
def test_onnx_resize_is_that_of_onnx_runtime(quantc, tmp_path):
    ort = pytest.importorskip("onnxruntime")
    x = np.random.default_rng(0).standard_normal((1, 1, 6, 8)).astype(np.float32)
    cases = list(attributes())
    nodes, weights = [], []
    for i, (kind, to, given) in enumerate(cases):
        weights.append(weight(f"w{i}", np.array([1, 1, *to], np.float32 if kind == "scales" else np.int64)))
        nodes.append(node("Resize", ["x", "", f"w{i}"] if kind == "scales" else ["x", "", "", f"w{i}"], [f"y{i}"], **given))
    model = onnx_models.build(nodes, [value("x", x.shape)], [value(f"y{i}", None) for i in range(len(cases))], weights, 19)
    model.ir_version = 9
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "in.npz", x=x)
    quantc("run", tmp_path / "m.onnx", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    got = np.load(tmp_path / "out.npz")
    want = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    wrong = [c for i, (c, w) in enumerate(zip(cases, want))
             if w.shape != got[f"y{i}"].shape or not np.allclose(w, got[f"y{i}"], rtol=0, atol=2e-5)]
    assert not wrong
