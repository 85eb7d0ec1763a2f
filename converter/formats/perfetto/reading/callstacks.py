"""Call stacks: interned frames with the names of their functions and mappings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import NO_PATH, InternedField
from converter.formats.perfetto.protobuf.descriptors import decode
from converter.formats.perfetto.protobuf.scan import split_fields
from converter.formats.perfetto.reading.kernels.scan_timeline import Timeline
from converter.kernels.tables.strings import StringTable

#: A call stack as `ir.columns.column_from_values` accepts it for `mapping.CALLSTACK`: innermost frame first.
Frames = list[list[tuple[str, Any]]]

_MAX_CACHED = 1 << 16


class CallStacks:
    """Interned call stacks of one pass over a trace."""

    def __init__(self, timeline: Timeline, strings: StringTable, messages: StringTable) -> None:
        self._timeline = timeline
        self._strings = strings
        self._messages = messages
        self._known: dict[tuple[int, int], Frames] = {}

    def interned(self, scope: int, iid: int) -> Frames:
        """Return the frames of an interned call stack; none if it is unknown."""
        known = self._known.get((scope, iid))
        if known is None:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            callstack = self._message(scope, InternedField.CALLSTACKS, iid, "Callstack")
            known = self._known[scope, iid] = [
                self._frame(scope, self._message(scope, InternedField.FRAMES, frame, "Frame"))
                # Stored outermost first.
                for frame in reversed(callstack.get("frame_ids", []))
            ]
        return known

    def inline(self, data: NDArray[np.uint8], start: int, size: int) -> Frames:
        """Return the frames of a TrackEvent.InlineCallstack, which contains the names of its functions."""
        try:
            callstack = decode("TrackEvent.InlineCallstack", data, start, size)
        except ValueError:
            return []
        return [
            _frame_value(
                frame.get("function_name", b""),
                b"",
                0,
                frame.get("source_file", b""),
                frame.get("line_number", 0),
            )
            for frame in reversed(callstack.get("frames", []))
        ]

    def _frame(self, scope: int, frame: dict[str, Any]) -> list[tuple[str, Any]]:
        return _frame_value(
            self._text(scope, InternedField.FUNCTION_NAMES, frame.get("function_name_id", 0)),
            self._mapping(scope, frame.get("mapping_id", 0)),
            frame.get("rel_pc", 0),
            self._text(scope, InternedField.SOURCE_PATHS, frame.get("source_path_iid", 0)),
            frame.get("line_number", 0),
        )

    def _mapping(self, scope: int, iid: int) -> bytes:
        """Return the path of a mapping, or its name if it has no path."""
        mapping = self._message(scope, InternedField.MAPPINGS, iid, "Mapping")
        parts = [
            self._text(scope, InternedField.MAPPING_PATHS, part)
            for part in mapping.get("path_string_ids", [])
        ]
        path = b"".join(b"/" + part for part in parts)
        return path[1:] if self._is_no_path(scope, iid) else path

    def _is_no_path(self, scope: int, iid: int) -> bool:
        """Return True if a mapping says that its name is not a path."""
        id = self._timeline.interned_text(scope, InternedField.MAPPINGS, iid)
        if id < 0:
            return False
        data = np.frombuffer(self._messages[id], np.uint8)
        try:
            return any(number == NO_PATH for number, *_ in split_fields(data, 0, len(data)))
        except ValueError:
            return False

    def message(self, scope: int, field: int, iid: int) -> bytes | None:
        """Return an interned message that is no text; None if it is unknown."""
        id = self._timeline.interned_text(scope, field, iid)
        return None if id < 0 else self._messages[id]

    def _text(self, scope: int, field: int, iid: int) -> bytes:
        id = self._timeline.interned_text(scope, field, iid)
        return b"" if id < 0 else self._strings[id]

    def _message(self, scope: int, field: int, iid: int, message: str) -> dict[str, Any]:
        id = self._timeline.interned_text(scope, field, iid)
        if id < 0:
            return {}
        data = np.frombuffer(self._messages[id], np.uint8)
        try:
            return decode(message, data, 0, len(data))
        except ValueError:
            return {}


def _frame_value(
    function: bytes, mapping: bytes, rel_pc: int, source: bytes, line: int
) -> list[tuple[str, Any]]:
    return [
        ("function", function),
        ("mapping", mapping),
        ("rel_pc", rel_pc),
        ("source", source),
        ("line", line),
    ]
