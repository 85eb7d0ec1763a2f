"""What trace_processor shows of a Chrome JSON file, from the projected trace."""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from support.viewers.trace_processor_versions import Feature, shows
from viewers.conversions import Conversion
from viewers.kernel_model import Switches
from viewers.projected import Event, Pairs
from viewers.sched_rows import Sched
from viewers.slice_stacks import Slices

from converter.formats.chrome.mapping import SWITCH_FIELDS, WAKEUPS
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StructureClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.registry import format_named

_ID = 0xFFFF_FFFF
_ASYNC = {Kind.ASYNC_BEGIN: "b", Kind.ASYNC_INSTANT: "n", Kind.ASYNC_END: "e"}
#: What slices without a name are called.
_NO_NAME = "[No name]"
_ELEMENT = re.compile(r"([^\[]+)\[(\d+)\](.*)")
#: Texts that would be read back as numbers.
_NUMBER = re.compile(r"0x(0|[1-9a-f][0-9a-f]{0,15})|NaN|-?Infinity")
_HALF = Fraction(1, 2)
#: Letters of states by bits, since Linux 4.14 and before, and what they are in a text.
_NEW, _OLD = "SDTtXZPI", "SDTtXZxKWPN"
_NUMBERS = {letter: 1 << i for i, letter in enumerate(_OLD)} | {
    "R": 0,
    "R+": 1 << 11,
    "I": 2 | 1 << 10,
}
_KINDS = format_named("chrome")[0].capabilities("").kinds


@dataclass(frozen=True)
class Clock:
    """Times as the file has them, in decimals of a microsecond, and as the importer rounds these."""

    rate: Fraction
    decimals: int
    offset: int

    def units(self, ticks: int) -> int:
        return math.floor(Fraction(ticks) / self.rate * 10 ** (6 + self.decimals) + _HALF)

    def __call__(self, ticks: int) -> int:
        return self.nanoseconds(self.units(ticks) - self.offset)

    def nanoseconds(self, units: int) -> int:
        return math.floor(Fraction(units * 1000, 10**self.decimals) + _HALF)

    def between(self, start: int, end: int) -> int:
        """A duration, from ticks to ticks."""
        return self.nanoseconds(self.units(end) - self.units(start))


def clock_of(conversion: Conversion) -> Clock:
    """The clock of the file, as its header tells it."""
    head = conversion.path.read_bytes().partition(b',\n"traceEvents"')[0] + b"}"
    ours = json.loads(head)["traceconv"]
    rate = conversion.trace.clock.ticks_per_second or Fraction(1_000_000_000)
    return Clock(rate, ours["clock"]["decimals"], int(ours.get("offset", 0)))


def timeline(conversion: Conversion) -> Slices:
    """Slices on threads, asynchronous ones by category and id, instants also on processes and on their own track."""
    found = Slices()
    clock = clock_of(conversion)
    says_nowhere = conversion.trace.format not in ("chrome", "perfetto")
    for event in sorted(conversion.events, key=lambda event: (clock(event.ts), -longest(event))):
        if not event.event_class.timed:
            continue
        ts = clock(event.ts)
        assert event.thread is not None
        place: tuple[Any, ...] = ("thread", event.thread.pid & _ID, event.thread.tid & _ID)
        name, category = (escaped(event.of(role)) or None for role in (Role.NAME, Role.CATEGORY))
        args = arguments(event)
        if event.kind in _ASYNC:
            if event.named("phase", _ASYNC[event.kind]) != _ASYNC[event.kind]:
                continue
            local = event.named("id.local")
            process = None if local is None else place[1]
            place = ("async", process, event.of(Role.ID), category)
        match event.kind:
            case Kind.SLICE_BEGIN | Kind.ASYNC_BEGIN:
                found.begin(ts, place, name or _NO_NAME, category, args)
            case Kind.SLICE_END | Kind.ASYNC_END:
                found.end(ts, place, name, category, args, _behind)
            case Kind.SLICE_COMPLETE:
                duration = clock.between(0, event.of(Role.DURATION))
                found.begin(ts, place, name or _NO_NAME, category, args, duration)
            case _ if event.kind in WAKEUPS:
                own = event.event_class
                called = own.name or event.kind.name.lower()
                found.begin(ts, place, called, own.category or None, args, 0)
            case Kind.INSTANT if event.named("phase") == "P":
                pass  # Samples, of which the importer shows V8's elsewhere.
            case Kind.INSTANT:
                scope = {"g": ("track", None, None), "p": ("track", place[1], None)}
                at = scope.get(event.named("scope"), place)
                found.begin(ts, at, name or _NO_NAME, category, args, 0)
            case Kind.ASYNC_INSTANT:
                found.begin(ts, place, name or _NO_NAME, category, args, 0)
            case Kind.FLOW_BEGIN:
                found.flows.begin((event.of(Role.ID), category, name), found.innermost(place))
            case Kind.FLOW_STEP:
                key = (event.of(Role.ID), category, name)
                found.flows.arrive(key, found.innermost(place), moves=True)
            case Kind.FLOW_END:
                key = (event.of(Role.ID), category, name)
                # Where other formats do not say, the writer does.
                if event.named("binds_enclosing", says_nowhere):
                    found.flows.arrive(key, found.innermost(place))
                else:
                    found.flows.wait(key, place)
    return found


def longest(event: Event) -> int:
    """Complete slices that begin together begin with the longest."""
    return event.of(Role.DURATION) or 0 if event.kind is Kind.SLICE_COMPLETE else 0


def arguments(event: Event) -> dict[str, Any]:
    """Arguments as they are shown: objects and arrays by their paths, empty ones and null not at all."""
    shown: dict[str, Any] = {}
    for field, value in event.fields():
        support = _KINDS[event.kind]
        named = field in support.optional or field.role in {one.role for one in support.fields}
        if named and event.kind not in WAKEUPS:
            continue
        add(shown, f"args.{escaped(field.name)}", field.type, value)
    return shown


def escaped(text: Any) -> Any:
    """A text as it is shown: by some versions with the escapes of the file, unless one of them is of a quote."""
    if not isinstance(text, str) or '"' in text or shows(Feature.JSON_ESCAPES):
        return text
    return json.dumps(text, ensure_ascii=False)[1:-1]


def escaped_value(text: Any) -> Any:
    """The same of an argument; the writer escapes texts that it would read back as numbers."""
    if shows(Feature.JSON_ESCAPES) or not isinstance(text, str) or not _NUMBER.fullmatch(text):
        return escaped(text)
    return f"\\u{ord(text[0]):04x}{text[1:]}"


def add(shown: dict[str, Any], key: str, field_class: FieldClass, value: Any) -> None:
    """Show a value, or what it consists of."""
    match field_class, value:
        case (BytesClass("application/json"), bytes()):
            add_json(shown, key, json.loads(value))
        case (StructureClass(members), Pairs()):
            for member, (name, inner) in zip(members, value, strict=True):
                add(shown, f"{key}.{escaped(name)}", member.type, inner)
        case (ArrayClass(element), list()):
            for i, inner in enumerate(value):
                add(shown, f"{key}[{i}]", element, inner)
        case (IntegerClass(style=Style.HEXADECIMAL), int()):
            shown[key] = f"{value:#x}"
        case (IntegerClass(), int()) if value >= 1 << 63:
            shown[key] = str(value)
        case (FloatClass(), float()) if not math.isfinite(value):
            shown[key] = "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
        case (BytesClass(), bytes()):
            shown[key] = base64.b64encode(value).decode()
        case (_, bool()):
            shown[key] = int(value)
        case (_, None):
            pass
        case _:
            shown[key] = escaped_value(value)


def _behind(known: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Elements of an array that the begin has, too, are appended to it."""
    taken: Counter[str] = Counter()
    for array, _ in {match.groups()[:2] for match in map(_ELEMENT.match, known) if match}:
        taken[array] += 1
    result = {}
    for key, value in more.items():
        if match := _ELEMENT.match(key):
            array, number, rest = match.groups()
            key = f"{array}[{int(number) + taken[array]}]{rest}"  # noqa: PLW2901
        result[key] = value
    return result


def add_json(shown: dict[str, Any], key: str, value: Any) -> None:
    """Show what JSON text consists of."""
    match value:
        case dict():
            for name, inner in value.items():
                add_json(shown, f"{key}.{name}", inner)
        case list():
            for i, inner in enumerate(value):
                add_json(shown, f"{key}[{i}]", inner)
        case bool():
            shown[key] = int(value)
        case None:
            pass
        case _:
            shown[key] = value


def problems(conversion: Conversion) -> Counter[str]:
    """What the importer counts as wrong."""
    found = timeline(conversion).problems()
    mismatched = switches(conversion).mismatched
    return found + Counter(mismatched_sched_switch_tids=mismatched) if mismatched else found


def counters(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """A track of the process for each number of each counter."""
    clock = clock_of(conversion)
    for event in conversion.events:
        if event.kind is not Kind.COUNTER:
            continue
        assert event.thread is not None
        name = escaped(event.of(Role.NAME))
        for field, value in event.fields():
            if field.role is Role.ID:
                text = (
                    f"{value:#x}" if getattr(field.type, "style", 0) is Style.HEXADECIMAL else value
                )
                name = f"{name} id: {text}"
        for field, value in event.fields():
            if field.role is Role.VALUE:
                series = f"{name} {escaped(field.name)}"
                yield clock(event.ts), float(value), series, event.thread.pid & _ID, None


class TextSwitches(Switches):
    """Scheduling as it is taken from text, where the idle thread is one like others."""

    def _enter(self, ts: int, tid: int, state: str | None, waker: int | None = None) -> None:
        if tid in self._last:
            self._last[tid][1] = ts - self._last[tid][0]
        self._last[tid] = [ts, -1, state, tid, waker]
        self.rows.states.append(self._last[tid])


def sched(conversion: Conversion) -> Sched:
    """Rows of switches, and of states that are shown as they are."""
    return switches(conversion).rows


def switches(conversion: Conversion) -> TextSwitches:
    """Switches and wakeups of the text, in the order of time, and states."""
    clock = clock_of(conversion)
    found = TextSwitches(conversion.trace)
    release = str(conversion.trace.environment.get("kernel_release", ""))
    for event in sorted(conversion.events, key=lambda event: event.ts):
        ts = clock(event.ts)
        match event.kind:
            case Kind.SCHED_SWITCH if event.cpu is not None and ts >= 0:
                state = state_of(event.of(Role.PREV_STATE), release)
                out, into = event.of(Role.PREV_TID) & _ID, event.of(Role.NEXT_TID) & _ID
                found.switch(ts, event.cpu, out, into, state, is_told=True)
            case Kind.SCHED_WAKING | Kind.TASK_NEW if ts >= 0:
                assert event.thread is not None
                found.wake(ts, event.of(Role.TID) & _ID, event.thread.tid & _ID)
            case Kind.STATE:
                assert event.thread is not None
                duration = clock.between(event.ts, event.ts + event.of(Role.DURATION))
                tid, name, cpu = event.thread.tid & _ID, event.of(Role.NAME), event.named("cpu")
                found.rows.states.append([ts, duration, name, tid, None])
                if name == "Running" and cpu is not None:
                    found.rows.slices.append([ts, duration, cpu, None, tid])
    return found


def letters_of(number: int, release: str) -> str:
    """The state of a task that leaves a CPU as the text has it, by the version of Linux."""
    version = re.match(r"(\d+)\.(\d+)", release)
    since = (int(version[1]), int(version[2])) if version else (0, 0)
    letters, preempted = (_NEW, 8) if since >= (4, 14) else (_OLD, 12 - (since < (4, 8)))
    found = "|".join(letter for i, letter in enumerate(letters) if number >> i & 1)
    return found or ("R+" if number >> preempted & 1 else "R")


def state_of(number: int, release: str) -> str:
    """The state as it is shown. D|N is a sleep that does not count as load."""
    shown = letters_of(number, release).replace("|", "")
    return "I" if shown == "DN" else shown[:3]


def number_in_text(number: int, release: str) -> int:
    """The number that a state of the text stands for, in versions of Linux before 4.8."""
    letters = letters_of(number, release).split("|")
    return sum(_NUMBERS[letter] for letter in letters)


def threads(conversion: Conversion) -> dict[tuple[int, int], str]:
    """Names of threads by the ids of process and thread."""
    trace = conversion.trace
    return {
        (trace.processes[one.process].pid & _ID, one.tid & _ID): escaped(one.name)
        for one in trace.threads
    }


def processes(conversion: Conversion) -> dict[int, str]:
    """Names of processes by their ids."""
    return {one.pid & _ID: escaped(one.name) for one in conversion.trace.processes}


def logs(conversion: Conversion) -> list[tuple[Any, ...]]:
    """There is no log."""
    return []


def ftrace(conversion: Conversion) -> list[tuple[Any, ...]]:
    """The switches of the text."""
    clock = clock_of(conversion)
    release = str(conversion.trace.environment.get("kernel_release", ""))
    rows = []
    for event in conversion.events:
        if event.kind is not Kind.SCHED_SWITCH or event.cpu is None or clock(event.ts) < 0:
            continue
        values = {
            field.name.replace("_tid", "_pid"): shown_in_text(event.of(field.role))
            for field in SWITCH_FIELDS
        }
        values["prev_pid"] &= _ID
        values["next_pid"] &= _ID
        values["prev_state"] = number_in_text(values["prev_state"], release)
        rows.append((clock(event.ts), "sched_switch", event.cpu, values["prev_pid"], values))
    return rows


def shown_in_text(value: Any) -> Any:
    """A task's name without what ends a word or line of the text; numbers as they are."""
    if isinstance(value, str):
        cleaned = dict.fromkeys((*range(32), 34, 92, 127), "?") | {32: "\xa0"}
        return value.translate(cleaned) or "<...>"
    return value
