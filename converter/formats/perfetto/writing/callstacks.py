"""Call stacks, frames and mappings as interned data, which samples and track events refer to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import NO_PATH, InternedField
from converter.formats.perfetto.protobuf.messages import encode, field_number, varint
from converter.formats.perfetto.writing.instructions import VARINT, tag_of, text_field
from converter.formats.perfetto.writing.metadata import SEQUENCE, new_packet
from converter.ir.columns import ListColumn, StructColumn, TakenColumn, take
from converter.ir.distinct_values import distinct
from converter.kernels.protobuf.encode import ENCODED, NUMBER, encode_messages
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.call_stacks import members_of
from converter.projection.domain.stack_table import DistinctStacks
from converter.projection.timeline_fields import FRAME


class InternedStacks:
    """Call stacks, frames and mappings of a sequence, each with its iid."""

    def __init__(self, strings: StringTable, sequence: int = SEQUENCE) -> None:
        self._strings = strings
        self._sequence = sequence
        #: Frames as five numbers of 64 bits (`FRAME`), stacks as numbers of frames; ids are iids.
        self._frames = StringTable()
        self._stacks = StringTable()
        #: The iid of each distinct stack, by its number there.
        self._distinct = DistinctStacks(strings)
        self._iid_of = np.zeros(1, np.int32)
        self._frames_written = self._stacks_written = 1
        self._texts_written: set[tuple[InternedField, int]] = set()
        #: The iid of each text by its id, in the order of first use.
        self._iids: dict[int, int] = {}

    def iids(self, column: Any) -> NDArray[np.uint64]:
        """Return the iid of each call stack of a column of `timeline_fields.CALLSTACK`; 0 for those without frames."""
        assert isinstance(column, ListColumn)
        numbers, new = self._distinct.number(column, FRAME)
        if len(new):
            self._iid_of = np.append(self._iid_of, self._new_iids(take(column, new)))
        return self._iid_of[numbers].astype(np.uint64)

    def _new_iids(self, column: Any) -> NDArray[np.int32]:
        ids = self._frame_ids(column.values)
        # Stored outermost first.
        backward = ids[::-1].copy()
        offsets = np.asarray(column.offsets, np.int64)
        stacks = np.empty(len(offsets) - 1, np.int32)
        self._stacks.intern_spans(
            backward.view(np.uint8),
            4 * (len(ids) - offsets[1:]),
            4 * np.diff(offsets),
            stacks,
        )
        return stacks

    def _frame_ids(self, values: StructColumn) -> NDArray[np.int32]:
        """Return the iid of each frame; of those that are rows of a table, each row is looked at once."""
        which = None
        if isinstance(values, TakenColumn):
            rows, which = distinct(values.rows)
            values = TakenColumn(rows, values.table, values.origin)
        parts = [part.astype(np.uint64) for part in members_of(values, self._strings)]
        frames = np.stack(parts, axis=1)
        ids = np.empty(len(frames), np.int32)
        width = 8 * len(FRAME.members)
        starts = np.arange(len(frames), dtype=np.int64) * width
        self._frames.intern_spans(
            frames.view(np.uint8).reshape(-1), starts, np.full(len(frames), width, np.int64), ids
        )
        return ids if which is None else ids[which]

    def take_packet(self) -> bytes:
        """Return a packet with the entries since the last call; empty if there are none."""
        frames, stacks = self._frames_written, self._stacks_written
        self._frames_written, self._stacks_written = len(self._frames), len(self._stacks)
        if frames == len(self._frames) and stacks == len(self._stacks):
            return b""
        parts: dict[InternedField, list[bytes]] = {field: [] for field in sorted(InternedField)}
        encoded = {
            InternedField.FRAMES: self._new_frames(frames, parts),
            InternedField.CALLSTACKS: self._new_stacks(stacks),
        }
        content = b"".join(
            encoded[field]
            if field in encoded
            else b"".join(text_field(field, one) for one in found)
            for field, found in parts.items()
        )
        return new_packet(sequence=self._sequence, interned_data=content)

    def _new_frames(self, first: int, parts: dict[InternedField, list[bytes]]) -> bytes:
        """Return the frames from a number on; the texts and mappings that they are the first to have become parts."""
        count = len(self._frames) - first
        data, _ = self._frames.joined(first)
        function, path, rel_pc, source, line = (
            data.view(np.uint64).reshape(-1, len(FRAME.members)).T
        )
        # Each frame has a mapping, perhaps one without a name, but only some have the others.
        ids = np.stack((path, function, source), axis=1).reshape(-1)
        is_used = ids > 0
        is_used[::3] = True
        used, at = np.unique(ids[is_used], return_index=True)
        iids = np.zeros(len(used), np.uint64)
        for place in np.argsort(at).tolist():
            iids[place] = self._iid(int(used[place]))
        columns = []
        for column, field in (
            (function, InternedField.FUNCTION_NAMES),
            (source, InternedField.SOURCE_PATHS),
        ):
            texts = np.unique(column)
            for id in texts[texts > 0].tolist():
                self._text(field, id, parts)
            columns.append(np.where(column > 0, _found(used, iids, column), np.uint64(0)))
        for id in np.unique(path).tolist():
            if (InternedField.MAPPINGS, id) not in self._texts_written:
                self._texts_written.add((InternedField.MAPPINGS, id))
                parts[InternedField.MAPPINGS].append(self._mapping(id, parts))
        values = {
            "iid": np.arange(first, first + count, dtype=np.uint64),
            "function_name_id": columns[0],
            "mapping_id": _found(used, iids, path),
            "rel_pc": np.ascontiguousarray(rel_pc),
            "source_path_iid": columns[1],
            "line_number": np.ascontiguousarray(line),
        }
        fields = [
            (field_number("Frame", name), NUMBER, column, None) for name, column in values.items()
        ]
        return encode_messages(InternedField.FRAMES, count, fields)[0].tobytes()

    def _new_stacks(self, first: int) -> bytes:
        """Return the call stacks from a number on."""
        octets, starts = self._stacks.joined(first)
        count = len(starts) - 1
        frames = octets.view(np.int32).astype(np.uint64)
        # Numbers that are not packed: the only field of a message each, without the tag and the size of that.
        number = field_number("Callstack", "frame_ids")
        data, offsets = encode_messages(1, len(frames), [(number, NUMBER, frames, None)])
        is_head = np.zeros(len(data), np.bool_)
        is_head[offsets[:-1]] = is_head[offsets[:-1] + 1] = True
        offsets = offsets - 2 * np.arange(len(offsets))
        iids = np.arange(first, first + count, dtype=np.uint64)
        fields: list[tuple[int, int, NDArray[Any], NDArray[np.int64] | None]] = [
            (field_number("Callstack", "iid"), NUMBER, iids, None),
            (number, ENCODED, data[~is_head], offsets[starts // 4]),
        ]
        return encode_messages(InternedField.CALLSTACKS, count, fields)[0].tobytes()

    def _mapping(self, path: int, parts: dict[InternedField, list[bytes]]) -> bytes:
        """Return a Mapping; importers need one for each frame, and put a slash before its path."""
        if not path:
            return encode("Mapping", {"iid": self._iid(path)})
        is_path = self._strings[path].startswith(b"/")
        iids = [self._text(InternedField.MAPPING_PATHS, path, parts, skipped=int(is_path))]
        data = encode("Mapping", {"iid": self._iid(path), "path_string_ids": iids})
        return data if is_path else data + varint(tag_of(NO_PATH, VARINT)) + varint(1)

    def _text(
        self,
        field: InternedField,
        id: int,
        parts: dict[InternedField, list[bytes]],
        skipped: int = 0,
    ) -> int:
        """Return the iid of a text, which is added to the packet if it is new."""
        if (field, id) not in self._texts_written:
            self._texts_written.add((field, id))
            text = {"iid": self._iid(id), "str": self._strings[id][skipped:]}
            parts[field].append(encode("InternedString", text))
        return self._iid(id)

    def _iid(self, id: int) -> int:
        return self._iids.setdefault(id, len(self._iids) + 1)


def _found(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], wanted: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return the value of each wanted key; those of keys that there are not are arbitrary."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: NDArray[np.uint64] = values[at]
    return found
