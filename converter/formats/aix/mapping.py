"""Maps events to AIX: the documented hook that repeats an event of another format, for AIX's own tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from converter.formats.aix.hooks import HOOKS
from converter.ir.events import EventClass
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role


@dataclass(frozen=True, slots=True)
class DocumentedHook:
    """A documented hook, and the fields of other formats' events that fill it.

    Each word is the role of a field, or None for zero. `pid_of` is the role of the thread whose process ID is the first
    word (NONE: that of the event's own thread). Without the `required` roles the hook would be meaningless.
    """

    id: int
    words: tuple[Role | None, ...]
    required: frozenset[Role]
    hookdata: Role | None = None
    text: Role | None = None
    tid: Role | None = None
    pid_of: Role | None = None


def _roles(*roles: Role) -> frozenset[Role]:
    return frozenset(roles)


_WAKEUP: Final = DocumentedHook(
    0x11F0,
    (None, Role.TID, Role.PRIORITY, None, Role.TARGET_CPU),
    _roles(Role.TID),
    pid_of=Role.TID,
)

#: By kind; the words are those of `hooks`.
_HOOK_OF_KIND: Final = {
    Kind.SCHED_SWITCH: DocumentedHook(
        0x1060,
        (None, Role.NEXT_TID, Role.NEXT_PRIORITY, Role.PREV_TID, Role.PREV_PRIORITY),
        _roles(Role.NEXT_TID, Role.PREV_TID),
        tid=Role.NEXT_TID,
        pid_of=Role.NEXT_TID,
    ),
    Kind.SCHED_WAKEUP: _WAKEUP,
    Kind.SCHED_WAKEUP_NEW: _WAKEUP,
    Kind.SYSCALL_ENTRY: DocumentedHook(
        0x1010, (None,), _roles(Role.SYSCALL_NUMBER), hookdata=Role.SYSCALL_NUMBER
    ),
    Kind.SYSCALL_EXIT: DocumentedHook(
        0x1040, (Role.RETURN,), _roles(Role.SYSCALL_NUMBER), hookdata=Role.SYSCALL_NUMBER
    ),
    Kind.PROCESS_EXEC: DocumentedHook(
        0x1340, (None,), _roles(Role.FILENAME), text=Role.FILENAME, pid_of=Role.NONE
    ),
    Kind.TASK_EXIT: DocumentedHook(0x1350, (None,), _roles()),
    Kind.PROCESS_FORK: DocumentedHook(0x1390, (None, Role.TID), _roles(Role.TID), pid_of=Role.TID),
    Kind.TASK_NEW: DocumentedHook(
        0x4650, (None, Role.TID, Role.PRIORITY, None), _roles(Role.TID), pid_of=Role.TID
    ),
    Kind.DISCARDED: DocumentedHook(0x0060, (None, Role.COUNT), _roles(Role.COUNT)),
}
assert all(hook.id in HOOKS for hook in _HOOK_OF_KIND.values())


def documented_hook(event_class: EventClass) -> DocumentedHook | None:
    """Return the documented hook of a class, None if there is none or the class lacks a required field."""
    hook = _HOOK_OF_KIND.get(event_class.kind)
    if hook is None:
        return None
    for role in hook.required:
        if field_of(event_class, role, text=role is hook.text) is None:
            return None
    return hook


def field_of(event_class: EventClass, role: Role | None, *, text: bool = False) -> int | None:
    """Return the index of the field with a role if it is a number (or a text)."""
    index = None if role is None else event_class.index_of(role)
    if index is None:
        return None
    wanted = StringClass if text else IntegerClass
    return index if isinstance(event_class.fields[index].type, wanted) else None
