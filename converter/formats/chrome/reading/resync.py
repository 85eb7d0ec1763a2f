"""Resync after damage: events resume at an object with a phase, members at a name that traces have."""

from __future__ import annotations

import json
import re

from converter.formats.chrome import TRACE_MEMBERS
from converter.formats.chrome.json.scan_values import end_of_value
from converter.limits import limit

_OBJECT = re.compile(rb'[,\[\s]\s*(\{)\s*"')
#: An event that is larger is not found again.
LARGEST = 1 << 16
#: A member of a trace, whose name may have lost its first quote. Nested members have other names.
MEMBER = re.compile(rb"(?<![\w\\])(" + TRACE_MEMBERS + rb')"[ \t\r\n]{0,256}:')
#: More bytes than any match of `MEMBER` has.
LONGEST = 1 << 10


class Search:
    """Looks for events in one text."""

    def __init__(self) -> None:
        #: The number of objects of one input that may still be examined: examining one takes time in its size.
        self._left = limit("chrome.searched")
        self.given_up = False

    def next(self, data: memoryview, at: int) -> int | None:
        """Return the offset of the first event at or after `at`; None where there is none."""
        for match in _OBJECT.finditer(data, at):
            if not self._left:
                self.given_up = True
                return None
            self._left -= 1
            if _is_event(bytes(data[match.start(1) : match.start(1) + LARGEST])):
                return match.start(1)
        return None


def _is_event(data: bytes) -> bool:
    try:
        found = end_of_value(data, 0)
        event = None if found is None else json.loads(found[1])
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and isinstance(event.get("ph"), str)
