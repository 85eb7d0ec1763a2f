"""Track events: converts the results of `scan_timeline` to events of the timeline's kinds."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import mapping
from converter.formats.perfetto.annotations import nested_value, proto_class
from converter.formats.perfetto.json_sidecar import has_extension
from converter.formats.perfetto.layout import InternedField, LegacyField, TrackEventType
from converter.formats.perfetto.mapping import JSON_VALUE
from converter.formats.perfetto.reading.assembly import EventsOfClass, Part
from converter.formats.perfetto.reading.callstacks import CallStacks
from converter.formats.perfetto.reading.kernels.scan_timeline import Timeline, TrackEvents
from converter.formats.perfetto.reading.packets import Window
from converter.formats.perfetto.reading.track_event_columns import (
    Item,
    Make,
    ReadEvents,
    bit,
    bound,
    categories,
    constant,
    eager_values,
    item_column,
    looked_up,
    microseconds,
    names,
)
from converter.formats.perfetto.reading.tracks import TrackTables
from converter.formats.perfetto.typed_arguments import distinct_spans, with_locations
from converter.ir.columns import Column
from converter.ir.distinct_values import values_of
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection import timeline_fields
from converter.projection.timeline_fields import CALLSTACK

_ITEM = struct.Struct("=BII")


_WORDS = {"n": 0, "N": 2, "y": 2, "j": 2, "F": 2, "T": 2, "k": 2, "X": 2, "M": 2}
_ANNOTATIONS: dict[str, FieldClass] = {
    "b": BooleanClass(),
    "u": IntegerClass(64),
    "i": IntegerClass(64, signed=True),
    "d": FloatClass(64),
    "p": IntegerClass(64, style=Style.POINTER),
    "s": StringClass(),
    "n": NullClass(),
    "j": JSON_VALUE,
}
_OTHERS = {
    "F": timeline_fields.FLOW_IDS,
    "T": timeline_fields.TERMINATING_FLOW_IDS,
    "c": timeline_fields.CORRELATION_ID,
    "S": mapping.CORRELATION_NAME,
    "w": mapping.CALLSTACK_WEIGHT,
    "K": CALLSTACK,
    "k": CALLSTACK,
    "X": mapping.REMAINDER,
    "M": timeline_fields.MEMBERS,
    "h": timeline_fields.THREAD_TIME,
    "H": timeline_fields.THREAD_TIME,
}
#: Items that are decoded while the state of their sequence is available.
_EAGER = frozenset("NKk")
#: The scanner's slots for the texts of ids, and for the duration of a state, among the fields of a LegacyEvent.
_ID_TEXT_SLOT, _BIND_TEXT_SLOT, _DURATION_SLOT = 20, 21, 22


@dataclass(slots=True)
class _Shape:
    """A decoded signature."""

    type: int
    phase: str
    items: list[Item]

    @property
    def eager(self) -> list[int]:
        return [i for i, item in enumerate(self.items) if item.code in _EAGER]


class TrackEventClasses:
    """The classes of a trace's track events, one per signature. One object for all passes over the trace."""

    def __init__(self, trace: Trace, tables: TrackTables) -> None:
        self._trace = trace
        self._tables = tables
        self.signatures = StringTable()
        self._class_of = np.full(256, -1, np.int32)
        self._shapes: dict[int, _Shape] = {}
        self._eager_classes: dict[tuple[int, tuple[FieldClass, ...]], int] = {}
        self._columns: dict[int, list[Make]] = {}
        self._track_names = np.zeros(0, np.int32)

    def read(
        self,
        window: Window,
        events: TrackEvents,
        ts: NDArray[np.int64],
        scope: NDArray[np.int64],
        timeline: Timeline,
        callstacks: CallStacks,
    ) -> Part | None:
        """Return the events that a timeline collected; `ts` and `scope` are those of the packets."""
        if not len(events.packet):
            return None
        read = ReadEvents(window.data, events, events.name)
        class_id = self._classes(events.signature)
        track, thread = self._tables.resolve(events.place, events.space)
        if (class_id < 0).any():
            self._read_eager(read, class_id, scope, timeline, callstacks)
        self._forget_shown_names(read)
        self._name_counters(read, class_id, track)
        self._locate(read, scope, callstacks)

        def columns(id: int, of_class: EventsOfClass) -> list[Callable[[], Column]]:
            positions = of_class.positions
            return [bound(make, read, positions) for make in self._columns[id]]

        return Part(
            packet=events.packet,
            ts=ts[events.packet],
            class_id=class_id,
            thread=thread,
            cpu=None,
            track=track,
            columns=columns,
        )

    def _classes(self, signature: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the class of each event; -1 for those with eager items, whose class depends on their values."""
        highest = int(signature.max())
        if highest >= len(self._class_of):
            grown = np.full(2 * highest, -1, np.int32)
            grown[: len(self._class_of)] = self._class_of
            self._class_of = grown
        class_id = self._class_of[signature]
        missing = class_id < 0
        if missing.any():
            for id in values_of(signature[missing]).tolist():
                if id in self._shapes:
                    continue
                shape = self._shapes[id] = _shape(self.signatures[id])
                if not shape.eager:
                    self._class_of[id] = self._define(shape, ())
            class_id = self._class_of[signature]
        return class_id

    def _read_eager(
        self,
        read: ReadEvents,
        class_id: NDArray[np.int32],
        scope: NDArray[np.int64],
        timeline: Timeline,
        callstacks: CallStacks,
    ) -> None:
        strings = self._trace.strings
        events = read.events
        for position in np.flatnonzero(class_id < 0).tolist():
            signature = int(events.signature[position])
            shape = self._shapes[signature]
            owner = int(scope[events.packet[position]])
            first = int(events.first_word[position])

            def text(number: int, iid: int, owner: int = owner) -> bytes:
                id = timeline.interned_text(owner, number, iid)
                return b"" if id < 0 else strings[id]

            kinds: list[FieldClass] = []
            values: list[Any] = []
            for index in shape.eager:
                item = shape.items[index]
                word = int(events.words[first + item.word])
                if item.code == "K":
                    kinds.append(CALLSTACK.type)
                    values.append(callstacks.interned(owner, word))
                    continue
                size = int(events.words[first + item.word + 1])
                if item.code == "k":
                    kinds.append(CALLSTACK.type)
                    values.append(callstacks.inline(read.data, word, size))
                else:
                    kind, value = nested_value(read.data, word, size, text)
                    kinds.append(kind)
                    values.append(value)
            key = (signature, tuple(kinds))
            id = self._eager_classes.get(key)
            if id is None:
                id = self._eager_classes[key] = self._define(shape, key[1])
            class_id[position] = id
            for index, value in zip(shape.eager, values, strict=True):
                read.eager.setdefault((id, index), []).append(value)

    def _locate(
        self,
        read: ReadEvents,
        scope: NDArray[np.int64],
        callstacks: CallStacks,
    ) -> None:
        """Resolve the source locations that fields without an argument name by the numbers of their sequence."""
        events = read.events
        words = {
            signature: item.word
            for signature, shape in self._shapes.items()
            for item in shape.items
            if item.code == "X"
        }
        if not words or not len(events.remainder):
            return
        at = np.flatnonzero(np.isin(events.signature, list(words)))
        if not len(at):
            return
        spans = np.zeros((len(events.packet), 2), np.int64)
        numbers, places = map(np.array, zip(*sorted(words.items()), strict=True))
        word = events.first_word[at] + places[np.searchsorted(numbers, events.signature[at])]
        starts = events.words[word].astype(np.int64)
        sizes = events.words[word + 1].astype(np.int64)
        owners = np.asarray(scope, np.int64)[events.packet[at]]
        _, content = distinct_spans(events.remainder, starts, sizes)
        # The same bytes of another sequence name other locations.
        pairs = np.stack((owners, content), 1)
        _, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        parts: list[bytes] = []
        for one in first.tolist():

            def location(iid: int, owner: int = int(owners[one])) -> bytes | None:
                return callstacks.message(owner, InternedField.SOURCE_LOCATIONS, iid)

            data = events.remainder[starts[one] : starts[one] + sizes[one]].tobytes()
            parts.append(with_locations(data, location))
        lengths = np.array([len(part) for part in parts], np.int64)
        ends = np.cumsum(lengths)
        spans[at] = np.stack((ends - lengths, lengths), 1)[which.reshape(-1)]
        read.located = np.frombuffer(b"".join(parts), np.uint8), spans

    def _forget_shown_names(self, read: ReadEvents) -> None:
        """Leave events of JSON without the name that importers show for them."""
        if not has_extension(self._trace):
            return
        shown = read.name == self._trace.strings.intern(mapping.NO_NAME)
        if shown.any():
            read.name = np.where(shown, np.int32(0), read.name)

    def _name_counters(
        self, read: ReadEvents, class_id: NDArray[np.int32], track: NDArray[np.int32]
    ) -> None:
        """Name counters after their tracks."""
        trace = self._trace
        counters = np.array(
            [event_class.kind is Kind.COUNTER for event_class in trace.event_classes], np.bool_
        )
        unnamed = counters[class_id] & (read.name == 0) & (track >= 0)
        if not unnamed.any():
            return
        if len(self._track_names) < len(trace.tracks):
            known = len(self._track_names)
            fresh = [trace.strings.intern(track.name) for track in trace.tracks[known:]]
            self._track_names = np.concatenate((self._track_names, np.array(fresh, np.int32)))
        read.name = np.where(unnamed, self._track_names[track], read.name)

    # Classes

    def _define(self, shape: _Shape, eager: tuple[FieldClass, ...]) -> int:
        kind = _kind(shape)
        id = len(self._trace.event_classes)
        leading: list[tuple[Field, Make]] = [(mapping.NAME, names), (mapping.CATEGORY, categories)]
        parts: list[tuple[Field, Make]] = []
        arguments: list[tuple[Field, Make]] = []
        if shape.phase and shape.phase != mapping.default_phase(kind):
            parts.append((timeline_fields.PHASE, self._text(shape.phase)))
        consumed = self._identify(shape, kind, leading, parts)
        types = iter(eager)
        for index, item in enumerate(shape.items):
            if index in consumed:
                continue
            if item.code == "L" and item.name in _TRANSLATED:
                parts += self._translated(LegacyField(item.name), item)
                continue
            if item.code in _EAGER:
                declared = self._field(item, next(types))
                column = eager_values(id, index, declared.type, self._trace.strings)
            else:
                declared = self._field(item, None)
                column = item_column(item, declared.type)
            if kind is Kind.COUNTER and item.code in "vV":
                leading.append((mapping.COUNTER_VALUES[item.code == "V"], column))
            else:
                (parts if declared.role is not Role.NONE else arguments).append((declared, column))
        parts.sort(key=lambda part: _PART_ORDER.get(part[0], len(_PART_ORDER)))
        fields = (*leading, *parts, *arguments)
        self._columns[id] = [column for _, column in fields]
        return self._trace.add_class(EventClass(kind, fields=tuple(one for one, _ in fields)))

    def _text(self, text: str) -> Make:
        """Return a text that is the same in all events."""
        return constant(np.int32(self._trace.strings.intern(text)))

    def _identify(
        self,
        shape: _Shape,
        kind: Kind,
        leading: list[tuple[Field, Make]],
        parts: list[tuple[Field, Make]],
    ) -> set[int]:
        """Add id and duration; return the items used for them."""
        legacy = {item.name: i for i, item in enumerate(shape.items) if item.code == "L"}
        consumed: set[int] = set()
        if kind is Kind.SLICE_COMPLETE:
            at = legacy.get(LegacyField.DURATION_US)
            column = constant(np.int64(0)) if at is None else microseconds(shape.items[at])
            leading.append((timeline_fields.DURATION, column))
            consumed |= set() if at is None else {at}
        for name, text, wanted in (
            (timeline_fields.BIND_NAME, _BIND_TEXT_SLOT, (LegacyField.BIND_ID,)),
            (None, _ID_TEXT_SLOT, tuple(mapping.ID_FIELDS.values())),
        ):
            number = next((one for one in wanted if one in legacy), None)
            is_leading = name is None and kind in mapping.ID_KINDS
            if number is None:
                if is_leading:
                    leading.append((mapping.ID, constant(np.uint64(0))))
                continue
            called = name or next(key for key, one in mapping.ID_FIELDS.items() if one == number)
            declared = (
                timeline_fields.text_id(called)
                if text in legacy
                else timeline_fields.number_id(called)
            )
            item = shape.items[legacy[text if text in legacy else number]]
            consumed |= {legacy[one] for one in (number, text) if one in legacy}
            (leading if is_leading else parts).append((declared, item_column(item, declared.type)))
        return consumed

    def _translated(self, number: LegacyField, item: Item) -> list[tuple[Field, Make]]:
        """Convert a field of LegacyEvent to those of other formats."""
        match number:
            case LegacyField.PHASE:
                letters = [self._trace.strings.intern(chr(code)) for code in range(128)]
                return [(timeline_fields.PHASE, looked_up(item, letters))]
            case LegacyField.THREAD_DURATION_US:
                return [(timeline_fields.THREAD_DURATION, microseconds(item))]
            case LegacyField.ID_SCOPE:
                return [(timeline_fields.ID_SCOPE, item_column(item, StringClass()))]
            case LegacyField.BIND_TO_ENCLOSING:
                return [(timeline_fields.BINDS, item_column(item, BooleanClass()))]
            case LegacyField.FLOW_DIRECTION:
                return [
                    (timeline_fields.FLOW_IN, bit(item, 1)),
                    (timeline_fields.FLOW_OUT, bit(item, 2)),
                ]
            case LegacyField.INSTANT_EVENT_SCOPE:
                letters = [self._trace.strings.intern(one) for one in "tgpt"]
                return [(timeline_fields.SCOPE, looked_up(item, letters))]
        raise AssertionError(number)

    def _field(self, item: Item, eager: FieldClass | None) -> Field:
        if item.code == "L":
            unknown = Field(f"legacy_{item.name}", IntegerClass(64), Role.CONTEXT)
            return _LEGACY_FIELDS.get(item.name, unknown)
        if item.code in _OTHERS:
            return _OTHERS[item.code]
        if item.code in "vV":
            return mapping.OTHER_VALUES[item.code == "V"]
        name = self._trace.strings[item.name].decode("utf-8", "surrogateescape")
        if item.code == "y":
            return Field(name, proto_class(self._trace.strings[item.type_name]))
        return Field(name, _ANNOTATIONS[item.code] if eager is None else eager)


_LEGACY_FIELDS = {int(number): declared for number, declared in mapping.LEGACY_PARTS.items()}
_LEGACY_FIELDS[_DURATION_SLOT] = timeline_fields.DURATION
_TRANSLATED = frozenset(
    {
        LegacyField.PHASE,
        LegacyField.THREAD_DURATION_US,
        LegacyField.ID_SCOPE,
        LegacyField.BIND_TO_ENCLOSING,
        LegacyField.FLOW_DIRECTION,
        LegacyField.INSTANT_EVENT_SCOPE,
    }
)
_PART_ORDER = {declared: number for number, declared in enumerate(mapping.MOMENT_PARTS)}


def _shape(signature: bytes) -> _Shape:
    items = []
    word = 0
    for code, name, type_name in _ITEM.iter_unpack(signature[2:]):
        items.append(Item(chr(code), name, type_name, word))
        word += _WORDS.get(chr(code), 1)
    return _Shape(signature[0], chr(signature[1]) if signature[1] else "", items)


def _kind(shape: _Shape) -> Kind:
    if shape.type:
        return mapping.TYPE_KINDS[TrackEventType(shape.type)]
    return mapping.PHASE_KINDS.get(shape.phase, Kind.INSTANT)
