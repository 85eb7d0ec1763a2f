"""Clauses of the specifications that a trace's classes break, which keeps readers from opening it.

Besides the clauses, these check the limits of Babeltrace, the usual reader of CTF: 2.0.4 and 2.1.2 for CTF 1.8,
2.1.2 for CTF 2. What traceconv writes keeps to both; what it reads need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedFloat,
    Location,
    Optional,
    Scope,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.field_trees import fields_in, roles_in
from converter.formats.ctf.metadata.trace_class import StreamClass, TraceClass

#: The root structures that a field can refer to, by scope.
_Roots = dict[Scope, Structure | None]

_TIMES: Final = frozenset({FieldRole.TIMESTAMP, FieldRole.PACKET_END_TIMESTAMP})


def broken_clauses(trace: TraceClass) -> list[str]:
    """Return the clauses that a trace breaks, as short sentences; its version decides between CTF 1.8 and CTF 2."""
    return list(dict.fromkeys(_in_trace(trace)))


def _in_trace(trace: TraceClass) -> Iterator[str]:
    header = roles_in(trace.packet_header)
    plain = trace.version[0] == 1
    if not trace.streams:
        yield "there is a data stream class (CTF2-SPEC-2.0, data stream class fragment)"
    if FieldRole.STREAM_CLASS_ID not in header:
        if len(trace.streams) > 1:
            yield "packets say of which of several stream classes they are (CTF 1.8.3, 5.1)"
        elif 0 not in trace.streams:
            yield "the stream class of packets that say none has the id 0 (CTF2-SPEC-2.0, data stream class fragment)"
    if not plain and trace.uuid is None and FieldRole.METADATA_UUID in header:
        yield "packets have the UUID of the metadata if these have one (CTF2-SPEC-2.0, preamble fragment)"
    roots: _Roots = {Scope.PACKET_HEADER: trace.packet_header}
    yield from _in_fields(roots, Scope.PACKET_HEADER, plain=plain)
    for clock in trace.clocks.values():
        if not clock.offset_cycles >= 0 or (not plain and clock.offset_cycles >= clock.frequency):
            yield "a clock's offset has less cycles than a second (CTF2-SPEC-2.0, clock class fragment)"
    for stream in trace.streams.values():
        yield from _in_stream(stream, roots, plain=plain)


def _in_stream(stream: StreamClass, outer: _Roots, *, plain: bool) -> Iterator[str]:
    context, header = roles_in(stream.packet_context), roles_in(stream.event_header)
    times = _TIMES & (context | header)
    if times and not stream.clock and not plain:
        yield "a stream class with times has a default clock class (CTF2-SPEC-2.0, data stream class fragment)"
    if stream.clock and times and FieldRole.TIMESTAMP not in context:
        yield "packets say the time of their beginning if records say theirs (Babeltrace 2.1.2)"
    if stream.clock and not times and not plain:
        yield "a stream class with a default clock class has times (Babeltrace 2.1.2)"
    if FieldRole.EVENT_CLASS_ID not in header and len(stream.events) > 1:
        yield "records say of which of several classes they are (CTF 1.8.3, 6.1)"
    roots = {
        **outer,
        Scope.PACKET_CONTEXT: stream.packet_context,
        Scope.EVENT_HEADER: stream.event_header,
        Scope.COMMON_CONTEXT: stream.common_context,
    }
    for scope in (Scope.PACKET_CONTEXT, Scope.EVENT_HEADER, Scope.COMMON_CONTEXT):
        yield from _in_fields(roots, scope, plain=plain)
    for event in stream.events.values():
        roots[Scope.SPECIFIC_CONTEXT], roots[Scope.PAYLOAD] = event.specific_context, event.payload
        yield from _in_fields(roots, Scope.SPECIFIC_CONTEXT, plain=plain)
        yield from _in_fields(roots, Scope.PAYLOAD, plain=plain)


def _in_fields(roots: _Roots, scope: Scope, *, plain: bool) -> Iterator[str]:
    root = roots[scope]
    for declared in fields_in(root):
        match declared:
            case FixedBits(length) if length > 64:
                yield "integers have at most 64 bits (Babeltrace)"
            case FixedFloat(length) if length not in (32, 64):
                yield "floating-point numbers have 32 or 64 bits (Babeltrace)"
            case Variant(_, options):
                if not all(option.ranges for option in options):
                    yield "every option of a variant has a label (CTF 1.8.3, 4.2.2)"
                spans = sorted(span for option in options for span in option.ranges)
                if any(before.high >= span.low for before, span in pairwise(spans)):
                    yield "a value selects one option of a variant (CTF2-SPEC-2.0, variant field class)"
            case Blob(0):
                yield "bytes of a fixed length are not none (Babeltrace 2.1.2)"
            case Structure(members) if plain:
                names = [(member.declared or member.name) for member in members]
                shown: set[str] = set()
                for name in names:
                    if name in shown or name.removeprefix("_") in shown:
                        yield "names differ by more than an underscore before them (Babeltrace)"
                    shown.add(name.removeprefix("_"))
            case _:
                pass
    for path, location, selects in _references(root, ()) if plain else ():
        of_same = location.scope is scope
        if of_same and scope is Scope.SPECIFIC_CONTEXT:
            yield "no field of a record's own context depends on another one of it (Babeltrace)"
        around = location.path[:-1]
        if selects and not (of_same and around == path[: len(around)]):
            yield "a selector is in a structure around its variant (Babeltrace)"
        if _through_variant(roots.get(location.scope), location.path, path if of_same else ()):
            yield "no length or selector is in a variant that ended (Babeltrace)"


def _references(
    declared: FieldDeclaration | None, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Location, bool]]:
    """Yield the lengths and selectors (True) in a field, each with the path of the field that depends on it."""
    match declared:
        case Structure(members):
            for member in members:
                yield from _references(member.type, (*path, member.name))
        case Array(element, length):
            if isinstance(length, Location):
                yield path, length, False
            yield from _references(element, path)
        case Text(length) | Blob(length):
            if isinstance(length, Location):
                yield path, length, False
        case Variant(selector, options):
            yield path, selector, True
            for option in options:
                yield from _references(option.type, path)
        case Optional(selector, element):
            yield path, selector, True
            yield from _references(element, path)


def _through_variant(
    root: Structure | None, names: tuple[str, ...], dependent: tuple[str, ...]
) -> bool:
    """Return True if a path leads through a variant that does not contain `dependent`."""
    found: FieldDeclaration | None = root
    for number, name in enumerate(names):
        while isinstance(found, Array | Optional):
            found = found.element
        if isinstance(found, Variant):
            return names[:number] != dependent[:number]
        if not isinstance(found, Structure):
            return False
        found = next((one.type for one in found.members if one.name == name), None)
    return False
