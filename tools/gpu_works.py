"""Models of real size for tools/gpu_check, made on the spot with seeded weights: written by torch, calibrated, compiled and built for this GPU.

A `Work` is one of them; `Project` is its generated code, called through ctypes with arrays where it runs. Without a GPU (--host) sizes are tiny and the
arrays are the host's: the same code, no figures.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import torch
from torch import nn

import gpu_digits
from gpu_machine import architecture

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
TOKEN = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nper_token = true\nsymmetric = true\nper_channel = true\nskip_unsupported = true\n"
LONGEST = 300  # seconds of one call of a tool
calibrating = {}  # a lock for each folder


def left():
    """Seconds that tools may take; tools/gpu_check has its own."""
    return LONGEST


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


class LlamaBlock(nn.Module):
    """Norm, attention with rotated queries and keys of fewer heads, norm, gated layers."""
    def __init__(self, width, heads=8, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)
        self.query, self.output = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)

    def rotated(self, x):
        angles = torch.arange(x.shape[2], dtype=torch.float32)[:, None] / 10000 ** (torch.arange(0, self.size, 2) / self.size)
        angles = torch.cat([angles, angles], -1)
        first, last = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-last, first], -1) * angles.sin()

    def forward(self, x):
        def split(y, heads):
            return y.reshape(x.shape[0], x.shape[1], heads, self.size).transpose(1, 2)
        y = self.norm1(x)
        q, k = self.rotated(split(self.query(y), self.heads)), self.rotated(split(self.key(y), self.groups))
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, split(self.value(y), self.groups)))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(y.transpose(1, 2).reshape(x.shape))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def resnet(name):
    from make_resnet50 import ResNet50
    from tests.support.resnet import ResNet18
    return ResNet50() if name == "resnet50" else ResNet18()


def network(name):
    import make_network
    return make_network.NETWORKS[name][0]()


class Work:
    """What is run: a module, the shapes of its inputs without their first size, the first size of each run, and what a run is worth. `peers` are the
    sizes at which torch runs it, too, `steps` those at which every kernel is timed, `codes` says that its ports are codes, `token` that scales are
    found per token. Works of one `model` share its file and its rules."""
    def __init__(self, name, make, shapes, batches, tiny, codes=False, kind="rows", peers=(), token=False, steps=(), model=None):
        self.name, self.make, self.shapes, self.batches, self.tiny = name, make, shapes, batches, tiny
        self.codes, self.kind, self.peers, self.token, self.steps = codes, kind, peers, token, steps
        self.model = model or name

    def sizes(self, host):
        """Shapes and batches."""
        return self.tiny if host else (self.shapes, self.batches)

    def folder(self, models):
        return models / re.sub(r"\W+", "_", self.model)


def tool(*command):
    """What a program prints; an error where it fails or takes too long."""
    seconds = min(LONGEST, left())
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(str(c) for c in command[:3])}: still running after {seconds:.0f} s") from None
    if done.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command[:3])}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def made(work, folder, host):
    """Writes the model and inputs to calibrate it; returns the module. One after another: torch exports in one thread."""
    shapes, _ = work.sizes(host)
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
        if not (folder / "net.pt2").exists():
            batch = torch.export.Dim("batch", min=1, max=65536)
            exported = torch.export.export(module, inputs, dynamic_shapes=tuple({0: batch} for _ in inputs), strict=False)
            torch.export.save(exported, folder / "new.pt2")
            (folder / "new.pt2").rename(folder / "net.pt2")
            np.savez(folder / "some.npz", **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
            np.savez(folder / "one.npz", **{f"in_{i}": x.numpy()[:1] for i, x in enumerate(inputs)})
    return module


def calibrated(quantc, work, folder):
    """Writes the rules; the name of the exported batch, which quantc asks for."""
    with calibrating.setdefault(folder, threading.Lock()):
        if work.token:
            (folder / "rules.toml").write_text(TOKEN)
        elif not (folder / "rules.toml").exists():
            tool(quantc, "calibrate", folder / "net.pt2", "--data", folder / "some.npz", "-o", folder / "rules.toml",
                 "--allow-unused-rules")
            if "[[rule]]" not in (folder / "rules.toml").read_text():  # a pool alone passes codes on, so nothing was to be found for it
                (folder / "rules.toml").write_text("[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = 0.03\n")
    done = subprocess.run([str(quantc), "compile", str(folder / "net.pt2"), "-o", str(folder / "none")], capture_output=True, text=True)
    found = re.search(r"give --dim NAME=SIZE for (\w+)", done.stderr)
    if not found:
        raise RuntimeError(f"the batch of {work.name} has no name: {done.stderr[-500:]}")
    return found[1]


def models_of(works, pool, quantc, models, host, only):
    """(work, folder, module, the name of the batch to come) of those whose names begin so, made one after another."""
    for work in works:
        if work.name.startswith(only):
            folder = work.folder(models)
            yield work, folder, made(work, folder, host), pool.submit(calibrated, quantc, work, folder)


def flags_of(work, folder, dimension, sizes):
    """How quantc is callback of the model, its rules, its ports and its batch."""
    floats = work.kind == "bytes" and not work.codes
    return [folder / "net.pt2", *([] if floats else ["--rules", folder / "rules.toml"]), *(["--io-dtype", "quantized"] if work.codes else []),
            "--dim", f"{dimension}={sizes}"]


def built(quantc, work, folder, dimension, sizes, host):
    """The library for one batch, or a range of them."""
    to = folder / re.sub(r"\W+", "_", f"{work.name} {sizes}")
    tool(quantc, "compile", *flags_of(work, folder, dimension, sizes), "--target", "cuda:sm_90" if host else f"cuda:{architecture()}",
         "--weights", "incbin", "--name", "net", "--force", "-o", to)
    tool("make", "-C", to, "libnet.so", *(["HOST=1", "CFLAGS=-O1"] if host else []))
    return to


def expected(quantc, work, folder, dimension, inputs, threads):
    """What quantc itself gives for these arrays: by its interpreter, or with threads by its in-process Program. Bytes of each output."""
    batch = len(inputs[0])
    given, got = (folder / f"{kind}_{batch}_{threads}.npz" for kind in ("given", "expected"))
    np.savez(given, **{f"in_{i}": x for i, x in enumerate(inputs)})
    tool(quantc, "run", *flags_of(work, folder, dimension, batch), "-i", given, "-o", got, *(["--threads", threads] if threads else []))
    with np.load(got) as found:
        out = [found[name].tobytes() for name in found.files]
    given.unlink()
    got.unlink()
    return out


class Project:
    """Generated code with its arrays where it runs. With a range of batches each run names its own."""
    def __init__(self, folder, host):
        self.host, self.header = host, (folder / "net.h").read_text()
        self.library, self.handle = ctypes.CDLL(str(folder / "libnet.so")), ctypes.c_void_p()
        self.library.net_error_text.restype = ctypes.c_char_p
        self.arena, self.weights = self.number("DEVICE_ARENA_BYTES"), self.number("DEVICE_WEIGHT_BYTES")
        self.free = "NET_DIM_0_MAX" in self.header
        self.most = self.number("DIM_0_MAX") if self.free else 1
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

    def arrays(self, shapes, batch):
        """The inputs as quantc reads them from a file."""
        types = [re.search(rf"NET_INPUT_{i}_TYPE (\w+)", self.header)[1] for i in range(len(self.inputs))]
        kinds = {"float": np.float32, "int8_t": np.int8, "uint8_t": np.uint8}
        return [np.frombuffer(x.cpu().numpy().tobytes(), kinds[t])[:batch * int(np.prod(shape))].reshape(batch, *shape)
                for x, t, shape in zip(self.inputs, types, shapes)]

    def open(self, deployment):
        config = gpu_digits.Config(0, 0, gpu_digits.DEPLOYMENTS[deployment])
        self.need(self.library.net_create(ctypes.byref(config), ctypes.byref(self.handle)))
        self.pointers = [(ctypes.c_void_p * len(a))(*(t.data_ptr() for t in a)) for a in (self.inputs, self.outputs)]
        self.stream = ctypes.c_void_p(None if self.host else torch.cuda.current_stream().cuda_stream)
        return self

    def need(self, code):
        if code:
            raise RuntimeError(self.library.net_error_text(self.handle).decode())

    def dims(self, batch):
        return [(ctypes.c_int64 * 1)(batch)] if self.free else []

    def run(self, batch=None):
        self.need(self.library.net_run(self.handle, *self.dims(batch), *self.pointers, self.stream))

    def answers(self, batch, of):
        """The bytes of the first `batch` of `of` rows of each output, once all is computed."""
        return [t.cpu().view(torch.uint8).numpy().tobytes()[:t.numel() * t.element_size() // of * batch] for t in self.outputs]

    def clear(self):
        for t in self.outputs:
            t.zero_()

    def analysis(self):
        out = gpu_digits.Analysis()
        self.need(self.library.net_analyze(self.handle, ctypes.byref(out)))
        return out

    def profile(self):
        """(layer, kernel, microseconds on the device) of each step of a run."""
        steps = []
        callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_double)(
            lambda _, layer, kernel, us: steps.append((layer.decode(), kernel.decode(), us)))
        self.need(self.library.net_profile(self.handle, callback, None))
        return steps

    def close(self):
        self.library.net_destroy(self.handle)
        self.handle = ctypes.c_void_p()

    def bytes(self):
        return sum(t.numel() * t.element_size() for t in self.inputs + self.outputs)


def threads():
    return max(2, os.cpu_count() or 2)
