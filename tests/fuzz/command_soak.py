#!/usr/bin/env python3
"""Runs every command of the program on mutated files: command_soak.py FORK_SERVER OUT COUNT SEED [FIRST].

Each file is run under limits of memory and of the processor's time. The command must end by itself with status 0, 1 or 2;
failures say why and leave no file behind; what is printed is UTF-8 without control characters, JSON parses, and so do
the files that are written. What does not is kept in OUT. At the end the slowest and the largest are listed. The same
arguments give the same files; with FIRST those before it are made, but not run.
"""
import heapq
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
warnings.simplefilter("ignore")  # of doubled members in archives
from tests.fuzz.soak_source import Source

SECONDS, MEMORY = 10, 1 << 30
LISTED = 10
SYNTAX_EACH = 500  # of the compilations that succeed, one in so many is shown to a C compiler
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Server:
    """The program, ready to run; see fork_server.cpp."""

    def __init__(self, program: str, log: Path, scratch: Path) -> None:
        self.log = log
        self.process = subprocess.Popen([program, log, str(SECONDS), str(MEMORY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=scratch, env={**os.environ, "TMPDIR": str(scratch / "tmp")})

    def run(self, command: list[str]):
        """Exit status (signals are negative), seconds, bytes, standard output, standard error."""
        self.process.stdin.write("\t".join(command) + "\n")
        self.process.stdin.flush()
        status, microseconds, kilobytes = map(int, self.process.stdout.readline().split())
        out, err = (Path(f"{self.log}.{which}").read_bytes() for which in ("out", "err"))
        return os.waitstatus_to_exitcode(status), microseconds / 1e6, kilobytes << 10, out, err


class Checks:
    """What must hold of a command that ended; each says what is wrong, or nothing."""

    def __init__(self, scratch: Path) -> None:
        self.out, self.tmp, self.compiled = scratch / "out", scratch / "tmp", 0

    def wrong(self, command: list[str], code: int, out: bytes, err: bytes) -> str:
        if code not in (0, 1, 2):
            return f"status {code}"
        try:
            text, said = out.decode(), err.decode()
        except UnicodeDecodeError as e:
            return f"prints what is not UTF-8: {e}"
        if CONTROL.search(text + said):
            return "prints control characters"
        if "not enough memory" in said:
            return "meets the system's limit of memory before its own"
        compares = command[0] == "validate"  # arrays that differ are no error: status 1 and a table
        if ("error[" in said) != (code != 0) and not (compares and code == 1) or "error[bug]" in said:
            return f"status {code} and its message do not agree"
        if left := [p.name for p in self.tmp.iterdir()]:
            return f"leaves temporary files: {left}"
        written = sorted(p for p in self.out.rglob("*") if p.is_file())
        if code != 0:
            return f"fails and leaves {written}" if any(self.out.iterdir()) else ""
        if "--json" in command:
            json.loads(text)
        return self.wrong_files(command[0], written)

    def wrong_files(self, command: str, written: list[Path]) -> str:
        if odd := [p for p in written if p.name.startswith(".") or "tmp" in p.name]:
            return f"leaves {odd}"
        if bool(written) != (command in ("compile", "run", "calibrate")):
            return f"wrote {written}"
        for path in written:
            if path.suffix == ".npz":
                with zipfile.ZipFile(path) as archive:
                    if archive.testzip() or len(set(archive.namelist())) != len(archive.namelist()):
                        return f"{path} is damaged"
            elif path.suffix == ".toml":
                tomllib.loads(path.read_text())
            else:
                path.read_bytes().decode() if path.suffix in (".c", ".h", ".txt") else None
        if command == "compile":
            self.compiled += 1
            if self.compiled % SYNTAX_EACH == 0:
                return self.wrong_c([p for p in written if p.suffix == ".c"])
        return ""

    def wrong_c(self, sources: list[Path]) -> str:
        done = subprocess.run(["cc", "-std=c11", "-fsyntax-only", *sources], cwd=sources[0].parent, capture_output=True, text=True)
        return f"the C is not valid: {done.stderr[:500]}" if done.returncode != 0 else ""


class Soak:
    def __init__(self, program: str, out: Path, seed: int, scratch: Path) -> None:
        self.retained, self.scratch, self.source, self.checks = out, scratch, Source(seed), Checks(scratch)
        for path in (out, scratch / "out", scratch / "tmp"):
            path.mkdir(parents=True, exist_ok=True)
        self.server = Server(program, scratch / "log", scratch)
        self.slowest, self.largest, self.findings, self.statuses = [], [], 0, {}

    def one(self, i: int, skip: bool) -> None:
        files, command = self.source.next(self.scratch / f"{i:06}")
        if not skip:
            self.try_on(i, files, [a.replace("OUT", str(self.scratch / "out")) for a in command])
            for path in (self.scratch / "out").iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in files:
            path.unlink()

    def try_on(self, i: int, files: list[Path], command: list[str]) -> None:
        code, seconds, memory, out, err = self.server.run(command)
        try:
            wrong = self.checks.wrong(command, code, out, err)
        except (ValueError, OSError, zipfile.BadZipFile) as e:
            wrong = f"writes what cannot be read: {e}"
        key = f"{command[0]} {code}"
        self.statuses[key] = self.statuses.get(key, 0) + 1
        name = " ".join(command).replace(f"{self.scratch}/", "").replace(f"{ROOT}/", "")
        for heap, figure in ((self.slowest, seconds), (self.largest, memory)):
            (heapq.heappush if len(heap) < LISTED else heapq.heappushpop)(heap, (figure, i, name))
        retained = {entry[1] for entry in self.slowest + self.largest}
        if wrong:
            self.findings += 1
            said = (out + err)[-400:].decode(errors="replace")
            print(f"FINDING {i}: {wrong}; {seconds:.1f} s, {memory >> 20} MB: {name}\n  {said}", flush=True)
        if wrong or i in retained and (seconds > 1 or memory > 1 << 27):
            (self.retained / f"{i:06}").mkdir(exist_ok=True)
            for path in files:
                shutil.copy(path, self.retained / f"{i:06}")

    def report(self, count: int, seed: int) -> None:
        print(f"{count} files of seed {seed}, {self.findings} findings")
        print("command and status: " + ", ".join(f"{k}: {n}" for k, n in sorted(self.statuses.items())))
        for title, heap, unit in (("slowest", self.slowest, lambda v: f"{v:.2f} s"), ("largest", self.largest, lambda v: f"{v / 2**20:.0f} MB")):
            print(f"{title}:")
            for figure, i, name in sorted(heap, reverse=True):
                print(f"  {unit(figure)}  {i:06}  {name}")


def main() -> int:
    program, out, count, seed = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), int(sys.argv[3]), int(sys.argv[4])
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell ignores them
        signal.signal(number, signal.default_int_handler)
    begin = time.monotonic()
    memory = Path("/dev/shm")  # files need not reach a disk
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        soak = Soak(str(program), out, seed, Path(folder))
        try:
            for i in range(count):
                soak.one(i, i < first)
                if (i + 1) % 5000 == 0:
                    print(f"{i + 1} files, {soak.findings} findings, {time.monotonic() - begin:.0f} s", flush=True)
        except KeyboardInterrupt:
            count = i  # ended early: what was found so far
        soak.report(count, seed)
    return 1 if soak.findings else 0


if __name__ == "__main__":
    sys.exit(main())
