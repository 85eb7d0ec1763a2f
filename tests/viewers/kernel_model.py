"""What trace_processor makes of kernel events (`FtraceParser`): rows, slices, counters and scheduling."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator
from typing import Any

from support.viewers.trace_processor_versions import Feature, shows
from viewers.kernel_messages import message_of, shown_name, shown_values
from viewers.projected import Event
from viewers.sched_rows import Sched
from viewers.slice_stacks import Slices

from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import Trace
from converter.projection.domain.linux_timeline import SOFTIRQ_NAMES
from converter.projection.domain.syscalls import syscall_name

#: Kinds that are not kernel events.
OTHER = {
    *(Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.SLICE_COMPLETE, Kind.INSTANT, Kind.COUNTER),
    *(Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END),
    *(Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END, Kind.STATE),
    *(Kind.OBJECT_NEW, Kind.OBJECT_SNAPSHOT, Kind.OBJECT_DELETE, Kind.OBJECT_INFO),
    *(Kind.LOG, Kind.BLOB, Kind.SAMPLE, Kind.MAPPING, Kind.MODULE, Kind.CLOCK_SYNC),
    *(Kind.DISCARDED, Kind.NATIVE),
}
#: Events whose function is shown by its name.
_NAMED_FUNCTIONS = {
    *("funcgraph_entry", "funcgraph_exit", "sched_blocked_reason"),
    *("workqueue_execute_start", "workqueue_execute_end", "hrtimer_expire_entry"),
}


def is_kernel_event(event: Event) -> bool:
    """Whether a projected event is written as one of the kernel."""
    return event.kind not in OTHER and event.event_class.category != "generic_kernel"


def tid_of(event: Event) -> int:
    """The thread of a kernel event, which has no process."""
    return 0 if event.thread is None else event.thread.tid


def rows(trace: Trace, events: list[Event]) -> Iterator[tuple[Any, ...]]:
    """A row for each kernel event, with its fields."""
    for event in events:
        if is_kernel_event(event):
            yield (
                event.ts,
                shown_name(event.event_class),
                event.cpu,
                tid_of(event),
                arguments(trace, event),
            )


def arguments(trace: Trace, event: Event) -> dict[str, Any]:
    """Fields as they are shown: of a list the last element, 64 bits as a signed number, bytes as text up to a NUL.

    Events that the file describes have a text beside each list and bytes, which is shown in their place.
    """
    shown: dict[str, Any] = {}
    has_texts = message_of(event.event_class) is None
    for name, (field, value) in shown_values(event).items():
        if has_texts and field is not None and isinstance(field.type, ArrayClass | BytesClass):
            shown[name] = text_of(trace, field.type, value)
            continue
        if isinstance(value, list) and not value:
            continue
        held = value[-1] if isinstance(value, list) else value
        is_function = field is not None and field.role is Role.FUNCTION
        if is_function and has_named_function(event.event_class.name):
            held = function_name(trace.symbols, held)
        elif isinstance(held, int):
            held = as_signed(int(held))
        elif isinstance(held, bytes):
            held = held.partition(b"\0")[0].decode(errors="replace")
        elif isinstance(held, float):
            narrow = field is not None and field.type == FloatClass(32)
            held = None if math.isnan(held) else as_single(held) if narrow else held
        shown[name] = held
    return shown


def text_of(trace: Trace, field_class: ArrayClass | BytesClass, value: Any) -> str:
    """The text of a list or of bytes: hexadecimal bytes, the names of a call stack, numbers and texts as in JSON."""
    match field_class:
        case BytesClass():
            return bytes(value).hex(" ")
        case ArrayClass(IntegerClass(style=Style.SYMBOL)):
            return " <- ".join(function_name(trace.symbols, frame) for frame in value)
        case ArrayClass(IntegerClass(style=Style.HEXADECIMAL | Style.POINTER)):
            return f"[{', '.join(map(hex, value))}]"
    return json.dumps(value, ensure_ascii=False)


def has_named_function(name: str) -> bool:
    """Tell whether the function of an event is shown by its name."""
    if name == "workqueue_execute_end" and not shows(Feature.NAMED_WORK_ENDS):
        return False
    return name in _NAMED_FUNCTIONS


def as_single(value: float) -> float:
    """A number of 32 bits as one of 64."""
    narrow: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return narrow


def function_name(symbols: SymbolTable | None, value: Any) -> Any:
    """The name of a function, by its address."""
    if isinstance(value, int):
        address = value & 0xFFFF_FFFF_FFFF_FFFF
        found = None if symbols is None else symbols.lookup(address)
        return f"{address:#x}" if found is None else found[0].decode()
    return value


def slices_of(trace: Trace, event: Event, found: Slices, place: tuple[Any, ...]) -> None:
    """Begin and end slices as the importer does at a kernel event."""
    ts, cpu = event.ts, event.cpu
    machine = str(trace.environment.get("machine", ""))
    match event.kind:
        case Kind.IRQ_ENTRY if event.event_class.name == "irq_handler_entry":
            found.begin(
                ts, ("track", cpu, f"Irq Cpu {cpu}"), f"IRQ ({event.of(Role.NAME)})", "irq", {}
            )
        case Kind.IRQ_EXIT if event.event_class.name == "irq_handler_exit":
            handled = "handled" if event.of(Role.RETURN) == 1 else "unhandled"
            found.end(ts, ("track", cpu, f"Irq Cpu {cpu}"), args={"ret": handled})
        case Kind.SOFTIRQ_ENTRY:
            vector = event.of(Role.VECTOR)
            found.begin(ts, ("track", cpu, f"SoftIrq Cpu {cpu}"), SOFTIRQ_NAMES[vector], "irq", {})
        case Kind.SOFTIRQ_EXIT:
            found.end(ts, ("track", cpu, f"SoftIrq Cpu {cpu}"), args={"vec": event.of(Role.VECTOR)})
        case Kind.TIMER_ENTRY if event.event_class.name == "hrtimer_expire_entry":
            name = function_name(trace.symbols, event.of(Role.FUNCTION))
            found.begin(ts, ("track", cpu, f"Hrtimer Cpu {cpu}"), name, "hrtimer", {})
        case Kind.TIMER_EXIT if event.event_class.name == "hrtimer_expire_exit":
            found.end(ts, ("track", cpu, f"Hrtimer Cpu {cpu}"))
        case Kind.SYSCALL_ENTRY if event.event_class.name == "sys_enter":
            name = syscall_name(machine, event.of(Role.SYSCALL_NUMBER))
            values = event.of(Role.SYSCALL_ARGUMENTS, ())
            args = {f"args[{i}]": as_signed(value) for i, value in enumerate(values)}
            # It does not return.
            found.begin(ts, place, name, None, args, *[0] * (name == "sys_rt_sigreturn"))
        case Kind.SYSCALL_EXIT if event.event_class.name == "sys_exit":
            name = syscall_name(machine, event.of(Role.SYSCALL_NUMBER))
            found.end(ts, place, name, args={"ret": as_signed(event.of(Role.RETURN))})
        case Kind.WORK_BEGIN:
            name = function_name(trace.symbols, event.of(Role.FUNCTION))
            found.begin(ts, place, name, "workqueue", {"cpu": cpu})
        case Kind.WORK_END:
            found.end(ts, place)
        case Kind.FUNCTION_ENTRY:
            name = function_name(trace.symbols, event.of(Role.FUNCTION))
            found.begin(ts, calls(event, place), name, None, {})
        case Kind.FUNCTION_EXIT:
            name = function_name(trace.symbols, event.of(Role.FUNCTION))
            found.end(ts, calls(event, place), name)
        case Kind.SIGNAL_GENERATE | Kind.SIGNAL_DELIVER:
            signal(trace, event, found, place)
        case Kind.MARK:
            mark(found, event, place)


def calls(event: Event, place: tuple[Any, ...]) -> tuple[Any, ...]:
    """The track of function calls: of the thread, or of the CPU where that is idle."""
    if tid_of(event) == 0:
        return ("track", event.cpu, f"swapper{event.cpu} -funcgraph")
    return ("thread", *place[1:], "Funcgraph")


def as_signed(value: int) -> int:
    """A number of 64 bits as it is shown."""
    return value - (1 << 64) if value >= 1 << 63 else value


def mark(found: Slices, event: Event, place: tuple[Any, ...]) -> None:
    """A text that a program writes, where it is one of those that begin and end slices (atrace)."""
    text = event.of(Role.MESSAGE)
    parts = text.rstrip("\n\0").split("|") if isinstance(text, str) else [""]
    match parts:
        case ["B", _, *name]:
            found.begin(event.ts, place, "|".join(name), None, {})
        case ["E", *_]:
            found.end(event.ts, place)
        case ["I", _, *name]:
            found.begin(event.ts, place, "|".join(name), None, {}, 0)
        case ["S", pid, name, cookie] if pid.isdecimal():
            at = ("async", int(pid), name, cookie)
            found.begin(event.ts, at, name, None, {})
        case ["F", pid, name, cookie] if pid.isdecimal():
            found.end(event.ts, ("async", int(pid), name, cookie))
        case ["N", pid, track, name] if pid.isdecimal():
            found.begin(event.ts, ("async", int(pid), track, None), name, None, {}, 0)
        case ["G", pid, track, name, cookie] if pid.isdecimal():
            found.begin(event.ts, ("async", int(pid), track, cookie), name, None, {})
        case ["H", pid, track, *_, cookie] if pid.isdecimal():
            found.end(event.ts, ("async", int(pid), track, cookie))


def signal(trace: Trace, event: Event, found: Slices, place: tuple[Any, ...]) -> None:
    """An instant of the thread that a signal is for, or that it is delivered to."""
    if event.kind is Kind.SIGNAL_GENERATE:
        tid = event.of(Role.TID)
        owner = next((one.process for one in trace.threads if one.tid == tid), None)
        place = ("thread", None if owner is None else trace.processes[owner].pid, tid)
    args = {"signal.sig": event.of(Role.SIGNAL)}
    found.begin(event.ts, place, event.event_class.name, None, args, 0)


def counters(event: Event) -> Iterator[tuple[Any, ...]]:
    """Counters of the machine: time, value, name, process, CPU."""
    cpu = event.of(Role.TARGET_CPU)
    match event.kind:
        case Kind.CPU_FREQUENCY:
            yield event.ts, float(event.of(Role.VALUE)), "cpufreq", None, cpu
        case Kind.CPU_IDLE:
            yield event.ts, float(event.of(Role.VALUE)), "cpuidle", None, cpu
        case Kind.CPU_FREQUENCY_LIMITS:
            for way, role in (("Min", Role.MINIMUM), ("Max", Role.MAXIMUM)):
                yield event.ts, float(event.of(role)), f"Cpu {cpu} {way} Freq Limit", None, cpu
        case Kind.CLOCK_RATE:
            kind = "Frequency" if event.event_class.name == "clock_set_rate" else "State"
            name = f"{event.of(Role.NAME)} {kind}"
            yield event.ts, float(event.of(Role.VALUE)), name, None, None
        case Kind.MARK:
            text = event.of(Role.MESSAGE)
            match text.rstrip("\n\0").split("|") if isinstance(text, str) else [""]:
                case ["C", pid, name, value, *_] if pid.isdecimal():
                    yield event.ts, float(value), name, int(pid), None


#: Letters of states, by the bits that Linux records since 4.14, and before.
_LETTERS = {0: "R", 1: "S", 2: "D", 4: "T", 8: "t", 16: "X", 32: "Z", 64: "P", 128: "I", 256: "R+"}
#: Letters of states, by the numbers of `THREAD_STATES`.
_STATES = dict(enumerate("RRTSZX"))
_UNKNOWN = -1
_OLD_LETTERS = {**_LETTERS, 64: "x", 128: "K", 256: "W"}


def letters_of(trace: Trace) -> dict[int, str]:
    """The letters that the recorded kernel's states have; one that is not known is taken for an old one."""
    release = re.match(r"(\d+)\.(\d+)", str(trace.environment.get("kernel_release", "")))
    is_new = release is not None and (int(release[1]), int(release[2])) >= (4, 14)
    return _LETTERS if is_new else _OLD_LETTERS


class Switches:
    """The tables of scheduling, event by event."""

    def __init__(self, trace: Trace) -> None:
        self.rows = Sched()
        self._letters = letters_of(trace)
        self.mismatched = 0
        self._running: dict[int | None, list[Any]] = {}
        self._last: dict[int, list[Any]] = {}

    def add(self, event: Event) -> None:
        """Take in an event."""
        match event.kind:
            case Kind.SCHED_SWITCH:
                into, out = event.of(Role.NEXT_TID), event.of(Role.PREV_TID)
                if is_kernel_event(event):
                    number = event.of(Role.PREV_STATE)
                    state = self._letters.get(number)
                    self.switch(event.ts, event.cpu, out, into, state, is_told=number is not None)
                else:
                    state = _STATES.get(event.of(Role.PREV_STATE))
                    self.change_states(event.ts, event.cpu, out, into, state)
            case Kind.SCHED_WAKING:
                self.wake(event.ts, event.of(Role.TID), tid_of(event))
            case Kind.TASK_NEW:
                self.wake(event.ts, event.of(Role.TID), tid_of(event))

    def switch(
        self, ts: int, cpu: int | None, out: int, into: int, state: str | None, *, is_told: bool
    ) -> None:
        """A CPU goes from one thread to another; of that one's state nothing may be told."""
        before = self._running.get(cpu)
        # Where another thread leaves than the one that came, something in between is lost: that one has no end.
        if before is not None and before[4] != out:
            self.mismatched += 1
        elif before is not None:
            before[1] = ts - before[0]
            before[3] = state
        self._running[cpu] = [ts, -1, cpu, None, into]
        self.rows.slices.append(self._running[cpu])
        if out in self._last and self._last[out][2] != "Running":
            del self._last[out]
        if is_told:
            self._enter(ts, out, state)
        self._enter(ts, into, "Running")

    def change_states(
        self, ts: int, cpu: int | None, out: int, into: int, state: str | None
    ) -> None:
        """A thread leaves a CPU, another one gets it (`GenericKernelParser`); -1 is one that is not known."""
        before = self._running.get(cpu)
        if before is not None and (into != _UNKNOWN or (before[4] == out and state is not None)):
            ended = self._running.pop(cpu)
            assert ended is not None
            ended[1] = ts - ended[0]
            if ended[4] == out:
                ended[3] = state
            if ended[4] != out or state is None:
                self._enter(ts, ended[4], None)
        if out != _UNKNOWN and state is not None:
            self._enter(ts, out, state)
        if into != _UNKNOWN:
            self._running[cpu] = [ts, -1, cpu, None, into]
            self.rows.slices.append(self._running[cpu])
            self._enter(ts, into, "Running")

    def wake(self, ts: int, tid: int, waker: int) -> None:
        """A thread that neither runs nor waits for a CPU gets to wait for one."""
        if tid not in self._last or self._last[tid][2] not in ("Running", "R", "R+"):
            self._enter(ts, tid, "R", waker)

    def _enter(self, ts: int, tid: int, state: str | None, waker: int | None = None) -> None:
        if tid == 0:
            return
        if tid in self._last:
            self._last[tid][1] = ts - self._last[tid][0]
        self._last[tid] = [ts, -1, state, tid, waker]
        self.rows.states.append(self._last[tid])
