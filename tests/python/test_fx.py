"""torch.fx graphs: every spelling of an operation is one graph."""
import json
import operator
import re

import pytest
import torch
import torch.nn.functional as F
from networks import Residual, weights
from package import files_of
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

import quantc


class Spelled(nn.Module):
    """A module whose forward is a function of the module and its inputs."""

    def __init__(self, forward, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.spelled = forward

    def forward(self, x):
        return self.spelled(self, x)


def iadd(m, x):
    x = x * 1
    x += 1.5
    return x


def iadd_tensor(m, x):
    y = x * 1
    y += x.abs()
    return y


def in_place(name, *args):
    def run(m, x):
        x = x * 1
        getattr(x, name)(*args)
        return x  # the name that was written
    return run


def written_out_softmax(m, x):
    e = torch.exp(x - x.max(dim=-1, keepdim=True)[0])
    return e / e.sum(dim=-1, keepdim=True)


def plain_then(f):
    return lambda m, x: f(m, x * 1)


conv1, conv2, conv3 = (weights(c) for c in (nn.Conv1d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 3, stride=2, padding=1),
                                            nn.Conv3d(3, 4, 2)))
bn, lin = weights(nn.BatchNorm2d(3)), weights(nn.Linear(8, 5))
X4, X3, X5, X2 = (2, 3, 8, 8), (2, 3, 8), (2, 3, 4, 4, 4), (2, 8)

BATCH_NORMS = [lambda m, x: m.bn(x), lambda m, x: F.batch_norm(x, m.bn.running_mean, m.bn.running_var, m.bn.weight, m.bn.bias),
               lambda m, x: torch.batch_norm(x, m.bn.weight, m.bn.bias, m.bn.running_mean, m.bn.running_var, False, 0.1, 1e-5, False)]

# Of each operation: the shape of its input, and its spellings.
MATRIX = {
    "add": (X4, [lambda m, x: x * 1 + 1.5, lambda m, x: torch.add(x * 1, 1.5), lambda m, x: (x * 1).add(1.5), iadd,
                 lambda m, x: operator.add(x * 1, 1.5), lambda m, x: operator.iadd(x * 1, 1.5), in_place("add_", 1.5),
                 lambda m, x: torch.add(x * 1, other=1.5), lambda m, x: 1.5 + x * 1]),
    "add of tensors": (X4, [lambda m, x: x + x.abs(), lambda m, x: torch.add(x, torch.abs(x)), lambda m, x: x.add(x.abs()),
                            lambda m, x: torch.add(input=x, other=x.abs(), alpha=1), lambda m, x: m.q.add(x, x.abs()),
                            lambda m, x: x.__add__(x.abs())], dict(q=torch.ao.nn.quantized.FloatFunctional())),
    "+= of tensors": (X4, [iadd_tensor, lambda m, x: x * 1 + x.abs(), lambda m, x: operator.iadd(x * 1, x.abs()), lambda m, x: (x * 1).add_(x.abs())]),
    "relu": (X4, [plain_then(lambda m, x: m.act(x)), plain_then(lambda m, x: F.relu(x)), plain_then(lambda m, x: torch.relu(x)),
                  plain_then(lambda m, x: x.relu()), in_place("relu_"), plain_then(lambda m, x: F.relu(x, inplace=True)),
                  plain_then(lambda m, x: torch.relu_(x)), plain_then(lambda m, x: m.act_in(x)),
                  plain_then(lambda m, x: torch.clamp(x, min=0)), plain_then(lambda m, x: x.clamp_min(0)),
                  plain_then(lambda m, x: F.threshold(x, 0, 0)), plain_then(lambda m, x: torch.threshold(x, 0.0, 0.0)),
                  plain_then(lambda m, x: m.above(x)), plain_then(lambda m, x: F.threshold(x, 0, 0, inplace=True))],
             dict(act=nn.ReLU(), act_in=nn.ReLU(inplace=True), above=nn.Threshold(0, 0))),
    "relu6": (X4, [plain_then(lambda m, x: m.act(x)), plain_then(lambda m, x: F.relu6(x)), plain_then(lambda m, x: F.relu6(x, True)),
                   plain_then(lambda m, x: F.hardtanh(x, 0.0, 6.0)), plain_then(lambda m, x: x.clamp(0, 6)),
                   plain_then(lambda m, x: torch.clip(x, 0, 6)), in_place("clamp_", 0, 6)], dict(act=nn.ReLU6(inplace=True))),
    "linear": (X2, [lambda m, x: m.lin(x), lambda m, x: F.linear(x, m.lin.weight, m.lin.bias),
                    lambda m, x: F.linear(x, bias=m.lin.bias, weight=m.lin.weight), lambda m, x: x @ m.lin.weight.t() + m.lin.bias,
                    lambda m, x: torch.addmm(m.lin.bias, x, m.lin.weight.t()),
                    lambda m, x: torch.einsum("bi,oi->bo", x, m.lin.weight) + m.lin.bias], dict(lin=lin)),
    "linear of rows": (X3, [lambda m, x: m.lin(x), lambda m, x: x @ m.lin.weight.t() + m.lin.bias,
                            lambda m, x: torch.einsum("bsi,oi->bso", x, m.lin.weight) + m.lin.bias], dict(lin=lin)),
    "conv1d": (X3, [lambda m, x: m.c(x), lambda m, x: F.conv1d(x, m.c.weight, m.c.bias, padding=1),
                    lambda m, x: torch.conv1d(x, m.c.weight, m.c.bias, 1, 1), lambda m, x: F.conv1d(x, m.c.weight, m.c.bias, padding="same")],
               dict(c=conv1)),
    "conv2d": (X4, [lambda m, x: m.c(x), lambda m, x: F.conv2d(x, m.c.weight, m.c.bias, 2, 1),
                    lambda m, x: torch.conv2d(x, m.c.weight, m.c.bias, stride=(2, 2), padding=(1, 1)),
                    lambda m, x: torch.convolution(x, m.c.weight, m.c.bias, (2, 2), (1, 1), (1, 1), False, (0, 0), 1)], dict(c=conv2)),
    "conv3d": (X5, [lambda m, x: m.c(x), lambda m, x: F.conv3d(x, m.c.weight, m.c.bias),
                    lambda m, x: torch.conv3d(x, m.c.weight, m.c.bias)], dict(c=conv3)),
    "batch norm": (X4, BATCH_NORMS, dict(bn=bn)),
    "batch norm of rows": (X3, BATCH_NORMS, dict(bn=weights(nn.BatchNorm1d(3)))),
    "batch norm of volumes": (X5, BATCH_NORMS, dict(bn=weights(nn.BatchNorm3d(3)))),
    "layer norm": (X2, [lambda m, x: m.n(x), lambda m, x: F.layer_norm(x, (8,), m.n.weight, m.n.bias),
                        lambda m, x: torch.layer_norm(x, (8,), m.n.weight, m.n.bias, 1e-5)], dict(n=weights(nn.LayerNorm(8)))),
    "group norm": (X4, [lambda m, x: m.n(x), lambda m, x: F.group_norm(x, 3, m.n.weight, m.n.bias),
                        lambda m, x: torch.group_norm(x, 3, m.n.weight, m.n.bias)], dict(n=weights(nn.GroupNorm(3, 3)))),
    "max pool": (X4, [lambda m, x: m.p(x), lambda m, x: F.max_pool2d(x, 2), lambda m, x: torch.max_pool2d(x, 2),
                      lambda m, x: F.max_pool2d(x, kernel_size=(2, 2), stride=2)], dict(p=nn.MaxPool2d(2))),
    "greatest of a quarter": (X4, [lambda m, x: m.p(x), lambda m, x: F.adaptive_max_pool2d(x, 2), lambda m, x: F.adaptive_max_pool2d(x, (2, 2))],
                              dict(p=nn.AdaptiveMaxPool2d(2))),
    "greatest of a row": (X3, [lambda m, x: m.p(x), lambda m, x: F.adaptive_max_pool1d(x, 4)], dict(p=nn.AdaptiveMaxPool1d(4))),
    "greatest of a volume": (X5, [lambda m, x: m.p(x), lambda m, x: F.adaptive_max_pool3d(x, 2)], dict(p=nn.AdaptiveMaxPool3d(2))),
    "average pool": (X4, [lambda m, x: m.p(x), lambda m, x: F.avg_pool2d(x, 2)], dict(p=nn.AvgPool2d(2))),
    "global pool": (X4, [lambda m, x: m.p(x), lambda m, x: F.adaptive_avg_pool2d(x, 1), lambda m, x: F.adaptive_avg_pool2d(x, (1, 1)),
                         lambda m, x: x.mean((2, 3), keepdim=True), lambda m, x: torch.mean(x, dim=[-2, -1], keepdim=True),
                         lambda m, x: x.mean([-1, 2], True)], dict(p=nn.AdaptiveAvgPool2d(1))),
    "global pool, flat": (X4, [lambda m, x: m.p(x).flatten(1), lambda m, x: torch.flatten(F.adaptive_avg_pool2d(x, 1), 1),
                               lambda m, x: x.mean((2, 3)), lambda m, x: torch.mean(x, [-1, -2])], dict(p=nn.AdaptiveAvgPool2d(1))),
    "global pool of volumes": (X5, [lambda m, x: m.p(x), lambda m, x: x.mean((2, 3, 4), keepdim=True)], dict(p=nn.AdaptiveAvgPool3d(1))),
    "mean": (X4, [lambda m, x: x.mean((1, 3), keepdim=True), lambda m, x: torch.mean(x, dim=[-3, -1], keepdim=True),
                  lambda m, x: x.mean([-1, 1], True)]),
    "flatten": (X4, [lambda m, x: m.f(x), lambda m, x: torch.flatten(x, 1), lambda m, x: x.flatten(1), lambda m, x: x.view(2, -1),
                     lambda m, x: x.reshape((2, 192)), lambda m, x: x.view(x.size(0), -1), lambda m, x: x.reshape(x.shape[0], 3 * 64),
                     lambda m, x: x.view_as(torch.zeros_like(x).flatten(1)), lambda m, x: x.reshape_as(x.abs().flatten(1))],
                dict(f=nn.Flatten())),
    "ravel": (X4, [lambda m, x: x.ravel(), lambda m, x: torch.ravel(x), lambda m, x: x.flatten(), lambda m, x: x.reshape(-1)]),
    "dropout": (X4, [lambda m, x: m.d(x) * 2, lambda m, x: F.dropout(x, 0.3, training=False) * 2, lambda m, x: m.i(x) * 2,
                     lambda m, x: torch.dropout(x, 0.3, False) * 2, lambda m, x: F.dropout(x, 0.3, False, inplace=True) * 2,
                     lambda m, x: m.di(x) * 2, lambda m, x: F.feature_alpha_dropout(x, 0.3, False) * 2, lambda m, x: torch.dropout_(x, 0.3, False) * 2,
                     lambda m, x: torch.mul(x, 2), lambda m, x: x.mul(2), lambda m, x: 2 * x], dict(d=nn.Dropout(0.3), i=nn.Identity(), di=nn.Dropout(0.3, inplace=True))),
    "softmax": (X2, [lambda m, x: m.s(x), lambda m, x: F.softmax(x, 1), lambda m, x: torch.softmax(x, dim=1), lambda m, x: x.softmax(-1),
                      lambda m, x: torch.special.softmax(x, 1),
                      written_out_softmax, lambda m, x: torch.exp(x - x.amax(-1, True)) / (x - x.amax(1, keepdim=True)).exp().sum(1, True),
                      lambda m, x: torch.exp(x - torch.max(x, 1, keepdim=True).values).div((x - x.amax(1, True)).exp().sum(1, keepdim=True))],
                dict(s=nn.Softmax(1))),
    "gelu": (X2, [lambda m, x: m.g(x), lambda m, x: F.gelu(x), lambda m, x: F.gelu(x, approximate="none")], dict(g=nn.GELU())),
    "silu": (X2, [plain_then(lambda m, x: m.g(x)), plain_then(lambda m, x: F.silu(x)), plain_then(lambda m, x: F.silu(x, inplace=True)),
                  plain_then(lambda m, x: m.gi(x)),
                  plain_then(lambda m, x: x * torch.sigmoid(x)), plain_then(lambda m, x: x * x.sigmoid())], dict(g=nn.SiLU(), gi=nn.SiLU(inplace=True))),
    "matmul": ((2, 3, 4), [lambda m, x: x @ x.transpose(1, 2), lambda m, x: torch.matmul(x, x.transpose(1, 2)),
                           lambda m, x: x.matmul(x.permute(0, 2, 1)), lambda m, x: torch.bmm(x, x.mT),
                           lambda m, x: operator.matmul(x, torch.transpose(x, -1, -2)),
                           lambda m, x: torch.einsum("bij,bkj->bik", x, x), lambda m, x: torch.einsum("nac,nbc->nab", [x, x]),
                           lambda m, x: torch.linalg.matmul(x, x.mT), lambda m, x: m.q.matmul(x, x.mT)],
               dict(q=torch.ao.nn.quantized.FloatFunctional())),
    "matmul of two": ((2, 3, 3), [lambda m, x: x @ x.abs(), lambda m, x: torch.einsum("bij,bjk->bik", x, x.abs()),
                                  lambda m, x: torch.einsum("...ij,...jk->...ik", x, x.abs())]),
    "cat": (X2, [lambda m, x: torch.cat([x, x * 2], 1), lambda m, x: torch.cat((x, x * 2), dim=-1), lambda m, x: torch.concat([x, x * 2], 1),
                 lambda m, x: torch.concatenate([x, x.mul(2)], dim=1), lambda m, x: torch.hstack([x, x * 2]),
                 lambda m, x: m.q.cat([x, x * 2], 1)], dict(q=torch.ao.nn.quantized.FloatFunctional())),
}


# The same as calls of torch.ops.aten, with an overload and without, as torch.export, PT2E and make_fx leave them in graphs.
aten = torch.ops.aten
OVERLOADS = {
    "add": [lambda m, x: aten.add.Tensor(x * 1, 1.5), lambda m, x: aten.add_.Tensor(x * 1, 1.5), lambda m, x: aten.add(x * 1, 1.5),
            lambda m, x: aten.add_(x * 1, 1.5), lambda m, x: aten.add.Scalar(x * 1, 1.5)],
    "add of tensors": [lambda m, x: aten.add.Tensor(x, aten.abs.default(x)), lambda m, x: aten.add(x, aten.abs(x), alpha=1)],
    "relu": [plain_then(lambda m, x: aten.relu.default(x)), plain_then(lambda m, x: aten.relu_.default(x)), plain_then(lambda m, x: aten.relu(x)),
             plain_then(lambda m, x: aten.threshold.default(x, 0, 0)), plain_then(lambda m, x: aten.clamp_min_(x, 0))],
    "relu6": [plain_then(lambda m, x: aten.relu6.default(x)), plain_then(lambda m, x: aten.hardtanh_.default(x, 0.0, 6.0)),
              plain_then(lambda m, x: aten.clamp(x, 0, 6))],
    "linear": [lambda m, x: aten.linear.default(x, m.lin.weight, m.lin.bias), lambda m, x: aten.addmm.default(m.lin.bias, x, aten.t.default(m.lin.weight)),
               lambda m, x: aten.linear(x, m.lin.weight, bias=m.lin.bias)],
    "conv1d": [lambda m, x: aten.conv1d.default(x, m.c.weight, m.c.bias, [1], [1]), lambda m, x: aten.conv1d.padding(x, m.c.weight, m.c.bias, [1], "same"),
               lambda m, x: aten.convolution.default(x, m.c.weight, m.c.bias, [1], [1], [1], False, [0], 1)],
    "conv2d": [lambda m, x: aten.conv2d.default(x, m.c.weight, m.c.bias, [2, 2], [1, 1]),
               lambda m, x: aten.convolution(x, m.c.weight, m.c.bias, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)],
    "conv3d": [lambda m, x: aten.conv3d.default(x, m.c.weight, m.c.bias)],
    "batch norm": [lambda m, x: aten.batch_norm.default(x, m.bn.weight, m.bn.bias, m.bn.running_mean, m.bn.running_var, False, 0.1, 1e-5, False),
                   lambda m, x: aten.native_batch_norm.default(x, m.bn.weight, m.bn.bias, m.bn.running_mean, m.bn.running_var, False, 0.1, 1e-5)[0],
                   lambda m, x: aten._native_batch_norm_legit_no_training.default(x, m.bn.weight, m.bn.bias, m.bn.running_mean, m.bn.running_var,
                                                                                  0.1, 1e-5)[0]],
    "max pool": [lambda m, x: aten.max_pool2d.default(x, [2, 2]), lambda m, x: aten.max_pool2d_with_indices.default(x, [2, 2], [2, 2])[0]],
    "average pool": [lambda m, x: aten.avg_pool2d.default(x, [2, 2])],
    "global pool": [lambda m, x: aten.adaptive_avg_pool2d.default(x, [1, 1]), lambda m, x: aten._adaptive_avg_pool2d.default(x, [1, 1]),
                    lambda m, x: aten.mean.dim(x, [2, 3], True)],
    "flatten": [lambda m, x: aten.flatten.using_ints(x, 1), lambda m, x: aten.view.default(x, [2, -1]), lambda m, x: aten.reshape(x, [2, 192]),
                lambda m, x: aten.view(x, [aten.sym_size.int(x, 0), -1])],
    "dropout": [lambda m, x: aten.mul.Tensor(aten.dropout.default(x, 0.3, False), 2), lambda m, x: aten.mul(aten.dropout_(x, 0.3, False), 2)],
    "softmax": [lambda m, x: aten.softmax.int(x, 1), lambda m, x: aten._softmax.default(x, 1, False), lambda m, x: aten.softmax(x, -1)],
    "gelu": [lambda m, x: aten.gelu.default(x), lambda m, x: aten.gelu(x, approximate="none")],
    "silu": [plain_then(lambda m, x: aten.silu.default(x)), plain_then(lambda m, x: aten.silu_.default(x)), plain_then(lambda m, x: aten.silu(x))],
    "matmul": [lambda m, x: aten.matmul.default(x, aten.transpose.int(x, 1, 2)), lambda m, x: aten.bmm(x, aten.permute(x, [0, 2, 1]))],
    "cat": [lambda m, x: aten.cat.default([x, aten.mul.Tensor(x, 2)], 1), lambda m, x: aten.cat([x, x * 2], dim=-1)],
}


def canonical(graph):
    """The graph's text without the names of nodes, values and constants."""
    text = re.sub(r'\s+loc\([^\n]*\)', "", graph.text())
    text = re.sub(r'(return %\d+|%\d+) "[^"]*"', r"\1", text)
    names = {}
    return re.sub(r"@[\w.~]+|@\"[^\"]*\"(~\d+)?", lambda m: names.setdefault(m.group(0), f"@c{len(names)}"), text)


@pytest.mark.parametrize("operation", MATRIX)
def test_every_spelling_is_one_graph(operation):
    shape, spellings, *modules = MATRIX[operation]
    torch.manual_seed(3)
    x = torch.randn(shape)
    texts = []
    for spelled in [*spellings, *OVERLOADS.get(operation, [])]:
        net = Spelled(spelled, **(modules[0] if modules else {})).eval()
        graph = quantc.from_fx(net, (x,))
        torch.testing.assert_close(graph.run(x), net(x.clone()).detach(), rtol=1e-5, atol=1e-5)
        texts.append(canonical(graph))
    assert len(texts) >= 2 and [i for i, t in enumerate(texts) if t != texts[0]] == [], "\n".join(sorted(set(texts)))


def test_graphs_of_aten_ops():
    """What torch.export and make_fx leave: several results of which one is read, results that nobody reads, checks of inputs, free sizes."""
    net, x = weights(Residual()), torch.randn(1, 3, 12, 12)
    with torch.no_grad():
        traced, exported = make_fx(lambda x: net(x))(x), torch.export.export(net, (x,))
    assert {"native_batch_norm", "addmm"} <= {n.name for n in traced.graph.nodes}
    assert "_guards_fn" in {n.target for n in exported.module().graph.nodes}
    free = torch.export.export(net, (torch.cat([x, x]),), dynamic_shapes={"x": {0: torch.export.Dim("n", min=1, max=8)}}).module()
    plain = quantc.from_fx(net, (x,))
    for graph in (quantc.from_fx(traced, (x,)), quantc.from_fx(exported.module()), quantc.from_fx(free)):
        torch.testing.assert_close(graph.run(x), net(x).detach(), rtol=1e-4, atol=1e-4)
    assert canonical(quantc.from_fx(exported.module())) == canonical(plain)
    names = [n.names for n in quantc.from_fx(exported.module()).explain().nodes]
    assert names == [n.names for n in quantc.from_torch(net, (x,)).explain().nodes] and any("block1.conv1" in n for n in names)
    graph = quantc.from_fx(free)
    assert not graph.inputs[0].shape[0].isdigit()
    y = torch.randn(3, 3, 12, 12)
    torch.testing.assert_close(graph.run(y), net(y).detach(), rtol=1e-4, atol=1e-4)


class Traced(nn.Module):
    """The longer operand must be more than twice as long; tracing takes that for granted."""

    def forward(self, x, y):
        return x[:, :y.shape[0]] + y if x.shape[1] > 2 * y.shape[0] else x


def test_guards_of_exported_programs_are_kept(tmp_path):
    """from_fx refuses the sizes that from_pt2 refuses, in the same words, and so does C."""
    m, n, b = (torch.export.Dim(name, min=low, max=high) for name, low, high in (("m", 5, 64), ("n", 2, 16), ("b", 1, 8)))
    exported = torch.export.export(Traced(), (torch.randn(3, 24), torch.randn(7)), dynamic_shapes=({0: b, 1: m}, {0: n}))
    torch.export.save(exported, tmp_path / "net.pt2")
    graphs = {"fx": quantc.from_fx(exported.module()), "pt2": quantc.from_pt2(tmp_path / "net.pt2")}
    x, y = torch.randn(2, 20), torch.randn(9)
    symbols = [*graphs["fx"].inputs[0].shape, *graphs["fx"].inputs[1].shape]
    for name, graph in graphs.items():
        torch.testing.assert_close(graph.run(x, y), Traced()(x, y))
        for wrong, part in [((x[:, :18], y), f"the model holds only where {symbols[1]} is more than 2*{symbols[2]}; here"),
                            ((torch.randn(9, 20), y), "8"), ((torch.randn(2, 65), y), "64"), ((x, torch.randn(17)), "16")]:
            with pytest.raises(quantc.UserError, match=re.escape(part)):
                graph.run(*wrong)
        folder = tmp_path / name
        graph.compile(folder, build=False, name="net", dims={symbols[0]: (1, 8), symbols[1]: (5, 64), symbols[2]: (2, 16)})
        assert f"The model holds only where {symbols[1]} is more than 2*{symbols[2]}." in (folder / "net.h").read_text()
        with pytest.raises(quantc.UserError, match=symbols[1]):
            graph.compile(folder, build=False, name="net", dims={symbols[0]: 1, symbols[1]: (5, 65), symbols[2]: 2})
    with pytest.raises(quantc.UserError, match="the model holds only where"):  # sizes of the examples are numbers
        quantc.from_fx(exported.module(), (torch.randn(3, 12), y))


@pytest.mark.parametrize("spelled, part", [
    (lambda m, x: aten.special_bessel_j0.default(x), "aten.special_bessel_j0.default"),
    (lambda m, x: aten.add.out(x, x, out=x * 1), "aten.add.out"),
    (lambda m, x: (aten.add.out(x, x, out=x * 1), x.relu())[1], "aten.add.out"),
    (lambda m, x: aten.native_dropout.default(x, 0.5, True)[0], "training mode"),
    (lambda m, x: aten.add([x, x], {}), "which overload"),
], ids=["op", "out", "unread out", "training", "overload"])
def test_aten_ops_that_are_refused(spelled, part):
    with pytest.raises(quantc.Unsupported) as e:
        quantc.from_fx(Spelled(spelled), (torch.randn(X4),))
    assert part in str(e.value) + "".join(e.value.notes)


def test_module_paths_are_the_names_that_patterns_match():
    net, x = weights(Residual()), torch.randn(1, 3, 12, 12)
    names = {n for node in quantc.from_fx(net, (x,)).explain().nodes for n in node.names}
    assert {"stem", "block1.conv1", "block2.conv2", "fc"} <= names
    q = quantc.from_fx(net, (x,)).quantize([quantc.StaticQuantRule(r"block1\.conv.*", "int8", 0.1, input_scale=0.1)])
    assert [n.op for n in q.explain().nodes].count("qconv") == 2


def test_a_dump_is_a_model_of_the_command_line(command, tmp_path):
    net, x = weights(Residual()), torch.randn(1, 3, 12, 12)
    quantc.dump_fx(torch.fx.symbolic_trace(net), str(tmp_path / "net.fx.json"), (x,))
    assert sorted(files_of(tmp_path)) == ["net.fx.json", "net.safetensors"]
    command("compile", tmp_path / "net.fx.json", "-o", tmp_path / "out", "--target", "portable", "--name", "net")
    quantc.load(tmp_path / "net.fx.json", name="net", target="portable").compile(tmp_path / "mine", build=False)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "mine")


def test_sizes_can_be_symbols():
    net = weights(Residual())
    graph = quantc.from_fx(net, (torch.randn(1, 3, 12, 12),), shapes={"x": ["n", 3, 12, 12]})
    assert graph.inputs[0].shape == ["n", "3", "12", "12"]
    for n in (1, 3):
        x = torch.randn(n, 3, 12, 12)
        torch.testing.assert_close(graph.run(x), net(x).detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("spelled, kind, part", [
    (lambda m, x: torch.special.bessel_j0(x), "Unsupported", "bessel_j0"),
    (lambda m, x: m.d(x), "Unsupported", "training mode"),
    (lambda m, x: m.b.add_(x[0, 0, 0, 0]), "Unsupported", "parameter or buffer"),
], ids=["op", "training", "buffer"])
def test_what_is_refused(spelled, kind, part):
    net = Spelled(spelled, d=nn.Dropout(0.5))
    net.register_buffer("b", torch.zeros(2))
    with pytest.raises(getattr(quantc, kind), match=part):
        quantc.from_fx(net, (torch.randn(X4),))


def test_messages_name_the_module(tmp_path):
    with pytest.raises(quantc.Unsupported) as e:
        quantc.from_fx(Spelled(lambda m, x: torch.special.bessel_j0(x)), (torch.randn(X4),))
    assert e.value.loc.file == "FX graph of Spelled" and str(e.value).startswith("FX graph of Spelled: ")
    graph = quantc.from_fx(weights(Residual()), (torch.randn(1, 3, 12, 12),))
    with pytest.raises(quantc.UserError, match="^FX graph of Residual"):
        graph.compile(tmp_path, build=False, require_integer=True)


def test_writes_through_views_are_refused():
    def through(m, x):
        x = x * 1
        y = x.view(-1)
        y.relu_()
        return x + 1
    with pytest.raises(quantc.Unsupported, match="through a view"):
        quantc.from_fx(Spelled(through), (torch.randn(X4),))


def dump(tmp_path, change):
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval()
    path = tmp_path / "m.fx.json"
    quantc.dump_fx(torch.fx.symbolic_trace(net), str(path), (torch.randn(1, 3),))
    whole = json.loads(path.read_text())
    change(whole)
    path.write_text(json.dumps(whole))
    return path


@pytest.mark.parametrize("change", [
    lambda d: d.pop("format"), lambda d: d.update(version=9), lambda d: d.update(nodes=3), lambda d: d["nodes"].pop(),
    lambda d: d["nodes"][1].update(args=[{"node": "nobody"}]), lambda d: d["nodes"][1].update(op="call"),
    lambda d: d.update(tensors="../m.safetensors"), lambda d: d.update(tensors="absent"), lambda d: d.update(inputs={}),
    lambda d: d["inputs"]["input"].update(shape=[-1]), lambda d: d["inputs"]["input"].update(dtype="float7"),
    lambda d: d["modules"].clear(), lambda d: d["nodes"].append(d["nodes"][1]), lambda d: d["nodes"][1].update(args=[[[]] * 3]),
    lambda d: d["nodes"][1].update(args=[{"what": 1}]), lambda d: d["inputs"]["input"].update(shape=[1, 2**62, 2**62]),
    lambda d: d["modules"]["0"].update({"class": "mine.Linear"}),
    lambda d: d["modules"]["0"].update({"class": "torch.ao.nn.quantized.modules.linear.Linear"}),
    lambda d: d["modules"]["0"].update({"class": "torch.ao.nn.intrinsic.modules.fused.LinearReLU"}),
    lambda d: d["modules"]["0"].update({"class": "torch.ao.nn.intrinsic.modules.fused.LinearReLU", "children": ["0"]}),
    lambda d: d["modules"]["0"].update({"class": "torch.ao.nn.intrinsic.modules.fused.LinearReLU", "children": [3]}),
    lambda d: d["nodes"][1].update(op="call_function", target="torch._ops.quantized.add"),
    lambda d: d["nodes"][1].update(op="call_function", target="torch._ops.aten.relu.default"),
    lambda d: d["nodes"][1].update(op="call_function", target="torch._ops.aten.relu.default", args=[], kwargs={"input": {"node": "input"}}),
    lambda d: d["nodes"][1].update(op="call_function", target="torch._ops.aten.relu.default", args=[], kwargs={"self": 3}, returns_list=1),
    lambda d: d["nodes"][1].update(op="call_function", target="torch._ops.aten.sym_size.int", args=[], kwargs={"self": 3}),
    lambda d: d["nodes"][1].update(op="call_function", target="torch._ops.aten.relu"),
    lambda d: d["nodes"][1].update(op="call_function", target="torch.quantize_per_tensor"),
    lambda d: d["nodes"][1].update(args=[]), lambda d: d["nodes"][-1].update(args=[7]),
])
def test_broken_dumps_are_errors(tmp_path, change):
    with pytest.raises((quantc.UserError, quantc.Unsupported)) as e:
        quantc.load(dump(tmp_path, change))
    assert e.value.code != "bug"


def test_broken_tensors_are_errors(tmp_path):
    path = dump(tmp_path, lambda d: None)
    tensors = tmp_path / "m.safetensors"
    whole = tensors.read_bytes()
    for cut in [*range(0, 16), 40, len(whole) // 2, len(whole) - 1]:
        tensors.write_bytes(whole[:cut])
        with pytest.raises(quantc.UserError):
            quantc.load(path)
    for i in range(0, len(whole) - 32, 7):
        tensors.write_bytes(whole[:i] + bytes([whole[i] ^ 0x15]) + whole[i + 1:])
        try:
            quantc.load(path)
        except quantc.QuantcError as e:
            assert e.code != "bug"
