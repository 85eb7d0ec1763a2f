"""Fragments of the metadata of CTF 2, as JSON."""

from __future__ import annotations

import json
from typing import Any

from converter.formats.ctf.metadata.files import parse_metadata

Json = dict[str, Any]

PREAMBLE: Json = {"type": "preamble", "version": 2}
STREAM: Json = {"type": "data-stream-class"}
CLOCK: Json = {"type": "clock-class", "id": "c", "frequency": 10}
U8: Json = {
    "type": "fixed-length-unsigned-integer",
    "length": 8,
    "byte-order": "little-endian",
}
S8: Json = {**U8, "type": "fixed-length-signed-integer"}
FLAG: Json = {**U8, "type": "fixed-length-boolean"}
TEXT: Json = {"type": "null-terminated-string"}


def sequence(*fragments: Json) -> bytes:
    """A file of these fragments behind a preamble, unless they have their own."""
    if not fragments or fragments[0].get("type") != "preamble":
        fragments = (PREAMBLE, *fragments)
    return "".join(f"\x1e{json.dumps(each)}\n" for each in fragments).encode()


def structure(**members: Any) -> Json:
    """A structure of these members; names in a path are those of the members."""
    classes = [{"name": name, "field-class": held} for name, held in members.items()]
    return {"type": "structure", "member-classes": classes}


def event(**members: Any) -> Json:
    """An event record class with this payload."""
    return {"type": "event-record-class", "payload-field-class": structure(**members)}


def at(*path: str | None, origin: str | None = None) -> Json:
    """The location of a field."""
    return {"path": list(path)} | ({} if origin is None else {"origin": origin})


#: Of a field `n` beside it.
VARIANT: Json = {
    "type": "variant",
    "selector-field-location": at("n"),
    "options": [
        {"name": "a", "field-class": U8, "selector-field-ranges": [[1, 2], [5, 5]]},
        {"field-class": TEXT, "selector-field-ranges": [[3, 3]]},
    ],
}


def payload(*fragments: Json) -> dict[str, Any]:
    """The fields of the only event record, by name."""
    trace = parse_metadata(sequence(*fragments))
    (record,) = trace.streams[0].events.values()
    assert record.payload is not None
    return {member.name: member.type for member in record.payload.members}
