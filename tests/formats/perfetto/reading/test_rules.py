"""What no message of this version declares is in what is written of a trace, or in its loss report by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.perfetto.files import FILES, INSTANT, File, compressed, kernel_every_event

import converter
from converter.formats.perfetto.layout import ARGUMENTS, TaskStateField
from converter.formats.perfetto.protobuf.messages import MESSAGE, message_type, varint
from converter.formats.perfetto.protobuf.scan import FLAGS, FURTHER
from converter.formats.perfetto.reading.kernels.scan_rules import READ
from converter.formats.perfetto.reading.metadata import TABLE_PACKETS
from converter.formats.perfetto.reading.packets import Window
from converter.formats.perfetto.reading.rules import MESSAGES, OTHERS, FieldsWithoutRule
from converter.selection.selection import Selection

#: The messages that the reader takes apart, those of packets about a trace included.
TAKEN_APART = sorted({*MESSAGES, *TABLE_PACKETS.values()})

#: The fields of packets that events are read of.
EVENTS = {1, 11, 39, 66, 117}


def unknown(message: str) -> dict[int, bytes]:
    """Fields that no message has, by their numbers: a text and a number that tell which message they are of."""
    text = f"newer {message}".encode()
    low, high = varint(250 << 3 | 2) + varint(len(text)) + text, varint(4_321 << 3)
    found = {250: low, 4_321: high + varint(1_000_000 + TAKEN_APART.index(message))}
    # In an FtraceEvent all fields of bytes but its own are events.
    return {4_321: found[4_321]} if message == "FtraceEvent" else found


def inner(message: str) -> dict[int, str]:
    """The messages in a message, by the numbers of their fields."""
    if message == "Trace":
        return {1: "TracePacket"}
    declared = message_type(message)
    known = {
        field.number: field.type_name
        for field in (declared.fields if declared else ())
        if field.type == MESSAGE
    }
    ours = {number: of for number, of in MESSAGES.get(message, {}).items() if isinstance(of, str)}
    return known | ours


def fields(data: bytes) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Number, bytes and, where it has a length, content of each field."""

    def number(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                return value, at

    at = 0
    while at < len(data):
        tag, end = number(at)
        content = None
        if tag & 7 == 2:
            size, end = number(end)
            content = data[end : end + size]
            end += size
        else:
            end = number(end)[1] if tag & 7 == 0 else end + (8 if tag & 7 == 1 else 4)
        yield tag >> 3, data[at:end], content
        at = end


def extended(
    data: bytes, message: str, met: set[str], only: str = "", twice: bool = False
) -> bytes:
    """The bytes of a message with unknown fields in all that is taken apart of it; `met` gets the names of that.

    `only` is the one message that gets them. With `twice` each message in a message is there again as it was.
    """
    result, messages, numbers = b"", inner(message), set()
    for number, whole, content in fields(data):
        numbers.add(number)
        if content is None or number not in messages:
            result += whole
        else:
            more = extended(content, messages[number], met, only, twice)
            result += varint(number << 3 | 2) + varint(len(more)) + more + (whole if twice else b"")
    # Packets of nothing else stay as they are.
    if message not in TAKEN_APART or (message == "TracePacket" and not numbers & EVENTS):
        return result
    if only not in ("", message):
        return result
    met.add(message)
    return result + b"".join(unknown(message).values())


def of_this_package() -> bytes:
    """Messages that no other of the traces has: arguments of JSON, states of tasks, defaults of samples."""
    file = File()
    packet = file.packet(5, 7, sequence_flags=1)
    packet.trace_packet_defaults.perf_sample_defaults.timebase.frequency = 100
    packet.interned_data.debug_annotation_value_type_names.add(iid=1, name="a.Type")
    event = file.event(10, INSTANT, "of JSON")
    argument = pb.DebugAnnotation(name="one", int_value=1).SerializeToString()
    annotations = b"\x0a" + varint(len(argument)) + argument
    number = varint(ARGUMENTS << 3 | 2)
    event.MergeFromString(number + varint(len(annotations)) + annotations)
    task = file.packet(20).generic_kernel_task_state_event
    task.cpu, task.tid, task.state = 1, 5, pb.GenericKernelTaskStateEvent.TASK_STATE_RUNNING
    task.MergeFromString(varint(TaskStateField.PREV_TID << 3) + b"\x09")
    return file.bytes()


LEFT_OUT = (compressed, kernel_every_event)
TRACES = [*(make for make in FILES.values() if make not in LEFT_OUT), of_this_package]


@pytest.mark.parametrize("make", TRACES)
def test_fields_of_newer_recorders_are_kept_or_named(make, tmp_path):
    met: set[str] = set()
    source = tmp_path / "a.pftrace"
    source.write_bytes(extended(make(), "Trace", met))
    for target, selection in (("b.pftrace", Selection(until="0.000002")), ("c.fxt", None)):
        output = tmp_path / target
        report = converter.convert(source, output, selection=selection)
        told = {dict(loss.parameters).get("name") for loss in report}
        held = output.read_bytes()
        for message in met:
            for number, field in unknown(message).items():
                name = f"field {number} of {message}, which no message declares"
                # Other formats have nothing of packets about a trace, by their names.
                whole = message in TABLE_PACKETS.values() and target == "c.fxt"
                assert name in told or field in held or whole


@pytest.mark.parametrize(
    "message", [message for message, told in MESSAGES.items() if told.get(OTHERS) != READ]
)
def test_scanning_tells_fields_without_rule_of_each_message(message, tmp_path, monkeypatch):
    note, counts = FieldsWithoutRule.note, Counter[str]()

    def compared(_: FieldsWithoutRule, window: Window, stays: NDArray[np.bool_]) -> None:
        rows = window.rows.copy()
        rows[:, FLAGS] |= FURTHER
        shown, of_all = Counter[str](), Counter[str]()
        note(FieldsWithoutRule(shown), window, stays)
        note(FieldsWithoutRule(of_all), replace(window, rows=rows), stays)
        assert shown == of_all
        counts.update(shown)

    monkeypatch.setattr(FieldsWithoutRule, "note", compared)
    for make, twice in product(TRACES, (False, True)):
        met: set[str] = set()
        data = extended(make(), "Trace", met, message, twice)
        if met:
            source = tmp_path / "a.pftrace"
            source.write_bytes(data)
            with converter.open_trace(source) as trace:
                for batch in trace.batches():
                    for table in batch.tables.values():
                        if table.width:
                            table.column(0)
    assert any(f" of {message}," in what for what in counts)


def test_every_message_is_in_a_trace():
    met: set[str] = set()
    for make in TRACES:
        extended(make(), "Trace", met)
    assert met >= MESSAGES.keys()


def test_what_only_records_of_merged_inputs_say_is_lost_by_name(tmp_path):
    source = tmp_path / "a.pftrace"
    source.write_bytes(extended(FILES["annotations"](), "Trace", set()))
    copy = tmp_path / "copy.pftrace"
    copy.write_bytes(source.read_bytes())
    with converter.open_merged([source, copy]) as merged:
        report = converter.write(merged, tmp_path / "b.pftrace")
    counts = {dict(loss.parameters).get("name"): loss.count for loss in report}
    name = "field 250 of DebugAnnotation, which no message declares"
    losses = converter.convert(source, tmp_path / "c.fxt")
    alone = {dict(loss.parameters).get("name"): loss.count for loss in losses}
    assert counts[name] == 2 * alone[name]
