"""A quantized graph computed by PyTorch in floats, with fake quantization at the places and with the scales of the graph: every value
of codes is held as the floats it stands for. Nothing here comes from quantc but the graph."""
import math

import torch
import torch.nn.functional as F

from tests.support import ir_text


def spread(numbers, fmt, shape):
    """Scales or zero points of a format, to broadcast over a value of this shape."""
    t = torch.tensor(numbers, dtype=torch.float32)
    if t.numel() == 1:
        return t.reshape(())
    whole = [1] * len(shape)
    whole[fmt.axis] = t.numel()
    return t.reshape(whole)


def rounded(x, fmt):
    """x through codes of static scales."""
    scale, zero = (spread(n, fmt, x.shape) for n in (fmt.scale, fmt.zero))
    return ((torch.round(x / scale) + zero).clamp(fmt.lo, fmt.hi) - zero) * scale


def rounded_by_range(x, fmt, attrs):
    """x through codes of scales that its range gives; with scales and zero points."""
    axes = (-1,) if attrs.get("per_token") else tuple(range(x.dim()))
    lo, hi = x.amin(axes, keepdim=True).clamp(max=0), x.amax(axes, keepdim=True).clamp(min=0)
    symmetric = attrs.get("symmetric", False)
    scale = torch.maximum(-lo, hi) / fmt.hi if symmetric else (hi - lo) / (fmt.hi - fmt.lo)
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    zero = torch.zeros_like(scale) if symmetric else torch.round(fmt.lo - lo / scale)
    y = ((torch.round(x / scale) + zero).clamp(fmt.lo, fmt.hi) - zero) * scale
    if not attrs.get("per_token"):
        scale, zero = scale.reshape(()), zero.reshape(())
    return y, scale, zero


def seen(node, scores, mask):
    """Scores with what the mask and the window of the node hide or add."""
    queries, keys = scores.shape[-2:]
    at, j = torch.arange(queries)[:, None] + node.attrs.get("offset", 0), torch.arange(keys)
    left, right = node.attrs.get("left", -1), node.attrs.get("right", -1)
    if left >= 0:
        scores = scores.masked_fill(j < at - left, -math.inf)
    if right >= 0:
        scores = scores.masked_fill(j > at + right, -math.inf)
    if mask is None:
        return scores
    return scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask


def attention(node, q, k, v, mask=None, *scales):
    """Attention whose weights are codes of 0 to 255, with the scales of the values' rows in them where there are some."""
    shared = q.shape[1] // k.shape[1]
    steps = scales[4] if len(scales) == 6 and scales[4].numel() > 1 else torch.ones(1, k.shape[1], k.shape[2], 1)
    k, v, steps = (x.repeat_interleave(shared, 1) for x in (k, v, steps))
    scores = q @ k.transpose(2, 3) * (node.attrs.get("scale") or q.shape[-1] ** -0.5)
    cap = node.attrs.get("softcap", 0)
    scores = seen(node, torch.tanh(scores / cap) * cap if cap else scores, mask)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True)).nan_to_num(0)
    total, steps = weights.sum(-1, keepdim=True), steps.transpose(2, 3)
    coded = weights * steps
    step = (coded.amax(-1, keepdim=True) if len(scales) == 6 else torch.ones(())) / 255
    y = (torch.round(coded / step) * step / steps) @ v / total
    return y.transpose(1, 2).flatten(2) if node.attrs.get("joined") else y


def rms_norm(node, x, scale=None, shift=None):
    axes = tuple(range(node.attrs.get("axis", -1), x.dim()))
    y = x * torch.rsqrt((x * x).mean(axes, keepdim=True) + node.attrs["eps"])
    return y * scale if scale is not None else y


def layer_norm(node, x, scale=None, shift=None):
    return F.layer_norm(x, x.shape[node.attrs.get("axis", -1):], scale, shift, node.attrs["eps"])


def rotary(node, x, cos, sin, gamma=None):
    """The first `count` indices along an axis are rotated, or all; rows may be normalised before."""
    axis, count = node.attrs.get("axis", -1), node.attrs.get("count", 0)
    if count:
        rest = x.narrow(axis, count, x.shape[axis] - count)
        x = x.narrow(axis, 0, count)
    if node.attrs.get("norm"):
        x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + node.attrs["eps"])
        if gamma is not None:
            x = x * (gamma if gamma.dim() == 1 else gamma.reshape([count if i == axis else 1 for i in range(x.dim() - 1)] + [-1]))
    if node.attrs.get("interleaved"):
        rotated = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    else:
        a, b = x.chunk(2, -1)
        rotated = torch.cat((-b, a), -1)
    y = x * cos + rotated * sin
    return torch.cat((y, rest), axis) if count else y


def grouped(node, x, w, ends, *_):
    out = torch.zeros(x.shape[0], w.shape[2])
    first = 0
    for group, last in enumerate(ends.tolist()):
        out[first:last] = x[first:last] @ w[group]
        first = last
    return out


def slices(node, x):
    start, size, step = (node.attrs[k] for k in ("start", "size", "step"))
    for axis, (a, n, s) in enumerate(zip(start, size, step)):
        x = x.index_select(axis, a + s * torch.arange(n))
    return x


def gather(node, table, at):
    axis = node.attrs.get("axis", 0)
    shape = list(table.shape)
    return table.index_select(axis, at.reshape(-1).long()).reshape(shape[:axis] + list(at.shape) + shape[axis + 1:])


def gather_nd(node, x, at):
    return x[tuple(at.long().unbind(-1))]


def scatter_nd(node, x, at, updates):
    out = x.clone()
    out[tuple(at.long().unbind(-1))] = updates
    return out


def sort(node, x):
    axis = node.attrs.get("axis", -1)
    values, positions = torch.sort(x, dim=axis, descending=node.attrs.get("descending", False), stable=True)
    k = node.attrs["k"]
    return values.narrow(axis, 0, k), positions.narrow(axis, 0, k)


def histogram(node, x):
    return torch.histc(x.float(), node.attrs["bins"], node.attrs["low"], node.attrs["high"])


def total(node, x):
    return x.sum(tuple(node.attrs["axes"]), keepdim=node.attrs.get("keepdims", True))


ACTIVATIONS = {"silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "sigmoid": torch.sigmoid,
               "tanh": torch.tanh, "relu": F.relu, "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x)}


def activation(node, x, factor=None):
    y = ACTIVATIONS[node.attrs["fn"]](x)
    return y if factor is None else y * factor


def same(node, x, *_):
    return x


def linear(node, x, w, bias=None, *_):
    return F.linear(x, w, bias)


def conv(node, x, w, bias=None, *_):
    assert not any(node.attrs["pads"])
    return F.conv2d(x, w, bias, node.attrs["strides"], 0, node.attrs["dilations"])


# What an op computes of floats; what its name adds ("_quantize", "_quantize_dynamic") is done afterwards.
OPS = {
    "linear": linear, "qlinear": linear, "conv": conv, "qconv": conv, "qgrouped_matmul": grouped, "qattention": attention,
    "rms_norm": rms_norm, "layer_norm": layer_norm, "rotary": rotary, "activation": activation,
    "softmax": lambda node, x: torch.softmax(x, node.attrs["axis"]), "gelu": lambda node, x: F.gelu(x),
    "dequantize": same, "quantize": same, "requantize": same, "with_format": same, "identity": same,
    "reshape": lambda node, x: x.reshape(node.attrs["shape"]), "transpose": lambda node, x: x.permute(node.attrs["perm"]),
    "concat": lambda node, *x: torch.cat(x, node.attrs["axis"]), "slice": slices, "gather": gather, "gather_nd": gather_nd,
    "scatter_nd": scatter_nd, "sort": sort, "histogram": histogram, "reduce_sum": total, "qsum": total,
    "cumsum": lambda node, x: torch.cumsum(x, node.attrs["axis"]), "add": lambda node, a, b: a + b, "qadd": lambda node, a, b: a + b,
    "mul": lambda node, a, b: a * b, "qmul": lambda node, a, b: a * b, "div": lambda node, a, b: a / b,
    "floor_div": lambda node, a, b: torch.div(a, b, rounding_mode="floor"), "logical_and": lambda node, a, b: a & b,
    "cast": lambda node, x: x.to(getattr(torch, ir_text.DTYPES[node.attrs["to"].dtype])),
    "clamp": lambda node, x: x.clamp(node.attrs.get("lo", -math.inf), node.attrs.get("hi", math.inf)),
}
FUSED = ("_quantize_dynamic", "_quantize")


class Evaluation:
    def __init__(self, graph):
        self.graph, self.values, self.formats = graph, {None: None}, {}
        for label, (kind, array) in graph.constants.items():
            self.formats[label] = kind.format
            t = torch.from_numpy(array.copy())
            self.values[label] = self.decoded(t, kind.format) if kind.format else t

    @staticmethod
    def decoded(codes, fmt):
        return (codes.float() - spread(fmt.zero, fmt, codes.shape)) * spread(fmt.scale, fmt, codes.shape)

    def operands(self, node):
        """Values of the operands; a bias of integers has the scale of the products."""
        out = [self.values[x] for x in node.inputs]
        if node.op in ("qlinear", "qconv") and len(out) > 2 and out[2] is not None and out[2].dtype == torch.int32:
            x, w = (self.formats[i] for i in node.inputs[:2])
            out[2] = out[2].float() * torch.tensor(x.scale) * torch.tensor(w.scale)
        return out

    def looked_up(self, node):
        """A function of codes, as a table has it."""
        x, table = (self.values[i] for i in node.inputs)
        fmt = self.formats[node.inputs[0]]
        code = torch.round(x / spread(fmt.scale, fmt, x.shape) + spread(fmt.zero, fmt, x.shape)).long()
        return self.decoded(table[code % 256], node.types[0].format)  # signed codes by their bits

    def results(self, node):
        if node.op == "lookup":
            return [self.looked_up(node)]
        op = next((node.op[:-len(end)] for end in FUSED if node.op.endswith(end)), node.op)
        dynamic = node.op == "quantize_dynamic" or node.op.endswith(FUSED[0])
        operands = self.operands(node)
        sums = []
        if op != node.op and "norm" in op and len(operands) > 3:
            operands = [operands[0] + operands[3], *operands[1:3]]
            sums = [operands[0]] if node.attrs.get("sums") else []
        y = (same if node.op == "quantize_dynamic" else OPS[op])(node, *operands)
        if isinstance(y, tuple):
            return list(y)
        fmt = node.types[0].format
        floats = [y] if node.attrs.get("floats") else []
        lo, hi = node.attrs.get("lo"), node.attrs.get("hi")
        if fmt is None or op in ("reshape", "transpose", "slice", "concat", "gather", "with_format"):
            return [y]
        if dynamic:
            return [*rounded_by_range(y, fmt, node.attrs), *floats, *sums]
        limited = ir_text.Format(fmt.lo if lo is None else int(lo), fmt.hi if hi is None else int(hi), fmt.axis, 0, fmt.scale, fmt.zero)
        return [rounded(y, limited), *floats, *sums]

    def run(self, *inputs):
        for label, x in zip(self.graph.inputs, inputs):
            self.values[label] = x
        for node in self.graph.nodes:
            results = self.results(node)
            assert len(results) == len(node.outputs), node
            for label, kind, value in zip(node.outputs, node.types, results):
                assert list(value.shape) == kind.shape, (node, value.shape)
                self.values[label], self.formats[label] = value, kind.format
        return [self.values[label] for label in self.graph.outputs]


def evaluate(text, *inputs):
    """The answers of a graph of `quantc inspect --ir --constants`."""
    with torch.no_grad():
        return Evaluation(ir_text.parse(text)).run(*inputs)
