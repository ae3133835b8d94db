"""An op of one's own without a build of quantc: NumPy says what it computes, C how. Run it where `pip install` put quantc."""
import numpy as np
import onnx.helper as oh
import torch

import quantc


@quantc.op("example::peak_hold")
class PeakHold:
    """The envelope of a signal: it rises with each peak and falls by a factor from sample to sample."""
    inputs, outputs = {"x": "f32"}, {"y": "f32"}
    decay: float = 0.5

    def shape(self, x):
        return x

    def evaluate(self, x):
        y = x.copy()
        for k in range(1, x.shape[-1]):
            y[..., k] = np.maximum(y[..., k - 1] * np.float32(self.decay), x[..., k])
        return y

    units = "p->x_size / p->x_shape[p->x_rank - 1]"  # a GPU computes each row by a thread
    cuda = """
        const int64_t n = p->x_shape[p->x_rank - 1];
        for (int64_t i = unit * n; i < (unit + 1) * n; ++i) {
          const float left = i > unit * n ? qn_mulf(y[i - 1], p->decay) : x[i];
          y[i] = left > x[i] ? left : x[i];
        }"""
    c = "for (int64_t unit = 0; unit < " + units + "; ++unit) {" + cuda + "}"


@quantc.op("example::peak_hold_codes", quantizes=PeakHold)
class PeakHoldCodes(PeakHold):
    """The same of codes of 8 bits whose scales are equal: only distances from the zero point count."""
    inputs, outputs = {"x": "i8"}, {"y": "i8"}

    def evaluate(self, x):
        y = x.astype(np.float32) - self.x_zero_point
        for k in range(1, x.shape[-1]):
            y[..., k] = np.maximum(np.rint(y[..., k - 1] * np.float32(self.decay)), y[..., k])
        return np.clip(y + self.y_zero_point, self.y_qmin, self.y_qmax).astype(np.int8)

    cuda = """
        const int64_t n = p->x_shape[p->x_rank - 1];
        float held = 0;
        for (int64_t i = unit * n; i < (unit + 1) * n; ++i) {
          const float now = (float)(x[i] - p->x_zero_point), left = rintf(qn_mulf(held, p->decay));
          held = i > unit * n && left > now ? left : now;
          const int32_t code = (int32_t)held + p->y_zero_point;
          y[i] = (int8_t)(code < p->y_qmin ? p->y_qmin : code > p->y_qmax ? p->y_qmax : code);
        }"""
    c = "for (int64_t unit = 0; unit < " + PeakHold.units + "; ++unit) {" + cuda + "}"


@torch.library.custom_op("example::peak_hold", mutates_args=())
def peak_hold(x: torch.Tensor, decay: float = 0.5) -> torch.Tensor:
    held = PeakHold()
    held.decay = decay
    return torch.from_numpy(held.evaluate(x.numpy()))


peak_hold.register_fake(lambda x, decay=0.5: torch.empty_like(x))


class Envelope(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(16, 16)

    def forward(self, x):
        return torch.relu(peak_hold(self.fc(x), 0.75))


if __name__ == "__main__":
    print("equal bits:", quantc.check_op(PeakHold, (4, 16), decay=0.9), quantc.check_op(PeakHoldCodes, (4, 16)))
    x = torch.randn(4, 16)
    graph = quantc.from_torch(Envelope().eval(), (x,))
    codes = graph.quantize([quantc.StaticQuantRule(pattern=".*", dtype="int8", scale=0.02, input_scale=0.02)])
    print(codes.explain())
    print("compiled:", bool((codes.compile()(x) == codes.run_reference(x)).all()))
    node = oh.make_node("PeakHold", ["x"], ["y"], domain="example", decay=0.75)
    ports = [oh.make_tensor_value_info(name, 1, [4, 16]) for name in "xy"]
    model = oh.make_model(oh.make_graph([node], "g", ports[:1], ports[1:]), opset_imports=[oh.make_opsetid("", 18), oh.make_opsetid("example", 1)])
    print("from ONNX:", bool(np.array_equal(quantc.from_onnx(model).run(x.numpy()), peak_hold(x, 0.75).numpy())))
