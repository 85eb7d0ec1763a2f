"""The report of an AIX trace: columns and text as trcrpt prints them.

The columns are those of ``trcrpt -O exec=on,cpuid=on,pid=on,tid=on`` with elapsed time and delta (IBM, AIX
documentation, "trcrpt Command"); their widths are this converter's own. Texts are those of the user's templates or,
without any, of the templates for documented hooks in ``schemas/aix``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache

from converter.formats.aix.event_texts import entry_of
from converter.formats.aix.portable import streams_of
from converter.formats.aix.report_state import ReportState
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
from converter.ir.text import printable
from converter.ir.trace import Trace
from converter.printing.lines import Write, write_lines

_FRONT = "{:<4} {:<15} {:<3} {:<10} {:<10} {:>16} {:>15}  "
_HEADING = (
    _FRONT.format("ID", "PROCESS NAME", "CPU", "PID", "TID", "ELAPSED_SEC", "DELTA_MSEC")
    + "APPL    SYSCALL KERNEL  INTERRUPT"
)
_LEVEL_WIDTH = 8
_SVC = 0x1010


@cache
def own_templates() -> TemplateFile:
    """The templates of ``schemas/aix``, for documented hooks."""
    text = pkgutil.get_data("converter.schemas", "aix/documented.trcfmt")
    assert text is not None
    return parse(text)


def print_report(trace: Trace, write: Write) -> bool:
    """Write the report in pieces; False for a trace that it is not for."""
    lines = report_lines(trace)
    if lines is None:
        return False
    write_lines(lines, write)
    return True


def report_lines(trace: Trace) -> Iterator[str] | None:
    """The lines of the report with their ends; None for a stream whose events are not those of AIX, and for one that
    has travelled, whose events have no entries.
    """
    kept = trace.sidecar.get("aix", {})
    bits = kept.get("bits")
    if bits not in (32, 64) or kept.get("own") or not streams_of(trace):
        return None
    templates = kept.get("trcfmt")
    file = parse(templates) if isinstance(templates, bytes) else own_templates()
    return _Lines(trace, bits, file).lines()


class _Lines:
    def __init__(self, trace: Trace, bits: int, file: TemplateFile) -> None:
        self.trace = trace
        self.bits = bits
        self.file = file
        self.state = ReportState(trace, bits, names_of_hookdata(file, _SVC))
        self.first: int | None = None
        self.last = 0
        self.warned: set[tuple[str | None, str | None]] = set()

    def lines(self) -> Iterator[str]:
        yield f"\n{_HEADING}\n\n"
        for batch in self.trace.batches():
            self.state.begin(batch)
            for position in range(len(batch)):
                entry = entry_of(batch, position, self.bits)
                if entry is None:
                    continue
                around = self.state.enter(position, entry)
                report = self.event(entry, around)
                if report.action != "skip":
                    text = self.line(entry, report, around)
                    around.line += text.count("\n")
                    yield text
                if report.action == "stop":
                    return
                self.state.leave(entry)

    def event(self, entry: Entry, around: Environment) -> Report:
        report = evaluate(self.file, entry.id, entry, around)
        warning = report.warning
        if warning is not None and (warning.field, warning.message) not in self.warned:
            self.warned.add((warning.field, warning.message))
            self.trace.warnings.append(warning)
        return report

    def line(self, entry: Entry, report: Report, around: Environment) -> str:
        if self.first is None:
            self.first = self.last = around.time_ns
        elapsed, delta = around.time_ns - self.first, around.time_ns - self.last
        self.last = around.time_ns
        front = _FRONT.format(
            digits_of(entry.id),
            _cut(around.exec_path.rsplit("/", 1)[-1], 15) or "-",
            around.cpu if around.cpu >= 0 else "-",
            around.pid if around.pid >= 0 else "-",
            around.tid if around.tid >= 0 else "-",
            _fixed(elapsed, 9),
            _fixed(delta, 6),
        )
        if report.level is not Level.EDGE:
            margin = " " * (len(_HEADING) - 33 + _LEVEL_WIDTH * (report.level - Level.APPL))
        else:
            margin = ""
        first, *more = report.text.split("\n")
        text = front.ljust(len(margin)) + printable(first)
        return "".join(
            f"{each.rstrip()}\n" for each in [text, *(margin + printable(m) for m in more)]
        )


def _cut(text: str, size: int) -> str:
    return printable(text)[:size]


def _fixed(number: int, digits: int) -> str:
    """An integer with a decimal point `digits` places from its end."""
    sign = "-" if number < 0 else ""
    whole, part = divmod(abs(number), 10**digits)
    return f"{sign}{whole}.{part:0{digits}}"
