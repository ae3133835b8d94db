"""A sample of the long run over mutated files (`make soak` tries 200,000)."""
import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).resolve().parent / "command_soak.py"


def test_commands_on_some_mutated_files(build, tmp_path):
    done = subprocess.run([sys.executable, SOAK, build / "bin" / "fork_server", tmp_path, "400", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 files of seed 2, 0 findings" in done.stdout
