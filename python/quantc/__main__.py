"""The command line that the wheel brings: `quantc ...` and `python -m quantc ...`."""
from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "quantc"
    os.execv(str(program), ["quantc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
