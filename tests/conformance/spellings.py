"""Spellings of the ops that models write in many ways. Each family names the import rows that belong to it and lists
groups: one canonical text and every way of writing it, in PyTorch and in ONNX. See test_spellings.py."""
import math
from dataclasses import dataclass, field

import numpy as np
import torch
from onnx import helper, numpy_helper

F, A = torch.nn.functional, torch.ops.aten


def values(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype("float32")


@dataclass
class Group:
    """`torch` functions take the constants (as attributes of the first argument) and the inputs; `onnx` are texts of nodes
    (see `nodes`) that end in the value y."""
    canonical: str
    inputs: dict
    constants: dict = field(default_factory=dict)
    torch: list = field(default_factory=list)
    onnx: list = field(default_factory=list)


@dataclass
class Family:
    rows: str  # regular expression over "domain op" of every row of the family
    groups: list


X, Y = {"x": values(2, 4)}, {"x": values(2, 4), "y": values(2, 4, seed=1)}
IMAGE = {"x": values(1, 4, 6, 6)}
FILTER = {"w": values(1, 4, 3, 3), "b": values(1)}
ROWS = {"w": values(3, 4), "b": values(3)}
NORM = {"w": values(4, low=0.5), "b": values(4), "m": values(4), "v": values(4, low=0.1, seed=2)}
QKV = {"q": values(1, 2, 3, 4), "k": values(1, 2, 3, 4, seed=1), "v": values(1, 2, 3, 4, seed=2)}
ANGLES = {"x": values(1, 2, 3, 4), "c": values(1, 1, 3, 4), "s": values(1, 1, 3, 4, seed=1)}
HALF = {"c": values(3, 2), "s": values(3, 2, seed=1)}


def split_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def tanh_gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def norm_of(x, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt((x - mean).pow(2).mean(-1, keepdim=True) + eps)


FAMILIES = {
    "add": Family(r"aten add\.|onnx (Add|Sum)$", [
        Group("add(x, y)", Y, torch=[
            lambda m, x, y: x + y, lambda m, x, y: torch.add(x, y), lambda m, x, y: x.add(y),
            lambda m, x, y: x.clone().add_(y), lambda m, x, y: A.add.Tensor(x, y), lambda m, x, y: torch.add(x, y, alpha=1)],
            onnx=["y = Add(x, y)", "y = Sum(x, y)"]),
        Group("add(x, 2.0)", X, torch=[
            lambda m, x: x + 2.0, lambda m, x: 2.0 + x, lambda m, x: x + 2, lambda m, x: A.add.Scalar(x, 2.0),
            lambda m, x: x.clone().add_(2.0), lambda m, x: torch.add(x, 1.0, alpha=2)],
            onnx=["y = Add(x, 2.0)", "y = Add(2.0, x)"]),
        Group("add(x, mul(y, 2.0))", Y, torch=[
            lambda m, x, y: torch.add(x, y, alpha=2), lambda m, x, y: x.add(y, alpha=2.0),
            lambda m, x, y: x.clone().add_(y, alpha=2), lambda m, x, y: x + y * 2, lambda m, x, y: x + 2.0 * y],
            onnx=["t = Mul(y, 2.0); y = Add(x, t)", "t = Mul(2.0, y); y = Add(x, t)"]),
        Group("add(x, y){lo = 0.0}", Y, torch=[
            lambda m, x, y: F.relu(x + y), lambda m, x, y: torch.relu_(x + y), lambda m, x, y: (x + y).clamp_(min=0)],
            onnx=["t = Add(x, y); y = Relu(t)"])]),
    "sub": Family(r"aten (sub|subtract|rsub)\.|onnx Sub$", [
        Group("sub(x, y)", Y, torch=[
            lambda m, x, y: x - y, lambda m, x, y: torch.sub(x, y), lambda m, x, y: x.clone().sub_(y),
            lambda m, x, y: torch.subtract(x, y), lambda m, x, y: A.subtract.Tensor(x, y), lambda m, x, y: torch.rsub(y, x)],
            onnx=["y = Sub(x, y)"]),
        Group("sub(x, 2.0)", X, torch=[
            lambda m, x: x - 2.0, lambda m, x: A.sub.Scalar(x, 2.0), lambda m, x: A.subtract.Scalar(x, 2),
            lambda m, x: x.clone().sub_(2), lambda m, x: torch.sub(x, 1, alpha=2)],
            onnx=["y = Sub(x, 2.0)"]),
        Group("sub(2.0, x)", X, torch=[lambda m, x: 2.0 - x, lambda m, x: A.rsub.Scalar(x, 2.0)], onnx=["y = Sub(2.0, x)"])]),
    "mul": Family(r"aten (mul|multiply)\.|onnx Mul$", [
        Group("mul(x, y)", Y, torch=[
            lambda m, x, y: x * y, lambda m, x, y: torch.mul(x, y), lambda m, x, y: x.clone().mul_(y),
            lambda m, x, y: torch.multiply(x, y), lambda m, x, y: A.multiply.Tensor(x, y)], onnx=["y = Mul(x, y)"]),
        Group("mul(x, 2.0)", X, torch=[
            lambda m, x: x * 2.0, lambda m, x: 2 * x, lambda m, x: A.mul.Scalar(x, 2.0), lambda m, x: A.multiply.Scalar(x, 2.0),
            lambda m, x: x.clone().mul_(2)], onnx=["y = Mul(x, 2.0)", "y = Mul(2.0, x)"])]),
    "clamp": Family(r"aten (relu|relu6|hardtanh|clamp|clip|clamp_min|clamp_max)\.|onnx (Relu|Clip)$", [
        Group("clamp(x){lo = 0.0}", X, torch=[
            lambda m, x: F.relu(x), lambda m, x: x.relu(), lambda m, x: torch.relu_(x.clone()), lambda m, x: F.relu(x.clone(), inplace=True),
            lambda m, x: x.clamp(min=0), lambda m, x: x.clamp_min(0.0), lambda m, x: torch.clip(x, 0),
            lambda m, x: A.clamp_min.Tensor(x, torch.tensor(0.0)), lambda m, x: A.clamp.Tensor(x, torch.tensor(0.0)),
            lambda m, x: A.clip.Tensor(x, torch.tensor(0.0)), lambda m, x: F.hardtanh(x, 0.0, math.inf)],
            onnx=["y = Relu(x)", "y = Clip(x, 0.0)", "[6] y = Clip(x){min: 0.0}"]),
        Group("clamp(x){lo = 0.0, hi = 6.0}", X, torch=[
            lambda m, x: F.relu6(x), lambda m, x: A.relu6(x), lambda m, x: F.hardtanh(x, 0.0, 6.0), lambda m, x: x.clamp(0, 6),
            lambda m, x: x.clone().clamp_(0, 6), lambda m, x: torch.clip(x, 0.0, 6.0), lambda m, x: F.relu(x).clamp(max=6),
            lambda m, x: F.relu6(x.clone(), inplace=True)],
            onnx=["y = Clip(x, 0.0, 6.0)", "[6] y = Clip(x){min: 0.0, max: 6.0}", "t = Relu(x); y = Clip(t, , 6.0)"]),
        Group("clamp(x){lo = -1.0, hi = 1.0}", X, torch=[
            lambda m, x: F.hardtanh(x), lambda m, x: F.hardtanh_(x.clone()), lambda m, x: x.clamp(-1, 1),
            lambda m, x: x.clamp_min(-1).clamp_max(1)], onnx=["y = Clip(x, -1.0, 1.0)"]),
        Group("clamp(x){hi = 0.5}", X, torch=[
            lambda m, x: x.clamp(max=0.5), lambda m, x: x.clamp_max(0.5), lambda m, x: A.clamp_max.Tensor(x, torch.tensor(0.5))],
            onnx=["y = Clip(x, , 0.5)", "[6] y = Clip(x){max: 0.5}"])]),
    "linear": Family(r"aten (linear|addmm|mm)\.|onnx Gemm$|com.microsoft FusedGemm$", [
        Group("linear(x, w[3, 4], b[3])", X, ROWS, torch=[
            lambda m, x: F.linear(x, m.w, m.b), lambda m, x: x @ m.w.t() + m.b, lambda m, x: torch.addmm(m.b, x, m.w.t()),
            lambda m, x: torch.mm(x, m.w.t()) + m.b, lambda m, x: m.b + x.matmul(m.w.T), lambda m, x: torch.mm(x, m.w.t()).add_(m.b)],
            onnx=["y = Gemm(x, w, b){transB: 1}", "t = Transpose(w); y = Gemm(x, t, b)", "t = Transpose(w); u = MatMul(x, t); y = Add(u, b)",
                  "t = Transpose(w); u = MatMul(x, t); y = Add(b, u)", "y = com.microsoft:FusedGemm(x, w, b){transB: 1, activation: ''}"]),
        Group("linear(x, w[3, 4])", X, ROWS, torch=[
            lambda m, x: F.linear(x, m.w), lambda m, x: x @ m.w.t(), lambda m, x: torch.mm(x, m.w.t()), lambda m, x: A.linear(x, m.w)],
            onnx=["y = Gemm(x, w){transB: 1}", "t = Transpose(w); y = MatMul(x, t)"]),
        Group("linear(x, w[3, 4], b[3]){lo = 0.0}", X, ROWS, torch=[
            lambda m, x: F.relu(F.linear(x, m.w, m.b)), lambda m, x: F.linear(x, m.w, m.b).relu_()],
            onnx=["t = Gemm(x, w, b){transB: 1}; y = Relu(t)", "y = com.microsoft:FusedGemm(x, w, b){transB: 1, activation: 'Relu'}"])]),
    "matmul": Family(r"aten (bmm|matmul|linalg_matmul|baddbmm|mv|addmv)\.|onnx MatMul$|com.microsoft (FusedMatMul|TransposeMatMul)$", [
        Group("matmul(x, y)", {"x": values(2, 3, 4), "y": values(2, 4, 5)}, torch=[
            lambda m, x, y: x @ y, lambda m, x, y: torch.matmul(x, y), lambda m, x, y: torch.bmm(x, y), lambda m, x, y: x.bmm(y),
            lambda m, x, y: torch.linalg.matmul(x, y), lambda m, x, y: A.linalg_matmul(x, y), lambda m, x, y: x.__matmul__(y),
            lambda m, x, y: torch.baddbmm(torch.zeros(2, 3, 5), x, y, beta=0)],
            onnx=["y = MatMul(x, y)", "y = com.microsoft:FusedMatMul(x, y)", "y = com.microsoft:TransposeMatMul(x, y)"]),
        Group("matmul(x, transpose(y){perm = [0, 2, 1]})", {"x": values(2, 3, 4), "y": values(2, 5, 4)}, torch=[
            lambda m, x, y: x @ y.transpose(1, 2), lambda m, x, y: torch.bmm(x, y.mT)],
            onnx=["t = Transpose(y){perm: [0, 2, 1]}; y = MatMul(x, t)"]),
        Group("matmul(x, y){transpose_b = true}", {"x": values(2, 3, 4), "y": values(2, 5, 4)}, onnx=[
            "y = com.microsoft:FusedMatMul(x, y){transB: 1}", "y = com.microsoft:TransposeMatMul(x, y){transB: 1}"]),
        Group("matmul(x, y)", {"x": values(3, 4), "y": values(4)}, torch=[
            lambda m, x, y: torch.mv(x, y), lambda m, x, y: x @ y, lambda m, x, y: torch.matmul(x, y)], onnx=["y = MatMul(x, y)"]),
        Group("add(matmul(x, y), z)", {"x": values(3, 4), "y": values(4), "z": values(3)}, torch=[
            lambda m, x, y, z: torch.addmv(z, x, y), lambda m, x, y, z: x @ y + z, lambda m, x, y, z: torch.mv(x, y) + z],
            onnx=["t = MatMul(x, y); y = Add(t, z)"])]),
    "conv": Family(r"aten (conv[123]d|_?convolution)\.|onnx Conv$|com.microsoft FusedConv$", [
        Group("conv(x, w[1, 4, 3, 3], b[1]){strides = [1, 1], dilations = [1, 1], pads = [1, 1, 1, 1]}", IMAGE, FILTER, torch=[
            lambda m, x: F.conv2d(x, m.w, m.b, padding=1), lambda m, x: F.conv2d(x, m.w, m.b, padding="same"),
            lambda m, x: A.convolution(x, m.w, m.b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
            lambda m, x: A._convolution.deprecated(x, m.w, m.b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, False),
            lambda m, x: A._convolution(x, m.w, m.b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, False, False),
            lambda m, x: F.conv2d(x, m.w, None, padding=1) + m.b.view(1, -1, 1, 1)],
            onnx=["y = Conv(x, w, b){pads: [1, 1, 1, 1]}", "y = Conv(x, w, b){auto_pad: 'SAME_UPPER', kernel_shape: [3, 3]}",
                  "y = com.microsoft:FusedConv(x, w, b){pads: [1, 1, 1, 1], activation: ''}"]),
        Group("conv(x, w[1, 4, 3, 3], b[1]){strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0], lo = 0.0}", IMAGE, FILTER, torch=[
            lambda m, x: F.relu(F.conv2d(x, m.w, m.b)), lambda m, x: F.conv2d(x, m.w, m.b, padding="valid").relu_()],
            onnx=["t = Conv(x, w, b); y = Relu(t)", "y = com.microsoft:FusedConv(x, w, b){activation: 'Relu'}"]),
        Group("conv(x, w[5, 4, 3], b[5]){strides = [1], dilations = [1], pads = [1, 1]}", {"x": values(1, 4, 7)},
              {"w": values(5, 4, 3), "b": values(5)}, torch=[
            lambda m, x: F.conv1d(x, m.w, m.b, padding=1), lambda m, x: F.conv1d(x, m.w, m.b, padding="same"),
            lambda m, x: A.convolution(x, m.w, m.b, [1], [1], [1], False, [0], 1)], onnx=["y = Conv(x, w, b){pads: [1, 1]}"]),
        Group("conv(x, w[1, 2, 3, 3, 3], b[1]){strides = [1, 1, 1], dilations = [1, 1, 1], pads = [1, 1, 1, 1, 1, 1]}",
              {"x": values(1, 2, 4, 4, 4)}, {"w": values(1, 2, 3, 3, 3), "b": values(1)}, torch=[
            lambda m, x: F.conv3d(x, m.w, m.b, padding=1), lambda m, x: F.conv3d(x, m.w, m.b, padding="same")],
            onnx=["y = Conv(x, w, b){pads: [1, 1, 1, 1, 1, 1]}"])]),
    "batch norm": Family(r"aten (?!.*no_stats).*batch_norm.*\.|onnx BatchNormalization$", [
        Group("scale_shift(x, ?[4], ?[4])", IMAGE, NORM, torch=[
            lambda m, x: F.batch_norm(x, m.m, m.v, m.w, m.b), lambda m, x: A.batch_norm(x, m.w, m.b, m.m, m.v, False, 0.1, 1e-5, True),
            lambda m, x: A.native_batch_norm(x, m.w, m.b, m.m, m.v, False, 0.1, 1e-5)[0],
            lambda m, x: A._native_batch_norm_legit_no_training(x, m.w, m.b, m.m, m.v, 0.1, 1e-5)[0],
            lambda m, x: A._native_batch_norm_legit(x, m.w, m.b, m.m.clone(), m.v.clone(), False, 0.1, 1e-5)[0],
            lambda m, x: A._native_batch_norm_legit_functional(x, m.w, m.b, m.m, m.v, False, 0.1, 1e-5)[0],
            lambda m, x: A.cudnn_batch_norm(x, m.w, m.b, m.m, m.v, False, 0.1, 1e-5)[0]],
            onnx=["y = BatchNormalization(x, w, b, m, v)"]),
        Group("conv(x, ?[4, 4, 1, 1], ?[4]){strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]}", IMAGE, {**NORM, "f": values(4, 4, 1, 1)},
              torch=[lambda m, x: F.batch_norm(F.conv2d(x, m.f), m.m, m.v, m.w, m.b),
                     lambda m, x: A._native_batch_norm_legit_no_training(F.conv2d(x, m.f), m.w, m.b, m.m, m.v, 0.1, 1e-5)[0]],
              onnx=["t = Conv(x, f); y = BatchNormalization(t, w, b, m, v)"])]),
    "pooling": Family(r"aten _?(adaptive_)?(avg|max)_pool.*\.|onnx (Global)?(Average|Max)Pool$", [
        Group("max_pool(x){kernel = [2, 2], strides = [2, 2], dilations = [1, 1], pads = [0, 0, 0, 0]}", IMAGE, torch=[
            lambda m, x: F.max_pool2d(x, 2), lambda m, x: A.max_pool2d(x, [2, 2]), lambda m, x: A.max_pool2d_with_indices(x, [2, 2])[0],
            lambda m, x: F.max_pool2d(x, 2, stride=2, padding=0), lambda m, x: F.adaptive_max_pool2d(x, 3)],
            onnx=["y = MaxPool(x){kernel_shape: [2, 2], strides: [2, 2]}"]),
        Group("max_pool(x){kernel = [2], strides = [2], dilations = [1], pads = [0, 0]}", {"x": values(1, 4, 6)}, torch=[
            lambda m, x: F.max_pool1d(x, 2), lambda m, x: F.adaptive_max_pool1d(x, 3), lambda m, x: A.max_pool1d_with_indices(x, [2])[0]],
            onnx=["y = MaxPool(x){kernel_shape: [2], strides: [2]}"]),
        Group("max_pool(x){kernel = [2, 2, 2], strides = [2, 2, 2], dilations = [1, 1, 1], pads = [0, 0, 0, 0, 0, 0]}",
              {"x": values(1, 2, 4, 4, 4)}, torch=[
            lambda m, x: F.max_pool3d(x, 2), lambda m, x: F.adaptive_max_pool3d(x, 2), lambda m, x: A.max_pool3d_with_indices(x, [2])[0]],
            onnx=["y = MaxPool(x){kernel_shape: [2, 2, 2], strides: [2, 2, 2]}"]),
        Group("average_pool(x){kernel = [2, 2], strides = [2, 2], dilations = [1, 1], pads = [0, 0, 0, 0]}", IMAGE, torch=[
            lambda m, x: F.avg_pool2d(x, 2), lambda m, x: A.avg_pool2d(x, [2, 2], [2, 2]), lambda m, x: F.adaptive_avg_pool2d(x, 3),
            lambda m, x: A._adaptive_avg_pool2d(x, [3, 3])],
            onnx=["y = AveragePool(x){kernel_shape: [2, 2], strides: [2, 2]}"]),
        Group("average_pool(x){kernel = [2], strides = [2], dilations = [1], pads = [0, 0]}", {"x": values(1, 4, 6)}, torch=[
            lambda m, x: F.avg_pool1d(x, 2), lambda m, x: F.adaptive_avg_pool1d(x, 3)],
            onnx=["y = AveragePool(x){kernel_shape: [2], strides: [2]}"]),
        Group("average_pool(x){kernel = [2, 2, 2], strides = [2, 2, 2], dilations = [1, 1, 1], pads = [0, 0, 0, 0, 0, 0]}",
              {"x": values(1, 2, 4, 4, 4)}, torch=[
            lambda m, x: F.avg_pool3d(x, 2), lambda m, x: F.adaptive_avg_pool3d(x, 2), lambda m, x: A._adaptive_avg_pool3d(x, [2, 2, 2])],
            onnx=["y = AveragePool(x){kernel_shape: [2, 2, 2], strides: [2, 2, 2]}"]),
        Group("average_pool(x){output_size = [1, 1]}", IMAGE, torch=[
            lambda m, x: F.adaptive_avg_pool2d(x, 1), lambda m, x: A._adaptive_avg_pool2d(x, [1, 1])],
            onnx=["y = GlobalAveragePool(x)"]),
        Group("max_pool(x){output_size = [1, 1]}", IMAGE, torch=[
            lambda m, x: F.adaptive_max_pool2d(x, 1)], onnx=["y = GlobalMaxPool(x)"])]),
    "gelu": Family(r"aten gelu\.|(onnx|com.microsoft) Gelu$|com.microsoft (FastGelu|BiasGelu)$", [
        Group("gelu(x)", X, torch=[
            lambda m, x: F.gelu(x), lambda m, x: A.gelu(x, approximate="none"), lambda m, x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))),
            lambda m, x: 0.5 * x * (1.0 + torch.erf(x * (1 / math.sqrt(2.0))))],
            onnx=["[20] y = Gelu(x)", "y = com.microsoft:Gelu(x)",
                  "t = Div(x, 1.4142135); u = Erf(t); v = Add(u, 1.0); s = Mul(x, v); y = Mul(s, 0.5)"]),
        Group("gelu(add(x, b[4]))", X, {"b": values(4)}, torch=[lambda m, x: F.gelu(x + m.b)], onnx=["y = com.microsoft:BiasGelu(x, b)"]),
        Group("gelu_tanh(x)", X, torch=[lambda m, x: F.gelu(x, approximate="tanh"), lambda m, x: tanh_gelu(x)],
              onnx=["[20] y = Gelu(x){approximate: 'tanh'}", "y = com.microsoft:FastGelu(x)"])]),
    "silu": Family(r"aten silu\.|onnx Swish$|com.microsoft QuickGelu$", [
        Group("silu(x)", X, torch=[
            lambda m, x: F.silu(x), lambda m, x: F.silu(x.clone(), inplace=True), lambda m, x: x * torch.sigmoid(x),
            lambda m, x: x.sigmoid() * x], onnx=["t = Sigmoid(x); y = Mul(x, t)", "[24] y = Swish(x)", "y = com.microsoft:QuickGelu(x){alpha: 1.0}"])]),
    "hardswish": Family(r"aten hardswish\.|onnx HardSwish$", [
        Group("hardswish(x)", X, torch=[
            lambda m, x: F.hardswish(x), lambda m, x: F.hardswish(x.clone(), inplace=True), lambda m, x: x * F.relu6(x + 3) / 6,
            lambda m, x: x * F.hardsigmoid(x)],
            onnx=["y = HardSwish(x)", "t = HardSigmoid(x){alpha: 0.16666667, beta: 0.5}; y = Mul(x, t)",
                  "t = Add(x, 3.0); u = Clip(t, 0.0, 6.0); v = Mul(x, u); y = Div(v, 6.0)"])]),
    "softmax": Family(r"aten (special_|_safe_|_)?softmax\.|onnx Softmax$", [
        Group("softmax(x){axis = 1}", X, torch=[
            lambda m, x: F.softmax(x, -1), lambda m, x: x.softmax(1), lambda m, x: torch.special.softmax(x, 1), lambda m, x: A._softmax(x, 1, False)],
            onnx=["y = Softmax(x){axis: 1}", "y = Softmax(x)", "[11] y = Softmax(x){axis: 1}"]),
        Group('softmax(x){axis = 1, zero = "masked"}', X, torch=[lambda m, x: A._safe_softmax(x, 1)])]),
    "layer norm": Family(r"aten (native_)?layer_norm\.|onnx LayerNormalization$", [
        Group("layer_norm(x, w[4], b[4]){axis = 1, eps = 1e-05}", X, NORM, torch=[
            lambda m, x: F.layer_norm(x, [4], m.w, m.b), lambda m, x: A.native_layer_norm(x, [4], m.w, m.b, 1e-5)[0],
            lambda m, x: norm_of(x) * m.w + m.b, lambda m, x: m.w * norm_of(x) + m.b, lambda m, x: F.layer_norm(x, [4]) * m.w + m.b],
            onnx=["y = LayerNormalization(x, w, b)",
                  "a = ReduceMean(x){axes: [-1]}; d = Sub(x, a); e = Pow(d, 2.0); f = ReduceMean(e){axes: [-1]}; g = Add(f, 0.00001); "
                  "h = Sqrt(g); i = Div(d, h); j = Mul(i, w); y = Add(j, b)"])]),
    "group norm": Family(r"aten (native_)?group_norm\.|onnx GroupNormalization$", [
        Group("group_norm(x, w[4], b[4]){groups = 2, eps = 1e-05}", IMAGE, NORM, torch=[
            lambda m, x: F.group_norm(x, 2, m.w, m.b), lambda m, x: A.native_group_norm(x, m.w, m.b, 1, 4, 36, 2, 1e-5)[0]],
            onnx=["[21] y = GroupNormalization(x, w, b){num_groups: 2}"])]),
    "rms norm": Family(r"aten (_fused_)?rms_norm\.|onnx (RMSNormalization|SimplifiedLayerNormalization)$|com.microsoft SimplifiedLayerNormalization$", [
        Group("rms_norm(x, w[4]){axis = 1, eps = 1e-05}", X, NORM, torch=[
            lambda m, x: F.rms_norm(x, [4], m.w, 1e-5), lambda m, x: A._fused_rms_norm(x, [4], m.w, 1e-5)[0],
            lambda m, x: m.w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))],
            onnx=["[23] y = RMSNormalization(x, w){epsilon: 0.00001}", "y = SimplifiedLayerNormalization(x, w){epsilon: 0.00001}",
                  "y = com.microsoft:SimplifiedLayerNormalization(x, w){epsilon: 0.00001}",
                  "a = Mul(x, x); b = ReduceMean(a){axes: [-1]}; c = Add(b, 0.00001); d = Sqrt(c); e = Div(x, d); y = Mul(e, w)"])]),
    "attention": Family(r"aten _?scaled_dot_product_.*attention.*\.|onnx Attention$", [
        Group("attention(q, k, v)", QKV, torch=[
            lambda m, q, k, v: F.scaled_dot_product_attention(q, k, v), lambda m, q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.5),
            lambda m, q, k, v: A._scaled_dot_product_attention_math(q, k, v)[0],
            lambda m, q, k, v: A._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0],
            lambda m, q, k, v: A._scaled_dot_product_flash_attention(q, k, v)[0],
            lambda m, q, k, v: A._scaled_dot_product_efficient_attention(q, k, v, None, False)[0],
            lambda m, q, k, v: A._scaled_dot_product_cudnn_attention(q, k, v, None, False)[0],
            lambda m, q, k, v: A._scaled_dot_product_fused_attention_overrideable(q, k, v)[0],
            lambda m, q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 2.0, -1) @ v,
            lambda m, q, k, v: torch.softmax((q * 0.5) @ k.transpose(-2, -1), -1) @ v],
            onnx=["[23] y = Attention(q, k, v)",
                  "t = Transpose(k){perm: [0, 1, 3, 2]}; s = MatMul(q, t); u = Mul(s, 0.5); p = Softmax(u); y = MatMul(p, v)"])]),
    "rotary": Family(r"(onnx|com.microsoft) RotaryEmbedding$", [
        Group("rotary(x, c, s)", ANGLES, torch=[
            lambda m, x, c, s: x * c + split_half(x) * s, lambda m, x, c, s: split_half(x) * s + x * c,
            lambda m, x, c, s: (x * c) + (torch.cat((-x.chunk(2, -1)[1], x.chunk(2, -1)[0]), -1) * s)],
            onnx=["a = Slice(x, [2], [4], [3]); b = Slice(x, [0], [2], [3]); n = Neg(a); r = Concat(n, b){axis: 3}; "
                  "t = Mul(x, c); u = Mul(r, s); y = Add(t, u)"]),
        Group("rotary(x, ?[1, 1, 3, 4], ?[1, 1, 3, 4])", {"x": values(1, 2, 3, 4)}, HALF, onnx=[
            "[23] y = RotaryEmbedding(x, c, s, [[0, 1, 2]])", "y = com.microsoft:RotaryEmbedding(x, [[0, 1, 2]], c, s)"])]),
}
