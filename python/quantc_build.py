"""The build backend of the package: scikit-build-core, which says on the terminal how far the compiler is.

pip keeps what a build prints to itself, so without this `pip install .` is silent for minutes.
"""
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Optional, TextIO, Tuple

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # noqa: F401,F403

PROCESSOR_MINUTES = 16  # of a whole build on one core of 3 GHz


def progress(folder: Path) -> Optional[Tuple[int, int]]:
    """How many steps of a Ninja build are done, and how many there are; nothing before it began."""
    try:
        rules, log = (folder / "build.ninja").read_text(errors="replace"), (folder / ".ninja_log").read_text(errors="replace")
    except OSError:
        return None
    outputs = (m[1].replace("$ ", " ") for m in re.finditer(r"^build ((?:[^:$ |]|\$.)+).*?: (?!phony)", rules, re.M))
    steps = {o for o in outputs if not o.endswith(".util") and o not in ("clean", "help")}  # what CMake adds to be asked for
    done = {fields[3] for fields in (line.split("\t") for line in log.splitlines()) if len(fields) == 5}
    return len(steps & done), len(steps)


def _terminal() -> TextIO:
    try:
        return open("/dev/tty", "w")
    except OSError:
        return sys.stderr


class _Watch:
    """Tells a terminal how far the builds below `root` are, as long as it is entered."""

    def __init__(self, root: Path, every: float = 2.0):
        self.root, self.every, self.began, self.done = root, every, time.time(), threading.Event()
        self.terminal = _terminal()
        self.thread = threading.Thread(target=self._tell, daemon=True)

    def _say(self, text: str) -> None:
        self.terminal.write(text)
        self.terminal.flush()

    def _tell(self) -> None:
        shown = None
        while not self.done.wait(self.every):
            logs = [p for p in self.root.glob("**/.ninja_log") if p.stat().st_mtime >= self.began]
            found = progress(max(logs, key=lambda p: p.stat().st_mtime).parent) if logs else None
            if found and found != shown:
                shown = found
                minutes = (time.time() - self.began) / 60
                self._say(f"\rquantc: {found[0]} of {found[1]} steps, {minutes:.1f} min ")

    def __enter__(self) -> None:
        cores = os.cpu_count() or 1
        self._say(f"\nquantc: compiling takes about {PROCESSOR_MINUTES} minutes of processor time, {max(1, PROCESSOR_MINUTES // cores)} "
                  f"on {cores} cores\n")
        self.thread.start()

    def __exit__(self, *_: Any) -> None:
        self.done.set()
        self.thread.join()
        self._say("\n")


def _watched(build: Callable[..., str], config: Optional[Dict[str, Any]], *arguments: Any) -> str:
    root = Path(str((config or {}).get("build-dir", "build")))
    with _Watch(root):
        return build(*arguments)


def build_wheel(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    return _watched(_backend.build_wheel, config_settings, wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    return _watched(_backend.build_editable, config_settings, wheel_directory, config_settings, metadata_directory)
