"""Call stacks, frames and mappings as interned data, which samples and track events refer to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import NO_PATH, InternedField
from converter.formats.perfetto.protobuf.messages import encode, varint
from converter.formats.perfetto.writing.instructions import VARINT, tag_of, text_field
from converter.formats.perfetto.writing.metadata import SEQUENCE, new_packet
from converter.ir.columns import ListColumn, StructColumn, string_ids, take
from converter.ir.field_classes import StringClass
from converter.kernels.tables.strings import StringTable
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
        self._iid_of: NDArray[np.uint64] = np.zeros(1, np.uint64)
        self._frames_written = self._stacks_written = 1
        self._texts_written: set[tuple[InternedField, int]] = set()
        #: The iid of each text by its id, in the order of first use.
        self._iids: dict[int, int] = {}

    def iids(self, column: Any) -> NDArray[np.uint64]:
        """Return the iid of each call stack of a column of `mapping.CALLSTACK`; 0 for those without frames."""
        assert isinstance(column, ListColumn)
        numbers, new = self._distinct.number(column, FRAME)
        if len(new):
            self._iid_of = np.append(self._iid_of, self._new_iids(take(column, new)))
        return self._iid_of[numbers]

    def _new_iids(self, column: Any) -> NDArray[np.uint64]:
        assert isinstance(column.values, StructColumn)
        members = column.values.members
        frames = np.empty((len(column.values), len(members)), np.uint64)
        for index, (member, values) in enumerate(zip(FRAME.members, members, strict=True)):
            is_text = isinstance(member.type, StringClass)
            frames[:, index] = string_ids(values, self._strings) if is_text else np.asarray(values)
        ids = np.empty(len(frames), np.int32)
        width = 8 * len(members)
        starts = np.arange(len(frames), dtype=np.int64) * width
        self._frames.intern_spans(
            frames.view(np.uint8).reshape(-1), starts, np.full(len(frames), width, np.int64), ids
        )
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
        return stacks.astype(np.uint64)

    def take_packet(self) -> bytes:
        """Return a packet with the entries since the last call; empty if there are none."""
        frames = range(self._frames_written, len(self._frames))
        stacks = range(self._stacks_written, len(self._stacks))
        if not frames and not stacks:
            return b""
        self._frames_written, self._stacks_written = len(self._frames), len(self._stacks)
        parts: dict[InternedField, list[bytes]] = {field: [] for field in sorted(InternedField)}
        for number in frames:
            self._add_frame(number, parts)
        for number in stacks:
            ids = np.frombuffer(self._stacks[number], np.int32).tolist()
            stack = encode("Callstack", {"iid": number, "frame_ids": ids})
            parts[InternedField.CALLSTACKS].append(stack)
        content = b"".join(
            text_field(field, part) for field, found in parts.items() for part in found
        )
        return new_packet(sequence=self._sequence, interned_data=content)

    def _add_frame(self, number: int, parts: dict[InternedField, list[bytes]]) -> None:
        function, path, rel_pc, source, line = np.frombuffer(
            self._frames[number], np.uint64
        ).tolist()
        frame = {
            "iid": number,
            "mapping_id": self._iid(path),
            "rel_pc": rel_pc,
            "line_number": line,
        }
        if function:
            frame["function_name_id"] = self._text(InternedField.FUNCTION_NAMES, function, parts)
        if source:
            frame["source_path_iid"] = self._text(InternedField.SOURCE_PATHS, source, parts)
        parts[InternedField.FRAMES].append(encode("Frame", frame))
        if (InternedField.MAPPINGS, path) not in self._texts_written:
            self._texts_written.add((InternedField.MAPPINGS, path))
            parts[InternedField.MAPPINGS].append(self._mapping(path, parts))

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
