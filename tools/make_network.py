#!/usr/bin/env python3
"""Writes a network with seeded weights as one float ONNX file: make_network.py NAME OUT.onnx.

bert_base, minilm   the encoders of BERT-base (12 layers of 768) and MiniLM-L6 (6 layers of 384), 128 embedded tokens
bert_small          2 such layers of 128, 32 tokens
mobilenet_v2        MobileNetV2 of full width at 224x224
gru                 a GRU of 64 over 32 steps of 40 numbers, and a linear layer
"""
import sys

import onnx
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.softmax(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5, -1)
        x = self.norm1(x + self.output((scores @ v).transpose(1, 2).reshape(x.shape)))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class Inverted(nn.Module):
    def __init__(self, inside: int, out: int, stride: int, factor: int) -> None:
        super().__init__()
        wide = inside * factor

        def block(a: int, b: int, kernel: int, step: int, groups: int) -> list:
            return [nn.Conv2d(a, b, kernel, step, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(b)]

        first = [*block(inside, wide, 1, 1, 1), nn.ReLU6()] if factor > 1 else []
        self.body = nn.Sequential(*first, *block(wide, wide, 3, stride, wide), nn.ReLU6(), *block(wide, out, 1, 1, 1))
        self.adds = stride == 1 and inside == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet_v2() -> nn.Module:
    layers, inside = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()], 32
    for factor, out, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                       (6, 320, 1, 1)):
        for i in range(count):
            layers.append(Inverted(inside, out, stride if i == 0 else 1, factor))
            inside = out
    layers += [nn.Conv2d(inside, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
               nn.Linear(1280, 1000)]
    return nn.Sequential(*layers)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.last = nn.GRU(40, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.cell(x)[0])


NETWORKS = {
    "bert_base": (lambda: nn.Sequential(*(Layer(768, 12) for _ in range(12))), (1, 128, 768)),
    "minilm": (lambda: nn.Sequential(*(Layer(384, 12) for _ in range(6))), (1, 128, 384)),
    "bert_small": (lambda: nn.Sequential(*(Layer(128, 2) for _ in range(2))), (1, 32, 128)),
    "gru": (Recurrent, (1, 32, 40)),
    "mobilenet_v2": (mobilenet_v2, (1, 3, 224, 224)),
}


def main() -> None:
    make, shape = NETWORKS[sys.argv[1]]
    torch.manual_seed(0)
    model = make()
    model.train()
    with torch.no_grad():
        for _ in range(2):  # statistics of batch norms
            model(torch.randn(shape[0] * (4 if len(shape) == 4 else 1), *shape[1:]))
    model.eval()
    exported = torch.onnx.export(model, (torch.zeros(shape),), dynamo=True, verbose=False, input_names=["x"],
                                 output_names=["y"]).model_proto
    onnx.save(exported, sys.argv[2])


if __name__ == "__main__":
    main()
