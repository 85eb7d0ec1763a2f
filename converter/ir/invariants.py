"""The invariants of every trace, as functions that report where they are violated.

Each takes a batch and the trace in its state when the batch was yielded, and yields a line for each violation. Those of
`TABLE_INVARIANTS` check only the trace's tables, but with each batch again, since tables grow. Each skips what it
cannot check because another invariant is violated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    take,
)
from converter.ir.display.text import is_text
from converter.ir.events import Batch, EventClass
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
    parts_of,
)
from converter.ir.kinds import REQUIRED_ROLES
from converter.ir.trace import Trace, TrackScope, known_epoch

Invariant = Callable[[Trace, Batch], Iterator[str]]

_NO_IDS = np.zeros(0, np.int32)


def check(trace: Trace) -> None:
    """Check the whole trace.

    Raises:
        ValueError: an invariant does not hold; the message has a line for each violation of the first bad batch.
        TraceError: as `Trace.batches` does.
    """
    # An empty last batch, so that the tables are checked when they are complete.
    none = Batch(ts=np.zeros(0, np.int64), class_id=_NO_IDS, row=_NO_IDS, tables={})
    for number, batch in enumerate(chain(trace.batches(), [none])):
        found = list(violations(trace, batch))
        if found:
            raise ValueError("\n".join(f"batch {number}: {line}" for line in found))


def class_faults(event_class: EventClass) -> Iterator[str]:
    """Return the faults of a class by itself: a class that a file declares may be anything."""
    yield from _text_faults(event_class)
    yield from _missing_roles(event_class)
    yield from _field_faults(event_class)


def violations(trace: Trace, batch: Batch) -> Iterator[str]:
    """Return the violations of all invariants, each as ``name of the invariant: location and fault``."""
    for invariant in (*TABLE_INVARIANTS, *BATCH_INVARIANTS):
        for line in invariant(trace, batch):
            yield f"{invariant.__name__}: {line}"


def thread_processes(trace: Trace, _: Batch) -> Iterator[str]:
    """Every thread belongs to a process that exists."""
    for i, thread in enumerate(trace.threads):
        if not 0 <= thread.process < len(trace.processes):
            yield f"thread {i} is of process {thread.process} of {len(trace.processes)}"


def track_parents(trace: Trace, _: Batch) -> Iterator[str]:
    """A track comes after its parent, so that there are no cycles."""
    for i, track in enumerate(trace.tracks):
        if not -1 <= track.parent < i:
            yield f"track {i} is below track {track.parent}"


def track_owners(trace: Trace, _: Batch) -> Iterator[str]:
    """The owner of a track exists; a global track has none."""
    limits = {
        TrackScope.GLOBAL: 0,
        TrackScope.PROCESS: len(trace.processes),
        TrackScope.THREAD: len(trace.threads),
        TrackScope.CPU: 1 << 31,
    }
    for i, track in enumerate(trace.tracks):
        lowest = -1 if track.scope is TrackScope.GLOBAL else 0
        if not lowest <= track.owner < limits[track.scope]:
            yield f"track {i} belongs to {track.scope.name} {track.owner}"


def clock_rates(trace: Trace, _: Batch) -> Iterator[str]:
    """Clocks run forward, and their epoch fits 64 bits of nanoseconds."""
    for clock in (trace.clock, *trace.clock_domains):
        if clock.epoch_ns is not None and known_epoch(clock.epoch_ns) is None:
            yield f"clock {clock.name!r} counts from {clock.epoch_ns} ns"
        if clock.ticks_per_second is not None and clock.ticks_per_second <= 0:
            yield f"clock {clock.name!r} has {clock.ticks_per_second} ticks per second"


def texts(trace: Trace, _: Batch) -> Iterator[str]:
    """Names in tables are valid text: each lone surrogate represents a byte that is not UTF-8."""
    named: dict[str, Iterable[object]] = {
        "clock": _texts_of_clocks(trace),
        "environment": (
            one for item in trace.environment.items() for one in item if type(one) is not int
        ),
        "process": (
            one for process in trace.processes for one in (process.name, *process.command_line)
        ),
        "thread": (thread.name for thread in trace.threads),
        "track": (one for track in trace.tracks for one in (track.name, track.unit)),
    }
    for what, found in named.items():
        for one in found:
            if not is_text(one):
                yield f"{what}: {one!r} is no text"


def _texts_of_clocks(trace: Trace) -> Iterator[object]:
    for clock in (trace.clock, *trace.clock_domains):
        yield from (clock.name, clock.description)


def class_texts(trace: Trace, _: Batch) -> Iterator[str]:
    """Names in classes are valid text, too."""
    for i, event_class in enumerate(trace.event_classes):
        for line in _text_faults(event_class):
            yield f"class {i}, {line}"


def required_roles(trace: Trace, _: Batch) -> Iterator[str]:
    """A class has the roles that its kind needs (`kinds.REQUIRED_ROLES`)."""
    for i, event_class in enumerate(trace.event_classes):
        for line in _missing_roles(event_class):
            yield f"class {i}, {line}"


def field_classes(trace: Trace, _: Batch) -> Iterator[str]:
    """Field classes are well-formed: widths, lengths, labels, distinct names of options.

    An optional holds neither an optional nor a null, since as a value both would look absent.
    """
    for i, event_class in enumerate(trace.event_classes):
        for line in _field_faults(event_class):
            yield f"class {i}, {line}"


def common_columns(_: Trace, batch: Batch) -> Iterator[str]:
    """The columns that all events share have the same length and the right types."""
    for name in ("ts", "class_id", "row", "thread", "cpu", "track"):
        column = getattr(batch, name)
        wanted = np.int64 if name == "ts" else np.int32
        if column.dtype != wanted:
            yield f"{name} is of {column.dtype}"
        if column.shape != (len(batch),):
            yield f"{name} has shape {column.shape} in a batch of {len(batch)}"


def class_ids(trace: Trace, batch: Batch) -> Iterator[str]:
    """Every event has a class that exists and has a table, and every table has a class that exists."""
    for number in batch.tables:
        if not 0 <= number < len(trace.event_classes):
            yield f"a table is of class {number} of {len(trace.event_classes)}"
    for number in np.unique(batch.class_id).tolist():
        if number not in batch.tables:
            yield f"events are of class {number}, which has no table"


def table_rows(_: Trace, batch: Batch) -> Iterator[str]:
    """The events of a class are the rows of its table, each once."""
    for number, table in batch.tables.items():
        rows = batch.row[: len(batch.class_id)][batch.class_id[: len(batch.row)] == number]
        if not np.array_equal(np.sort(rows), np.arange(len(table))):
            yield f"{len(rows)} events of class {number} are not the {len(table)} rows of its table"


def table_fields(trace: Trace, batch: Batch) -> Iterator[str]:
    """A table has a column for each field of its class."""
    for number, table in batch.tables.items():
        if 0 <= number < len(trace.event_classes):
            fields = trace.event_classes[number].fields
            if table.width != len(fields):
                yield f"class {number} has {len(fields)} fields, its table {table.width} columns"


def thread_ids(trace: Trace, batch: Batch) -> Iterator[str]:
    """Every event is on a thread that exists, or on none (-1)."""
    yield from _outside("thread", batch.thread, -1, len(trace.threads))


def track_ids(trace: Trace, batch: Batch) -> Iterator[str]:
    """Every event is on a track that exists, or on none (-1)."""
    yield from _outside("track", batch.track, -1, len(trace.tracks))


def cpu_numbers(_: Trace, batch: Batch) -> Iterator[str]:
    """Every event is on a CPU, or on none (-1)."""
    yield from _outside("cpu", batch.cpu, -1, 1 << 31)


def column_types(trace: Trace, batch: Batch) -> Iterator[str]:
    """A column has the Python and NumPy type that its field class requires."""
    for node in _nodes(trace, batch):
        if not _has_stored_type(node.column, node.type):
            shown = getattr(node.column, "dtype", type(node.column).__name__)
            yield f"{node.path}: {type(node.type).__name__} in a column of {shown}"


def column_lengths(trace: Trace, batch: Batch) -> Iterator[str]:
    """A column has as many values as what contains it."""
    for node in _nodes(trace, batch):
        if node.length is not None and len(node.column) != node.length:
            yield f"{node.path}: {len(node.column)} values for {node.length}"


def list_offsets(trace: Trace, batch: Batch) -> Iterator[str]:
    """Offsets of lists are int64, start and end within the values, and never decrease."""
    for node in _nodes(trace, batch):
        if isinstance(node.column, ListColumn):
            offsets = node.column.offsets
            if offsets.dtype != np.int64 or offsets.ndim != 1 or not len(offsets):
                yield f"{node.path}: offsets of shape {offsets.shape}, {offsets.dtype}"
            elif offsets[0] < 0 or np.any(np.diff(offsets) < 0):
                yield f"{node.path}: offsets fall"
            elif offsets[-1] > len(node.column.values):
                yield f"{node.path}: offsets end at {offsets[-1]} of {len(node.column.values)}"


def array_lengths(trace: Trace, batch: Batch) -> Iterator[str]:
    """Arrays have as many elements as their class declares."""
    for node in _nodes(trace, batch):
        if isinstance(node.type, ArrayClass) and isinstance(node.column, ListColumn):
            lengths = np.diff(node.column.offsets)
            if node.type.length is not None and np.any(lengths != node.type.length):
                yield f"{node.path}: {lengths.tolist()} elements, not {node.type.length} each"


def structure_members(trace: Trace, batch: Batch) -> Iterator[str]:
    """Structures and unions have a column for each member and option."""
    for node in _nodes(trace, batch):
        match node.type, node.column:
            case (StructureClass(members), StructColumn(_, columns)):
                wanted, found = len(members), len(columns)
            case (VariantClass(options), UnionColumn(_, _, columns)):
                wanted, found = len(options), len(columns)
            case _:
                continue
        if wanted != found:
            yield f"{node.path}: {found} columns for {wanted}"


def union_tags(trace: Trace, batch: Batch) -> Iterator[str]:
    """A union's tags (int16) are those of its options, and its rows (int32) are in these."""
    for node in _nodes(trace, batch):
        if isinstance(node.column, UnionColumn):
            tags, rows, columns = node.column.tags, node.column.rows, node.column.options
            if tags.dtype != np.int16 or rows.dtype != np.int32 or tags.shape != rows.shape:
                yield f"{node.path}: tags {tags.dtype}{tags.shape}, rows {rows.dtype}{rows.shape}"
                continue
            yield from _outside(f"{node.path}: tag", tags, 0, len(columns))
            for tag, column in enumerate(columns):
                yield from _outside(f"{node.path}: row", rows[tags == tag], 0, len(column))


def validity(trace: Trace, batch: Batch) -> Iterator[str]:
    """An optional's validity is bool."""
    for node in _nodes(trace, batch):
        if isinstance(node.column, OptionalColumn) and node.column.valid.dtype != np.bool_:
            yield f"{node.path}: validity of {node.column.valid.dtype}"


def string_ids(trace: Trace, batch: Batch) -> Iterator[str]:
    """Every string id exists in the trace."""
    for node in _nodes(trace, batch):
        if isinstance(node.type, StringClass) and isinstance(node.column, np.ndarray):
            yield from _outside(f"{node.path}: string", node.column, 0, len(trace.strings))


def integer_ranges(trace: Trace, batch: Batch) -> Iterator[str]:
    """Integers are in the range of their declared bits."""
    for node in _nodes(trace, batch):
        if isinstance(node.type, IntegerClass) and isinstance(node.column, np.ndarray):
            held, column = node.type, node.column
            if held.bits != column.dtype.itemsize * 8 and column.dtype.kind in "iu":
                yield from _outside(f"{node.path}: value", column, held.least, held.most + 1)


def native_spans(_: Trace, batch: Batch) -> Iterator[str]:
    """Each event's native record is within the batch's range of the source."""
    native = batch.native
    if native is None:
        return
    if native.starts.shape != (len(batch),) or native.sizes.shape != (len(batch),):
        yield f"{native.starts.shape} starts and {native.sizes.shape} sizes for {len(batch)} events"
        return
    end = native.data.nbytes
    # Without a sum, which could overflow.
    bad = (native.starts < 0) | (native.sizes < 0) | (native.sizes > end - native.starts)
    if np.any(bad):
        yield f"event {int(np.argmax(bad))} lies outside the {end} bytes"


#: Invariants of the trace's tables.
TABLE_INVARIANTS: tuple[Invariant, ...] = (
    thread_processes,
    track_parents,
    track_owners,
    clock_rates,
    texts,
    class_texts,
    required_roles,
    field_classes,
)

#: Invariants of a batch.
BATCH_INVARIANTS: tuple[Invariant, ...] = (
    common_columns,
    class_ids,
    table_rows,
    table_fields,
    thread_ids,
    track_ids,
    cpu_numbers,
    column_types,
    column_lengths,
    list_offsets,
    array_lengths,
    structure_members,
    union_tags,
    validity,
    string_ids,
    integer_ranges,
    native_spans,
)


class _Node(NamedTuple):
    """A column, or one nested in another, which must have `length` values (None: any number)."""

    path: str
    type: FieldClass
    column: Column
    length: int | None


def _nodes(trace: Trace, batch: Batch) -> Iterator[_Node]:
    """Return every column of a batch whose type is that of its field class, with nested ones."""
    for number, table in batch.tables.items():
        if not 0 <= number < len(trace.event_classes):
            continue
        for i, field in enumerate(trace.event_classes[number].fields[: table.width]):
            path = f"class {number}, field {field.name!r}"
            yield from _with_nested(_Node(path, field.type, table.column(i), len(table)))


def _with_nested(node: _Node) -> Iterator[_Node]:
    yield node
    match node.type, node.column:
        case (ArrayClass(element), ListColumn(_, values)):
            yield from _with_nested(_Node(f"{node.path}[]", element, values, None))
        case (StructureClass(members), StructColumn(length, columns)):
            for member, column in zip(members, columns, strict=False):
                yield from _with_nested(
                    _Node(f"{node.path}.{member.name}", member.type, column, length)
                )
        case (VariantClass(options), UnionColumn(_, _, columns)):
            for option, column in zip(options, columns, strict=False):
                yield from _with_nested(
                    _Node(f"{node.path}.{option.name}", option.type, column, None)
                )
        case (OptionalClass(element), OptionalColumn(valid, values)):
            if len(valid) == len(values):
                # Null entries hold arbitrary values.
                held = take(values, np.flatnonzero(valid))
                yield from _with_nested(_Node(f"{node.path}?", element, held, None))
            else:
                yield _Node(f"{node.path}?", element, values, len(valid))


def _has_stored_type(column: Column, field_class: FieldClass) -> bool:
    match field_class, column:
        case (IntegerClass() | FloatClass(), np.ndarray()):
            return column.dtype == field_class.dtype and column.ndim == 1
        case (BooleanClass(), np.ndarray()):
            return column.dtype == np.bool_ and column.ndim == 1
        case (StringClass(), np.ndarray()):
            return column.dtype == np.int32 and column.ndim == 1
        case (StringClass() | BytesClass(), ListColumn(_, np.ndarray() as values)):
            return values.dtype == np.uint8 and values.ndim == 1
        case (
            (NullClass(), NullColumn())
            | (ArrayClass(), ListColumn())
            | (StructureClass(), StructColumn())
            | (VariantClass(), UnionColumn())
            | (OptionalClass(), OptionalColumn())
        ):
            return True
    return False


def _outside(what: str, numbers: NDArray[Any], lowest: int, limit: int) -> Iterator[str]:
    """Report a number that is not in lowest..limit - 1."""
    if len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if low < lowest or high >= limit:
            yield f"{what} {low if low < lowest else high} is not in {lowest}..{limit - 1}"


def _missing_roles(event_class: EventClass) -> Iterator[str]:
    present = {field.role for field in event_class.fields}
    for role in sorted(REQUIRED_ROLES.get(event_class.kind, frozenset()) - present):
        yield f"{event_class.kind.name}, has no field of role {role.name}"


def _field_faults(event_class: EventClass) -> Iterator[str]:
    for field in event_class.fields:
        for line in _field_class_faults(field.type):
            yield f"field {field.name!r}: {line}"


def _text_faults(event_class: EventClass) -> Iterator[str]:
    found: list[object] = [event_class.name, event_class.category]
    for field in event_class.fields:
        found += (field.name, field.unit, *_texts_of(field.type))
    yield from (f"{one!r} is no text" for one in found if not is_text(one))


def _texts_of(field_class: FieldClass) -> Iterator[object]:
    for part in parts_of(field_class):
        match part:
            case IntegerClass(labels=labels):
                yield from (label.text for label in labels)
            case BytesClass(media_type):
                yield media_type
            case StructureClass(members) | VariantClass(members):
                yield from (member.name for member in members)


def _field_class_faults(field_class: FieldClass) -> Iterator[str]:
    match field_class:
        case IntegerClass(bits, _, _, labels):
            if not 1 <= bits <= 64:
                yield f"integer of {bits} bits"
            yield from (
                f"label {label.text!r} of no value" for label in labels if label.low > label.high
            )
        case FloatClass(bits):
            if bits not in (32, 64):
                yield f"float of {bits} bits"
        case ArrayClass(element, length):
            if length is not None and length < 0:
                yield f"array of {length} elements"
            yield from _field_class_faults(element)
        case StructureClass(members):
            for member in members:
                yield from _field_class_faults(member.type)
        case VariantClass(options):
            if not options or len({option.name for option in options}) < len(options):
                yield "variant whose options are not distinguished by name"
            for option in options:
                yield from _field_class_faults(option.type)
        case OptionalClass(element):
            if isinstance(element, OptionalClass | NullClass):
                yield "optional whose values look absent"
            yield from _field_class_faults(element)
        case _:
            pass
