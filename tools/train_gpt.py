#!/usr/bin/env python3
"""Trains a small character-level GPT for the accuracy section of the benchmarks: train_gpt.py FOLDER.

The text is the help that comes with every Python (pydoc's topics). Attention is written out, with the mask most
exports have: the least f32 number is added to scores a position must not see. About a minute on one core, with
fixed seeds. The folder gets
  gpt.onnx             the network for one row of 64 characters
  gpt.pt               its weights
  gpt_calibration.npz  64 rows of the training text
  gpt_test.npz         64 rows of other text, the characters that follow and the network's float answers
"""
import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

CONTEXT, WIDTH, HEADS, LAYERS = 64, 96, 4, 3
LETTERS = "".join(chr(c) for c in range(32, 127)) + "\n"


def text() -> torch.Tensor:
    from pydoc_data.topics import topics
    joined = "\n".join(topics[name] for name in sorted(topics))
    known = {letter: i for i, letter in enumerate(LETTERS)}
    return torch.tensor([known[c] for c in joined if c in known])


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.mix = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.view(-1, CONTEXT, HEADS, WIDTH // HEADS).transpose(1, 2)

        y = self.norm1(x)
        scores = heads(self.query(y)) @ heads(self.key(y)).transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        y = torch.softmax(scores + mask, -1) @ heads(self.value(y))
        x = x + self.mix(y.transpose(1, 2).reshape(-1, CONTEXT, WIDTH))
        return x + self.narrow(nn.functional.gelu(self.widen(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.letters, self.positions = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(LETTERS), bias=False)
        hidden = torch.full((CONTEXT, CONTEXT), torch.finfo(torch.float32).min).triu(1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.letters(x) + self.positions.weight
        for block in self.blocks:
            y = block(y, self.mask)
        return self.head(self.norm(y))


def rows(data: torch.Tensor, begins: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    at = begins[:, None] + torch.arange(CONTEXT)
    return data[at], data[at + 1]


def train(model: nn.Module, data: torch.Tensor, steps: int) -> None:
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    for _ in range(steps):
        x, y = rows(data, torch.randint(len(data) - CONTEXT - 1, (24,), generator=generator))
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    data = text()
    split = len(data) * 9 // 10
    model = Gpt()
    train(model, data[:split], 700)
    samples, _ = rows(data, torch.arange(64) * (split // 65))
    test, following = rows(data, split + torch.arange(64) * ((len(data) - split) // 65))
    with torch.no_grad():
        answers = model(test)
        loss = nn.functional.cross_entropy(answers.flatten(0, 1), following.flatten())
    print(f"gpt: perplexity {math.exp(loss):.3f} over {len(LETTERS)} characters")
    torch.onnx.export(model, (test[:1],), folder / "gpt.onnx", dynamo=True, external_data=False, input_names=["x"],
                      output_names=["y"], verbose=False)
    torch.save(model.state_dict(), folder / "gpt.pt")
    np.savez(folder / "gpt_calibration.npz", x=samples.numpy())
    np.savez(folder / "gpt_test.npz", x=test.numpy(), following=following.numpy(), y=answers.numpy())


if __name__ == "__main__":
    main()
