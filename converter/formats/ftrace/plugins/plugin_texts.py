"""Texts of events that trace-cmd's plugins print instead of the `print fmt`.

Each function here takes the fields of a class, and returns a function that adds the text to the class's program.
"""

from __future__ import annotations

import re
from typing import Final

from converter.formats.ftrace.plugins.event_fields import (
    Emit,
    EventFields,
    decimal,
    hexadecimal,
    switch,
)
from converter.formats.ftrace.plugins.function_graph import end, entry
from converter.formats.ftrace.plugins.function_texts import FTRACE_TEXTS, MISSING
from converter.formats.ftrace.plugins.kvm_texts import KVM_TEXTS
from converter.formats.ftrace.plugins.report_context import Maker, ReportContext, function_found
from converter.formats.ftrace.plugins.wireless_texts import WIRELESS_TEXTS
from converter.ir.events import EventClass
from converter.printing import program as op
from converter.printing.code import Form, Names

_STATES: Final = "SDTtXZPI"
_STATE_LETTER: Final = re.compile(
    rb'\{\s*(0x[0-9a-fA-F]{1,16}|[1-9][0-9]{0,18})\s*,\s*"([A-Za-z])"\s*\}'
)


def plugin_text(
    event_class: EventClass, fields: EventFields, context: ReportContext
) -> Emit | None:
    """Return what prints the events of a class; None where their `print fmt` does."""
    maker = _TEXTS.get((event_class.category, event_class.name))
    return None if maker is None else maker(fields, context)


def _sched_switch(fields: EventFields, context: ReportContext) -> Emit:
    code = fields.code
    prev, follower = _named(fields, "prev_", context), _named(fields, "next_", context)
    prev_prio, next_prio = fields.number("prev_prio"), fields.number("next_prio")
    if prev is None or follower is None:
        return lambda: code.literal(MISSING)

    def text() -> None:
        prev()
        code.literal(b" ")
        if prev_prio is not None:
            code.literal(b"[")
            decimal(code, prev_prio, 32, signed=True)
            code.literal(b"] ")
        _state(fields)
        code.literal(b" ==> ")
        follower()
        if next_prio is not None:
            code.literal(b" [")
            decimal(code, next_prio, 32, signed=True)
            code.literal(b"]")

    return text


def _named(fields: EventFields, prefix: str, context: ReportContext) -> Emit | None:
    """Return the text of a task: name and pid."""
    code, pid, comm = fields.code, fields.number(f"{prefix}pid"), fields.text(f"{prefix}comm")
    task = fields.number(f"{prefix}pid", signed=True)
    if pid is None or task is None:
        return None

    def text() -> None:
        if comm is not None:
            context.learn(code, task, comm)
            code.text_of(comm, 1)
            code.literal(b":")
        decimal(code, pid)

    return text


def _state(fields: EventFields) -> None:
    """Print the letters of the previous task's state."""
    code, state = fields.code, fields.number("prev_state")
    if state is None:
        return
    letters = _state_letters(fields.native)
    bits = [bit for bit, _ in letters]
    state()
    if len(set(bits)) == len(bits) and all(bit & (bit - 1) == 0 for bit in bits):
        code.keep(sum(bits))
        entries = [(bit, bit, letter.encode()) for bit, letter in letters]
        names = Names([*entries, (0, 0, b"R")], len(entries), separator=b"|")
        code.named(op.FLAGS, names)
        return

    def text(_: bytes, value: int) -> bytes:
        return ("|".join([letter for bit, letter in letters if value & bit]) or "R").encode()

    code.call(text, 1)


def _state_letters(native: bytes) -> list[tuple[int, str]]:
    """Return the letters of task states from the switch's `print fmt`, as kernels differ."""
    _, _, flags = native.partition(b"__print_flags(REC->prev_state")
    flags = flags.partition(b":")[0]
    found = [(int(bit, 0), letter.decode()) for bit, letter in _STATE_LETTER.findall(flags)]
    return found or [(1 << i, letter) for i, letter in enumerate(_STATES)]


def _sched_wakeup(fields: EventFields, context: ReportContext) -> Emit:
    code, task, prio = fields.code, _named(fields, "", context), fields.number("prio")
    if task is None:
        return lambda: code.literal(MISSING)
    success, cpu = fields.number("success"), fields.number("target_cpu")

    def text() -> None:
        task()
        if prio is not None:
            code.literal(b" [")
            decimal(code, prio)
            code.literal(b"]")
        if success is not None:
            code.literal(b" success=")
            decimal(code, success)
        if cpu is not None:
            code.literal(b" CPU:")
            cpu()
            code.add(op.NUMBER, code.form(Form("0", 3, conversion="u")))

    return text


def _hrtimer(*times: str) -> Maker:
    """Return the maker of a text with `hrtimer=` and each of the times by name, one of which may be `function`."""

    def compile_text(fields: EventFields, context: ReportContext) -> Emit | None:
        code, timer = fields.code, fields.number("hrtimer")
        columns = [(name, column) for name in times if (column := fields.number(name)) is not None]
        if timer is None or len(columns) < len(times):
            return None

        def text() -> None:
            hexadecimal(code, timer, b"hrtimer=0x")
            for name, column in columns:
                code.literal(f" {name}=".encode())
                if name == "function":
                    context.function_start(code, column)
                else:
                    decimal(code, column)

        return text

    return compile_text


def _allocation(fields: EventFields, context: ReportContext) -> Emit | None:
    """Return the text of the function at the call site, followed by the text of the `print fmt`."""
    code, caller = fields.code, fields.number("call_site")
    if caller is None:
        return None

    def known() -> None:
        code.literal(b"(")
        function_found(code)
        code.literal(b"+0x")
        code.add(op.FOUND_NUMBER)
        code.add(op.HEXADECIMAL, 32)
        code.literal(b") ")

    def text() -> None:
        context.found(code, caller, known, lambda: None)
        fields.printed()

    return text


_FLUSH_REASONS: Final = (
    b"flush on task switch",
    b"remote shootdown",
    b"local shootdown",
    b"local mm shootdown",
)


def _tlb_flush(fields: EventFields, _: ReportContext) -> Emit | None:
    code, pages, reason = fields.code, fields.number("pages"), fields.number("reason")
    if pages is None or reason is None:
        return None
    bits = fields.bits("pages")

    def text() -> None:
        code.literal(b"pages=")
        decimal(code, pages, bits, signed=True)
        code.literal(b" reason=")
        reason()
        code.named(op.LABEL, Names([(i, i, name) for i, name in enumerate(_FLUSH_REASONS)]))
        code.add(op.DROP)
        code.literal(b" (")
        code.add(op.DECIMAL, 64)
        code.literal(b")")

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
_MASK: Final = (1 << 64) - 1


def _futex(fields: EventFields, _: ReportContext) -> Emit | None:
    code = fields.code
    columns = {
        name: fields.number(name) for name in ("uaddr", "op", "val", "utime", "uaddr2", "val3")
    }
    operation, address = columns["op"], columns["uaddr"]
    if operation is None or address is None:
        return None

    def zero() -> None:
        code.constant(0)

    def argument(name: str) -> None:
        plain, _, in_hexadecimal = name.partition("=")
        number = columns["utime" if plain == "val2" else plain] or zero
        if plain in ("val", "val2") and not in_hexadecimal:
            code.literal(f" {plain}=".encode())
            decimal(code, number)
        else:
            hexadecimal(code, number, f" {plain}=0x".encode(), 8)

    def flag(bit: int, name: bytes) -> None:
        operation()
        code.keep(bit)
        code.unless_zero(lambda: code.literal(name), None)

    def shown(name: str, arguments: str) -> Emit:
        def text() -> None:
            code.literal(f"op={name}".encode())
            flag(_FUTEX_PRIVATE, b"|FUTEX_PRIVATE_FLAG")
            flag(_FUTEX_REALTIME, b"|FUTEX_CLOCK_REALTIME")
            hexadecimal(code, address, b" uaddr=0x", 8)
            for one in arguments.split():
                argument(one)

        return text

    def command() -> None:
        operation()
        code.keep(_MASK & ~(_FUTEX_PRIVATE | _FUTEX_REALTIME))

    cases = [(number, shown(*names)) for number, names in enumerate(_FUTEX)]
    return lambda: switch(code, command, cases, fields.printed)


_TEXTS: Final[dict[tuple[str, str], Maker]] = {
    ("sched", "sched_switch"): _sched_switch,
    ("sched", "sched_wakeup"): _sched_wakeup,
    ("sched", "sched_wakeup_new"): _sched_wakeup,
    ("timer", "hrtimer_start"): _hrtimer("function", "expires", "softexpires"),
    ("timer", "hrtimer_expire_entry"): _hrtimer("now", "function"),
    ("tlb", "tlb_flush"): _tlb_flush,
    ("syscalls", "sys_enter_futex"): _futex,
    ("ftrace", "funcgraph_entry"): entry,
    ("ftrace", "funcgraph_exit"): end,
    **{("ftrace", name): maker for name, maker in FTRACE_TEXTS.items()},
    **{
        ("kmem", name): _allocation
        for name in (
            *("kmalloc", "kmalloc_node", "kfree"),
            *("kmem_cache_alloc", "kmem_cache_alloc_node", "kmem_cache_free"),
        )
    },
    **KVM_TEXTS,
    **WIRELESS_TEXTS,
}
