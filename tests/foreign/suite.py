"""Runs the cases of a suite and says which outcomes are findings: differences.txt lists those that are explained."""
import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path

import onnx
import torch

from tests.foreign import onnx_nodes, opinfo
from tests.support.cases import Cases

HERE = Path(__file__).resolve().parent
DIFFERENCES = HERE / "differences.txt"
VERDICTS = ("theirs", "ambiguous", "ours")
# Valid, but not done, and said so: exit status 2.
REFUSED = r"^[^:]*: (\S+: )?(unsupported|unsupported_op): "
ABSENT = " export: PyTorch does not export it"


@dataclass
class Difference:
    """An explained class of outcomes."""

    verdict: str
    suite: str
    op: str  # regular expression of whole names
    reason: str  # regular expression, searched for in "dtype dialect stage: reason"
    why: str

    def explains(self, suite, op, text):
        return self.suite == suite and re.fullmatch(self.op, op) is not None and re.search(self.reason, text) is not None


def differences():
    lines = [line for line in DIFFERENCES.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [Difference(*(part.strip() for part in line.split(" | "))) for line in lines]


@dataclass
class Result:
    """The outcome of one sample; `text` is "dtype dialect stage: reason", of a node "what it is like stage: reason"."""

    op: str
    name: str
    text: str

    @property
    def stage(self):
        """The last thing tried: import, interpret, differs, passes, lower, program, compile, c, crash or pass."""
        return self.text.split(": ")[0].split()[-1]

    @property
    def passes(self):
        return self.text.endswith(" pass: ")

    @property
    def refused(self):
        return re.search(REFUSED, self.text) is not None

    @property
    def absent(self):
        return self.text.endswith(ABSENT)


def unexplained(suite, results):
    """What neither passes nor is refused nor is in the list of differences; what PyTorch does not export is no case."""
    listed = differences()
    return [f"{r.name}: {r.text}" for r in results if not (r.passes or r.refused or r.absent) and not any(d.explains(suite, r.op, r.text) for d in listed)]


def write_case(cases, name, chosen, dialect):
    """Adds some samples as one case; raises when PyTorch does not export them."""
    program = opinfo.export(chosen, dialect)
    sets, tolerances = opinfo.answers(program, chosen)
    path = cases.folder / f"{name}.pt2"
    torch.export.save(program, path)
    cases.add(name, path, sets, group="float", tolerances=tolerances)
    for i, (inputs, _) in enumerate(sets):
        sizes = opinfo.sizes(program, inputs)
        (cases.folder / name / f"dims_{i}").write_text("".join(f"{symbol}={size}\n" for symbol, size in sizes.items()))


def run_programs(chunks, dialect, build, compiled):
    """The outcome of each list of samples as one program; None where PyTorch does not export it."""
    logging.disable(logging.WARNING)
    cases = Cases(build / "foreign" / f"pt2_{os.getpid()}")
    exported = {}
    for at, chunk in enumerate(chunks):
        try:
            write_case(cases, f"c{at}", chunk, dialect)
            exported[at] = f"c{at}"
        except Exception:  # noqa: BLE001  what cannot be exported is PyTorch's matter
            continue
    outcomes = cases.run(build, compiled=compiled) if exported else {}
    cases.remove()
    logging.disable(logging.NOTSET)
    return [outcomes[exported[at]] if at in exported else None for at in range(len(chunks))]


def run_samples(chosen, dialect, build, compiled=False, together=1):
    """Results of all samples that PyTorch exports. `together`: so many are first run as one program, and alone where that does
    not pass."""
    chunks = [chosen[i:i + together] for i in range(0, len(chosen), together)]
    results, left = [], []
    for chunk, outcome in zip(chunks, run_programs(chunks, dialect, build, compiled)):
        if outcome is not None and (outcome.passes or len(chunk) == 1):
            results += [Result(s.op, s.name, f"{s.dtype} {dialect} {outcome.stage}: {outcome.reason}") for s in chunk]
        elif len(chunk) > 1:
            left += chunk
    return results + (run_samples(left, dialect, build, compiled) if left else [])


def run_nodes(makers, ops, seeds, build, compiled=False):
    """Results of random nodes of the operations that ONNX Runtime takes, one for each seed."""
    cases, taken = Cases(build / "foreign" / f"onnx_{os.getpid()}"), {}
    for op in ops:
        for seed in seeds:
            node = onnx_nodes.draw_node(makers, op, seed)
            name, path = f"{op}-{seed}", cases.folder / f"{op}-{seed}.onnx"
            try:
                model = node.model()
                wanted = onnx_nodes.answer(model, node.fed())
            except onnx_nodes.Refused:
                continue
            onnx.save(model, path)
            cases.add(name, path, [(list(node.fed().values()), wanted)], group="float", tolerances=[[onnx_nodes.tolerance(w, op) for w in wanted]])
            taken[name] = Result(op, name, f"{node.described()} ")
    for name, outcome in cases.run(build, compiled=compiled).items():
        taken[name].text += f"{outcome.stage}: {outcome.reason}"
    cases.remove()
    return list(taken.values())
