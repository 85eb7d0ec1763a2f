"""Lossless conversion: embeds the trace as it was read in the output, if the format allows it.

Otherwise, what a target cannot hold would be lost. With `lossless` the whole trace, columns and sidecar, is encoded
according to `schemas/ir.proto`, compressed, and appended in records that other readers of the format skip. If the files
that it was read from represent it completely, they are embedded instead of its events (`sources`). Reading such a file
returns the trace that it was made from. A checksum over all that precedes the payload detects later changes of the
file, and one over the records detects damage. If either fails, the file's own contents count, and the payload is
dropped with a warning.

A file ends in frames, the last of which contains the footer; a directory has a hidden file of records, with the
checksum of every other file at its end.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import IO, Self

from converter.errors import TraceError, TraceWarning
from converter.formats.embedding import Embedding
from converter.formats.ir.reading import read as read_records
from converter.formats.ir.writing import RecordWriter
from converter.formats.lossless.footer import FOOTER_SIZE, HIDDEN_FILE, Footer, footer_of
from converter.formats.lossless.sources import reopened, source_records
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.storage.sink import Sink
from converter.storage.source import Source, spooled

_BLOCK = 1 << 20


class Recording:
    """The payload for a trace. A context manager, which deletes the temporary file that it is in.

    `trace` is the trace to write, `checksum` that of the records so far.
    """

    def __init__(self, trace: Trace) -> None:
        self._spool: IO[bytes] = tempfile.TemporaryFile(buffering=_BLOCK)  # noqa: SIM115 - closed on leaving
        self.trace = trace
        self.checksum = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def put(self, data: bytes) -> None:
        """Add records."""
        self.checksum = zlib.crc32(data, self.checksum)
        self._spool.write(data)

    def chunks(self, size: int) -> Iterator[bytes]:
        """Return the records of the whole trace; afterwards `checksum` covers all of them."""
        self._spool.seek(0)
        return iter(partial(self._spool.read, size), b"")


class _RecordingOfEvents(Recording):
    """Records a trace while its batches pass."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(replace(trace, make_batches=self._batches))
        self._source = trace
        self._records: RecordWriter | None = None
        self._complete = False

    def __exit__(self, *_: object) -> None:
        self._stop()
        super().__exit__()

    def _batches(self) -> Iterator[Batch]:
        if self._complete:
            yield from self._source.batches()
            return
        self._stop()
        self._spool.seek(0)
        self._spool.truncate()
        self.checksum = 0
        records = self._records = RecordWriter(self._source, self.put)
        for batch in self._source.batches():
            records.add(batch)
            yield batch
        self._complete = True

    def _stop(self) -> None:
        if self._records is not None:
            self._records.__exit__()
            self._records = None

    def chunks(self, size: int) -> Iterator[bytes]:
        if not self._complete:
            # The writer of the output did not need the rest.
            for _ in self._batches():
                pass
        assert self._records is not None
        self._records.finish()
        return super().chunks(size)


def recording_of(trace: Trace) -> Recording:
    """Return the recording of a trace, before any of its events are read, or of its source if that represents its
    events.

    Raises:
        TraceError: the source cannot be read.
    """
    records = source_records(trace)
    if records is None:
        return _RecordingOfEvents(trace)
    recording = Recording(trace)
    for record in records:
        recording.put(record)
    return recording


def embed(recording: Recording, sink: Sink, embedding: Embedding | None) -> None:
    """Append a recording to a complete output: a directory, or a file of a format that has frames."""
    if sink.is_directory:
        _embed_in_directory(recording, sink)
        return
    assert embedding is not None
    head = embedding.open_frames(sink)
    start = sink.tell()
    chunks = recording.chunks(embedding.frame_size)
    footer = bytes(Footer(start, sink.checksum(), recording.checksum))
    sink.write(head)
    for number, chunk in enumerate(chain(chunks, [footer])):
        sink.write(embedding.frame(sink, chunk, number))
    sink.write(embedding.close_frames(sink, start))


def _embed_in_directory(recording: Recording, sink: Sink) -> None:
    # The new file is not among those that have a checksum.
    lines = [f"{file.checksum():08x} {name}\n" for name, file in sorted(sink.files().items())]
    hidden = sink.create(HIDDEN_FILE)
    for chunk in recording.chunks(_BLOCK):
        hidden.write(chunk)
    start = hidden.tell()
    text = "".join(lines).encode("utf-8", "surrogateescape")
    hidden.write(text)
    hidden.write(bytes(Footer(start, zlib.crc32(text), recording.checksum)))


def _checksum(read: Callable[[int, int], bytes], size: int) -> int:
    checksum = 0
    for offset in range(0, size, _BLOCK):
        checksum = zlib.crc32(read(offset, min(_BLOCK, size - offset)), checksum)
    return checksum


def extract(
    source: Source, load_embedding: Callable[[], Embedding] | None
) -> tuple[Trace | None, Source, TraceWarning | None]:
    """Return the payload in an input, or None; the input without it; and what is wrong with it."""
    if source.is_directory:
        return _extract_from_directory(source)
    footer = footer_of(source)
    if footer is None or load_embedding is None:
        return None, source, None
    embedding = load_embedding()
    content = embedding.content(source, footer.start)
    before = content if embedding.restores else source
    if _checksum(before.read, footer.start) != footer.checksum:
        return None, content, _stale(source)
    try:
        chunks = _without_last(embedding.frames(source, footer.start))
        trace = _trace_in(chunks, source.name, footer.records)
    except TraceError:
        # Something was added after or between the frames.
        return None, source, _stale(source)
    return trace, content, _stale(source) if trace is None else None


def _extract_from_directory(
    source: Source,
) -> tuple[Trace | None, Source, TraceWarning | None]:
    if HIDDEN_FILE not in source.listdir():
        return None, source, None
    with source.open(HIDDEN_FILE) as hidden:
        footer = footer_of(hidden)
        if footer is None:
            return None, source, _stale(source)
        start = footer.start
        text = hidden.read(start, hidden.size - start - FOOTER_SIZE)
        if zlib.crc32(text) != footer.checksum or not _is_unchanged(source, text):
            return None, source, _stale(source)
        blocks = (
            hidden.read(offset, min(_BLOCK, start - offset)) for offset in range(0, start, _BLOCK)
        )
        trace = _trace_in(blocks, source.name, footer.records)
        return trace, source, _stale(source) if trace is None else None


def _is_unchanged(source: Source, lines: bytes) -> bool:
    """Return True if the files of a directory are those in the lines, with the same contents."""
    expected = {}
    for line in lines.decode("utf-8", "surrogateescape").splitlines():
        checksum, _, name = line.partition(" ")
        expected[name] = checksum
    names = [name for name in source.walk() if name != HIDDEN_FILE]
    if sorted(names) != sorted(expected):
        return False
    for name in names:
        with source.open(name) as file:
            if f"{_checksum(file.read, file.size):08x}" != expected[name]:
                return False
    return True


def _trace_in(chunks: Iterator[bytes], name: str, checksum: int) -> Trace | None:
    """Return the trace in these records; None if they do not match the checksum, or are not a trace."""
    found = 0

    def summed() -> Iterator[bytes]:
        nonlocal found
        for chunk in chunks:
            found = zlib.crc32(chunk, found)
            yield chunk

    records = spooled(summed(), name)
    if found == checksum:
        with suppress(TraceError):
            return reopened(records) or read_records(records)
    records.close()
    return None


def _without_last(frames: Iterator[bytes]) -> Iterator[bytes]:
    """Return the contents of the frames except the last, which is the footer's."""
    before = None
    for frame in frames:
        if before is not None:
            yield before
        before = frame


def _stale(source: Source) -> TraceWarning:
    return TraceWarning(
        message="the file was changed after a lossless conversion: what travelled in it is dropped",
        path=source.name,
        is_damage=False,
    )
