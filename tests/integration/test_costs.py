"""Estimated times of variants: facts of the target's machine, the fitted model of tiles, and the script that fits it."""
import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.onnx_models import node, save, value, weight

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import fit_tiles  # noqa: E402

SIZES = [(16, 64, 64), (4096, 512, 1024), (1024, 16, 2304), (300, 1000, 500), (9000, 4608, 128)]  # rows, terms, outputs


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """A model with a product of codes for each size."""
    folder = tmp_path_factory.mktemp("products")
    rng = np.random.default_rng(0)
    (folder / "rules.toml").write_text("[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = 0.05\nper_channel = true\n")
    return save(folder / "net.onnx", [node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"], name=f"product{i}") for i in range(len(SIZES))],
                [value(f"x{i}", [m, k]) for i, (m, k, _) in enumerate(SIZES)], [value(f"y{i}", [m, n]) for i, (m, _, n) in enumerate(SIZES)],
                [weight(f"w{i}", rng.normal(size=(k, n)).astype(np.float32)) for i, (_, k, n) in enumerate(SIZES)])


def facts(quantc):
    """Machine and figures of each target, as the program lists them."""
    found = {}
    for line in quantc("targets", "--facts").stdout.splitlines():
        if match := re.match(r"(\S+): (.+)$", line):
            own = found[match[1]] = {"machine": match[2]}
        else:
            name, figure = re.match(r"  (.+?) +([\d.]+)(?: \D.*)?$", line).groups()
            own[name] = figure
    return found


def choices(quantc, model, target):
    """(variant, microseconds) of every product of codes, and microseconds of others that could compute it."""
    said = quantc("inspect", model, "--kernels", "--rules", model.parent / "rules.toml", "--target", target).stdout
    scale = {"ns": 1e-3, "us": 1, "ms": 1e3}
    for call in re.split(r"\n(?=\S)", said):
        if match := re.search(r": qgemm by \S+ \((\w+)\), estimated ([\d.]+) (\w+)", call):
            others = re.findall(r"not (\w+): estimated ([\d.]+) (\w+)", call)
            yield match[1], float(match[2]) * scale[match[3]], {name: float(n) * scale[unit] for name, n, unit in others}


def test_the_page_has_the_facts_of_every_target(quantc):
    rows = re.findall(r"^\| `(\S+)` \| (.*?) \| (\S*) \| (\S*) \| (\S*) \| (\S*) \| (\S*) \| (\S*) \|$", (ROOT / "docs/targets.md").read_text(), re.M)
    known = facts(quantc)
    assert {name for name, *_ in rows} == set(known)
    for name, machine, clock, processors, f32, i8, tensor, memory in rows:
        own = known[name]
        assert machine == own["machine"]
        assert [clock, processors, f32, i8, tensor, memory] == [own.get("clock"), own.get("multiprocessors", "-"), own["f32"], own.get("dp4a", own.get("i8")),
                                                               own.get("tensor cores, i8", "-"), own["memory"]], name


@pytest.mark.parametrize("target, variant", [("cuda:sm_90a", "wgmma"), ("cuda:sm_80", "mma"), ("cuda:sm_86", "mma")])
def test_tiles_are_estimated_by_the_fitted_model_for_the_machine_of_the_target(quantc, products, target, variant):
    """The script that fits the table has the same model; the GPU's multiprocessors, clock and rates are its own."""
    own = facts(quantc)[target]
    ghz, processors = float(own["clock"]), int(own["multiprocessors"])
    machine = fit_tiles.Machine(ghz, processors, int(own["L2"]), int(float(own["tensor cores, i8"]) / (ghz * processors)))
    found = list(choices(quantc, products, target))
    assert len(found) == len(SIZES) and variant in {chosen for chosen, *_ in found}
    for (rows, terms, outputs), (chosen, microseconds, others) in zip(SIZES, found):
        times = {chosen: microseconds, **others}
        for name, first, last in (("mma", 0, 6), ("wgmma", 8, 12)):
            if name in times:
                cycles = min(fit_tiles.cycles(fit_tiles.shapes()[s], fit, (rows, outputs, terms, 0), machine)
                             for s, fit in fit_tiles.table().items() if first <= s <= last)
                assert times[name] == pytest.approx(cycles / ghz / 1e3, rel=6e-3), (name, rows, terms, outputs)
        assert microseconds == min(times.values())
        assert times["dp4a"] < times["cuda"] < times["portable"], times


def test_more_multiprocessors_take_less_time(quantc, products):
    """The same code on a T4 and on an A100: dp4a of a large product."""
    times = {target: [own.get("dp4a", us) for _, us, own in choices(quantc, products, target)] for target in ("cuda:sm_75", "cuda:sm_80")}
    assert times["cuda:sm_80"][4] < 0.7 * times["cuda:sm_75"][4], times


def test_the_script_finds_the_figures_that_made_times(tmp_path):
    """Times that the model itself gives, of all shapes: what is fitted estimates each of them within 3 %."""
    machine, lines, table, shapes = fit_tiles.Machine(), [], fit_tiles.table(), fit_tiles.shapes()
    for number, fit in table.items():
        shape = shapes[number]
        more = fit_tiles.Fit(*(round(1.3 * figure) for figure in fit))
        for tiles, wide, chunks, residual in itertools.product((1, 40, 400), (1, 8), (1, 4, 32), (0, 1)):
            size = shape.rows * tiles, shape.columns * wide, shape.chunk * chunks, residual
            lines.append(f"{number},{','.join(map(str, size))},{fit_tiles.cycles(shape, more, size, machine) / machine.ghz}\n")
    times = tmp_path / "times.csv"
    times.write_text("".join(lines))
    command = [sys.executable, ROOT / "tools/fit_tiles.py", times, "--gpu", "a GPU", "--date", "2000-01-01", "--commit", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    errors = [float(e) for e in re.findall(r"error ([\d.]+) %", done.stderr)]
    assert len(errors) == len(table) and max(errors) < 3, done.stderr
    assert re.findall(r"^QK_TILE\((\d+),", done.stdout, re.M) == [str(n) for n in table]
    times.write_text(lines[0] + "7,1,1,1,0,5\n")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and f"{times}:2: shapes are 0, 1" in done.stderr, done.stderr
