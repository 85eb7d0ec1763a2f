"""Markers as programs: the locations of a payload's fields, for the kernels that scan and gather them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.formats.lttng_legacy.marker_formats import MarkerField

#: Codes of steps (``formats/lttng_legacy/payload.pxd``).
BYTES, STRING, ALIGN = range(3)

Step = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FieldLocation:
    """The location of a field: after `steps`, or at `offset` of each payload if these are the same in all."""

    field: MarkerField
    offset: int | None
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A payload: its steps, its size if that is constant, and its alignment."""

    steps: tuple[Step, ...]
    size: int | None
    largest: int
    places: tuple[FieldLocation, ...]


def compile_program(fields: Sequence[MarkerField], alignment: int) -> Program:
    """Return the program of a payload with these fields, aligned to at most `alignment` bytes (0: packed)."""
    steps: list[Step] = []
    places = []
    largest = 1
    offset: int | None = 0
    for field in fields:
        if field.inline:
            places.append(FieldLocation(field, None, ()))
            continue
        if not field.size:
            places.append(FieldLocation(field, offset, tuple(steps)))
            steps.append((STRING, 0))
            offset = None
            continue
        aligned = min(field.size, alignment)
        largest = max(largest, aligned)
        if aligned > 1 and offset is None:
            steps.append((ALIGN, aligned))
        elif aligned > 1 and offset is not None and offset % aligned:
            _skip(steps, -offset % aligned)
            offset += -offset % aligned
        places.append(FieldLocation(field, offset, tuple(steps)))
        _skip(steps, field.size)
        if offset is not None:
            offset += field.size
    return Program(tuple(steps), offset, largest, tuple(places))


def _skip(steps: list[Step], size: int) -> None:
    if steps and steps[-1][0] == BYTES:
        steps[-1] = (BYTES, steps[-1][1] + size)
    else:
        steps.append((BYTES, size))


def step_array(steps: Sequence[Step]) -> NDArray[np.int32]:
    """Return steps as the kernels expect them, of shape (steps, 2)."""
    return np.array(steps, np.int32).reshape(-1, 2)
