"""Help without the time that it takes to load what would make it: as it looks on a terminal of 80 columns or more.

What is kept in `help/` is what click makes of the commands; a test compares them, and writes it anew when told to. Only
the first page, that of the command without another, is written by hand.
"""

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(__file__), "help")
#: What click makes help as wide as, at most, and where it is not shown on a terminal.
_WIDTH = 80


def _columns() -> int:
    """As `shutil.get_terminal_size`, which takes longer to import than this to read."""
    try:
        given = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        given = 0
    if given > 0:
        return given
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return _WIDTH  # no terminal


def prepared_help(arguments: list[str]) -> str | None:
    """The help that is asked for; None where it is not all that is, or has to be made narrower."""
    if len(arguments) > 2 or arguments[-1:] not in (["--help"], ["-h"]):
        return None
    name = arguments[0] if len(arguments) == 2 else "traceconv"
    if name != "traceconv" and _columns() < _WIDTH:
        return None
    # The names of commands are those of the files, so that nothing else is one.
    if not name.replace("-", "").isalpha():
        return None
    try:
        with open(os.path.join(_FOLDER, f"{name}.txt"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
