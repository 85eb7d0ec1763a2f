"""Kernel events of a window as in bundles, before decoding: the locations of their messages, and checks of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.protobuf.event_schemas import PlacedField
from converter.formats.perfetto.reading.assembly import EventsOfClass
from converter.ir.field_classes import ArrayClass
from converter.kernels.protobuf.decode import SPAN, decode_repeated, repeated_spans


@dataclass(slots=True)
class KernelEvents:
    """The events of a window's bundles, as filled in by `proto_ftrace.fill_bundles`."""

    data: NDArray[np.uint8]
    key: NDArray[np.int32]
    #: Unsigned numbers, stored as int32.
    flags: NDArray[np.int32]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    switches: NDArray[np.int64]
    wakings: NDArray[np.int64]

    def flags_of(self, chosen: EventsOfClass) -> Callable[[], NDArray[np.uint32]]:
        """Return a function that returns the flags of the events of a class."""
        return lambda: chosen.select(self.flags).view(np.uint32)

    def messages_of(self, chosen: EventsOfClass) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the starts and sizes of the messages of a class's events."""
        return chosen.select(self.start), chosen.select(self.size)


def has_lengths(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    placed: tuple[PlacedField, ...],
) -> NDArray[np.bool_]:
    """Return a mask of messages whose arrays of fixed length all have the declared number of elements."""
    fitting = np.ones(len(starts), np.bool_)
    offsets = np.zeros(len(starts) + 1, np.int64)
    for item in placed:
        if has_length(item):
            count = repeated_spans if item.program_field.way == SPAN else decode_repeated
            count(data, starts, sizes, item.number, offsets)
            assert isinstance(item.field.type, ArrayClass)
            fitting &= np.diff(offsets) == item.field.type.length
    return fitting


def has_length(item: PlacedField) -> bool:
    """Return True if a declared field is an array with a declared length."""
    return isinstance(item.field.type, ArrayClass) and item.field.type.length is not None
