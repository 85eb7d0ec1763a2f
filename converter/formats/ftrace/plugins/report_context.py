"""The shared state of a report's lines: names of tasks and functions, and the format of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from converter.formats.ftrace.plugins.event_fields import Emit, EventFields, hexadecimal
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain
from converter.printing import program as op
from converter.printing.code import Code, Form
from converter.printing.directory import Directory

#: Takes the fields of a class and returns what prints its events; None where it cannot.
Maker = Callable[[EventFields, "ReportContext"], Emit | None]

_IDLE = "<idle>"
_UNKNOWN = "<...>"
#: In bytes, as trace-cmd aligns names.
_NAME_WIDTH = 16
_SECOND = 1_000_000_000
#: Digits, a point and nine decimals.
_TIME_WIDTH = 15


class ReportContext:
    """The state of a report, which is printed from the first event to the last."""

    def __init__(
        self, names: Mapping[int, bytes], symbols: SymbolTable | None, clock: ClockDomain
    ) -> None:
        self._in_seconds = clock.ticks_per_second == _SECOND
        #: Option DATE counts microseconds.
        self._epoch = (clock.epoch_ns or 0) // 1000 * 1000
        self._names = names
        self._symbols = symbols
        #: The prefix of a line for its task, by pid: the number is 1 where the name is known. Printed events name
        #: tasks; the first name stays.
        self.tasks = Directory(self._task, self._front)
        #: The function that contains an address, and the offset in it.
        self.functions = Directory(self.function)

    def _task(self, pid: int) -> tuple[bytes, int]:
        known = not pid or bool(self._names.get(pid))
        name = (self._names.get(pid) or _UNKNOWN.encode()) if pid else _IDLE.encode()
        return self._front(pid, name)[0], int(known)

    @staticmethod
    def _front(pid: int, name: bytes) -> tuple[bytes, int]:
        signed = pid - (1 << 64) if pid >> 63 else pid
        return name.rjust(_NAME_WIDTH) + f"-{signed:<5} ".encode(), 1

    def function(self, address: int) -> tuple[bytes, int] | None:
        """Return the name of the function that contains an address, and the offset in it."""
        return None if self._symbols is None else self._symbols.lookup(address)

    def time(self, code: Code, ts: Emit, width: int = 0) -> None:
        """Print a time in seconds, or as a plain number of this width where the clock's unit is unknown."""
        ts()
        if not self._in_seconds:
            code.add(op.NUMBER, code.form(Form("", width, conversion="d")))
            return
        # trace-cmd prints times as unsigned numbers.
        if self._epoch:
            code.constant(self._epoch)
            code.add(op.ADD)
        code.add(op.TIME, 1, 1, 1 + 2 * _TIME_WIDTH)

    def learn(self, code: Code, pid: Emit, name: tuple[str, int]) -> None:
        """Record the name that an event gives to a task."""
        pid()
        code.add(op.LEARN, code.directory(self.tasks), code.column(name, op.TEXTS), 1)

    def found(self, code: Code, address: Emit, known: Emit, unknown: Emit) -> None:
        """Emit `known` if an address is in a function, else `unknown`."""
        address()
        code.find(self.functions)
        code.unless_zero(known, unknown)

    def function_name(self, code: Code, address: Emit, prefix: bytes = b"0x") -> None:
        """Print the function's name, or the address if there is none."""
        self.found(
            code,
            address,
            lambda: function_found(code),
            lambda: hexadecimal(code, address, prefix),
        )

    def function_start(self, code: Code, address: Emit) -> None:
        """Print the name and, as a 64-bit number, the distance of the function's start from the address."""

        def start() -> None:
            function_found(code)
            code.literal(b"/0x")
            code.add(op.FOUND_NUMBER)
            code.add(op.NEGATE)
            code.add(op.HEXADECIMAL, 64)

        self.found(code, address, start, lambda: hexadecimal(code, address, digits=8))


def function_found(code: Code) -> None:
    """Print the name of the function that was found."""
    code.add(op.FOUND_TEXT)
