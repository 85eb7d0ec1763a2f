"""Declarations of markers: the events of metadata channels, which say what ids and payloads of all others are."""

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
#: Core markers of version 1.0 that only keep the time; they are in every channel.
HEARTBEAT_32: Final = 2
HEARTBEAT_64: Final = 3

#: Names of the core markers, in the order of their ids: of version 1.0, those before 2.3, and since.
_OLDEST_NAMES: Final = ("set_marker_id", "set_marker_format", "heartbeat_32", "heartbeat_64")
_OLD_NAMES: Final = _OLDEST_NAMES[:2]
_NAMES: Final = ("core_marker_id", "core_marker_format")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration as it was recorded: of an id (`format` is None), or of a format."""

    ts: int
    cpu: int
    channel: str
    name: str
    id: int = 0
    sizes: TypeSizes = field(default_factory=TypeSizes)
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker of a channel, as all its declarations together have it. `fields` is None where its format is missing."""

    channel: str
    name: str
    id: int
    sizes: TypeSizes
    format: str | None
    fields: tuple[MarkerField, ...] | None


def core_markers(version: Version, sizes: TypeSizes) -> tuple[Marker, ...]:
    """The core markers, in the order of their ids; their channel is left open."""
    names: tuple[str, ...] = _NAMES if version.per_channel else _OLD_NAMES
    if version.major == 1:
        names = _OLDEST_NAMES
    return tuple(
        Marker("", name, id, sizes, core_format(name), parse_format(core_format(name), sizes))
        for id, name in enumerate(names)
    )


def declaration_of(id: int, values: Mapping[str, Any], ts: int, cpu: int) -> Declaration | None:
    """The declaration in an event of a core marker, by the names of its fields; None where it is none."""
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
    """Whether C types can have these sizes."""
    known = (1, 2, 4, 8)
    aligned = sizes.alignment == 0 or sizes.alignment in (1, 2, 4, 8, 16)
    return aligned and all(
        size in known for size in (sizes.integer, sizes.long, sizes.pointer, sizes.size_t)
    )


def build_declaration(
    declaration: Declaration, version: Version, *, big_endian: bool, alignment: int
) -> bytes:
    """The payload of the core marker for a declaration."""
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
    """The markers that the declarations make; the last of an id and of a format counts.

    Raises:
        TraceError: they have too many fields in all.

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
    """Few bytes can declare many ids of a marker with many fields: what no machine has memory for is no trace."""
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
