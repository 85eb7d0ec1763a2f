"""The inputs and the result of evaluating a template: an entry of the trace, its environment, and the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from converter.errors import TraceWarning
from converter.formats.aix.trcfmt.model import Level

#: The value of a field or macro.
Value = int | float | str


@dataclass(frozen=True, slots=True)
class Entry:
    """A hook as templates see it (I.C): hook word and data, without thread ID and time.

    `hook_env` is 32 or 64: the word size of the application that traced it, which decides the layout of the hook word.
    """

    data: bytes
    hook_env: int = 64

    @property
    def word_size(self) -> int:
        """The size of a data word in bytes."""
        return self.hook_env // 8

    @property
    def id(self) -> int:
        """The hook ID in 16 bits."""
        if self.hook_env == 32:
            return (self._number(0, 2) >> 4) << 4
        return self._number(4, 2)

    @property
    def hook_type(self) -> int:
        """HT: the type of a 32-bit hook word, the flags of one of 64 bits."""
        return self._number(0, 2) & 0xF if self.hook_env == 32 else self._number(0, 2)

    @property
    def generic(self) -> bool:
        """True if this is data of variable length (trcgen)."""
        if self.hook_env == 32:
            return self.hook_type & 7 == 0
        return bool(self.hook_type & 0x4000)

    @property
    def hook_data(self) -> int:
        """$HD: the lower 16 bits of the hook word."""
        return self._number(2 if self.hook_env == 32 else 6, 2)

    @property
    def length(self) -> int:
        """$HL: bytes of data or, of generic entries, of the variable part."""
        if self.hook_env == 64:
            return self._number(2, 2)
        return self.hook_data if self.generic else max(0, len(self.data) - 4)

    @property
    def data_pointer(self) -> int:
        """The start of the data pointer: at the hook data, or at the data word of a generic entry."""
        return self.word_size if self.generic else self.word_size - 2

    def word(self, number: int, size: int) -> int:
        """Return data word `number` (from 1) of `size` bytes, 0 beyond the end of the entry."""
        return self._number(self.word_size + (number - 1) * size, size)

    def _number(self, offset: int, size: int) -> int:
        return int.from_bytes(self.data[offset : offset + size].ljust(size, b"\0"))


@dataclass(slots=True)
class Environment:
    """The values that templates can request besides the entry: one object for a report, changed from event to event.

    `time_ns` is the time of the event; `timers` are the start times of `starttimer`, by its two numbers.
    `paths` are the executables by process ID.
    """

    trace_env: int = 64
    tid: int = -1
    pid: int = -1
    cpu: int = -1
    priority: int = -1
    exec_path: str = ""
    svc: str = ""
    time_ns: int = 0
    line: int = 1
    logfile: str = ""
    log_offset: int = 0
    total_cpus: int = 0
    traced_cpus: int = 0
    reported_cpus: int = 0
    large_data_types: int = 0
    ip_address: int = 0
    buffer_scheme: int = 0
    paths: dict[int, str] = field(default_factory=dict)
    timers: dict[tuple[int, int], int] = field(default_factory=dict)


#: Macros that print a part of the entry or its environment (VI), except for the words of data: D1 to D5, L1 to L5.
SPECIAL_MACROS: dict[str, Callable[[Entry, Environment], Value]] = {
    "HOOKENV": lambda entry, _: entry.hook_env,
    "TRACEENV": lambda _, around: around.trace_env,
    "RELLINENO": lambda _, around: around.line,
    "HD": lambda entry, _: entry.hook_data,
    "HL": lambda entry, _: entry.length,
    "WORDSIZE": lambda entry, _: entry.word_size,
    "GENERIC": lambda entry, _: int(entry.generic),
    "TOTALCPUS": lambda _, around: around.total_cpus,
    "TRACEDCPUS": lambda _, around: around.traced_cpus,
    "REPORTEDCPUS": lambda _, around: around.reported_cpus,
    "LARGEDATATYPES": lambda _, around: around.large_data_types,
    "SVC": lambda _, around: around.svc,
    "EXECPATH": lambda _, around: around.exec_path,
    "PID": lambda _, around: around.pid,
    "TID": lambda _, around: around.tid,
    "CPUID": lambda _, around: around.cpu,
    "PRI": lambda _, around: around.priority,
    "LOGIDX0": lambda _, around: around.log_offset,
    "LOGFILE": lambda _, around: around.logfile,
    "TRACEID": lambda entry, _: entry.id,
    "IPADDR": lambda _, around: around.ip_address,
    "BUFF": lambda _, around: around.buffer_scheme,
}


@dataclass(frozen=True, slots=True)
class Report:
    """The text that a template prints for an entry.

    `text` has newlines between its lines, which start at `level`; tabs are expanded. `fields` are the values in it,
    by name. `action` is "skip" ($SKIP: print nothing), "stop" ($STOP: the report ends) or empty.
    """

    text: str
    level: Level = Level.KERN
    fields: tuple[tuple[str, Value], ...] = ()
    action: str = ""
    warning: TraceWarning | None = None
