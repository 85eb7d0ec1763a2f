"""Kernel events of a window as bundles have them, before they are columns: where their messages are, and what fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.protobuf.event_schemas import PlacedField
from converter.formats.perfetto.protobuf.scan_fields import SPAN, decode_repeated, repeated_spans
from converter.formats.perfetto.reading.assembly import EventsOfClass
from converter.ir.field_classes import ArrayClass


@dataclass(slots=True)
class KernelEvents:
    """The events of a window's bundles: what `proto_ftrace.fill_bundles` fills in."""

    data: NDArray[np.uint8]
    key: NDArray[np.int32]
    #: The bits of unsigned numbers.
    flags: NDArray[np.int32]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    switches: NDArray[np.int64]
    wakings: NDArray[np.int64]

    def flags_of(self, chosen: EventsOfClass) -> Callable[[], NDArray[np.uint32]]:
        """The flags of the events of a class, taken when called."""
        return lambda: chosen.taken(self.flags).view(np.uint32)

    def messages_of(self, chosen: EventsOfClass) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the messages of the events of a class are, and their sizes."""
        return chosen.taken(self.start), chosen.taken(self.size)


def has_lengths(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    placed: tuple[PlacedField, ...],
) -> NDArray[np.bool_]:
    """Which messages have the declared number of elements in all their arrays of fixed length."""
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
    """Whether a declared field is an array whose length is declared, too."""
    return isinstance(item.field.type, ArrayClass) and item.field.type.length is not None
