"""An op of one's own without a build of quantc: NumPy says what it computes, C how. It runs where `pip install` put quantc."""
import numpy as np
import onnx.parser
import torch

import quantc


@quantc.op("example::squash")
class Squash:
    """x / (alpha + |x|)"""
    inputs, outputs = {"x": "f32"}, {"y": "f32"}
    alpha: float = 1.0  # p->alpha in C

    def shape(self, x):
        return x

    def evaluate(self, x):
        return x / (self.alpha + np.abs(x))
    units = "p->x_size"  # C loops over units, a GPU gives each a thread
    c = "y[unit] = x[unit] / (p->alpha + fabsf(x[unit]));"


@quantc.op("example::squash_codes", quantizes=Squash)
class SquashCodes(Squash):
    inputs, outputs = {"x": "i8"}, {"y": "i8"}

    def evaluate(self, x):
        y = super().evaluate((x.astype(np.float32) - self.x_zero_point) * self.x_scale)
        return np.clip(np.rint(y / self.y_scale) + self.y_zero_point, self.y_qmin, self.y_qmax).astype(np.int8)

    c = """
        const float v = qn_dequantize(x[unit], p->x_scale, p->x_zero_point), value = v / (p->alpha + fabsf(v));
        y[unit] = (int8_t)qn_quantize(value, p->y_scale, p->y_zero_point, p->y_qmin, p->y_qmax);"""


@torch.library.custom_op("example::squash", mutates_args=())
def squash(x: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    return x / (alpha + x.abs())


class Net(torch.nn.Linear):
    def forward(self, x):
        return torch.relu(squash(super().forward(x), 0.75))


def main():
    squash.register_fake(lambda x, alpha=1.0: torch.empty_like(x))
    print("equal bits:", quantc.check_op(Squash, (4, 16), alpha=0.5), quantc.check_op(SquashCodes, (4, 16)))
    x, rule = torch.randn(4, 16), quantc.StaticQuantRule(pattern=".*", dtype="int8", scale=0.02, input_scale=0.02)
    codes = quantc.from_torch(Net(16, 16).eval(), (x,)).quantize([rule])
    print(codes.explain())
    print("compiled:", torch.equal(codes.compile()(x), codes.run_reference(x)))
    text = '<ir_version: 8, opset_import: ["example": 1]> g (float[4,16] x) => (float[4,16] y) { y = example.Squash<alpha = 0.75>(x) }'
    print("from ONNX:", torch.equal(quantc.from_onnx(onnx.parser.parse_model(text)).run(x), squash(x, 0.75)))


if __name__ == "__main__":
    main()
