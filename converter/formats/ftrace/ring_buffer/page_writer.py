"""Writes events to the pages of a buffer: a stream of pages for each CPU, spooled as they fill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.ftrace.ring_buffer.compression import decompressor
from converter.formats.ftrace.ring_buffer.emit import PageEmitter, RecordColumns
from converter.formats.ftrace.ring_buffer.page_data import PageSpool, SpooledPages
from converter.ir.distinct_values import values_of
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: A chunk has at least ten pages, as many as trace-cmd puts in one (lib/trace-cmd, PAGES_IN_CHUNK), and this size.
_PAGES_IN_CHUNK = 10
_CHUNK_SIZE = 1 << 17
#: The kernel's largest sub-buffer has fewer bytes; readers accept pages up to this size.
_LARGEST_PAGE = 1 << 20


def chunk_size(page_size: int) -> int:
    """Return the size of a chunk of pages before compression."""
    return max(_PAGES_IN_CHUNK, _CHUNK_SIZE // page_size) * page_size


@dataclass(frozen=True, slots=True)
class Records:
    """Events as records: columns of a batch in the order of their streams, one entry per event.

    ts int64 in the buffer's clock; class_id and row as in the batch, cpu (never -1) and pid int32.
    """

    ts: NDArray[np.int64]
    class_id: NDArray[np.int32]
    row: NDArray[np.int32]
    cpu: NDArray[np.int32]
    pid: NDArray[np.int32]

    def select(self, which: NDArray[Any]) -> Records:
        """Return some of the events, or all in another order."""
        return Records(
            self.ts[which],
            self.class_id[which],
            self.row[which],
            self.cpu[which],
            self.pid[which],
        )


class PageWriter:
    """The pages of one buffer under construction. All of them grow when an event needs larger ones."""

    def __init__(
        self,
        strings: StringTable,
        *,
        page_size: int,
        long_size: int,
        big_endian: bool,
        compression: bytes,
        new_spool: SpoolMaker,
    ) -> None:
        self.page_size = page_size
        self._strings = strings
        self._long_size = long_size
        self._big_endian = big_endian
        self._decompress = decompressor(compression)
        self._new_spool = new_spool
        self._spool = new_spool(chunk_size(page_size))
        self._emitter = self._new_emitter()
        #: By CPU: the stream's number and its pages.
        self._streams: dict[int, tuple[int, SpooledPages]] = {}
        self._numbers: NDArray[np.int32] = np.full(0, -1, np.int32)

    def _new_emitter(self) -> PageEmitter:
        return PageEmitter(self.page_size, self._long_size, self._big_endian, self._strings)

    def append(
        self,
        events: Records,
        tables: Mapping[int, RecordColumns],
    ) -> None:
        """Append events, each to the stream of its CPU, in order.

        Raises:
            UnsupportedError: an event is larger than any page.

        """
        stream = self._streams_of(events.cpu)
        given = EventArrays(events, stream=stream, pid=events.pid)
        done = 0
        while done < len(stream):
            done, needed = self._emitter.emit(given, tables, done)
            if needed:
                self._grow(needed)
        for number, pages in self._streams.values():
            taken = self._emitter.take(number, chunk_size(self.page_size) // self.page_size)
            if taken is not None:
                self._spool.add(pages, taken)

    def append_pages(self, cpu: int, pages: bytes | NDArray[np.uint8], page_size: int) -> None:
        """Append the records of whole pages of another size, at most `self.page_size`."""
        number, spooled = self._stream(cpu)
        self._emitter.append_pages(number, pages, page_size)
        taken = self._emitter.take(number, chunk_size(self.page_size) // self.page_size)
        if taken is not None:
            self._spool.add(spooled, taken)

    def enlarge(self, page_size: int) -> None:
        """Make all pages at least this large."""
        if page_size > self.page_size:
            self._start_over(page_size)

    def finish(self) -> dict[int, SpooledPages]:
        """End all streams and return the pages by CPU."""
        for number, pages in self._streams.values():
            self._emitter.finish(number)
            taken = self._emitter.take(number, 1)
            if taken is not None:
                self._spool.add(pages, taken)
        self._spool.settle()
        return {cpu: pages for cpu, (_, pages) in sorted(self._streams.items())}

    def _streams_of(self, cpu: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the number of each event's stream; new CPUs are added."""
        if len(cpu) == 0:
            return cpu
        highest = int(cpu.max())
        if highest >= len(self._numbers):
            added = np.full(highest + 1 - len(self._numbers), -1, np.int32)
            self._numbers = np.concatenate((self._numbers, added))
        stream = self._numbers[cpu]
        if int(stream.min()) < 0:
            for number in values_of(cpu[stream < 0]).tolist():
                self._stream(number)
            stream = self._numbers[cpu]
        return stream

    def _stream(self, cpu: int) -> tuple[int, SpooledPages]:
        if cpu not in self._streams:
            number = self._emitter.add_stream()
            self._streams[cpu] = number, SpooledPages(self._spool)
            if cpu >= len(self._numbers):
                added = np.full(cpu + 1 - len(self._numbers), -1, np.int32)
                self._numbers = np.concatenate((self._numbers, added))
            self._numbers[cpu] = number
        return self._streams[cpu]

    def _grow(self, needed: int) -> None:
        if needed > _LARGEST_PAGE:
            raise UnsupportedError(
                field="page_size",
                expected=f"events of at most {_LARGEST_PAGE} bytes",
                found=needed,
            )
        self._start_over(1 << (needed - 1).bit_length())

    def _start_over(self, page_size: int) -> None:
        """Continue with larger pages, into which the records so far are copied."""
        old_size, old_streams, old_emitter = self.page_size, self._streams, self._emitter
        old_spool = self._spool
        for number, pages in old_streams.values():
            old_emitter.finish(number)
            taken = old_emitter.take(number, 1)
            if taken is not None:
                old_spool.add(pages, taken)
        old_spool.settle()
        self.page_size = page_size
        self._spool = self._new_spool(chunk_size(self.page_size))
        self._emitter = self._new_emitter()
        self._streams = {}
        # In the order of their numbers, so that these stay the same.
        for cpu, (_, pages) in old_streams.items():
            self._stream(cpu)
            for offset, size, plain_size in pages.extents:
                data = b"".join(old_spool.read(offset, size))
                if self._decompress is not None:
                    data = self._decompress(data, plain_size)
                self.append_pages(cpu, data, old_size)
        old_spool.close()


class SpoolMaker:
    """Makes the temporary files of one output and deletes them in the end."""

    def __init__(self, compression: bytes, *, big_endian: bool) -> None:
        from converter.formats.ftrace.ring_buffer.compressor import compressor

        self._compress = compressor(compression)
        self._byte_order = ">" if big_endian else "<"
        self._spools: list[PageSpool] = []

    def __call__(self, chunk_size: int) -> PageSpool:
        """Return a spool whose chunks have this size before compression."""
        spool = PageSpool(self._compress, self._byte_order, chunk_size)
        self._spools.append(spool)
        return spool

    def close(self) -> None:
        """Delete all temporary files."""
        for spool in self._spools:
            spool.close()
