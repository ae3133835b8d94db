"""Residual networks with seeded weights and real batch-norm statistics."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, cin: int, cout: int, stride: int = 1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


class ResNet18(nn.Module):
    def __init__(self, classes: int = 1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(3, 2, 1)
        widths = [64, 64, 128, 256, 512]
        self.layers = nn.Sequential(*(nn.Sequential(Block(a, b, 1 if i == 0 else 2), Block(b, b))
                                      for i, (a, b) in enumerate(zip(widths, widths[1:]))))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, classes)

    def forward(self, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layers(x)), 1))


class TinyResNet(nn.Module):
    def __init__(self, channels: int = 16, classes: int = 10):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.block = Block(channels, channels)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, classes)
        nn.init.normal_(self.fc.weight, mean=0.08, std=0.04)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        return self.fc(torch.flatten(self.pool(self.block(x)), 1))


def with_statistics(net: nn.Module, shape: tuple[int, ...], batches: int = 4, seed: int = 0, gain=(0.5, 1.5), shift=(-0.2, 0.2)) -> nn.Module:
    """The network after a few batches in training mode, which give its batch norms their statistics."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.momentum = 0.5
                m.weight.uniform_(*gain, generator=generator)
                m.bias.uniform_(*shift, generator=generator)
        net.train()
        for _ in range(batches):
            net(torch.randn(*shape, generator=generator))
    return net.eval()
