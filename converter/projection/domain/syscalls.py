"""Names of system calls by architecture and number (``schemas/linux/syscalls.json``)."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

#: The number in raw_syscalls:sys_exit for an invalid system call, or one that a tracer cancelled.
NO_SYSCALL = -1

#: Prefixes of class names that contain the name of a system call: ftrace's syscalls system, LTTng's kernel tracer.
_PREFIXES = (
    "sys_enter_",
    "sys_exit_",
    "syscall_entry_",
    "syscall_exit_",
    "compat_syscall_entry_",
    "compat_syscall_exit_",
)


@cache
def _architectures() -> Mapping[str, Any]:
    # Imported only now, as most traces need no names. importlib.resources would take 8 ms.
    import json
    import pkgutil

    text = pkgutil.get_data("converter.schemas", "linux/syscalls.json")
    assert text is not None
    architectures: Mapping[str, Any] = json.loads(text)["architectures"]
    return architectures


@cache
def syscall_names(machine: str) -> Mapping[int, str]:
    """Return the names by number for the output of ``uname -m``; empty for an unknown machine."""
    for architecture in _architectures().values():
        if any(fnmatchcase(machine, pattern) for pattern in architecture["machines"]):
            return {int(number): name for number, name in architecture["names"].items()}
    return {}


def syscall_name(machine: str, number: int) -> str:
    """Return ``sys_<name>``, or ``sys_<number>`` for an unknown architecture or number."""
    return f"sys_{syscall_names(machine).get(number, number)}"


def name_in_class(class_name: str) -> str | None:
    """Return the name of the system call in the name of an event class (sys_enter_openat: openat), or None."""
    for prefix in _PREFIXES:
        if class_name.startswith(prefix):
            return class_name.removeprefix(prefix)
    return None
