"""The same trace with other numbers: nothing that means anything depends on positions in tables."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from converter.ir.collect import with_batches
from converter.ir.columns import concatenate, take
from converter.ir.events import Batch, Table
from converter.ir.trace import Trace, Track, TrackScope


def renumbered(trace: Trace, rng: random.Random) -> Trace:
    """The same trace with other numbers, in one batch where it has events."""
    processes = list(range(len(trace.processes)))
    threads = list(range(len(trace.threads)))
    classes = list(range(len(trace.event_classes)))
    for order in (processes, threads, classes):
        rng.shuffle(order)
    new_process = {old: new for new, old in enumerate(processes)}
    new_thread = {old: new for new, old in enumerate(threads)}
    # The track that none has is in front, so that all numbers change and parents still come first.
    owners = {TrackScope.PROCESS: new_process, TrackScope.THREAD: new_thread}
    tracks = [Track("unused")] + [
        replace(
            track,
            owner=owners.get(track.scope, {}).get(track.owner, track.owner),
            parent=track.parent + 1 if track.parent >= 0 else -1,
        )
        for track in trace.tracks
    ]
    other = replace(
        trace,
        processes=[trace.processes[old] for old in processes],
        threads=[
            replace(trace.threads[old], process=new_process[trace.threads[old].process])
            for old in threads
        ],
        tracks=tracks,
        event_classes=[replace(trace.event_classes[old], native=b"other") for old in classes],
    )
    batches = list(trace.batches())
    if not batches:
        return other
    class_map = np.argsort(np.array(classes)).astype(np.int32)
    thread_map = np.array([new_thread[i] for i in range(len(threads))] + [-1], np.int32)
    columns = {}
    for name in ("ts", "class_id", "cpu", "thread", "track"):
        columns[name] = np.concatenate([getattr(batch, name) for batch in batches])
    row = np.zeros(len(columns["ts"]), np.int32)
    tables = {}
    for old, event_class in enumerate(trace.event_classes):
        parts = [batch.tables[old] for batch in batches if old in batch.tables]
        places = np.flatnonzero(columns["class_id"] == old)
        if len(places):
            # The rows of a table may be in any order.
            shuffled = np.array(rng.sample(range(len(places)), len(places)))
            row[places[shuffled]] = np.arange(len(places))
            tables[int(class_map[old])] = Table(
                len(places),
                [
                    take(concatenate([part.column(i) for part in parts]), shuffled)
                    for i in range(len(event_class.fields))
                ],
            )
    return with_batches(
        other,
        [
            Batch(
                ts=columns["ts"],
                class_id=class_map[columns["class_id"]],
                row=row,
                tables=tables,
                thread=thread_map[columns["thread"]],
                cpu=columns["cpu"],
                track=np.where(columns["track"] >= 0, columns["track"] + 1, -1).astype(np.int32),
            )
        ],
    )
