"""What quantc raises. Codes are those of docs/errors.md."""
from __future__ import annotations

from typing import List, NamedTuple, Sequence


class Loc(NamedTuple):
    """Where in the user's model something is: file, the model's own names of the nodes, and the op."""

    file: str
    nodes: Sequence[str]
    op: str


class QuantcError(Exception):
    """Base of everything quantc raises."""

    code: str = "bug"
    loc: Loc = Loc("", (), "")
    notes: List[str] = []

    def __init__(self, message: str, code: str = "", loc: Loc = Loc("", (), ""), notes: Sequence[str] = ()):
        super().__init__(message)
        self.code = code or type(self).code
        self.loc = loc
        self.notes = list(notes)


class UserError(QuantcError, ValueError):
    """Model, arrays, rules or options are wrong: the caller can mend it."""

    code = "usage"


class Unsupported(QuantcError, NotImplementedError):
    """Valid, but quantc cannot do it."""

    code = "unsupported"


class InternalError(QuantcError, RuntimeError):
    """An invariant of quantc itself is broken: please report it."""


class QuantcWarning(UserWarning):
    """Something was not done as asked, or costs more than it seems to."""


def add_note(error: BaseException, note: str) -> None:
    """Adds a line to ``__notes__``, which tracebacks print from Python 3.11 on; before, the list is kept all the same."""
    add = getattr(error, "add_note", None)
    if add is not None:
        add(note)
    else:
        setattr(error, "__notes__", [*getattr(error, "__notes__", []), note])


def make(kind: int, code: str, file: str, nodes: List[str], op: str, text: str, notes: List[str],
         message: str) -> QuantcError:
    """The exception of a diagnostic: kinds are the exit statuses of the command line."""
    classes = {1: UserError, 2: Unsupported, 3: InternalError}
    return classes[kind](message or text, code, Loc(file, tuple(nodes), op), notes)
