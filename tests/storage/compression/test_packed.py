"""Compressed inputs that are read in order: unpacked as they are read, without a copy."""

import bz2
import gzip
import lzma
import random
import tracemalloc
import zipfile
from io import BytesIO

import pytest
import zstandard

from converter import convert, open_trace
from converter.storage.compression import packed
from converter.storage.opening import open_source

TEXT = random.Random(7).randbytes(1 << 10) * 1024


def zipped(data):
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.json", data)
    return out.getvalue()


COMPRESS = {
    "gzip": lambda data: gzip.compress(data, 1),
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
    "xz": lambda data: lzma.compress(data, preset=0),
    "bzip2": lambda data: bz2.compress(data, 1),
    "zip": zipped,
}


@pytest.fixture
def small(monkeypatch):
    """All is large."""
    monkeypatch.setattr(packed, "_MOST_IN_MEMORY", 1 << 16)
    monkeypatch.setattr(packed, "_HEAD_SIZE", 1 << 14)
    monkeypatch.setattr(packed, "_TAIL_SIZE", 1 << 12)
    monkeypatch.setattr(packed, "_BEHIND", 1 << 17)


@pytest.fixture
def no_copy(monkeypatch):
    def refuse(*_):
        raise AssertionError("a copy is made")

    monkeypatch.setattr(packed, "spooled", refuse)


@pytest.fixture(params=COMPRESS)
def compressed(request):
    return COMPRESS[request.param]


@pytest.mark.usefixtures("small", "no_copy")
def test_what_is_read_in_order_is_the_contents(compressed):
    with open_source(compressed(TEXT)) as source:
        assert source.read(0, 100) == TEXT[:100]
        source.expect_order()
        assert source.size == len(TEXT)
        for _ in range(2):
            pieces = []
            for offset in range(0, len(TEXT), 100_000):
                pieces.append(source.read(offset, 100_000))
                # Back, as where a window cuts a record.
                assert source.read(offset + 10, 5) == TEXT[offset + 10 : offset + 15]
            assert b"".join(pieces) == TEXT
        assert source.read(len(TEXT) - 5, 10) == TEXT[-5:]
        assert source.read(len(TEXT), 10) == b""


@pytest.mark.usefixtures("small")
def test_what_is_read_in_any_order_is_the_contents(compressed):
    choice = random.Random(1)
    places = [choice.randrange(len(TEXT)) for _ in range(30)]
    for in_order in (False, True):
        with open_source(compressed(TEXT)) as source:
            if in_order:  # which turns out not to be so
                source.expect_order()
            for place in places:
                assert source.read(place, 50) == TEXT[place : place + 50]


@pytest.mark.usefixtures("small", "no_copy")
def test_a_closed_source_is_not_read():
    source = open_source(gzip.compress(TEXT))
    source.expect_order()
    assert source.read(1 << 19, 10) == TEXT[1 << 19 :][:10]
    source.close()
    with pytest.raises(ValueError, match="closed"):
        source.read(1 << 19, 10)


@pytest.mark.usefixtures("small", "no_copy")
def test_damage_is_told_once():
    data = gzip.compress(TEXT, 1)
    with open_source(data[: len(data) // 2]) as source:
        source.expect_order()
        half = b"".join(source.read(place, 1 << 16) for place in range(0, source.size, 1 << 16))
        assert half == TEXT[: len(half)]
        assert len(half) > 1 << 17
        assert source.read(0, 1 << 16) == TEXT[: 1 << 16]
        assert [warning.message for warning in source.warnings] == ["the gzip data ends early"]


SMALL = "roundtrip_fixtures/trace_cmd/small.dat"


def times(source):
    with open_trace(source) as trace:
        return [batch.ts.tolist() for batch in trace.batches()]


@pytest.mark.usefixtures("small", "no_copy")
@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("format", ["chrome", "perfetto", "fxt", "ir", "aix"])
def test_a_format_that_is_read_in_order_needs_no_copy(format, lossless, tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "_MOST_IN_MEMORY", 1 << 12)
    plain = tmp_path / "plain"
    convert(SMALL, plain, target_format=format, lossless=lossless and format != "ir")
    assert times(gzip.compress(plain.read_bytes())) == times(plain)


@pytest.mark.usefixtures("no_copy")
def test_a_bomb_takes_neither_memory_nor_a_file():
    data = b'{"traceEvents": [' + b" " * (1 << 26) + b'{"name": "a", "ph": "i", "ts": 1}]}'
    bomb = gzip.compress(data, 1)
    del data
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    try:
        with open_trace(bomb) as trace:
            assert sum(map(len, trace.batches())) == 1
        assert tracemalloc.get_traced_memory()[1] < 48 << 20
    finally:
        tracemalloc.stop()
