"""The parts of a trace.dat file of any version: header, options, sections, and the location of each CPU's data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from converter.errors import TraceError, TruncatedError
from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.recording import Buffer, CpuData, Recording
from converter.formats.trace_cmd.layout import SECTION_HEADER_SIZE, Layouts, layouts
from converter.limits import allowed
from converter.limits import limit as limit_of


@dataclass(slots=True, kw_only=True)
class TraceFile(Recording):
    """An opened file: everything except events; the large parts are still unread.

    `options` are (id, data) in the order of the file, over all options sections, without the DONEs.
    """

    version: int
    compression_version: bytes = b""
    options: list[tuple[int, bytes]] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    #: The number of CPUs that version 6 states before its options.
    cpu_count: int | None = None
    #: The distances by which data after gaps has moved to lower offsets.
    moved: set[int] = field(default_factory=set)
    _strings: bytes | None = None

    @property
    def layout(self) -> Layouts:
        """The structures in the file's byte order."""
        return layouts(self.big_endian)

    def string(self, string_id: int) -> bytes:
        """Return a string of the STRINGS sections, which count as one."""
        if self._strings is None:
            parts = []
            for section in self.sections:
                if section.id == SectionId.STRINGS:
                    try:
                        parts.append(bytes(section))
                    except TraceError as error:
                        self.warn(error)
            self._strings = b"".join(parts)
        end = self._strings.find(b"\0", string_id)
        return self._strings[string_id:end] if 0 <= string_id < end else b""


def settle_cpu_data(file: TraceFile) -> None:
    """Set each CPU's limit to the start of the data after it, and drop data that is empty or not in the file.

    Overlapping data would let a small file describe endless pages.
    """
    spans = [data for buffer in file.buffers for data in buffer.cpus if data.size]
    offsets = {data.offset for data in spans}
    if file.moved:
        # The actual offsets of sections are known.
        offsets.update(section.offset - SECTION_HEADER_SIZE for section in file.sections)
    starts = sorted(start for start in offsets if start < file.source.size)
    limits = dict(zip(starts, [*starts[1:], file.source.size], strict=True)) if starts else {}
    most_cpus = limit_of("trace_cmd.cpus")
    for i, buffer in enumerate(file.buffers):
        cpus = []
        for data in buffer.cpus:
            if not data.size:
                continue
            limit = limits.pop(data.offset, None)
            if data.cpu >= most_cpus:
                expected, found = allowed("trace_cmd.cpus"), data.cpu
                file.warn(
                    TraceError(offset=data.offset, field="cpu", expected=expected, found=found)
                )
                continue
            if limit is None:
                file.warn(
                    TraceError(
                        offset=data.offset,
                        field=f"buffer.cpu {data.cpu}",
                        expected="data of its own within the file",
                    )
                )
                continue
            there = data.size if buffer.compressed else min(data.size, limit - data.offset)
            if there < data.size:
                file.warn(
                    TruncatedError(
                        offset=limit,
                        field=f"buffer.cpu {data.cpu}",
                        expected=f"{data.size} bytes",
                        found=f"{there} before other data or the end of the file",
                    )
                )
            cpus.append(CpuData(data.cpu, data.offset, there, limit))
        file.buffers[i] = replace(buffer, cpus=tuple(cpus))
