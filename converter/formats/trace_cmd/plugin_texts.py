"""Texts that trace-cmd has for events of its own accord, and not by their `print fmt`: those of its plugins.

Each function here makes, of the fields of the events of a class in a batch, what prints one of them.
"""

from __future__ import annotations

import re
from typing import Final

from converter.formats.trace_cmd.event_fields import EventFields, TextOf, signed
from converter.formats.trace_cmd.function_texts import FTRACE_TEXTS, MISSING
from converter.formats.trace_cmd.kvm_texts import KVM_TEXTS
from converter.formats.trace_cmd.report_context import Maker, ReportContext
from converter.ir.events import EventClass

_STATES: Final = "SDTtXZPI"
_STATE_LETTER: Final = re.compile(
    rb'\{\s*(0x[0-9a-fA-F]{1,16}|[1-9][0-9]{0,18})\s*,\s*"([A-Za-z])"\s*\}'
)


def plugin_text(
    event_class: EventClass, fields: EventFields, context: ReportContext
) -> TextOf | None:
    """What prints the events of a class; None where their `print fmt` does."""
    maker = _TEXTS.get((event_class.category, event_class.name))
    return None if maker is None else maker(fields, context)


def _missing(_: int, __: int) -> str:
    return MISSING


def _sched_switch(fields: EventFields, context: ReportContext) -> TextOf:
    prev, prev_comm, prev_prio = _task(fields, "prev_")
    follower, next_comm, next_prio = _task(fields, "next_")
    if prev is None or follower is None:
        return _missing
    state = fields.numbers("prev_state")
    letters = _state_letters(fields.native)

    def text(row: int, _: int) -> str:
        left = _named(prev[row], None if prev_comm is None else prev_comm[row], context)
        left += " "
        if prev_prio is not None:
            left += f"[{signed(prev_prio[row], 32)}] "
        if state is not None:
            left += "|".join([letter for bit, letter in letters if state[row] & bit]) or "R"
        right = _named(follower[row], None if next_comm is None else next_comm[row], context)
        if next_prio is not None:
            right += f" [{signed(next_prio[row], 32)}]"
        return f"{left} ==> {right}"

    return text


def _task(
    fields: EventFields, prefix: str
) -> tuple[list[int] | None, list[str] | None, list[int] | None]:
    return (
        fields.numbers(f"{prefix}pid"),
        fields.texts(f"{prefix}comm"),
        fields.numbers(f"{prefix}prio"),
    )


def _named(pid: int, comm: str | None, context: ReportContext) -> str:
    if comm is None:
        return str(pid)
    context.learn(pid, comm)
    return f"{comm}:{pid}"


def _state_letters(native: bytes) -> list[tuple[int, str]]:
    """The letters of a task's states, which the `print fmt` of the switch tells, as kernels differ."""
    _, _, flags = native.partition(b"__print_flags(REC->prev_state")
    flags = flags.partition(b":")[0]
    found = [(int(bit, 0), letter.decode()) for bit, letter in _STATE_LETTER.findall(flags)]
    return found or [(1 << i, letter) for i, letter in enumerate(_STATES)]


def _sched_wakeup(fields: EventFields, context: ReportContext) -> TextOf:
    pid, comm, prio = _task(fields, "")
    if pid is None:
        return _missing
    success, cpu = fields.numbers("success"), fields.numbers("target_cpu")

    def text(row: int, _: int) -> str:
        shown = _named(pid[row], None if comm is None else comm[row], context)
        if prio is not None:
            shown += f" [{prio[row]}]"
        if success is not None:
            shown += f" success={success[row]}"
        if cpu is not None:
            shown += f" CPU:{cpu[row]:03}"
        return shown

    return text


def _hrtimer(*times: str) -> Maker:
    """`hrtimer=`, then for each name its time, `function` being one of them."""

    def made(fields: EventFields, context: ReportContext) -> TextOf | None:
        timer, function = fields.numbers("hrtimer"), fields.numbers("function")
        columns = {name: fields.numbers(name) for name in times if name != "function"}
        if timer is None or function is None or None in columns.values():
            return None

        def text(row: int, _: int) -> str:
            shown = f"hrtimer=0x{timer[row]:x}"
            for name in times:
                column = columns.get(name)
                if column is None:
                    shown += f" function={context.function_start(function[row])}"
                else:
                    shown += f" {name}={column[row]}"
            return shown

        return text

    return made


def _allocation(fields: EventFields, context: ReportContext) -> TextOf | None:
    """The function that a call is in, in front of what the `print fmt` says."""
    caller, rest = fields.numbers("call_site"), fields.printed
    if caller is None:
        return None

    def text(row: int, position: int) -> str:
        found = context.function(caller[row])
        front = "" if found is None else f"({found[0]}+0x{found[1] & 0xFFFFFFFF:x}) "
        return front + rest(row, position)

    return text


_FLUSH_REASONS: Final = (
    "flush on task switch",
    "remote shootdown",
    "local shootdown",
    "local mm shootdown",
)


def _tlb_flush(fields: EventFields, _: ReportContext) -> TextOf | None:
    pages, reason = fields.numbers("pages"), fields.numbers("reason")
    if pages is None or reason is None:
        return None
    bits = fields.bits("pages")

    def text(row: int, _: int) -> str:
        why = reason[row]
        named = _FLUSH_REASONS[why] if why < len(_FLUSH_REASONS) else ""
        return f"pages={signed(pages[row], bits)} reason={named} ({why})"

    return text


#: What follows `uaddr` of each operation of futex(2): the names that are printed, and the arguments.
_FUTEX: Final[tuple[tuple[str, str], ...]] = (
    ("FUTEX_WAIT", "val=x utime"),
    ("FUTEX_WAKE", "val"),
    ("FUTEX_FD", "val"),
    ("FUTEX_REQUEUE", "val val2 uaddr2"),
    ("FUTEX_CMP_REQUEUE", "val val2 uaddr2 val3"),
    ("FUTEX_WAKE_OP", "val val2 uaddr2 val3"),
    ("FUTEX_LOCK_PI", "utime"),
    ("FUTEX_UNLOCK_PI", ""),
    ("FUTEX_TRYLOCK_PI", ""),
    ("FUTEX_WAIT_BITSET", "val=x utime val3"),
    ("FUTEX_WAKE_BITSET", "val val3"),
    ("FUTEX_WAIT_REQUEUE_PI", "val=x utime uaddr2 val3"),
    ("FUTEX_CMP_REQUEUE_PI", "val val2 uaddr2 val3"),
)
_FUTEX_PRIVATE: Final = 128
_FUTEX_REALTIME: Final = 256


def _futex(fields: EventFields, _: ReportContext) -> TextOf | None:
    columns = {
        name: fields.numbers(name) for name in ("uaddr", "op", "val", "utime", "uaddr2", "val3")
    }
    operation, address = columns["op"], columns["uaddr"]
    if operation is None or address is None:
        return None

    def argument(name: str, row: int) -> str:
        plain, _, hexadecimal = name.partition("=")
        column = columns["utime" if plain == "val2" else plain]
        number = 0 if column is None else column[row]
        if plain in ("val", "val2") and not hexadecimal:
            return f" {plain}={number}"
        return f" {plain}=0x{number:08x}"

    def text(row: int, position: int) -> str:
        op = operation[row]
        command = op & ~(_FUTEX_PRIVATE | _FUTEX_REALTIME)
        if command >= len(_FUTEX):
            return fields.printed(row, position)
        name, arguments = _FUTEX[command]
        shown = f"op={name}"
        if op & _FUTEX_PRIVATE:
            shown += "|FUTEX_PRIVATE_FLAG"
        if op & _FUTEX_REALTIME:
            shown += "|FUTEX_CLOCK_REALTIME"
        shown += f" uaddr=0x{address[row]:08x}"
        return shown + "".join([argument(one, row) for one in arguments.split()])

    return text


_TEXTS: Final[dict[tuple[str, str], Maker]] = {
    ("sched", "sched_switch"): _sched_switch,
    ("sched", "sched_wakeup"): _sched_wakeup,
    ("sched", "sched_wakeup_new"): _sched_wakeup,
    ("timer", "hrtimer_start"): _hrtimer("function", "expires", "softexpires"),
    ("timer", "hrtimer_expire_entry"): _hrtimer("now", "function"),
    ("tlb", "tlb_flush"): _tlb_flush,
    ("syscalls", "sys_enter_futex"): _futex,
    **{("ftrace", name): maker for name, maker in FTRACE_TEXTS.items()},
    **{
        ("kmem", name): _allocation
        for name in (
            *("kmalloc", "kmalloc_node", "kfree"),
            *("kmem_cache_alloc", "kmem_cache_alloc_node", "kmem_cache_free"),
        )
    },
    **{("kvm", name): maker for name, maker in KVM_TEXTS.items()},
}
