"""Damaged trace.dat files: the good prefix and a warning, or a TraceError, and never anything else."""

import random
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from support.trace_cmd.files import PAGE, File, Kernel, rich

from converter.errors import TraceError
from converter.formats.ftrace.ring_buffer.pages import PageStream, Window
from converter.formats.table import portable_sidecar
from converter.formats.trace_cmd.container.opening import open_file
from converter.formats.trace_cmd.reading.reader import read
from converter.formats.trace_cmd.writing.writer import write
from converter.ir.collect import collect
from converter.limits import limited
from converter.storage.compression.unpacked import Unpacked
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink
from converter.storage.window_memory import WindowMemory
from converter.streaming.stream_merge import EventWindow

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "trace_cmd"


def consume(data):
    """Read all there is: the number of events, and of warnings; None for a TraceError."""
    error = None
    count = 0
    try:
        trace = read(open_source(data))
        for batch in trace.batches():
            count += len(batch)
            for table in batch.tables.values():
                for i in range(table.width):
                    table.column(i)
        if trace.symbols is not None:
            trace.symbols.lookup(0xFFFFFFFF81000000)
    except TraceError as found:
        error = found
    if error is None:
        return count, len(trace.warnings)
    assert error.format == "trace_cmd"
    assert str(error)
    return None


@pytest.mark.parametrize("version", ["6", "none", "zstd", "zlib"])
def test_a_file_cut_anywhere(version):
    data = rich(version)
    whole = consume(data)
    assert whole is not None
    assert whole[1] == 0
    for size in [*range(0, len(data), 503), len(data) - 1]:
        found = consume(data[:size])
        if found is not None:
            assert found[0] <= whole[0]
            assert found[1] > 0


@pytest.mark.parametrize("version", ["6", "none", "zstd"])
def test_any_byte_changed(version):
    data = bytearray(rich(version, Kernel(big_endian=version == "6")))
    rng = random.Random(7)
    # Densely where the structure is, here and there in the pages.
    places = {*range(60), *rng.sample(range(len(data)), 80)}
    for place in sorted(places):
        kept = data[place]
        data[place] = kept ^ rng.choice((0xFF, 1))
        consume(bytes(data))
        data[place] = kept


@pytest.mark.parametrize("name", ["small.dat", "lost.dat"])
def test_recordings_damaged_here_and_there(name):
    data = (FIXTURES / name).read_bytes()
    rng = random.Random(name)
    for _ in range(12):
        consume(data[: rng.randrange(len(data))])
        damaged = bytearray(data)
        for _ in range(3):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        consume(bytes(damaged))


def test_damaged_pages_are_not_copied():
    k = Kernel()
    good = k.record(1, k.slice(1, 0))
    broken = k.word(0, 1) + k.pack("I", 5000)
    # More events than the first batch has.
    pages = [k.page(1000 * i, *[good] * 100) for i in range(200)]
    pages.append(k.page(1 << 20, good, broken, good))
    trace = read(open_source(File(k, {0: b"".join(pages)}).version_7()))
    trace.readers = 1 << 10
    sink = BufferSink()
    write(trace, sink, "")
    assert [warning.message for warning in trace.warnings] == [
        "1 damaged pages, each read up to the damage"
    ]
    again = read(open_source(sink.getvalue()))
    assert sum(len(batch) for batch in again.batches()) == 20_001
    assert not again.warnings


def test_pages_before_the_cut_survive_without_their_option():
    data = (FIXTURES / "lost.dat").read_bytes()
    whole = read(open_source(data))
    last = whole.sidecar["trace_cmd"]["buffers"][0].cpus[-1]
    cut = read(open_source(data[: last.offset + 2000]))
    counts = [sum(len(batch) for batch in trace.batches()) for trace in (whole, cut)]
    assert 0 < counts[1] < counts[0]
    assert cut.warnings


def test_pages_that_are_not_compressed_are_found_by_their_times():
    k = Kernel()
    pages = {
        0: k.page(5, k.record(0, k.slice(1, 1))) + k.page(9, k.record(0, k.slice(1, 2))),
        3: k.page(6, k.record(0, k.slice(2, 3))),
    }
    data = File(k, pages).version_7()
    options = data.rindex(k.page(6, k.record(0, k.slice(2, 3)))) + PAGE
    trace = read(open_source(data[:options]))
    found = [(int(b.ts[i]), int(b.cpu[i])) for b in trace.batches() for i in range(len(b))]
    assert found == [(5, 0), (6, 1), (9, 0)]
    assert any("taken for the first ones" in str(warning) for warning in trace.warnings)


def test_data_that_overlaps_is_read_once():
    k = Kernel()
    data = bytearray(File(k, {0: k.page(5, k.record(0, k.slice(1, 1))), 1: k.page(6)}).version_7())
    entries = data.index(k.pack("I", 2) + k.pack("I", 0))
    data[entries + 4 + 20 + 4 : entries + 4 + 20 + 12] = data[entries + 8 : entries + 16]
    trace = read(open_source(bytes(data)))
    assert sum(len(batch) for batch in trace.batches()) == 1
    assert any("data of its own" in str(warning) for warning in trace.warnings)


def test_options_in_a_circle_end():
    k = Kernel()
    data = bytearray(File(k, {0: k.page(5, k.record(0, k.slice(1, 1)))}).version_7())
    start = data.index(b"none\0\0") + 6
    first = int.from_bytes(data[start : start + 8], "little")
    data[-8:] = k.pack("Q", first)
    trace = read(open_source(bytes(data)))
    assert sum(len(batch) for batch in trace.batches()) == 1
    assert any("circle" in str(warning) for warning in trace.warnings)


@pytest.mark.parametrize("size", [0, 1, 63, 1 << 31])
def test_impossible_page_sizes_are_refused(size):
    k = Kernel()
    data = bytearray(File(k, {0: k.page(5, k.record(0, k.slice(1, 1)))}).version_7())
    data[14:18] = k.pack("I", size)
    trace = read(open_source(bytes(data)))
    assert list(trace.batches()) == []
    assert trace.warnings
    for variant in ("v6", "v7_none"):
        sink = BufferSink()
        write(trace, sink, variant)
        assert len(sink.getvalue()) < 2 * len(data)


@pytest.mark.parametrize("claimed", [1 << 28, 0xFFFFFFFF])
def test_columns_are_made_for_the_pages_that_there_are(claimed, monkeypatch):
    k = Kernel()
    data = bytearray(File(k, {0: k.page(5, k.record(0, k.slice(1, 1)))}).version_7("zlib"))
    place = data.rindex(zlib.compress(k.page(5, k.record(0, k.slice(1, 1))))) - 4
    data[place : place + 4] = k.pack("I", claimed)
    made = []
    original = EventWindow.__init__
    monkeypatch.setattr(
        EventWindow, "__init__", lambda self, room: (made.append(room), original(self, room))[1]
    )
    assert consume(bytes(data)) == (0, 1)
    assert max(made, default=0) < 1000


def test_formats_that_were_damaged_on_their_way_are_an_error():
    trace = read(open_source(rich("none")))
    trace = replace(collect(trace), sidecar=portable_sidecar(trace))
    number = next(i for i, one in enumerate(trace.event_classes) if one.native)
    trace.event_classes[number] = replace(trace.event_classes[number], native=b"name: x\nID")
    with pytest.raises(TraceError, match="starts with"):
        write(trace, BufferSink(), "v7_none")


@pytest.mark.parametrize("limits", [{}, {"trace_cmd.section": 1}])
def test_chunks_are_refused_one_by_one(limits):
    file = open_file(open_source(FIXTURES / "markers.dat"))
    (buffer,) = file.buffers
    stream = PageStream(file, buffer, buffer.cpus[1], 1, WindowMemory())
    (window,) = stream.windows()
    assert isinstance(window, Window)
    sizes = window.chunks[:, 2]
    room = 0 if limits else int(sizes[:3].sum())
    with limited({"unpacked": max(room, 1), "unpacked-ratio": 1, **limits}):
        file.source.unpacked = Unpacked(0)
        pages, errors = stream.load(window)
    assert (len(pages), len(errors)) == (room, len(sizes) - (0 if limits else 3))
    assert len(sizes) > 3
