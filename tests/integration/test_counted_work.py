"""Work grows as the network does: instructions for four times the nodes, rules or samples, which no other program and no clock changes.

Four times the work is 4.0 to 4.1 (trees of names and values are a little deeper); what is quadratic comes near 16.
"""
import subprocess

import numpy as np
import pytest
from tests.conftest import QUANTC
from tests.support import grown

FACTOR = 4.6
ALL = "[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = 0.05\ninput_scale = 0.05\nskip_unsupported = true\n"
DYNAMIC = "[[rule]]\nop = 'linear'\nkind = 'dynamic'\n"
SHAPES = [grown.chain, grown.wide, grown.hub, grown.views, grown.ports, grown.layers]
soak = pytest.mark.soak


def each(count):
    """A rule for each node, as calibration writes them."""
    return "".join(ALL.replace(".*", f"n{i}$") for i in range(count))


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """network(shape, count): the path; each is written once."""
    folder = tmp_path_factory.mktemp("grown")

    def path(shape, count):
        found = folder / f"{shape.__name__}{count}.onnx"
        return found if found.exists() else grown.write(found, shape, count)
    return path


def growth(command, *sizes, status=0):
    """The instructions of command(size) for the larger size by those for the smaller one; the budget is that of no small file."""
    small, large = (grown.instructions(QUANTC, *command(size), "--budget", 1000, status=status) for size in sizes)
    assert large > 3 * small, "what starts the program counts for too much"
    return large / small


def compiling(network, shape, folder, target, *flags, rules=None):
    def command(count):
        given = list(flags)
        if rules:
            (folder / f"rules{count}.toml").write_text(rules(count))
            given += ["--rules", folder / f"rules{count}.toml"]
        return ["compile", network(shape, count), "-o", folder / f"out{count}", "--name", "net", "--target", target, *given]
    return command


@pytest.mark.parametrize("target", ["portable", pytest.param("cuda", marks=soak)])
@pytest.mark.parametrize("shape", [grown.wide, grown.hub, *(pytest.param(s, marks=soak) for s in SHAPES if s not in (grown.chain, grown.wide, grown.hub))])
def test_nodes(network, shape, target, tmp_path):
    assert growth(compiling(network, shape, tmp_path, target), 10000, 40000) < FACTOR


@pytest.mark.parametrize("target", ["portable", "cuda"])
def test_nodes_of_a_chain(network, target, tmp_path):
    assert growth(compiling(network, grown.chain, tmp_path, target), 10000, 40000) < FACTOR


@pytest.mark.parametrize("target", ["portable", pytest.param("cuda", marks=soak)])
def test_nodes_with_free_sizes(network, target, tmp_path):
    assert growth(compiling(network, grown.free, tmp_path, target, "--dim", "rows=1..8"), 10000, 40000) < FACTOR


def test_rules(network, tmp_path):
    """As many rules as nodes."""
    assert growth(compiling(network, grown.chain, tmp_path, "portable", rules=each), 5000, 20000) < FACTOR


@soak
@pytest.mark.parametrize("target", ["portable", "cuda"])
@pytest.mark.parametrize("shape, text", [*((s, ALL) for s in SHAPES), (grown.layers, DYNAMIC)])
def test_quantized_nodes(network, shape, text, target, tmp_path):
    assert growth(compiling(network, shape, tmp_path, target, rules=lambda count: text), 10000, 40000) < FACTOR


def samples(folder, count):
    np.savez(folder / f"in{count}.npz", v0=np.random.default_rng(0).normal(size=(count, grown.WIDTH)).astype(np.float32))
    return folder / f"in{count}.npz"


@pytest.mark.parametrize("command", ["calibrate", pytest.param("run", marks=soak), pytest.param("analyze", marks=soak)])
def test_samples(network, command, tmp_path):
    (tmp_path / "all.toml").write_text(ALL)
    more = {"calibrate": lambda n: ["-o", tmp_path / f"{n}.toml"], "run": lambda n: ["-o", tmp_path / f"{n}.npz"],
            "analyze": lambda n: ["--rules", tmp_path / "all.toml"]}[command]
    assert growth(lambda n: [command, network(grown.layers, 100), "--data", samples(tmp_path, n), *more(n)], 500, 2000) < FACTOR


@pytest.fixture(scope="module")
def calibrated(network, tmp_path_factory):
    """calibrated(count): the rules that calibration writes for so many layers."""
    folder = tmp_path_factory.mktemp("calibrated")

    def rules(count):
        to = folder / f"{count}.toml"
        if not to.exists():
            subprocess.run([QUANTC, "calibrate", network(grown.layers, count), "--data", samples(folder, 2), "-o", to, "--budget", "1000"], check=True)
        return to
    return rules


@soak
@pytest.mark.parametrize("command, flags", [
    ("explain", ["RULES"]), ("analyze", ["RULES", "DATA"]), ("calibrate", ["DATA", "-o", "OUT", "--force"]), ("calibrate", ["RULES", "DATA", "-o", "OUT", "--force"]),
    ("inspect", []), ("inspect", ["--ir"]), ("inspect", ["--names"]), ("inspect", ["--program"]), ("inspect", ["--kernels"]), ("inspect", ["--dot"]),
    ("run", ["--random", "1"]), ("validate", ["--random", "1", "--cc", "CC"])], ids=" ".join)
def test_commands(network, calibrated, command, flags, tmp_path):
    """`validate` with a compiler whose code does nothing, and differs (status 1): what compilers cost is not quantc's."""
    def called(count):
        words = {"RULES": ["--rules", calibrated(count)], "DATA": ["--data", samples(tmp_path, 2)], "OUT": [tmp_path / "out.toml"],
                 "CC": [grown.idle_compiler(tmp_path)]}
        return [command, network(grown.layers, count), *(word for flag in flags for word in words.get(flag, [flag]))]
    assert growth(called, 10000, 40000, status=int(command == "validate")) < FACTOR
