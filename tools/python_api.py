"""tools/python_api.py: writes docs/python-api.md from the docstrings of the installed package (tools/package_venv)."""
import inspect
import re
from pathlib import Path
from typing import Iterator

import quantc

ROOT = Path(__file__).resolve().parent.parent


def signature(thing: object) -> str:
    try:
        text = str(inspect.signature(thing))  # type: ignore[arg-type]
        return re.sub(r"(: |-> )\"?'([^']*)'\"?", r"\1\2", text)  # annotations are texts
    except (TypeError, ValueError):
        return ""


def members(cls: type) -> Iterator[str]:
    inherited = {name: value for base in reversed(cls.__mro__[1:]) if base.__module__.startswith("quantc.")
                 and base.__name__ not in quantc.__all__ for name, value in vars(base).items()}
    for name, value in {**inherited, **vars(cls)}.items():
        doc = inspect.getdoc(getattr(cls, name)) or ""
        if name.startswith("_") and name != "__call__" or not (callable(value) or isinstance(value, property)):
            continue
        shown = f"`.{name}`" if isinstance(value, property) else f"`.{name}{signature(value)}`"
        yield f"- {shown}" + (": " + " ".join(doc.split()) if doc else "")


def page() -> str:
    out = ["# API reference", "", "Made from the docstrings by tools/python_api.py. The guide is [python.md](python.md)."]
    for name in sorted(quantc.__all__, key=str.lower):
        thing = getattr(quantc, name)
        cls = isinstance(thing, type)
        call = "" if cls and issubclass(thing, (BaseException, tuple)) else signature(thing)
        out += ["", f"## {name}", "", f"`{'class ' if cls else ''}{name}{call}`", "", inspect.getdoc(thing) or ""]
        listed = list(members(thing)) if cls and not issubclass(thing, tuple) else []
        out += ["", *listed] if listed else []
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "python-api.md").write_text(page())
