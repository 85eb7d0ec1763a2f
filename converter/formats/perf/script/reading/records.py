"""Texts of the records that are no samples, as ``--show-task-events`` and the like print them: PERF_RECORD_COMM."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from converter.formats.ftrace.lines.event_texts import MESSAGE
from converter.formats.ftrace.lines.programs import Program, ProgramMaker
from converter.formats.ftrace.lines.tracer_texts import made_format
from converter.formats.perf.fields import CATEGORY
from converter.ir.kinds import Kind, Role

PREFIX: Final = "PERF_RECORD_"
#: Where the numbers of a task are in the records that are made of texts.
PID_OFFSET: Final = 8
TID_OFFSET: Final = 12
_TASK: Final = (("s32", "pid", PID_OFFSET, 4), ("s32", "tid", TID_OFFSET, 4))
_LIFE: Final = (*_TASK, ("s32", "ppid", 16, 4), ("s32", "ptid", 20, 4))
_RANGE: Final = (
    *_TASK,
    ("void *", "addr", 16, 8),
    ("void *", "len", 24, 8),
    ("void *", "pgoff", 32, 8),
)
_FILE: Final = (
    ("u32", "maj", 40, 4),
    ("u32", "min", 44, 4),
    ("u64", "ino", 48, 8),
    ("u64", "ino_generation", 56, 8),
)
_ROLES: Final = {
    "pid": Role.PID,
    "tid": Role.TID,
    "comm": Role.NEW_COMM,
    "ptid": Role.PARENT_TID,
    "addr": Role.ADDRESS,
    "len": Role.SIZE,
    "filename": Role.FILENAME,
    "lost": Role.COUNT,
}


class Meaning(NamedTuple):
    """The kind of a record, and the roles of its fields."""

    kind: Kind
    roles: dict[str, Role]


_KINDS: Final = {
    "comm": Kind.TASK_RENAME,
    "fork": Kind.TASK_NEW,
    "exit": Kind.TASK_EXIT,
    "mmap": Kind.MAPPING,
    "mmap2": Kind.MAPPING,
    "lost": Kind.DISCARDED,
    "lost_samples": Kind.DISCARDED,
}
MEANINGS: Final = {name: Meaning(kind, _ROLES) for name, kind in _KINDS.items()}


def _maker(name: str, *fields: tuple[str, str, int, int]) -> ProgramMaker:
    return ProgramMaker(made_format(CATEGORY, name, fields))


def _task(maker: ProgramMaker, before: str, after: str = "") -> None:
    maker.literal(before)
    maker.number("pid")
    maker.literal("/")
    maker.number("tid")
    maker.literal(after)


def _comm() -> list[Program]:
    maker = _maker("comm", *_TASK, ("u8", "exec", 16, 1), ("__data_loc char[]", "comm", 20, 4))
    maker.choice("exec", ((b" exec", 1), (b"", 0)))
    maker.literal(": ")
    maker.text("comm")
    _task(maker, ":")
    return [maker.program()]


def _life(name: str) -> list[Program]:
    maker = _maker(name, *_LIFE)
    for part in ("(", "pid", ":", "tid", "):(", "ppid", ":", "ptid", ")"):
        if part.isalpha():
            maker.number(part)
        else:
            maker.literal(part)
    return [maker.program()]


def _range(maker: ProgramMaker) -> None:
    _task(maker, " ", ": [")
    maker.any_number("addr")
    maker.literal("(")
    maker.any_number("len")
    maker.literal(") @ ")
    maker.any_number("pgoff")


def _mmap() -> list[Program]:
    at = (("__data_loc char[]", "prot", 40, 4), ("__data_loc char[]", "filename", 44, 4))
    maker = _maker("mmap", *_RANGE, *at)
    _range(maker)
    maker.literal("]: ")
    _end_of_range(maker)
    return [maker.program()]


def _end_of_range(maker: ProgramMaker) -> None:
    maker.text("prot")
    maker.literal(" ")
    maker.text("filename")


def _mmap2() -> list[Program]:
    at = (("__data_loc char[]", "prot", 64, 4), ("__data_loc char[]", "filename", 68, 4))
    maker = _maker("mmap2", *_RANGE, *_FILE, *at)
    _range(maker)
    maker.literal(" ")
    maker.number("maj", 16)
    maker.literal(":")
    maker.number("min", 16)
    maker.literal(" ")
    maker.number("ino")
    maker.literal(" ")
    maker.number("ino_generation")
    maker.literal("]: ")
    _end_of_range(maker)
    build_id = ("__data_loc char[]", "build_id", 72, 4)
    other = _maker("mmap2", *_RANGE, *at, build_id)
    _range(other)
    other.literal(" <")
    other.text("build_id")
    other.literal(">]: ")
    _end_of_range(other)
    return [maker.program(), other.program()]


def _lost(name: str) -> list[Program]:
    maker = _maker(name, ("u64", "lost", 8, 8))
    maker.literal(" lost ")
    maker.number("lost")
    return [maker.program()]


def _switch(name: str) -> list[Program]:
    found = []
    for out, task in ((1, "next"), (0, "prev")) if name != "switch" else ((0, ""),):
        fields = [("u8", "out", 8, 1), ("u8", "preempt", 9, 1)]
        if task:
            fields += [
                ("s32", "next_prev_pid", 12, 4),
                ("s32", "next_prev_tid", 16, 4),
            ]
        maker = _maker(name, *fields)
        choices = ((b" OUT", 1), (b" IN", 0))
        maker.choice("out", [one for one in choices if not task or one[1] == out])
        maker.choice("preempt", ((b" preempt", 1), (b"", 0)))
        maker.spaces()
        if task:
            maker.literal(f"{task} pid/tid:")
            maker.spaces()
            maker.number("next_prev_pid")
            maker.literal("/")
            maker.number("next_prev_tid")
        found.append(maker.program())
    return found


_PROGRAMS: Final[dict[str, Callable[[], list[Program]]]] = {
    "comm": _comm,
    "fork": lambda: _life("fork"),
    "exit": lambda: _life("exit"),
    "mmap": _mmap,
    "mmap2": _mmap2,
    "lost": lambda: _lost("lost"),
    "lost_samples": lambda: _lost("lost_samples"),
    "switch": lambda: _switch("switch"),
    "switch_cpu_wide": lambda: _switch("switch_cpu_wide"),
}


@cache
def record_programs(name: str) -> tuple[Program, ...]:
    """Return the programs that invert the texts of a record, by its name in lower case."""
    make = _PROGRAMS.get(name)
    return () if make is None else tuple(make())


@cache
def whole_record(name: str) -> Program:
    """Return the program that takes the text of a record as it is."""
    maker = _maker(name, ("char", f"{MESSAGE}[]", 16, 0))
    maker.text(MESSAGE)
    return maker.program()
