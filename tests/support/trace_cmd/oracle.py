"""Compare the trace.dat reader, event by event and field by field, with `trace-cmd report -t -R`.

    python -m tests.support.trace_cmd.oracle FILE...

Every line must agree in order, time, CPU, pid and name; every field's text must be a rendering of the value read:
libtraceevent prints a raw field with the conversion that the event's print fmt has for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from converter.formats.trace_cmd.reading.reader import read
from converter.ir.columns import ListColumn
from converter.ir.events import Batch
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    StringClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.storage.opening import open_source

_EVENT = re.compile(
    rb"(?:(?P<instance>\S+): )?\s*(?P<comm>.*)-(?P<pid>\d+) +\[(?P<cpu>\d+)\]\s*(?P<flags>\S*)\s+"
    rb"(?P<time>\d+(?:\.\d{9})?): (?P<event>\S+):? *(?P<fields>.*)",
    re.DOTALL,
)
_LOST = re.compile(rb"(?:(\S+): )?\s*CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]")
_CONTEXT = (Role.CONTEXT, Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT)


@dataclass
class Comparison:
    """How many events and fields were compared, and what differed (the first few)."""

    events: int = 0
    lost: int = 0
    fields: int = 0
    unparsed: Counter[str] = field(default_factory=Counter)
    unverified: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def differ(self, text: str) -> None:
        """Note a difference."""
        self.differences.append(text)


def compare(path: str, limit: int = 20) -> Comparison:
    """Read a file both ways; stops after `limit` differences."""
    result = Comparison()
    with open_source(path) as source:
        trace = read(source)
        ours = _events(trace)
        theirs = _report(path)
        for line in theirs:
            if len(result.differences) >= limit:
                break
            event = next(ours, None)
            if event is None:
                result.differ(f"only trace-cmd has {line!r}")
                break
            _compare(trace, event, line, result)
        else:
            for event in ours:
                result.differ(f"only we have {event}")
                break
    return result


def _report(path: str) -> Iterator[bytes]:
    """The report's events, each with the lines that its text goes on to."""
    # Messages about formats that cannot be parsed go to standard error.
    with subprocess.Popen(
        ["trace-cmd", "report", "-t", "-R", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        pending = b""
        for line in process.stdout:
            if not pending and line.startswith((b"cpus=", b"version =")):
                continue
            if _LOST.match(line) or _EVENT.match(line):
                if pending:
                    yield pending
                pending = line
            elif pending:
                pending += line
        if pending:
            yield pending


def _events(trace: Trace) -> Iterator[dict[str, Any]]:
    for batch in trace.batches():
        lists = {id: _columns(trace, batch, id) for id in batch.tables}
        for i in range(len(batch)):
            id = int(batch.class_id[i])
            row = int(batch.row[i])
            thread = int(batch.thread[i])
            track = int(batch.track[i])
            yield {
                "class": trace.event_classes[id],
                "ts": int(batch.ts[i]) + (trace.clock.epoch_ns or 0),
                "cpu": int(batch.cpu[i]),
                "pid": trace.threads[thread].tid if thread >= 0 else -1,
                "instance": trace.tracks[track].name if track >= 0 else "",
                "values": [column[row] for column in lists[id]],
            }


def _columns(trace: Trace, batch: Batch, id: int) -> list[list[Any]]:
    """The columns of a class as lists: integers, bytes, or (for arrays) lists of integers."""
    result: list[list[Any]] = []
    for i, item in enumerate(trace.event_classes[id].fields):
        column = batch.tables[id].column(i)
        if isinstance(column, ListColumn):
            assert isinstance(column.values, np.ndarray)
            raw = column.values.tobytes()
            if isinstance(item.type, ArrayClass):
                values: list[Any] = column.values.tolist()
                bounds = column.offsets.tolist()
                result.append([values[a:b] for a, b in pairwise(bounds)])
            else:
                bounds = column.offsets.tolist()
                result.append([raw[a:b] for a, b in pairwise(bounds)])
        elif isinstance(item.type, StringClass):
            assert isinstance(column, np.ndarray)
            result.append([trace.strings[id] for id in column.tolist()])
        else:
            assert isinstance(column, np.ndarray)
            result.append(column.tolist())
    return result


def _compare(trace: Trace, event: dict[str, Any], line: bytes, result: Comparison) -> None:
    event_class = event["class"]
    lost = _LOST.match(line)
    if lost:
        count = int(lost[3]) if lost[3] else -1
        theirs: tuple[Any, ...] = (Kind.DISCARDED, int(lost[2]), count)
        ours: tuple[Any, ...] = (event_class.kind, event["cpu"], event["values"][0])
        result.lost += 1
        if theirs != ours:
            result.differ(f"{ours} for {line!r}")
        return
    found = _EVENT.match(line)
    assert found is not None
    seconds, _, fraction = found["time"].partition(b".")
    ts = int(seconds) * 10**9 + int(fraction) if fraction else int(seconds)
    name = found["event"].rstrip(b":").decode("utf-8", "replace")
    theirs = ((found["instance"] or b"").decode(), int(found["cpu"]), int(found["pid"]), ts)
    ours = (event["instance"], event["cpu"], event["pid"], event["ts"])
    result.events += 1
    if theirs != ours:
        result.differ(f"{ours} {event_class.name} for {line!r}")
        return
    if name.startswith("[UNKNOWN"):
        if event_class.kind is not Kind.NATIVE:
            result.differ(f"{event_class.name} for {line!r}")
        return
    if name != event_class.name:
        result.differ(f"{event_class.name} for {line!r}")
        return
    text = found["fields"]
    if text.startswith(b"[FAILED TO PARSE]"):
        result.unparsed[name] += 1
        text = text.removeprefix(b"[FAILED TO PARSE]").lstrip()
    _compare_fields(trace, event, text, result)


def _compare_fields(trace: Trace, event: dict[str, Any], text: bytes, result: Comparison) -> None:
    event_class = event["class"]
    pairs = [
        (item, value)
        for item, value in zip(event_class.fields, event["values"], strict=True)
        if item.role not in _CONTEXT
    ]
    # A message that we render is not among the fields that trace-cmd prints raw.
    pairs = [(item, value) for item, value in pairs if f"{item.name}=".encode() in text]
    at = 0
    for i, (item, value) in enumerate(pairs):
        name = item.name.encode() + b"="
        start = text.find(name, at)
        if start < 0:
            result.differ(f"{event_class.name}.{item.name} is not in {text!r}")
            return
        start += len(name)
        end = len(text)
        if i + 1 < len(pairs):
            end = text.find(b" " + pairs[i + 1][0].name.encode() + b"=", start)
            if end < 0:
                result.differ(f"{event_class.name}.{pairs[i + 1][0].name} is not in {text!r}")
                return
        shown = text[start:end]
        at = end
        result.fields += 1
        verdict = _agrees(trace, item.type, value, shown)
        if verdict is None:
            result.unverified[f"{event_class.name}.{item.name}: {shown[:40]!r}"] += 1
        elif not verdict:
            result.differ(f"{event_class.name}.{item.name} = {value!r} for {shown!r}")


def _agrees(trace: Trace, field_class: FieldClass, value: Any, shown: bytes) -> bool | None:
    """Whether the text renders the value; None where the text does not tell."""
    shown = shown.rstrip(b"\n")
    if shown.startswith(b"ARRAY["):
        there = bytes.fromhex(shown[6:].rstrip(b" ]\n").replace(b",", b"").decode())
        if isinstance(field_class, ArrayClass):
            assert isinstance(field_class.element, IntegerClass)
            for order in "<", ">":
                dtype = field_class.element.dtype.newbyteorder(order)
                if np.array(value, dtype).tobytes() == there:
                    return True
            return False
        if isinstance(field_class, StringClass):
            return bool(value == there.split(b"\0")[0])
        return bool(value == there)
    if isinstance(field_class, StringClass):
        return bool(value.split(b"\0")[0].rstrip(b"\n") == shown)
    if isinstance(field_class, BytesClass):
        if shown == b"0":
            # So are fields of size 0 printed that are declared as integers.
            return None
        # As text, up to a NUL, which may come only after the record.
        return shown.startswith(value.split(b"\0")[0].rstrip(b"\n"))
    if isinstance(field_class, ArrayClass):
        # What a print fmt makes of an array cannot be taken back.
        return None
    assert isinstance(field_class, IntegerClass)
    bits = (1 << field_class.bits) - 1
    digits = shown.strip().removeprefix(b"0x")
    if re.fullmatch(rb"-?\d+", digits) and (int(digits) - value) & bits == 0:
        return True
    if re.fullmatch(rb"[0-9a-fA-F]+", digits):
        # Values of fewer bits are sign-extended when they are printed in hexadecimal.
        return (int(digits, 16) - value) & bits == 0
    if re.fullmatch(rb"0?[0-7]+", digits):
        return (int(digits, 8) - value) & bits == 0
    symbol = trace.symbols.lookup(value) if trace.symbols is not None else None
    if symbol is not None and shown.startswith(symbol[0]):
        return True
    return None


def main(paths: list[str]) -> int:
    """Compare files and print what was found; 1 if anything differs."""
    failed = 0
    for path in paths:
        result = compare(path)
        summary = f"{path}: {result.events:,} events, {result.lost} lost counts, {result.fields:,} fields compared"
        lines = [f"{summary}, {len(result.differences)} differences"]
        lines += [f"  {text}" for text in result.differences]
        for name, counts in (("not parsed", result.unparsed), ("not verified", result.unverified)):
            lines += [f"  {name}: {key} ({count})" for key, count in counts.most_common(10)]
        sys.stdout.write("\n".join(lines) + "\n")
        failed |= bool(result.differences)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
