"""Prepared help texts, shown without loading click: as on a terminal of 80 columns or more.

The files in `help/` are what click prints for the commands. A test compares them, and can write them again. Only the
first page, that of the command itself, is written by hand.
"""

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(__file__), "help")
#: The largest width of click's help, and its width without a terminal.
_WIDTH = 80


def _columns() -> int:
    """Return the width of the terminal, as `shutil.get_terminal_size`, whose import takes longer than this."""
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
    """Return the requested help; None if other arguments are given, or the terminal is narrower."""
    if len(arguments) > 2 or arguments[-1:] not in (["--help"], ["-h"]):
        return None
    name = arguments[0] if len(arguments) == 2 else "traceconv"
    if name != "traceconv" and _columns() < _WIDTH:
        return None
    # The names of commands are those of the files, so no other name matches.
    if not name.replace("-", "").isalpha():
        return None
    try:
        with open(os.path.join(_FOLDER, f"{name}.txt"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
