"""PT2E graphs that torchao's X86InductorQuantizer makes of small seeded networks."""
import os
import warnings

os.environ.setdefault("TORCHAO_SKIP_LOADING_SO_FILES", "1")
warnings.filterwarnings("ignore")

import torch
import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

nn, functional = torch.nn, torch.nn.functional


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.third = nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.Conv2d(8, 8, 3, padding=1)
        self.wide, self.last = nn.Linear(8, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        y = torch.relu(self.third(torch.relu(self.second(x))) + x)
        y = functional.adaptive_avg_pool2d(functional.max_pool2d(y, 2), 1).flatten(1)
        return self.last(torch.relu(self.wide(y)))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(24, 48), nn.Linear(48, 48), nn.Linear(48, 12)

    def forward(self, x):
        return self.third(functional.gelu(self.second(torch.relu(self.first(x)))))


NETWORKS = {"residual": (Residual, (1, 3, 16, 16)), "layers": (Layers, (6, 24))}


def is_quantize(node) -> bool:
    return node.op == "call_function" and "quantized_decomposed.quantize_per" in str(node.target)


def converted(network: str, dynamic: bool, reduced: bool):
    """The converted graph with the codes of every quantize as further outputs, and a sample input."""
    torch.manual_seed(3)
    kind, shape = NETWORKS[network]
    model, sample = kind().eval(), (torch.randn(shape),)
    config = x86.get_default_x86_inductor_quantization_config(is_dynamic=dynamic, reduce_range=reduced)
    prepared = prepare_pt2e(torch.export.export(model, sample).module(), x86.X86InductorQuantizer().set_global(config))
    for _ in range(4):
        prepared(torch.randn(shape))
    out = convert_pt2e(prepared)
    codes = [n for n in out.graph.nodes if is_quantize(n)]
    end = next(n for n in out.graph.nodes if n.op == "output")
    end.args = ((*torch.utils._pytree.tree_leaves(end.args[0]), *codes),)
    out.graph._codegen = torch.fx.graph.CodeGen()
    plain = torch.fx.GraphModule(out, out.graph)
    return plain, shape


class Quantizes(nn.Module):
    """Every quantize of a graph by itself: an input each."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self, *inputs):
        return tuple(target(x, *rest) for x, (target, rest) in zip(inputs, self.calls))


def quantize_calls(graph: torch.fx.GraphModule, x):
    """Target, further arguments and input of every quantize with static scales when the graph runs on x."""
    found = []

    class Watch(torch.fx.Interpreter):
        def call_function(self, target, args, kwargs):
            if "quantize_per_tensor.default" in str(target) and "dequantize" not in str(target):
                found.append((target, args[1:], args[0]))
            return super().call_function(target, args, kwargs)

    Watch(graph).run(x)
    return found
