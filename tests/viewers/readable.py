"""Recordings as the engine that is asked can read them: some have what only newer versions know."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import zstandard
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from support.profiles.perf_files import ATTR, Maker
from support.viewers.trace_processor_versions import Feature, shows
from viewers.conversions import RECORDINGS


def of_older_json(data: bytes) -> bytes:
    """Return Chrome JSON without what the same versions show otherwise or nowhere that refuse numbers that are none.

    That are, besides, integers beyond 64 bits, escapes, and events without a process or with a text for one.
    """
    document = json.loads(
        data, parse_constant=lambda _: 0, parse_int=lambda text: min(int(text), (1 << 63) - 1)
    )
    document["traceEvents"] = [
        event for event in document["traceEvents"] if isinstance(event.get("pid"), int)
    ]
    return json.dumps(document, ensure_ascii=False).encode()


def without_zstd(data: bytes) -> bytes:
    """Return a Perfetto trace in which packets are compressed with zlib alone."""
    trace = perfetto_trace_pb2.Trace.FromString(data)
    for packet in trace.packet:
        if packet.HasField("zstd_compressed_packets"):
            inner = zstandard.decompress(packet.zstd_compressed_packets)
            packet.compressed_packets = zlib.compress(inner)
    return trace.SerializeToString()


def of_pipe(data: bytes) -> bytes:
    """Return a recording of perf that was written into a pipe as a file of its records, with its first event."""
    make, at, records, events = Maker(), 16, b"", []
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == ATTR:
            end = at + 8 + struct.unpack_from("<I", data, at + 12)[0]
            ids = struct.unpack_from(f"<{(at + size - end) // 8}Q", data, end)
            events.append((data[at + 8 : end], ids))
        elif kind < ATTR:
            records += data[at : at + size]
        at += size
    return make.file(events, records)


#: What a recording has that not all versions read (None: that none reads), and what makes of it one that all read.
NEEDED: dict[str, tuple[Feature | None, Callable[[bytes], bytes]]] = {
    "perf/pipe.data": (None, of_pipe),
    "chrome/features.json": (Feature.JSON_NAN, of_older_json),
    "perfetto/compressed.pftrace": (Feature.ZSTD_PACKETS, without_zstd),
}


def readable(source: str, folder: Path) -> Path:
    """Return the recording, or a copy in a folder without what the engine does not read."""
    path = RECORDINGS / source
    if source not in NEEDED:
        return path
    feature, changed = NEEDED[source]
    if feature is not None and shows(feature):
        return path
    before = path.read_bytes()
    after = changed(before)
    assert after != before
    copy = folder / f"readable-{path.name}"
    copy.write_bytes(after)
    return copy
