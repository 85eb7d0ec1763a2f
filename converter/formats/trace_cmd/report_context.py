"""What the lines of a report share: names of tasks and functions, and what a text needs to know of its place."""

from __future__ import annotations

from collections.abc import Callable

from converter.formats.trace_cmd.event_fields import EventFields, TextOf
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain

#: What makes, of the fields of the events of a class in a batch, what prints them; None where it cannot.
Maker = Callable[[EventFields, "ReportContext"], TextOf | None]

_IDLE = "<idle>"
_UNKNOWN = "<...>"
_MASK = (1 << 64) - 1
_SECOND = 1_000_000_000


class ReportContext:
    """The state of a report, which is printed from the first event to the last."""

    def __init__(
        self, names: dict[int, str], symbols: SymbolTable | None, clock: ClockDomain
    ) -> None:
        self._in_seconds = clock.ticks_per_second == _SECOND
        self._epoch = clock.epoch_ns or 0
        self._names = names
        self._symbols = symbols
        self._functions: dict[int, tuple[str, int] | None] = {}
        self._calls: dict[int, list[str]] = {}
        #: The CPUs and times of the batch at hand, by position.
        self.cpus: list[int] = []
        self.times: list[int] = []

    def time(self, ts: int) -> str:
        """A time in seconds, or as it is where nobody knows what the clock counts."""
        if not self._in_seconds:
            return str(ts)
        # Times are unsigned to trace-cmd.
        seconds, nanos = divmod(ts + self._epoch & _MASK, _SECOND)
        return f"{seconds:5}.{nanos:09}"

    def task(self, pid: int) -> str:
        """The name of a task, as far as it is known up to here."""
        return self._names.get(pid, _UNKNOWN) if pid else _IDLE

    def learn(self, pid: int, name: str) -> None:
        """An event that is printed names a task; the first name stays."""
        self._names.setdefault(pid, name)

    def calls(self, cpu: int) -> list[str]:
        """The functions that are open on a CPU, the outermost first, as far as their names tell."""
        return self._calls.setdefault(cpu, [])

    def function(self, address: int) -> tuple[str, int] | None:
        """The function that an address is in, and how far."""
        if address not in self._functions:
            found = None if self._symbols is None else self._symbols.lookup(address)
            name = None if found is None else found[0].decode("utf-8", "surrogateescape")
            self._functions[address] = None if found is None else (str(name), found[1])
        return self._functions[address]

    def function_name(self, address: int, unknown: str = "0x{:x}") -> str:
        """The name alone, or the address."""
        found = self.function(address)
        return unknown.format(address) if found is None else found[0]

    def function_start(self, address: int) -> str:
        """The name and, as a 64-bit number, how far the function's start is from the address."""
        found = self.function(address)
        if found is None:
            return f"0x{address:08x}"
        return f"{found[0]}/0x{-found[1] & _MASK:x}"
