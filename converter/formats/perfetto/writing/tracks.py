"""Timeline events as TrackEvents (track_event.proto): types, legacy phases, annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.perfetto import mapping
from converter.formats.perfetto.annotations import RAW_ANNOTATION
from converter.formats.perfetto.json_sidecar import has_extension
from converter.formats.perfetto.layout import ARGUMENTS, ARGUMENTS_ANNOTATIONS, LegacyField
from converter.formats.perfetto.protobuf.messages import varint
from converter.formats.perfetto.writing.annotations import Names, add_annotation
from converter.formats.perfetto.writing.callstacks import InternedStacks
from converter.formats.perfetto.writing.instructions import (
    BYTES,
    CATEGORIES,
    FIXED64,
    NAMES,
    VARINT,
    Getter,
    Steps,
    array_getter,
    as_array,
    as_offsets,
    elements,
    field_getter,
    tag_of,
    text_getter,
)
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.formats.perfetto.writing.row_positions import RowPositions
from converter.ir.columns import (
    Column,
    string_ids,
)
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import (
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection import timeline_fields
from converter.projection.identities import matched_number
from converter.projection.timeline_fields import CALLSTACK

#: Kinds of which importers of JSON show slices without a name under a name of their own.
_NAMED_IF_JSON: Final = frozenset(
    {Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE, Kind.INSTANT, Kind.ASYNC_BEGIN}
)
_ASYNCHRONOUS: Final = frozenset({Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END})
_TYPES: Final = {kind: int(number) for number, kind in mapping.TYPE_KINDS.items()}

# Fields of TrackEvent (track_event.proto).
_CATEGORY_IIDS, _ANNOTATIONS, _LEGACY, _TYPE, _NAME_IID = 3, 4, 6, 9, 10
_THREAD_TIME = 17
_TRACK_UUID, _VALUE, _DOUBLE_VALUE = 11, 30, 44
_FLOWS, _TERMINATING, _CORRELATION, _CORRELATION_NAME = 47, 48, 52, 53
_CALLSTACK_IID, _WEIGHT = 56, 57
#: Sorts after all others.
_REMAINDER = 1 << 29

# Tables of interned texts, as `emit` numbers them.

_LEGACY_NUMBERS: Final = {
    **{field: int(number) for number, field in mapping.LEGACY_PARTS.items()},
    timeline_fields.ID_SCOPE: int(LegacyField.ID_SCOPE),
    timeline_fields.BINDS: int(LegacyField.BIND_TO_ENCLOSING),
}
#: Ids by name: the field of the number, and that of the text that it represents.
_IDENTITIES: Final = {
    **{name: (number, LegacyField.ID_TEXT) for name, number in mapping.ID_FIELDS.items()},
    timeline_fields.BIND_NAME: (LegacyField.BIND_ID, LegacyField.BIND_TEXT),
}


def track_program(
    event_class: EventClass,
    trace: Trace,
    stacks: InternedStacks,
    positions: RowPositions,
    process_uuids: Callable[[NDArray[np.int32]], NDArray[np.uint64]],
) -> Steps:
    """Return the instructions of a class of track events.

    Raises:
        UnsupportedError: no track event can hold the class.

    """
    extended = has_extension(trace)
    # Names with dots of a Perfetto trace are shown without them there, too.
    names = Names(trace.strings, nested=extended or trace.format != "perfetto")
    builder = _Builder(event_class, names, stacks, extended=extended)
    is_scoped = event_class.kind is Kind.INSTANT and timeline_fields.SCOPE in event_class.fields
    if extended and (is_scoped or event_class.kind in _ASYNCHRONOUS):
        builder.put_beyond_threads(positions, process_uuids)
    return builder.steps()


class _Builder:
    """The fields of one class's TrackEvent, which are put in order of their numbers."""

    def __init__(
        self,
        event_class: EventClass,
        names: Names,
        stacks: InternedStacks,
        *,
        extended: bool,
    ) -> None:
        self._class = event_class
        self._names = names
        self._strings = names.strings
        self._stacks = stacks
        self._parts: list[tuple[int, Steps]] = []
        self._legacy: list[tuple[int, Steps]] = []
        # Annotations, and True if they are in the extension.
        self._annotations = Steps()
        self._extended = extended
        self._position = Steps()
        self._position.add(kernel.PLACE, tag_of(_TRACK_UUID, VARINT))

    def put_beyond_threads(
        self,
        positions: RowPositions,
        process_uuids: Callable[[NDArray[np.int32]], NDArray[np.uint64]],
    ) -> None:
        """Put asynchronous slices, and instants of a process or of all, on the track of their process.

        Importers put those of JSON there; on a thread's track they would also show the thread as an argument. For
        readers the thread is in fields that importers only use if an event has no track.
        """
        fields = self._class.fields
        scope = None
        if self._class.kind is Kind.INSTANT:
            scope = field_getter(fields.index(timeline_fields.SCOPE))
        of_thread = self._strings.intern("t")

        def beyond(table: Table) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = positions.thread >= 0
            if scope is not None:
                found &= string_ids(scope(table), self._strings) != of_thread
            return found

        on_process, on_thread, owner = Steps(), self._position, Steps()
        on_process.scalar(_TRACK_UUID, IntegerClass(64), lambda _: process_uuids(positions.thread))
        self._position = Steps()
        self._position.enclosing(
            kernel.OPTIONAL, on_process, lambda table: beyond(table).view(np.uint8)
        )
        self._position.enclosing(
            kernel.OPTIONAL, on_thread, lambda table: (~beyond(table)).view(np.uint8)
        )
        for column, number in enumerate((LegacyField.PID_OVERRIDE, LegacyField.TID_OVERRIDE)):
            owner.scalar(number, IntegerClass(32), _id_getter(positions, column))
        steps = Steps()
        steps.enclosing(kernel.OPTIONAL, owner, lambda table: beyond(table).view(np.uint8))
        self._legacy.append((int(LegacyField.PID_OVERRIDE), steps))

    def steps(self) -> Steps:
        kind = self._class.kind
        fields = self._class.fields
        for index, field in enumerate(fields):
            self._add(index, field)
        self._add_flow_direction()
        # Importers read the scope of an instant only if it has a phase.
        has_type = kind in _TYPES and not (kind is Kind.INSTANT and timeline_fields.SCOPE in fields)
        if timeline_fields.PHASE not in fields and has_type:
            self._literal(_TYPE, varint(tag_of(_TYPE, VARINT)) + varint(_TYPES[kind]))
        elif timeline_fields.PHASE not in fields:
            steps = Steps()
            phase = ord(mapping.default_phase(kind))
            steps.literal(varint(tag_of(LegacyField.PHASE, VARINT)) + varint(phase))
            self._legacy.append((int(LegacyField.PHASE), steps))
        if self._annotations.steps:
            steps = self._annotations
            if self._extended:
                steps = Steps()
                steps.message(ARGUMENTS, self._annotations)
            self._parts.append((ARGUMENTS if self._extended else _ANNOTATIONS, steps))
        if self._legacy:
            inner = Steps()
            for _, steps in sorted(self._legacy, key=lambda part: part[0]):
                inner.extend(steps)
            message = Steps()
            message.message(_LEGACY, inner)
            self._parts.append((_LEGACY, message))
        self._parts.append((_TRACK_UUID, self._position))
        result = Steps()
        for _, steps in sorted(self._parts, key=lambda part: part[0]):
            result.extend(steps)
        return result

    def _literal(self, number: int, data: bytes) -> None:
        steps = Steps()
        steps.literal(data)
        self._parts.append((number, steps))

    def _add(self, index: int, field: Field) -> None:
        """Add a field of the class to the right message."""
        getter = field_getter(index)
        kind = self._class.kind
        leading = mapping.leading_fields(kind)
        if index < len(leading) and field.role is leading[index].role is not Role.NONE:
            self._add_leading(index, field, getter)
        elif (
            kind is Kind.COUNTER and field in mapping.COUNTER_VALUES.values()
        ) or field in mapping.OTHER_VALUES.values():
            self._add_value(field, getter)
        elif field.role is Role.ID and field.name in _IDENTITIES:
            self._add_identity(field, getter)
        elif field in _LEGACY_NUMBERS:
            number = _LEGACY_NUMBERS[field]
            if self._extended and field == timeline_fields.ID_SCOPE:
                # Importers of JSON match by the category, whatever the scope is.
                number = int(LegacyField.UNUSED_SCOPE)
            self._add_legacy(number, field.type, getter)
        elif not (self._add_legacy_part(field, getter) or self._add_event_part(field, getter)):
            self._add_argument(field, getter)

    def _add_legacy_part(self, field: Field, getter: Getter) -> bool:
        """Add an optional field of LegacyEvent; return False if it is not one."""
        if field in (timeline_fields.FLOW_IN, timeline_fields.FLOW_OUT):
            pass  # `_add_flow_direction` adds both.
        elif field == timeline_fields.PHASE:
            self._add_number(LegacyField.PHASE, lambda table: self._letters(getter(table), ord))
        elif field == timeline_fields.SCOPE:
            self._add_number(
                LegacyField.INSTANT_EVENT_SCOPE,
                lambda table: self._letters(getter(table), mapping.INSTANT_SCOPES.__getitem__),
            )
        elif field == timeline_fields.DURATION:
            self._add_legacy(LegacyField.DURATION, field.type, getter)
        elif field == timeline_fields.THREAD_DURATION:
            self._add_number(
                LegacyField.THREAD_DURATION_US, lambda table: _microseconds(getter(table))
            )
        elif field == timeline_fields.MEMBERS:
            steps = Steps()
            tag = tag_of(LegacyField.MEMBERS, BYTES)
            steps.add(kernel.TEXT, tag, text_getter(getter))
            self._legacy.append((int(LegacyField.MEMBERS), steps))
        else:
            return False
        return True

    def _add_event_part(self, field: Field, getter: Getter) -> bool:
        """Add an optional field of TrackEvent; return False if it is not one."""
        steps = Steps()
        if field == timeline_fields.THREAD_TIME:
            tag = tag_of(_THREAD_TIME, VARINT)
            steps.add(kernel.I64, tag, lambda table: _microseconds(getter(table)))
            self._parts.append((_THREAD_TIME, steps))
        elif field in (timeline_fields.FLOW_IDS, timeline_fields.TERMINATING_FLOW_IDS):
            number = _FLOWS if field == timeline_fields.FLOW_IDS else _TERMINATING
            inner = Steps()
            inner.add(kernel.FIXED64, tag_of(number, FIXED64), _unsigned(elements(getter)))
            steps.enclosing(kernel.EACH, inner, lambda table: as_offsets(getter(table)))
            self._parts.append((number, steps))
        elif field == timeline_fields.CORRELATION_ID:
            steps.scalar(_CORRELATION, field.type, getter)
            self._parts.append((_CORRELATION, steps))
        elif field == mapping.CORRELATION_NAME:
            tag = tag_of(_CORRELATION_NAME, BYTES)
            steps.add(kernel.TEXT, tag, text_getter(getter))
            self._parts.append((_CORRELATION_NAME, steps))
        elif field == CALLSTACK:
            iids = self._stacks.iids
            steps.scalar(_CALLSTACK_IID, IntegerClass(64), lambda table: iids(getter(table)))
            self._parts.append((_CALLSTACK_IID, steps))
        elif field == mapping.CALLSTACK_WEIGHT:
            steps.scalar(_WEIGHT, field.type, getter)
            self._parts.append((_WEIGHT, steps))
        elif field == mapping.REMAINDER:
            steps.add(kernel.RAW, column=text_getter(getter))
            self._parts.append((_REMAINDER, steps))
        else:
            return False
        return True

    def _add_argument(self, field: Field, getter: Getter) -> None:
        number = ARGUMENTS_ANNOTATIONS if self._extended else _ANNOTATIONS
        if field.type == RAW_ANNOTATION:
            inner = Steps()
            inner.add(kernel.RAW, column=text_getter(getter))
            self._annotations.message(number, inner)
        else:
            add_annotation(self._annotations, number, field.name, field.type, getter, self._names)

    def _add_leading(self, index: int, field: Field, getter: Getter) -> None:
        steps = Steps()
        match field.role:
            case Role.NAME | Role.CATEGORY:
                name = field.role is Role.NAME
                number = _NAME_IID if name else _CATEGORY_IIDS
                strings = self._strings
                column = self._shown_names if name else lambda _, ids: ids
                steps.add(
                    kernel.INTERNED,
                    tag_of(number, VARINT),
                    lambda table: column(table, string_ids(getter(table), strings)),
                    table=NAMES if name else CATEGORIES,
                )
                self._parts.append((number, steps))
            case Role.ID:
                self._add_identity(field, getter)
            case Role.DURATION:
                self._add_number(
                    LegacyField.DURATION_US, lambda table: _microseconds(getter(table))
                )

    def _shown_names(self, table: Table, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return names as the importer of JSON shows them, which has one for slices without any."""
        if not self._extended or self._class.kind not in _NAMED_IF_JSON or bool(ids.all()):
            return ids
        nameless = ids == 0
        fields = self._class.fields
        if self._class.kind is Kind.INSTANT and timeline_fields.SCOPE in fields:
            scope = table.column(fields.index(timeline_fields.SCOPE))
            nameless &= string_ids(scope, self._strings) == self._strings.intern("t")
        name = np.int32(self._strings.intern(mapping.NO_NAME))
        return np.where(nameless, name, ids).astype(np.int32, copy=False)

    def _add_identity(self, field: Field, getter: Getter) -> None:
        """Add an id; one that is text is added as the number that represents it, and also unchanged."""
        number, text = _IDENTITIES[field.name]
        if not isinstance(field.type, StringClass):
            self._add_legacy(number, IntegerClass(64), getter)
            return
        # `bind_id` is one of a flow, whatever the event is.
        kind = Kind.FLOW_STEP if field.name == timeline_fields.BIND_NAME else self._class.kind
        self._add_number(number, lambda table: self._id_numbers(getter(table), kind))
        self._add_legacy(text, field.type, getter)

    def _id_numbers(self, column: Column, kind: Kind) -> Any:
        ids, which = np.unique(string_ids(column, self._strings), return_inverse=True)
        numbers = [matched_number(self._strings[id], kind) for id in ids.tolist()]
        return np.array(numbers, np.uint64)[which]

    def _letters(self, column: Column, code: Callable[[str], int]) -> Any:
        """Return the codes of one-letter texts."""
        ids, which = np.unique(string_ids(column, self._strings), return_inverse=True)
        codes = [code(self._strings[id].decode()) for id in ids.tolist()]
        return np.array(codes, np.uint64)[which]

    def _add_number(self, number: int, column: Callable[[Table], Any]) -> None:
        """Add a field of LegacyEvent whose column is derived from another."""
        steps = Steps()
        steps.add(kernel.U64, tag_of(number, VARINT), lambda table: column(table).view(np.uint64))
        self._legacy.append((int(number), steps))

    def _add_flow_direction(self) -> None:
        fields = self._class.fields
        if timeline_fields.FLOW_IN not in fields:
            return
        incoming, outgoing = (
            fields.index(timeline_fields.FLOW_IN),
            fields.index(timeline_fields.FLOW_OUT),
        )

        def direction(table: Table) -> Any:
            into, out_of = (
                as_array(table.column(incoming), np.dtype(np.uint64)),
                table.column(outgoing),
            )
            return into | as_array(out_of, np.dtype(np.uint64)) << np.uint64(1)

        self._add_number(LegacyField.FLOW_DIRECTION, direction)

    def _add_value(self, field: Field, getter: Getter) -> None:
        steps = Steps()
        number = _DOUBLE_VALUE if isinstance(field.type, FloatClass) else _VALUE
        steps.scalar(number, field.type, getter)
        self._parts.append((number, steps))

    def _add_legacy(self, number: int, field_class: FieldClass, getter: Getter) -> None:
        steps = Steps()
        if isinstance(field_class, StringClass):
            steps.add(kernel.TEXT, tag_of(number, BYTES), text_getter(getter))
        else:
            steps.scalar(number, field_class, getter)
        self._legacy.append((number, steps))


def _id_getter(positions: RowPositions, column: int) -> Getter:
    return lambda _: positions.ids(column)


def _unsigned(getter: Getter) -> Any:
    return array_getter(getter, np.dtype(np.uint64))


def _microseconds(column: Column) -> Any:
    assert isinstance(column, np.ndarray)
    whole, rest = np.divmod(column.astype(np.int64, copy=False), 1000)
    if rest.any():
        raise UnsupportedError(
            "durations and thread times must be whole microseconds", format="perfetto"
        )
    return whole
