"""Every event format of the schemas holds random values of its fields: what is written is what is read."""

import random
from pathlib import Path

import numpy as np
import pytest
from support.trace_cmd.writing import CAPABILITIES, read_back, written

from converter.formats.ftrace.address_texts import address_forms
from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.kernel_formats import kernel_format
from converter.ir.collect import with_batches
from converter.ir.columns import column_from_values, value
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import ArrayClass, BytesClass, IntegerClass, StringClass
from converter.ir.trace import Process, Thread, Trace
from converter.projection.project import project

EVENTS = Path(__file__).parents[4] / "schemas/ftrace/events"
POINTS = sorted((path.parts[-3], path.parts[-2]) for path in EVENTS.glob("*/*/format"))
ROWS = 2


def a_number(chance, field_class):
    bits = 8 * field_class.dtype.itemsize
    number = chance.choice((0, 1, chance.getrandbits(bits), (1 << bits) - 1))
    return number - (number >> (bits - 1) << bits) if field_class.signed else number


def a_value(chance, field, declared, form):
    if form is not None:
        return form.text(chance.randbytes(form.size))
    if field.role.name.endswith("TID"):
        return chance.randrange(1, 1 << 15)
    size = declared.size if declared is not None and not declared.is_tail else 0
    is_inline = declared is not None and declared.location.name == "INLINE" and size
    match field.type:
        case IntegerClass():
            return a_number(chance, field.type)
        case StringClass():
            return bytes(chance.choices(b"abc/:%-1", k=chance.randrange(size if is_inline else 9)))
        case BytesClass():
            # Records end at a multiple of four bytes.
            return chance.randbytes(size if is_inline else 4 * chance.randrange(3))
        case ArrayClass(element, length):
            count = chance.randrange(5) if length is None else length
            return [a_number(chance, element) for _ in range(count)]
    raise AssertionError(field)


def class_of(point):
    format = kernel_format(*point)
    kind, fields, _ = fields_of(format, 8, None)
    return EventClass(kind, point[1], point[0], fields)


def a_trace(points, values_of):
    trace = Trace("none", processes=[Process(1, "init")], threads=[Thread(1, 0, "init")])
    tables = {}
    for point in points:
        event_class = class_of(point)
        rows = values_of(point, event_class)
        columns = [
            column_from_values(field.type, [row[i] for row in rows], trace.strings)
            for i, field in enumerate(event_class.fields)
        ]
        tables[trace.add_class(event_class)] = Table(ROWS, columns)
    count = ROWS * len(tables)
    batch = Batch(
        ts=np.arange(count, dtype=np.int64),
        class_id=np.repeat(np.arange(len(tables), dtype=np.int32), ROWS),
        row=np.tile(np.arange(ROWS, dtype=np.int32), len(tables)),
        tables=tables,
        cpu=np.zeros(count, np.int32),
        thread=np.zeros(count, np.int32),
    )
    return with_batches(trace, [batch])


def rows_of(trace):
    """The values of each class's events."""
    (batch,) = trace.batches()
    return {
        (event_class.category, event_class.name): [
            [
                value(table.column(i), field.type, row, trace.strings)
                for i, field in enumerate(event_class.fields)
            ]
            for row in range(len(table))
        ]
        for event_class, table in (
            (trace.event_classes[id], table) for id, table in batch.tables.items()
        )
    }


def test_the_schemas_are_found():
    assert len(POINTS) > 200
    assert ("sock", "inet_sock_set_state") in POINTS


@pytest.mark.parametrize("part", range(4))
def test_random_values_of_all_formats_are_read_as_they_were_written(part):
    chance = random.Random(5)
    expected = {}

    def values_of(point, event_class):
        format = kernel_format(*point)
        forms = address_forms(point)
        expected[point] = [
            [
                a_value(chance, field, format.field(field.name), forms.get(field.name))
                for field in event_class.fields
            ]
            for _ in range(ROWS)
        ]
        return expected[point]

    trace = a_trace(POINTS[part::4], values_of)
    target, report = project(trace, CAPABILITIES, "trace_cmd")
    found = rows_of(read_back(written(target)))
    assert found.keys() == expected.keys()
    for point, rows in expected.items():
        assert found[point] == rows, point
    assert not [loss for loss in report if loss.loss_class == "shown"]


@pytest.mark.parametrize(
    ("field_class", "values", "texts", "lost"),
    [
        (StringClass(), [b"127.0.0.1", b"10.0.0.255"], [b"127.0.0.1", b"10.0.0.255"], 0),
        (StringClass(), [b"", b"localhost"], [b"0.0.0.0", b"0.0.0.0"], 2),
        (StringClass(), [b"1.2.3.256", b"1.2.3.4"], [b"0.0.0.0", b"1.2.3.4"], 1),
        (IntegerClass(32), [16777343, 0], [b"127.0.0.1", b"0.0.0.0"], 0),
        (IntegerClass(64), [(1 << 32) - 1, 1 << 32], [b"255.255.255.255", b"0.0.0.0"], 1),
        (IntegerClass(64, signed=True), [-1, 1], [b"0.0.0.0", b"1.0.0.0"], 1),
        (BytesClass(), [b"\x7f\0\0\1", b"\1\2\3"], [b"127.0.0.1", b"0.0.0.0"], 1),
        (ArrayClass(IntegerClass(8)), [[1, 2, 3, 4], []], [b"1.2.3.4", b"0.0.0.0"], 1),
    ],
    ids=str,
)
def test_an_address_of_another_format_becomes_one_or_is_counted(field_class, values, texts, lost):
    point = ("sock", "inet_sock_set_state")
    event_class = class_of(point)
    at = [field.name for field in event_class.fields].index("saddr")
    fields = list(event_class.fields)
    fields[at] = Field("saddr", field_class)
    event_class = EventClass(event_class.kind, point[1], point[0], tuple(fields))
    forms = address_forms(point)
    trace = Trace("none", processes=[Process(1, "init")], threads=[Thread(1, 0, "init")])
    columns = []
    for i, field in enumerate(fields):
        form = forms.get(field.name)
        plain = b"0.0.0.0" if form and form.size == 4 else b"::" if form else 0
        column = values if i == at else [plain] * 2
        columns.append(column_from_values(field.type, column, trace.strings))
    trace.add_class(event_class)
    batch = Batch(
        ts=np.arange(2, dtype=np.int64),
        class_id=np.zeros(2, np.int32),
        row=np.arange(2, dtype=np.int32),
        tables={0: Table(2, columns)},
        cpu=np.zeros(2, np.int32),
        thread=np.zeros(2, np.int32),
    )
    target, report = project(with_batches(trace, [batch]), CAPABILITIES, "trace_cmd")
    rows = rows_of(read_back(written(target)))[point]
    assert [row[at] for row in rows] == texts
    wrong = [loss.count for loss in report if loss.code == "address-invalid"]
    assert wrong == ([lost] if lost else [])
