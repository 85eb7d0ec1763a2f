"""Synthetic CTF traces: metadata text and packets, written bit by bit."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converter.formats.ctf.reading.reader import read
from converter.ir.columns import value
from converter.ir.trace import Trace
from converter.storage.opening import open_source

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "ctf"

UUID = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"
MAGIC = 0xC1FC1FC1


class Bits:
    """Bits in the order in which CTF counts them: from each byte's least (little) or most (big) significant one."""

    def __init__(self, order: str = "little") -> None:
        self.order = order
        self.bits: list[int] = []

    def align(self, alignment: int) -> Bits:
        while len(self.bits) % alignment:
            self.bits.append(0)
        return self

    def integer(self, value: int, length: int, alignment: int = 1) -> Bits:
        self.align(alignment)
        bits = [value >> place & 1 for place in range(length)]
        self.bits += bits if self.order == "little" else reversed(bits)
        return self

    def u8(self, value: int) -> Bits:
        return self.raw(bytes([value]))

    def raw(self, data: bytes) -> Bits:
        self.align(8)
        for byte in data:
            self.bits += self._byte_bits(byte)
        return self

    def number(self, value: int, size: int, alignment: int = 8) -> Bits:
        """An integer of whole bytes."""
        self.align(alignment)
        data = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        return self.raw(data if self.order == "little" else data[::-1])

    def float(self, value: float, code: str = "d") -> Bits:
        return self.raw(struct.pack(("<" if self.order == "little" else ">") + code, value))

    def text(self, text: bytes) -> Bits:
        return self.raw(text + b"\0")

    def _byte_bits(self, byte: int) -> list[int]:
        bits = [byte >> place & 1 for place in range(8)]
        return bits if self.order == "little" else bits[::-1]

    def tobytes(self) -> bytes:
        self.align(8)
        result = bytearray()
        for start in range(0, len(self.bits), 8):
            bits = self.bits[start : start + 8]
            if self.order == "big":
                bits = bits[::-1]
            result.append(sum(bit << place for place, bit in enumerate(bits)))
        return bytes(result)


_TYPES = """
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 8; align = 8; signed = true; } := int8_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
"""


def compact_header(id_bits: int, time_bits: int, align: int) -> str:
    """The event header of LTTng's compact form: short ids and times, or whole ones behind the last id."""
    last = (1 << id_bits) - 1
    return (
        f"struct {{ enum : integer {{ size = {id_bits}; align = {align}; }}"
        f" {{ compact = 0 ... {last - 1}, extended = {last} }} id; variant <id> {{"
        f" struct {{ integer {{ size = {time_bits}; align = {align}; map = clock.c.value; }} timestamp; }}"
        " compact; struct { uint32_t id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; }"
        " extended; } v; } align(8)"
    )


@dataclass
class Stream:
    """A trace of one stream class, with LTTng's packet context and u8 ids and 32-bit times in the records' headers."""

    events: dict[str, str]
    order: str = "le"
    context: str = ""
    header: str = (
        "struct { uint8_t id; integer { size = 32; align = 8; map = clock.c.value; } timestamp; }"
    )
    environment: str = ""
    frequency: int = 1_000_000_000
    offset: int = 0
    packet_extra: str = ""
    uuid: str = UUID

    @property
    def endian(self) -> str:
        return "little" if self.order == "le" else "big"

    def metadata(self) -> str:
        text = ["/* CTF 1.8 */", _TYPES]
        text.append(
            f'trace {{ major = 1; minor = 8; uuid = "{self.uuid}"; byte_order = {self.order};'
            " packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };"
            " };"
        )
        if self.environment:
            text.append(f"env {{ {self.environment} }};")
        text.append(
            f"clock {{ name = c; freq = {self.frequency}; offset = {self.offset}; absolute = true; }};"
        )
        text.append(
            "stream { id = 0; packet.context := struct {"
            " integer { size = 64; align = 8; map = clock.c.value; } timestamp_begin;"
            " integer { size = 64; align = 8; map = clock.c.value; } timestamp_end;"
            " uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;"
            f" uint64_t events_discarded; uint32_t cpu_id; {self.packet_extra} }};"
            f" event.header := {self.header};"
            + (f" event.context := struct {{ {self.context} }};" if self.context else "")
            + " };"
        )
        for number, (name, fields) in enumerate(self.events.items()):
            text.append(
                f'event {{ name = "{name}"; id = {number}; stream_id = 0; '
                f"fields := struct {{ {fields} }}; }};"
            )
        return "\n".join(text)

    def bits(self) -> Bits:
        return Bits(self.endian)

    def packet(
        self,
        records: Bits | list[Bits] | bytes = b"",
        *,
        begin: int = 0,
        end: int = 0,
        sequence: int = 0,
        discarded: int = 0,
        cpu: int = 0,
        padding: int = 0,
        content: int | None = None,
        size: int | None = None,
        magic: int = MAGIC,
        stream: int = 0,
        extra: bytes = b"",
    ) -> bytes:
        """A packet; `records` are written behind each other from a byte on."""
        parts = records if isinstance(records, list) else [records]
        body = self.bits()
        for part in parts:
            body.bits += self.bits().raw(part).bits if isinstance(part, bytes) else part.bits
        header = self.bits()
        header.number(magic, 4).raw(bytes.fromhex(self.uuid.replace("-", ""))).number(stream, 4)
        length = 8 * (4 + 16 + 4 + 6 * 8 + 4 + len(extra))
        used = length + len(body.bits)
        whole = -(-used // 8) * 8 + 8 * padding
        header.number(begin, 8).number(end, 8)
        header.number(used if content is None else content, 8)
        header.number(whole if size is None else size, 8)
        header.number(sequence, 8).number(discarded, 8).number(cpu, 4).raw(extra)
        return header.tobytes() + body.tobytes() + bytes(padding)

    def record(self, id: int, ts: int, payload: Bits | bytes = b"") -> Bits:
        """A record with the usual header."""
        record = self.bits().u8(id).number(ts & 0xFFFFFFFF, 4)
        record.bits += self.bits().raw(payload).bits if isinstance(payload, bytes) else payload.bits
        return record

    def write(self, path: Path, *packets: bytes, **files: bytes) -> Path:
        """The trace, of one file of these packets, and further files."""
        path.mkdir(parents=True, exist_ok=True)
        (path / "metadata").write_text(self.metadata())
        if packets:
            (path / "stream_0").write_bytes(b"".join(packets))
        for name, data in files.items():
            (path / name).write_bytes(data)
        return path


def open_trace(path: Path) -> Trace:
    """The trace in a directory; its files are closed when it is gone."""
    return read(open_source(str(path)))


Event = tuple[int, str, dict[str, Any]]


def events_of(trace: Trace) -> list[Event]:
    """Time, name and fields of each event."""
    result: list[Event] = []
    for batch in trace.batches():
        for i in range(len(batch)):
            declared = trace.event_classes[int(batch.class_id[i])]
            table = batch.tables[int(batch.class_id[i])]
            fields = {
                item.name: value(table.column(number), item.type, int(batch.row[i]), trace.strings)
                for number, item in enumerate(declared.fields)
            }
            result.append((int(batch.ts[i]), declared.name, fields))
    return result


def single(tmp_path: Path, stream: Stream, *packets: bytes) -> list[Event]:
    """The events of these packets, which are read without a warning."""
    trace = open_trace(stream.write(tmp_path / "trace", *packets))
    found = events_of(trace)
    assert not trace.warnings
    return found
