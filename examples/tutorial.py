"""quantc in one script: train a small network on handwritten digits, calibrate and quantize it, see which layer hurts,
compile it to C and compare. Needs torch and scikit-learn besides quantc; takes less than a minute.

    python examples/tutorial.py [FOLDER]
"""
import sys
import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

import quantc


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.bn1, self.bn2, self.fc = nn.BatchNorm2d(16), nn.BatchNorm2d(32), nn.Linear(32 * 2 * 2, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = nn.functional.max_pool2d(torch.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(torch.flatten(x, 1))


def accuracy(run, images: torch.Tensor, labels: torch.Tensor) -> float:
    scores = torch.cat([run(image[None]) for image in images])
    return 100 * float((scores.argmax(1) == labels).float().mean())


def main(folder: Path) -> None:
    # 1. Train.
    torch.manual_seed(0)
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(data.target)
    train, test = slice(0, 1400), slice(1400, None)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(12):
        for batch in torch.randperm(1400).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(images[train][batch]), labels[train][batch]).backward()
            optimizer.step()
    net.eval()

    # 2. Export: the graph computes what the network computes.
    graph = quantc.from_torch(net, (images[:1],))
    with torch.no_grad():
        print(f"torch     {accuracy(net, images[test], labels[test]):.2f} %")
    print(f"float     {accuracy(graph.run, images[test], labels[test]):.2f} %")

    # 3. Calibrate, and quantize by what was found.
    rules = quantc.calibrate(graph, [images[:200]], per_channel=True)
    rules.save(folder / "rules.toml", force=True)
    q = graph.quantize(rules)
    print(f"int8      {accuracy(q.run, images[test], labels[test]):.2f} %")
    print(q.explain().totals)

    # 4. Which layer hurts?
    print(q.analyze([images[200:240]]))
    q.report(folder / "report.html", [images[200:240]])

    # 5. Compile to C, call it, and check that it is the same network.
    compiled = q.compile(folder / "c", name="digits", force=True)
    print(f"C         {accuracy(compiled, images[test], labels[test]):.2f} %")
    same = all(torch.equal(compiled(x[None]), q.run(x[None])) for x in images[test][:50])
    print(f"the same bits: {same}")
    print(compiled)
    print(f"{compiled.benchmark(images[:1]).median * 1e6:.1f} us for an image; float {graph.compile().benchmark(images[:1]).median * 1e6:.1f} us")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
