"""The document: JSON, which is parsed as a whole, and what this project says in it of its own files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from converter.errors import TraceError
from converter.formats.profiles.cut_json import objects_in, offset_of, parsed_prefix
from converter.formats.profiles.gecko.layout import OWN, OWN_VERSION
from converter.formats.profiles.gecko.side_table import tracks_of
from converter.formats.side_table import SideTable, side_table_of
from converter.ir.events import EventClass
from converter.ir.forms import class_of
from converter.ir.table_forms import DAMAGE
from converter.ir.trace import Track
from converter.limits import allowed, limit
from converter.storage.source import Source

Object = dict[str, Any]


class Repeated(dict[str, Any]):
    """An object some of whose members are repeated, with all of them in order."""

    pairs: list[tuple[str, Any]]


def parsed(source: Source) -> tuple[Object, int | None]:
    """Return the document of a profile, and where damage is, before which it ends.

    Raises:
        TraceError: it is too large, no JSON, or no profile.

    """
    if source.size > limit("gecko.profile"):
        what = f"a profile, which is read as a whole, of {allowed('gecko.profile')}"
        raise TraceError(format="gecko", expected=what, found=f"{source.size:,} bytes")
    data = source.read(0, source.size)
    objects = objects_in(data)
    if objects > limit("gecko.objects"):
        expected = allowed("gecko.objects")
        raise TraceError(format="gecko", expected=expected, found=f"{objects:,}")
    text = data.decode("utf-8-sig", "replace")
    del data
    document: Any
    document, text, damage = _loaded(text, source)
    if isinstance(document, dict) and "threads" not in document:
        # An answer of Firefox to a program that asked for a profile.
        inner = document.get("profile")
        document = inner if isinstance(inner, dict) else document
    if not isinstance(document, dict) or not isinstance(document.get("threads"), list):
        found = "events of Chrome JSON" if _is_of_events(document) else None
        raise TraceError(
            format="gecko",
            path=source.name,
            offset=damage,
            field="threads",
            expected="the list of a profile's threads",
            found=found or _type_of(document),
        )
    own = document.get(OWN)
    if isinstance(own, dict) and (own.get("exact") or own.get("repeats")):
        # Numbers keep all their digits, and objects their repeated members.
        document = json.loads(text, parse_float=Decimal, object_pairs_hook=_object)
    result: Object = document
    return result, damage


def _loaded(text: str, source: Source) -> tuple[Any, str, int | None]:
    """Parse JSON; return its value, its text, and where damage is, before which these end."""
    try:
        value, text, damage = parsed_prefix(text)
        return value, text, None if damage is None else offset_of(damage)
    except (ValueError, RecursionError) as error:
        raise TraceError(
            format="gecko",
            path=source.name,
            offset=offset_of(error) if isinstance(error, json.JSONDecodeError) else None,
            expected="JSON",
            found=str(error) or "objects that are too deep",
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> Object:
    result: Object = dict(pairs)
    if len(result) < len(pairs):
        repeated = Repeated(result)
        repeated.pairs = pairs
        return repeated
    return result


def _is_of_events(document: Any) -> bool:
    return isinstance(document, list) or (isinstance(document, dict) and "traceEvents" in document)


def _type_of(document: Any) -> str:
    if isinstance(document, dict):
        return f"an object of {', '.join(map(repr, list(document)[:5])) or 'no members'}"
    return type(document).__name__


@dataclass(slots=True)
class Own:
    """The tables that this project's writer adds to a profile."""

    tables: SideTable = field(default_factory=SideTable)
    tracks: list[Track] = field(default_factory=list)
    #: The classes of markers; None for those of other events.
    classes: list[EventClass | None] = field(default_factory=list)
    #: By class: the names of fields in data, or a list of them for a structure in parts; None for fields of the table.
    keys: list[list[Any]] = field(default_factory=list)
    offset: int = 0
    #: The index of the category of events without one; -1 if there are none.
    uncategorized: int = -1

    @classmethod
    def of(cls, document: Object) -> Self | None:
        """Return what the writer says; None if another program wrote the file.

        Raises:
            TraceError: it is damaged.

        """
        form = document.get(OWN)
        if not isinstance(form, dict) or form.get("version") != OWN_VERSION:
            return None
        try:
            tables = side_table_of(form["tables"], numbered=False)
            own = cls(
                tables,
                tracks_of(form["tracks"], tables),
                [None if one is None else class_of(one["class"]) for one in form["classes"]],
                [[] if one is None else list(one["keys"]) for one in form["classes"]],
                int(form["offset"]),
                int(form["uncategorized"]),
            )
            for event_class, keys in zip(own.classes, own.keys, strict=True):
                fields = () if event_class is None else event_class.fields
                if len(keys) != len(fields) or abs(own.offset) >= 1 << 63:
                    raise ValueError("a class without the names of its fields")
            return own
        except (*DAMAGE, LookupError, OverflowError) as error:
            raise TraceError(
                format="gecko", field=OWN, expected="the tables of a trace", found=str(error)
            ) from None
