"""What Babeltrace 2 reads of a CTF trace, event by event, and the same of what the reader gives."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converter.formats.ctf.mapping import joined_name
from converter.ir.columns import value
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    FloatClass,
    OptionalClass,
    StructureClass,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The interpreter that Debian's python3-bt2 is for.
_PYTHON = "/usr/bin/python3"

_SCRIPT = """
import json, sys
import bt2
sys.setrecursionlimit(10000)

def plain(field):
    if field is None:
        return None
    kind = type(field).__name__
    if "Variant" in kind:
        return plain(field.selected_option)
    if "Structure" in kind:
        return [[name, plain(item)] for name, item in field.items()]
    if "Array" in kind:
        return [plain(item) for item in field]
    if "String" in kind:
        return str(field)
    if "Bool" in kind:
        return bool(field)
    if "Real" in kind:
        return repr(float(field))
    return int(field)

def members(field):
    return [] if field is None else plain(field)

for path in sys.argv[1:]:
    for message in bt2.TraceCollectionMessageIterator(path):
        if type(message) is bt2._DiscardedEventsMessageConst:
            print(json.dumps({"lost": message.count}))
        if type(message) is not bt2._EventMessageConst:
            continue
        event = message.event
        context = event.packet.context_field if event.stream.cls.supports_packets else None
        cpu, packet = -1, []
        if context is not None:
            packet = [item for item in plain(context) if item[0] != "cpu_id"]
        if context is not None and "cpu_id" in context:
            cpu = int(context["cpu_id"])
        print(json.dumps({
            "ts": message.default_clock_snapshot.value if event.stream.cls.default_clock_class else 0,
            "ns": message.default_clock_snapshot.ns_from_origin if event.stream.cls.default_clock_class else 0,
            "name": event.name or "",
            "cpu": cpu,
            "context": members(event.specific_context_field) + members(event.common_context_field)
            + packet,
            "payload": members(event.payload_field),
        }))
"""


def babeltrace_events(*paths: Path) -> list[dict[str, Any]]:
    """The events (and lost ones, as {"lost": count}) that Babeltrace reads; skips the test where it is missing."""
    if shutil.which(_PYTHON) is None:
        pytest.skip("no system Python")
    if subprocess.run([_PYTHON, "-c", "import bt2"], capture_output=True, check=False).returncode:
        pytest.skip("python3-bt2 is not installed")
    result = subprocess.run(
        [_PYTHON, "-c", _SCRIPT, *map(str, paths)], capture_output=True, check=True, text=True
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


def comparable(events: list[dict[str, Any]]) -> list[str]:
    """Events as texts, sorted, without what another field implies."""
    events = [event for event in events if "lost" not in event]
    return [
        json.dumps(
            {
                **event,
                "context": _without_lengths(event["context"]),
                "payload": _without_lengths(event["payload"]),
            },
            sort_keys=True,
        )
        for event in sorted(events, key=lambda event: (event["ts"], event["cpu"], event["name"]))
    ]


def _without_lengths(members: Any) -> Any:
    if isinstance(members, list) and all(
        isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) for item in members
    ):
        names = {name for name, _ in members}
        return [
            [name, _without_lengths(item)]
            for name, item in members
            if not (name.startswith("_") and name.endswith("_length") and name[1:-7] in names)
        ]
    if isinstance(members, list):
        return [_without_lengths(item) for item in members]
    return members


def reader_events(trace: Trace) -> list[dict[str, Any]]:
    """The events of a trace that was read, in the same form."""
    events: list[dict[str, Any]] = []
    for batch in trace.batches():
        for i in range(len(batch)):
            declared = trace.event_classes[int(batch.class_id[i])]
            table = batch.tables[int(batch.class_id[i])]
            row = int(batch.row[i])
            if declared.kind is Kind.DISCARDED:
                count = table.column(0)
                assert isinstance(count, np.ndarray)
                events.append({"lost": int(count[row])})
                continue
            parts: dict[bool, list[Any]] = {False: [], True: []}
            for number, field in enumerate(declared.fields):
                item = value(table.column(number), field.type, row, trace.strings)
                parts[field.role is Role.CONTEXT].append([field.name, _plain(field.type, item)])
            events.append(
                {
                    "ts": int(batch.ts[i]),
                    "name": joined_name(declared.category, declared.name),
                    "cpu": int(batch.cpu[i]),
                    "context": parts[True],
                    "payload": parts[False],
                    "thread": int(batch.thread[i]),
                }
            )
    return events


def with_thread_contexts(
    trace: Trace, events: list[dict[str, Any]], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Events with the contexts `names` (of process, thread and its name, where not empty) that became their threads."""
    result = []
    for read in events:
        if "lost" in read:
            continue
        event = dict(read)
        thread = trace.threads[event.pop("thread")] if names else event.pop("thread")
        context = dict(event["context"])
        if names:
            pid, tid, name = names
            if pid:
                context[pid] = trace.processes[thread.process].pid
            if tid:
                context[tid] = thread.tid
            if name:
                context.setdefault(name, thread.name)
        event["context"] = sorted(map(list, context.items()))
        result.append(event)
    return result


def _plain(declared: FieldClass, item: Any) -> Any:
    match declared:
        case FloatClass():
            return repr(float(item))
        case ArrayClass(element):
            return [_plain(element, each) for each in item]
        case StructureClass(members):
            return [
                [name, _plain(member.type, each)]
                for member, (name, each) in zip(members, item, strict=True)
            ]
        case VariantClass(options):
            name, each = item
            chosen = next(option for option in options if option.name == name)
            return _plain(chosen.type, each)
        case OptionalClass(element):
            return None if item is None else _plain(element, item)
    return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else item
