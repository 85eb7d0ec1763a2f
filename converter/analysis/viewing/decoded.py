"""The meaning of numbers in fields of Linux's events: states, flags, vectors, functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass, Style
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.domain.linux_timeline import SOFTIRQ_NAMES
from converter.projection.domain.scheduling.state_bits import (
    SINCE_4_14,
    StateBits,
    bits_of_release,
    printed_bits,
)

#: The most functions of a field that are named.
_MOST_FUNCTIONS: Final = 10_000
#: include/linux/trace_events.h, enum trace_flag_type.
_TRACE_FLAGS: Final = (
    *("irqs-off", "need-resched-lazy", "need-resched", "hardirq", "softirq"),
    *("preempt-resched", "nmi", "bh-off"),
)
#: include/uapi/linux/sched.h; the lowest byte is the signal that is sent at the end.
_CLONE_FLAGS: Final = {
    0x100: "VM",
    0x200: "FS",
    0x400: "FILES",
    0x800: "SIGHAND",
    0x1000: "PIDFD",
    0x2000: "PTRACE",
    0x4000: "VFORK",
    0x8000: "PARENT",
    0x10000: "THREAD",
    0x20000: "NEWNS",
    0x40000: "SYSVSEM",
    0x80000: "SETTLS",
    0x100000: "PARENT_SETTID",
    0x200000: "CHILD_CLEARTID",
    0x800000: "UNTRACED",
    0x1000000: "CHILD_SETTID",
}


class Decoded:
    """Labels of values, for fields that have none of their own."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._by_name: dict[str, Callable[[NDArray[Any]], dict[str, Any]]] = {
            "vec": lambda _: _values(dict(enumerate(SOFTIRQ_NAMES))),
            "prev_state": self._states,
            "common_flags": lambda _: _flags({1 << i: one for i, one in enumerate(_TRACE_FLAGS)}),
            "clone_flags": lambda _: _flags(_CLONE_FLAGS),
        }

    def labels(self, one: Field, values: NDArray[Any]) -> dict[str, Any]:
        """Return the labels of a field with these values, as the page has them; none if nothing is known of it."""
        if not isinstance(one.type, IntegerClass) or one.type.labels:
            return {}
        if one.type.style is Style.SYMBOL:
            return self._functions(values)
        known = self._by_name.get(one.name)
        return {} if known is None else known(values)

    def _states(self, values: NDArray[Any]) -> dict[str, Any]:
        bits = self._bits()
        return _values({value: bits.text(value) for value in np.unique(values).tolist()})

    def _bits(self) -> StateBits:
        """Return the bits of the states of the trace's kernel."""
        release = bits_of_release(str(self._trace.environment.get("kernel_release", "")))
        switches = [one for one in self._trace.event_classes if one.kind is Kind.SCHED_SWITCH]
        printed = (printed_bits(one.native) for one in switches)
        return next(filter(None, printed), release) or SINCE_4_14

    def _functions(self, values: NDArray[Any]) -> dict[str, Any]:
        if self._trace.symbols is None:
            return {}
        addresses = np.unique(values)[:_MOST_FUNCTIONS].astype(np.uint64)
        names = self._trace.symbols.names(addresses)
        return _values(
            {
                address: name.decode("utf-8", "replace")
                for address, name in zip(addresses.tolist(), names, strict=True)
                if name is not None
            }
        )


def _values(texts: dict[int, str]) -> dict[str, Any]:
    return {"labels": [[str(value), str(value), text] for value, text in texts.items()]}


def _flags(texts: dict[int, str]) -> dict[str, Any]:
    return {**_values(texts), "flags": True}
