"""Thread states of different kernels in one vocabulary: that of the Fuchsia trace format ("Thread States")."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, unique
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.distinct_values import distinct
from converter.ir.field_classes import IntegerClass, Label


@unique
class ThreadState(IntEnum):
    """The state in which a thread leaves the CPU; NEW is also that of a thread that is still runnable."""

    NEW = 0
    RUNNING = 1
    SUSPENDED = 2
    BLOCKED = 3
    DYING = 4
    DEAD = 5


#: The type of a column of thread states.
THREAD_STATES = IntegerClass(
    8, labels=tuple(Label(state, state, state.name.lower()) for state in ThreadState)
)

#: Linux's names: the letters of fs/proc/array.c (task_state_array), the constants of include/linux/sched.h.
_STATE_OF_NAME: Mapping[str, ThreadState] = {
    "R": ThreadState.NEW,
    "R+": ThreadState.NEW,
    "S": ThreadState.BLOCKED,
    "D": ThreadState.BLOCKED,
    "T": ThreadState.SUSPENDED,
    "t": ThreadState.SUSPENDED,
    "X": ThreadState.DEAD,
    "x": ThreadState.DEAD,
    "Z": ThreadState.DYING,
    "P": ThreadState.BLOCKED,
    "I": ThreadState.BLOCKED,
    "K": ThreadState.BLOCKED,
    "W": ThreadState.NEW,
    "N": ThreadState.NEW,
    "TASK_RUNNING": ThreadState.NEW,
    "TASK_INTERRUPTIBLE": ThreadState.BLOCKED,
    "TASK_UNINTERRUPTIBLE": ThreadState.BLOCKED,
    "TASK_STOPPED": ThreadState.SUSPENDED,
    "TASK_TRACED": ThreadState.SUSPENDED,
    "EXIT_DEAD": ThreadState.DEAD,
    "EXIT_ZOMBIE": ThreadState.DYING,
    "TASK_DEAD": ThreadState.DEAD,
    "TASK_PARKED": ThreadState.BLOCKED,
    "TASK_WAKEKILL": ThreadState.BLOCKED,
    "TASK_WAKING": ThreadState.NEW,
    "TASK_NOLOAD": ThreadState.BLOCKED,
    "TASK_NEW": ThreadState.NEW,
    **{state.name.lower(): state for state in ThreadState},
}

#: The bits that sched_switch records since Linux 4.14: __trace_sched_switch_state in include/trace/events/sched.h.
_BITS = (
    (0x01, ThreadState.BLOCKED),  # S
    (0x02, ThreadState.BLOCKED),  # D
    (0x40, ThreadState.BLOCKED),  # P
    (0x80, ThreadState.BLOCKED),  # I
    (0x04, ThreadState.SUSPENDED),  # T
    (0x08, ThreadState.SUSPENDED),  # t
    (0x20, ThreadState.DYING),  # Z
    (0x10, ThreadState.DEAD),  # X
)


def thread_state(prev_state: NDArray[Any], field_class: IntegerClass) -> NDArray[np.uint8]:
    """Return the thread states for a column of a scheduler's own numbers.

    Args:
        prev_state: the column; integers.
        field_class: its class. The numbers mean what its labels say, or without labels what Linux 4.14 and later mean.
    """
    values, inverse = distinct(prev_state)
    states = [_state(number, field_class) for number in values.tolist()]
    return np.array(states, np.uint8)[inverse]


def labelled(numbers: NDArray[Any], field_class: IntegerClass) -> NDArray[Any]:
    """Return the labels of a column of a scheduler's own numbers; a number without one as that."""
    values, inverse = distinct(numbers)
    texts = [
        next((one.text for one in field_class.labels if one.low <= number <= one.high), "another")
        for number in values.tolist()
    ]
    return np.array(texts, np.object_)[inverse]


#: The numbers that Linux 4.14 and later record for each state: TASK_INTERRUPTIBLE for a blocked thread.
_NUMBERS = np.array([0, 0, 0x04, 0x01, 0x20, 0x10], np.int64)


def linux_state(states: NDArray[Any]) -> NDArray[np.int64]:
    """Return Linux's numbers for a column of thread states; 0, running, for invalid ones."""
    known = states < len(_NUMBERS)
    return np.where(known, _NUMBERS[np.where(known, states, 0)], 0)


def number_of_dead(field_class: IntegerClass) -> int:
    """Return the number for a dead task in a column of a scheduler's own: by its labels, else Linux's."""
    named = (
        label.low
        for label in field_class.labels
        if _STATE_OF_NAME.get(label.text) is ThreadState.DEAD
    )
    return next(named, int(_NUMBERS[ThreadState.DEAD]))


def state_of_name(name: str) -> ThreadState | None:
    """Return the state that a scheduler calls `name` (a letter of ps, a constant of the kernel), or None."""
    return _STATE_OF_NAME.get(name)


def _state(number: int, field_class: IntegerClass) -> ThreadState:
    named = [
        _STATE_OF_NAME[label.text]
        for label in field_class.labels
        if label.text in _STATE_OF_NAME and _is_labelled(number, label, flags=field_class.flags)
    ]
    if named:
        # Of several bits, the state that is hardest to leave counts.
        return max(named)
    # In this order, so that the last bit that is set wins.
    state = ThreadState.NEW
    for bit, meaning in _BITS:
        if number & bit:
            state = meaning
    return state


def _is_labelled(number: int, label: Label, *, flags: bool) -> bool:
    if flags:
        return bool(number & label.low) or number == label.low
    return label.low <= number <= label.high
