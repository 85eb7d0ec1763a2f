"""The data that only a JSON trace has (other members and metadata events), as a trace attribute of a Perfetto trace.

Converting back to JSON restores all of it. The part that the importer also shows, the order of processes and threads,
is written to their descriptors.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from converter.ir.display.text import is_unicode
from converter.ir.events import EventClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.metadata import is_json_document

#: The name of an attribute with such a sidecar, before the sidecar's name.
SIDECAR_PREFIX: Final = "traceconv."
#: The file that declares the extension of track events with arguments of JSON.
EXTENSION_FILE: Final = "traceconv.proto"
#: Metadata events with the position of a process or a thread in the viewer.
_PROCESS_ORDER, _THREAD_ORDER = "process_sort_index", "thread_sort_index"


def was_json(trace: Trace) -> bool:
    """Return True if the trace was read from JSON, so that the importers' presentation of JSON must be kept."""
    return bool(trace.semantics.json_arguments)


def has_extension(trace: Trace) -> bool:
    """Return True if arguments are written like those of JSON: they come from JSON, or from such an extension."""
    packets = trace.sidecar.get("perfetto", {}).get("extension_descriptor", ())
    return was_json(trace) or any(EXTENSION_FILE.encode() in packet for packet in packets)


def json_documents(trace: Trace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sidecars of JSON documents with their names."""
    for name, sidecar in trace.sidecar.items():
        if sidecar and is_json_document(sidecar):
            yield name, sidecar


def sidecar_json(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sidecar of a JSON document as JSON."""
    members = sidecar.get("members", {})
    return {
        # A member that is not JSON is text.
        "members": {name: one for name, one in members.items() if not isinstance(one, bytes)},
        "texts": {
            name: one.decode("utf-8", "replace")
            for name, one in members.items()
            if isinstance(one, bytes)
        },
        "metadata": sidecar.get("metadata", []),
        "text_ids": sidecar.get("text_ids", {}),
    }


def parse_sidecar(text: bytes) -> dict[str, Any]:
    """Parse the sidecar in the attribute.

    Raises:
        ValueError: it is not a sidecar.

    """
    try:
        form = json.loads(text)
        members = {
            **form["members"],
            **{name: one.encode() for name, one in form["texts"].items()},
        }
        # One event per line, as the writer expects them.
        metadata = [_line(_event(one)) for one in form["metadata"]]
        text_ids = {
            str(int(number)): one if isinstance(one, int) else str(one)
            for number, one in form["text_ids"].items()
        }
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    found = {"members": members, "metadata": metadata, "text_ids": text_ids}
    return {name: content for name, content in found.items() if content}


def _event(text: str) -> dict[str, Any]:
    event = json.loads(text)
    if not isinstance(event, dict):
        raise TypeError("a metadata event is an object")
    return event


def _line(event: dict[str, Any]) -> str:
    line = json.dumps(event, ensure_ascii=False)
    # Text that is not valid Unicode stays escaped.
    return line if is_unicode(line) else json.dumps(event)


def has_switches(trace: Trace) -> bool:
    """Return True if a JSON trace was a kernel's, whose process 0 is the idle task: only such traces have switches."""
    return any(map(is_switch, trace.event_classes))


def is_switch(event_class: EventClass) -> bool:
    """Return True if events of a class are switches of tasks."""
    return event_class.kind is Kind.SCHED_SWITCH


class SortIndexes:
    """The positions of processes and threads in the viewer, from the metadata events that are known so far."""

    def __init__(self) -> None:
        self._read = 0
        self._positions: dict[tuple[str, str | None], int] = {}
        self._described: set[tuple[str, str | None]] = set()
        #: Positions that are said after the description of their process or thread, by format and name of the event.
        self.late: Counter[tuple[str, str]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._positions)

    def fields_of(self, pid: int, tid: int | None) -> dict[str, int]:
        """Return the position of a thread (None: of the process itself) as a field of its track's descriptor."""
        place = (str(pid), None if tid is None else str(tid))
        self._described.add(place)
        position = self._positions.get(place)
        return {} if position is None else {"sibling_order_rank": position}

    def read(self, trace: Trace) -> None:
        """Read the metadata events that are new; the first position of each counts, as in importers."""
        for format, sidecar in json_documents(trace):
            events = sidecar.get("metadata", [])
            numbers = {text: number for number, text in sidecar.get("text_ids", {}).items()}
            for text in events[self._read :]:
                self._add(text, numbers, format)
            self._read = len(events)

    def _add(self, text: str, numbers: Mapping[str | int, str], format: str) -> None:
        try:
            event = json.loads(text)
            name, position = event.get("name"), event["args"]["sort_index"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if name not in (_PROCESS_ORDER, _THREAD_ORDER) or not isinstance(position, int | float):
            return
        pid = event.get("pid", 0)
        of_process, of_thread = (
            numbers.get(one, str(one)) if isinstance(one, str | int) else str(one)
            for one in (pid, event.get("tid", pid))
        )
        if -(1 << 31) <= position < 1 << 31:
            place = (of_process, of_thread if name == _THREAD_ORDER else None)
            if place in self._described and place not in self._positions:
                self.late[format, name] += 1
            self._positions.setdefault(place, int(position))
