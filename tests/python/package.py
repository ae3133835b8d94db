"""What the tests of the package share."""
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "examples" / "digits" / "rules.toml"


def files_of(folder) -> dict:
    return {p.name: p.read_bytes() for p in sorted(Path(folder).iterdir())}
