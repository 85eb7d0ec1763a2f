"""Changes of an input: of bytes anywhere, and of the pieces that a format is made of, whose sizes stay right.

Pieces are also multiplied: hundreds of copies, each with a number of its own.
"""

from __future__ import annotations

import itertools
import random
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import zstandard
from support.inputs.protobuf_fields import varint

from converter.formats.aix.layout import MAGIC
from converter.formats.lossless.footer import Footer

INTERESTING = [
    0,
    *(((1 << bits) + step) & (1 << 64) - 1 for bits in range(65) for step in (-1, 0, 1)),
]
#: What random bytes rarely are: parts of JSON, and variable-length integers at their limits.
TOKENS = b'" \\ [ { ] } , : null true -1.5e999 1e-400 \\ud800 \\u0000 "args":{'.split()
TOKENS += (b"[" * 5000, b'{"a":' * 5000, b"9" * 400, b"\xff" * 9 + b"\1", b"\x80" * 12, b"\0" * 40)

_LAYOUTS = ("<I", ">I", "<Q", ">Q", "<H", ">H", "B")
_WORD = re.compile(rb"[\w.]+|\s+|[^\w\s]", re.ASCII)
_FORMAT_TEXT = re.compile(rb"(?s)(.{8})(?=name: \w+\nID: \d+\nformat:\n)")
_FOOTER = re.compile(rb"traceconv residual ([0-9a-f]{16}) ([0-9a-f]{8}) ([0-9a-f]{8})\.")
_DIGITS = re.compile(rb"\d{1,18}")
#: How often pieces are repeated: tables of kernels are renewed at 128 and 256 entries.
MANY = (100, 127, 128, 129, 255, 256, 257, 600, 1500, 5000)
#: At most so many bytes of them.
_MOST_REPEATED = 256 << 10
_PAGE = 4096
#: How a stream of a 64-bit AIX kernel begins.
_AIX = MAGIC
#: What begins a packet of CTF, of either order, and is in a block of LTTng 0.x (version 2), behind so many bytes.
_MAGICS = (
    (re.escape(b"\xc1\x1f\xfc\xc1"), 0),
    (re.escape(b"\xc1\xfc\x1f\xc1"), 0),
    (re.escape(b"\xed\xb7\xd6\x00"), 16),
    (re.escape(b"\x00\xd6\xb7\xed"), 16),
)
#: Protobuf messages are looked for in messages as deep as this.
_DEPTH = 12


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """The input with a few changes of a random sort."""
    data = bytearray(whole)
    for _ in range(1 + min(rng.getrandbits(4), rng.getrandbits(4))):
        at, size = rng.randrange(len(data) + 1), len(data)
        # Most changes near the one before would be lost among unchanged pages of zeros.
        while 0 < at < size and not any(data[at - 1 : at + 3]) and rng.random() < 0.9:
            at = rng.randrange(size + 1)
        length = min(1 << rng.randrange(12), size)
        match rng.randrange(11):
            case 0 | 1 | 2 if at < size:
                data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
            case 3 | 4 | 5:
                layout = rng.choice(("<I", ">I", "<Q", ">Q", "<H", "B"))
                mask = (1 << 8 * struct.calcsize(layout)) - 1
                packed = struct.pack(layout, rng.choice(INTERESTING) & mask)
                data[at : at + len(packed)] = packed
            case 6:
                start = rng.randrange(size - length + 1)
                data[at:at] = data[start : start + length]
            case 7:
                del data[at : at + length]
            case 8:
                start = rng.randrange(size - length + 1)
                data[at : at + length] = data[start : start + length]
            case 9:
                data[at:at] = rng.choice(TOKENS)
            case _ if rng.random() < 0.2:
                del data[at:]
        data = data or bytearray(whole[:1])
    return bytes(data)


@dataclass(slots=True, eq=False)
class Part:
    """A piece made of others; `framed` puts in front of their bytes what says how many these are."""

    pieces: list[Part | bytes]
    framed: Callable[[bytes], bytes] = bytes
    #: Its bytes, of which most changes leave nearly all as they are, and the part that it is a piece of.
    whole: bytes = b""
    above: Part | None = None

    def __post_init__(self) -> None:
        for piece in self.pieces:
            if isinstance(piece, Part):
                piece.above = self
        self.whole = self.framed(b"".join(map(bytes, self.pieces)))

    def __bytes__(self) -> bytes:
        return self.whole


class Changes:
    """Other pieces for some of the parts of a file, which stay as they are for its next changes."""

    def __init__(self, top: Part) -> None:
        self._top = top
        self._pieces: dict[Part, list[Part | bytes]] = {}
        self._touched: set[Part] = set()

    def pieces(self, part: Part) -> list[Part | bytes]:
        """The pieces of a part, to be changed."""
        if part not in self._pieces:
            self._pieces[part] = [*part.pieces]
            above: Part | None = part
            while above is not None and above not in self._touched:
                self._touched.add(above)
                above = above.above
        return self._pieces[part]

    def __bytes__(self) -> bytes:
        # Those inside first, without recursion: brackets lie as deep in each other as changes have put them.
        built: dict[Part | bytes, bytes] = {}
        waiting = [self._top] if self._top in self._touched else []
        while waiting:
            part = waiting[-1]
            pieces = self._pieces.get(part, part.pieces)
            inside = [
                one
                for one in pieces
                if isinstance(one, Part) and one in self._touched and one not in built
            ]
            if inside and part not in built:
                waiting += inside
                continue
            waiting.pop()
            if part not in built:
                whole = [built[one] if one in built else bytes(one) for one in pieces]
                built[part] = part.framed(b"".join(whole))
        return built.get(self._top, self._top.whole)


def parts(name: str, data: bytes) -> Part:
    """The pieces of a file, by what it looks like; whatever it is, they make the same file."""
    if data.startswith(b"\x17\x08\x44tracing"):
        return Part(_sized_texts(data))
    if name.endswith((".dat", ".map", ".txt", "info")) or data[:1] in b"{[/\x1e#":
        return Part(_words(data))
    if data[:4] == bytes.fromhex("10000446")[::-1] or data[:8] == bytes.fromhex("0016547846040010"):
        return Part(list(_fxt_records(data, "<" if data[0] == 0x10 else ">")))
    message = _message(data, 0)
    return message or Part([data[at : at + 16] for at in range(0, len(data), 16)])


def _words(data: bytes) -> list[Part | bytes]:
    """Words between brackets, which are parts themselves."""
    open_parts: list[list[Part | bytes]] = [[]]
    for match in _WORD.finditer(data):
        word = match[0]
        if word in b"{[(":
            open_parts.append([])
        open_parts[-1].append(word)
        if word in b"}])" and len(open_parts) > 1:
            closed = Part(open_parts.pop())
            open_parts[-1].append(closed)
    return [piece for pieces in open_parts for piece in pieces]


def _sized_texts(data: bytes) -> list[Part | bytes]:
    """Of trace.dat the formats of events, with the 64-bit sizes in front of them."""
    found: list[Part | bytes] = []
    end = 0
    for match in _FORMAT_TEXT.finditer(data):
        order = min("<>", key=lambda order: struct.unpack(f"{order}Q", match[1]))
        size = struct.unpack(f"{order}Q", match[1])[0]
        if match.start() < end or size > len(data) - match.end():
            continue
        text = data[match.end() : match.end() + size]
        found += (data[end : match.start()], Part(_words(text), _with_size(f"{order}Q")))
        end = match.end() + size
    return [*found, data[end:]]


def _with_size(layout: str) -> Callable[[bytes], bytes]:
    return lambda body: struct.pack(layout, len(body)) + body


def _fxt_records(data: bytes, order: str) -> Iterator[Part | bytes]:
    """Records with their sizes in words, which stand in bits 4 to 15 (large ones: 4 to 35) of their first word."""
    at = 0
    while at + 8 <= len(data):
        (head,) = struct.unpack_from(f"{order}Q", data, at)
        bits = 32 if head & 15 == 15 else 12
        size = (head >> 4 & (1 << bits) - 1) * 8
        if not 8 <= size <= len(data) - at:
            break
        body = data[at + 8 : at + size]
        words: list[Part | bytes] = [body[i : i + 8] for i in range(0, len(body), 8)]
        yield Part(words, _record(head, bits, order))
        at += size
    yield data[at:]


def _record(head: int, bits: int, order: str) -> Callable[[bytes], bytes]:
    mask = (1 << bits) - 1

    def framed(body: bytes) -> bytes:
        body += bytes(-len(body) % 8)
        return (
            struct.pack(f"{order}Q", head & ~(mask << 4) | (len(body) // 8 + 1 & mask) << 4) + body
        )

    return framed


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; -1 where there is none."""
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    return 0, -1


def _message(data: bytes, depth: int) -> Part | None:
    """A protobuf message, as fields; None where the bytes are none."""
    found: list[Part | bytes] = []
    at = 0
    while at < len(data):
        key, end = _varint(data, at)
        kind = key & 7
        if end < 0 or key < 8 or kind not in {0, 1, 2, 5}:
            return None
        start, size = end, 0
        if kind == 0:
            _, end = _varint(data, end)
        elif kind == 2:
            size, start = _varint(data, end)
            end = start + size if start >= 0 else -1
        else:
            end += 8 if kind == 1 else 4
        if not 0 <= end <= len(data):
            return None
        if kind == 2:
            inside = _content(data[start:end], depth)
            found.append(Part([inside], _field(varint(key))))
        else:
            found.append(Part([data[start:end]], varint(key).__add__))
        at = end
    return Part(found)


def _content(data: bytes, depth: int) -> Part | bytes:
    """What a field of protobuf holds: bytes, another message, or one that is compressed."""
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 24)
        except zstandard.ZstdError:
            return data
        message = _message(plain, depth + 1)
        return Part([message or plain], zstandard.ZstdCompressor(1).compress)
    return (depth < _DEPTH and len(data) > 1 and _message(data, depth + 1)) or data


def _field(key: bytes) -> Callable[[bytes], bytes]:
    return lambda body: key + varint(len(body)) + body


@lru_cache(maxsize=1024)
def _every_part(name: str, data: bytes) -> list[Part]:
    """The parts of a file that have pieces, the file itself first; kept, as changes begin with few files."""
    waiting = [parts(name, data)]
    found = []
    while waiting:
        part = waiting.pop()
        if part.pieces:
            found.append(part)
        waiting += (piece for piece in part.pieces if isinstance(piece, Part))
    return found


def rearranged(name: str, data: bytes, other: bytes, rng: random.Random) -> bytes:
    """The input with pieces removed, repeated, moved, changed, or taken from another input."""
    every = _every_part(name, data)
    if not every:
        return data
    whole = Changes(every[0])
    for _ in range(1 + min(rng.getrandbits(3), rng.getrandbits(3))):
        pieces = whole.pieces(rng.choice(every))
        at = rng.randrange(len(pieces) + 1)
        count = min(1 << rng.randrange(5), len(pieces))
        match rng.randrange(8):
            case 0:
                del pieces[at : at + count]
            case 1:
                pieces[at:at] = pieces[at : at + count] * rng.choice((1, 1, 2, 20))
            case 2:
                start = rng.randrange(len(pieces) + 1)
                pieces[at:at] = pieces[start : start + count]
            case 3:
                start = rng.randrange(len(pieces) + 1)
                pieces[at : at + count] = pieces[start : start + count]
            case 4 | 5:
                donors = _every_part(name, other)
                if donors:
                    taken = rng.choice(donors).pieces
                    start = rng.randrange(len(taken))
                    given = map(bytes, taken[start : start + count])
                    pieces[at : at + rng.choice((0, count))] = given
            case _:
                leaves = [i for i, piece in enumerate(pieces) if isinstance(piece, bytes) and piece]
                if leaves:
                    at = rng.choice(leaves)
                    pieces[at] = _changed(bytes(pieces[at]), rng)
    return bytes(whole)


def multiplied(name: str, data: bytes, rng: random.Random) -> bytes:
    """The input with a few pieces after each other repeated very often, each time with other numbers.

    So there are many tasks, classes, strings, packets: whatever the numbers count.
    """
    every = [_units(name, data)] if rng.random() < 0.5 else _every_part(name, data)
    every = [part for part in every if part.pieces]
    if not every:
        return data
    part = rng.choice(every)
    at = rng.randrange(len(part.pieces))
    repeated = part.pieces[at : at + (1 << rng.randrange(4))]
    if bytes(part.pieces[at - 1]) == b"," and at and len(repeated) % 2:
        # What stands between two brackets goes with one of them.
        repeated = [b",", *repeated]
    size = sum(len(bytes(piece)) for piece in repeated)
    copies = min(rng.choice(MANY), _MOST_REPEATED // max(size, 1))
    places = [(number, rng.random()) for number in range(len(repeated)) if rng.random() < 0.6]
    whole = Changes(every[0])
    pieces = whole.pieces(part)
    added: list[Part | bytes] = []
    for copy in range(1, copies + 1):
        run = [*repeated]
        for number, place in places:
            run[number] = _renumbered(run[number], place, copy)
        added += run
    pieces[at:at] = added
    return bytes(whole)


def _renumbered(piece: Part | bytes, place: float, step: int) -> bytes:
    """A piece in which one number, wherever `place` of 0 to 1 points to, is larger by so much."""
    if isinstance(piece, Part):
        if not piece.pieces:
            return bytes(piece)
        where, rest = divmod(place * len(piece.pieces), 1)
        inside = [*map(bytes, piece.pieces)]
        inside[int(where)] = _renumbered(piece.pieces[int(where)], rest, step)
        return piece.framed(b"".join(inside))
    digits = [*_DIGITS.finditer(piece)]
    if digits and all(32 <= byte < 127 or byte in b"\n\t\0" for byte in piece):
        found = digits[int(place * len(digits))]
        number = b"%d" % (int(found[0]) + step)
        return piece[: found.start()] + number.zfill(len(found[0])) + piece[found.end() :]
    if piece and piece[-1] < 128 and len(piece) < 11 and all(byte > 127 for byte in piece[:-1]):
        return varint(_varint(piece, 0)[0] + step)
    width = next((width for width in (4, 2, 1) if width <= len(piece)), 0)
    start = int(place * (len(piece) // width)) * width if width else 0
    order: Literal["little", "big"] = "big" if int(place * 64) & 1 else "little"
    mask = (1 << 8 * width) - 1
    number = int.from_bytes(piece[start : start + width], order) + step & mask
    return piece[:start] + number.to_bytes(width, order) + piece[start + width :]


def _units(name: str, data: bytes) -> Part:
    """What a format writes after each other: lines of text, records, packets, blocks or pages."""
    if data.startswith(_AIX):
        return Part([_AIX, *_aix_entries(data)])
    for magic, before in _MAGICS:
        if (starts := [found.start() - before for found in re.finditer(magic, data)])[1:]:
            bounds = [0, *(start for start in starts if start > 0), len(data)]
            return Part([data[start:end] for start, end in itertools.pairwise(bounds)])
    if name.endswith((".map", ".txt", ".sym", "info", "metadata")) or data[:1] in b"#/":
        return Part(list(data.splitlines(keepends=True)))
    if name.endswith(".dat") or data.startswith(b"\x17\x08\x44tracing"):
        size = _PAGE if data.startswith(b"\x17") else 16
        return Part([data[at : at + size] for at in range(0, len(data), size)])
    return parts(name, data)


def _aix_entries(data: bytes) -> Iterator[bytes]:
    """Entries of a stream of a 64-bit kernel."""
    at = len(_AIX)
    while at + 8 <= len(data):
        flags, length = struct.unpack_from(">HH", data, at)
        word = (4 if flags & 0x2000 else 8) if flags & 0x4000 else 0
        size = 8 + -(-(word + length) // 8) * 8 + 8 + (8 if flags & 0x8000 else 0)
        yield data[at : at + size]
        at += size
    yield data[at:]


def _changed(data: bytes, rng: random.Random) -> bytes:
    """A word, or a number in some layout, changed."""
    if data.isdigit() and len(data) < 4000:  # Python makes no numbers of more digits
        number = rng.choice((int(data) + rng.choice((-1, 1)), rng.choice(INTERESTING)))
        return str(rng.choice((number, -number))).encode()
    if len(data) in {1, 2, 4, 8} and rng.random() < 0.5:
        bits = 8 * len(data)
        number = int.from_bytes(data, "little") + rng.choice((-1, 1, 8, -8))
        number = rng.choice((number, rng.choice(INTERESTING))) & (1 << bits) - 1
        return number.to_bytes(len(data), rng.choice(("little", "big")))
    if len(data) < 11 and data[-1] < 128 and rng.random() < 0.3:
        return varint(rng.choice(INTERESTING))
    return damaged(data, rng)


def matched(data: bytes, pairs: list[tuple[int, int]], rng: random.Random) -> bytes:
    """The input with a number that was compared with another replaced by that, where it is found."""
    changed = bytearray(data)
    for left, right in rng.sample(pairs, min(len(pairs), 20)):
        value = right + rng.choice((0, 0, 0, -1, 1))
        for layout in rng.sample(_LAYOUTS, len(_LAYOUTS)):
            mask = (1 << 8 * struct.calcsize(layout)) - 1
            if left > mask or (left < 32 and mask < 1 << 31):
                continue
            searched = struct.pack(layout, left)
            found = changed.find(searched, rng.randrange(len(changed) + 1))
            found = changed.find(searched) if found < 0 else found
            if found >= 0:
                changed[found : found + len(searched)] = struct.pack(layout, value & mask)
                if rng.random() < 0.7:
                    return bytes(changed)
                break
    return bytes(changed)


def mended(data: bytes) -> bytes:
    """The input with the checksums that stand in it made right: those of what travels in an output."""
    matches = list(_FOOTER.finditer(data, max(len(data) - 256, 0)))
    if not matches:
        return data
    found = matches[-1]
    start = min(int(found[1], 16), found.start())
    footer = Footer(start, zlib.crc32(data[:start]), int(found[3], 16))
    return data[: found.start()] + bytes(footer) + data[found.end() :]
