"""Inputs that no fixture is like, by format: old versions, other byte orders, what is described in rare ways."""

from __future__ import annotations

import importlib
from pathlib import Path

from support.fuzzing.corpus import Files

_FOLDER = Path(__file__).parent


def made(format: str) -> list[Files]:
    """The inputs of a format, and of streams of 32-bit AIX kernels (`aix+32`)."""
    name, _, variant = format.partition("+")
    found = next(_FOLDER.rglob(f"{name}.py"), None)
    if found is None:
        return []
    # Some take packages that others do without.
    folders = found.relative_to(_FOLDER).with_suffix("").parts
    module = importlib.import_module(".".join((__name__, *folders)))
    return list(module.inputs_32() if variant == "32" else module.inputs())
