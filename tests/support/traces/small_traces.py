"""Traces of a few events, written out, and the events of a trace as text to compare."""

from support.traces.losses import line_of
from support.traces.strategies import batch_of

from converter.ir.collect import collect, with_batches
from converter.ir.columns import value
from converter.ir.events import EventClass, Field
from converter.ir.kinds import Kind
from converter.ir.trace import Process, Thread, Trace
from converter.projection.project import project


def trace_of(classes, *batches, tids=(0, 10, 11), strings_as_ids=True, **tables):
    """A trace of event classes and batches of (class, ts, cpu, thread, values); thread i has the i-th tid."""
    trace = Trace(format="none", event_classes=list(classes), **tables)
    if not trace.processes:
        trace.processes = [Process(pid, f"p{pid}") for pid in tids]
        trace.threads = [Thread(tid, i, f"t{tid}") for i, tid in enumerate(tids)]
    return with_batches(
        trace,
        [
            batch_of(
                trace,
                [
                    (number, ts, cpu, thread, track[0] if track else -1, values)
                    for number, ts, cpu, thread, values, *track in events
                ],
                strings_as_ids=strings_as_ids,
            )
            for events in batches
        ],
    )


def projected(trace, capabilities):
    """The projection, read whole, and its losses as lines."""
    target, report = project(trace, capabilities, "target")
    target = collect(target)
    return target, [line_of(loss) for loss in report]


def fields_at(trace, batch, i):
    """The fields of event i of a batch, by name."""
    number = int(batch.class_id[i])
    table, row = batch.tables[number], int(batch.row[i])
    return {
        field.name: value(table.column(k), field.type, row, trace.strings)
        for k, field in enumerate(trace.event_classes[number].fields)
    }


def events_of(trace):
    """Every event as (ts, kind, where it is, its fields by name), text as str."""
    result = []
    for batch in trace.batches():
        for i in range(len(batch)):
            number = int(batch.class_id[i])
            event_class = trace.event_classes[number]
            table = batch.tables[number]
            fields = {}
            for k, field in enumerate(event_class.fields):
                held = value(table.column(k), field.type, int(batch.row[i]), trace.strings)
                # Names may repeat; those of the record itself come first.
                fields.setdefault(field.name, _plain(held))
            result.append((int(batch.ts[i]), event_class.kind, _place(trace, batch, i), fields))
    return result


def brief(trace, *names):
    """Events as "KIND name at place" and the values of the fields called `names`."""
    return [
        (
            f"{kind.name} {fields.get('name', '')}".strip() + f" at {place}",
            *(fields.get(name) for name in names),
        )
        for _, kind, place, fields in events_of(trace)
    ]


def event_class(kind, name="", category="", /, **fields):
    """A class whose fields are given as name=(type, role) or name=type."""
    declared = tuple(
        Field(field, *held) if isinstance(held, tuple) else Field(field, held)
        for field, held in fields.items()
    )
    return EventClass(Kind(kind), name, category, declared)


def _plain(item):
    return item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item


def _place(trace, batch, i):
    if batch.track[i] >= 0:
        return trace.tracks[batch.track[i]].name
    if batch.thread[i] >= 0:
        return trace.threads[batch.thread[i]].name
    return f"cpu {batch.cpu[i]}"
