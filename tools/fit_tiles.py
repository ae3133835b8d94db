#!/usr/bin/env python3
"""Makes kernels/qtile/gpu_tiles.inc, by which tiles of GPU GEMM are chosen, from measured times.

usage: tools/fit_tiles.py TIMES.csv --gpu NAME --date DATE --commit REV [--ghz 1.83] [--multiprocessors 132] [--l2-bytes 64] [--most 4096]

TIMES.csv has a line `shape,rows,outputs,terms,residual,ns` for each measured call of qk_qtile_mma or qk_qtile_wgmma: the number of a
qk_mma_shape, the sizes of the product, 1 where a residual is added, and the least nanoseconds of a call that repeats without a
pause, at a fixed clock. A shape needs calls of fewer tiles than the GPU has multiprocessors and of many times as many, with few and
many terms, with and without a residual. --most is what tensor cores multiply in a clock and multiprocessor.

Each shape is fitted by itself: the figures with the least squares of relative errors, found by descent from those of the
present table. The table goes to the standard output, the error of each shape to the standard error.
"""
import argparse
import collections
import csv
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
Shape = collections.namedtuple("Shape", "rows columns chunk")
Fit = collections.namedtuple("Fit", "tile residual alone products")
Machine = collections.namedtuple("Machine", "ghz multiprocessors l2_bytes most", defaults=(1.83, 132, 64, 4096))
Time = collections.namedtuple("Time", "rows outputs terms residual ns")


def shapes():
    """Tiles by number, as kernels/qtile/qtile.h has them."""
    text = (ROOT / "kernels/qtile/qtile.h").read_text()
    return {int(n): Shape(*map(int, sizes)) for n, *sizes in re.findall(r"QK_SHAPE\((\d+), (\d+), (\d+), (\d+),", text)}


def table():
    """The present figures by shape."""
    text = (ROOT / "kernels/qtile/gpu_tiles.inc").read_text()
    return {int(n): Fit(*map(int, figures)) for n, *figures in re.findall(r"QK_TILE\((\d+), (\d+), (\d+), (\d+), (\d+)\)", text)}


def cycles(shape, fit, size, machine):
    """The estimate of kernels/qtile/estimate.h for tiles of one shape."""
    rows, outputs, terms, residual = size
    tiles = -(-rows // shape.rows) * -(-outputs // shape.columns)
    chunks = -(-terms // shape.chunk)
    products = shape.rows * shape.columns * shape.chunk // min(fit.products, machine.most)
    copies = (shape.rows + shape.columns) * shape.chunk // machine.l2_bytes
    tile = fit.tile + residual * fit.residual
    return max(-(-tiles // machine.multiprocessors) * (tile + chunks * max(products, copies)), tile + chunks * fit.alone)


def error(shape, fit, times, machine):
    """The root of the mean square of relative errors."""
    errors = [math.log(cycles(shape, fit, time[:4], machine) / machine.ghz / time.ns) for time in times]
    return math.sqrt(sum(e * e for e in errors) / len(errors))


def fitted(shape, start, times, machine):
    """The best of descents from the present figures, and from half and twice as much."""
    starts = (Fit(*(max(1, round(figure * factor)) for figure in start)) for factor in (1, 0.5, 2))
    return min((descent(shape, own, times, machine) for own in starts), key=lambda found: found[1])


def descent(shape, start, times, machine):
    """Along one figure, or two against each other, at a time, in ever smaller steps."""
    best, least, step = start, error(shape, start, times, machine), 0.5
    while step > 0.002:
        tries = []
        for i in range(len(Fit._fields)):
            for k in range(i, len(Fit._fields)):
                for a, b in ((1 + step, 1 - step), (1 - step, 1 + step), (1 + step, 1 + step), (1 - step, 1 - step)):
                    own = list(best)
                    own[i] = max(1, round(own[i] + (a - 1) * (own[i] + 100)))
                    if k != i:
                        own[k] = max(1, round(own[k] + (b - 1) * (own[k] + 100)))
                    tries.append(Fit(*own))
        found = min(tries, key=lambda fit: error(shape, fit, times, machine))
        now = error(shape, found, times, machine)
        if now < least:
            best, least = found, now
        else:
            step /= 2
    return best, least


def read(path):
    """Times by shape."""
    found = collections.defaultdict(list)
    with open(path, newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            try:
                shape, *size = map(int, row[:5])
                time = Time(*size, float(row[5]))
            except (ValueError, IndexError, TypeError):
                sys.exit(f"{path}:{number}: expected shape,rows,outputs,terms,residual,ns, found: {','.join(row)}")
            if shape not in table() or time.ns <= 0 or min(size[:3]) < 1 or size[3] not in (0, 1):
                sys.exit(f"{path}:{number}: shapes are {', '.join(map(str, table()))}, sizes and times more than 0, residuals 0 or 1")
            found[shape].append(time)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=pathlib.Path)
    for name in ("gpu", "date", "commit"):
        parser.add_argument(f"--{name}", required=True)
    for name, default in Machine._field_defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    arguments = parser.parse_args()
    machine = Machine(*(getattr(arguments, name) for name in Machine._fields))
    times, known = read(arguments.times), shapes()
    if missing := [n for n in table() if n not in times]:
        sys.exit(f"{arguments.times}: no times of shapes {', '.join(map(str, missing))}")
    print(f"/* QK_TILE(shape, tile, residual, alone, products), see kernels/qtile/estimate.h: fitted by tools/fit_tiles.py to times on\n"
          f" * {arguments.gpu}, {arguments.date}, commit {arguments.commit}. */")
    for number, start in table().items():
        fit, left = fitted(known[number], start, times[number], machine)
        print(f"QK_TILE({number}, {', '.join(map(str, fit))})")
        print(f"shape {number}: {len(times[number])} times, error {100 * left:.1f} %", file=sys.stderr)


if __name__ == "__main__":
    main()
