"""Texts of columns are ids of strings, or bytes of their own: what is written does not depend on which."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.samples import sampled

import converter
from converter.fixtures import synthetic_trace
from converter.fixtures.kinds import GROUPS
from converter.fixtures.script import script
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    list_of_bytes,
)
from converter.ir.events import Batch, Table
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.trace import Trace
from converter.jobs.transcription import transcribe
from converter.registry import FORMATS, format_named
from converter.storage.outputs import open_sink

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
RECORDED = [
    *(f"perfetto/{name}.pftrace" for name in ("annotations", "callstacks", "legacy", "tables")),
    *("chrome/features.json", "ctf/ctf_lost", "ctf/perf_ctf", "fxt/every-record-little.fxt"),
    *("aix/every-form-64.aix", "uftrace/rich", "trace_cmd/markers.dat"),
]


@cache
def source(name: str) -> Trace:
    """A recording, or the synthetic trace of all kinds."""
    if name:
        return converter.read(FIXTURES / name)
    return collect(synthetic_trace("all", len(script(GROUPS["all"])) + 3))


def with_own_texts(column: Column, field_class: FieldClass, trace: Trace) -> Column:
    """The column with the bytes of its texts in place of their ids."""
    match field_class:
        case StringClass() if isinstance(column, np.ndarray):
            return list_of_bytes([trace.strings[id] for id in column.tolist()])
        case ArrayClass(element):
            assert isinstance(column, ListColumn)
            return ListColumn(column.offsets, with_own_texts(column.values, element, trace))
        case StructureClass(members):
            assert isinstance(column, StructColumn)
            parts = zip(column.members, members, strict=True)
            inner = tuple(with_own_texts(part, member.type, trace) for part, member in parts)
            return replace(column, members=inner)
        case OptionalClass(element):
            assert isinstance(column, OptionalColumn)
            return replace(column, values=with_own_texts(column.values, element, trace))
        case VariantClass(options):
            assert isinstance(column, UnionColumn)
            chosen = zip(column.options, options, strict=True)
            inner = tuple(with_own_texts(part, option.type, trace) for part, option in chosen)
            return replace(column, options=inner)
    return column


def restored(trace: Trace) -> Trace:
    """The trace with all texts of its columns as their own bytes."""

    def changed(batch: Batch) -> Batch:
        tables = {}
        for id, table in batch.tables.items():
            fields = trace.event_classes[id].fields
            columns = [
                with_own_texts(table.column(i), field.type, trace) for i, field in enumerate(fields)
            ]
            tables[id] = Table(len(table), columns)
        return Batch(
            ts=batch.ts,
            class_id=batch.class_id,
            row=batch.row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
            native=batch.native,
        )

    return with_batches(trace, [changed(batch) for batch in trace.batches()])


@pytest.mark.parametrize(
    ("name", "target"),
    sampled(((name, one.name) for name in ("", *RECORDED) for one in FORMATS if one.writable), 9),
)
def test_texts_are_written_alike(name: str, target: str, tmp_path: Path) -> None:
    found, losses = [], []
    for number, trace in enumerate((source(name), restored(source(name)))):
        format, variant = format_named(target)
        path = tmp_path / str(number)
        with open_sink(path, directory=format.directory) as sink:
            report = transcribe(trace, sink, format, variant)
        losses.append(report)
        found.append(converter.read(path, target))
    assert losses[0] == losses[1]
    assert difference(*found) is None
