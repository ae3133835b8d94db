#!/usr/bin/env python3
"""Trains the digits classifier of the demo and of the tests.

Reads scikit-learn's digits (1,797 images of 8x8), trains a small convolutional network on the CPU with
fixed seeds, and writes, in about twenty seconds and with the same bytes every time:
  tests/models/digits.{pt2,onnx,npz}  the network, one input and its output
  examples/digits/test.npz            the test images and labels
  examples/digits/test.bin            the same, 65 bytes each: 64 pixels of 0 to 16 and the label
  examples/digits/accuracy.json       PyTorch's own result on them
  examples/digits/calibration.npz     128 images of the training split, for quantc calibrate
"""
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

ROOT = Path(__file__).resolve().parent.parent


class Digits(nn.Module):
    """Three convolutions with batch norm, one residual, two pools, one linear layer: 20 k weights."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.widen = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.residual = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32))
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.3)
        self.classify = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.widen(self.stem(x)))
        x = self.pool(torch.relu(x + self.residual(x)))
        return self.classify(self.drop(torch.flatten(x, 1)))


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int = 40) -> None:
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    batch = 64
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=6e-3, epochs=epochs, steps_per_epoch=-(-len(images) // batch))
    model.train()
    for _ in range(epochs):
        order = torch.randperm(len(images), generator=generator)
        for rows in order.split(batch):
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()


def main() -> None:
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    train_x, test_x, train_y, test_y = train_test_split(
        images, digits.target, test_size=450, random_state=0, stratify=digits.target)

    model = Digits()
    train(model, torch.from_numpy(train_x), torch.from_numpy(train_y))
    with torch.no_grad():
        outputs = torch.cat([model(torch.from_numpy(x[None])) for x in test_x]).numpy()
    correct = int((outputs.argmax(1) == test_y).sum())
    print(f"{correct} of {len(test_y)} right: {100 * correct / len(test_y):.2f} %")

    models = ROOT / "tests" / "models"
    example = ROOT / "examples" / "digits"
    example.mkdir(parents=True, exist_ok=True)
    sample = (torch.from_numpy(test_x[:1]),)
    program = torch.export.export(model, sample)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # paths of the machine that exported it
    torch.export.save(program, models / "digits.pt2")
    exported = torch.onnx.export(model, sample, dynamo=True, input_names=["image"],
                                 output_names=["scores"], verbose=False).model_proto
    for node in exported.graph.node:
        del node.metadata_props[:]
    onnx.save(exported, models / "digits.onnx")
    np.savez(models / "digits.npz", in_0=test_x[:1], out_0=outputs[:1])
    np.savez_compressed(example / "test.npz", images=test_x, labels=test_y.astype(np.uint8))
    np.savez_compressed(example / "calibration.npz", in_0=train_x[:128])
    rows = np.concatenate([(test_x * 16).reshape(-1, 64), test_y[:, None]], axis=1).astype(np.uint8)
    (example / "test.bin").write_bytes(rows.tobytes())
    (example / "accuracy.json").write_text(json.dumps(
        {"images": len(test_y), "correct": correct, "accuracy": round(correct / len(test_y), 6)}) + "\n")


if __name__ == "__main__":
    main()
