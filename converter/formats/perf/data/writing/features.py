"""The features of a new file: what perf and Perfetto's importer read of its header."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final

from converter.formats.perf.data.layout import TEXT_FEATURES, Feature
from converter.formats.perf.data.side_table import SYMBOLS_FEATURE
from converter.formats.perf.data.writing.frame_addresses import Symbol
from converter.ir.trace import Trace

_TEXT_UNIT: Final = 64
#: simpleperf's type of the kernel (record_file.proto, FileFeature.DsoType), and the name of its mapping.
_DSO_KERNEL: Final = 0
_KERNEL: Final = b"[kernel.kallsyms]"
#: The clocks of ftrace and perf by their ids.
CLOCK_IDS: Final = {"mono": 1, "mono_raw": 4, "boot": 7, "tai": 11, "realtime": 0}
_MONOTONIC: Final = 1


def text_of(text: bytes) -> bytes:
    """Return a text of a feature, with its size and NUL bytes."""
    size = (len(text) // _TEXT_UNIT + 1) * _TEXT_UNIT
    return struct.pack("<I", size) + text.ljust(size, b"\0")


def host_features(trace: Trace, cpu_count: int) -> dict[int, bytes]:
    """Return the features about the machine, the recorder and the clock."""
    environment = {name: str(value) for name, value in trace.environment.items()}
    known = {
        Feature.HOSTNAME: environment.get("hostname", ""),
        Feature.OSRELEASE: environment.get("kernel_release", environment.get("release", "")),
        Feature.ARCH: environment.get("machine", ""),
        Feature.VERSION: "traceconv",
        **{
            Feature(feature): environment.get(name, "")
            for feature, name in TEXT_FEATURES.items()
            if feature in (Feature.CPUDESC, Feature.CPUID)
        },
    }
    features = {
        int(feature): text_of(text.encode("utf-8", "surrogateescape").partition(b"\0")[0])
        for feature, text in known.items()
        if text
    }
    features[Feature.NRCPUS] = struct.pack("<II", cpu_count, cpu_count)
    epoch = trace.clock.epoch_ns
    if epoch is not None and epoch >= 0:
        clock = CLOCK_IDS.get(trace.clock.name, _MONOTONIC)
        features[Feature.CLOCK_DATA] = struct.pack("<IIQQ", 1, clock, epoch, 0)
    return features


def event_descriptions(events: Sequence[tuple[bytes, Sequence[int], bytes]]) -> bytes:
    """Return feature EVENT_DESC of events: attribute, ids and name of each."""
    size = len(events[0][0])
    parts = [struct.pack("<II", len(events), size)]
    for attribute, ids, name in events:
        parts += [attribute, struct.pack("<I", len(ids)), text_of(name)]
        parts.append(struct.pack(f"<{len(ids)}Q", *ids))
    return b"".join(parts)


def symbols_feature(symbols: Iterable[Symbol]) -> dict[int, bytes]:
    """Return simpleperf's feature with the symbols of the kernel; none without any.

    Perfetto's importer looks up a caller at the address before the one that it returns to, so each symbol starts there.
    """
    entries = [
        _field(
            4,
            _number(1, symbol.address - 1) + _number(2, symbol.size) + _field(3, symbol.name),
        )
        for symbol in symbols
    ]
    if not entries:
        return {}
    file = _field(1, _KERNEL) + _number(2, _DSO_KERNEL) + _number(3, 0) + b"".join(entries)
    return {SYMBOLS_FEATURE: struct.pack("<I", len(file)) + file}


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data
