"""The metadata of CTF 2: a sequence of JSON objects, each after a record separator (CTF2-SPEC-2.0, 5; RFC 7464)."""

from __future__ import annotations

import json
import re
from typing import Any, Final
from uuid import UUID

from converter.formats.ctf.metadata.ctf2.fields import FieldParser
from converter.formats.ctf.metadata.ctf2.json_values import FragmentError, Json, check_roles, parsed
from converter.formats.ctf.metadata.errors import Positions
from converter.formats.ctf.metadata.field_classes import (
    FieldDeclaration,
    FieldRole,
    Scope,
    Structure,
)
from converter.formats.ctf.metadata.field_trees import roles_in
from converter.formats.ctf.metadata.trace_class import (
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)

_SPACES: Final = " \t\r\n\0"
_FRAGMENT: Final = re.compile("\x1e\\s*")
_CLOCK_ROLES: Final = {FieldRole.TIMESTAMP, FieldRole.PACKET_END_TIMESTAMP}
_KEEPS_ATTRIBUTES: Final = frozenset({"data-stream-class", "event-record-class"})
#: Properties whose objects have names that the format does not define.
_NAMING: Final = frozenset({"attributes", "environment", "mappings", "flags"})
#: The namespace under which LTTng keeps log levels and URIs of models.
TRACER: Final = "lttng.org,2009"


def parse_sequence(data: bytes) -> TraceClass:
    """Return the classes that a sequence of JSON objects declares.

    Raises:
        TraceError: the text is not such a sequence, or contradicts itself; names line and column of the object, and
            the location in it.

    """
    text = data.decode("utf-8", "surrogateescape")
    builder = _SequenceParser()
    positions = Positions(text)
    starts = [found.end() for found in _FRAGMENT.finditer(text)]
    # str.strip() would also strip the record separator.
    first = text.lstrip(_SPACES)
    if not first.startswith("\x1e"):
        starts.insert(0, len(text) - len(first))
    for number, start in enumerate(starts):
        end = text.find("\x1e", start)
        part = text[start : end if end >= 0 else len(text)].rstrip(_SPACES)
        if not part:
            continue
        try:
            fragment = parsed(part)
        except json.JSONDecodeError as error:
            raise positions.error(start + error.pos, f"no JSON: {error.msg}") from None
        except (ValueError, RecursionError):
            message = "no JSON: an integer or a nesting is too large"
            raise positions.error(start, message) from None
        try:
            builder.fragment(fragment)
        except FragmentError as error:
            raise positions.error(
                start,
                error.message,
                expected=error.expected,
                found=error.found,
                field=f"fragment {number}{error.path}",
            ) from None
    if not builder.trace.streams:
        raise positions.error(len(text), "there is no data stream class")
    return builder.trace


class _SequenceParser:
    """The trace class as declared by the fragments so far."""

    def __init__(self) -> None:
        self.trace = TraceClass(version=(2, 0))
        self._fields = FieldParser()
        self._count = 0
        self._has_trace = False
        self._kinds = {
            "preamble": self._preamble,
            "field-class-alias": self._alias,
            "trace-class": self._trace_class,
            "clock-class": self._clock_class,
            "data-stream-class": self._stream_class,
            "event-record-class": self._event_class,
        }

    def fragment(self, value: Any) -> None:
        """Process one fragment."""
        fragment = Json(value)
        kind = fragment.text("type")
        if self._count == 0 and kind != "preamble":
            raise FragmentError(".type", expected="preamble", found=kind)
        if kind not in self._kinds:
            raise FragmentError(".type", expected="a type of fragment", found=kind)
        self._count += 1
        self._kinds[kind](fragment)
        fragment.finish()
        kept = kind in _KEEPS_ATTRIBUTES
        self.trace.other_attributes += _with_attributes(value) - (
            kept and bool(fragment.value.get("attributes"))
        )

    def _preamble(self, fragment: Json) -> None:
        if self._count > 1:
            raise FragmentError("", "there are two preambles")
        version = fragment.get("version")
        if version != 2 or not isinstance(version, int):
            raise FragmentError(".version", expected="2", found=version)
        if fragment.get("uuid") is not None:
            self.trace.uuid = UUID(bytes=bytes(_bytes_of_uuid(fragment.value["uuid"])))

    def _alias(self, fragment: Json) -> None:
        name = fragment.text("name")
        if self._fields.has_alias(name):
            raise FragmentError(".name", f"field class alias {name!r} is already defined")
        self._fields.add_alias(name, fragment.get("field-class"), ".field-class")

    def _trace_class(self, fragment: Json) -> None:
        if self._has_trace:
            raise FragmentError("", "there are two trace classes")
        self._has_trace = True
        trace = self.trace
        if trace.streams:
            raise FragmentError("", "the trace class comes after a data stream class")
        trace.name = fragment.text("name", "")
        trace.uid = fragment.text("uid", "")
        trace.namespace = fragment.text("namespace", "")
        environment = fragment.get("environment")
        if environment is not None:
            held = Json(environment, ".environment").value
            for name, value in held.items():
                if not isinstance(value, str | int) or isinstance(value, bool):
                    raise FragmentError(
                        f".environment.{name}", expected="a string or an integer", found=value
                    )
            trace.environment = held
        name = "packet-header-field-class"
        trace.packet_header = self._root(fragment, name, Scope.PACKET_HEADER, {})
        if trace.uuid is None and FieldRole.METADATA_UUID in roles_in(trace.packet_header):
            raise FragmentError(f".{name}", "packets have a UUID, and the metadata have none")

    def _clock_class(self, fragment: Json) -> None:
        clocks = self.trace.clocks
        id = fragment.text("id")
        if id in clocks:
            raise FragmentError(".id", f"there are two clock classes {id!r}")
        frequency = fragment.integer("frequency", 1)
        clock = ClockClass(fragment.text("name", ""), frequency, id=id)
        clock.uid = fragment.text("uid", "")
        clock.namespace = fragment.text("namespace", "")
        clock.description = fragment.text("description", "")
        clock.precision = fragment.integer("precision", 0, None)
        clock.accuracy = fragment.integer("accuracy", 0, None)
        offset = fragment.get("offset-from-origin")
        if offset is not None:
            held = Json(offset, ".offset-from-origin")
            clock.offset_seconds = held.integer("seconds", -(1 << 63), 0)
            clock.offset_cycles = held.integer("cycles", 0, 0)
            held.finish(extensible=False)
            if clock.offset_cycles >= frequency:
                raise FragmentError(
                    ".offset-from-origin.cycles",
                    expected="less than the frequency",
                    found=clock.offset_cycles,
                )
        origin = fragment.get("origin")
        if origin == "unix-epoch":
            clock.unix_epoch = True
        elif origin is not None:
            held = Json(origin, ".origin")
            space = held.text("namespace") if "namespace" in held.value else None
            clock.origin = (space, held.text("name"), held.text("uid"))
            held.finish(extensible=False)
        clocks[id] = clock

    def _stream_class(self, fragment: Json) -> None:
        trace = self.trace
        id = fragment.integer("id", 0, 0)
        if id in trace.streams:
            raise FragmentError(".id", f"there are two data stream classes {id}")
        if trace.streams and FieldRole.STREAM_CLASS_ID not in roles_in(trace.packet_header):
            raise FragmentError("", "packets do not say of which of several classes they are")
        stream = StreamClass(id, fragment.text("name", ""))
        stream.clock = fragment.text("default-clock-class-id", "")
        if stream.clock and stream.clock not in trace.clocks:
            raise FragmentError(
                ".default-clock-class-id", f"there is no clock class {stream.clock!r}"
            )
        outer: dict[Scope, Structure | None] = {Scope.PACKET_HEADER: trace.packet_header}
        for scope, attribute, name in (
            (Scope.PACKET_CONTEXT, "packet_context", "packet-context-field-class"),
            (Scope.EVENT_HEADER, "event_header", "event-record-header-field-class"),
            (Scope.COMMON_CONTEXT, "common_context", "event-record-common-context-field-class"),
        ):
            outer[scope] = self._root(fragment, name, scope, outer)
            setattr(stream, attribute, outer[scope])
        if not stream.clock and _CLOCK_ROLES & (
            roles_in(stream.packet_context) | roles_in(stream.event_header)
        ):
            raise FragmentError("", "a data stream class with times has no default clock class")
        stream.attributes = self._attributes(fragment)
        trace.streams[id] = stream

    def _event_class(self, fragment: Json) -> None:
        trace = self.trace
        of_stream = fragment.integer("data-stream-class-id", 0, 0)
        stream = trace.streams.get(of_stream)
        if stream is None:
            raise FragmentError(
                ".data-stream-class-id", f"there is no data stream class {of_stream}"
            )
        event = EventRecordClass(fragment.integer("id", 0, 0), fragment.text("name", ""))
        if event.id in stream.events:
            raise FragmentError(".id", f"there are two event record classes {event.id}")
        if stream.events and FieldRole.EVENT_CLASS_ID not in roles_in(stream.event_header):
            raise FragmentError("", "records do not say of which of several classes they are")
        outer = {
            Scope.PACKET_HEADER: trace.packet_header,
            Scope.PACKET_CONTEXT: stream.packet_context,
            Scope.EVENT_HEADER: stream.event_header,
            Scope.COMMON_CONTEXT: stream.common_context,
        }
        name = "specific-context-field-class"
        event.specific_context = self._root(fragment, name, Scope.SPECIFIC_CONTEXT, outer)
        outer[Scope.SPECIFIC_CONTEXT] = event.specific_context
        event.payload = self._root(fragment, "payload-field-class", Scope.PAYLOAD, outer)
        event.attributes = self._attributes(fragment)
        self._take_tracer_attributes(event)
        stream.events[event.id] = event

    def _attributes(self, fragment: Json) -> dict[str, Any]:
        """Return the naming, attributes and extensions of a class, unchanged."""
        naming = {name: fragment.text(name, "") for name in ("namespace", "uid")}
        kept = {name: text for name, text in naming.items() if name in fragment.value}
        return kept | {
            name: fragment.get(name)
            for name in ("attributes", "extensions")
            if fragment.get(name) is not None
        }

    def _take_tracer_attributes(self, event: EventRecordClass) -> None:
        """Move log level and model URI from the attributes to the event class; others stay attributes."""
        given = event.attributes.get("attributes")
        if not isinstance(given, dict):
            return
        kept = dict(given)
        held = given.get(TRACER)
        if not isinstance(held, dict):
            return
        rest = dict(held)
        level = rest.pop("log-level", None)
        if isinstance(level, str | int) and not isinstance(level, bool):
            event.log_level = level
        elif level is not None:
            rest["log-level"] = level
        uri = rest.pop("emf-uri", None)
        if isinstance(uri, str):
            event.model_uri = uri
        elif uri is not None:
            rest["emf-uri"] = uri
        kept[TRACER] = rest
        if not rest:
            del kept[TRACER]
        event.attributes["attributes"] = kept
        if not kept:
            del event.attributes["attributes"]

    def _root(
        self, fragment: Json, name: str, scope: Scope, outer: dict[Scope, Structure | None]
    ) -> Structure | None:
        value = fragment.get(name)
        if value is None:
            return None
        declared: FieldDeclaration = self._fields.root(value, f".{name}", scope, outer)
        if not isinstance(declared, Structure):
            raise FragmentError(f".{name}", expected="a structure")
        check_roles(declared, scope, f".{name}")
        return declared


def _with_attributes(value: Any) -> int:
    """Return the number of objects with attributes."""
    if isinstance(value, list):
        return sum(map(_with_attributes, value))
    if not isinstance(value, dict):
        return 0
    inside = (held for name, held in value.items() if name not in _NAMING)
    return bool(value.get("attributes")) + sum(map(_with_attributes, inside))


def _bytes_of_uuid(value: Any) -> list[int]:
    valid = (
        isinstance(value, list)
        and len(value) == 16
        and all(type(one) is int and 0 <= one <= 255 for one in value)
    )
    if not valid:
        raise FragmentError(".uuid", expected="16 bytes", found=value)
    return [int(one) for one in value]
