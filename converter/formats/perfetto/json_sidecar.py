"""What only a JSON trace has (its other members and metadata events), as a trace attribute of a Perfetto trace.

Converted back to JSON it is all there again. What the importer shows of it besides, the order of processes and threads,
goes to their descriptors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from converter.ir.events import EventClass
from converter.ir.kinds import Kind
from converter.ir.text import is_unicode
from converter.ir.trace import Trace
from converter.projection.metadata import is_json_document

#: An attribute with such a sidecar is called so, with the sidecar's name after it.
SIDECAR_PREFIX: Final = "traceconv."
#: Metadata events that say where a process or a thread stands.
_PROCESS_ORDER, _THREAD_ORDER = "process_sort_index", "thread_sort_index"


def was_json(trace: Trace) -> bool:
    """Whether importers have what was read as JSON, and how they show that is to be kept."""
    return bool(trace.semantics.json_arguments)


def json_documents(trace: Trace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sidecars of JSON documents with their names."""
    for name, sidecar in trace.sidecar.items():
        if sidecar and is_json_document(sidecar):
            yield name, sidecar


def sidecar_form(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sidecar of a JSON document as JSON."""
    members = sidecar.get("members", {})
    return {
        # A member that is no JSON is text.
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
    """The sidecar that the attribute has.

    Raises:
        ValueError: it is none.

    """
    try:
        form = json.loads(text)
        members = {
            **form["members"],
            **{name: one.encode() for name, one in form["texts"].items()},
        }
        # One event a line, as a writer writes them again.
        metadata = [_line(_event(one)) for one in form["metadata"]]
        text_ids = {str(int(number)): str(one) for number, one in form["text_ids"].items()}
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
    # What is no Unicode stays escaped.
    return line if is_unicode(line) else json.dumps(event)


def has_switches(trace: Trace) -> bool:
    """Whether a JSON trace was a kernel's, whose process 0 is the idle task: no other has switches of tasks."""
    return any(map(is_switch, trace.event_classes))


def is_switch(event_class: EventClass) -> bool:
    """Whether events of a class are switches of tasks."""
    return event_class.kind is Kind.SCHED_SWITCH


class SortIndexes:
    """Places in the order of processes and threads, as the metadata events that are known so far give them."""

    def __init__(self) -> None:
        self._read = 0
        self._places: dict[tuple[str, str | None], int] = {}

    def __bool__(self) -> bool:
        return bool(self._places)

    def of(self, pid: int, tid: int | None) -> dict[str, int]:
        """The place of a thread (None: of the process itself) as a field of its track's descriptor."""
        place = self._places.get((str(pid), None if tid is None else str(tid)))
        return {} if place is None else {"sibling_order_rank": place}

    def read(self, trace: Trace) -> None:
        """Take in the metadata events that are new; the first place given counts, as for importers."""
        for _, sidecar in json_documents(trace):
            events = sidecar.get("metadata", [])
            for text in events[self._read :]:
                self._add(text)
            self._read = len(events)

    def _add(self, text: str) -> None:
        try:
            event = json.loads(text)
            name, place = event.get("name"), event["args"]["sort_index"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if name not in (_PROCESS_ORDER, _THREAD_ORDER) or not isinstance(place, int | float):
            return
        pid = event.get("pid", 0)
        tid = str(event.get("tid", pid)) if name == _THREAD_ORDER else None
        if -(1 << 31) <= place < 1 << 31:
            self._places.setdefault((str(pid), tid), int(place))
