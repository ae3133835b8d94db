"""Ctrl-C ends a long call of Python. Each call would take minutes; none may be done before the signal is noticed."""
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent / "interrupted.py"


@pytest.mark.parametrize("what", ["load", "fold", "run", "run_reference", "calibrate", "analyze", "compile", "benchmark"])
def test_ctrl_c_ends_a_long_call(what, tmp_path):
    done = subprocess.run([sys.executable, str(PROGRAM), what, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "KeyboardInterrupt\n", done.stdout + done.stderr


def test_handlers_of_other_signals_run_and_their_exceptions_come_out(tmp_path):
    """A handler that raises nothing does not end the call; one of its own exceptions ends it as it is."""
    program = f"""
import signal, sys, threading
sys.argv = ['', 'run', {str(tmp_path)!r}]
sys.path.insert(0, {str(PROGRAM.parent)!r})
import interrupted
seen = []
class Mine(Exception):
    pass
def handler(number, frame):
    seen.append(number)
    if len(seen) == 2:
        raise Mine()
signal.signal(signal.SIGUSR1, handler)
main = threading.main_thread().ident
call = interrupted.calls()['run']()
def send():
    import time
    for count in (1, 2):
        time.sleep(0.3)
        signal.pthread_kill(main, signal.SIGUSR1)
        while len(seen) < count:
            time.sleep(0.01)
threading.Thread(target=send, daemon=True).start()
try:
    call()
except Mine:
    print(len(seen))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "2\n", done.stdout + done.stderr
