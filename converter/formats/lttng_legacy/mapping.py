"""The meaning of markers: event kinds and roles of their fields (``schemas/lttng_legacy/markers.json``).

A marker is identified by its channel and name; before version 2.3 by its name alone, which then starts with what became
the channel. In traces that traceconv converted from other formats (see `recording.TABLES_NAME`) all markers are in one
channel, so that events at the same time keep their order; there the name includes the category.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from converter.formats.lttng_legacy.layout import Version
from converter.formats.lttng_legacy.marker_formats import MarkerField, TypeSizes, parse_format
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import BytesClass, FieldClass, IntegerClass, Label, StringClass
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.projection.domain.lost_events import COUNT
from converter.projection.domain.scheduling.sched_conventions import argument_role

#: The channel of kernel events, and of all events in converted traces.
KERNEL: Final = "kernel"
#: The channel of markers that no kernel has: they occur only in converted traces.
TIMELINE: Final = "timeline"

SCHEDULING: Final = frozenset({Kind.SCHED_SWITCH, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW})

#: The type sizes of converted traces.
OWN_SIZES: Final = TypeSizes()
#: The last fields of events in such traces.
CONTEXT: Final = (Field("_pid", IntegerClass(32, True)), Field("_tid", IntegerClass(32, True)))

#: Roles of text fields; all other roles of markers' fields are integers.
TEXT_ROLES: Final = frozenset({Role.NAME, Role.CATEGORY, Role.MESSAGE, Role.FILENAME})

CORRUPT: Final = Field("subbuf_corrupt", IntegerClass(32))
#: Events that are only counted in a block's header (2.2 and later). If only corrupt sub-buffers are counted, the number
#: of their events is unknown: -1.
DISCARDED: Final = EventClass(Kind.DISCARDED, fields=(COUNT, CORRUPT))
#: The largest count.
MOST_LOST: Final = (1 << 32) - 1
#: Records of undeclared markers.
NATIVE: Final = EventClass(
    Kind.NATIVE,
    fields=(
        Field("id", IntegerClass(16), Role.TYPE),
        Field("payload", BytesClass(), Role.PAYLOAD),
    ),
)

_NUMBERED: Final = re.compile(r"~\d+")


@dataclass(frozen=True, slots=True)
class MarkerMeaning:
    """A marker of the schema."""

    kind: Kind
    channel: str
    name: str
    old_name: str
    format: str
    roles: dict[str, Role] = field(default_factory=dict)
    #: A field that is derived from earlier events; in converted traces it is stored like the others.
    derived: Field | None = None
    #: The name of the slice that it begins or ends.
    slice: str = ""
    #: The field with a number that the state dump names.
    named_by: str = ""
    written: bool = True

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of events that traceconv writes as this marker."""
        own = tuple(
            Field(one.name, one.field_class, self.roles.get(one.name, Role.NONE))
            for one in parse_format(self.format, OWN_SIZES)
        )
        return own if self.derived is None else (*own, self.derived)


@dataclass(frozen=True, slots=True)
class NumberNames:
    """The state dump's names for numbers in events: labels of their fields, or names of the slices that they begin."""

    syscalls: tuple[Label, ...] = ()
    softirqs: tuple[Label, ...] = ()
    irqs: Mapping[int, str] = field(default_factory=dict)
    traps: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def from_names(
        cls,
        syscalls: Mapping[int, str],
        softirqs: Mapping[int, str],
        irqs: Mapping[int, str],
        traps: Mapping[int, str],
    ) -> NumberNames:
        """Return an object with these names."""
        return cls(_labels(syscalls), _labels(softirqs), irqs, traps)

    def labels(self, role: Role) -> tuple[Label, ...]:
        """Return the labels of fields with this role."""
        if role is Role.SYSCALL_NUMBER:
            return self.syscalls
        return self.softirqs if role is Role.VECTOR else ()


def _labels(names: Mapping[int, str]) -> tuple[Label, ...]:
    return tuple(Label(number, number, names[number]) for number in sorted(names))


@dataclass(frozen=True, slots=True)
class NumberName:
    """The name of a number in a field; an unnamed number is called `other`, or keeps its value."""

    field: int
    names: Mapping[int, str]
    other: str

    def name(self, number: int) -> str:
        """Return the name of a number."""
        return self.names.get(number) or self.other or str(number)


@dataclass(frozen=True, slots=True)
class MarkerClass:
    """A marker's event class, and the source of each of its fields.

    A source is the index of a field of the payload, a text that is the same in all events, None for a field derived
    from earlier events, or the name of a number.
    """

    event_class: EventClass
    sources: tuple[int | bytes | None, ...]
    named: NumberName | None = None


@cache
def _schema() -> dict[str, Any]:
    text = pkgutil.get_data("converter.schemas", "lttng_legacy/markers.json")
    assert text is not None
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def core_format(name: str) -> str:
    """Return the format of a core marker."""
    text: str = _schema()["core"][name]["format"]
    return text


@cache
def meanings() -> tuple[MarkerMeaning, ...]:
    """Return all markers of the schema."""
    found = []
    for entry in _schema()["markers"]:
        derived = entry.get("derived")
        found.append(
            MarkerMeaning(
                kind=Kind[entry["kind"]],
                channel=entry["channel"],
                name=entry["name"],
                old_name=entry.get("old_name", ""),
                format=entry.get("format", ""),
                roles={name: Role[role] for name, role in entry.get("roles", {}).items()},
                derived=None
                if derived is None
                else Field(
                    derived["name"],
                    IntegerClass(derived["bits"], derived["signed"]),
                    Role[derived["role"]],
                ),
                slice=entry.get("slice", ""),
                named_by=entry.get("named_by", ""),
                written=entry.get("written", True),
            )
        )
    return tuple(found)


@cache
def _field_labels() -> dict[str, dict[str, tuple[Label, ...]]]:
    """Return the labels of markers' fields, which are the same in all traces."""
    return {
        marker: {name: _labels(dict(enumerate(texts))) for name, texts in fields.items()}
        for marker, fields in _schema()["labels"].items()
    }


@cache
def _by_name() -> dict[tuple[str, str], MarkerMeaning]:
    return {(one.channel, one.name): one for one in meanings()}


@cache
def _by_old_name() -> dict[str, MarkerMeaning]:
    return {one.old_name: one for one in meanings() if one.old_name}


@cache
def written_meanings() -> dict[Kind, MarkerMeaning]:
    """Return the marker as which events of each kind are written."""
    return {one.kind: one for one in meanings() if one.written}


def meaning_of(channel: str, name: str, version: Version) -> MarkerMeaning | None:
    """Return the meaning of a kernel's marker, None if it is unknown."""
    if not version.per_channel:
        return _by_old_name().get(name)
    return None if channel == TIMELINE else _by_name().get((channel, name))


# Classes of a kernel's markers


def kernel_class(
    channel: str,
    name: str,
    fields: Sequence[MarkerField],
    format: str,
    version: Version,
    names: NumberNames,
) -> MarkerClass:
    """Return the class of a marker of a kernel's trace; `names` are the known names of numbers."""
    native = format.encode("utf-8", "surrogateescape")
    meaning = meaning_of(channel, name, version)
    labels = _field_labels().get(name.removeprefix("list_"), {})
    plain = tuple(
        _with_labels(Field(one.name, one.field_class), labels.get(one.name, ())) for one in fields
    )
    sources: tuple[int | bytes | None, ...] = tuple(range(len(fields)))
    if meaning is None:
        return MarkerClass(EventClass(Kind.TYPED, name, channel, plain, native=native), sources)
    if meaning.slice:
        return _slice_class(channel, plain, native, meaning, names)
    typed = tuple(_with_role(one, meaning, names) for one in plain)
    if meaning.derived is not None and all(one.role is not meaning.derived.role for one in typed):
        typed = (*typed, _labelled(meaning.derived, names))
        sources = (*sources, None)
    named = _named(meaning, plain, names.irqs, "")
    if named is not None:
        typed = (*typed, Field("name", StringClass(), Role.NAME))
        sources = (*sources, None)
    roles = {one.role for one in typed}
    if not REQUIRED_ROLES.get(meaning.kind, frozenset()) <= roles:
        return MarkerClass(
            EventClass(Kind.TYPED, name, channel, plain, native=native), tuple(range(len(fields)))
        )
    return MarkerClass(
        EventClass(meaning.kind, name, channel, typed, native=native), sources, named
    )


def _slice_class(
    channel: str,
    plain: tuple[Field, ...],
    native: bytes,
    meaning: MarkerMeaning,
    names: NumberNames,
) -> MarkerClass:
    """Return the class of a marker that begins or ends a slice."""
    leading = (
        Field("name", StringClass(), Role.NAME),
        Field("category", StringClass(), Role.CATEGORY),
    )
    named = _named(meaning, (*leading, *plain), names.traps, meaning.slice)
    return MarkerClass(
        EventClass(meaning.kind, fields=(*leading, *plain), native=native),
        (
            meaning.slice.encode() if named is None else None,
            channel.encode("utf-8", "surrogateescape"),
            *range(len(plain)),
        ),
        named,
    )


def _named(
    meaning: MarkerMeaning, fields: Sequence[Field], names: Mapping[int, str], other: str
) -> NumberName | None:
    """Return the name of the number that identifies the slice a marker begins, if the state dump has names."""
    if not names:
        return None
    return next(
        (
            NumberName(index, names, other)
            for index, one in enumerate(fields)
            if one.name == meaning.named_by and isinstance(one.type, IntegerClass)
        ),
        None,
    )


def _with_role(field: Field, meaning: MarkerMeaning, names: NumberNames) -> Field:
    role = meaning.roles.get(field.name, Role.NONE)
    if role is Role.NONE or not _suits(field.type, role):
        return field
    return _labelled(Field(field.name, field.type, role), names)


def _suits(held: FieldClass, role: Role) -> bool:
    return isinstance(held, StringClass if role in TEXT_ROLES else IntegerClass)


def _labelled(field: Field, names: NumberNames) -> Field:
    return _with_labels(field, names.labels(field.role))


def _with_labels(field: Field, labels: tuple[Label, ...]) -> Field:
    if not labels or not isinstance(field.type, IntegerClass):
        return field
    limit = 1 << (field.type.bits - field.type.signed)
    known = tuple(label for label in labels if label.low < limit)
    named = IntegerClass(field.type.bits, field.type.signed, field.type.style, known)
    return Field(field.name, named, field.role)


# Classes of converted traces


def own_marker_name(event_class: EventClass, version: Version, number: int) -> str:
    """Return the name of the marker for a class; `number` distinguishes classes of the same name."""
    meaning = written_meanings().get(event_class.kind)
    if meaning is None:
        category, name = event_class.category, event_class.name
    else:
        category, name = meaning.channel, meaning.name
    if not version.per_channel and meaning is not None and meaning.old_name:
        text = meaning.old_name
    elif version.per_channel and category == KERNEL:
        text = name
    else:
        text = f"{category}.{name}"
    return f"{text}~{number}" if number else text


def own_class(name: str, fields: Sequence[MarkerField], version: Version) -> MarkerClass:
    """Return the class of a marker in a converted trace, without the context at its end."""
    text, _, number = name.rpartition("~")
    if text and _NUMBERED.fullmatch(f"~{number}"):
        name = text
    category, dot, rest = name.partition(".")
    meaning: MarkerMeaning | None
    if dot:
        meaning = _by_name().get((category, rest))
    elif version.per_channel:
        category, rest = KERNEL, name
        meaning = _by_name().get((KERNEL, name))
    else:
        meaning = _by_old_name().get(name)
        category, rest = (meaning.channel, meaning.name) if meaning else (KERNEL, name)
    sources = tuple(range(len(fields)))
    plain = tuple(Field(one.name, one.field_class) for one in fields)
    if meaning is None or not meaning.written:
        return MarkerClass(EventClass(Kind.TYPED, rest, category, plain), sources)
    own = meaning.fields
    if plain[: len(own)] != tuple(Field(one.name, one.type) for one in own):
        return MarkerClass(EventClass(Kind.TYPED, rest, category, plain), sources)
    arguments = tuple(argument_field(meaning.kind, one) for one in plain[len(own) :])
    if meaning.channel == TIMELINE:
        category = rest = ""
    return MarkerClass(EventClass(meaning.kind, rest, category, (*own, *arguments)), sources)


def argument_field(kind: Kind, field: Field) -> Field:
    """Return an argument of an event of this kind, with the role for its name and type."""
    role = Role.NONE
    if kind in SCHEDULING:
        role = argument_role(field)
    elif kind is Kind.COUNTER and isinstance(field.type, IntegerClass):
        role = Role.VALUE
    elif kind is Kind.IRQ_ENTRY and (field.name, field.type) == ("name", StringClass()):
        role = Role.NAME
    return Field(field.name, field.type, role)
