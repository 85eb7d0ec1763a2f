"""The options about the trace as a whole: its clock, its host, its recorder."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from converter.errors import RemarkError, TraceError
from converter.formats.ftrace.layout import parse
from converter.formats.ftrace.mapping import NANOSECOND_CLOCKS
from converter.formats.ftrace.ring_buffer.timestamps import HostTime, Timestamps
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.formats.trace_cmd.layout import TIME_SHIFT_INTERPOLATE, OptionId, layouts
from converter.ir.trace import MOST_FROM_1970, ClockDomain, known_epoch

_U64 = (1 << 64) - 1


@dataclass(slots=True)
class Metadata(Timestamps):
    """The interpreted options."""

    clock: ClockDomain = field(default_factory=lambda: ClockDomain("local"))
    environment: dict[str, str | int] = field(default_factory=dict)


def interpret(file: TraceFile) -> Metadata:
    """Read the options that concern all events; a damaged one is omitted with a warning."""
    metadata = Metadata()
    clock = b""
    date: int | None = None
    guests = 0
    for id, data in file.options:
        try:
            if id == OptionId.TRACECLOCK:
                clock = _current_clock(data)
            elif id == OptionId.DATE:
                # Microseconds to add to times for the time of day. Several are summed.
                date = (date or 0) + _number(data) * 1000
            elif id == OptionId.OFFSET:
                metadata.time_offset = (metadata.time_offset + _number(data)) & _U64
            elif id == OptionId.TSC2NSEC:
                option = parse(file.layout.tsc2nsec_option, data, 0, "options.TSC2NSEC")
                if option.shift > 32:
                    raise TraceError(
                        field="options.TSC2NSEC.shift", expected="at most 32", found=option.shift
                    )
                metadata.multiplier, metadata.shift = option.multiplier, option.shift
            elif id == OptionId.TIME_SHIFT:
                metadata.host_time = _host_time(file, data)
                metadata.environment["host_trace_id"] = metadata.host_time.peer
            elif id == OptionId.GUEST:
                guests += 1
                _describe_guest(metadata.environment, file, data, f"guest_{guests}")
            else:
                _describe(metadata.environment, file, id, data)
        except TraceError as error:
            file.warn(error)
    if date is not None and known_epoch(date) is None:
        file.warn(
            RemarkError(
                "ignored: times start at the clock's zero",
                field="options.DATE",
                expected=MOST_FROM_1970,
                found=f"{date // 1_000_000_000:,} s",
            )
        )
    if not clock:
        # Version 6 has the option's text before the pages, version 7 the bare name.
        clock = next((_current_clock(buffer.clock) for buffer in file.buffers if buffer.clock), b"")
    name = clock.decode("utf-8", "replace") or "local"
    nanoseconds = name in NANOSECOND_CLOCKS or metadata.multiplier != 0
    metadata.clock = ClockDomain(
        name,
        Fraction(1_000_000_000) if nanoseconds else None,
        epoch_ns=None if date is None else known_epoch(date),
    )
    return metadata


def _current_clock(data: bytes) -> bytes:
    """Return the clock in brackets: "[local] global counter ..."; older files have the bare name."""
    found = re.search(rb"\[([^\]]*)\]", data)
    return found[1] if found else data.strip(b"\0 \n")


def _number(data: bytes) -> int:
    """Parse a number like C's strtoll with base 0: leading digits of decimal, 0x or octal, 0 if there are none."""
    found = re.match(rb"\s*([+-]?)(0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,22}|[1-9][0-9]{0,18})", data)
    if not found:
        return 0
    digits = found[2]
    base = 16 if digits[:2] in (b"0x", b"0X") else 8 if digits[:1] == b"0" else 10
    value = int(digits, base)
    return -value if found[1] == b"-" else value


def _describe_guest(
    environment: dict[str, str | int], file: TraceFile, data: bytes, prefix: str
) -> None:
    """Describe a guest that was recorded with this host: its recording, and the host tasks of its CPUs."""
    option = parse(file.layout.guest_option, data, 0, "options.GUEST")
    environment[f"{prefix}_name"] = option.name.decode("utf-8", "surrogateescape")
    environment[f"{prefix}_trace_id"] = option.trace_id
    tasks = " ".join(f"{one.cpu}:{one.pid}" for one in option.cpus)
    if tasks:
        environment[f"{prefix}_cpu_tasks"] = tasks


def _host_time(file: TraceFile, data: bytes) -> HostTime:
    option = parse(file.layout.time_shift_option, data, 0, "options.TIME_SHIFT")
    fractions = iter(option.fractions)
    cpus = []
    for samples in option.cpus:
        columns = [
            np.array(column, np.int64)
            for column in (samples.times, samples.offsets, samples.scalings)
        ]
        columns.append(np.array([next(fractions, 0) for _ in samples.times], np.int64))
        # In order of time; the first of samples at one time.
        _, order = np.unique(columns[0], return_index=True)
        times, offsets, scalings, bits = (column[order] for column in columns)
        cpus.append((times, offsets, scalings, bits))
    return HostTime(option.peer, bool(option.flags & TIME_SHIFT_INTERPOLATE), tuple(cpus))


def stated_cpus(data: bytes, *, big_endian: bool) -> int:
    """Return option CPUCOUNT. A value that is too large has the byte order of a machine that converted the file.

    Raises:
        TraceError: it is damaged.

    """
    count = int(parse(layouts(big_endian).u32, data, 0, "options.CPUCOUNT"))
    if count > 0xFFFF:
        count = int(parse(layouts(not big_endian).u32, data, 0, "options.CPUCOUNT"))
    return count


def _describe(environment: dict[str, str | int], file: TraceFile, id: int, data: bytes) -> None:
    text = data.split(b"\0")[0].decode("utf-8", "surrogateescape").strip()
    if id == OptionId.UNAME:
        # "sysname nodename release machine"; no known kernel has a release with spaces.
        words = text.split()
        if len(words) >= 4:
            environment["sysname"], environment["hostname"] = words[0], words[1]
            environment["kernel_release"] = " ".join(words[2:-1])
            environment["machine"] = words[-1]
    elif id == OptionId.VERSION:
        environment["tracer_name"] = "trace-cmd"
        environment["tracer_version"] = text
    elif id == OptionId.CPUCOUNT:
        environment["cpu_count"] = stated_cpus(data, big_endian=file.big_endian)
    elif id == OptionId.TRACEID:
        environment["trace_id"] = int(parse(file.layout.u64, data, 0, "options.TRACEID"))
