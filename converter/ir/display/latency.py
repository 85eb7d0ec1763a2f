"""The letters of the Linux kernel's latency format, from the fields that each of its records has."""

from __future__ import annotations

# The kernel's trace_flag_type (include/linux/trace_events.h).
IRQS_OFF, NEED_RESCHED_LAZY, NEED_RESCHED, HARDIRQ, SOFTIRQ = 0x01, 0x02, 0x04, 0x08, 0x10
_PREEMPT_RESCHED, _NMI, _BH_OFF = 0x20, 0x40, 0x80


def latency_letters(flags: int, preempt_count: int) -> str:
    """Return interrupts off, reschedule, interrupt context, depths of disabled preemption and migration: ftrace's
    latency format.
    """
    off = "d" if flags & IRQS_OFF else "."
    if flags & _BH_OFF:
        off = "D" if flags & IRQS_OFF else "b"
    need = flags & (NEED_RESCHED | _PREEMPT_RESCHED)
    resched = {0: ".", NEED_RESCHED: "n", _PREEMPT_RESCHED: "p"}.get(need, "N")
    hard, soft, nmi = flags & HARDIRQ, flags & SOFTIRQ, flags & _NMI
    if nmi:
        context = "Z" if hard else "z"
    elif hard:
        context = "H" if soft else "h"
    else:
        context = "s" if soft else "."
    # The kernel stores the depth of disabled migration in the upper half.
    depths = (preempt_count & 0xF, preempt_count >> 4 & 0xF)
    return off + resched + context + "".join(f"{depth:x}" if depth else "." for depth in depths)
