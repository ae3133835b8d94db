"""Names of a model as a terminal may print them."""
from __future__ import annotations


def shown(name: str) -> str:
    """The name on one line, what cannot be printed escaped: \\n, \\x1b, and \\xff for a byte that is no UTF-8."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
