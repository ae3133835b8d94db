"""The whole of PyTorch's databases, sample by sample, with a log that an interrupted run goes on from:

    python -m tests.foreign.full BUILD LOG [--most N] [--dtypes a,b] [--dialects a,b] [--ops REGEX] [--c SHARE]

The log has a line for every sample (operation, name, outcome) and can be read while it grows."""
import argparse
import re
import warnings
from collections import Counter
from pathlib import Path

import torch

from tests.foreign import opinfo
from tests.foreign.suite import ABSENT, Result, run_samples, unexplained

BATCH = 120  # samples between two writings of the log
TRIES = 2  # of an operation that was always refused, so many samples


class Log:
    """Results by (operation, element type, dialect), kept in a file."""

    def __init__(self, path: Path):
        self.path, self.results = path, []
        for line in path.read_text().splitlines() if path.exists() else []:
            self.results.append(Result(*line.split("\t")))
        self.named = {(r.name, self.dialect(r)) for r in self.results}

    @staticmethod
    def dialect(result):
        return next(d for d in opinfo.DIALECTS if f" {d} " in result.text[:40])

    def add(self, results):
        with self.path.open("a") as file:
            file.writelines(f"{r.op}\t{r.name}\t{r.text}\n" for r in results)
        self.results += results
        self.named |= {(r.name, self.dialect(r)) for r in results}

    def hopeless(self):
        """Operations that were refused wherever they were tried, and often enough."""
        tried, refused = Counter(r.op for r in self.results), Counter(r.op for r in self.results if r.refused)
        return {op for op in tried if tried[op] == refused[op] and tried[op] >= TRIES}


def run_database(build, log, dtype, dialect, most, share, ops=".*"):
    """Runs the first `most` samples of every operation that the log does not have; one in `share` also as generated C."""
    hopeless = log.hopeless()
    chosen = [s for op in opinfo.INFOS if re.fullmatch(ops, op) for s in opinfo.samples(op, dtype, dialect, 1 if op in hopeless else most)]
    chosen = [s for s in chosen if (s.name, dialect) not in log.named]
    passing = {r.op for r in log.results if r.passes}
    together = 16 if dialect == "decomposed" else 1  # a decomposition costs much for itself and little for each node
    for group, size in (([s for s in chosen if s.op in passing], together), ([s for s in chosen if s.op not in passing], 1)):
        for at in range(0, len(group), BATCH):
            batch = group[at:at + BATCH]
            number = at // BATCH
            results = run_samples(batch, dialect, build, bool(share) and number % share == 0, size)
            done = {r.name for r in results}
            results += [Result(s.op, s.name, f"{dtype} {dialect}{ABSENT}") for s in batch if s.name not in done]
            log.add(results)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--most", type=int, default=4)
    parser.add_argument("--dtypes", default=",".join(opinfo.DTYPES))
    parser.add_argument("--dialects", default=",".join(opinfo.DIALECTS))
    parser.add_argument("--ops", default=".*")
    parser.add_argument("--c", type=int, default=4)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    log = Log(given.log)
    for dialect in given.dialects.split(","):
        for dtype in given.dtypes.split(","):
            run_database(given.build, log, dtype, dialect, given.most, given.c, given.ops)
    print("\n".join(unexplained("opinfo", log.results)))


if __name__ == "__main__":
    main()
