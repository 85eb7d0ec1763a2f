r"""The lines of ftrace text.

The kernel's `trace` (kernel/trace/trace.c, trace_output.c), with columns that options add, and trace-cmd's report:

    # tracer: nop
    #
    # entries-in-buffer/entries-written: 129/129   #P:2
    #
    #                                _-----=> irqs-off/BH-disabled
    #                               / _----=> need-resched
    ...
    #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
    #              | |         |   |||||     |         |
                  sh-106     [001] d..2.  3000.167472: sched_switch: prev_comm=sh prev_pid=106 ...

    cpus=2
                 git-23217 [000] d..3.   827.282960: sched_waking:         comm=grep pid=23218 ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from converter.formats.ftrace.lines.scan.flag_letters import (
    FLAG_CONTEXT,
    FLAG_DEPTH,
    FLAG_IRQS,
    FLAG_LAZY,
    FLAG_LAZY_DEPTH,
    FLAG_MIGRATE,
    FLAG_RESCHED,
)
from converter.formats.ftrace.lines.scan.line_scan import FORM_BARE, FORM_RAW, FORM_USUAL
from converter.formats.ftrace_text.recognition import EVENT_LINE, GRAPH_LINE

#: Lines without an event that say something about the recording.
_TRACER: Final = re.compile(rb"^# tracer: ([\w-]{1,40})", re.MULTILINE)
_CPUS: Final = re.compile(rb"^(?:cpus=|#[^\n]{0,200}#P:)([0-9]{1,5})", re.MULTILINE)
_RELEASE: Final = re.compile(rb"^# \S{1,40} latency trace v[\d.]{1,9} on (\S{1,100})", re.MULTILINE)
_ENTRIES: Final = re.compile(
    rb"^# entries-in-buffer/entries-written: ([0-9]{1,18})/([0-9]{1,18})", re.MULTILINE
)
_FLAG: Final = re.compile(rb"^#[ |/]*_-+=> ([a-zA-Z/ -]{1,60})\r?$", re.MULTILINE)
#: The start of a text of the option `raw`, and of `nocontext-info`, whose header says no columns.
_RAW: Final = re.compile(rb"\s*(?:#[^\n]*\n\s*)*[0-9]{1,10} [0-9]{1,5} [0-9]{5,18} \S")
_BARE: Final = re.compile(
    rb"\s*# tracer: [^\n]*\n(?:[ \t]*(?:#[ \t]*)?\r?\n)*[a-z_][\w.]{1,99}(?:: | ->|\(| <-)"
)
#: Lines of tools before the events, which are none.
OF_TOOLS: Final = re.compile(
    rb"\s*(?:version = [0-9]{1,9}|cpus=[0-9]{1,5}|CPU [0-9]{1,5} is empty|TRACE:|capturing trace\.\.\.[^\n]{0,40}"
    rb"|done|-{3,99})\s*"
)
_MEANINGS: Final = (
    ("irqs-off", FLAG_IRQS),
    ("need-resched-lazy", FLAG_LAZY),
    ("need-resched", FLAG_RESCHED),
    ("hardirq", FLAG_CONTEXT),
    ("preempt-lazy-depth", FLAG_LAZY_DEPTH),
    ("preempt-depth", FLAG_DEPTH),
    ("migrate-disable", FLAG_MIGRATE),
)


@dataclass(frozen=True, slots=True)
class Heading:
    """The header of a text, or what its first event shows."""

    tracer: str = ""
    cpus: int | None = None
    release: str = ""
    #: Events in the buffer, and those that were written to it.
    entries: tuple[int, int] | None = None
    #: The meanings of the characters of the flags, empty where there is no header of them.
    flags: bytes = b""
    #: Times are numbers of a counter.
    ticks: bool = False
    #: The text is a report of trace-cmd.
    of_report: bool = False
    #: Lines are those of the kernel's function graph.
    graph: bool = False
    #: Those lines say durations only.
    untimed: bool = False
    #: What lines say (`FORM_...`).
    form: int = FORM_USUAL


def heading(head: bytes) -> Heading:
    """Return what the start of a text says."""
    tracer, cpus = _TRACER.search(head), _CPUS.search(head)
    release, entries = _RELEASE.search(head), _ENTRIES.search(head)
    event, call = EVENT_LINE.search(head), GRAPH_LINE.search(head)
    flags = []
    for line in _FLAG.findall(head if event is None else head[: event.start()]):
        text = line.decode("ascii")
        flags += [meaning for name, meaning in _MEANINGS if text.startswith(name)][:1]
    form = FORM_USUAL
    if event is None and call is None:
        form = FORM_RAW if _RAW.match(head) else FORM_BARE if _BARE.match(head) else FORM_USUAL
    return Heading(
        tracer[1].decode("ascii") if tracer else "",
        int(cpus[1]) if cpus else None,
        release[1].decode("utf-8", "surrogateescape") if release else "",
        (int(entries[1]), int(entries[2])) if entries else None,
        bytes(flags),
        form != FORM_USUAL or (event is not None and _has_ticks(event)),
        tracer is None and cpus is not None,
        call is not None,
        call is not None and call["time"] is None,
        form,
    )


def _has_ticks(event: re.Match[bytes]) -> bool:
    if event["unit"] is not None or event["millis"] is not None:
        return False
    return b"." not in (event["time"] or event["late"] or b"")
