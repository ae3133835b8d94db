"""Small networks with seeded weights, written as users write them."""
import torch
import torch.nn.functional as F
from torch import nn


def weights(module):
    torch.manual_seed(7)
    for p in module.parameters():
        nn.init.uniform_(p, -0.5, 0.5)
    for name, b in module.named_buffers():
        if b.dtype.is_floating_point:
            nn.init.uniform_(b, 0.5, 1.5)
    return module.eval()


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
