"""Qt's CTF tracer: `NAME_entry` and `NAME_exit` are the ends of a range, as in Qt Creator."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role

#: The name of the tracer in the environment.
TRACER: Final = "qtctf"

_ENTRY: Final = "_entry"
_EXIT: Final = "_exit"
_NAME: Final = Field("name", StringClass(), Role.NAME)


def range_name(text: str, names: Collection[str]) -> str | None:
    """Return the name of the range that records of this name begin, if others of these names end it."""
    name = text.removesuffix(_ENTRY)
    return name if name != text and name and f"{name}{_EXIT}" in names else None


def ends_range(text: str, names: Collection[str]) -> bool:
    """Return True if records of this name end a range that others of these names begin."""
    name = text.removesuffix(_EXIT)
    return name != text and bool(name) and f"{name}{_ENTRY}" in names


def as_begin(declared: EventClass) -> EventClass:
    """Return a class whose events begin a range; the range's name becomes the last field."""
    return replace(declared, kind=Kind.SLICE_BEGIN, fields=(*declared.fields, _NAME))


def as_end(declared: EventClass) -> EventClass:
    """Return a class whose events end the range that began last on their thread."""
    return replace(declared, kind=Kind.SLICE_END)
