"""The names of events in sentences about losses: as the user knows them, never those of the representation."""

from __future__ import annotations

from typing import Final

from converter.ir.events import EventClass, class_label
from converter.ir.kinds import Kind

#: Kinds whose events have names of their own, or that tracers call otherwise.
_KINDS: Final = {
    Kind.TYPED: "tracepoint",
    Kind.SLICE_BEGIN: "slice begin",
    Kind.SLICE_END: "slice end",
    Kind.SLICE_COMPLETE: "slice",
    Kind.INSTANT: "instant",
    Kind.COUNTER: "counter",
    Kind.ASYNC_BEGIN: "async begin",
    Kind.ASYNC_INSTANT: "async instant",
    Kind.ASYNC_END: "async end",
    Kind.FLOW_BEGIN: "flow begin",
    Kind.FLOW_STEP: "flow step",
    Kind.FLOW_END: "flow end",
    Kind.STATE: "thread state",
    Kind.LOG: "log entry",
    Kind.MARK: "marker",
    Kind.MESSAGE_SEND: "message sent",
    Kind.MESSAGE_RECEIVE: "message received",
    Kind.OBJECT_NEW: "new object",
    Kind.OBJECT_SNAPSHOT: "object snapshot",
    Kind.OBJECT_DELETE: "deleted object",
    Kind.OBJECT_INFO: "object info",
    Kind.BLOB: "blob",
    Kind.SAMPLE: "sample",
    Kind.MAPPING: "mapping",
    Kind.MODULE: "module",
    Kind.CLOCK_SYNC: "clock sync",
    Kind.DISCARDED: "lost events",
    Kind.NATIVE: "native record",
}
#: An end, and the begin that it belongs to: together they are one event for the user.
_ENDS: Final = (("slice end", "slice begin"), ("async end", "async begin"))
_EXITS: Final = (("_exit", "_entry"), ("_end", "_start"))


def event_name(event_class: EventClass) -> str:
    """Return the name of a class of events: its own, or for those without one what they are."""
    return class_label(event_class) if event_class.name else kind_name(event_class.kind)


def kind_name(kind: Kind) -> str:
    """Return the name of a kind of events."""
    return _KINDS.get(kind) or kind.name.lower()


def begin_name(event: str) -> str:
    """Return the name of the begin that events of this name are the end of; the same name for all others."""
    for end, begin in _ENDS:
        if event == end:
            return begin
    for end, begin in _EXITS:
        if event.endswith(end):
            return event.removesuffix(end) + begin
    return event
