"""Fingerprints: a 64-bit number for each event, equal if the events are equal (and otherwise only by collision, 1 in
2^64).

It covers what the canonical form has of an event: CPU, thread and track, the name of its class, and the values of its
fields by name. It does not depend on how a class stores a value (the width of an integer, whether a text is interned).
A fingerprint is computed column by column, and does not depend on the numbering in a trace.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
)
from converter.ir.events import Batch
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.trace import Trace, TrackScope

Fingerprints = NDArray[np.uint64]

#: Odd, so that multiplication is invertible (the first is that of splitmix64).
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)
#: The base of the polynomial whose coefficients are a sequence's elements.
_BASE = np.uint64(0x5851F42D4C957F2D)
_ABSENT = np.uint64(0x2545F4914F6CDD1D)


@cache
def of_text(text: str) -> np.uint64:
    """Return the fingerprint of a name."""
    data = text.encode("utf-8", "surrogateescape")
    return np.uint64(int.from_bytes(blake2b(data, digest_size=8).digest(), "little"))


class Fingerprinter:
    """Computes the fingerprints of one trace's events."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._strings = np.zeros(0, np.uint64)
        self._threads = np.zeros(1, np.uint64)
        self._tracks = np.zeros(1, np.uint64)

    def places(self, batch: Batch) -> Fingerprints:
        """Return the fingerprints of each event's CPU, thread and track."""
        self._extend()
        with np.errstate(over="ignore"):
            cpu = _mixed(batch.cpu.astype(np.int64).view(np.uint64))
            thread = self._threads[batch.thread + 1]
            track = self._tracks[batch.track + 1]
            return _mixed(_mixed(cpu * _BASE + thread) * _BASE + track)

    def events(self, batch: Batch) -> Fingerprints:
        """Return the fingerprints of each event's class and values."""
        self._extend()
        result = np.zeros(len(batch), np.uint64)
        for number, table in batch.tables.items():
            if not len(table):
                continue
            event_class = self._trace.event_classes[number]
            label = f"{event_class.kind.name}/{event_class.category}/{event_class.name}"
            of_rows = np.full(len(table), of_text(label), np.uint64)
            for i, field in enumerate(event_class.fields):
                values = self.column(table.column(i), field.type)
                with np.errstate(over="ignore"):
                    of_rows = _mixed(of_rows * _BASE + (values ^ of_text(field.name)))
            result[batch.positions(number)] = of_rows
        return result

    def column(self, column: Column, field_class: FieldClass) -> Fingerprints:
        """Return the fingerprint of each value."""
        match field_class, column:
            case (StringClass(), np.ndarray()):
                self._extend_strings()
                return self._strings[column]
            case (_, np.ndarray()):
                return _mixed(_bits(column))
            case (_, NullColumn(length)):
                return np.full(length, _ABSENT, np.uint64)
            case (StringClass() | BytesClass(), ListColumn(offsets, values)):
                assert isinstance(values, np.ndarray)
                return _sequences(values.astype(np.uint64), offsets)
            case (ArrayClass(element), ListColumn(offsets, values)):
                return _sequences(self.column(values, element), offsets)
            case (StructureClass(members), StructColumn(length, columns)):
                result = np.full(length, _STEP, np.uint64)
                for member, inner in zip(members, columns, strict=True):
                    of_member = self.column(inner, member.type) ^ of_text(member.name)
                    with np.errstate(over="ignore"):
                        result = _mixed(result * _BASE + of_member)
                return result
            case (VariantClass(options), UnionColumn(tags, rows, columns)):
                result = np.zeros(len(tags), np.uint64)
                for tag, (option, inner) in enumerate(zip(options, columns, strict=True)):
                    here = np.flatnonzero(tags == tag)
                    if len(here):
                        of_option = self.column(inner, option.type) ^ of_text(option.name)
                        result[here] = of_option[rows[here]]
                return result
            case (OptionalClass(element), OptionalColumn(valid, values)):
                return np.where(valid, self.column(values, element), _ABSENT)
        raise TypeError(f"a {type(column).__name__} does not hold {field_class}")

    def _extend(self) -> None:
        """Follow the growth of the tables. A thread is its pid and tid: its name may be filled in later."""
        trace = self._trace
        if len(self._threads) <= len(trace.threads):
            added = [
                of_text(f"{trace.processes[thread.process].pid}/{thread.tid}")
                for thread in trace.threads[len(self._threads) - 1 :]
            ]
            self._threads = np.append(self._threads, np.array(added, np.uint64))
        if len(self._tracks) <= len(trace.tracks):
            new = range(len(self._tracks) - 1, len(trace.tracks))
            paths = np.array([of_text(self._track_path(i)) for i in new], np.uint64)
            self._tracks = np.append(self._tracks, paths)

    def _track_path(self, index: int) -> str:
        parts = []
        while index >= 0:
            track = self._trace.tracks[index]
            owner = str(track.owner)
            if track.scope is TrackScope.PROCESS and track.owner >= 0:
                owner = str(self._trace.processes[track.owner].pid)
            elif track.scope is TrackScope.THREAD and track.owner >= 0:
                thread = self._trace.threads[track.owner]
                owner = f"{self._trace.processes[thread.process].pid}/{thread.tid}"
            parts.append(f"{track.scope.name}:{owner}:{track.name}:{track.unit}:{track.identity}")
            index = track.parent
        return "\0".join(parts)

    def _extend_strings(self) -> None:
        strings = self._trace.strings
        known = len(self._strings)
        if known == len(strings):
            return
        texts = [strings[i] for i in range(known, len(strings))]
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        values = np.frombuffer(b"".join(texts), np.uint8).astype(np.uint64)
        self._strings = np.append(self._strings, _sequences(values, offsets))


def _bits(column: NDArray[Any]) -> Fingerprints:
    """Return numbers of any type as 64 bits; equal integers of any width are equal."""
    match column.dtype.kind:
        case "f":
            # Convert via the wider type, so that a number has the same bits in both.
            return column.astype(np.float64).view(np.uint64)
        case "i":
            return column.astype(np.int64).view(np.uint64)
    return column.astype(np.uint64)


def _mixed(numbers: Fingerprints) -> Fingerprints:
    """Apply the finalizer of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators)."""
    with np.errstate(over="ignore"):
        numbers = numbers + _STEP
        numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX_1
        numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX_2
    return numbers ^ (numbers >> np.uint64(31))


def _sequences(elements: Fingerprints, offsets: NDArray[np.int64]) -> Fingerprints:
    """Return the fingerprint of each ``elements[offsets[i]:offsets[i + 1]]``: a polynomial of its elements, and its
    length.
    """
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(max(longest, 1), _BASE, np.uint64), dtype=np.uint64)
        inside = np.arange(int(offsets[0]), int(offsets[-1])) - np.repeat(offsets[:-1], lengths)
        terms = (elements[int(offsets[0]) : int(offsets[-1])] + np.uint64(1)) * powers[inside]
        sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
        starts = offsets - offsets[0]
        totals = sums[starts[1:]] - sums[starts[:-1]]
        return _mixed(totals + lengths.astype(np.uint64))
