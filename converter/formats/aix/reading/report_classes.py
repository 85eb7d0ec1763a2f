"""The meaning of a report's events, by their hook ID and text.

The texts are those of reports in IBM's documentation ("Reading a trace report", "trcrpt Command"). A line with any
other text is a log message with its hook's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.formats.aix.hooks import HOOKS
from converter.formats.aix.reading.report_scan import copy_spans, numbers, words
from converter.formats.aix.trcfmt.model import digits_of
from converter.ir.columns import Column, ListColumn
from converter.ir.distinct_values import values_of
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, Label, StringClass, Style
from converter.ir.kinds import Kind, Role
from converter.kernels.tables.strings import StringTable

#: The column of text, one of four, that contains a line.
LEVEL = Field(
    "level",
    IntegerClass(
        8,
        labels=tuple(
            Label(i, i, name) for i, name in enumerate(("", "appl", "svc", "kern", "int")) if i
        ),
    ),
    Role.CONTEXT,
)
MESSAGE = Field("message", StringClass(), Role.MESSAGE)
_NUMBER = IntegerClass(64, signed=True)
_ADDRESS = IntegerClass(64, style=Style.HEXADECIMAL)
#: No AIX has that many system calls: more distinct names are not system calls.
_MAX_SYSCALLS = 4096


@dataclass(slots=True)
class Texts:
    """The texts of some events: spans of the bytes that were read."""

    data: bytes
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def select(self, rows: NDArray[np.bool_]) -> Texts:
        """Return the texts for which `rows` is true."""
        return Texts(self.data, self.starts[rows], self.sizes[rows])

    def number(self, key: bytes, base: int = 10, *, before: bool = False) -> NDArray[np.int64]:
        """Return the number after (before) a key in each text, -1 for none."""
        out = np.empty(len(self.starts), np.int64)
        numbers(self.data, self.starts, self.sizes, key, base, out, before=before)
        return out

    def word(self, key: bytes, until: bytes = b"") -> Texts:
        """Return the word after a key in each text, empty if there is no key."""
        starts = np.empty(len(self.starts), np.int64)
        sizes = np.empty(len(self.starts), np.int64)
        words(self.data, self.starts, self.sizes, key, until, starts, sizes)
        return Texts(self.data, starts, sizes)

    def interned(self, strings: StringTable) -> NDArray[np.int32]:
        """Return their IDs among the strings of a trace."""
        ids = np.empty(len(self.starts), np.int32)
        strings.intern_spans(self.data, self.starts, self.sizes, ids)
        return ids

    def column(self) -> ListColumn:
        """Return the texts themselves, concatenated."""
        offsets = np.empty(len(self.starts) + 1, np.int64)
        joined = np.empty(int(self.sizes.sum()), np.uint8)
        copy_spans(self.data, self.starts, self.sizes, offsets, joined)
        return ListColumn(offsets, joined)


@dataclass(slots=True)
class Meaning:
    """Events of one class: their rows, and the columns of the class's own fields."""

    event_class: EventClass
    rows: NDArray[np.bool_]
    columns: list[Column | Callable[[], Column]]
    cpu: NDArray[np.int64] | None = None


def meanings(
    id16: int, texts: Texts, has_cpu: NDArray[np.bool_], strings: StringTable
) -> Iterator[Meaning]:
    """Yield the events of a hook that mean more than a message."""
    match id16:
        case 0x1060 | 0x10C0:
            yield from _dispatch(id16, texts, strings)
        case 0x11F0:
            yield from _ready(texts, strings)
        case 0x1010:
            yield from _system_calls(texts, strings)
        case 0x1040:
            yield from _returns(texts, strings)
        case 0x1020:
            yield _slih(texts, has_cpu, strings)
        case 0x1030:
            end = EventClass(Kind.SLICE_END)
            yield Meaning(end, has_cpu & (texts.word(b"return from slih").starts > 0), [])
        case 0x1340:
            yield from _exec(texts, strings)
        case 0x1390:
            yield from _fork(texts)
        case 0x0060:
            yield from _wraparound(texts)


def log_class(id16: int) -> EventClass:
    """Return the class of a hook's events of which only the text is known."""
    if id16 < 0:
        return EventClass(Kind.LOG, "hook", "aix")
    hook = HOOKS.get(id16)
    name = hook.name if hook is not None else f"hook {digits_of(id16)}"
    return EventClass(Kind.LOG, name, "aix")


#: Lines that are not events: other output of trcrpt.
TEXT_LINE = EventClass(Kind.LOG, "", "aix", (MESSAGE,), timed=False)


def _class(id16: int, kind: Kind, *fields: Field) -> EventClass:
    return EventClass(kind, HOOKS[id16].name, "aix", fields)


_DISPATCH = {
    id16: _class(
        id16,
        Kind.SCHED_SWITCH,
        Field("cmd", StringClass(), Role.NEXT_COMM),
        Field("pid", _NUMBER, Role.NEXT_PID),
        Field("tid", _NUMBER, Role.NEXT_TID),
        Field("priority", _NUMBER, Role.NEXT_PRIORITY),
        Field("old_tid", _NUMBER, Role.PREV_TID),
        Field("old_priority", _NUMBER, Role.PREV_PRIORITY),
    )
    for id16 in (0x1060, 0x10C0)
}
_READY = _class(
    0x11F0,
    Kind.SCHED_WAKEUP,
    Field("cmd", StringClass(), Role.COMM),
    Field("pid", _NUMBER, Role.PID),
    Field("tid", _NUMBER, Role.TID),
    Field("priority", _NUMBER, Role.PRIORITY),
)
_EXEC = _class(
    0x1340,
    Kind.PROCESS_EXEC,
    Field("cmd", StringClass(), Role.FILENAME),
    Field("pid", _NUMBER, Role.PID),
    Field("tid", _NUMBER, Role.TID),
)
_FORK = _class(
    0x1390, Kind.PROCESS_FORK, Field("pid", _NUMBER, Role.PID), Field("tid", _NUMBER, Role.TID)
)
_WRAPAROUND = _class(0x0060, Kind.DISCARDED, Field("missed_entries", _NUMBER, Role.COUNT))
_SLIH = EventClass(Kind.SLICE_BEGIN, fields=(Field("name", StringClass(), Role.NAME),))


def _dispatch(id16: int, texts: Texts, strings: StringTable) -> Iterator[Meaning]:
    tid, old = texts.number(b" tid="), texts.number(b" old_tid=")
    rows = (tid >= 0) & (old >= 0)
    selected = texts.select(rows)
    command = selected.word(b"cmd=", b" pid=")
    # The process that waits for work is named by its text.
    idle = selected.word(b"dispatch: ", b" pid=")
    idle.sizes[selected.number(b"dispatch: pid=") >= 0] = 0
    nameless = command.sizes == 0
    command.starts[nameless], command.sizes[nameless] = idle.starts[nameless], idle.sizes[nameless]
    columns: list[Column | Callable[[], Column]] = [
        command.interned(strings),
        selected.number(b" pid="),
        tid[rows],
        selected.number(b" priority="),
        old[rows],
        selected.number(b" old_priority="),
    ]
    yield Meaning(_DISPATCH[id16], rows, columns, selected.number(b"CPUID="))


def _ready(texts: Texts, strings: StringTable) -> Iterator[Meaning]:
    tid = texts.number(b" tid=")
    rows = tid >= 0
    selected = texts.select(rows)
    columns: list[Column | Callable[[], Column]] = [
        selected.word(b"cmd=", b" pid=").interned(strings),
        selected.number(b" pid="),
        tid[rows],
        selected.number(b" priority="),
    ]
    yield Meaning(_READY, rows, columns)


def _exec(texts: Texts, strings: StringTable) -> Iterator[Meaning]:
    tid = texts.number(b" tid=")
    rows = tid >= 0
    selected = texts.select(rows)
    command = selected.word(b"cmd=", b" pid=")
    yield Meaning(_EXEC, rows, [command.interned(strings), selected.number(b" pid="), tid[rows]])


def _fork(texts: Texts) -> Iterator[Meaning]:
    tid = texts.number(b"tid=")
    rows = tid >= 0
    yield Meaning(_FORK, rows, [texts.select(rows).number(b"pid="), tid[rows]])


def _wraparound(texts: Texts) -> Iterator[Meaning]:
    missed = texts.number(b"missed entries", 16, before=True)
    rows = missed >= 0
    yield Meaning(_WRAPAROUND, rows, [missed[rows]])


def _slih(texts: Texts, has_cpu: NDArray[np.bool_], strings: StringTable) -> Meaning:
    """Name the handler's slice after the first word of the text, which is on every line."""
    rows = has_cpu & (texts.sizes > 0)
    return Meaning(_SLIH, rows, [texts.select(rows).word(b"").interned(strings)])


def _system_calls(texts: Texts, strings: StringTable) -> Iterator[Meaning]:
    names = texts.word(b"").interned(strings)
    names[texts.number(b" LR = ", 16) < 0] = 0
    for name, rows in _by_name(names):
        event_class = EventClass(
            Kind.SYSCALL_ENTRY,
            f"sys_enter_{strings.text(name)}",
            "aix",
            (Field("lr", _ADDRESS),),
        )
        lr = texts.select(rows).number(b" LR = ", 16).astype(np.uint64)
        yield Meaning(event_class, rows, [lr])


def _returns(texts: Texts, strings: StringTable) -> Iterator[Meaning]:
    names = texts.word(b"return from ").interned(strings)
    for name, rows in _by_name(names):
        yield Meaning(
            EventClass(Kind.SYSCALL_EXIT, f"sys_exit_{strings.text(name)}", "aix"), rows, []
        )


def _by_name(names: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    distinct = values_of(names)
    if len(distinct) > _MAX_SYSCALLS:
        return
    for name in distinct.tolist():
        if name:
            yield name, names == name
