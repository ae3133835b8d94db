"""Measures generated CUDA beside torch on one machine, interleaved, for tools/gpu_check: products, networks, kernels that memory limits.

Before a piece of work is measured, all rows of its largest batch are compared with quantc's own answer. Then A B A B: rounds of quantc and of
torch.compile in fp16, minimum and median. Without a GPU (--host) sizes are tiny and torch runs on the processor: the same code, no figures.
"""
import time

import torch
from torch import nn

import gpu_digits
import gpu_works
from gpu_works import Project, Sum, Work, network, resnet

ROUNDS = 5


def works():
    """In the order of their value: a run that is cut off has the first ones. Each name is that of a folder of models."""
    image, tiny = [(3, 224, 224)], ([(3, 32, 32)], [2, 1])
    yield Work("resnet50", lambda n: resnet("resnet50"), image, [256, 1], tiny, peers=(256, 1), steps=(256,))
    yield Work("resnet50, codes in and out", lambda n: resnet("resnet50"), image, [256], ([(3, 32, 32)], [2]), codes=True, model="resnet50")
    yield Work("bert_base, 128 tokens", lambda n: network("bert_base" if n == 768 else "bert_small"), [(128, 768)], [32], ([(8, 128)], [2]), peers=(32,),
               steps=(32,))
    for size in (4096, 8192):
        yield Work(f"product {size}", lambda n: nn.Linear(n, n, bias=False), [(size,)], [size], ([(48,)], [40]), codes=True, kind="macs")
    wide, maps = [(8192,)], [(64, 112, 112)]
    yield Work("add", lambda n: Sum(), wide * 2, [16384], ([(64,)] * 2, [4]), kind="bytes")
    yield Work("gelu", lambda n: nn.GELU(), wide, [16384], ([(64,)], [4]), kind="bytes")
    yield Work("layer norm", lambda n: nn.LayerNorm(n), wide, [16384], ([(64,)], [4]), kind="bytes")
    yield Work("layer norm of codes", lambda n: nn.LayerNorm(n), wide, [32768], ([(64,)], [4]), codes=True, kind="bytes")
    yield Work("add of codes", lambda n: Sum(), wide * 2, [32768], ([(64,)] * 2, [4]), codes=True, kind="bytes")
    yield Work("max pool of codes", lambda n: nn.MaxPool2d(3, 2, 1), maps, [256], ([(8, 8, 8)], [2]), codes=True, kind="bytes")
    yield Work("average pool of codes", lambda n: nn.AvgPool2d(2), maps, [256], ([(8, 8, 8)], [2]), codes=True, kind="bytes")
    yield Work("mobilenet_v2", lambda n: network("mobilenet_v2"), image, [256, 1], tiny, peers=(256,))
    yield Work("resnet18", lambda n: resnet("resnet18"), image, [1, 256], tiny, peers=(1,))


def rounds(runs, host):
    """Seconds of one run of each, measured interleaved: ROUNDS rounds of as many runs as take about 50 ms, and one of a second."""
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
    shapes, _ = work.sizes(host)
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


def milliseconds(times):
    return ", ".join(f"{1e3 * t:.4f}" for t in times)


def time_row(work, own, batch, times, copy):
    ours, theirs = times["quantc"], times.get("torch")
    return (f"| {work.name} | {batch} | {milliseconds(ours)} | {worth(work, own, batch, ours[0], copy)} | {worth(work, own, batch, ours[2], copy)} | "
            + (f"{milliseconds(theirs)} | {theirs[0] / ours[0]:.2f}, {theirs[2] / ours[2]:.2f} | " if theirs else "- | - | ") + f"{own.arena} + {own.weights} |")


def deployed(work, own, batch):
    """Rows of what each deployment costs; on the host all are the same."""
    for name in list(gpu_digits.DEPLOYMENTS)[:1 if own.host else None]:
        figures = own.open(name).analysis()
        host_us, device_us = figures.host_us, figures.device_us
        if figures.deployment != gpu_digits.DEPLOYMENTS["conservative"]:
            host_us, device_us = figures.host_us_graph, figures.device_us_graph
        yield f"| {work.name} | {batch} | {name} | {figures.launches} | {host_us:.1f} | {device_us:.1f} | {figures.reason.decode()} |"
        own.close()


def alone_row(work, own, batch, copy):
    """What kernels take without the copies of inputs and outputs, as a graph."""
    seconds = own.open("balanced").analysis().device_us_graph * 1e-6
    own.close()
    return f"| {work.name} | {batch} | {1e3 * seconds:.4f} | {worth(work, own, batch, seconds, copy)} |"


def step_rows(work, own, batch):
    """What each kernel takes in all, and the steps that take longest."""
    steps = own.open("conservative").profile()
    own.close()
    whole, by = sum(us for *_, us in steps), {}
    for _, kernel, us in steps:
        by.setdefault(kernel, []).append(us)
    rows = ["", f"{work.name}, batch {batch}: {len(steps)} steps take {whole:.1f} us one after another, without a graph.", "",
            "| kernel | steps | us | share |", "|---|---|---|---|"]
    rows += [f"| {kernel} | {len(own_us)} | {sum(own_us):.1f} | {100 * sum(own_us) / whole:.1f} % |"
             for kernel, own_us in sorted(by.items(), key=lambda item: -sum(item[1]))]
    rows += ["", "| step | layer | kernel | us |", "|---|---|---|---|"]
    return rows + [f"| {i} | {layer[:60].replace('|', '/')} | {kernel} | {us:.1f} |" for i, (layer, kernel, us) in enumerate(steps)]


class Page:
    """All figures so far, as lines of the page."""
    def __init__(self, copy):
        self.copy, self.times, self.alone, self.deployments, self.steps = copy, [], [], [], []

    def lines(self):
        return [f"A copy on the device moves {self.copy / 1e12:.2f} TB/s, read and written.", "",
                "Milliseconds of a run: minimum and median of rounds of 50 ms (burst), mean over a second (sustained); torch.compile in fp16 in turns with it; "
                "times as fast: burst, sustained; device memory is arena and weights.", "",
                "| what | batch | quantc, int8 | burst | sustained | torch | times as fast | bytes |", "|---|---|---|---|---|---|---|---|", *self.times, "",
                "Kernels alone, milliseconds of a run without the copies of inputs and outputs:", "",
                "| what | batch | quantc | |", "|---|---|---|---|", *self.alone, "",
                "| what | batch | deployment | launches | host us | device us | why auto chose |", "|---|---|---|---|---|---|---|", *self.deployments, *self.steps]


def same_rows(check, quantc, work, models, dimension, own, batch, host):
    """Whether every row of a batch is what quantc gives for it in process."""
    arrays = own.arrays(work.sizes(host)[0], batch)
    answer = gpu_works.expected(quantc, work, work.folder(models), dimension, arrays, gpu_works.threads())
    own.clear()
    own.run()
    check(f"{work.name}: all rows of {batch} have quantc's bits", own.answers(batch, batch) == answer)


def measure(check, quantc, work, models, module, dimension, projects, host, page, report, clock):
    """Adds what one piece of work takes to the page. `projects` are folders that are being built, by batch."""
    with torch.no_grad():
        for batch, project in projects.items():
            own = Project(project.result(timeout=clock.left()), host).open("aggressive")
            if work.kind == "rows":
                same_rows(check, quantc, work, models, dimension, own, batch, host)
            own.run()
            first = own.answers(batch, batch)
            again = 3 if host else 1000 if batch == 1 else 20
            differ = 0
            for _ in range(again):
                own.run()
                differ += own.answers(batch, batch) != first
            check(f"{work.name}, {batch}: {again} more runs give one answer", differ == 0)
            # The first figures are there before torch compiles, which takes longest.
            times = rounds({"quantc": own.run}, host)
            page.times.append(time_row(work, own, batch, times, page.copy))
            report()
            if batch in work.peers or host:
                times = rounds({"quantc": own.run, "torch": peer(module, work, batch, host)}, host)
                page.times[-1] = time_row(work, own, batch, times, page.copy)
            own.close()
            if work.kind == "rows":
                page.deployments += deployed(work, own, batch)
            else:
                page.alone.append(alone_row(work, own, batch, page.copy))
            if batch in work.steps or host:
                page.steps += step_rows(work, own, batch)
            report()
            del own
            if not host:
                torch.cuda.empty_cache()


def started(pool, quantc, models, host, only=""):
    """Makes the models, one after another, and starts to build them."""
    out = []
    for work, folder, module, dimension in gpu_works.models_of(works(), pool, quantc, models, host, only):
        def build(batch, work=work, folder=folder, dimension=dimension):
            return gpu_works.built(quantc, work, folder, dimension.result(), batch, host)
        out.append((work, module, dimension, {batch: pool.submit(build, batch) for batch in work.sizes(host)[1]}))
    return out


def run(check, quantc, models, jobs, host, report, clock):
    """Measures everything; report(lines) is report of all figures as they come."""
    page = Page(copied(host))
    for work, module, dimension, projects in jobs:
        start = time.time()
        try:
            clock.left()
            measure(check, quantc, work, models, module, dimension.result(), projects, host, page, lambda: report(page.lines()), clock)
            check(f"benchmark of {work.name}", True, f"{time.time() - start:.0f} s")
        except Exception as error:  # whatever it is, the others are still measured
            check(f"benchmark of {work.name}", False, f"{type(error).__name__}: {str(error)[-1500:]}")
        report(page.lines())
