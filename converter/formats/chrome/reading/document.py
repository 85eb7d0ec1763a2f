"""The document around the events: an array of them, or an object with them in one of its members.

It is read window by window; only a single event, or the value of a member other than the events, must fit into one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from converter.errors import TraceError, TruncatedError, too_many_holes
from converter.formats.chrome.json.scan import EventScanner
from converter.formats.chrome.json.scan_values import end_of_value
from converter.formats.chrome.layout import BYTE_ORDER_MARK, SPACE, TRACE_EVENTS
from converter.formats.chrome.reading.resync import LARGEST, LONGEST, MEMBER, Search
from converter.limits import allowed, limit
from converter.storage.source import Source

WINDOW = 1 << 22
#: The reasons for which `EventScanner.scan` stops.
_MORE, _CLOSED, _FULL = 0, 1, 2
#: How much errors show of a value.
_SHOWN = 40


class Step(Enum):
    """The item just read: events, which the scanner holds, or a member of the outer object."""

    EVENTS = auto()
    MEMBER = auto()


class Document:
    """The text of a source from its beginning, or only its first window as a `sample`."""

    def __init__(
        self,
        source: Source,
        window: int,
        *,
        sample: bool = False,
        derived: tuple[str, bytes] | None = None,
    ) -> None:
        """Open a text. A member `derived`, given by its name and the start of its string, is skipped."""
        self.member: tuple[str, Any] = ("", None)
        #: Errors after which reading resumed: events are missing there.
        self.damage: list[TraceError] = []
        self._search = Search()
        #: How often reading resumed at a member after damage.
        self._skipped = 0
        self._source = source
        self._window = window
        self._sample = sample
        self._derived = derived
        self._base = 0
        # One buffer for all windows: for the system, mapping new memory takes longer than filling it.
        self._memory = bytearray()
        self._data = memoryview(self._memory)
        self._at = 0

    @property
    def position(self) -> int:
        """The number of bytes of the source that have been read."""
        return self._base + self._at

    def steps(self, scanner: EventScanner, batch_size: int) -> Iterator[Step]:
        """Read until there are `batch_size` events or a member; the last steps may have fewer.

        Raises:
            TraceError: this is where the text stops being JSON, or ends too early; what was yielded is good.

        """
        self._more()
        if self._data[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK:
            self._at = len(BYTE_ORDER_MARK)
        opening = self._next()
        if opening == b"[":
            self._at += 1
            yield from self._events(scanner, batch_size, may_end=True)
        elif opening == b"{":
            self._at += 1
            yield from self._members(scanner, batch_size)
        else:
            raise self._error("an array or an object", opening or "the end of the file")
        if not self._sample and self._next():
            raise self._error("the end of the file", "more text")

    def _members(self, scanner: EventScanner, batch_size: int) -> Iterator[Step]:
        found: str | None = None
        while True:
            try:
                name = found or self._name()
                found = None
                if name is not None and self._is_derived(name):
                    self._pass_string()
                    continue
                is_list = name == TRACE_EVENTS and self._next() == b"["
                text = None if is_list or name is None else self._value()
            except TraceError as error:
                found = self._name_after(error)
                if found is None:
                    raise
                continue
            if is_list:
                self._at += 1
                yield from self._events(scanner, batch_size, may_end=False)
            elif name is None or text is None:
                return
            elif name == TRACE_EVENTS:
                found_instead = bytes(text[:_SHOWN])
                self.damage.append(
                    TraceError(
                        field=TRACE_EVENTS, expected="an array of events", found=found_instead
                    )
                )
            else:
                self.member = (name, _parsed(text))
                yield Step.MEMBER

    def _is_derived(self, name: str) -> bool:
        """Return True if the value of a member, which is read next, only repeats other content."""
        if self._derived is None or name != self._derived[0] or self._next() != b'"':
            return False
        start = b'"' + self._derived[1]
        while len(self._data) - self._at < len(start) and self._more():
            pass
        return bytes(self._data[self._at : self._at + len(start)]) == start

    def _pass_string(self) -> None:
        """Skip a string, with only one window of it in memory at a time."""
        self._at += 1
        while True:
            quote = self._memory.find(b'"', self._at, len(self._data))
            end = quote if quote >= 0 else len(self._data)
            text = self._memory[self._at : end]
            is_escaped = (len(text) - len(text.rstrip(b"\\"))) % 2 == 1
            # A backslash at the end of a window stays.
            self._at = end + 1 if quote >= 0 else end - is_escaped
            if quote >= 0 and not is_escaped:
                return
            if quote < 0 and not self._more():
                raise self._truncated("the end of a string")

    def _name(self) -> str | None:
        """Return the name of the next member, so that its value is next; None at the end of the object or sample."""
        while (byte := self._next()) == b",":
            self._at += 1
        if byte == b"}":
            self._at += 1
            return None
        if byte != b'"':
            if self._sample and not byte:
                return None
            raise self._error("a member or the end of the object", byte)
        text = self._value()
        if text is None:
            return None
        byte = self._next()
        if byte != b":":
            raise self._error("a colon", byte)
        self._at += 1
        return str(json.loads(text))

    def _name_after(self, error: TraceError) -> str | None:
        """Return the name of the next member of a trace after damage, so that its value is next; None without one."""
        while (found := MEMBER.search(self._data, self._at)) is None:
            # A name may be cut off by the end of the window.
            self._at = max(self._at, len(self._data) - LONGEST)
            if not self._more():
                return None
        if self._skipped == limit("holes"):
            self.damage.append(error)
            raise too_many_holes(self._base + found.start())
        self._skipped += 1
        self._at = found.end()
        message = "members go on after the damage"
        self.damage += [error, TraceError(message, offset=self._base + found.start())]
        return found[1].decode()

    def _events(self, scanner: EventScanner, batch_size: int, *, may_end: bool) -> Iterator[Step]:
        while True:
            self._at, status = scanner.scan(self._data, self._at, batch_size)
            if status == _MORE and self._more():
                continue
            yield Step.EVENTS
            if status == _CLOSED:
                return
            if status == _FULL:
                continue
            if status != _MORE:
                error = self._error("an event object", bytes(self._data[self._at : self._at + 40]))
                if not self._resume():
                    if self._search.given_up:
                        error.expected = f"damage with {allowed('chrome.searched')} after it"
                    raise error
                message = "events go on after the damage"
                self.damage += [error, TraceError(message, offset=self.position)]
                continue
            if self._sample:
                self._at = len(self._data)
                return
            left = bytes(self._data[self._at :]).strip(SPACE + b",")
            if left or not may_end:
                raise self._truncated("the end of the events")
            # Recorders that may be killed never write the end of the array, and no reader expects it.
            self._at = len(self._data)
            return

    def _resume(self) -> bool:
        """Resume at the next event; return False if there is none."""
        if self._sample:
            return False
        at = self._at + 1
        while True:
            following = self._search.next(self._data, at)
            if following is not None:
                self._at = following
                return True
            # An object may be cut off by the end of the window.
            self._at = max(at, len(self._data) - LARGEST)
            if not self._more():
                return False
            at = 0

    def _next(self) -> bytes:
        """Return the next byte that is not white space, without consuming it; empty at the end of the file."""
        while True:
            rest = bytes(self._data[self._at : self._at + 64]).lstrip(SPACE)
            self._at = min(self._at + 64, len(self._data)) - len(rest)
            if rest:
                return rest[:1]
            if self._at >= len(self._data) and not self._more():
                return b""

    def _value(self) -> bytes | None:
        """Consume the next value and return it as compact text; None where a sample ends first."""
        self._next()
        while True:
            try:
                found = end_of_value(self._data, self._at)
            except ValueError:
                unlike = bytes(self._data[self._at : self._at + 40])
                raise self._error("a JSON value", unlike) from None
            if found is not None:
                self._at = found[0]
                return found[1]
            if not self._more():
                if self._sample:
                    return None
                raise self._truncated("the end of a value")

    def _more(self) -> bool:
        """Read more and keep what is unread. Return False at the end of the file."""
        if self._sample and self._data:
            return False
        offset = self._base + len(self._data)
        rest = len(self._data) - self._at
        # A value that is larger than a window is not scanned again for each further window.
        size = min(max(self._window, rest), self._source.size - offset)
        if size <= 0:
            return False
        before = self._data[self._at :]
        if rest + size > len(self._memory):
            self._memory = bytearray(rest + size)
        buffer = memoryview(self._memory)
        buffer[:rest] = before
        end = rest + self._source.read_into(offset, buffer[rest : rest + size])
        self._base += self._at
        self._at = 0
        self._data = buffer[:end]
        zero = self._memory.find(b"\0", rest, end)
        if zero >= 0:
            # Text has no zero bytes, and in a string they would pass as part of it.
            offset_of_zero = self._base + zero
            self.damage.append(TraceError("bytes of value 0 in the text", offset=offset_of_zero))
        return end > rest

    def _error(self, expected: str, found: object) -> TraceError:
        if not found:
            return self._truncated(expected)
        return TraceError(
            format="chrome", offset=self.position, expected=expected, found=found
        ).within(path=self._source.name)

    def _truncated(self, expected: str) -> TraceError:
        return TruncatedError(
            format="chrome",
            path=self._source.name,
            offset=self.position,
            expected=expected,
            found="the end of the file",
        )


def _parsed(text: bytes) -> Any:
    """Parse a value; return its text where Python's parser gives up (thousands of digits, deep nesting)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
