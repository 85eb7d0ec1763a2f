"""Declarations of markers: the events of metadata channels, with the IDs and the payloads of all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from converter.errors import TraceError
from converter.formats.lttng_legacy.layout import Version
from converter.formats.lttng_legacy.mapping import core_format
from converter.formats.lttng_legacy.marker_formats import MarkerField, TypeSizes, parse_format
from converter.limits import allowed, limit

SET_MARKER_ID: Final = 0
SET_MARKER_FORMAT: Final = 1
#: Core markers of version 1.0 that only carry the time; they are in every channel.
HEARTBEAT_32: Final = 2
HEARTBEAT_64: Final = 3

#: Names of the core markers, in the order of their IDs: those of version 1.0, those before 2.3, and the later ones.
_OLDEST_NAMES: Final = ("set_marker_id", "set_marker_format", "heartbeat_32", "heartbeat_64")
_OLD_NAMES: Final = _OLDEST_NAMES[:2]
_NAMES: Final = ("core_marker_id", "core_marker_format")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration as recorded: of an ID (`format` is None), or of a format."""

    ts: int
    cpu: int
    channel: str
    name: str
    id: int = 0
    sizes: TypeSizes = field(default_factory=TypeSizes)
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker of a channel, combined from all its declarations. `fields` is None if its format is missing."""

    channel: str
    name: str
    id: int
    sizes: TypeSizes
    format: str | None
    fields: tuple[MarkerField, ...] | None


def core_markers(version: Version, sizes: TypeSizes) -> tuple[Marker, ...]:
    """Return the core markers, in the order of their IDs; their channel is left empty."""
    names: tuple[str, ...] = _NAMES if version.per_channel else _OLD_NAMES
    if version.major == 1:
        names = _OLDEST_NAMES
    return tuple(
        Marker("", name, id, sizes, core_format(name), parse_format(core_format(name), sizes))
        for id, name in enumerate(names)
    )


def declaration_of(id: int, values: Mapping[str, Any], ts: int, cpu: int) -> Declaration | None:
    """Return the declaration in an event of a core marker, by the names of its fields; None if it is not one."""
    channel, name = _text(values.get("channel", b"")), _text(values.get("name", b""))
    if id == SET_MARKER_FORMAT:
        return Declaration(ts, cpu, channel, name, format=_text(values["format"]))
    if id != SET_MARKER_ID:
        return None
    sizes = TypeSizes(*(values[part] for part in ("int", "long", "pointer", "size_t", "alignment")))
    if not are_sizes(sizes):
        return None
    return Declaration(ts, cpu, channel, name, values.get("event_id", values.get("id")), sizes)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def are_sizes(sizes: TypeSizes) -> bool:
    """Return True if these are valid sizes of C types."""
    known = (1, 2, 4, 8)
    aligned = sizes.alignment == 0 or sizes.alignment in (1, 2, 4, 8, 16)
    return aligned and all(
        size in known for size in (sizes.integer, sizes.long, sizes.pointer, sizes.size_t)
    )


def build_declaration(
    declaration: Declaration, version: Version, *, big_endian: bool, alignment: int
) -> bytes:
    """Return the payload of the core marker for a declaration."""
    texts = [declaration.channel] if version.per_channel else []
    texts.append(declaration.name)
    if declaration.format is not None:
        texts.append(declaration.format)
    payload = b"".join(text.encode("utf-8", "surrogateescape") + b"\0" for text in texts)
    if declaration.format is not None:
        return payload
    if alignment > 1:
        payload += bytes(-len(payload) % 2)
    sizes = declaration.sizes
    return (
        payload
        + declaration.id.to_bytes(2, "big" if big_endian else "little")
        + bytes((sizes.integer, sizes.long, sizes.pointer, sizes.size_t, sizes.alignment))
    )


def markers(declarations: Iterable[Declaration], version: Version) -> Iterator[Marker]:
    """Yield the markers that the declarations define; the last declaration of an ID and of a format wins.

    Raises:
        TraceError: they have too many fields in total.

    """
    formats: dict[tuple[str, str], str] = {}
    ids: dict[tuple[str, int], Declaration] = {}
    for one in declarations:
        if one.format is not None:
            formats[one.channel, one.name] = one.format
        else:
            ids[one.channel, one.id] = one
    left = limit("lttng_legacy.fields")
    for one in ids.values():
        marker = _marker(one, formats, version)
        left -= 1 + len(marker.fields or ())
        if left < 0:
            raise too_many_fields()
        yield marker


def too_many_fields() -> TraceError:
    """Return the error for declarations of too many fields: a few bytes can declare more than any machine has memory
    for.
    """
    expected = f"{allowed('lttng_legacy.fields')} in all"
    return TraceError(field="markers", expected=expected, found="more")


def _marker(
    declared: Declaration, formats: Mapping[tuple[str, str], str], version: Version
) -> Marker:
    format = formats.get((declared.channel, declared.name))
    fields = None
    if format is not None:
        try:
            fields = parse_format(format, declared.sizes, ignores_eight=version.major == 1)
        except ValueError:
            format = None
    return Marker(declared.channel, declared.name, declared.id, declared.sizes, format, fields)
