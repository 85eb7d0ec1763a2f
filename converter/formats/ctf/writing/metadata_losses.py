"""Losses of metadata: in another version, or when events are encoded again.

The streams of an unchanged trace are copied below metadata of the other version, without a projection, so losses are
found by comparing the classes. Of these, Babeltrace's text output shows log levels that it knows and model URIs; its
details output shows the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from converter.formats.ctf.mapping import CPU_FIELD
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedBoolean,
    FixedInteger,
    Location,
    Optional,
    Scope,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.field_trees import fields_in, has_plain_fields
from converter.formats.ctf.metadata.other_version import is_tsdl, selected, tsdl_attributes
from converter.formats.ctf.metadata.trace_class import (
    LOG_LEVELS,
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)
from converter.formats.ctf.streams.packet_fields import packet_thread
from converter.formats.ctf.writing.contexts import shown_lengths
from converter.projection.losses import LossReport

_CONTEXTS: Final = frozenset({"vpid", "vtid", "procname"})
#: The entries of the environment that Babeltrace prints with each event.
_SHOWN_OF_TRACES: Final = ("hostname", "domain", "procname", "vpid")
_TIMES: Final = frozenset({FieldRole.TIMESTAMP, FieldRole.PACKET_END_TIMESTAMP})
_Class = TraceClass | ClockClass | StreamClass | EventRecordClass
_KINDS: Final[dict[type[_Class], str]] = {
    TraceClass: "the trace",
    ClockClass: "a clock",
    StreamClass: "a data stream class",
    EventRecordClass: "an event record class",
}


def count_losses(before: TraceClass, after: TraceClass | None, report: LossReport) -> None:
    """Count what a trace's metadata has and `after` lacks; None: its events are encoded again, which keeps no class."""
    for one, other in _pairs(before, after):
        owner = _KINDS[type(one)]
        left = set() if other is None else {name for _, name in _attributes_of(other)}
        for code, name in _attributes_of(one):
            if name not in left:
                report.add(code, attribute=name, owner=owner)
    others = before.other_attributes
    report.add("ctf-attribute", others, attribute="other attributes", owner="fields and clocks")
    if after is None:
        report.add("ctf-stream-layout")
    elif after.version[0] > before.version[0]:
        _count_fields(before, report)


def _pairs(before: TraceClass, after: TraceClass | None) -> Iterator[tuple[_Class, _Class | None]]:
    """Yield the classes of a trace, each with its counterpart."""
    yield before, after
    clocks = {one.name or one.id: one for one in after.clocks.values()} if after else {}
    for clock in before.clocks.values():
        yield clock, clocks.get(clock.name or clock.id)
    for stream in before.streams.values():
        other = after.streams.get(stream.id) if after else None
        yield stream, other
        for event in stream.events.values():
            yield event, other.events.get(event.id) if other else None


def _attributes_of(one: _Class) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a class other than its data layout, each after the code of its loss."""
    held: dict[str, object]
    match one:
        case TraceClass():
            held = {"name": one.name, "namespace": one.namespace, "uid": one.uid, "UUID": one.uuid}
        case ClockClass():
            held = {
                "namespace": one.namespace,
                "uid": one.uid,
                "origin": one.origin,
                "precision": one.precision is not None,
                "accuracy": one.accuracy is not None,
            }
        case StreamClass():
            held = {"name": one.name, **_named(one.attributes)}
        case EventRecordClass():
            held = _named(one.attributes)
            if one.log_level is not None:
                known = one.log_level in (*LOG_LEVELS, *range(len(LOG_LEVELS)))
                yield "ctf-attribute-shown" if known else "ctf-attribute", "log level"
            if one.model_uri:
                yield "ctf-attribute-shown", "URI of the model"
    for name, value in held.items():
        if value:
            yield "ctf-attribute", name


def _named(attributes: dict[str, Any]) -> dict[str, object]:
    """Return the naming and the attributes of a class; those of TSDL are stored separately."""
    if is_tsdl(attributes):
        return {"unknown attributes": attributes}
    of_tsdl = tsdl_attributes(attributes)
    return {
        "namespace": attributes.get("namespace"),
        "uid": attributes.get("uid"),
        "attributes": len(attributes.get("attributes", ())) > bool(of_tsdl),
        "unknown attributes": of_tsdl,
    }


def _count_fields(before: TraceClass, report: LossReport) -> None:
    """Count what CTF 1.8 declares of fields and CTF 2 cannot."""
    for declared in _fields(before):
        match declared:
            case FixedInteger(clock=str(clock), roles=roles) if clock and not roles & _TIMES:
                report.add("ctf-declaration", declaration="clock of an integer")
            case FixedInteger(encoding=str(encoding)) if encoding:
                report.add("ctf-declaration", declaration="encoding of an integer")
            case Text(encoding="ascii"):
                report.add("ctf-ascii")
            case Variant(_, options):
                count = len(options) - len(list(selected(options)))
                report.add("ctf-declaration", count, declaration="unselected option of a variant")


def count_encoded_otherwise(before: TraceClass, version: int, report: LossReport) -> None:
    """Count what Babeltrace's text shows in another way where events are encoded again in a version."""
    for stream in before.streams.values():
        thread = packet_thread(before, stream)
        if thread is not None and set(thread) - _CONTEXTS - {None}:
            report.add("ctf-packet-thread")
        report.add("ctf-key-field", _count_keys(stream))
        report.add("ctf-packet-field", _count_packet_fields(stream, set(thread or ())))
    for declared in _fields(before):
        match declared:
            case FixedBits(flags=flags) if flags and version == 1:
                report.add("ctf-flag-names")
            case Text(length=Location(path=path)) if path[-1].startswith("_"):
                # Such a length is no field of the event (`_NAME_length`).
                report.add("ctf-text-length")
            case FixedBoolean() | Optional() if version == 1:
                report.add("ctf-plain-fields")
            case Blob(roles=roles) if version == 1 and not roles:
                report.add("ctf-plain-fields")


def _count_packet_fields(stream: StreamClass, of_threads: set[str | None]) -> int:
    """Return the number of packets' fields that come after other contexts of events, in their braces."""
    members = stream.packet_context.members if stream.packet_context is not None else ()
    has_cpu = any(name == CPU_FIELD for name, *_ in members)
    if not has_cpu and stream.common_context is None:
        return 0
    left = [one for one in members if one.name != CPU_FIELD and one.name not in of_threads]
    return sum(has_plain_fields(one.type) for one in left)


def _count_keys(stream: StreamClass) -> int:
    """Return the number of fields whose length or selector becomes a further field of the event."""
    roots = [
        (stream.packet_context, Scope.PACKET_CONTEXT),
        (stream.common_context, Scope.COMMON_CONTEXT),
        *((event.payload, Scope.PAYLOAD) for event in stream.events.values()),
    ]
    count = 0
    for root, scope in roots:
        kept = shown_lengths(root, scope)
        for declared in fields_in(root):
            for name, held, _ in declared.members if isinstance(declared, Structure) else ():
                match held:
                    case Array(length=Location(path=path)) | Blob(length=Location(path=path)):
                        count += path[-1] != f"_{name}_length" and name not in kept
                    case Variant(selector, _) | Optional(selector, _):
                        count += selector.path[-1] != f"_{name}_selector"
    return count


def count_other_programs(traces: Sequence[TraceClass], report: LossReport) -> None:
    """Count the traces whose events Babeltrace's text shows with the host or program of the first, in one trace."""
    first, *others = ([one.environment.get(name) for name in _SHOWN_OF_TRACES] for one in traces)
    report.add("ctf-trace-program", sum(other != first for other in others))


def _fields(trace: TraceClass) -> Iterator[FieldDeclaration]:
    roots = [trace.packet_header]
    for stream in trace.streams.values():
        roots += [stream.packet_context, stream.event_header, stream.common_context]
        for event in stream.events.values():
            roots += [event.specific_context, event.payload]
    for root in roots:
        yield from fields_in(root)
