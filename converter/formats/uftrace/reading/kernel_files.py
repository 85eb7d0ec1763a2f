"""The kernel's files: kernel_header, kallsyms and kernel-cpuN.dat (utils/kernel.c).

kernel-cpuN.dat has pages of the kernel's ring buffer, like trace.dat, and kernel_header the formats of their records.
So they are presented as sections of a trace.dat file, and read by the same code:

    PAGE_SIZE: 4096
    LONG_SIZE: 8
    ENDIAN: LE
    TRACEFS: events/header_page: 205
    (as many bytes as stated)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from converter.errors import TraceError
from converter.formats.ftrace.event_format.event_classes import EventClasses
from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.event_format.messages import KernelTexts
from converter.formats.ftrace.event_format.syntax import EventFormat
from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.recording import (
    Buffer,
    CpuData,
    Recording,
    Section,
    check_page_size,
)
from converter.formats.ftrace.ring_buffer.batches import Decoding, StreamReader
from converter.formats.ftrace.ring_buffer.pages import PageStream
from converter.formats.ftrace.ring_buffer.prescan import PagePrescan, prescan_pages
from converter.formats.ftrace.ring_buffer.timestamps import Timestamps
from converter.formats.ftrace.symbols import kernel_symbols
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.reading.event_streams import ReadyEvents
from converter.ir.symbols import SymbolTable
from converter.ir.trace import Trace
from converter.kernels.tables.tasks import TaskTable
from converter.storage.opening import open_source
from converter.storage.pool.workers import TaskGroup
from converter.storage.window_memory import WindowMemory

HEADER_FILE = "kernel_header"
SYMBOLS_FILE = "kallsyms"
_CPU_FILE = re.compile(r"kernel-cpu(\d{1,5})\.dat", re.ASCII)
_BLOCK = re.compile(rb"TRACEFS: ([^\n:]+): (\d{1,9})\n")
_SETTING = re.compile(rb"(PAGE_SIZE|LONG_SIZE|ENDIAN): *(\w+)\n")


@dataclass(slots=True)
class KernelHeader:
    """The content of kernel_header; formats by system, in the order of the file."""

    page_size: int = 4096
    long_size: int = 8
    big_endian: bool = False
    formats: dict[str, list[bytes]] = field(default_factory=dict)


def parse_kernel_header(text: bytes) -> KernelHeader:
    """Parse kernel_header.

    Raises:
        TraceError: a line is of an unknown kind, a block is cut off, or a size impossible.

    """
    header = KernelHeader()
    at = 0
    while at < len(text):
        if setting := _SETTING.match(text, at):
            value = setting[2].decode("ascii", "replace")
            if setting[1] == b"ENDIAN":
                header.big_endian = value == "BE"
            elif not value.isdecimal() or len(value) > 9:
                raise TraceError(offset=at, field="kernel_header", expected="a number", found=value)
            elif setting[1] == b"PAGE_SIZE":
                header.page_size = int(value)
            else:
                header.long_size = int(value)
            at = setting.end()
        elif block := _BLOCK.match(text, at):
            size = int(block[2])
            body = text[block.end() : block.end() + size]
            if len(body) < size:
                raise TraceError(
                    "the description is cut off", offset=at, field="kernel_header", found=block[1]
                )
            parts = block[1].decode("utf-8", "surrogateescape").split("/")
            if len(parts) == 4 and parts[3] == "format":
                header.formats.setdefault(parts[1], []).append(body)
            at = block.end() + size
        elif text[at] == 0x0A:
            at += 1
        else:
            raise TraceError(
                offset=at,
                field="kernel_header",
                expected="a setting or TRACEFS:",
                found=text[at : at + 40],
            )
    check_page_size(header.page_size)
    if header.long_size not in (4, 8):
        raise TraceError(field="kernel_header", expected="longs of 4 or 8", found=header.long_size)
    return header


class NamedFormats(EventFormats):
    """Formats, of which some have another name than in their text: (system, name) by type."""

    def __init__(self, file: Recording, names: Mapping[int, tuple[str, str]]) -> None:
        self._names = names
        super().__init__(file)

    def get(self, type_id: int) -> EventFormat | None:
        """Return the parsed format of a type; None if there is none that can be parsed."""
        format = super().get(type_id)
        if format is None or type_id not in self._names:
            return format
        system, name = self._names[type_id]
        return replace(format, system=system, name=name)


class KernelStream:
    """The events of a kernel-cpuN.dat."""

    def __init__(self, reader: StreamReader, cpu: int, kernel: KernelFiles) -> None:
        self.cpu = cpu
        self._reader = reader
        self._kernel = kernel

    def next(self) -> ReadyEvents | None:
        """Return the next events, None after the last."""
        events = self._reader.next(None)
        self._kernel.report(self._reader.errors, self.cpu)
        self._reader.errors = []
        if events is None:
            return None
        return ReadyEvents(
            events.ts,
            events.class_id,
            events.thread,
            events.start,
            events.size,
            events.count,
            events.segment,
        )


class KernelFiles:
    """The kernel's files of a directory; `names` are the names of events that differ from those in their formats.

    Raises:
        TraceError: there is no kernel_header, or it is invalid.

    """

    def __init__(self, directory: DataDirectory, names: Mapping[int, tuple[str, str]]) -> None:
        self._directory = directory
        header = parse_kernel_header(directory.read(HEADER_FILE))
        order = ">" if header.big_endian else "<"
        ftrace = header.formats.pop("ftrace", [])
        sections = {
            SectionId.FTRACE_EVENTS: _group(ftrace, order),
            SectionId.EVENT_FORMATS: struct.pack(f"{order}I", len(header.formats))
            + b"".join(
                system.encode("utf-8", "surrogateescape") + b"\0" + _group(formats, order)
                for system, formats in header.formats.items()
            ),
        }
        symbols = directory.read_if_there(SYMBOLS_FILE)
        if symbols is not None:
            sections[SectionId.KALLSYMS] = struct.pack(f"{order}I", len(symbols)) + symbols
        self._file = Recording(
            format="uftrace",
            source=open_source(b"".join(sections.values())),
            big_endian=header.big_endian,
            long_size=header.long_size,
            page_size=header.page_size,
        )
        offset = 0
        for id, data in sections.items():
            self._file.sections.append(Section(self._file, id, 0, 0, offset, len(data)))
            offset += len(data)
        self._long_size = header.long_size
        self.formats = NamedFormats(self._file, names)
        self.symbols: SymbolTable | None = kernel_symbols(self._file)
        self._streams = list(self._page_streams(header.page_size))
        self.classes: EventClasses | None = None
        self._prescan: PagePrescan | None = None

    def _page_streams(self, page_size: int) -> Iterator[PageStream]:
        names = sorted(
            (int(match[1]), name)
            for name in self._directory.names
            if (match := _CPU_FILE.fullmatch(name))
        )
        memory = WindowMemory()
        for cpu, name in names:
            try:
                source = self._directory.open(name)
            except TraceError as error:
                self._directory.warn(error)
                continue
            if source.size == 0:
                continue
            data = CpuData(cpu, 0, source.size, source.size)
            buffer = Buffer(b"", b"mono", page_size, False, (data,))
            file = replace(self._file, source=source, sections=[])
            yield PageStream(file, buffer, data, len(names), memory)

    def prescan(self) -> TaskTable:
        """Walk all pages once and return the tasks in them."""
        self._prescan = prescan_pages(
            self._streams, self.formats, self._long_size, big_endian=self._file.big_endian
        )
        return self._prescan.tasks

    def add_classes(self, trace: Trace) -> None:
        """Declare the classes of the existing records."""
        assert self._prescan is not None, "the pages have not been walked"
        self.classes = EventClasses(
            trace, self.formats, KernelTexts(self._file, self.symbols), self._long_size
        )
        self.classes.add_types(self._prescan.counts.nonzero()[0].tolist())
        if self._prescan.missed:
            self.classes.add_missed()
        self.report(self._prescan.errors, None)
        for warning in self._file.warnings:
            self._directory.warn(warning.to_error())

    def streams(self, trace: Trace, tasks: TaskTable, pool: TaskGroup) -> list[KernelStream]:
        """Return a stream for each CPU, in the order of CPUs."""
        assert self.classes is not None, "no classes have been declared"
        decoding = Decoding(
            self.formats,
            self.classes,
            len(trace.event_classes),
            tasks,
            Timestamps(),
            self._long_size,
            self._file.big_endian,
        )
        return [
            KernelStream(StreamReader(decoding, stream, pool, ahead=1), stream.cpu, self)
            for stream in self._streams
        ]

    @property
    def big_endian(self) -> bool:
        """True if records are big-endian."""
        return self._file.big_endian

    def report(self, errors: list[TraceError], cpu: int | None) -> None:
        """Keep damage as warnings."""
        for error in errors:
            error.format = "uftrace"
            self._directory.warn(error, None if cpu is None else f"kernel-cpu{cpu}.dat")


def _group(formats: list[bytes], order: str) -> bytes:
    """Return formats as in a section of a trace.dat: their number, then each preceded by its size."""
    return struct.pack(f"{order}I", len(formats)) + b"".join(
        struct.pack(f"{order}Q", len(text)) + text for text in formats
    )
