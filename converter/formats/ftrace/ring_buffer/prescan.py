"""The first pass over the pages: it counts records by type and collects what they say about tasks.

It determines the event classes and threads before the first batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.event_format.syntax import EventFormat, FormatField, Location
from converter.formats.ftrace.mapping import NAMING_ROLES
from converter.formats.ftrace.ring_buffer.page_prescan import (
    SURVEY_FORK,
    SURVEY_LEADER,
    SURVEY_MARKER,
    SURVEY_NAME,
    SURVEY_NEW_TASK,
    Surveyor,
)
from converter.formats.ftrace.ring_buffer.pages import PageStream, Window
from converter.ir.kinds import Kind, Role
from converter.kernels.tables.tasks import TaskTable
from converter.projection.domain.linux_tracepoints import meaning
from converter.storage.pool.workers import workers
from converter.streaming.ordered_work import OrderedWork

TYPES = 1 << 16


@dataclass(slots=True)
class PagePrescan:
    """The contents of pages: records by type (int64, 65,536), pages before which events were lost, tasks, damage."""

    counts: NDArray[np.int64]
    missed: int
    tasks: TaskTable
    errors: list[TraceError]


def prescan_pages(
    streams: Sequence[PageStream],
    formats: EventFormats,
    long_size: int,
    *,
    big_endian: bool,
) -> PagePrescan:
    """Walk all pages of all streams once."""

    def look_at(
        mine: Surveyor, window_of_stream: tuple[PageStream, Window | TraceError]
    ) -> list[TraceError]:
        stream, window = window_of_stream
        if isinstance(window, TraceError):
            return [window]
        errors: list[TraceError] = []
        damaged, first_damage, at = 0, -1, 0
        for pages in stream.pieces(window):
            if isinstance(pages, TraceError):
                errors.append(pages)
                continue
            found, first = mine.look_at(pages, stream.buffer.page_size)
            if found and not damaged:
                first_damage = at + first
            damaged += found
            at += len(pages)
        return errors + stream.damage(window, damaged, first_damage)

    steps = _steps(formats)
    # Each thread has its own counts.
    scanners = [
        Surveyor(long_size, big_endian, formats.type_offset, formats.pid_offset, *steps)
        for _ in range(workers())
    ]
    errors: list[TraceError] = []
    work = OrderedWork(scanners)
    try:
        windows = ((stream, window) for stream in streams for window in stream.windows())
        for found in work.results(look_at, windows):
            errors += found
    finally:
        work.close()
    first, *others = scanners
    for other in others:
        first.tasks.absorb(other.tasks)
    counts = sum((other.counts for other in others), first.counts)
    return PagePrescan(counts, sum(scanner.missed for scanner in scanners), first.tasks, errors)


def _steps(formats: EventFormats) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the steps of a `Surveyor` for each type that says something about tasks."""
    first_step = np.full(TYPES, -1, np.int32)
    rows: list[list[int]] = []
    for type_id in formats.about_tasks():
        format = formats.get(type_id)
        if format is None or type_id >= TYPES:
            continue
        steps = _steps_of(format)
        if steps:
            first_step[type_id] = len(rows)
        for i, step in enumerate(steps):
            following = len(rows) + 1 if i + 1 < len(steps) else -1
            rows.append([step[0], following, *step[1:]])
    return first_step, np.array(rows, np.int32).reshape(len(rows), 5)


def _steps_of(format: EventFormat) -> list[tuple[int, int, int, int]]:
    known = meaning(format.system, format.name)
    fields: dict[Role, FormatField] = {}
    for item in format.fields:
        role = known.roles.get(item.name)
        if role is not None and item.location is Location.INLINE and item.offset < 1 << 16:
            fields.setdefault(role, item)
    steps = []
    for pid_role, name_role in NAMING_ROLES:
        pid, name = fields.get(pid_role), fields.get(name_role)
        if pid is not None and pid.size == 4 and name is not None and 0 < name.size < 1 << 16:
            steps.append((SURVEY_NAME, pid.offset, name.offset, name.size))
    tid = fields.get(Role.TID)
    if tid is not None and tid.size == 4:
        flags = fields.get(Role.CLONE_FLAGS)
        parent = fields.get(Role.PARENT_TID)
        if known.kind is Kind.TASK_NEW and flags is not None and flags.size in (4, 8):
            steps.append((SURVEY_NEW_TASK, tid.offset, flags.offset, flags.size))
        elif known.kind is Kind.PROCESS_FORK and parent is not None and parent.size == 4:
            steps.append((SURVEY_FORK, parent.offset, tid.offset, 0))
        elif known.kind is Kind.PROCESS_EXEC:
            steps.append((SURVEY_LEADER, tid.offset, 0, 0))
    message = fields.get(Role.MESSAGE)
    if known.kind is Kind.MARK and message is not None:
        steps.append((SURVEY_MARKER, message.offset, 0, 0))
    return steps
