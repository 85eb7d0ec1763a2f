"""The prescan: finds what occurs in the streams of a trace, before the first event is delivered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from converter.errors import TraceError
from converter.formats.aix.entries.scan import (
    DECLARATION,
    DECLARATION_PART,
    HEADER,
    Forms,
    Scanner,
    presented,
)
from converter.formats.aix.entries.streams import Stream
from converter.formats.aix.hooks import NEEDS, PID_WORDS
from converter.formats.aix.layout import (
    CONVERSION,
    CONVERSION_TYPE,
    FIRST_HOOK,
    METADATA_HOOK,
    OWN_MAGIC,
    UTIL_HOOK,
)
from converter.formats.aix.side_table import Declarations
from converter.limits import allowed, limit

#: The time conversion and traceconv's marker are searched in this many bytes: the first entries of a stream.
HEAD: Final = 1 << 18
#: The largest entry: hook word, data word, 65,535 bytes, padding, thread ID and timestamp.
_MAX_ENTRY: Final = 1 << 17
_NANOSECONDS: Final = 1_000_000_000


@dataclass(slots=True)
class Prescan:
    """The results of a pass over streams."""

    forms: Forms = field(default_factory=lambda: Forms(NEEDS, PID_WORDS))
    declarations: Declarations = field(default_factory=Declarations)
    #: (process ID, path of the program) of EXEC hooks.
    executions: list[tuple[int, bytes]] = field(default_factory=list)
    #: (process ID, thread that created the process) of FORK hooks.
    forks: list[tuple[int, int]] = field(default_factory=list)
    damage: list[TraceError] = field(default_factory=list)


def prescan(streams: list[Stream], *, own: bool) -> Prescan:
    """Number the layouts of hooks and the threads that occur, and collect declarations."""
    found = Prescan()
    for stream in streams:
        scanner = Scanner(found.forms, bits=stream.bits, own=own)
        texts = _Texts(found.declarations)

        def look(
            window: memoryview, offset: int, scanner: Scanner = scanner, texts: _Texts = texts
        ) -> tuple[int, int, int]:
            scanner.offset = offset
            status, metadata, executions, forks = scanner.survey(window)
            texts.add(metadata)
            found.executions += executions
            found.forks += forks
            return status, scanner.consumed, scanner.needed

        try:
            for _ in stream.windows(look, found.damage.append, own=own):
                pass
        except TraceError as error:
            found.damage.append(error)
    return found


class _Texts:
    """Assembles the texts of metadata from the entries that contain their parts."""

    def __init__(self, declarations: Declarations) -> None:
        self._declarations = declarations
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, metadata: list[tuple[int, bytes]]) -> None:
        """Add the metadata of a window."""
        for kind, text in metadata:
            if kind not in (DECLARATION, DECLARATION_PART):
                continue
            self._size += len(text)
            if self._size > limit("aix.declarations"):
                expected = f"declarations of {allowed('aix.declarations')}"
                raise TraceError(format="aix", expected=expected, found=self._size)
            self._parts.append(text)
            # A text without its end is ignored: its last line would be incomplete.
            if kind == DECLARATION:
                self._declarations.read(b"".join(self._parts))
                self._parts.clear()


@dataclass(frozen=True, slots=True)
class Head:
    """The contents of the first entries: True if traceconv wrote the stream, and the time conversion."""

    own: bool
    declarations: Declarations
    #: Multiplier, divisor and type of hook 00A, subhook 25C.
    conversion: tuple[int, int, int] | None

    @property
    def ticks_per_second(self) -> Fraction:
        """The rate of the timestamps: nanoseconds, unless the conversion's type says otherwise."""
        if self.conversion is not None and self.conversion[2] == CONVERSION_TYPE:
            multiplier, divisor, _ = self.conversion
            if multiplier and divisor:
                return Fraction(_NANOSECONDS * divisor, multiplier)
        return Fraction(_NANOSECONDS)


def read_head(stream: Stream) -> Head:
    """Read the first entries of a stream.

    Raises:
        TraceError: there is not a single complete entry.

    """
    source = stream.source
    window = source.read(stream.start, HEAD)
    own = False
    conversion = None
    texts = Declarations()
    held = _Texts(texts)
    for number, (entry, wide) in enumerate(_entries(window, stream.bits)):
        hook = int.from_bytes(entry[4:6], "big") if wide else entry[0] << 8 | entry[1] & 0xF0
        at = 8 if wide else 4
        word = int.from_bytes(entry[at : 2 * at], "big")
        buffer = entry[2 * at :]
        if number == 0:
            own = hook == METADATA_HOOK and word == HEADER and buffer.startswith(OWN_MAGIC)
        sub = int.from_bytes(entry[6:8], "big") if wide else 0
        if hook == UTIL_HOOK and CONVERSION in (sub, word) and len(buffer) >= 24:
            first, second, third = (int.from_bytes(buffer[i : i + 8], "big") for i in (0, 8, 16))
            conversion = first, second, third
        if own and hook == METADATA_HOOK:
            held.add([(word, buffer)])
        if own and hook >= FIRST_HOOK:
            break
        if conversion is not None and not own:
            break
    return Head(own, texts, conversion)


def _entries(window: bytes, bits: int) -> Iterator[tuple[bytes, bool]]:
    """Yield the entries of a window as templates see them, with True for those in the 64-bit layout."""
    view = memoryview(window)
    while view:
        try:
            entry, entry_bits, size = presented(bits, view[:_MAX_ENTRY])
        except ValueError:
            return
        yield entry, entry_bits == 64
        view = view[size:]
