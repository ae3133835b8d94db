#!/usr/bin/env python3
"""Failures injected into the program, one at a time: of memory, of files, limits that are met, crashes; see inject.c.

Whatever fails, a command ends with status 0, 1 or 2. With 0 everything is as without the failure: files, output, messages. Else it says
why, files are as before, and no folder of its own is left.
"""
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
from tests.support.onnx_models import node, save, value, weight

RULES = "".join(f"[[rule]]\nop = '{op}'\nscale = 0.05\ninput_scale = 0.05\n" for op in ("conv", "linear"))
# Copies what it was once asked to build: the sweep is about the program that calls it.
COMPILER = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nexec cp built.so "$2"\n'

# Times on the page of `analyze`.
MEASURED = re.compile(rb"<td>[0-9.]+</td>|[0-9.]+ ms a run")
# Says that work takes long, on a machine that is busy.
PROGRESS = re.compile(r"^\w+ \S+ \.\.\.( \d+ s)?\n", re.M)

# In a folder of its own each, beside the files of `prepare`. `calibrate` replaces the files of an earlier run.
COMMANDS = {
    "compile": "compile model.onnx --rules rules.toml --vectors in.npz --target portable -o new/out",
    "run": "run model.onnx -i in.npz --threads 2 -o out.npz",
    "validate": "validate model.onnx --rules rules.toml -i in.npz --target portable --cc ./cc",
    "inspect": "inspect digits.pt2 --kernels",
    "explain": "explain model.onnx --rules rules.toml --json",
    "calibrate": "calibrate model.onnx --data samples.npz -o made.toml --equalise",
    "analyze": "analyze model.onnx --rules rules.toml --data samples.npz --html page.html",
}


def prepare(quantc: Path, folder: Path) -> None:
    """A small model with what a network has, data, rules and a compiler."""
    rng = np.random.default_rng(1)

    def weights(name, *shape):
        return weight(name, rng.standard_normal(shape).astype(np.float32))

    nodes = [node("Conv", ["x", "w0", "b0"], ["c"], name="conv", pads=[1] * 4), node("Relu", ["c"], ["r"], name="relu"),
             node("Conv", ["r", "w1"], ["d"], name="conv2"), node("MaxPool", ["d"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
             node("Flatten", ["p"], ["f"], name="flat"), node("Gemm", ["f", "w2", "b2"], ["g"], name="fc"),
             node("TopK", ["g", "k"], ["t", "i"], name="top"), node("Softmax", ["t"], ["y"], name="soft")]
    save(folder / "model.onnx", nodes, [value("x", [1, 2, 6, 6])], [value("y", None)],
         [weights("w0", 4, 2, 3, 3), weights("b0", 4), weights("w1", 4, 4, 3, 3), weights("w2", 16, 5), weights("b2", 5),
          weight("k", np.array([3], np.int64))])
    shutil.copy(ROOT / "tests" / "models" / "digits.pt2", folder)
    np.savez(folder / "in.npz", x=rng.standard_normal((1, 2, 6, 6)).astype(np.float32))
    np.savez(folder / "samples.npz", x=rng.standard_normal((4, 2, 6, 6)).astype(np.float32))
    (folder / "rules.toml").write_text(RULES)
    (folder / "tmp").mkdir()
    keep = folder / "cc"
    keep.write_text('#!/bin/sh\ncc "$@" && while [ "$1" != -o ]; do shift; done && cp "$2" built.so\n')
    keep.chmod(stat.S_IRWXU)
    for name in ("validate", "calibrate"):
        done = subprocess.run([quantc, *COMMANDS[name].split()], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    keep.write_text(COMPILER)


def build(folder: Path) -> Path:
    library = folder / "inject.so"
    source = Path(__file__).with_name("inject.c")
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", source, "-o", library, "-ldl", "-pthread"], check=True)
    return library


class Outcome(NamedTuple):
    status: int
    out: str
    err: str
    files: dict


class Injection(NamedTuple):
    step: int
    kind: str
    how: str


class Sweep:
    """One command in a folder of its own, again and again."""

    def __init__(self, quantc: Path, library: Path, prepared: Path, folder: Path, name: str) -> None:
        self.quantc, self.library, self.prepared, self.folder, self.name = quantc, library, prepared, folder, name
        self.before = self.files(prepared)
        self.renew()
        self.normal = self.run({})
        assert self.normal.status == 0, self.normal.err

    def renew(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.prepared, self.folder)

    @staticmethod
    def files(folder: Path) -> dict:
        return {str(p.relative_to(folder)): MEASURED.sub(b"", p.read_bytes()) if p.is_file() else None for p in folder.rglob("*")}

    def run(self, environment: dict) -> Outcome:
        own = {"LD_PRELOAD": str(self.library), "TMPDIR": str(self.folder / "tmp"), "PATH": os.environ["PATH"], **environment}
        try:
            done = subprocess.run([self.quantc, *COMMANDS[self.name].split()], cwd=self.folder, env=own, capture_output=True, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL, timeout=60)
            outcome = Outcome(done.returncode, done.stdout, PROGRESS.sub("", done.stderr), self.files(self.folder))
        except subprocess.TimeoutExpired:
            outcome = Outcome(-signal.SIGKILL, "", "hangs", {})
        if outcome.files != self.before:
            self.renew()
        return outcome

    def steps(self) -> list[tuple[int, str]]:
        """The first step of each distinct stack."""
        path = self.folder.parent / f"{self.name}.list"
        assert self.run({"QUANTC_INJECT_LIST": str(path)}).status == 0
        return [(int(step), kind) for step, kind in (line.split() for line in path.read_text().splitlines())]

    def wrong(self, injected: Injection) -> str:
        """What is wrong with how the command ends; nothing where all is well."""
        found = self.run({"QUANTC_INJECT_AT": str(injected.step), "QUANTC_INJECT_AS": injected.how})
        left = [name for name in found.files if "quantc" in Path(name).name]
        reason = ""
        if left:
            reason = f"leaves {left}"
        elif injected.how == "crash":
            if found.status != -signal.SIGSEGV:
                reason = f"status {found.status} after a crash"
        elif found.status == 0:
            if found != self.normal:
                different = [name for name in found.files | self.normal.files if found.files.get(name) != self.normal.files.get(name)]
                reason = f"status 0, but not what it is without the failure: {different or found.out[-400:]}"
        elif found.status not in (1, 2):
            reason = f"status {found.status}"
        elif "error[" not in found.err:
            reason = "no message"
        elif found.files != self.before:
            reason = f"status {found.status}, but files changed: {sorted(set(found.files) ^ set(self.before))}"
        return f"{self.name}, {injected.how} at step {injected.step} ({injected.kind}): {reason}\n{found.err[-400:]}" if reason else ""


def sample(steps: list[tuple[int, str]], count: int, seed: int) -> list[Injection]:
    """Some of the failures that are possible: of memory the most, and some of every other kind."""
    rng = random.Random(seed)
    memory = [s for s in steps if s[1] == "alloc"]
    files = [s for s in steps if s[1] != "alloc"]

    def some(of, most, how):
        return [Injection(*s, how) for s in rng.sample(of, min(len(of), most))]

    out = some(files, count // 5, "fail") + some([s for s in files if s[1] == "write"], count // 20, "half")
    out += some(memory, count // 6, "limit") + some(steps, count // 20, "late") + some(steps, count // 20, "crash")
    return out + some(memory, count - len(out), "fail")


def every(steps: list[tuple[int, str]]) -> list[Injection]:
    out = [Injection(*s, "fail") for s in steps] + [Injection(*s, "half") for s in steps if s[1] == "write"]
    out += [Injection(*s, "limit") for s in steps[::3]] + [Injection(*s, "late") for s in steps[::20]]
    return out + [Injection(*s, "crash") for s in steps[::20]]


def findings(sweep: Sweep, injections: list[Injection]) -> list[str]:
    return [text for text in map(sweep.wrong, injections) if text]


def main(quantc: str, folder: str, count: str = "0", *names: str) -> int:
    """sweep.py QUANTC FOLDER [COUNT COMMAND...]: COUNT failures of each command, 0 for all."""
    work = Path(folder)
    work.mkdir(parents=True)
    prepared = work / "prepared"
    prepared.mkdir()
    prepare(Path(quantc), prepared)
    library = build(work)

    def one(name: str) -> tuple[int, list[str]]:
        sweep = Sweep(Path(quantc), library, prepared, work / name, name)
        steps = sweep.steps()
        chosen = sample(steps, int(count), 1) if int(count) else every(steps)
        return len(chosen), findings(sweep, chosen)

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (tried, wrong) in zip(names or COMMANDS, pool.map(one, names or COMMANDS)):
            print(f"{name}: {tried} failures injected, {len(wrong)} findings")
            print("\n".join(wrong))
            failed += len(wrong)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve()), *sys.argv[2:]))
