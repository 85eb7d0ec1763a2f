"""Typed fields of track events, which importers show as arguments, in other formats."""

import random

import numpy as np
import pytest
from support.perfetto.files import BEGIN, END, File
from support.traces.losses import line_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor

import converter
from converter.formats.perfetto.typed_arguments import (
    arguments_of,
    as_written,
    distinct_bytes,
    with_locations,
)
from converter.ir.columns import list_of_bytes
from converter.ir.field_classes import StringClass

ARGUMENTS = """select s.name, replace(a.key, 'args.', ''), a.display_value from slice s
    join args a using (arg_set_id) order by 1, 2, 3"""


def event(file, ts, name):
    """A slice of 5 ns; returns its TrackEvent."""
    made = file.event(ts, BEGIN, name, 2)
    file.event(ts + 5, END, "", 2)
    return made


def document():
    file = File()
    file.thread_track(2, 10, 11, "worker")
    first = file.packet(1, 7, sequence_flags=1)
    location = first.interned_data.source_locations.add()
    location.iid, location.file_name, location.function_name, location.line_number = (
        3,
        "a.cc",
        "Run",
        9,
    )
    own = event(file, 10, "own").source_location
    own.file_name, own.line_number = "f.cc", 3
    numbered = event(file, 20, "numbered")
    numbered.source_location_iid = 3
    task = event(file, 30, "task")
    task.task_execution.posted_from_iid = 3
    task.chrome_user_event.action = "click"
    task.chrome_user_event.action_hash = 2**53 + 1
    latency = event(file, 40, "latency").chrome_latency_info
    latency.trace_id = -7
    latency.is_coalesced = True
    for number in (1, 2):
        latency.component_info.add(time_us=number, component_type=number)
    for packet in file.trace.packet:
        if packet.HasField("track_event"):
            packet.sequence_flags = 2
    return file


@needs_trace_processor
@pytest.mark.parametrize("name", ["a.json", "a.fxt"])
def test_arguments_are_those_that_importers_show(tmp_path, name):
    source = tmp_path / "a.pftrace"
    source.write_bytes(document().bytes())
    losses = converter.convert(source, tmp_path / name)
    wanted = {tuple(row) for row in answer(source, ARGUMENTS)}
    assert len(wanted) == 17
    assert {tuple(row) for row in answer(tmp_path / name, ARGUMENTS)} >= wanted
    assert not any("track_event" in one or "source loc" in one for one in map(line_of, losses))


@needs_trace_processor
def test_locations_survive_without_their_sequence(tmp_path):
    """Events that are written again, as in a part, have the locations of their numbers."""
    source, part = tmp_path / "a.pftrace", tmp_path / "b.pftrace"
    source.write_bytes(document().bytes())
    with converter.open_trace(source) as trace:
        read = trace.make_batches
        # Without the records that the events were read from.
        trace.make_batches = lambda: (one.with_tables(one.tables) for one in read())
        converter.write(trace, part, "perfetto")
    assert not errors(part)
    found = {tuple(row) for row in answer(part, ARGUMENTS)}
    assert ("numbered", "source_location.file_name", "a.cc") in found


@needs_trace_processor
def test_a_numbered_location_without_a_line_is_shown_with_line_0(tmp_path):
    file = document()
    location = file.trace.packet[1].interned_data.source_locations[0]
    location.ClearField("line_number")
    source, target = tmp_path / "a.pftrace", tmp_path / "a.json"
    source.write_bytes(file.bytes())
    assert not [one for one in converter.convert(source, target) if one.loss_class == "shown"]
    shown, found = ({tuple(row) for row in answer(path, ARGUMENTS)} for path in (source, target))
    assert shown <= found
    assert ("task", "task.posted_from.line_number", "0") in shown


def test_what_is_not_known_is_a_loss_that_viewers_show(tmp_path):
    file = File()
    file.thread_track(2, 10, 11, "worker")
    event(file, 10, "a").thread_instruction_count_delta = 5
    event(file, 20, "b").task_execution.posted_from_iid = 4
    event(file, 30, "c").log_message.prio = 4
    unknown = event(file, 40, "d")
    # Field 2000: 1.
    unknown.MergeFromString(b"\x80\x7d\x01")
    source = tmp_path / "a.pftrace"
    source.write_bytes(file.bytes())
    lost = {
        dict(one.parameters)["name"]: one.count
        for one in converter.convert(source, tmp_path / "a.json")
        if one.loss_class == "shown"
    }
    assert lost == {
        "instruction counts of threads": 1,
        "source locations that are not in the file": 1,
        "log messages of track events": 1,
        "fields of track events that only other versions of Perfetto know": 1,
    }


def test_any_bytes_are_read():
    chance = random.Random(3)
    sound = [
        one.track_event.SerializeToString()
        for one in document().trace.packet
        if one.HasField("track_event")
    ]
    for _ in range(500):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.randrange(3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        data = bytes(data[: chance.randrange(len(data) + 1)])
        arguments_of(as_written(data))
        arguments_of(with_locations(data, lambda iid: b"\x12\x01f" if iid == 3 else None))
    nested = arguments_of(b"\x2a" + b"\x04\xc2\x3e\x01" * 2)
    assert all(not isinstance(one.type, StringClass) for one in nested.fields)


@pytest.mark.parametrize("size", [0, 1, 2, 300])
def test_equal_fields_are_read_once_in_their_order(size):
    rng = random.Random(size)
    texts = [rng.choice([b"", b"a", b"ab", b"b", b"\0", b"a\0"]) for _ in range(size)]
    distinct, which = distinct_bytes(list_of_bytes(texts))
    assert distinct == list(dict.fromkeys(texts))
    assert [distinct[one] for one in which.tolist()] == texts
    assert which.dtype == np.intp
