"""The side table: the data for which a data directory has no place, in this converter's own file `traceconv.json`.

uftrace ignores files that it does not know. Only directories made from other formats' traces have it. It is JSON in
ASCII; bytes of names that are not UTF-8 are lone surrogates:

    {"trace": TABLES, "no_thread": number or null, "perf_events": true or false, "end_event": id or null,
    "mark_symbol": number or null,
     "signatures": [[FIELD]],
    "symbols": [[name, category, signature, signature, source]], "events": [[id, name, category]],
    "kernel_names": [[id, category, name]], "forks": true or false}

TABLES are processes, threads, clocks and environment as in `converter.formats.side_table`; the number of a
thread is the <tid> of its file and of kernel records, and `no_thread` is the number for events without a thread. FIELD
is a field of an event class (ir.forms). Symbol i has the relative address `symbol_address(i)`; its signatures are those
of its entries and exits. A signature has all fields of the class: name and category, if they come first, are those of
the symbol, a source location as an entry's last field is its `source`, and the others are the values that follow a
record, in order.

Some records exist only for uftrace and are not part of the trace: events with the id `end_event` (uftrace drops
kernel events after the last record of a task's file) and the entry and exit of `mark_symbol` (some commands need a
function). With `forks` child processes begin inside of their parent's `fork`, as in a recording; older directories,
which do not say so, have no functions whose names mean nothing. Kernel events of `kernel_names` have another name in
`kernel_header`, as uftrace distinguishes them only by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from converter.errors import TraceError
from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.formats.side_table import SideTable, side_table_form, side_table_of
from converter.formats.uftrace.layout import FIRST_USER_EVENT, TABLES_FILE
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    StringClass,
)
from converter.ir.forms import class_form, class_of
from converter.ir.kinds import Kind
from converter.ir.table_forms import text_of
from converter.ir.trace import Trace

Signature = tuple[Field, ...]

#: Addresses in records have 48 bits; those of symbols remain well below.
MAX_SYMBOLS: Final = 1 << 32


class Symbol(NamedTuple):
    """A function that represents slices of a name and category; entry and exit are numbers of signatures."""

    name: str
    category: str
    entry: int
    exit: int
    #: The location in the source, empty where it is not known.
    source: str


@dataclass(slots=True)
class Tables:
    """The file, read or to be written. With `perf_events` perf records are events, not only names of tasks."""

    trace: SideTable = field(default_factory=SideTable)
    no_thread: int | None = None
    perf_events: bool = False
    end_event: int | None = None
    mark_symbol: int | None = None
    signatures: list[Signature] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    #: Name and category by id.
    events: dict[int, tuple[str, str]] = field(default_factory=dict)
    #: Category and name of kernel events by id.
    kernel_names: dict[int, tuple[str, str]] = field(default_factory=dict)
    #: None for older directories, where the names of all functions mean what they mean to uftrace.
    forks: bool | None = False


def read_tables(data: bytes) -> Tables:
    """Parse the file's content.

    Raises:
        TraceError: they are damaged.

    """
    try:
        held = json.loads(data)
        trace = side_table_of(held["trace"], numbered=True)
        tables = Tables(trace, _optional(held["no_thread"], 1 << 31), bool(held["perf_events"]))
        tables.end_event = _optional(held["end_event"], 1 << 48)
        tables.mark_symbol = _optional(held["mark_symbol"], MAX_SYMBOLS)
        forks = held.get("forks")
        tables.forks = None if forks is None else bool(forks)
        tables.signatures = [_signature(form) for form in held["signatures"]]
        count = len(tables.signatures)
        for name, category, entered, left, *sources in held["symbols"]:
            # Older directories have no source locations.
            source = sources[0] if sources else ""
            if not (0 <= _number(entered) < count and 0 <= _number(left) < count):
                raise ValueError("a symbol without signatures")
            tables.symbols.append(
                Symbol(text_of(name), text_of(category), entered, left, text_of(source))
            )
        for id, name, category in held["events"]:
            if not FIRST_USER_EVENT <= _number(id) < 1 << 48:
                raise ValueError("an event without an id")
            tables.events[id] = (text_of(name), text_of(category))
        for id, category, name in held["kernel_names"]:
            tables.kernel_names[_number(id)] = (text_of(category), text_of(name))
    except TraceError as error:
        raise TraceError(str(error), field=TABLES_FILE) from error
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        ArithmeticError,
    ) as error:
        raise TraceError(f"not the tables of a trace: {error}", field=TABLES_FILE) from error
    return tables


def build_tables(trace: Trace, numbers: TaskNumbers, tables: Tables) -> bytes:
    """Return the file's content: `trace`, the numbers of its threads, and all of `tables` except its `trace`."""
    held = {
        "trace": side_table_form(trace, numbers.all()),
        "no_thread": tables.no_thread,
        "perf_events": tables.perf_events,
        "end_event": tables.end_event,
        "mark_symbol": tables.mark_symbol,
        "signatures": [
            class_form(EventClass(Kind.TYPED, fields=signature)).get("fields", [])
            for signature in tables.signatures
        ],
        "symbols": tables.symbols,
        "kernel_names": [[id, *names] for id, names in sorted(tables.kernel_names.items())],
        "events": [[id, *names] for id, names in sorted(tables.events.items())],
        "forks": tables.forks,
    }
    return json.dumps(held, separators=(",", ":")).encode("ascii")


def _signature(form: Any) -> Signature:
    if not isinstance(form, list) or not all(isinstance(field, Mapping) for field in form):
        raise TypeError("a signature is no list of fields")
    signature = class_of({"kind": Kind.TYPED.name, "fields": form}).fields
    for field_ in signature:
        match field_.type:
            case IntegerClass(bits) if 1 <= bits <= 64:
                pass
            case FloatClass() | BooleanClass() | StringClass() | BytesClass():
                pass
            case _:
                raise ValueError("a field of a type that no record has")
    return signature


def _optional(value: Any, limit: int) -> int | None:
    if value is not None and not 0 <= _number(value) < limit:
        raise ValueError(f"a number that is not below {limit}")
    return None if value is None else _number(value)


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("not a number")
    return value
