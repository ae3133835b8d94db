"""torch.fx graphs: every spelling of an operation is one graph."""
import json
import operator
import re

import pytest
import torch
import torch.nn.functional as F
from package import files_of
from torch import nn

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


def weights(module):
    torch.manual_seed(7)
    for p in module.parameters():
        nn.init.uniform_(p, -0.5, 0.5)
    for name, b in module.named_buffers():
        if b.dtype.is_floating_point:
            nn.init.uniform_(b, 0.5, 1.5)
    return module.eval()


def iadd(m, x):
    x = x * 1
    x += 1.5
    return x


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

# Of each operation: the shape of its input, and its spellings.
MATRIX = {
    "add": (X4, [lambda m, x: x * 1 + 1.5, lambda m, x: torch.add(x * 1, 1.5), lambda m, x: (x * 1).add(1.5), iadd,
                 lambda m, x: operator.add(x * 1, 1.5), lambda m, x: operator.iadd(x * 1, 1.5), in_place("add_", 1.5),
                 lambda m, x: torch.add(x * 1, other=1.5), lambda m, x: 1.5 + x * 1]),
    "add of tensors": (X4, [lambda m, x: x + x.abs(), lambda m, x: torch.add(x, torch.abs(x)), lambda m, x: x.add(x.abs()),
                            lambda m, x: torch.add(input=x, other=x.abs(), alpha=1)]),
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
                    lambda m, x: F.linear(x, bias=m.lin.bias, weight=m.lin.weight)], dict(lin=lin)),
    "conv1d": (X3, [lambda m, x: m.c(x), lambda m, x: F.conv1d(x, m.c.weight, m.c.bias, padding=1),
                    lambda m, x: torch.conv1d(x, m.c.weight, m.c.bias, 1, 1), lambda m, x: F.conv1d(x, m.c.weight, m.c.bias, padding="same")],
               dict(c=conv1)),
    "conv2d": (X4, [lambda m, x: m.c(x), lambda m, x: F.conv2d(x, m.c.weight, m.c.bias, 2, 1),
                    lambda m, x: torch.conv2d(x, m.c.weight, m.c.bias, stride=(2, 2), padding=(1, 1))], dict(c=conv2)),
    "conv3d": (X5, [lambda m, x: m.c(x), lambda m, x: F.conv3d(x, m.c.weight, m.c.bias)], dict(c=conv3)),
    "batch norm": (X4, [lambda m, x: m.bn(x), lambda m, x: F.batch_norm(x, m.bn.running_mean, m.bn.running_var, m.bn.weight, m.bn.bias)],
                   dict(bn=bn)),
    "max pool": (X4, [lambda m, x: m.p(x), lambda m, x: F.max_pool2d(x, 2), lambda m, x: torch.max_pool2d(x, 2),
                      lambda m, x: F.max_pool2d(x, kernel_size=(2, 2), stride=2)], dict(p=nn.MaxPool2d(2))),
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
                     lambda m, x: x.reshape((2, 192)), lambda m, x: x.view(x.size(0), -1), lambda m, x: x.reshape(x.shape[0], 3 * 64)],
                dict(f=nn.Flatten())),
    "dropout": (X4, [lambda m, x: m.d(x) * 2, lambda m, x: F.dropout(x, 0.3, training=False) * 2, lambda m, x: m.i(x) * 2,
                     lambda m, x: torch.mul(x, 2), lambda m, x: x.mul(2), lambda m, x: 2 * x], dict(d=nn.Dropout(0.3), i=nn.Identity())),
    "softmax": (X2, [lambda m, x: m.s(x), lambda m, x: F.softmax(x, 1), lambda m, x: torch.softmax(x, dim=1), lambda m, x: x.softmax(-1),
                      written_out_softmax, lambda m, x: torch.exp(x - x.amax(-1, True)) / (x - x.amax(1, keepdim=True)).exp().sum(1, True),
                      lambda m, x: torch.exp(x - torch.max(x, 1, keepdim=True).values).div((x - x.amax(1, True)).exp().sum(1, keepdim=True))],
                dict(s=nn.Softmax(1))),
    "gelu": (X2, [lambda m, x: m.g(x), lambda m, x: F.gelu(x), lambda m, x: F.gelu(x, approximate="none")], dict(g=nn.GELU())),
    "silu": (X2, [plain_then(lambda m, x: m.g(x)), plain_then(lambda m, x: F.silu(x)), plain_then(lambda m, x: F.silu(x, inplace=True)),
                  plain_then(lambda m, x: x * torch.sigmoid(x)), plain_then(lambda m, x: x * x.sigmoid())], dict(g=nn.SiLU())),
    "matmul": ((2, 3, 4), [lambda m, x: x @ x.transpose(1, 2), lambda m, x: torch.matmul(x, x.transpose(1, 2)),
                           lambda m, x: x.matmul(x.permute(0, 2, 1)), lambda m, x: torch.bmm(x, x.mT),
                           lambda m, x: operator.matmul(x, torch.transpose(x, -1, -2)),
                           lambda m, x: torch.einsum("bij,bkj->bik", x, x), lambda m, x: torch.einsum("nac,nbc->nab", [x, x])]),
    "matmul of two": ((2, 3, 3), [lambda m, x: x @ x.abs(), lambda m, x: torch.einsum("bij,bjk->bik", x, x.abs()),
                                  lambda m, x: torch.einsum("...ij,...jk->...ik", x, x.abs())]),
    "cat": (X2, [lambda m, x: torch.cat([x, x * 2], 1), lambda m, x: torch.cat((x, x * 2), dim=-1), lambda m, x: torch.concat([x, x * 2], 1),
                 lambda m, x: torch.concatenate([x, x.mul(2)], dim=1)]),
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
    for spelled in spellings:
        net = Spelled(spelled, **(modules[0] if modules else {})).eval()
        graph = quantc.from_fx(net, (x,))
        torch.testing.assert_close(graph.run(x), net(x.clone()).detach(), rtol=1e-5, atol=1e-5)
        texts.append(canonical(graph))
    assert len(texts) >= 2 and [i for i, t in enumerate(texts) if t != texts[0]] == [], "\n".join(sorted(set(texts)))


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n)
        self.conv2, self.bn2 = nn.Conv2d(n, n, 3, padding=1), nn.BatchNorm2d(n)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return F.relu(out)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.block1, self.block2 = nn.Conv2d(3, 8, 3), Block(8), Block(8)
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 10)

    def forward(self, x):
        x = self.block2(self.block1(F.relu6(self.stem(x))))
        return self.fc(torch.flatten(self.pool(x), 1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.register_buffer("scale", torch.tensor(0.25))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        a = (q @ k.transpose(-2, -1) * self.scale).softmax(-1)
        x = x + self.out((a @ v).transpose(1, 2).reshape(b, t, c))
        return (x + self.mlp(x))[:, 0]


@pytest.mark.parametrize("make, shape", [(Residual, (1, 3, 12, 12)), (Encoder, (1, 5, 16))])
def test_networks_through_every_front_end(make, shape):
    torch.manual_seed(5)
    net, x = weights(make()), torch.randn(shape)
    graphs = [quantc.from_fx(net, (x,)), quantc.from_torch(net, (x,)),
              quantc.from_fx(torch.fx.symbolic_trace(net), (x,)), quantc.from_exported(torch.export.export(net, (x,))),
              quantc.from_onnx(torch.onnx.export(net, (x,), dynamo=True, verbose=False).model_proto)]
    for graph in graphs:
        torch.testing.assert_close(graph.run(x), net(x).detach(), rtol=1e-4, atol=1e-4)
    rules = [quantc.DynamicQuantRulePerTensor(".*", op="linear")]
    answers = {graph.quantize(rules).run(x).numpy().tobytes() for graph in graphs}
    assert len(answers) == 1


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
