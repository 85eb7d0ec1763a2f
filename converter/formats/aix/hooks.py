"""The documented hooks: their names, and for some the meaning of their data words.

Names and data words are from IBM's pages "Trace Hook IDs" (AIX 4.3 to 5.1, General Programming Concepts), of the
curt command and of the trcfmt document. They say what a report shows, but not always in which word it is stored, and
releases differ: a user's own templates take precedence. An entry with fewer words than named here is an event
without an interpretation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from converter.ir.field_classes import Style
from converter.ir.kinds import Kind, Role


@dataclass(frozen=True, slots=True)
class Word:
    """A data word, or the hookdata of a hook word."""

    name: str
    role: Role = Role.NONE
    signed: bool = False
    style: Style = Style.DECIMAL


@dataclass(frozen=True, slots=True)
class Hook:
    """The meaning of a hook's events. With `text`, its entries are generic: a data word, then a text up to a NUL."""

    name: str
    kind: Kind = Kind.TYPED
    hookdata: Word | None = None
    words: tuple[Word, ...] = ()
    text: Word | None = None

    @property
    def is_documented(self) -> bool:
        """True if its data words have names."""
        return bool(self.words or self.text)


_PID = Word("pid", Role.PID)
_TID = Word("tid", Role.TID)
_PRIORITY = Word("priority", Role.PRIORITY, signed=True)
_DISPATCH = (
    Word("pid", Role.NEXT_PID),
    Word("tid", Role.NEXT_TID),
    Word("priority", Role.NEXT_PRIORITY, signed=True),
    Word("old_tid", Role.PREV_TID),
    Word("old_priority", Role.PREV_PRIORITY, signed=True),
)
_ADDRESS = Word("iar", style=Style.POINTER)

#: By 12-bit ID.
_HOOKS: Final = {
    0x000: Hook("SYNC"),
    0x001: Hook("TRACE ON"),
    0x002: Hook("TRACE OFF"),
    0x003: Hook("TRACE HEADER"),
    0x004: Hook("TRACEID IS ZERO"),
    0x005: Hook("LOGFILE WRAPAROUND"),
    0x006: Hook(
        "TRACEBUFFER WRAPAROUND",
        Kind.DISCARDED,
        words=(Word("wraparounds"), Word("missed_entries", Role.COUNT)),
    ),
    0x007: Hook("UNDEFINED TRACE ID"),
    0x008: Hook("DEFAULT TEMPLATE"),
    0x009: Hook("TRACE ERROR"),
    0x00A: Hook("TRACE_UTIL"),
    0x00B: Hook("64-BIT HOOK"),
    0x100: Hook("FLIH", Kind.IRQ_ENTRY, Word("type", Role.IRQ), (_ADDRESS,)),
    0x101: Hook(
        "SYSTEM CALL",
        Kind.SYSCALL_ENTRY,
        Word("svc", Role.SYSCALL_NUMBER),
        (Word("lr", style=Style.POINTER),),
    ),
    0x102: Hook(
        "SLIH", Kind.IRQ_ENTRY, Word("level", Role.IRQ), (Word("handler", style=Style.POINTER),)
    ),
    0x103: Hook("RETURN FROM SLIH", Kind.IRQ_EXIT, Word("level", Role.IRQ), (Word("result"),)),
    0x104: Hook(
        "RETURN FROM SYSTEM CALL",
        Kind.SYSCALL_EXIT,
        Word("svc", Role.SYSCALL_NUMBER),
        (Word("rc", Role.RETURN, signed=True),),
    ),
    0x105: Hook("LVM EVENTS"),
    0x106: Hook("DISPATCH", Kind.SCHED_SWITCH, words=_DISPATCH),
    0x107: Hook("FILENAME TO VNODE"),
    0x108: Hook("FILE ORIENTED SYSTEM CALLS"),
    0x10A: Hook("KERN_PFS"),
    0x10B: Hook("LVM BUF STRUCT FLOW"),
    0x10C: Hook("DISPATCH IDLE PROCESS", Kind.SCHED_SWITCH, words=_DISPATCH),
    0x10E: Hook("RELOCK"),
    0x112: Hook("LOCK"),
    0x113: Hook("UNLOCK"),
    0x116: Hook("XMALLOC"),
    0x117: Hook("XMFREE"),
    0x119: Hook("PIDSIG"),
    0x11F: Hook(
        "SET ON READY QUEUE",
        Kind.SCHED_WAKEUP,
        words=(_PID, _TID, _PRIORITY, Word("policy"), Word("rq")),
    ),
    0x12E: Hook("CLOSE"),
    0x134: Hook("EXEC", Kind.PROCESS_EXEC, text=Word("path", Role.FILENAME), words=(_PID,)),
    0x135: Hook("EXIT", Kind.TASK_EXIT, words=(Word("status", signed=True),)),
    0x139: Hook("FORK", Kind.PROCESS_FORK, words=(_PID, _TID)),
    0x15B: Hook("OPEN"),
    0x163: Hook("READ"),
    0x19C: Hook("WRITE"),
    0x1B0: Hook("VMM ASSIGN"),
    0x1B1: Hook("VMM DELETE"),
    0x1B2: Hook("VMM PGEXCT"),
    0x1BA: Hook("VMM SIO"),
    0x1BB: Hook("VMM SEGCREATE"),
    0x1BC: Hook("VMM SEGDELETE"),
    0x1BE: Hook("VMM PFEND"),
    0x200: Hook("RESUME", Kind.IRQ_EXIT, Word("type", Role.IRQ), (_ADDRESS,)),
    0x20E: Hook("LOCKL"),
    0x20F: Hook("UNLOCKL"),
    0x210: Hook("INITP"),
    0x221: Hook("SCDISKDD"),
    0x38D: Hook("AIO"),
    0x38F: Hook("DYNAMIC RECONFIGURATION"),
    0x465: Hook("CRTHREAD", Kind.TASK_NEW, words=(_PID, _TID, _PRIORITY, Word("policy"))),
    0x4B0: Hook("UNDISPATCH"),
    0x59B: Hook("J2 IO"),
    0x59C: Hook("J2 DIO"),
}

#: By 16-bit ID, as 64-bit hook words have them: a 12-bit ID and a zero.
HOOKS: Final = {id << 4: hook for id, hook in _HOOKS.items()}

#: For `entries.scan.Forms`: the words that an entry needs to be documented, 0x80 if it must be generic.
NEEDS: Final = {
    id: 0x80 if hook.text else len(hook.words) for id, hook in HOOKS.items() if hook.is_documented
}
#: The data word with a process ID that is followed by the ID of a thread of it.
PID_WORDS: Final = {
    id: 0 for id, hook in HOOKS.items() if len(hook.words) > 1 and hook.words[0].name == "pid"
}

EXEC: Final = 0x1340
