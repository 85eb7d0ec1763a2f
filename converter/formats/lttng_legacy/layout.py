"""The binary layout of a trace's files: block headers, by version (``schemas/lttng_legacy/block_headers.json``).

Headers are few, so these declarations read the first of each file and write those of new ones. The scan kernel gets
the offsets from them, and reads the header of every block itself.
"""

from __future__ import annotations

import json
import pkgutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from converter.errors import TraceError, TruncatedError, UnsupportedError

MAGIC: Final = 0x00D6B7ED

#: The offset of the magic number, in versions to 1.0 and from 2.0 on.
_PLACES: Final = (40, 16)
#: The size of the largest header, and a little more.
HEAD_SIZE: Final = 128
#: Architectures (arch_type of version 1.0), under the names of uname -m.
MACHINES: Final = {
    1: "i686", 2: "ppc", 3: "sh", 4: "s390", 5: "mips", 6: "arm", 7: "ppc64", 8: "x86_64", 10: "ppc",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HeaderLayout:
    """The members of a block's header, at their offsets."""

    name: str
    members: tuple[tuple[str, int, int], ...]
    size: int

    def offset(self, member: str) -> int:
        """Return the offset of a member, -1 if the header has no such member."""
        return next((at for name, at, _ in self.members if name == member), -1)

    def parse(self, data: bytes, *, big_endian: bool) -> dict[str, int]:
        """Return the members' values; `data` has at least `size` bytes."""
        order = _order(big_endian)
        return {
            name: int.from_bytes(data[at : at + size], order) for name, at, size in self.members
        }

    def build(self, values: Mapping[str, int], *, big_endian: bool) -> bytes:
        """Return a header; members that are not given are zero."""
        letters = {1: "B", 2: "H", 4: "I", 8: "Q"}
        form = "".join(letters[size] for _, _, size in self.members)
        return struct.pack(
            (">" if big_endian else "<") + form,
            *(values.get(name, 0) for name, _, _ in self.members),
        )


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the format, and its properties."""

    major: int
    minor: int
    #: True if headers of version 1.0 are as in its document, not as the tracer wrote them.
    literal: bool = False
    #: True if IDs of version 1.0 are as in its document: two bytes, not a number of 16 bits.
    byte_ids: bool = False

    @property
    def name(self) -> str:
        """The version's name in the tracer."""
        return f"{self.major}.{self.minor}"

    @property
    def layout(self) -> HeaderLayout:
        """The layout of block headers."""
        return header_layout("1.0-document" if self.literal else _schema()["versions"][self.name])

    @property
    def per_channel(self) -> bool:
        """True if each channel numbers its markers, and declarations name the channel (2.3)."""
        return (self.major, self.minor) >= (2, 3)

    @property
    def own_sizes(self) -> bool:
        """True if each block has its own size (2.5)."""
        return (self.major, self.minor) >= (2, 5)

    @property
    def counts_losses(self) -> bool:
        """True if block headers count lost events (2.2)."""
        return self.layout.offset("events_lost") >= 0

    def limit(self, alignment: int) -> int:
        """Return the maximum alignment, given the one in a header or marker.

        Versions 2.4 and 2.5 align 64-bit members to eight bytes whatever the architecture.
        """
        natural = (self.major, self.minor) in ((2, 4), (2, 5))
        return max(alignment, 8) if alignment and natural else alignment


@cache
def _schema() -> dict[str, Any]:
    text = pkgutil.get_data("converter.schemas", "lttng_legacy/block_headers.json")
    assert text is not None
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def header_layout(name: str) -> HeaderLayout:
    """Return the layout of that name in the schema."""
    members = []
    at = 0
    for member, kind in _schema()["layouts"][name]["members"]:
        size = int(kind[1:]) // 8
        members.append((member, at, size))
        at += size
    return HeaderLayout(name, tuple(members), at)


@cache
def versions() -> frozenset[str]:
    """Return the versions in the schema."""
    return frozenset(_schema()["versions"])


def find_version(data: bytes) -> tuple[Version, bool] | None:
    """Return the version of a file that starts with `data`, and True if it is big-endian; None for other formats.

    Raises:
        UnsupportedError: this version cannot be read; the message names it.

    """
    for place in _PLACES:
        word = data[place : place + 4]
        for big_endian in (False, True):
            if len(word) == 4 and int.from_bytes(word, _order(big_endian)) == MAGIC:
                at = place + (17 if place == _PLACES[0] else 4)
                return _version(place, data[at : at + 2]), big_endian
    _refuse_old(data)
    return None


def _version(place: int, numbers: bytes) -> Version:
    if len(numbers) < 2:
        raise TruncatedError(offset=place, field="block header", expected="major and minor version")
    version = Version(*numbers)
    if version.name not in versions() or (place == _PLACES[0]) != (version.major < 2):
        raise UnsupportedError(
            f"version {version.name} of the legacy LTTng format is not supported, "
            "only 1.0 and 2.0 to 2.6 are",
            offset=place,
        )
    return version


#: Files of the Linux Trace Toolkit of 1999 start with an event TRACE_START, which contains the magic number.
_OLD_PLACES: Final = range(1, 40)


def _refuse_old(data: bytes) -> None:
    for magic in (MAGIC.to_bytes(4, "little"), MAGIC.to_bytes(4, "big")):
        at = data.find(magic, _OLD_PLACES.start, _OLD_PLACES.stop + 4)
        if at >= 0:
            raise UnsupportedError(
                "the format of the Linux Trace Toolkit of 1999 to 2003 is not supported", offset=at
            )


def _order(big_endian: bool) -> Any:
    return "big" if big_endian else "little"


def check_geometry(values: Mapping[str, int]) -> None:
    """Reject a first header that no valid block has.

    Raises:
        TraceError: sizes, alignment or clock are invalid.

    """

    def refuse(field: str, expected: str) -> TraceError:
        return TraceError(field=f"block header.{field}", expected=expected, found=values[field])

    if values["arch_size"] not in (4, 8):
        raise refuse("arch_size", "4 or 8")
    alignment = values["alignment"]
    if alignment & (alignment - 1) or alignment > 16:
        raise refuse("alignment", "0, 1, 2, 4, 8 or 16")
    if not values["start_freq"]:
        raise refuse("start_freq", "a frequency")
    if "tscbits" in values and not values["tscbits"] <= values["compact_data_shift"] <= 32:
        raise refuse("compact_data_shift", "a number from tscbits to 32")
    if values.get("tsc_lsb_truncate", 0) > 31:
        raise refuse("tsc_lsb_truncate", "a number up to 31")
