"""Classes of kernel events: from the package's declarations, the trace's own, or the shapes of events themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.layout import FtraceField
from converter.formats.perfetto.protobuf.descriptors import (
    ProgramField,
    described_event,
    typed_event,
)
from converter.formats.perfetto.protobuf.event_schemas import (
    COMMON_FLAGS,
    EVENTS_ATTRIBUTE,
    SHAPE,
    Declarations,
    PlacedField,
    has_required_roles,
)
from converter.formats.perfetto.reading.assembly import EventsOfClass
from converter.formats.perfetto.reading.columns import MessageColumns, string_column
from converter.formats.perfetto.reading.kernel_messages import KernelEvents, has_length, has_lengths
from converter.formats.perfetto.reading.kernels import scan_ftrace as kernel
from converter.formats.perfetto.reading.kernels.scan_generic import (
    generic_signatures,
    generic_values,
)
from converter.formats.perfetto.reading.packets import Damage
from converter.ir.columns import Column
from converter.ir.distinct_values import values_of
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import BytesClass, IntegerClass, StringClass
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.kernels.protobuf.decode import (
    VARINT,
    lacking,
)
from converter.kernels.tables.strings import StringTable

#: Types of the fields of GenericFtraceEvent, as `scan_generic.generic_signatures` names them.
_GENERIC_TYPES: Final[dict[int, IntegerClass | StringClass]] = {
    ord("s"): StringClass(),
    ord("i"): IntegerClass(64, signed=True),
    ord("u"): IntegerClass(64),
    ord("-"): IntegerClass(64),
}


#: Fields with higher numbers are assumed to be present. No event of the package has one.
_MASK_BITS: Final = 64
#: The maximum number of classes of an event with different missing fields.
_MAX_PARTIAL: Final = 64


#: Returns the columns of a class from the events of a window and those of the class among them.
_Columns = Callable[[KernelEvents, EventsOfClass], list[Callable[[], Column]]]


class KernelClasses:
    """The classes of a trace's kernel events, and the events that the trace describes. One object for all passes."""

    def __init__(
        self, trace: Trace, damage: Damage, count_unruled: Callable[[str, int, int], None]
    ) -> None:
        """Start without classes; `count_unruled` is called for fields of events that no message declares."""
        self._trace = trace
        self._damage = damage
        self._count_unruled = count_unruled
        self._described: dict[int, tuple[str, str, tuple[ProgramField, ...]]] = {}
        self._declared: Declarations = {}
        #: By key: the classes of events by their missing fields, as bits by field number.
        self._partial: dict[int, dict[int, int]] = {}
        self._columns: dict[int, _Columns] = {}
        self._shapes = StringTable()
        self._class_of_shape: dict[int, int] = {}
        self._class_of_declared: dict[tuple[int, int], int] = {}

    @cached_property
    def _class_of_key(self) -> NDArray[np.int32]:
        # Large, and not needed for a trace without kernel events.
        return np.full(kernel.KEYS, -1, np.int32)

    @cached_property
    def _optional(self) -> NDArray[np.uint64]:
        """The fields that an event may lack, by key, as bits by field number."""
        return np.zeros(kernel.KEYS, np.uint64)

    def _note_undeclared(self, event: str, counts: NDArray[np.int64]) -> None:
        for number in np.flatnonzero(counts).tolist():
            self._count_unruled(event, number, int(counts[number]))

    def describe(self, number: int, system: str, descriptor: bytes) -> bool:
        """Add a generic event's descriptor; the first one of a field number counts. Return False if it is damaged."""
        if number in self._described:
            return True
        event = described_event(descriptor)
        if event is not None:
            name, fields = event
            # A provider before the event's name is there for importers, which do not show the system.
            self._described[number] = (system, name.removeprefix(f"{system}:"), fields)
        return event is not None

    def declare(self, declarations: Declarations) -> None:
        """Add the trace's declarations of events other than descriptors; those that do not fit an event are skipped."""
        for number, shapes in declarations.items():
            declared = self._event(number)
            if declared is None:
                continue
            kind = tracepoints.kind_of(*declared[:2])
            kept = {
                shape: placed
                for shape, placed in shapes.items()
                if has_required_roles(kind, placed)
            }
            if len(kept) < len(shapes):
                self._damage.warn(f"the attribute {EVENTS_ATTRIBUTE} is damaged")
            if kept:
                self._declared[number] = kept

    def columns(
        self, class_id: int, events: KernelEvents, chosen: EventsOfClass
    ) -> list[Callable[[], Column]]:
        """Return the columns of a class of `assign` from its events."""
        return self._columns[class_id](events, chosen)

    def assign(self, events: KernelEvents) -> NDArray[np.int32]:
        """Return the class of each event."""
        key = events.key
        class_id = looked_up(self._class_of_key, key)
        if int(class_id.min(initial=0)) < 0:
            present = np.flatnonzero(np.bincount(key[class_id < 0])).tolist()
            varying = [item for item in present if self._is_varying(item)]
            for item in present:
                if item not in varying:
                    self._class_of_key[item] = self._class_of(item)
            class_id = looked_up(self._class_of_key, key)
            for item in varying:
                positions = np.flatnonzero(key == item)
                if item == FtraceField.GENERIC:
                    self._assign_generic(events, positions, class_id)
                else:
                    self._assign_declared(events, item, positions, class_id)
        self._assign_partial(events, class_id)
        return class_id

    def _is_varying(self, key: int) -> bool:
        """Return True if the classes of a key's events depend on their contents."""
        shapes = self._declared.get(key)
        if key == FtraceField.GENERIC or shapes is None:
            return key == FtraceField.GENERIC
        return len(shapes) > 1 or 0 not in shapes or any(map(has_length, shapes[0]))

    def _class_of(self, key: int) -> int:
        """Return the class of all events of a key."""
        shapes = self._declared.get(key)
        return self._define(key) if shapes is None else self._declared_class(key, 0, shapes[0])

    def _define(self, key: int) -> int:
        """Add the class of a key of `fill_bundles`."""
        if key == kernel.KEY_LOST:
            return self._add(mapping.LOST_EVENTS, lambda _events, _chosen: [])
        if key == kernel.KEY_LOST_COUNTED:
            return self._add(
                mapping.COUNTED_LOST_EVENTS,
                lambda events, chosen: [lambda: chosen.select(events.start)],
            )
        if key == kernel.KEY_COMPACT_SWITCH:
            return self._define_compact("sched_switch")
        if key == kernel.KEY_COMPACT_WAKING:
            return self._define_compact("sched_waking")
        declared = self._event(key)
        if declared is None:
            return self._define_unknown(key)
        if key not in self._declared:
            self._optional[key] = _optional_fields(*declared)
        return self._define_event(key, *declared)

    def _define_event(
        self, key: int, system: str, name: str, program: tuple[ProgramField, ...]
    ) -> int:
        """Add the class of an event with these fields."""
        strings = self._trace.strings
        note = partial(self._note_undeclared, f"{system}:{name}" if system else name)

        def columns(events: KernelEvents, chosen: EventsOfClass) -> list[Callable[[], Column]]:
            starts, sizes = events.messages_of(chosen)
            messages = MessageColumns(events.data, starts, sizes, program, strings, note)
            return [events.flags_of(chosen), *messages.thunks()]

        native = tracepoints.native_of(system, name, key)
        return self._add(tracepoints.tracepoint_class(system, name, program, native), columns)

    def _event(self, number: int) -> tuple[str, str, tuple[ProgramField, ...]] | None:
        """Return system, name and fields of an event, None if neither the package nor the trace declares it."""
        if number >= FtraceField.FIRST_DESCRIBED:
            return self._described.get(number)
        event, tracepoint = typed_event(number), tracepoints.tracepoint_of(number)
        if event is None or tracepoint is None:
            return None
        return (*tracepoint, event.fields)

    def _assign_partial(self, events: KernelEvents, class_id: NDArray[np.int32]) -> None:
        """Assign classes without the missing fields to events that lack some of their fields."""
        positions, which, keys, masks = lacking(
            events.data, events.start, events.size, events.key, self._optional
        )
        if not len(positions):
            return
        pairs = list(zip(keys.tolist(), masks.tolist(), strict=True))
        ids = {pair: self._partial_class(*pair) for pair in sorted(set(pairs))}
        class_id[positions] = np.array([ids[pair] for pair in pairs], np.int32)[which]

    def _partial_class(self, key: int, mask: int) -> int:
        """Return the class of the events of a number that lack these fields."""
        known = self._partial.setdefault(key, {})
        if mask in known:
            return known[mask]
        declared = self._event(key)
        assert declared is not None
        system, name, program = declared
        if len(known) == _MAX_PARTIAL:
            self._damage.warn(
                f"what events lack is zero in more than {_MAX_PARTIAL} combinations",
                is_damage=False,
            )
            return int(self._class_of_key[key])
        kept = tuple(item for item in program if not _has_bit(item.number, mask))
        known[mask] = self._define_event(key, system, name, kept)
        return known[mask]

    def _assign_declared(
        self,
        events: KernelEvents,
        key: int,
        positions: NDArray[np.intp],
        class_id: NDArray[np.int32],
    ) -> None:
        """Assign a class per declaration to the events of a number; events that contradict theirs are kept as bytes."""
        shapes = self._declared[key]
        starts, sizes = events.start[positions], events.size[positions]
        which = np.zeros(len(positions), np.int64)
        if len(shapes) > 1 or 0 not in shapes:
            shape = (ProgramField(SHAPE, "shape", IntegerClass(64, signed=True), VARINT),)
            which = MessageColumns(events.data, starts, sizes, shape, self._trace.strings).raw(0)
        for shape in values_of(which).tolist():
            chosen = which == shape
            placed = shapes.get(shape)
            if placed is not None:
                of_shape = np.flatnonzero(chosen)
                fitting = has_lengths(events.data, starts[of_shape], sizes[of_shape], placed)
                if not fitting.all():
                    self._damage.warn("arrays of kernel events are not of their declared lengths")
                    class_id[positions[of_shape[~fitting]]] = self._declared_class(key, -1, None)
                    chosen[of_shape[~fitting]] = False
            if chosen.any():
                class_id[positions[chosen]] = self._declared_class(key, shape, placed)

    def _declared_class(self, key: int, shape: int, placed: tuple[PlacedField, ...] | None) -> int:
        id = self._class_of_declared.get((key, shape))
        if id is None:
            if placed is not None:
                id = self._define_declared(key, placed)
            else:
                id = self._define_unknown(key) if shape else self._define(key)
            self._class_of_declared[key, shape] = id
        return id

    def _define_declared(self, key: int, placed: tuple[PlacedField, ...]) -> int:
        declared = self._event(key)
        assert declared is not None
        system, name, _ = declared
        strings = self._trace.strings
        program = tuple(item.program_field for item in placed if item.number != COMMON_FLAGS)

        def columns(events: KernelEvents, chosen: EventsOfClass) -> list[Callable[[], Column]]:
            starts, sizes = events.messages_of(chosen)
            inside = iter(MessageColumns(events.data, starts, sizes, program, strings).thunks())

            def column(item: PlacedField) -> Callable[[], Column]:
                if item.number != COMMON_FLAGS:
                    return next(inside)
                assert isinstance(item.field.type, IntegerClass)
                dtype = item.field.type.dtype
                flags = events.flags_of(chosen)
                return lambda: flags().astype(dtype)

            return [column(item) for item in placed]

        fields = tuple(item.field for item in placed)
        kind, native = tracepoints.kind_of(system, name), tracepoints.native_of(system, name, key)
        return self._add(EventClass(kind, name, system, fields, native=native), columns)

    def _define_compact(self, name: str) -> int:
        """Add the typed event's class, with the fields that compact_sched has."""
        event_class = tracepoints.compact_class(name)
        table_columns = tracepoints.COMPACT_EVENTS[name]
        switch = name == "sched_switch"

        def columns(events: KernelEvents, chosen: EventsOfClass) -> list[Callable[[], Column]]:
            table = events.switches if switch else events.wakings
            rows = chosen.select(events.start)

            def column(item: Field) -> Callable[[], Column]:
                kind = item.type
                dtype = kind.dtype if isinstance(kind, IntegerClass) else np.dtype(np.int32)
                return lambda: table[rows, table_columns[item.name]].astype(dtype)

            return [events.flags_of(chosen), *map(column, event_class.fields[1:])]

        return self._add(event_class, columns)

    def _define_unknown(self, key: int) -> int:
        """Add the class of an undeclared event: its message as bytes (all of the FtraceEvent for KEY_UNKNOWN)."""
        name = "" if key == kernel.KEY_UNKNOWN else str(key)
        program = (ProgramField(0, "message", BytesClass(), 0),)

        def columns(events: KernelEvents, chosen: EventsOfClass) -> list[Callable[[], Column]]:
            starts, sizes = events.messages_of(chosen)
            messages = MessageColumns(events.data, starts, sizes, program, self._trace.strings)
            return [events.flags_of(chosen), messages.whole]

        return self._add(
            tracepoints.tracepoint_class(tracepoints.UNKNOWN_SYSTEM, name, program), columns
        )

    def _assign_generic(
        self, events: KernelEvents, positions: NDArray[np.intp], class_id: NDArray[np.int32]
    ) -> None:
        """Assign a class per shape to events in the self-contained encoding."""
        shapes = np.zeros(len(positions), np.int32)
        generic_signatures(
            events.data, events.start[positions], events.size[positions], self._shapes, shapes
        )
        ids = np.zeros(len(self._shapes), np.int32)
        for shape in values_of(shapes).tolist():
            if shape not in self._class_of_shape:
                self._class_of_shape[shape] = self._define_generic(self._shapes[shape])
            ids[shape] = self._class_of_shape[shape]
        class_id[positions] = ids[shapes]

    def _define_generic(self, shape: bytes) -> int:
        if not shape:
            return self._define_unknown(FtraceField.GENERIC)
        name, *parts = shape.split(b"\0")[:-1]
        types = [_GENERIC_TYPES[part[0]] for part in parts]
        program = tuple(
            ProgramField(0, part[1:].decode("utf-8", "surrogateescape"), kind, VARINT)
            for part, kind in zip(parts, types, strict=True)
        )
        event_class = tracepoints.tracepoint_class(
            "", name.decode("utf-8", "surrogateescape"), program, tracepoints.GENERIC_EVENT
        )

        def columns(events: KernelEvents, chosen: EventsOfClass) -> list[Callable[[], Column]]:
            starts, sizes = events.messages_of(chosen)
            result = [
                _generic_column(events.data, starts, sizes, i, kind, self._trace.strings)
                for i, kind in enumerate(types)
            ]
            return [events.flags_of(chosen), *result]

        return self._add(event_class, columns)

    def _add(self, event_class: EventClass, columns: _Columns) -> int:
        id = self._trace.add_class(event_class)
        self._columns[id] = columns
        return id


def _optional_fields(system: str, name: str, program: tuple[ProgramField, ...]) -> int:
    """Return fields whose absence requires another class, as bits: all but lists and those the kind always has."""
    fields = tracepoints.tracepoint_class(system, name, program).fields[1:]
    required = tracepoints.always_there(system, name)
    optional = 0
    for item, field in zip(program, fields, strict=True):
        if item.number < _MASK_BITS and not item.repeated and field.role not in required:
            optional |= 1 << item.number
    return optional


def _has_bit(number: int, mask: int) -> bool:
    return number < _MASK_BITS and bool(mask >> number & 1)


def _generic_column(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    index: int,
    kind: IntegerClass | StringClass,
    strings: StringTable,
) -> Callable[[], Column]:
    def column() -> Column:
        values = np.empty((len(starts), 2), np.int64)
        generic_values(data, starts, sizes, index, values)
        if isinstance(kind, StringClass):
            return string_column(data, values, strings)
        return values[:, 0].astype(kind.dtype)

    return column
