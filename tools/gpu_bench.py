"""Measures generated CUDA beside torch on one machine, in turns, for tools/gpu_check: products, networks, kernels that memory limits.

Models are made here, with seeded weights. Each is calibrated on a few inputs, compiled for this GPU, built, and compared: recorded vectors have the
interpreter's bits, and the first row of a large batch is what that row gives alone. Then A B A B: rounds of quantc and of torch.compile in fp16, minimum
and median. Without a GPU (--host) sizes are tiny and torch runs on the processor: the same code, no figures.
"""
import concurrent.futures
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn

import gpu_digits
from gpu_machine import architecture

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = 5


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


def resnet(name):
    sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
    from make_resnet50 import ResNet50
    from tests.support.resnet import ResNet18
    return ResNet50() if name == "resnet50" else ResNet18()


def network(name):
    sys.path.insert(0, str(ROOT / "tools"))
    import make_network
    return make_network.NETWORKS[name][0]()


class Work:
    """What is measured: a module, the shapes of its inputs without their first size, the first size of each run, and what a run is worth."""
    def __init__(self, name, make, shapes, batches, tiny, flags=(), codes=False, kind="rows"):
        self.name, self.make, self.shapes, self.batches, self.tiny = name, make, shapes, batches, tiny
        self.flags, self.codes, self.kind = flags, codes, kind


def works():
    """In the order of their value: a run that is cut off has the first ones."""
    image = [(3, 224, 224)]
    for size in (4096, 8192):
        yield Work(f"product {size}", lambda n: nn.Linear(n, n, bias=False), [(size,)], [size], ([(48,)], [40]), codes=True, kind="macs")
    yield Work("resnet50", lambda n: resnet("resnet50"), image, [256, 1], ([(3, 32, 32)], [2, 1]))
    yield Work("resnet18", lambda n: resnet("resnet18"), image, [256, 1], ([(3, 32, 32)], [2, 1]))
    yield Work("mobilenet_v2", lambda n: network("mobilenet_v2"), image, [256, 1], ([(3, 32, 32)], [2, 1]))
    yield Work("bert_base, 128 tokens", lambda n: network("bert_base" if n == 768 else "bert_small"), [(128, 768)], [32], ([(8, 128)], [2]))
    wide, maps = [(8192,)], [(64, 112, 112)]
    yield Work("add", lambda n: Sum(), wide * 2, [16384], ([(64,)] * 2, [4]), kind="bytes")
    yield Work("gelu", lambda n: nn.GELU(), wide, [16384], ([(64,)], [4]), kind="bytes")
    yield Work("layer norm", lambda n: nn.LayerNorm(n), wide, [16384], ([(64,)], [4]), kind="bytes")
    yield Work("add of codes", lambda n: Sum(), wide * 2, [32768], ([(64,)] * 2, [4]), codes=True, kind="bytes")
    yield Work("max pool of codes", lambda n: nn.MaxPool2d(3, 2, 1), maps, [256], ([(8, 8, 8)], [2]), codes=True, kind="bytes")
    yield Work("average pool of codes", lambda n: nn.AvgPool2d(2), maps, [256], ([(8, 8, 8)], [2]), codes=True, kind="bytes")


def sh(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command[:3])}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


class Built:
    """Generated code for one size of the batch, with its arrays where it runs."""
    def __init__(self, folder, host):
        self.host, self.header = host, (folder / "net.h").read_text()
        self.library, self.handle = ctypes.CDLL(str(folder / "libnet.so")), ctypes.c_void_p()
        self.library.net_error_text.restype = ctypes.c_char_p
        self.arena, self.weights = self.number("DEVICE_ARENA_BYTES"), self.number("DEVICE_WEIGHT_BYTES")
        self.inputs = [self.array("INPUT", i) for i in range(self.number("INPUTS"))]
        self.outputs = [self.array("OUTPUT", i) for i in range(self.number("OUTPUTS"))]

    def number(self, name):
        return int(re.search(rf"#define NET_{name} (?:INT64_C\()?(\d+)", self.header)[1])

    def array(self, kind, i):
        """Random numbers of the port's type: floats about 1, all codes."""
        torch.manual_seed(i + 1)
        count, floats = self.number(f"{kind}_{i}_ELEMENTS"), "float" in re.search(rf"NET_{kind}_{i}_TYPE (\w+)", self.header)[1]
        values = torch.randn(count) if floats else torch.randint(0, 255, (self.number(f"{kind}_{i}_BYTES"),), dtype=torch.uint8)
        return values if self.host else values.cuda()

    def open(self, deployment):
        config = gpu_digits.Config(0, 0, gpu_digits.DEPLOYMENTS[deployment])
        self.need(self.library.net_create(ctypes.byref(config), ctypes.byref(self.handle)))
        self.pointers = [(ctypes.c_void_p * len(a))(*(t.data_ptr() for t in a)) for a in (self.inputs, self.outputs)]
        self.stream = ctypes.c_void_p(None if self.host else torch.cuda.current_stream().cuda_stream)
        return self

    def need(self, code):
        if code:
            raise RuntimeError(self.library.net_error_text(self.handle).decode())

    def run(self):
        self.need(self.library.net_run(self.handle, *self.pointers, self.stream))

    def analysis(self):
        out = gpu_digits.Analysis()
        self.need(self.library.net_analyze(self.handle, ctypes.byref(out)))
        return out

    def close(self):
        self.library.net_destroy(self.handle)
        self.handle = ctypes.c_void_p()

    def bytes(self):
        return sum(t.numel() * t.element_size() for t in self.inputs + self.outputs)


def made(work, folder, host):
    """Writes the model and inputs to calibrate it; returns the module. One after another: torch exports in one thread."""
    shapes, _ = work.tiny if host else (work.shapes, work.batches)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    module = work.make(shapes[0][-1])
    module.train()
    rows = 8 if len(shapes[0]) == 1 else 2
    with torch.no_grad():
        for _ in range(2 if len(shapes[0]) == 3 else 0):  # statistics of batch norms
            module(*(torch.randn(4, *shape) for shape in shapes))
        module.eval()
        inputs = tuple(torch.randn(rows, *shape) for shape in shapes)
        batch = torch.export.Dim("batch", min=1, max=65536)
        exported = torch.export.export(module, inputs, dynamic_shapes=tuple({0: batch} for _ in inputs), strict=False)
        torch.export.save(exported, folder / "net.pt2")
    np.savez(folder / "some.npz", **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
    np.savez(folder / "one.npz", **{f"in_{i}": x.numpy()[:1] for i, x in enumerate(inputs)})
    return module


def calibrated(quantc, folder):
    sh(quantc, "calibrate", folder / "net.pt2", "--data", folder / "some.npz", "-o", folder / "rules.toml")
    return free_dimension(quantc, folder)


def built(quantc, work, folder, dimension, batch, host):
    """The library for one batch. Of one image the recorded vector is compared, too."""
    to, recorded = folder / f"b{batch}", batch == 1 and not work.codes
    floats = work.kind == "bytes" and not work.codes
    sh(quantc, "compile", folder / "net.pt2", *([] if floats else ["--rules", folder / "rules.toml"]), "--target", "cuda:sm_90" if host else f"cuda:{architecture()}",
       "--weights", "incbin", "--name", "net", "--force", *(["--io-dtype", "quantized"] if work.codes else []), "--dim", f"{dimension.result()}={batch}",
       "-o", to, *(["--vectors", folder / "one.npz"] if recorded else []))
    sh("make", "-C", to, *(["HOST=1", "CFLAGS=-O1"] if host else []))
    if recorded and "bits equal" not in sh(to / "net_test"):
        raise RuntimeError(f"{work.name}: the recorded vector has other bits")
    return to


def free_dimension(quantc, folder):
    """The name of the exported batch, which quantc asks for."""
    done = subprocess.run([str(quantc), "compile", str(folder / "net.pt2"), "-o", str(folder / "none")], capture_output=True, text=True)
    return re.search(r"give --dim NAME=SIZE for (\w+)", done.stderr)[1]


def rounds(runs, host):
    """Seconds of one run of each, measured in turns: ROUNDS rounds of as many runs as take about 50 ms, and one of a second."""
    def timed(run, count):
        if host:
            start = time.perf_counter()
            for _ in range(count):
                run()
            return (time.perf_counter() - start) / count
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(count):
            run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1e3 / count
    counts = {}
    for name, run in runs.items():
        for _ in range(3):
            run()
        counts[name] = 1 if host else max(3, min(2000, int(0.05 / max(timed(run, 3), 1e-7))))
    times = {name: [] for name in runs}
    for _ in range(1 if host else ROUNDS):
        for name, run in runs.items():
            times[name].append(timed(run, counts[name]))
    return {name: (min(own), sorted(own)[len(own) // 2], timed(runs[name], counts[name] * (1 if host else 20))) for name, own in times.items()}


def peer(module, work, batch, host):
    """A run of torch.compile in fp16 on inputs of the same shapes."""
    shapes = (work.tiny[0] if host else work.shapes)
    if host:
        inputs = [torch.randn(batch, *shape) for shape in shapes]
        return lambda: module(*inputs)
    own = module.half().cuda()
    inputs = [torch.randn(batch, *shape, device="cuda", dtype=torch.float16) for shape in shapes]
    if len(shapes[0]) == 3:
        own, inputs = own.to(memory_format=torch.channels_last), [x.to(memory_format=torch.channels_last) for x in inputs]
    torch._dynamo.reset()  # sizes of another batch are no reason for code of free sizes
    compiled = torch.compile(own, mode="reduce-overhead", dynamic=False)
    return lambda: compiled(*inputs)


def copied(host):
    """Bytes per second that a copy on the device moves, read and written."""
    size = 1 << (16 if host else 30)
    source = torch.randint(0, 255, (size,), dtype=torch.uint8, device="cpu" if host else "cuda")
    to = torch.empty_like(source)
    return 2 * size / rounds({"copy": lambda: to.copy_(source)}, host)["copy"][0]


def worth(work, own, batch, seconds, copy):
    """A run's time as what the table states."""
    if work.kind == "macs":
        return f"{2 * own.number('MACS') / seconds / 1e12:.1f} TOPS"
    if work.kind == "bytes":
        return f"{own.bytes() / seconds / 1e12:.2f} TB/s, {100 * own.bytes() / seconds / copy:.0f} % of a copy"
    return f"{batch / seconds:,.0f} rows/s"


def measure(check, work, module, projects, host, copy):
    """Rows of the tables of one piece of work: times and deployments. `projects` are folders that are being built, by batch."""
    alone, rows, deployed = None, [], []
    with torch.no_grad():
        for batch in sorted(projects):
            own = Built(projects[batch].result(), host).open("aggressive")
            own.run()
            first = [bytes(t.cpu().view(torch.uint8).numpy().tobytes()[:t.numel() * t.element_size() // batch]) for t in own.outputs]
            if batch == 1:
                alone = first, [x.clone() for x in own.inputs]
            elif alone:
                for x, one in zip(own.inputs, alone[1]):
                    x[:one.numel()] = one
                own.run()
                first = [bytes(t.cpu().view(torch.uint8).numpy().tobytes()[:t.numel() * t.element_size() // batch]) for t in own.outputs]
                check(f"{work.name}: a row of {batch} has the bits that it has alone", first == alone[0])
            answers = set()
            for _ in range(3 if host else 1000 if batch == 1 else 20):
                own.run()
                answers.add(b"".join(t.cpu().view(torch.uint8).numpy().tobytes() for t in own.outputs))
            check(f"{work.name}, {batch}: all runs give one answer", len(answers) == 1)
            times = rounds({"quantc": own.run, "torch": peer(module, work, batch, host)}, host)
            ours, theirs = times["quantc"], times["torch"]
            rows.append(f"| {work.name} | {batch} | {1e3 * ours[0]:.4f}, {1e3 * ours[1]:.4f}, {1e3 * ours[2]:.4f} | {worth(work, own, batch, ours[2], copy)} | "
                        f"{1e3 * theirs[0]:.4f}, {1e3 * theirs[1]:.4f}, {1e3 * theirs[2]:.4f} | {theirs[0] / ours[0]:.2f} | {own.arena} + {own.weights} |")
            own.close()
            for name in gpu_digits.DEPLOYMENTS if work.kind == "rows" else ():
                figures = own.open(name).analysis()
                launches, host_us, device_us = figures.launches, figures.host_us, figures.device_us
                if name in ("balanced", "aggressive"):
                    host_us, device_us = figures.host_us_graph, figures.device_us_graph
                deployed.append(f"| {work.name} | {batch} | {name} | {launches} | {host_us:.1f} | {device_us:.1f} | {figures.reason.decode()} |")
                own.close()
            del own
            if not host:
                torch.cuda.empty_cache()
    return rows, deployed


HEAD = ["", "Milliseconds of a run: minimum, median of rounds of 50 ms, and mean over a second; torch.compile in fp16 in turns with it; device memory is arena and weights.", "",
        "| what | batch | quantc, int8 | in that second | torch | times as fast (minimum) | bytes |", "|---|---|---|---|---|---|---|"]
DEPLOYED = ["", "| what | batch | deployment | launches | host us | device us | why auto chose |", "|---|---|---|---|---|---|---|"]


def run(check, quantc, folder, host, page, only=None):
    """Measures everything; page(lines) is told of all figures after each piece of work. Later ones are built while the first are measured."""
    rows, deployed, started = [], [], []
    copy = copied(host)
    head = ["", f"A copy on the device moves {copy / 1e12:.2f} TB/s, read and written."]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for work in works():
            if only and not work.name.startswith(only):
                continue
            own = folder / re.sub(r"\W+", "_", work.name)
            module = made(work, own, host)
            dimension = pool.submit(calibrated, quantc, own)
            batches = work.tiny[1] if host else work.batches
            started.append((work, module, {batch: pool.submit(built, quantc, work, own, dimension, batch, host) for batch in batches}))
        for work, module, projects in started:
            start = time.time()
            try:
                more, ways = measure(check, work, module, projects, host, copy)
            except (RuntimeError, OSError, AttributeError, TypeError) as error:
                check(f"benchmark of {work.name}", False, str(error)[-1500:])
                continue
            rows, deployed = rows + more, deployed + ways
            page(head + HEAD + rows + DEPLOYED + deployed)
            check(f"benchmark of {work.name}", True, f"{time.time() - start:.0f} s")
