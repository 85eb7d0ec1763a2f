"""Chunks that the system's libzstd decompresses by the window: what comes of them is what comes of each alone."""

import random
import struct

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from support.trace_cmd.files import rich

from converter.errors import TraceError
from converter.formats.ftrace.ring_buffer import pages
from converter.formats.ftrace.ring_buffer.compression import chunk_decompressor, decompressor
from converter.formats.trace_cmd.container.opening import open_file
from converter.formats.trace_cmd.reading.reader import read
from converter.ir.canonical import canonical
from converter.storage.opening import open_source

fill = chunk_decompressor(b"zstd")
with_library = pytest.mark.skipif(fill is None, reason="the system has no libzstd")

PAGES = bytes(range(256)) * 32


def packed(data=PAGES, **parameters):
    return zstandard.ZstdCompressor(**{"write_content_size": False, **parameters}).compress(data)


def alone(chunk, size):
    """What a chunk becomes by itself; None for an error."""
    try:
        return decompressor(b"zstd")(chunk, size)
    except TraceError:
        return None


def filled(chunks, room=1 << 16, first=0):
    """What (data, size) become together: the next that is not done, and the bytes."""
    rows, data = [], b""
    for chunk, size in chunks:
        rows.append((len(data), len(chunk), size))
        data += chunk
    table = np.array(rows, np.int64).reshape(len(rows), 3)
    to = np.zeros(room, np.uint8)
    done, count = fill(memoryview(data), table, first, to)
    assert not to[count:].any() or done < len(rows)
    return done, to[:count].tobytes()


@with_library
def test_chunks_lie_one_behind_the_other():
    texts = [bytes([i]) * (4096 + i) for i in range(5)]
    chunks = [(packed(text), len(text)) for text in texts]
    assert filled(chunks) == (5, b"".join(texts))
    assert filled(chunks, first=3) == (5, b"".join(texts[3:]))
    assert filled(chunks, first=5) == (5, b"")
    assert filled(chunks, room=len(b"".join(texts[:3]))) == (3, b"".join(texts[:3]))


SKIPPED = struct.pack("<II", 0x184D2A50, 3) + b"abc"


@with_library
@pytest.mark.parametrize(
    "chunk",
    [
        packed(),
        packed(write_content_size=True),
        packed(write_checksum=True),
        packed(write_content_size=True, level=19),
        packed() + b"what follows",
        packed() + packed(),
    ],
)
def test_chunks_of_these_kinds_are_taken(chunk):
    assert filled([(chunk, len(PAGES))]) == (1, PAGES)
    assert alone(chunk, len(PAGES)) == PAGES


def with_window(exponent, mantissa=0):
    chunk = bytearray(packed())
    assert not chunk[4] & 1 << 5
    chunk[5] = (exponent - 10) << 3 | mantissa
    return bytes(chunk)


@with_library
@pytest.mark.parametrize(
    ("chunk", "size"),
    [
        (packed(), len(PAGES) - 1),
        (packed(), len(PAGES) + 1),
        (packed(), 0),
        (packed(), -1),
        (packed(b""), 1),
        (packed()[:-1], len(PAGES)),
        (packed()[:5], len(PAGES)),
        (b"", len(PAGES)),
        (b"x" + packed(), len(PAGES)),
        (SKIPPED + packed(), len(PAGES)),
        (with_window(27, 1), len(PAGES)),
        (with_window(28), len(PAGES)),
    ],
)
def test_chunks_of_these_kinds_are_left_to_who_says_what_is_wrong(chunk, size):
    good = packed()
    chunks = [(good, len(PAGES)), (chunk, size), (good, len(PAGES))]
    done, data = filled(chunks)
    assert (done, data) == (1, PAGES)
    assert alone(chunk, size) is None


@with_library
def test_the_largest_window_is_that_of_the_package():
    assert filled([(with_window(27), len(PAGES))]) == (1, PAGES)
    assert alone(with_window(27), len(PAGES)) == PAGES


@with_library
@given(st.integers(0, 1 << 32), st.integers(-2, 2), st.booleans(), st.booleans())
def test_damaged_chunks_are_taken_as_they_are_alone(seed, more, sized, checked):
    rng = random.Random(seed)
    text = bytes(rng.choices(b"abcdef", k=500))
    chunk = bytearray(packed(text, write_content_size=sized, write_checksum=checked))
    for _ in range(rng.randrange(3)):
        chunk[rng.randrange(len(chunk))] ^= 1 << rng.randrange(8)
    done, data = filled([(bytes(chunk), len(text) + more)])
    if done:
        assert alone(bytes(chunk), len(text) + more) == data


@with_library
@pytest.mark.parametrize(
    "rows", [[(-1, 5, 5)], [(0, 1 << 40, 5)], [(5, 1 << 62, 5)], [(1 << 62, 5, 5)], [(0, -1, 5)]]
)
def test_places_outside_the_data_are_left(rows):
    room = np.zeros(100, np.uint8)
    assert fill(memoryview(packed()), np.array(rows, np.int64), 0, room) == (0, 0)
    with pytest.raises(ValueError, match="two sizes"):
        fill(memoryview(packed()), np.array(rows, np.int64), -1, room)
    with pytest.raises(ValueError, match="two sizes"):
        fill(memoryview(packed()), np.zeros((1, 2), np.int64), 0, room)


def test_other_chunks_are_for_their_decompressor():
    assert chunk_decompressor(b"zlib") is None
    assert chunk_decompressor(b"none") is None


def outcome(data):
    """All that is read of a file."""
    try:
        trace = read(open_source(data))
        return canonical(trace), [str(warning) for warning in trace.warnings]
    except TraceError as error:
        return str(error)


@with_library
def test_what_is_read_does_not_depend_on_the_library(monkeypatch):
    whole = rich("zstd")
    rng = random.Random(5)
    inputs = [whole]
    file = open_file(open_source(whole))
    spans = [(data.offset, data.limit) for buffer in file.buffers for data in buffer.cpus]
    places = [place for start, end in spans for place in range(start + 12, end)]
    for _ in range(60):
        data = bytearray(whole)
        for place in rng.sample(places, rng.choice([1, 1, 3])):
            data[place] ^= 1 << rng.randrange(8)
        inputs.append(bytes(data))
    found = [outcome(data) for data in inputs]
    monkeypatch.setattr(pages, "chunk_decompressor", lambda _: None)
    assert [outcome(data) for data in inputs] == found
    assert len({repr(each) for each in found}) > 5
