"""The names of events as perf prints them, from the numbers in their attributes."""

from __future__ import annotations

from typing import Final

#: By configuration: PERF_COUNT_HW_*.
HARDWARE_EVENTS: Final = (
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
)
#: By configuration: PERF_COUNT_SW_*.
SOFTWARE_EVENTS: Final = (
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
)
#: Software events whose period is in nanoseconds.
CLOCK_EVENTS: Final = frozenset({0, 1})
_CACHES: Final = ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
#: The operations of caches that do not have all: of instructions, their addresses, and branches.
_VALID: Final = {1: (0, 2), 4: (0,), 5: (0,)}
#: The names of an operation: its accesses, and its misses.
_OPERATIONS: Final = (
    ("loads", "load-misses"),
    ("stores", "store-misses"),
    ("prefetches", "prefetch-misses"),
)


def event_name(event_type: int, config: int) -> str:
    """Return perf's name of an event without modifiers, empty for events of PMUs and tracepoints.

    Args:
        event_type: PERF_TYPE_*.
        config: its configuration.

    """
    if event_type == 0:
        # The upper half says which PMU of several kinds of CPUs.
        config &= 0xFFFF_FFFF
        return HARDWARE_EVENTS[config] if config < len(HARDWARE_EVENTS) else "unknown-hardware"
    if event_type == 1:
        return SOFTWARE_EVENTS[config] if config < len(SOFTWARE_EVENTS) else "unknown-software"
    if event_type == 3:
        return _cache_event(config & 0xFFFF_FFFF)
    if event_type == 4:
        return f"raw 0x{config:x}"
    return ""


def _cache_event(config: int) -> str:
    cache, operation, result = config & 0xFF, config >> 8 & 0xFF, config >> 16 & 0xFF
    for number, count, name in (
        (cache, len(_CACHES), "type"),
        (operation, len(_OPERATIONS), "op"),
        (result, 2, "result"),
    ):
        if number >= count:
            return f"unknown-ext-hardware-cache-{name}"
    if operation not in _VALID.get(cache, (0, 1, 2)):
        return "invalid-cache"
    return f"{_CACHES[cache]}-{_OPERATIONS[operation][result]}"


def modifiers(
    *, user: bool, kernel: bool, hypervisor: bool, precision: int, host: bool, guest: bool
) -> str:
    """Return the modifiers that perf appends to a name, with their colon; empty where there are none.

    Args:
        user: user space is counted.
        kernel: the kernel is counted.
        hypervisor: the hypervisor is counted.
        precision: 0 to 3, how precise addresses of instructions are.
        host: the host is counted.
        guest: guests are counted.

    """
    text = ""
    if not (user and kernel and hypervisor):
        text = "k" * kernel + "u" * user + "h" * hypervisor
    text += "p" * precision
    # Guests are left out by default, and included once there are other modifiers.
    excludes_guest = not (user and kernel and hypervisor) or precision > 0
    if not host or (not guest) is excludes_guest:
        text += "H" * host + "G" * guest
    return f":{text}" if text else ""
