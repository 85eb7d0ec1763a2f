"""Prints classes as the metadata of CTF 2: the counterpart of `parser.parse_sequence`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from converter.errors import UnsupportedError
from converter.formats.ctf.metadata.ctf2.field_locations import ORIGINS
from converter.formats.ctf.metadata.ctf2.json_values import NATURAL_BIT_ORDERS
from converter.formats.ctf.metadata.ctf2.parser import TRACER
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    ByteOrder,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedBoolean,
    FixedFloat,
    FixedInteger,
    Location,
    Mapping,
    Optional,
    Range,
    Structure,
    Text,
    VariableInteger,
    Variant,
)
from converter.formats.ctf.metadata.trace_class import (
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)

_ORIGIN_NAMES: Final = {scope: name for name, scope in ORIGINS.items()}
_SIGNS: Final = {False: "unsigned", True: "signed"}


def print_sequence(trace: TraceClass) -> bytes:
    """Return the sequence of JSON objects that declares a trace.

    Raises:
        UnsupportedError: CTF 2 cannot express a part of it.

    """
    fragments: list[dict[str, Any]] = [{"type": "preamble", "version": 2}]
    if trace.uuid is not None:
        fragments[0]["uuid"] = list(trace.uuid.bytes)
    fragments.append(
        _present(
            type="trace-class",
            namespace=trace.namespace,
            name=trace.name,
            uid=trace.uid,
            environment=trace.environment,
            packet_header_field_class=_root(trace.packet_header),
        )
    )
    fragments += [_clock(id, clock) for id, clock in trace.clocks.items()]
    for stream in trace.streams.values():
        fragments.append(_stream(stream))
        fragments += [_event(stream, event) for event in stream.events.values()]
    texts = (json.dumps(fragment, separators=(",", ":")) for fragment in fragments)
    return b"".join(b"\x1e" + text.encode("ascii") + b"\n" for text in texts)


def _present(**properties: Any) -> dict[str, Any]:
    """Return the properties that have a value, under CTF's names."""
    return {
        name.replace("_", "-"): value
        for name, value in properties.items()
        if value is not None and value not in ("", {})
    }


def _clock(id: str, clock: ClockClass) -> dict[str, Any]:
    seconds = clock.offset_seconds + clock.offset_cycles // clock.frequency
    origin: Any = None
    if clock.origin is not None:
        namespace, name, uid = clock.origin
        origin = _present(namespace=namespace) | {"name": name, "uid": uid}
    elif clock.unix_epoch:
        origin = "unix-epoch"
    return _present(
        type="clock-class",
        id=id,
        namespace=clock.namespace,
        name=clock.name,
        frequency=clock.frequency,
        uid=clock.uid,
        description=clock.description,
        origin=origin,
        offset_from_origin={"seconds": seconds, "cycles": clock.offset_cycles % clock.frequency},
        precision=clock.precision,
        accuracy=clock.accuracy,
    )


def _stream(stream: StreamClass) -> dict[str, Any]:
    return {
        **_present(
            type="data-stream-class",
            id=stream.id,
            name=stream.name,
            default_clock_class_id=stream.clock,
            packet_context_field_class=_root(stream.packet_context),
            event_record_header_field_class=_root(stream.event_header),
            event_record_common_context_field_class=_root(stream.common_context),
        ),
        **stream.attributes,
    }


def _event(stream: StreamClass, event: EventRecordClass) -> dict[str, Any]:
    result = _present(
        type="event-record-class",
        id=event.id,
        data_stream_class_id=stream.id,
        name=event.name,
        specific_context_field_class=_root(event.specific_context),
        payload_field_class=_root(event.payload),
    )
    result.update(event.attributes)
    of_tracer = _present(log_level=event.log_level, emf_uri=event.model_uri)
    if of_tracer:
        attributes = dict(result.get("attributes", {}))
        attributes[TRACER] = {**attributes.get(TRACER, {}), **of_tracer}
        result["attributes"] = attributes
    return result


def _root(structure: Structure | None) -> dict[str, Any] | None:
    return None if structure is None else _field(structure)


def _field(declared: FieldDeclaration) -> dict[str, Any]:
    match declared:
        case FixedInteger(length, signed):
            return {
                "type": f"fixed-length-{_SIGNS[signed]}-integer",
                "length": length,
                **_bit_layout(declared.byte_order, declared.alignment, declared.reversed_bits),
                **_shown(declared.base, declared.mappings, declared.roles),
            }
        case FixedBits(length, order, alignment, flags, reversed_bits):
            bits = {"length": length, **_bit_layout(order, alignment, reversed_bits)}
            if flags:
                return {"type": "fixed-length-bit-map", **bits, "flags": _ranges_by_name(flags)}
            return {"type": "fixed-length-bit-array", **bits}
        case FixedBoolean(length, order, alignment, reversed_bits):
            layout = _bit_layout(order, alignment, reversed_bits)
            return {"type": "fixed-length-boolean", "length": length, **layout}
        case FixedFloat(length, order, alignment, reversed_bits):
            layout = _bit_layout(order, alignment, reversed_bits)
            return {"type": "fixed-length-floating-point-number", "length": length, **layout}
        case VariableInteger(signed, base, mappings, roles):
            kind = f"variable-length-{_SIGNS[signed]}-integer"
            return {"type": kind, **_shown(base, mappings, roles)}
        case Text(length, encoding):
            if encoding == "ascii":
                raise UnsupportedError("CTF 2 does not have ASCII", format="ctf", field="metadata")
            if length is None:
                return {"type": "null-terminated-string", "encoding": encoding}
            return {**_sized("string", length), "encoding": encoding}
        case Blob(length, media_type, roles):
            return {
                **_sized("blob", length),
                "media-type": media_type,
                **_shown(10, (), roles),
            }
        case Array(element, length, alignment):
            return {
                **_sized("array", length),
                "element-field-class": _field(element),
                **_minimum(alignment),
            }
        case Structure(members, alignment):
            listed = [{"name": one.name, "field-class": _field(one.type)} for one in members]
            return {"type": "structure", "member-classes": listed, **_minimum(alignment)}
        case Variant(selector, options):
            return {
                "type": "variant",
                "selector-field-location": _location(selector),
                "options": [
                    {
                        **({"name": option.name} if option.name else {}),
                        "selector-field-ranges": _ranges(option.ranges),
                        "field-class": _field(option.type),
                    }
                    for option in options
                ],
            }
        case Optional(selector, element, ranges):
            return {
                "type": "optional",
                "selector-field-location": _location(selector),
                **({} if ranges is None else {"selector-field-ranges": _ranges(ranges)}),
                "field-class": _field(element),
            }


def _bit_layout(order: ByteOrder, alignment: int, reversed_bits: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"byte-order": f"{order}-endian"}
    if reversed_bits:
        result["bit-order"] = NATURAL_BIT_ORDERS["big" if order == "little" else "little"]
    return {**result, "alignment": alignment}


def _shown(base: int, mappings: tuple[Mapping, ...], roles: frozenset[FieldRole]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if base != 10:
        result["preferred-display-base"] = base
    if mappings:
        result["mappings"] = _ranges_by_name(mappings)
    if roles:
        result["roles"] = sorted(roles)
    return result


def _sized(kind: str, length: int | Location) -> dict[str, Any]:
    if isinstance(length, int):
        return {"type": f"static-length-{kind}", "length": length}
    return {"type": f"dynamic-length-{kind}", "length-field-location": _location(length)}


def _minimum(alignment: int) -> dict[str, Any]:
    return {"minimum-alignment": alignment} if alignment > 1 else {}


def _location(location: Location) -> dict[str, Any]:
    return {"origin": _ORIGIN_NAMES[location.scope], "path": list(location.path)}


def _ranges(ranges: Iterable[Range]) -> list[list[int]]:
    return [[low, high] for low, high in ranges]


def _ranges_by_name(mappings: tuple[Mapping, ...]) -> dict[str, list[list[int]]]:
    return {mapping.name: _ranges(mapping.ranges) for mapping in mappings}
