"""Determines which machine each input was recorded on, and keeps the numbers of several machines apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.errors.advice import advice
from converter.ir.columns import Column
from converter.ir.events import EventClass
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import ID_ROLES, Role
from converter.ir.trace import Trace

#: The keys of the environment under which recorders store the name of the machine.
_HOST_KEYS: Final = ("hostname", "host")
#: The key under which recorders of virtual machines store the id of a recording, and of the host recording whose clock
#: its times are on.
TRACE_ID: Final = "trace_id"
HOST_TRACE_ID: Final = "host_trace_id"
#: In a host's recording: the id of a guest's recording, and the guest's name.
_GUEST: Final = re.compile(r"(guest_\d+)_trace_id")
#: Ids of the second machine's processes and threads start here, beyond any pid of Linux (PID_MAX_LIMIT, 2^22); each
#: further machine adds the same step. The last digits still show the pid.
ID_STEP: Final = 10_000_000

#: 64-bit numbers from here on are not ids that recorders of several machines could have in common.
_NO_ID: Final = 1 << 62
#: Ids and CPUs of more machines than this do not fit fields of 32 bits.
_MOST_MACHINES: Final = 200
_MOST_CPUS: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of an input, and the offsets that are added to its numbers in the merged trace."""

    name: str = ""
    ids: int = 0
    cpus: int = 0

    @property
    def moved(self) -> bool:
        """True if the merged trace does not keep its numbers."""
        return bool(self.ids or self.cpus)

    def id(self, id: int) -> int:
        """Return the id of a process or thread. The idle task is shared by all machines; values that are not Linux ids
        stay.
        """
        return id + self.ids if 0 < id < _NO_ID else id

    def cpu(self, cpu: int) -> int:
        """Return the number of a CPU."""
        return cpu + self.cpus if cpu >= 0 else cpu

    def shift_of(self, event_class: EventClass, index: int) -> int:
        """Return the offset that is added to a field of a class that names a task or a CPU."""
        one = event_class.fields[index]
        if not self.moved or not isinstance(one.type, IntegerClass) or one.type.bits < 32:
            return 0
        if one.role in ID_ROLES:
            return self.ids
        return self.cpus if one.role is Role.TARGET_CPU else 0


def machine_names(
    traces: Sequence[Trace], given_names: Mapping[int, str] | None = None
) -> tuple[str, ...]:
    """Return the name of each input's machine: the given one, or else that of the environment.

    If all inputs that name a machine name the same one, the others belong to it too, and it needs no name. If there are
    several, an input without a name belongs to a machine without a name. A guest is a different machine from its host
    and from other guests, even if their names are equal.
    """
    given_names = given_names or {}
    stated = [given_names.get(number) or _host(trace) for number, trace in enumerate(traces)]
    known = list(stated)
    guests = [
        number
        for number, recording in enumerate(host_recordings(traces))
        if recording is not None and HOST_TRACE_ID in traces[number].environment
        if number not in given_names
    ]
    called = _guest_names(traces)
    for number in guests:
        own = traces[number].environment.get(TRACE_ID)
        others = {
            name
            for name, trace in zip(stated, traces, strict=True)
            if own is None or trace.environment.get(TRACE_ID) != own
        }
        if not stated[number] or stated[number] in others:
            known[number] = called.get(own) or f"guest {own if own is not None else number + 1}"
    names = set(filter(None, known))
    if len(names) <= 1 and not guests:
        return ("",) * len(known)
    return tuple(known)


def host_recordings(traces: Sequence[Trace]) -> list[int | None]:
    """Return, for each input, the recording whose clock its times are on if it is a guest's or the host's of one."""
    own = [trace.environment.get(TRACE_ID) for trace in traces]
    hosts = [trace.environment.get(HOST_TRACE_ID) for trace in traces]
    recordings = [mine if host is None else host for mine, host in zip(own, hosts, strict=True)]
    known = {host for host in hosts if isinstance(host, int) and recordings.count(host) > 1}
    return [one if isinstance(one, int) and one in known else None for one in recordings]


def _guest_names(traces: Sequence[Trace]) -> dict[object, str]:
    """Return the names that hosts have for their guests, by the ids of the guests' recordings."""
    return {
        value: str(trace.environment.get(f"{found[1]}_name", ""))
        for trace in traces
        for key, value in trace.environment.items()
        if (found := _GUEST.fullmatch(key))
    }


def _host(trace: Trace) -> str:
    for key in _HOST_KEYS:
        if key in trace.environment:
            return str(trace.environment[key])
    return ""


def ids_of(trace: Trace) -> frozenset[int]:
    """Return the ids of its processes and threads, except those that all machines share."""
    numbers = {process.pid for process in trace.processes} | {one.tid for one in trace.threads}
    return frozenset(id for id in numbers if 0 < id < _NO_ID)


def machines(
    names: Sequence[str], highest_cpus: Sequence[int], ids: Sequence[frozenset[int]]
) -> list[Machine]:
    """Return the machine of each input, by its name; the first by name keeps its numbers, as do ids that are unique.

    Args:
        names: the result of `machine_names`.
        highest_cpus: the highest CPU of each input, -1 where it has none.
        ids: of the processes and threads of each input (`ids_of`).

    Raises:
        UnsupportedError: there are too many machines, or CPUs of several.
    """
    distinct = len(set(names))
    if distinct > _MOST_MACHINES:
        raise UnsupportedError(f"{distinct} machines: at most {_MOST_MACHINES} can be merged")
    if distinct > 1 and max(highest_cpus) >= _MOST_CPUS:
        raise UnsupportedError(
            f"CPU {max(highest_cpus)}: of several machines numbers below {_MOST_CPUS:,} can be distinguished; "
            f"{advice('machines=', '--machine')} says which inputs are of one"
        )
    found: dict[str, Machine] = {}
    cpus = 0
    taken: set[int] = set()
    for number, name in enumerate(sorted(set(names))):
        own_ids = set().union(*(one for one, own in zip(ids, names, strict=True) if own == name))
        moved = 0 if taken.isdisjoint(own_ids) else number * ID_STEP
        taken.update(id + moved for id in own_ids)
        found[name] = Machine(name, moved, cpus)
        cpus += 1 + max(
            highest for highest, own in zip(highest_cpus, names, strict=True) if own == name
        )
    return [found[name] for name in names]


def shifted(column: Column, shift: int, *, from_zero: bool) -> Column:
    """Return a column of task ids (`from_zero`: of CPUs) with those of the machine."""
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "iu":
        return column
    lowest = 0 if from_zero else 1
    moved: NDArray[Any] = np.where(column >= lowest, column + column.dtype.type(shift), column)
    return moved
