"""Traces whose names and texts hold bytes that are no UTF-8, all of them or those of some tables."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from converter.ir.collect import collect
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    Member,
    OptionalClass,
    StructureClass,
    VariantClass,
)
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Trace
from converter.kernels.tables.strings import StringTable

#: What is put behind each name, and the byte that it stands for.
_BAD, _BYTE = "\udcff", b"\xff"

#: What there are names of.
PARTS = (
    "classes",
    "fields",
    "types",
    "tasks",
    "tracks",
    "clocks",
    "environment",
    "strings",
    "symbols",
)


def spoiled(trace: Trace, parts: Collection[str] = PARTS) -> Trace:
    """The trace, in memory, with such names in these parts; what has no name stays without one."""
    trace = collect(trace)
    bad = {part: _BAD if part in parts else "" for part in PARTS}

    def named(text: str, part: str) -> str:
        return text and text + bad[part]

    def clock(held: ClockDomain) -> ClockDomain:
        texts = named(held.name, "clocks"), named(held.description, "clocks")
        return replace(held, name=texts[0], description=texts[1])

    changed: dict[str, Any] = {
        "event_classes": [_class(one, bad) for one in trace.event_classes],
        "processes": [
            replace(
                one,
                name=named(one.name, "tasks"),
                command_line=tuple(named(text, "tasks") for text in one.command_line),
            )
            for one in trace.processes
        ],
        "threads": [replace(one, name=named(one.name, "tasks")) for one in trace.threads],
        "tracks": [
            replace(one, name=named(one.name, "tracks"), unit=named(one.unit, "tracks"))
            for one in trace.tracks
        ],
        "clock": clock(trace.clock),
        "clock_domains": [clock(one) for one in trace.clock_domains],
        "environment": {
            name: named(held, "environment") if isinstance(held, str) else held
            for name, held in trace.environment.items()
        },
    }
    if "strings" in parts:
        changed["strings"] = StringTable()
        for number in range(len(trace.strings)):
            text = trace.strings[number]
            assert changed["strings"].intern(text and text + _BYTE) == number
    if "symbols" in parts and trace.symbols is not None:
        addresses, names = trace.symbols.entries()
        symbols = [name + _BYTE for name in names]
        changed["symbols"] = SymbolTable(lambda: (addresses, symbols), exact=trace.symbols.exact)
    return replace(trace, **changed)


def _class(held: EventClass, bad: dict[str, str]) -> EventClass:
    fields = tuple(
        Field(
            one.name + bad["fields"],
            _type(one.type, bad["types"]),
            one.role,
            one.unit and one.unit + bad["fields"],
        )
        for one in held.fields
    )
    name, category = (text and text + bad["classes"] for text in (held.name, held.category))
    return replace(held, name=name, category=category, fields=fields)


def _type(held: FieldClass, bad: str) -> FieldClass:
    match held:
        case IntegerClass(labels=labels):
            return replace(held, labels=tuple(one._replace(text=one.text + bad) for one in labels))
        case BytesClass(media_type):
            return BytesClass(media_type + bad)
        case ArrayClass(element):
            return replace(held, element=_type(element, bad))
        case OptionalClass(element):
            return OptionalClass(_type(element, bad))
        case StructureClass(members):
            return StructureClass(_members(members, bad))
        case VariantClass(options):
            return VariantClass(_members(options, bad))
    return held


def _members(members: tuple[Member, ...], bad: str) -> tuple[Member, ...]:
    return tuple(Member(one.name + bad, _type(one.type, bad)) for one in members)
