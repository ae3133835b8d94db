"""Runs a fuzz target on many files and finds those it does not survive."""
import re
import subprocess
from pathlib import Path

BATCH = 200


def failures(target: Path, files: list[Path], *flags: str) -> dict[Path, str]:
    """File -> the end of what the target printed; a crash costs one file, not the rest of its batch."""
    found = {}
    rest = [str(f) for f in files]
    while rest:
        try:
            done = subprocess.run([target, *flags, *rest[:BATCH]], capture_output=True, timeout=600)
            output, status = done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            output, status = late.stderr or b"", "timeout"
        if status == 0:
            rest = rest[BATCH:]
            continue
        text = output.decode(errors="replace")
        last = re.findall(r"^Running: (.*)$", text, re.M)[-1]
        found[Path(last)] = f"status {status}\n{text.rpartition('Running: ')[2][-6000:]}"
        rest = rest[rest.index(last) + 1:]
    return found
