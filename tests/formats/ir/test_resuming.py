"""Records behind damage, which are found by their marks."""

import json
from collections import Counter
from itertools import pairwise

import pytest

from converter.cli.actions.reporting import write_report
from converter.formats.chrome.reading import reader as chrome
from converter.formats.ir import layout
from converter.formats.ir import messages as pb
from converter.jobs.reading import read
from converter.jobs.transcription import transcribe
from converter.registry import format_named
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

#: Events of a batch, and how many batches there are.
EACH, BATCHES = 20, 6


@pytest.fixture
def content(monkeypatch):
    """A file of some records, each of which brings names, threads and classes of its own."""
    monkeypatch.setattr(chrome, "BATCH_SIZE", EACH)
    events = [
        {
            "ph": "X",
            "ts": i,
            "dur": 1,
            "pid": 1 + i // EACH,
            "tid": i,
            "name": f"name {i}",
            "args": {f"argument {i // EACH}": i},
        }
        for i in range(EACH * BATCHES)
    ]
    sink = BufferSink()
    target, variant = format_named("ir")
    transcribe(read(json.dumps(events).encode(), "chrome"), sink, target, variant)
    return sink.getvalue()


def lines_of(trace):
    """What is said of each event."""
    lines = BufferSink()
    write_report(trace, lines.write)
    return Counter(lines.getvalue().splitlines())


def records_of(content):
    """The records of a file, each with its head."""
    ends = [0, *(start + size for start, size in layout.record_places(open_source(content))[0])]
    return [content[start:end] for start, end in pairwise(ends)]


def zeroed(record):
    """A record whose middle is zeros."""
    third = len(record) // 3
    return record[:third] + bytes(third) + record[2 * third :]


#: How a record is damaged.
DAMAGE = {
    "zeroed": zeroed,
    "all of it zeroed": lambda record: bytes(len(record)),
    "lost": lambda record: b"",
    "a part lost": lambda record: record[: len(record) // 2],
    "longer": lambda record: record[:1] + b"\xff\xff\x03" + record[3:],
    "shorter": lambda record: record[:1] + b"\x85\0" + record[3:],
    "something in front": lambda record: b"\x0a" * 50 + record,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("number", [1, 3, BATCHES])
def test_a_record_that_is_damaged_costs_its_events_alone(content, damage, number):
    whole = lines_of(read(content, "ir"))
    records = records_of(content)
    assert len(records) == 1 + BATCHES + 1
    records[number] = damage(records[number])
    trace = read(b"".join(records), "ir")
    found = lines_of(trace)
    assert found <= whole
    if records[number].startswith(b"\x0a\x0a"):
        assert found == whole
    else:
        lost = {f"name {i}".encode() for i in range(EACH * (number - 1), EACH * number)}
        missing = whole - found
        assert missing.total() == EACH
        assert all(any(name in line for name in lost) for line in missing)
        text = f"{EACH} events are missing in front"
        assert any(warning.message == text for warning in trace.warnings)
    assert all(warning.offset is not None for warning in trace.warnings)
    assert trace.warnings
    assert lines_of(trace) == found, "a second pass"


def parsed(record):
    """The records that one is, or holds, and its place."""
    source = open_source(record)
    ((start, size),) = layout.record_places(source)[0]
    return layout.parse_record(source, start, size), layout.place_of(source, start, size)


def test_texts_that_are_nowhere_else_are_missing(content):
    records = records_of(content)
    (tables, tail), place = parsed(records[-1])
    strings = len(parsed(records[1])[0][0].tables.string)
    assert strings >= EACH
    del tail.tail.tables.string[:]
    records[-1] = layout.compressed(pb.Trace(record=[tables, tail]), place)
    del records[1]
    trace = read(b"".join(records), "ir")
    found = lines_of(trace)
    assert found.total() == EACH * (BATCHES - 1)
    texts = [warning.message for warning in trace.warnings if "texts" in warning.message]
    assert texts == [f"{strings} texts are missing"]


def test_a_file_without_marks_is_read_to_the_damage(content):
    records = [
        b"".join(layout.frame(one.SerializeToString()) for one in parsed(record)[0])
        for record in records_of(content)
    ]
    assert lines_of(read(b"".join(records), "ir")) == lines_of(read(content, "ir"))
    records[2] = bytes(len(records[2]))
    trace = read(b"".join(records), "ir")
    assert lines_of(trace).total() == EACH
    assert trace.warnings


def test_what_no_place_can_say_is_refused(content):
    records = records_of(content)
    held, place = parsed(records[2])
    place.string = 1 << 60
    records[2] = layout.compressed(pb.Trace(record=held), place)
    trace = read(b"".join(records), "ir")
    assert lines_of(trace).total() == EACH * (BATCHES - 1)
    assert any(warning.field == "place.string" for warning in trace.warnings)
