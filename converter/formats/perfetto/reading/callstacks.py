"""Call stacks: interned frames with the names of their functions and mappings, as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceWarning, note
from converter.formats.perfetto.layout import NO_PATH, InternedField
from converter.formats.perfetto.protobuf.descriptors import decode, program_of
from converter.formats.perfetto.protobuf.scan import split_fields
from converter.formats.perfetto.reading.columns import MessageColumns
from converter.formats.perfetto.reading.kernels.scan_timeline import Timeline
from converter.formats.perfetto.reading.timebases import timebase
from converter.ir.columns import ListColumn, StructColumn, concatenate, take, value
from converter.ir.distinct_values import distinct
from converter.kernels.protobuf.decode import decode_repeated
from converter.kernels.tables.strings import StringTable
from converter.limits import allowed, limit
from converter.projection.timeline_fields import CALLSTACK

#: A call stack as `ir.columns.column_from_values` accepts it for `timeline_fields.CALLSTACK`: innermost frame first.
Frames = list[list[tuple[str, Any]]]

#: The number of stacks and frames that are remembered between two calls.
_MAX_CACHED: Final = 1 << 16
#: The fields of a Frame that samples have.
_FRAME_FIELDS: Final = (
    *("function_name_id", "mapping_id", "rel_pc", "source_path_iid", "line_number"),
)
_FRAME_IDS: Final = 2


def _no_frames() -> StructColumn:
    kinds = (np.int32, np.int32, np.uint64, np.int32, np.uint32)
    return StructColumn(0, tuple(np.zeros(0, kind) for kind in kinds))


class CallStacks:
    """Interned call stacks of one pass over a trace: each is decoded once."""

    def __init__(
        self,
        timeline: Timeline,
        strings: StringTable,
        messages: StringTable,
        warnings: list[TraceWarning],
    ) -> None:
        self._timeline = timeline
        self._warnings = warnings
        self._strings = strings
        self._messages = messages
        self._forget()

    def _forget(self) -> None:
        #: The numbers of stacks and frames by scope and iid, and their tables.
        self._stack_numbers: dict[tuple[int, int], int] = {}
        self._frame_numbers: dict[tuple[int, int], int] = {}
        self._mapping_names: dict[tuple[int, int], int] = {}
        self._stacks = ListColumn(np.zeros(1, np.int64), np.zeros(0, np.int32))
        self._frames = _no_frames()

    def interned(self, scope: int, iid: int) -> Frames:
        """Return the frames of an interned call stack; none if it is unknown."""
        column, _ = self.columns(np.array([scope]), np.array([iid], np.uint64))
        frames: Frames = value(column, CALLSTACK.type, 0, self._strings)
        return frames

    def columns(
        self, scopes: NDArray[np.int64], iids: NDArray[np.uint64]
    ) -> tuple[ListColumn, NDArray[np.integer[Any]]]:
        """Return the distinct stacks among those of some iids, as a column, and the row of each iid in it.

        The stack of an unknown iid is empty.
        """
        (scopes, iids), which = _distinct_pairs(scopes, iids)
        if len(self._stack_numbers) + len(iids) > _MAX_CACHED:
            self._forget()
        numbers = self._numbered(scopes, iids, self._stack_numbers, self._read_stacks)
        stacks = take(self._stacks, numbers)
        assert isinstance(stacks, ListColumn)
        assert isinstance(stacks.values, np.ndarray)
        return ListColumn(stacks.offsets, take(self._frames, stacks.values)), which

    def _numbered(
        self,
        scopes: NDArray[np.int64],
        iids: NDArray[np.uint64],
        known: dict[tuple[int, int], int],
        read: Callable[[list[tuple[int, int]]], None],
    ) -> NDArray[np.int64]:
        """Return the number of each key, after `read` has added the new ones to a table."""
        keys = list(zip(scopes.tolist(), iids.tolist(), strict=True))
        new = [key for key in keys if key not in known]
        known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        if new:
            read(new)
        return np.array([known[key] for key in keys], np.int64)

    def _read_stacks(self, keys: list[tuple[int, int]]) -> None:
        # Frames are stored outermost first: all of them are turned around at once.
        data, starts, sizes = self._joined(keys[::-1], InternedField.CALLSTACKS)
        offsets = np.zeros(len(keys) + 1, np.int64)
        iids = decode_repeated(data, starts, sizes, _FRAME_IDS, offsets)[::-1]
        counts = np.diff(offsets)[::-1]
        most = limit("perfetto.frames")
        if (counts > most).any():
            self._warn(int(np.count_nonzero(counts > most)))
            ends = np.cumsum(counts)
            iids = iids[np.arange(len(iids)) - np.repeat(ends - counts, counts) < most]
            counts = np.minimum(counts, most)
        scopes = np.repeat(np.array([scope for scope, _ in keys], np.int64), counts)
        (scopes, iids), which = _distinct_pairs(scopes, iids)
        numbers = self._numbered(scopes, iids, self._frame_numbers, self._read_frames)
        added = ListColumn(np.append(0, np.cumsum(counts)), numbers.astype(np.int32)[which])
        stacks = concatenate([self._stacks, added])
        assert isinstance(stacks, ListColumn)
        self._stacks = stacks

    def _warn(self, count: int) -> None:
        message = f"call stacks are cut: {count:,}; their outermost frames are left out"
        expected = allowed("perfetto.frames")
        warning = TraceWarning(
            message=message, format="perfetto", expected=expected, is_damage=False
        )
        note(self._warnings, warning)

    def _read_frames(self, keys: list[tuple[int, int]]) -> None:
        data, starts, sizes = self._joined(keys, InternedField.FRAMES)
        fields = {item.name: item for item in program_of("Frame")}
        program = tuple(fields[name] for name in _FRAME_FIELDS)
        messages = MessageColumns(data, starts, sizes, program, self._strings)
        function, mapping_id, rel_pc, source, line = map(messages.raw, range(len(program)))
        scopes = [scope for scope, _ in keys]
        texts = []
        for field, iids in (
            (InternedField.FUNCTION_NAMES, function),
            (InternedField.SOURCE_PATHS, source),
        ):
            found = map(self._text_id, scopes, (field for _ in keys), iids.tolist())
            texts.append(np.fromiter(found, np.int32, len(keys)))
        paths = map(self._mapping_name, scopes, mapping_id.tolist())
        path = np.fromiter(paths, np.int32, len(keys))
        added = StructColumn(len(keys), (texts[0], path, rel_pc, texts[1], line))
        frames = concatenate([self._frames, added])
        assert isinstance(frames, StructColumn)
        self._frames = frames

    def _joined(
        self, keys: list[tuple[int, int]], field: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return some interned messages in one buffer, with their starts and sizes."""
        found = [(self.message(scope, field, iid) if iid else None) or b"" for scope, iid in keys]
        sizes = np.array([len(message) for message in found], np.int64)
        starts = np.cumsum(sizes) - sizes
        return np.frombuffer(b"".join(found) or b"\0", np.uint8), starts, sizes

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

    def _mapping_name(self, scope: int, iid: int) -> int:
        """Return the id of a mapping's name."""
        known = self._mapping_names.get((scope, iid))
        if known is None:
            known = self._strings.intern(self._mapping(scope, iid))
            self._mapping_names[scope, iid] = known
        return known

    def _text_id(self, scope: int, field: int, iid: int) -> int:
        return max(self._timeline.interned_text(scope, field, iid), 0) if iid else 0

    def _mapping(self, scope: int, iid: int) -> bytes:
        """Return the path of a mapping, or its name if it has no path."""
        message = self._message(scope, InternedField.MAPPINGS, iid, "Mapping")
        parts = [
            self._text(scope, InternedField.MAPPING_PATHS, part)
            for part in message.get("path_string_ids", [])
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

    def timebase(self, scope: int) -> tuple[str, str]:
        """Return the name and the unit of the counter of a sequence's samples; empty texts if they are unknown."""
        return timebase(self._timeline, self._messages, scope)

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


def _distinct_pairs(
    scopes: NDArray[np.int64], iids: NDArray[np.uint64]
) -> tuple[tuple[NDArray[np.int64], NDArray[np.uint64]], NDArray[np.integer[Any]]]:
    """Return the distinct pairs of some, and the index of each pair among them."""
    iids = np.ascontiguousarray(iids)
    if not len(iids):
        return (scopes, iids), np.zeros(0, np.int64)
    owners, _ = distinct(scopes)
    if len(owners) == 1:
        found, which = distinct(iids)
        return (np.full(len(found), owners[0], np.int64), found), which
    pairs = np.stack((scopes.astype(np.uint64), iids), 1)
    unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
    return (unique[:, 0].astype(np.int64), unique[:, 1]), inverse.reshape(-1)
