"""Prints the report of an AIX trace: columns and text as trcrpt prints them.

The columns are those of ``trcrpt -O exec=on,cpuid=on,pid=on,tid=on`` with elapsed time and delta (IBM, AIX
documentation, "trcrpt Command"); their widths are traceconv's own. Texts are those of the user's templates or,
without any, of the templates for documented hooks in ``schemas/aix``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import note
from converter.errors.terminal import printable
from converter.formats.aix.hooks import HOOKS
from converter.formats.aix.portable import streams_of
from converter.formats.aix.reading.event_texts import entry_of
from converter.formats.aix.reading.native_classes import EntryTable
from converter.formats.aix.report.requests import requested_macros
from converter.formats.aix.report.state import ReportState
from converter.formats.aix.report.template_locations import NotExpressedError
from converter.formats.aix.report.template_programs import raw_text
from converter.formats.aix.report.template_state import template_text
from converter.formats.aix.trcfmt import (
    Entry,
    Environment,
    Level,
    Report,
    TemplateFile,
    digits_of,
    evaluate,
    names_of_hookdata,
    parse,
)
from converter.formats.aix.trcfmt.model import DEFAULT_TEMPLATE
from converter.ir.events import Batch, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.printing import program as op
from converter.printing.code import Code, Form, Printed
from converter.printing.directory import Directory
from converter.printing.lines import Write
from converter.printing.printer import Printer
from converter.printing.program import Program

_FRONT = "{:<4} {:<15} {:<3} {:<10} {:<10} {:>16} {:>15}  "
_HEADING = (
    _FRONT.format("ID", "PROCESS NAME", "CPU", "PID", "TID", "ELAPSED_SEC", "DELTA_MSEC")
    + "APPL    SYSCALL KERNEL  INTERRUPT"
)
_LEVEL_WIDTH = 8
_SVC = 0x1010
_SECOND: Final = 10**9
_MILLISECOND: Final = 10**6
_WIDE_ID: Final = 10**10
_ALL_BITS: Final = (1 << 64) - 1
#: Differences of times below this fit 64 bits.
_LARGE: Final = 1 << 62
#: Macros that apply to every event.
_OF_ALL: Final = frozenset({"RELLINENO", "SKIP", "STOP"})
#: Hooks that change the name of a process, which is at the start of each line, and the values of $SVC and $PRI.
_PATHS: Final = frozenset({Kind.PROCESS_EXEC, Kind.PROCESS_FORK})
_CALLS: Final = frozenset({Kind.SYSCALL_ENTRY, Kind.SYSCALL_EXIT, Kind.TASK_EXIT})
_PRIORITIES: Final = frozenset(
    hook.kind
    for hook in HOOKS.values()
    if any(word.name.endswith("priority") for word in hook.words)
)


@cache
def own_templates() -> TemplateFile:
    """Return the templates of ``schemas/aix``, for documented hooks."""
    text = pkgutil.get_data("converter.schemas", "aix/documented.trcfmt")
    assert text is not None
    return parse(text)


def print_report(trace: Trace, write: Write) -> bool:
    """Write the report in parts.

    Returns False for a stream whose events are not those of AIX, and for an embedded one, whose events have no entries.
    """
    kept = trace.sidecar.get("aix", {})
    bits = kept.get("bits")
    if bits not in (32, 64) or kept.get("own") or not streams_of(trace):
        return False
    templates = kept.get("trcfmt")
    file = parse(templates) if isinstance(templates, bytes) else own_templates()
    _Report(trace, bits, file).print(write)
    return True


class _Report:
    """The report of a trace.

    Events whose template can be compiled are printed by a program. Other events, and those that change values that
    templates can request, are printed one by one.
    """

    def __init__(self, trace: Trace, bits: int, file: TemplateFile) -> None:
        self.trace = trace
        self.bits = bits
        self.file = file
        self.state = ReportState(trace, bits, names_of_hookdata(file, _SVC))
        self.first: int | None = None
        self.last = 0
        self.stopped = False
        self.warned: set[tuple[str | None, str | None]] = set()
        self.programs: dict[int, Printed] = {}
        self.names = Directory(self.name_of)
        self.cpus = Directory(partial(_numbered, 3))
        self.numbers = Directory(partial(_numbered, 10))
        self.batch: Batch | None = None
        self.times: NDArray[Any] = np.zeros(0, np.int64)
        #: Kinds of hooks that are tracked one by one; None means all.
        self.followed: frozenset[Kind] | None = _PATHS

    def print(self, write: Write) -> None:
        """Print all lines."""
        write(f"\n{_HEADING}\n\n".encode())
        printer = Printer(self.trace.strings)
        for batch in self.trace.batches():
            self.begin(batch)
            columns = self.columns(batch)
            bound: list[Program | None] = [None] * len(self.trace.event_classes)
            for number, table in batch.tables.items():
                entries = table.entries if isinstance(table, EntryTable) else None
                located = None if entries is None else (entries.segments, *entries.located)
                bound[number] = self.program(number, table).bind(columns.__getitem__, located)
            printer.print(bound, batch.class_id, batch.row, write)
            if self.stopped:
                break
        printer.flush(write)

    # What is known of the events of a batch

    def begin(self, batch: Batch) -> None:
        self.state.begin(batch)
        if self.batch is None:
            # The hooks are known with the first batch.
            self.followed = _followed(self.file, self.trace.sidecar["aix"]["hooks"])
        self.batch = batch

    def sample(self, batch: Batch, number: int) -> Entry | None:
        """Return the first entry of a class, which has the layout of all."""
        return entry_of(batch, int(batch.positions(number)[0]), self.bits)

    def columns(self, batch: Batch) -> dict[Hashable, NDArray[Any]]:
        """Return the inputs of programs for the batch."""
        trace, count = self.trace, len(batch)
        threads = trace.threads
        # Programs do not print numbers that are wider than their column.
        tids = [*(min(thread.tid, _WIDE_ID) for thread in threads), -1]
        pids = [*(min(trace.processes[one.process].pid, _WIDE_ID) for one in threads), -1]
        self.times = times = _nanoseconds(trace, batch.ts)
        if self.first is None and count:
            self.first = self.last = int(times[0])
        if max(abs(self.first or 0), abs(self.last)) >= _LARGE:
            # Differences to times of earlier batches may not fit 64 bits.
            times = times.astype(object)
        before = np.empty_like(times)
        before[:1] = self.last
        before[1:] = times[:-1]
        elapsed, delta = times - (self.first or 0), times - before
        if count and self.followed is not None:
            self.last = int(times[-1])
        cpu = batch.cpu.astype(np.int64)
        pid, tid = (np.array(ids, np.int64)[batch.thread] for ids in (pids, tids))
        # False for numbers that exceed their column.
        fits = (cpu < 1000) & (pid < _WIDE_ID) & (tid < _WIDE_ID)
        for number, width in ((elapsed, 16), (delta, 15)):
            fits &= (number < 10 ** (width - 1)) & (number > -(10 ** (width - 2)))
        if times.dtype != np.int64 or batch.native is None:
            fits[:] = False
            elapsed = delta = np.zeros(count, np.int64)
        self.before = before
        return {
            "position": np.arange(count),
            "fits": fits.astype(np.uint8),
            "cpu": cpu,
            "pid": pid,
            "tid": tid,
            "elapsed": elapsed,
            "is_below": (delta < 0).astype(np.uint8),
            "milliseconds": np.abs(delta) // _MILLISECOND,
            "nanoseconds": np.abs(delta) % _MILLISECOND,
        }

    def name_of(self, pid: int) -> tuple[bytes, int]:
        path = self.state.around.paths.get(_signed(pid), "")
        return f"{_name(path):<15} ".encode("utf-8", "surrogateescape"), 0

    # Programs

    def program(self, number: int, table: Table) -> Printed:
        """Return the program that prints the events of a class, compiled when the class first occurs."""
        if number not in self.programs:
            assert self.batch is not None
            known = isinstance(table, EntryTable) and table.entries is not None
            entry = self.sample(self.batch, number) if known else None
            try:
                if entry is None:
                    raise NotExpressedError("no entry")
                self.programs[number] = self.compiled(entry)
            except NotExpressedError:
                code = Code()
                self.call(code)
                self.programs[number] = code.finish()
        return self.programs[number]

    def call(self, code: Code) -> None:
        code.number_of("position", 0)
        code.call(self.printed, 1)

    def compiled(self, entry: Entry) -> Printed:
        hook, templates = HOOKS.get(entry.id), self.file.templates
        template = templates.get(entry.id) or templates.get(DEFAULT_TEMPLATE)
        if self.followed is None or (hook is not None and hook.kind in self.followed):
            raise NotExpressedError("followed")
        margin = _margin(Level.KERN if template is None else template.level)

        if template is None:
            needed, text = raw_text(entry, self.bits)
        else:
            needed, text = template_text(self.file, template, entry, self.bits, margin.encode())
        code = Code(big_endian=True)

        def line() -> None:
            self.front(code, entry.id)
            code.literal(margin[len(_FRONT_TEXT) :].encode())
            text(code)
            code.literal(b"\n")

        code.number_of("fits", 0)
        code.add(op.RECORD_SIZE)
        code.constant(needed)
        code.add(op.EQUAL if template is None else op.GREATER_EQUAL)
        code.add(op.BOTH)
        code.attempt(line, lambda: self.call(code))
        return code.finish()

    def front(self, code: Code, id16: int) -> None:
        """Add the columns before the text."""
        code.literal(f"{digits_of(id16):<4} ".encode())
        for name, directory in (
            ("pid", self.names),
            ("cpu", self.cpus),
            ("pid", self.numbers),
            ("tid", self.numbers),
        ):
            code.number_of(name, 0, signed=True)
            code.find(directory)
            code.add(op.DROP)
            code.add(op.FOUND_TEXT)
        code.number_of("elapsed", 0, signed=True)
        code.add(op.TIME, 1, 1, 2 * 16)
        code.literal(b" ")
        code.add(op.MARK)
        code.number_of("is_below", 0)
        code.unless_zero(lambda: code.literal(b"-"), None)
        code.number_of("milliseconds", 0)
        code.add(op.DECIMAL, 64, 0)
        code.literal(b".")
        code.number_of("nanoseconds", 0)
        code.add(op.NUMBER, code.form(Form("0", 6, conversion="u")))
        code.add(op.FORM, code.form(Form("", 15)))
        code.add(op.FIT)
        code.literal(b"  ")

    # One event

    def printed(self, _: bytes, position: int) -> bytes:
        """Return the lines of an event."""
        batch = self.batch
        assert batch is not None
        entry = None if self.stopped else entry_of(batch, position, self.bits)
        if entry is None:
            return b""
        around = self.state.enter(position, entry)
        hook = HOOKS.get(entry.id)
        if hook is not None and hook.kind in _PATHS:
            self.names.forget()
        report = self.event(entry, around)
        text = ""
        if report.action != "skip":
            before = self.last if self.followed is None else int(self.before[position])
            text = self.line(entry, report, around, before)
            around.line += text.count("\n")
            if self.followed is None:
                self.last = around.time_ns
        if report.action == "stop":
            self.stopped = True
        else:
            self.state.leave(entry)
        return text.encode("utf-8", "surrogateescape")

    def event(self, entry: Entry, around: Environment) -> Report:
        report = evaluate(self.file, entry.id, entry, around)
        warning = report.warning
        if warning is not None and (warning.field, warning.message) not in self.warned:
            self.warned.add((warning.field, warning.message))
            note(self.trace.warnings, warning)
        return report

    def line(self, entry: Entry, report: Report, around: Environment, before: int) -> str:
        assert self.first is not None
        front = _FRONT.format(
            digits_of(entry.id),
            _name(around.exec_path),
            around.cpu if around.cpu >= 0 else "-",
            around.pid if around.pid >= 0 else "-",
            around.tid if around.tid >= 0 else "-",
            _fixed(around.time_ns - self.first, 9),
            _fixed(around.time_ns - before, 6),
        )
        margin = _margin(report.level)
        first, *more = report.text.split("\n")
        text = front.ljust(len(margin)) + printable(first)
        return "".join(
            f"{each.rstrip()}\n" for each in [text, *(margin + printable(m) for m in more)]
        )


def _followed(file: TemplateFile, ids: Iterable[int]) -> frozenset[Kind] | None:
    """Return the kinds of hooks that templates refer to, whose events are tracked one by one; None means all."""
    macros = requested_macros(file, ids)
    if macros & _OF_ALL:
        return None
    found = _PATHS
    if "SVC" in macros:
        found |= _CALLS
    if "PRI" in macros:
        found |= _PRIORITIES
    return found


_FRONT_TEXT: Final = _HEADING[: -len("APPL    SYSCALL KERNEL  INTERRUPT")]


def _margin(level: Level) -> str:
    """Return the margin of all lines of a text except the first."""
    if level is Level.EDGE:
        return ""
    return " " * (len(_FRONT_TEXT) + _LEVEL_WIDTH * (level - Level.APPL))


def _name(path: str) -> str:
    return printable(path.rsplit("/", 1)[-1])[:15] or "-"


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _numbered(width: int, number: int) -> tuple[bytes, int]:
    signed = _signed(number)
    return f"{signed if signed >= 0 else '-':<{width}} ".encode(), 0


def _fixed(number: int, digits: int) -> str:
    """Return an integer with a decimal point `digits` digits from its end."""
    sign = "-" if number < 0 else ""
    whole, part = divmod(abs(number), 10**digits)
    return f"{sign}{whole}.{part:0{digits}}"


def _nanoseconds(trace: Trace, ts: NDArray[np.int64]) -> NDArray[Any]:
    """Return times in nanoseconds, as objects if they do not fit 64 bits."""
    rate = trace.clock.ticks_per_second
    if rate is None or not len(ts):
        return ts
    factor = Fraction(_SECOND) / rate
    over, under = factor.numerator, factor.denominator
    largest = max(abs(int(ts.min())), abs(int(ts.max())), under)
    if (largest // under + 2) * over >= _LARGE or over * under >= _LARGE:
        return np.array([time * over // under for time in ts.tolist()], object)
    return ts // under * over + ts % under * over // under
