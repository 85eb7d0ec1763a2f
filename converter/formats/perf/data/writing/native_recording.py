"""Writes a recording again: its file as it is, or a new one of the records that are left.

The records of a part are in the order of their times, and uncompressed. Those that say what was mapped, and what tasks
are called, are all there, whatever the part is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.data import MAGIC_2, MAGIC_2_BIG
from converter.formats.perf.data.layout import (
    ATTRIBUTE_SIZES,
    FILE_HEADER_SIZE,
    Feature,
    layouts,
)
from converter.formats.perf.data.mapping import CONTEXT_RECORDS
from converter.ir.events import Batch, NativeRecords
from converter.ir.trace import Trace
from converter.kernels.batches.gather import Segments
from converter.storage.sink import Sink
from converter.storage.source import Source
from converter.storage.source_files import parts_of

#: Features about places in the old file, or about its compression.
_LEFT_OUT: Final = frozenset({Feature.AUXTRACE, Feature.DIR_FORMAT, Feature.COMPRESSED})
_SECTION_SIZE: Final = 16


def can_copy(trace: Trace) -> bool:
    """Return True if a trace is all of an undamaged source, which is copied as it is."""
    if not trace.is_as_read or not isinstance(_sidecar(trace).get("source"), Source):
        return False
    if trace.check is not None:
        trace.check(True)
    return not trace.warnings


def copy_source(trace: Trace, sink: Sink) -> None:
    """Write the source of a trace as it is."""
    for part in parts_of(_sidecar(trace)["source"]):
        sink.write(part)


def _sidecar(trace: Trace) -> Mapping[str, Any]:
    return trace.sidecar.get("perf", {})


class PartialRecording:
    """A recording of some of another one's records."""

    def __init__(self, trace: Trace, sink: Sink) -> None:
        self._trace = trace
        self._sink = sink
        self._kept = _sidecar(trace)
        self._big_endian = bool(self._kept["big_endian"])
        self._layout = layouts(self._big_endian)
        self._context_written = 0
        self._times = (-1, -1)

    def write(self, batches: Iterable[Batch]) -> None:
        """Write a file with the records of these batches. Events without any are those that a selection has added."""
        sink = self._sink
        attributes, ids = self._attributes()
        sink.write(bytes(FILE_HEADER_SIZE))
        sink.write(ids + b"".join(attributes))
        start = sink.tell()
        sink.write(self._kept["records"])
        for batch in batches:
            self._write_context()
            native = batch.native
            if native is not None and native.format == "perf" and len(batch):
                sink.write(self._records(native).data)
                first, last = self._times
                least = int(batch.ts.min())
                self._times = (
                    least if first < 0 else min(first, least),
                    max(last, int(batch.ts.max())),
                )
        self._write_context()
        end = sink.tell()
        features = self._features()
        at = end + _SECTION_SIZE * len(features)
        table = []
        for data in features.values():
            table.append(self._layout.section.build({"offset": at, "size": len(data)}))
            at += len(data)
        sink.write(b"".join([*table, *features.values()]))
        size = len(attributes[0]) if attributes else ATTRIBUTE_SIZES[0] + _SECTION_SIZE
        bits = sum(1 << bit for bit in features)
        header = self._layout.file_header.build(
            {
                "size": FILE_HEADER_SIZE,
                "attr_size": size,
                "attrs": {"offset": FILE_HEADER_SIZE + len(ids), "size": size * len(attributes)},
                "data": {"offset": start, "size": end - start},
                "event_types": {"offset": 0, "size": 0},
                "features": [bits >> 64 * word & 0xFFFF_FFFF_FFFF_FFFF for word in range(4)],
            }
        )
        sink.write_at(0, (MAGIC_2_BIG if self._big_endian else MAGIC_2) + header)

    def _attributes(self) -> tuple[list[bytes], bytes]:
        """Return the attributes, each with the place of its ids, and the ids, which follow the header."""
        order = "big" if self._big_endian else "little"
        events = self._kept["attributes"]
        # All of one size: perf reads them one after the other.
        size = max((len(event["attr"]) for event in events), default=0)
        ids = b""
        attributes = []
        for event in events:
            attribute = bytearray(event["attr"].ljust(size, b"\0"))
            attribute[4:8] = size.to_bytes(4, order)  # type: ignore[arg-type]
            place = {"offset": FILE_HEADER_SIZE + len(ids), "size": 8 * len(event["ids"])}
            attributes.append(bytes(attribute) + self._layout.section.build(place))
            numbers = np.array(event["ids"], np.uint64)
            ids += numbers.astype(">u8" if self._big_endian else "<u8").tobytes()
        return attributes, ids

    def _features(self) -> dict[int, bytes]:
        features = {bit: data for bit, data in self._kept["features"] if bit not in _LEFT_OUT}
        if self._kept["tracing"]:
            features[Feature.TRACING_DATA] = self._kept["tracing"]
        if Feature.SAMPLE_TIME in features and self._times[0] >= 0:
            first, last = self._times
            features[Feature.SAMPLE_TIME] = self._layout.sample_time.build(
                {"first": first, "last": last}
            )
        return dict(sorted(features.items()))

    def _write_context(self) -> None:
        """Write the records that the reader has kept of those that say what was mapped and who is who."""
        context = self._kept.get("context", [])
        new = context[self._context_written :]
        self._context_written += len(new)
        self._sink.write(b"".join(new))

    def _records(self, native: NativeRecords) -> NDArray[np.uint8]:
        """Return the records of events but those that are written with their context."""
        data, starts, sizes = native.data, native.starts, native.sizes
        segments = Segments([data])
        if len(self._kept.get("context", [])):
            kinds = np.empty(len(starts), np.uint32)
            segments.integers(
                starts, sizes.astype(np.uint32), 0, 4, self._big_endian, kinds.view(np.uint8)
            )
            others = ~np.isin(kinds, np.array(sorted(CONTEXT_RECORDS), np.uint32))
            starts, sizes = starts[others], sizes[others]
        offsets = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        records = np.empty(int(offsets[-1]), np.uint8)
        segments.copy(starts, offsets, records)
        return records
