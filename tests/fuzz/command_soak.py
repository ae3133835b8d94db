#!/usr/bin/env python3
"""Runs every command of the program on mutated files: command_soak.py QUANTC OUT COUNT SEED.

Each file is run under limits of memory and of the processor's time; it must end by itself, with status 0, 1 or 2. What
does not is kept in OUT. At the end the slowest and the largest are listed. The same arguments give the same files.
"""
import heapq
import itertools
import os
import random
import resource
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import onnx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
warnings.simplefilter("ignore")  # of doubled members in archives
from tests.fuzz import mutate_npz, mutate_onnx, mutate_pt2, mutate_text

SECONDS, MEMORY = 10, 1 << 30
LISTED = 10
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
MODELS = ROOT / "tests" / "models"
RULES = ["[[rule]]\nop = 'matmul'\nscale = 0.1\noffset = 3\ninput_scale = [0.1, 0.2]\ndtype = 'uint8'\n",
         "[default]\nkind = 'dynamic'\nper_token = true\nskip_unsupported = true\n[[rule]]\npattern = '.*'\nweight_dtype = 'int4'\ngroup = 32\n",
         "[[rule]]\npattern = 'conv.*|fc[0-9]+'\nexclude = 'x'\nkind = 'weight_only'\nweight_dtype = 'int8'\nper_channel = true\n"]
CONFIGS = ["name = 'm'\nlevel = 2\nweights = 'file'\nspecialise = 'size'\nstate = 'io'\nbudget = 2\n[dims]\nbatch = 2\nn = '1..4'\n",
           "disabled_passes = ['fuse_epilogues']\nverify = true\nrules = 'r.toml'\narithmetic = 'exact'\nio_dtype = 'quantized'\n"]


def numbered(name: str):
    """The commands a model is put through; OUT and SELF are replaced."""
    run = ["--random", "1"]
    return [["inspect", "SELF"], ["inspect", "SELF", "--ir"], ["explain", "SELF"], ["run", "SELF", *run, "-o", "OUT/y.npz"],
            ["compile", "SELF", "-o", "OUT/c"], ["compile", "SELF", "-o", "OUT/c", "--dim", "n=2"], ["compile", "SELF", "-o", "OUT/c", "--dim", "n=1..5", "--weights", "file"],
            ["run", "SELF", *run, "--rules", str(ROOT / "tests/fuzz/corpus/rules.toml"), "--allow-unused-rules", "-o", "OUT/y.npz"]]


class Source:
    """Kinds of files, their mutators and the commands that read them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.onnx = mutate_onnx.Mutator(seed, [onnx.load(p) for p in sorted((CORPUS / "onnx").glob("*.onnx"))])
        self.pt2 = mutate_pt2.Mutator(seed, [str(p) for p in sorted((ROOT / "tests/data/pt2").glob("t*.pt2"))])
        self.text = mutate_text.Mutator(seed, [p.read_text() for p in sorted((CORPUS / "text").glob("*.ir"))])
        self.rules = mutate_text.Mutator(seed, RULES)
        self.configs = mutate_text.Mutator(seed, CONFIGS)
        self.npz = mutate_npz.Mutator(seed, [MODELS / "digits.npz", MODELS / "gru.npz"])

    def next(self, path: Path) -> tuple[Path, list[str]]:
        """Writes a file and says which command to run on it."""
        r, kind = self.random, self.random.random()
        if kind < 0.6:
            path = path.with_suffix(".onnx")
            path.write_bytes(self.onnx.model())
        elif kind < 0.72:
            path = path.with_suffix(".pt2")
            self.pt2.write(path)
        elif kind < 0.84:
            path = path.with_suffix(".ir")
            path.write_text(self.text.text())
        elif kind < 0.9:
            path = path.with_suffix(".toml")
            path.write_text(self.rules.text())
            return path, r.choice([["compile", str(MODELS / "digits.onnx"), "-o", "OUT/c", "--rules", "SELF"],
                                   ["explain", str(MODELS / "digits.onnx"), "--rules", "SELF", "--allow-unused-rules"]])
        elif kind < 0.94:
            path = path.with_suffix(".toml")
            path.write_text(self.configs.text())
            return path, ["compile", str(MODELS / "gru.onnx"), "-o", "OUT/c", "--config", "SELF"]
        else:
            path = path.with_suffix(".npz")
            path.write_bytes(self.npz.bytes())
            return path, r.choice([["run", str(MODELS / "digits.onnx"), "-i", "SELF", "-o", "OUT/y.npz"],
                                   ["calibrate", str(MODELS / "digits.onnx"), "--data", "SELF", "-o", "OUT/r.toml"],
                                   ["validate", str(MODELS / "gru.onnx"), "-i", "SELF", "-e", "SELF"]])
        return path, r.choice(numbered(path.name))


def run(command: list[str], log: Path):
    """Status as os.wait4 gives it, and what was used."""
    child = os.fork()
    if child == 0:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            os.execv(command[0], command)
        finally:
            os._exit(99)
    _, status, usage = os.wait4(child, 0)
    return status, usage


def main() -> int:
    quantc, out, count, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    out.mkdir(parents=True, exist_ok=True)
    source = Source(seed)
    slowest, largest, findings, statuses = [], [], 0, {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        try:
            for i in range(count):
                path, command = source.next(scratch / f"{i:06}")
                shutil.rmtree(scratch / "out", ignore_errors=True)
                (scratch / "out").mkdir()
                command = [str(path) if a == "SELF" else a.replace("OUT", str(scratch / "out")) for a in command]
                status, usage = run([quantc, *command], scratch / "log")
                said = (scratch / "log").read_bytes()[-300:].decode(errors="replace")
                code = os.waitstatus_to_exitcode(status)
                statuses[code] = statuses.get(code, 0) + 1
                seconds, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10
                name = " ".join(command).replace(folder, "")
                for heap, figure in ((slowest, seconds), (largest, memory)):
                    (heapq.heappush if len(heap) < LISTED else heapq.heappushpop)(heap, (figure, i, name))
                if code not in (0, 1, 2) or b"error[bug]" in said.encode():
                    findings += 1
                    kept = out / path.name
                    shutil.copy(path, kept)
                    print(f"FINDING {i}: status {code}, {seconds:.1f} s, {memory >> 20} MB: {name}\n  {kept}\n  {said}", flush=True)
                path.unlink()
                if (i + 1) % 5000 == 0:
                    print(f"{i + 1} files, {findings} findings, {statuses}", flush=True)
        except KeyboardInterrupt:
            count = i  # ended early: what was found so far
    print(f"{count} files of seed {seed}, {findings} findings, statuses {statuses}")
    for title, heap, unit in (("slowest", slowest, lambda v: f"{v:.2f} s"), ("largest", largest, lambda v: f"{v / 2**20:.0f} MB")):
        print(f"{title}:")
        for figure, i, name in itertools.islice(sorted(heap, reverse=True), LISTED):
            print(f"  {unit(figure)}  {i:06}  {name}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
