"""Rows of the tables of scheduling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sched:
    """Rows of the tables of scheduling: a duration of -1 is not over."""

    #: ts, dur, cpu, end state, tid
    slices: list[list[Any]] = field(default_factory=list)
    #: ts, dur, state, tid, waker
    states: list[list[Any]] = field(default_factory=list)
