"""The contents of a trace.dat file for a trace that came from another format.

Its events become records of the kernel's formats or of generated formats. Events on tracks, which the projection has
kept only where these are buffers, are in instances.
"""

from __future__ import annotations

import re

from converter.formats.ftrace.kernel_events import KernelEvents
from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.mapping import NANOSECOND_CLOCKS
from converter.formats.ftrace.metadata_sections import metadata_sections
from converter.formats.ftrace.ring_buffer.compressor import library_version
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, SpoolMaker
from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.formats.trace_cmd.layout import OptionId, layouts
from converter.formats.trace_cmd.side_table import TABLES_OPTION
from converter.formats.trace_cmd.writing.file_contents import (
    BufferContents,
    FileContents,
    OptionContents,
)
from converter.ir.distinct_values import values_of
from converter.ir.trace import Trace

#: The page size of 64-bit little-endian kernels.
_PAGE_SIZE = 4096
_LONG_SIZE = 8
_DESCRIPTIONS = {
    SectionId.HEADER_INFO: b"headers",
    SectionId.FTRACE_EVENTS: b"ftrace events",
    SectionId.EVENT_FORMATS: b"events format",
    SectionId.KALLSYMS: b"kallsyms",
    SectionId.PRINTK: b"printk",
    SectionId.CMDLINES: b"command lines",
}
#: The clocks that the kernel lists (kernel/trace/trace.c, trace_clocks), in its order.
_CLOCKS = ("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai")
#: trace-cmd prints "boot" as a bare number, and has no list entry for the one that it derives from a TSC.
_UNPRINTED_CLOCKS = frozenset({"boot", "tsc2nsec"})


def new_contents(trace: Trace, compression: bytes, spools: SpoolMaker) -> FileContents:
    """Return the contents of a file for a trace that was projected to the format's capabilities.

    Raises:
        UnsupportedError: there are too many event classes.
        TraceError: as `Trace.batches` does.

    """

    def new_writer() -> PageWriter:
        return PageWriter(
            trace.strings,
            page_size=_PAGE_SIZE,
            long_size=_LONG_SIZE,
            big_endian=False,
            compression=compression,
            new_spool=spools,
        )

    records = KernelEvents(trace, TaskNumbers(trace))
    #: By track; the top buffer has track -1.
    writers = {-1: new_writer()}
    cpu_count = 1
    for batch in trace.batches():
        for track in values_of(batch.track).tolist():
            if track not in writers:
                writers[track] = new_writer()
        records.write(batch, writers)
        cpu_count = max(cpu_count, int(batch.cpu.max(initial=0)) + 1)
    page_size = max(writer.page_size for writer in writers.values())
    for writer in writers.values():
        # The header has one page size for all.
        writer.enlarge(page_size)
    contents = FileContents(
        big_endian=False,
        long_size=_LONG_SIZE,
        page_size=page_size,
        compression=compression,
        compression_version=library_version(compression),
        cpu_count=cpu_count,
    )
    _add_metadata(contents, records)
    clock = trace.clock.name
    if clock not in NANOSECOND_CLOCKS - _UNPRINTED_CLOCKS:
        # Times are nanoseconds whatever the clock's name.
        clock = "local"
    _add_options(contents, trace, clock, cpu_count)
    from converter.formats.side_table import print_side_table

    table = print_side_table(trace, records.numbers.all())
    contents.options.append(OptionContents(TABLES_OPTION, table))
    for track, writer in sorted(writers.items()):
        name = b"" if track < 0 else trace.tracks[track].name.encode("utf-8", "surrogateescape")
        contents.add_buffer(
            BufferContents(
                name=name,
                clock=clock.encode(),
                page_size=page_size,
                cpus=dict(writer.finish()),
                description=b"buffer flyrecord " + name if name else b"buffer flyrecord",
            )
        )
    return contents


def _add_metadata(contents: FileContents, records: KernelEvents) -> None:
    for id, data in metadata_sections(records, contents.page_size).items():
        contents.add_section(id, data, _DESCRIPTIONS[id])


def _add_options(contents: FileContents, trace: Trace, clock: str, cpu_count: int) -> None:
    clocks = " ".join(f"[{name}]" if name == clock else name for name in _CLOCKS)
    environment = {name: str(value) for name, value in trace.environment.items()}
    _add_text(contents, OptionId.TRACECLOCK, f"{clocks}\n")
    if trace.clock.epoch_ns is not None and trace.clock.epoch_ns >= 0:
        # In microseconds; the side table has the exact time.
        _add_text(contents, OptionId.DATE, f"{trace.clock.epoch_ns // 1000:#x}")
    uname = [environment.get(name, "") for name in _UNAME]
    if all(uname):
        _add_text(contents, OptionId.UNAME, " ".join(uname))
    tool = [environment.get("tracer_name", ""), environment.get("tracer_version", "")]
    _add_text(contents, OptionId.VERSION, " ".join(tool).strip() or "traceconv")
    count = layouts(contents.big_endian).u32.build(cpu_count)
    contents.options.append(OptionContents(OptionId.CPUCOUNT, count))


_LINE_ENDS = re.compile(rb"[\0\r\n]")
#: The environment entries that make up option UNAME.
_UNAME = ("sysname", "hostname", "kernel_release", "machine")


def _add_text(contents: FileContents, id: OptionId, text: str) -> None:
    data = _LINE_ENDS.sub(b" ", text.encode("utf-8", "surrogateescape")).rstrip()
    contents.options.append(OptionContents(id, data + b"\0"))
