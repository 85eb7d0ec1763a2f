"""Raw AIX streams built entry by entry, as the trcfmt document draws them, and ways to read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from support.traces.strategies import batch_of

from converter.formats.aix.layout import MAGIC
from converter.formats.aix.reading.reader import read
from converter.formats.aix.writing.writer import write
from converter.ir.collect import with_batches
from converter.ir.columns import value
from converter.ir.events import EventClass
from converter.ir.trace import Trace
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

VARIANTS = ("64", "32")


def padded(data: bytes, width: int) -> bytes:
    """Data up to a boundary of `width` bytes."""
    return data + bytes(-len(data) % width)


def entry_64(
    hook: int,
    data: bytes = b"",
    *,
    sub: int = 0,
    word: int | None = None,
    narrow: bool = False,
    tid: int = 1,
    ts: int | None = 1,
    unused: int = 0,
) -> bytes:
    """An entry of a 64-bit kernel (I.B); generic with `word`, of a 32-bit application if `narrow`."""
    flags = (0x8000 if ts is not None else 0) | (0x4000 if word is not None else 0)
    flags |= (0x2000 if narrow else 0) | unused
    head = b"".join(part.to_bytes(2, "big") for part in (flags, len(data), hook, sub))
    body = b"" if word is None else word.to_bytes(4 if narrow else 8, "big")
    tail = tid.to_bytes(8, "big") + (b"" if ts is None else ts.to_bytes(8, "big"))
    return head + padded(body + data, 8) + tail


def words_64(hook: int, *words: int, **more: Any) -> bytes:
    """A non-generic entry of a 64-bit kernel with these data words."""
    width = 4 if more.get("narrow") else 8
    return entry_64(hook, b"".join(word.to_bytes(width, "big") for word in words), **more)


def entry_32(
    hook: int,
    data: bytes = b"",
    *,
    sub: int = 0,
    word: int | None = None,
    tid: int = 1,
    ts: int | None = 1,
) -> bytes:
    """An entry of a 32-bit kernel (I.A); generic with `word`, else of 0, 1 or 5 data words."""
    kind = 0 if word is not None else {0: 1, 4: 2, 20: 6}[len(data)]
    kind |= 8 if ts is not None else 0
    low = len(data) if word is not None else sub
    head = (hook << 20 | kind << 16 | low).to_bytes(4, "big")
    body = b"" if word is None else word.to_bytes(4, "big")
    tail = tid.to_bytes(4, "big") + (b"" if ts is None else ts.to_bytes(4, "big"))
    return head + padded(body + data, 4) + tail


def words_32(hook: int, *words: int, **more: Any) -> bytes:
    """A non-generic entry of a 32-bit kernel: of none, one or five data words, zeros behind those given."""
    given = [*words, *[0] * (5 - len(words))] if len(words) > 1 else words
    return entry_32(hook, b"".join(word.to_bytes(4, "big") for word in given), **more)


def stream(variant: str, *entries: bytes) -> bytes:
    """A stream of entries."""
    return (MAGIC if variant == "64" else b"") + b"".join(entries)


def opened(data: bytes, variant: str = "64", **options: Any) -> Trace:
    """A stream being read."""
    return read(open_source(data), variant=variant, **options)


def from_path(path: Path) -> Trace:
    """A file with whatever is beside it."""
    return read(open_source(path))


def written(trace: Trace, variant: str = "64") -> bytes:
    """A trace as a stream."""
    return both_written(trace, variant)[0]


def trace_of_rows(*classes: EventClass, rows: Sequence[Any] = (), **tables: Any) -> Trace:
    """A trace of these classes and events, all in one batch."""
    trace = Trace(format="none", event_classes=list(classes), **tables)
    return with_batches(trace, [batch_of(trace, list(rows))] if rows else [])


def both_written(trace: Trace, variant: str = "64") -> tuple[bytes, bytes | None]:
    """A trace as a stream, and the templates beside it (None for a copy)."""
    sink = BufferSink()
    write(trace, sink, variant)
    beside = sink.companions.get(".trcfmt")
    return sink.getvalue(), None if beside is None else beside.getvalue()


@dataclass(frozen=True)
class Row:
    """An event, its values as Python objects by the names of its fields."""

    ts: int
    name: str
    kind: str
    cpu: int
    tid: int | None
    values: dict[str, Any]


def rows(trace: Trace) -> list[Row]:
    """All events of a trace."""
    result = []
    for batch in trace.batches():
        for i in range(len(batch)):
            id = int(batch.class_id[i])
            event_class = trace.event_classes[id]
            values = {
                field.name: value(
                    batch.tables[id].column(k), field.type, int(batch.row[i]), trace.strings
                )
                for k, field in enumerate(event_class.fields)
            }
            thread = int(batch.thread[i])
            tid = None if thread < 0 else trace.threads[thread].tid
            kind = event_class.kind.name
            result.append(
                Row(int(batch.ts[i]), event_class.name, kind, int(batch.cpu[i]), tid, values)
            )
    return result


@st.composite
def entries(draw: DrawFn, variant: str) -> bytes:
    """Entries of every form, of documented hooks and of others."""
    hooks = st.sampled_from((0x000, 0x006, 0x00A, 0x00B, 0x106, 0x134, 0x139, 0x465, 0x5F5))
    hook = draw(st.one_of(hooks, st.integers(0, 0xFFF)))
    more: dict[str, Any] = {
        "tid": draw(st.one_of(st.integers(0, 3), st.integers(0, (1 << int(variant)) - 1))),
        "ts": draw(st.one_of(st.none(), st.integers(0, (1 << int(variant)) - 1))),
    }
    generic = draw(st.booleans())
    wide = variant == "64" and draw(st.booleans())
    width = 8 if wide else 4
    if generic:
        more["word"] = draw(st.integers(0, (1 << 8 * width) - 1))
        data = draw(st.binary(max_size=40))
    elif variant == "64":
        data = draw(st.binary(max_size=40))
    else:
        size = draw(st.sampled_from((0, 4, 20)))
        data = draw(st.binary(min_size=size, max_size=size))
    if variant == "32":
        return entry_32(hook, data, sub=0 if generic else draw(_sub), **more)
    id = draw(st.one_of(st.just(hook << 4), st.integers(0, 0xFFFF)))
    unused = draw(st.sampled_from((0, 0, 0, 1, 0x1FFF)))
    return entry_64(id, data, sub=draw(_sub), narrow=not wide, unused=unused, **more)


_sub = st.one_of(st.sampled_from((0, 0x25C)), st.integers(0, 0xFFFF))


@st.composite
def streams(draw: DrawFn, variant: str) -> bytes:
    """Streams of entries of every form."""
    made: Sequence[bytes] = draw(st.lists(entries(variant), min_size=1, max_size=8))
    return stream(variant, *made)


def every_form(variant: str) -> bytes:
    """A stream with an entry of every form: what `roundtrip_fixtures/aix/every-form-*` hold."""
    conversion = b"".join(word.to_bytes(8, "big") for word in (1000, 512, 2))
    wide = bytes.fromhex("50000005") + b"".join(word.to_bytes(8, "big") for word in range(1, 6))
    if variant == "64":
        made = [
            entry_64(0x00A0, conversion, word=0, sub=0x25C, ts=100),
            words_64(0x0010, ts=110),
            words_64(0x1060, 8, 9, 60, 7, 60, tid=9, ts=120),
            entry_64(0x1340, b"/usr/bin/ksh\0", word=8, tid=9, ts=130),
            words_64(0x1010, 0xD0004AF8, sub=5, tid=9, ts=140),
            words_64(0x1040, 2**64 - 2, sub=5, tid=9, ts=150),
            words_64(0x1390, 10, 11, tid=9, ts=160),
            words_64(0x5000, 1, 2, 3, 4, 5, narrow=True, sub=5, tid=9, ts=170),
            words_64(0x5F51, 1, tid=9, ts=None),
            entry_64(0x5000, b"hello\0", word=1, sub=5, tid=9, ts=180),
            entry_64(0x5000, b"hello\0", word=1, narrow=True, sub=5, tid=9, ts=None),
            words_64(0x0060, 1, 51066, ts=190),
            words_64(0x0020, ts=200),
        ]
        return stream("64", *made)
    made = [
        entry_32(0x00A, conversion, word=0x25C, ts=100),
        words_32(0x001, ts=110),
        words_32(0x106, 8, 9, 60, 7, 60, tid=9, ts=120),
        entry_32(0x134, b"/usr/bin/ksh\0", word=8, tid=9, ts=130),
        words_32(0x101, 0xD0004AF8, sub=5, tid=9, ts=140),
        words_32(0x104, 2**32 - 2, sub=5, tid=9, ts=150),
        words_32(0x139, 10, 11, tid=9, ts=160),
        entry_32(0x00B, wide, word=0x80000028, tid=9, ts=170),
        entry_32(0x00B, wide[:12] + b"hello\0", word=0x40000006, tid=9, ts=None),
        words_32(0x500, 1, tid=9, ts=None),
        entry_32(0x500, b"hello\0", word=1, tid=9, ts=180),
        words_32(0x006, 1, 51066, ts=190),
        words_32(0x002, ts=200),
    ]
    return stream("32", *made)
