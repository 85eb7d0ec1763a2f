"""Schemas of markers: how profilers show their data. Each class of events that has data has a schema of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from converter.formats.json_values import emit_programs as op
from converter.formats.json_values.emit_programs import Program
from converter.formats.json_values.programs import Compiler, json_text
from converter.formats.profiles.gecko.mapping import marker_fields
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
    StructureClass,
    Style,
)
from converter.ir.forms import class_form
from converter.kernels.tables.strings import StringTable

#: Keys of data that profilers treat in their own way.
_RESERVED: Final = frozenset(
    {"type", "cause", "stack", "category", "innerWindowID", "startTime", "endTime"}
)
#: Those that have the number of a stack.
_STACKS: Final = frozenset({"cause", "stack"})
#: The fields of a marker that its row in the table shows.
_MOST_SHOWN: Final = 6
#: Formats of the profiler for numbers in these units.
_FORMATS: Final = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "µs": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "bytes": "bytes",
}
_DISPLAY: Final = ["marker-chart", "marker-table"]


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of a class: its name, and the keys of its fields in data, in the order of the fields.

    The key of a field of the table is None; a structure in parts has a list of keys. A name that is empty is none: the
    data are null, or say their type themselves.
    """

    name: str
    keys: tuple[Any, ...]
    event_class: EventClass

    def form(self) -> dict[str, Any]:
        """Return what this project's reader needs to know."""
        return {"class": class_form(self.event_class), "keys": list(self.keys)}

    def shown(self) -> dict[str, Any]:
        """Return the schema for profilers."""
        fields: list[dict[str, Any]] = []
        for field, key in zip(self.event_class.fields, self.keys, strict=True):
            _add_shown(fields, field.name, key, field.type, field.unit)
        parts = [
            f"{one['label']}={{marker.data.{one['key']}}}"
            for one in fields[:_MOST_SHOWN]
            if "." not in one["key"]
        ]
        schema: dict[str, Any] = {"name": self.name, "display": _DISPLAY, "data": fields}
        if parts:
            schema["tableLabel"] = "{marker.name}: " + " ".join(parts)
        return schema

    def program(self, strings: StringTable) -> Program:
        """Return the program that emits the data of events, each with a comma before it."""
        compiler = Compiler()
        fields = self.event_class.fields
        if all(key is None for key in self.keys):
            compiler.literal(",null")
            for _ in fields:
                compiler.skip()
            # A program ends with what it emits.
            return compiler.program(strings)
        compiler.literal(",{" + (f'"type":{json_text(self.name)}' if self.name else ""))
        is_first = not self.name
        for field, key in zip(fields, self.keys, strict=True):
            if key is None:
                compiler.skip()
            else:
                is_first = _emit(compiler, field.type, key, is_first=is_first)
        compiler.literal("}")
        return compiler.program(strings)


def _emit(compiler: Compiler, held: FieldClass, key: Any, *, is_first: bool) -> bool:
    if isinstance(key, list):
        assert isinstance(held, StructureClass)
        for inner, member in zip(key, held.members, strict=True):
            is_first = _emit(compiler, member.type, inner, is_first=is_first)
        return is_first
    compiler.literal(("" if is_first else ",") + json_text(key) + ":")
    if held == StringClass():
        compiler.operation(op.PLAIN_STRING, compiler.next_column())
    else:
        compiler.value(held)
    return False


def _add_shown(
    fields: list[dict[str, Any]], label: str, key: Any, held: FieldClass, unit: str
) -> None:
    if key is None:
        return
    if isinstance(key, list):
        assert isinstance(held, StructureClass)
        for inner, member in zip(key, held.members, strict=True):
            _add_shown(fields, f"{label}.{member.name}", inner, member.type, "")
        return
    shown = {"key": key, "label": label, "format": _format(held, unit), "searchable": True}
    fields.append(shown)


def _format(held: FieldClass, unit: str) -> str:
    match held:
        case IntegerClass(style=Style.HEXADECIMAL):
            return "string"
        case IntegerClass():
            return _FORMATS.get(unit, "integer")
        case FloatClass():
            return _FORMATS.get(unit, "decimal")
        case ArrayClass():
            return "list"
    return "string"


class Schemas:
    """The schemas of all classes of a trace, with names of their own."""

    def __init__(self, taken: set[str], *, own: bool) -> None:
        """Start with the names that are `taken`; in an `own` trace, data say their type, and are as they were."""
        self._taken = taken
        self._own = own

    def of(self, event_class: EventClass) -> Schema:
        """Return the schema of a class."""
        standard = len(marker_fields(event_class.kind))
        rest = event_class.fields[standard:]
        if self._own:
            # Names of functions are in the place of a stack's number, by which profilers would look it up.
            names = [f"{one.name}_" if one.name in _STACKS else one.name for one in rest]
            if len(set(names)) == len(names):
                keys: list[Any] = [*[None] * standard, *names]
                says_type = any(_is_type(field) for field in rest)
                name = "" if says_type or not rest else self._named(rest)
                return Schema(name, tuple(keys), event_class)
        taken = set(_RESERVED)
        made = [_keys(field.name, field.type, taken) for field in rest]
        name = self._named(rest) if rest else ""
        return Schema(name, (*[None] * standard, *made), event_class)

    def _named(self, fields: tuple[Field, ...]) -> str:
        """Return a name of a schema: profilers show it where they list the types of markers."""
        called = ", ".join(field.name for field in fields[:_MOST_SHOWN]) or "data"
        name, number = called, 2
        while name in self._taken:
            name, number = f"{called} {number}", number + 1
        self._taken.add(name)
        return name


def _is_type(field: Field) -> bool:
    return field.name == "type" and isinstance(field.type, StringClass)


def _keys(name: str, held: FieldClass, taken: set[str]) -> Any:
    """Return a key that is not taken, or those of the members of a structure."""
    if isinstance(held, StructureClass) and held.members:
        return [_keys(f"{name}.{member.name}", member.type, taken) for member in held.members]
    key, number = name, 2
    if key in _RESERVED:
        key = f"{name}_"
    while key in taken:
        key, number = f"{name}_{number}", number + 1
    taken.add(key)
    return key


def has_repeats(held: FieldClass) -> bool:
    """Return True if objects in values repeat the name of a member."""
    match held:
        case ArrayClass(element):
            return has_repeats(element)
        case StructureClass(members):
            names = {member.name for member in members}
            return len(names) < len(members) or any(has_repeats(one.type) for one in members)
    return False
