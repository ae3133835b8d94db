"""The program under limits: 10 seconds of the processor and 1 GB."""
import resource
import subprocess

from tests.conftest import QUANTC

SECONDS, BYTES = 10, 1 << 30


def limited(*args, status=(0, 1, 2), **options) -> subprocess.CompletedProcess:
    """Runs a command, which must end by itself within the limits, with one of these statuses."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    done = subprocess.run([QUANTC, *map(str, args)], capture_output=True, text=True, errors="replace", preexec_fn=limit, **options)
    assert done.returncode in status, f"{args}: {done.returncode}\n{done.stderr[-2000:]}"
    assert "not enough memory" not in done.stderr, f"{args}: the system's limit was met before quantc's\n{done.stderr}"
    return done
