"""Processes and clocks of a trace as JSON, for formats that have only a custom record for them.

A process is [pid, name, parent pid or null, [command line]], a clock [name, description, epoch in ns or null, ticks per
second as a fraction or null]. Names that are not UTF-8 have lone surrogates. Input from a file is checked; if it is
wrong, the exception is one of `DAMAGE`.
"""

from __future__ import annotations

from typing import Any, Final

from converter.ir.trace import ClockDomain, Process, parse_epoch, parse_rate

#: The exceptions of parsing invalid JSON, and of converting it to tables.
DAMAGE: Final = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
    ArithmeticError,
)


def process_form(process: Process) -> list[Any]:
    """Return the JSON form of a process."""
    return [process.pid, process.name, process.parent_pid, process.command_line]


def process_of(form: Any) -> Process:
    """Return the process of a form."""
    pid, name, parent, line = form
    return Process(
        id_of(pid),
        text_of(name),
        None if parent is None else id_of(parent),
        tuple(text_of(part) for part in line),
    )


def clock_form(clock: ClockDomain) -> list[Any]:
    """Return the JSON form of a clock."""
    rate = clock.ticks_per_second
    return [clock.name, clock.description, clock.epoch_ns, None if rate is None else str(rate)]


def clock_of(form: Any) -> ClockDomain:
    """Return the clock of a form."""
    name, description, epoch, rate = form
    return ClockDomain(
        text_of(name),
        None if rate is None else parse_rate(rate),
        None if epoch is None else parse_epoch(epoch),
        text_of(description),
    )


def environment_of(form: Any) -> dict[str, str | int]:
    """Return an environment: names, and texts or numbers."""
    return {
        text_of(name): value if isinstance(value, int) else text_of(value)
        for name, value in form.items()
    }


def id_of(value: Any) -> int:
    """Return a 64-bit number."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise ValueError("an id is not one of 64 bits")
    return value


def text_of(value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    # UnicodeEncodeError, a ValueError, for lone surrogates other than those of bytes that are not UTF-8.
    value.encode("utf-8", "surrogateescape")
    return value
