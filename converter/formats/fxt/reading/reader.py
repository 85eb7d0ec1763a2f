"""Reads FXT: the scan kernel decodes windows of the file, each into a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceWarning, note, too_many_holes
from converter.formats.fxt.mapping import (
    EXTENDED,
    EXTENSION,
    NATIVE,
    SEMANTICS,
    SHAPES,
    UNREGISTERED,
    Codec,
    argument_field,
)
from converter.formats.fxt.reading.columns import WindowValues
from converter.formats.fxt.reading.prescan import prescan
from converter.formats.fxt.reading.resync import Search
from converter.formats.fxt.reading.scan import (
    DONE,
    FULL,
    INCOMPLETE,
    SUSPECT,
    TOO_MANY_PROVIDERS,
    ZERO_SIZE,
    Scanner,
)
from converter.formats.fxt.record_types import RecordType
from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass, NativeRecords, Table
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.kept import Kept
from converter.limits import allowed, limit
from converter.storage.source import Source
from converter.streaming.skimming import Skimming, windows

#: Bytes of the file per batch: usually 50,000 to 250,000 events.
WINDOW = 4 << 20
#: Larger than any window.
_ALL = 1 << 62
_GOES_ON = "records go on after the damage"


def read(source: Source) -> Trace:
    """Return the trace in an FXT file of either byte order.

    Names of processes and threads are added when a pass reaches their records.

    Raises:
        TraceError: the file does not start with the magic number record.

    """
    return _Tables(source).trace


class _Tables:
    """State shared by passes over the file: the trace, whose tables are filled by the pass that gets furthest.

    Lists are indexed by the numbers of scanners, which are the same in every pass.
    """

    def __init__(self, source: Source) -> None:
        found = prescan(source)
        self.source = source
        self.big_endian = found.order == "big"
        self.trace = Trace(
            format="fxt",
            semantics=replace(SEMANTICS, rounded_rate=found.has_rounded_rate),
            variant="be" if self.big_endian else "",
            clock=found.clock,
            sidecar=found.sidecar,
            warnings=found.warnings,
            make_batches=lambda: _Pass(self).batches(),
            progress=lambda: (self.offset, self.source.size),
        )
        self.trace.source_batches = self.trace.make_batches
        self.trace.seeking = Skimming(source, self._skim, self._read_from, found.last)
        self._scanner: Scanner | None = None
        self.offset = 0
        self.class_ids: list[int] = []
        self.codecs: list[list[Codec]] = []
        self.widths: list[int] = []
        self.threads: list[int] = []
        self.processes: list[int] = []
        self.names_given = 0
        self._process_of_pid: dict[int, int] = {}

    def scanner(self) -> Scanner:
        """Return the scanner of a pass."""
        rate = self.trace.clock.ticks_per_second
        assert rate is not None
        scanner = Scanner(
            self.trace.strings, big_endian=self.big_endian, ticks_per_second=int(rate)
        )
        if self._scanner is not None:
            scanner.number_as(self._scanner)
        self._scanner = scanner
        return scanner

    def _skim(self, kept: Kept) -> bool:
        scanner = self.scanner()
        status = INCOMPLETE
        source = self.source
        for window, offset in windows(source, lambda: scanner.consumed):
            status = scanner.skim(window, offset, kept)
            if status not in (DONE, INCOMPLETE):
                return False
        self.extend(scanner)
        return status == DONE

    def _read_from(self, source: Source) -> None:
        self.source = source

    def extend(self, scanner: Scanner) -> None:
        """Add the classes, processes and threads that the scanner has found first in this pass."""
        trace = self.trace
        for code, arguments in scanner.signatures(len(self.class_ids)):
            self._add_class(code, arguments)
        for pid in scanner.processes(len(self.processes)):
            self._process_of_pid[pid] = len(trace.processes)
            self.processes.append(len(trace.processes))
            trace.processes.append(Process(pid))
        for pid, tid in scanner.threads(len(self.threads)):
            self.threads.append(len(trace.threads))
            name = f"slot {tid & 0xFF}" if tid >= UNREGISTERED and not pid else ""
            trace.threads.append(Thread(tid, self._process_of_pid[pid], name))

    def _add_class(self, code: int, arguments: list[tuple[int, int]]) -> None:
        shape = SHAPES[code & ~EXTENDED]
        fields = [field for field, _ in shape.fields]
        codecs = [codec for _, codec in shape.fields]
        for argument_type, name in arguments:
            text = self.trace.strings[name].decode("utf-8", "surrogateescape")
            field, codec = argument_field(shape.kind, argument_type, text)
            fields.append(field)
            codecs.append(codec)
        if code & EXTENDED:
            fields.append(EXTENSION)
            codecs.append(Codec.BYTES)
        self.class_ids.append(
            self.trace.add_class(EventClass(shape.kind, fields=tuple(fields), timed=shape.timed))
        )
        self.codecs.append(codecs)
        self.widths.append(len(codecs) + codecs.count(Codec.PAYLOAD))

    def name(self, is_thread: bool, number: int, name: int) -> None:
        """Name a thread or process."""
        text = self.trace.strings[name].decode("utf-8", "surrogateescape")
        if is_thread:
            self.trace.threads[self.threads[number]].name = text
        else:
            self.trace.processes[self.processes[number]].name = text

    def warn(self, warning: TraceWarning) -> None:
        """Add a warning, unless an earlier pass has done so."""
        note(self.trace.warnings, warning)


class _Pass:
    """One pass over the file."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables
        self._scanner = tables.scanner()
        self._names = 0
        #: The offset of the first oddity of each kind.
        self._first: dict[str, int] = {}

    def batches(self) -> Iterator[Batch]:
        source, scanner = self._tables.source, self._scanner
        offset = 0
        delivered = 0
        usual = self._tables.trace.bytes_of_a_window(WINDOW)
        wanted = usual
        damage: TraceWarning | None = None
        suspects = limit("fxt.suspects")
        search = Search(source, "big" if self._tables.big_endian else "little")
        while offset < source.size:
            # np.empty() does not clear it first, as bytearray() does.
            buffer = np.empty(min(wanted, source.size - offset), np.uint8).data
            window = buffer[: source.read_into(offset, buffer)]
            is_short = len(window) < len(buffer)
            status, batch = self._scan(window, offset)
            if scanner.consumed:
                delivered += len(batch)
                self._tables.offset = offset + scanner.consumed
                yield batch
            rest = window[scanner.consumed :]
            offset += scanner.consumed
            wanted = usual
            if status == INCOMPLETE:
                needed = self._record_size(rest)
                if offset + needed <= source.size and not is_short:
                    wanted = max(usual, needed)
                    continue
                damage = self._warning(
                    offset,
                    expected=f"a record of {needed:,} bytes",
                    found=f"{source.size - offset:,} before the end of the file",
                )
            elif status == DONE and is_short:
                damage = self._warning(
                    offset, message="the file has become shorter while it was read"
                )
            elif status == SUSPECT:
                size = self._record_size(rest)
                inside = search.next(offset + 8, offset + size) if suspects > 0 else None
                suspects -= 1
                if suspects < 0:
                    what = "records are no longer looked for in others that may be none"
                    expected = allowed("fxt.suspects")
                    self._tables.warn(
                        self._warning(offset, is_damage=False, message=what, expected=expected)
                    )
                if inside is None:
                    # It has no records inside, so it is kept as it is.
                    scanner.trusted = size if suspects >= 0 else _ALL
                    continue
                self._tables.warn(
                    self._warning(offset, message="a record that is none, with others inside")
                )
                self._tables.warn(self._warning(inside, message=_GOES_ON))
                offset = inside
            elif status not in (DONE, FULL):
                damage = self._damage(status, offset)
            scanner.trusted = 0 if suspects >= 0 else _ALL
            if damage is not None:
                following = None
                if status in (ZERO_SIZE, INCOMPLETE):
                    following = search.next(offset + 8, cut_off=status == INCOMPLETE)
                if search.given_up:
                    self._tables.warn(damage)
                    damage = (
                        too_many_holes(offset).within(format="fxt", path=source.name).to_warning()
                    )
                if delivered == 0 and following is None:
                    raise damage.to_error()
                self._tables.warn(damage)
                if following is None:
                    break
                self._tables.warn(self._warning(following, message=_GOES_ON))
                offset, damage = following, None
        self._warn_of_oddities()

    def _scan(self, window: memoryview, offset: int) -> tuple[int, Batch]:
        scanner, tables = self._scanner, self._tables
        # There cannot be more events than words, except for a large record.
        room = min(len(window), WINDOW) // 8 + 1
        ts, first, starts, sizes = (np.empty(room, np.int64) for _ in range(4))
        class_id, row, thread, cpu = (np.empty(room, np.int32) for _ in range(4))
        values = np.empty(2 * room + 32, np.uint64)
        common = {"class_id": class_id, "row": row, "thread": thread, "cpu": cpu}
        columns = OutputArrays(ts=ts, **common, first=first, start=starts, size=sizes)
        status, events, value_count = scanner.scan(window, columns, values)
        tables.extend(scanner)
        self._follow_names()
        self._note_oddities(offset)
        counts = scanner.row_counts()
        data = window[: scanner.consumed]
        decoded = WindowValues(
            data,
            values[:value_count],
            first[:events],
            class_id[:events],
            row[:events],
            counts,
            np.array(tables.widths[: len(counts)], np.int32),
            tables.trace.strings,
            big_endian=tables.big_endian,
        )
        return status, Batch(
            ts=ts[:events],
            class_id=_renumbered(class_id[:events], tables.class_ids),
            row=row[:events],
            tables={
                tables.class_ids[number]: self._table(decoded, number, int(counts[number]))
                for number in np.flatnonzero(counts).tolist()
            },
            thread=_renumbered(thread[:events], tables.threads),
            cpu=cpu[:events],
            native=NativeRecords("fxt", data, starts[:events], sizes[:events]),
        )

    def _table(self, decoded: WindowValues, number: int, rows: int) -> Table:
        columns: list[Column | Callable[[], Column]] = []
        word = 0
        kind = self._tables.trace.event_classes[self._tables.class_ids[number]].kind
        for codec in self._tables.codecs[number]:
            if codec is Codec.PAYLOAD and kind is NATIVE.kind:
                columns.append(decoded.records(number, word))
            else:
                columns.append(decoded.column(number, word, codec))
            word += 2 if codec is Codec.PAYLOAD else 1
        return Table(rows, columns)

    def _follow_names(self) -> None:
        """Assign names, unless an earlier pass has done so: it may have assigned later ones since."""
        for is_thread, number, name in self._scanner.namings():
            self._names += 1
            if self._names > self._tables.names_given:
                self._tables.names_given = self._names
                self._tables.name(is_thread, number, name)

    # Damage and oddities

    def _record_size(self, rest: memoryview) -> int:
        """Return the size of the record at the start of `rest`, as far as its header is there."""
        if len(rest) < 8:
            return 8
        header = int.from_bytes(rest[:8], "big" if self._tables.big_endian else "little")
        is_large = header & 15 == RecordType.LARGE
        return ((header >> 4) & (0xFFFF_FFFF if is_large else 0xFFF)) * 8

    def _warning(self, offset: int | None, *, is_damage: bool = True, **parts: str) -> TraceWarning:
        source = self._tables.source
        return TraceWarning(
            format="fxt",
            path=source.name,
            offset=None if offset is None else source.offset_in_file(offset),
            is_damage=is_damage,
            **parts,
        )

    def _damage(self, status: int, offset: int) -> TraceWarning:
        if status == TOO_MANY_PROVIDERS:
            return self._warning(offset, message="more than 4,096 trace providers")
        assert status == ZERO_SIZE
        return self._warning(offset, field="record size", expected="1 to 4095 words", found="0")

    def _note_oddities(self, offset: int) -> None:
        scanner = self._scanner
        for name, (count, first) in (
            ("string", scanner.unresolved_strings),
            ("thread", scanner.unresolved_threads),
            ("malformed", scanner.malformed),
            ("overflow", scanner.overflows),
            ("rate", scanner.zero_rates),
        ):
            if count:
                self._first.setdefault(name, offset + first)

    def _warn_of_oddities(self) -> None:
        scanner = self._scanner
        for name, (count, _), text in (
            ("string", scanner.unresolved_strings, "references to strings not registered: empty"),
            (
                "thread",
                scanner.unresolved_threads,
                "references to threads not registered: one a slot",
            ),
            ("malformed", scanner.malformed, "malformed records, kept as they are"),
            ("overflow", scanner.overflows, "records at times beyond 63 bits, kept as they are"),
            ("rate", scanner.zero_rates, "clocks of 0 ticks per second: ticks are nanoseconds"),
        ):
            if name in self._first:
                offset, message = self._first[name], f"{count:,} {text}"
                is_damage = name != "overflow"
                self._tables.warn(self._warning(offset, is_damage=is_damage, message=message))


def _renumbered(numbers: NDArray[np.int32], table: list[int]) -> NDArray[np.int32]:
    """Convert the scanner's numbers to the trace's, which differ only if other code has added to its tables."""
    if not table or table[-1] == len(table) - 1:
        return numbers
    # The last entry is for -1.
    return np.array([*table, -1], np.int32)[numbers]
