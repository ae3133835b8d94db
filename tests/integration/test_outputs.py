"""Outputs appear together or not at all, nothing that is not quantc's own is overwritten, and nothing is lost in silence."""
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.conftest import QUANTC
from tests.support.onnx_models import save, value, weight


def product(path: Path, seed: int, rows: int = 32, columns: int = 32) -> Path:
    """Two products with a relu between them; the weights come from the seed."""
    rng = np.random.default_rng(seed)
    w = [rng.standard_normal(s).astype(np.float32) for s in ((rows, columns), (columns, 16))]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"], name="act"),
             helper.make_node("MatMul", ["b", "w1"], ["y"], name="second")]
    return save(path, nodes, [value("x", [4, rows])], [value("y", [4, 16])], [weight("w0", w[0]), weight("w1", w[1])])


@pytest.fixture
def model(tmp_path):
    return product(tmp_path / "net.onnx", 1)


@pytest.fixture
def samples(tmp_path):
    np.savez(tmp_path / "samples.npz", x=np.random.default_rng(2).standard_normal((8, 32)).astype(np.float32))
    return tmp_path / "samples.npz"


def files(folder: Path):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def start(*args, **options):
    """The command with signals as a terminal gives them: who runs the tests in the background may ignore some."""
    def heed():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
    return subprocess.Popen([str(QUANTC), *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=heed, **options)


def limited(*args):
    """The command with files of at most 4096 bytes: like a disk that is full in the middle of the work."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    return subprocess.run([str(QUANTC), *map(str, args)], capture_output=True, text=True, preexec_fn=limit)


@pytest.mark.parametrize("fresh", [True, False])
def test_of_two_runs_into_one_folder_one_remains(quantc, tmp_path, fresh):
    sets = []
    for seed in (1, 2):
        product(tmp_path / f"{seed}.onnx", seed)
        quantc("compile", tmp_path / f"{seed}.onnx", "-o", tmp_path / f"out{seed}", "--name", "net", "--weights", "file")
        sets.append(files(tmp_path / f"out{seed}"))
    assert sets[0] != sets[1]
    out = tmp_path / "both"
    for round_ in range(12):
        if fresh:
            out = tmp_path / f"both{round_}"
        runs = [start("compile", tmp_path / f"{seed}.onnx", "-o", out, "--name", "net", "--weights", "file", "--target", "portable")
                for seed in (1, 2)]
        for run in runs:
            assert run.wait(60) == 0, run.stderr.read()
        assert files(out) in sets


def test_links_are_not_followed(quantc, model, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("net.h.tmp", "net.c.tmp"):
        (out / name).symlink_to(victim)
    quantc("compile", model, "-o", out)
    (out / "net.h").unlink()
    (out / "net.h").symlink_to(victim)
    failed = quantc("compile", model, "-o", out, status=1)
    assert "net.h: error[file]: is already there" in failed.stderr
    quantc("compile", model, "-o", out, "--force")
    assert victim.read_text() == "precious" and not (out / "net.h").is_symlink()


def test_links_to_devices_and_open_files_are_never_replaced(quantc, model, samples, tmp_path):
    """As /dev/stdout is: a link to /proc/self/fd/1, a pipe or, with standard output in a file, a regular file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = '.*'\nkind = 'dynamic'\n")
    np.savez(tmp_path / "x.npz", x=np.zeros((4, 32), np.float32))
    printed = (tmp_path / "printed").open("w")
    for target in (tmp_path / "pipe", tmp_path / "folder", "/dev/null", "/proc/self/fd/1", "/dev/stdout", "link"):
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        (out / "link").unlink(missing_ok=True)
        (out / "link").symlink_to("/proc/self/fd/1")
        for name in ("net.h", "net.npz", "net.svg", "net.html", "net.toml"):
            (out / name).unlink(missing_ok=True)
            (out / name).symlink_to(target)
        before = {p.name: os.readlink(p) for p in out.iterdir()}
        for command in (["compile", model, "-o", out, "--force"], ["run", model, "-i", tmp_path / "x.npz", "-o", out / "net.npz"],
                        ["inspect", model, "--svg", out / "net.svg"], ["calibrate", model, "--data", samples, "-o", out / "net.toml", "--force"],
                        ["analyze", model, "--data", samples, "--rules", tmp_path / "r.toml", "--html", out / "net.html"]):
            done = subprocess.run([str(QUANTC), *map(str, command)], stdout=printed, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 1 and "error[file]: is a link to what is no regular file" in done.stderr, (target, command, done.stderr)
            assert {p.name: os.readlink(p) for p in out.iterdir()} == before, (target, command)
    assert (tmp_path / "printed").stat().st_size == 0


def stop_half_way(args, at, number):
    """Starts the command, sends the signal once something stands in `at`; None where the command was done before."""
    run = start(*args)
    while run.poll() is None:
        if any(any(p.iterdir()) for p in at.glob(".quantc-*")):
            run.send_signal(number)
            break
        time.sleep(0.0005)
    status = run.wait(60)
    return None if status == 0 else status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(tmp_path, number):
    model = product(tmp_path / "net.onnx", 1, 1024, 2048)
    before = sorted(tmp_path.iterdir())
    for _ in range(20):
        status = stop_half_way(("compile", model, "-o", tmp_path / "a" / "b"), tmp_path, number)
        if status is not None:
            break
        subprocess.run(["rm", "-r", tmp_path / "a"], check=True)
    assert status == -number and sorted(tmp_path.iterdir()) == before


def waits_for_a_compiler(model, tmp_path):
    """`validate` while the compiler runs, which writes its process beside the folder for temporary files."""
    (tmp_path / "t").mkdir()
    (tmp_path / "cc").write_text("#!/bin/sh\necho $$ > $TMPDIR/../pid\nexec sleep 600\n")
    (tmp_path / "cc").chmod(0o755)
    run = start("validate", model, "--random", "1", "--cc", tmp_path / "cc", env={**os.environ, "TMPDIR": str(tmp_path / "t")})
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().endswith("\n"):
        assert run.poll() is None
        time.sleep(0.001)
    assert list((tmp_path / "t").iterdir())
    return run


def test_a_signal_ends_the_compiler_too(model, tmp_path):
    run = waits_for_a_compiler(model, tmp_path)
    run.terminate()
    assert run.wait(60) == -signal.SIGTERM and not list((tmp_path / "t").iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_full_disk_leaves_nothing(quantc, model, samples, tmp_path):
    before = sorted(tmp_path.iterdir())
    calibrate = ("calibrate", model, "--data", samples, "-o", tmp_path / "r.toml", "--equalise", "--bias-correction")
    commands = [("compile", model, "-o", tmp_path / "a" / "b" / "c"), ("compile", model, "-o", tmp_path / "d", "--weights", "file")]
    for command in commands:
        failed = limited(*command)
        assert failed.returncode == 1 and "error[file]: cannot write: File too large" in failed.stderr
        assert sorted(tmp_path.iterdir()) == before
    wide = product(tmp_path / "wide.onnx", 1, 32, 2048)
    quantc("calibrate", wide, *calibrate[2:])
    old = files(tmp_path)
    failed = limited("calibrate", wide, *calibrate[2:])
    assert failed.returncode == 1 and files(tmp_path) == old
    np.savez(tmp_path / "x.npz", x=np.zeros((4, 32), np.float32))
    big = save(tmp_path / "big.onnx", [helper.make_node("Tile", ["x", "n"], ["y"])], [value("x", [4, 32])], [value("y", None)],
               [weight("n", np.array([8, 8], np.int64))])
    assert limited("run", big, "-i", tmp_path / "x.npz", "-o", tmp_path / "n" / "y.npz").returncode == 1
    assert not (tmp_path / "n").exists() and not list(tmp_path.glob(".quantc*"))


def test_lost_output_is_an_error(model, tmp_path):
    with open("/dev/full", "w") as full:
        for command in (["ops"], ["--help"], ["--version"], ["inspect", model], ["inspect", model, "--ir"], ["explain", model, "--json"],
                        ["compile", model, "-o", tmp_path / "out"]):
            done = subprocess.run([str(QUANTC), *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 1 and "error[file]: cannot write" in done.stderr, command


def test_messages_that_nobody_takes_change_no_status(quantc, model, samples, tmp_path):
    """A full disk behind standard error, or a pipe that nobody reads any more."""
    quantc("calibrate", model, "--data", samples, "-o", tmp_path / "r.toml")
    commands = [(0, "compile", model, "-o", tmp_path / "a", "-v", "--time-passes"), (0, "run", model, "--random", "1", "-v"),
                (0, "calibrate", model, "--data", samples, "-o", tmp_path / "r.toml", "-v"), (1, "inspect", tmp_path / "none.onnx"),
                (1, "compile", model), (1, "nonsense")]
    for status, *command in commands:
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(QUANTC), *map(str, command)], stdout=subprocess.DEVNULL, stderr=full)
        assert done.returncode == status, command
    assert (tmp_path / "a" / "net.c").exists() and not list(tmp_path.glob(".quantc*"))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE, signal.SIGXCPU, signal.SIGQUIT])
def test_a_crash_leaves_nothing(tmp_path, number):
    """Of what it leaves, the files of the tool that it waits for are the most: the folder where that works."""
    run = waits_for_a_compiler(product(tmp_path / "net.onnx", 1), tmp_path)
    run.send_signal(number)
    assert run.wait(60) == -number and not list((tmp_path / "t").iterdir())


def test_closed_standard_files_stay_out_of_the_outputs(quantc, model, tmp_path):
    quantc("compile", model, "-o", tmp_path / "a")
    subprocess.run(["sh", "-c", f'"{QUANTC}" compile "{model}" -o "{tmp_path}/b" --target portable <&- >&- 2>&-'], check=True)
    assert files(tmp_path / "a") == files(tmp_path / "b")


@pytest.mark.parametrize("storage", ["literal", "incbin", "file"])
def test_own_files_are_replaced_and_no_others(quantc, model, tmp_path, storage):
    out = tmp_path / "out"
    compile = ("compile", model, "-o", out, "--weights", storage)
    quantc(*compile)
    first = files(out)
    product(model, 2)
    quantc(*compile)
    second = files(out)
    assert first.keys() == second.keys() and first != second
    for name in second:
        changed = bytearray(second[name])
        changed[len(changed) // 2] ^= 1
        (out / name).write_bytes(changed)
        failed = quantc(*compile, status=1)
        assert f"{out}/{name}: error[file]: is already there, and was not written by quantc or was changed since" in failed.stderr
        assert files(out) == {**second, name: changed}
        (out / name).write_bytes(second[name])
    quantc(*compile)
    assert files(out) == second


def test_build_files_of_others_are_kept(quantc, model, tmp_path):
    for name in ("Makefile", "CMakeLists.txt"):
        out = tmp_path / name
        out.mkdir()
        (out / name).write_text("all:\n")
        assert f"{name}: error[file]: is already there" in quantc("compile", model, "-o", out, status=1).stderr
        assert files(out) == {name: b"all:\n"}
        quantc("compile", model, "-o", out, "--force")
        assert files(out)[name] != b"all:\n" and (out / "net.c").exists()


def test_an_edited_rule_file_is_kept(quantc, model, samples, tmp_path):
    calibrate = ("calibrate", model, "--data", samples, "-o", tmp_path / "r.toml", "--equalise")
    quantc(*calibrate)
    written = files(tmp_path)
    assert {"r.toml", "r.npz"} <= written.keys() and list(np.load(tmp_path / "r.npz"))
    quantc(*calibrate)
    assert files(tmp_path) == written
    for name in ("r.toml", "r.npz"):
        (tmp_path / name).write_bytes(written[name] + b"\n")
        assert f"{name}: error[file]: is already there" in quantc(*calibrate, status=1).stderr
        assert files(tmp_path) == {**written, name: written[name] + b"\n"}
        quantc(*calibrate, "--force")
        assert files(tmp_path) == written


def test_inputs_are_never_overwritten(quantc, model, samples, tmp_path):
    (tmp_path / "samples.toml").write_text("weights = 'file'\n")
    os.link(samples, tmp_path / "linked.npz")
    before = files(tmp_path)
    np.savez(tmp_path / "in.npz", x=np.zeros((4, 32), np.float32))
    for command in (["calibrate", model, "--data", samples, "-o", tmp_path / "samples.toml", "--equalise"],
                    ["calibrate", model, "--data", samples, "-o", tmp_path / "linked.toml", "--equalise"],
                    ["calibrate", model, "--data", samples, "-o", model],
                    ["calibrate", model, "--data", samples, "--config", tmp_path / "samples.toml", "-o", tmp_path / "samples.toml"],
                    ["run", model, "-i", tmp_path / "in.npz", "-o", tmp_path / "in.npz"],
                    ["inspect", model, "--svg", model]):
        force = ["--force"] if command[0] == "calibrate" else []
        assert "is an input of this command" in quantc(*command, *force, status=1).stderr
    (tmp_path / "in.npz").unlink()
    assert files(tmp_path) == before
