#!/usr/bin/env python3
"""Trains two small image classifiers for the accuracy section of the benchmarks: train_images.py FOLDER.

The data are scikit-learn's digits, enlarged to 16x16, in two random colours each and under noise. Both networks train in
well under a minute on one core, with fixed seeds. For NAME = resnet8 and mobilenetv3 the folder gets
  NAME.onnx             the network for one image
  NAME.pt               the same as a PyTorch module
  NAME_calibration.npz  128 images of the training split
  NAME_test.npz         128 other images, their labels and the network's float answers
"""
import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

SIDE, CLASSES = 16, 10


def images() -> tuple[torch.Tensor, torch.Tensor]:
    """All digits as [n, 3, SIDE, SIDE], each with its own colours and brightness."""
    rng = np.random.default_rng(0)
    digits = load_digits()
    shape = torch.from_numpy((digits.images / 16.0).astype(np.float32))[:, None]
    shape = nn.functional.interpolate(shape, size=(SIDE, SIDE), mode="bilinear", align_corners=False).numpy()
    ink, paper = (rng.uniform(-1, 1, (2, len(shape), 3, 1, 1))).astype(np.float32)
    ink += np.where(ink * paper > 0, -np.sign(paper), 0).astype(np.float32)  # never the paper's colour
    colours = paper + shape * (ink - paper) + 0.1 * rng.standard_normal((len(shape), 3, SIDE, SIDE), dtype=np.float32)
    order = rng.permutation(len(shape))
    return torch.from_numpy(colours.astype(np.float32)[order]), torch.from_numpy(digits.target[order])


def conv_norm(cin: int, cout: int, size: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(cin, cout, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(cout))


class Residual(nn.Module):
    def __init__(self, cin: int, cout: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = conv_norm(cin, cout, 3, stride), conv_norm(cout, cout, 3)
        self.shortcut = conv_norm(cin, cout, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


class ResNet8(nn.Module):
    """A stem, three residual blocks of 16, 32 and 64 channels and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv_norm(3, 16, 3)
        self.blocks = nn.Sequential(Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2))
        self.classify = nn.Linear(64, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(torch.relu(self.stem(x)))
        return self.classify(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.up(torch.relu(self.down(nn.functional.adaptive_avg_pool2d(x, 1))))
        return x * nn.functional.hardsigmoid(weight)


class Inverted(nn.Module):
    """Widen, filter each channel by itself, weigh the channels, narrow."""

    def __init__(self, cin: int, wide: int, cout: int, size: int, stride: int, excite: bool) -> None:
        super().__init__()
        self.widen, self.filter = conv_norm(cin, wide, 1), conv_norm(wide, wide, size, stride, wide)
        self.excite = SqueezeExcite(wide) if excite else nn.Identity()
        self.narrow = conv_norm(wide, cout, 1)
        self.adds = cin == cout and stride == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.hardswish(self.widen(x))
        y = self.narrow(self.excite(nn.functional.hardswish(self.filter(y))))
        return x + y if self.adds else y


class MobileNetV3(nn.Module):
    """The parts of MobileNetV3: inverted residuals, squeeze and excitation, hardswish."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = conv_norm(3, 16, 3)
        self.blocks = nn.Sequential(
            Inverted(16, 32, 16, 3, 1, True), Inverted(16, 48, 24, 3, 2, False), Inverted(24, 64, 24, 3, 1, False),
            Inverted(24, 72, 32, 5, 2, True), Inverted(32, 96, 32, 5, 1, True))
        self.last = conv_norm(32, 96, 1)
        self.hidden, self.classify = nn.Linear(96, 64), nn.Linear(64, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(nn.functional.hardswish(self.stem(x)))
        x = torch.flatten(nn.functional.adaptive_avg_pool2d(nn.functional.hardswish(self.last(x)), 1), 1)
        return self.classify(nn.functional.hardswish(self.hidden(x)))


NETWORKS = {"resnet8": (ResNet8, 12), "mobilenetv3": (MobileNetV3, 16)}


def train(model: nn.Module, x: torch.Tensor, labels: torch.Tensor, epochs: int) -> None:
    generator = torch.Generator().manual_seed(0)
    batch = 32
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=6e-3, epochs=epochs, steps_per_epoch=-(-len(x) // batch))
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=generator).split(batch):
            loss = nn.functional.cross_entropy(model(x[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    x, labels = images()
    for name, (network, epochs) in NETWORKS.items():
        torch.manual_seed(0)
        model = network()
        train(model, x[:1500], labels[:1500], epochs)
        test = x[-128:]
        with torch.no_grad():
            answers = model(test)
        right = int((answers.argmax(1) == labels[-128:]).sum())
        print(f"{name}: {right} of 128 right")
        torch.onnx.export(model, (test[:1],), folder / f"{name}.onnx", dynamo=True, external_data=False,
                          input_names=["x"], output_names=["y"], verbose=False)
        torch.save(model.state_dict(), folder / f"{name}.pt")
        np.savez(folder / f"{name}_calibration.npz", x=x[:128].numpy())
        np.savez(folder / f"{name}_test.npz", x=test.numpy(), labels=labels[-128:].numpy(), y=answers.numpy())


if __name__ == "__main__":
    main()
