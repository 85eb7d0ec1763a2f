"""Losses of the threads, CPUs and tracks of events, and of the tables of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.projection.loss_codes.entry import LossClass, LossCode, LossKind

PLACES: Final[Mapping[str, LossCode]] = {
    # Threads and tracks of events
    "interrupted-thread": LossCode(
        LossKind.DROPPED,
        "{count} {interrupt does|interrupts do} not say which thread {it|they} interrupted: {items}",
        "{event}",
        keeps="interrupts",
    ),
    "thread-of-event-on-track": LossCode(
        LossKind.DROPPED,
        "{count} {event on a track does|events on tracks do} not say which thread {it was|they were} on: "
        "{items}",
        "{event}",
        keeps="thread_and_track",
    ),
    "thread-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event does|events do} not say which thread {it was|they were} on: {items}",
        "{event}",
    ),
    "counter-thread": LossCode(
        LossKind.DROPPED,
        "{count} counter {value does|values do} not say which thread set {it|them}: {items}",
        "{event}",
    ),
    "counter-thread-unshown": LossCode(
        LossKind.DROPPED,
        "{count} counter {value does|values do} not say which thread set {it|them}, which viewers of "
        "the input do not show either: {items}",
        "{event}",
        LossClass.KEPT,
    ),
    "thread-shares-tid": LossCode(
        LossKind.CHANGED,
        "{count} {event is|events are} shown on another thread that has the same tid: {items}",
        "{event}",
    ),
    "threadless-on-made-up-thread": LossCode(
        LossKind.LOWERED,
        "{count} {event|events} without a thread {is on a made-up thread|are on made-up threads}, "
        '"Events Cpu N" or "no thread": {items}',
        "{event}",
    ),
    "track-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event is|events are} not on {its track|their tracks}: {items}",
        "{event}",
        keeps="tracks",
    ),
    "track-as-thread": LossCode(
        LossKind.LOWERED,
        "{count} {event on a track is on a made-up thread|events on tracks are on made-up threads} with "
        "the {name of the track|names of the tracks}: {items}",
        "{event}",
        keeps="tracks",
    ),
    "buffer-as-argument": LossCode(
        LossKind.LOWERED,
        "{count} {event has|events have} the name of the recording buffer as an argument: {items}",
        "{event}",
    ),
    # CPUs of events
    "cpu-unknown-shown-on-0": LossCode(
        LossKind.CHANGED,
        "{count} {event|events} without a CPU number {appears|appear} on CPU 0: {items}",
        "{event}",
        keeps="cpuless",
    ),
    "cpu-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event does|events do} not say on which CPU {it was|they were}: {items}",
        "{event}",
    ),
    "cpu-as-argument": LossCode(
        LossKind.LOWERED,
        "{count} {event has its|events have their} CPU as an argument: {items}",
        "{event}",
    ),
    "cpu-too-high": LossCode(
        LossKind.DROPPED,
        "{count} {event|events} on CPUs above {limit} {does|do} not say on which CPU {it was|they were}",
    ),
    # Processes, threads and tracks
    "command-line": LossCode(
        LossKind.DROPPED,
        "The command {line|lines} of {count} {process|processes} {is|are} missing",
        keeps="command_lines",
    ),
    "parent-process": LossCode(
        LossKind.DROPPED,
        "The {parent|parents} of {count} {process|processes} {is|are} missing",
        keeps="command_lines",
    ),
    "track-unit": LossCode(
        LossKind.DROPPED,
        "The {unit|units} of {count} {track|tracks} {is|are} missing",
        keeps="track_units",
    ),
    "track-unit-changed": LossCode(
        LossKind.CHANGED,
        "The {unit|units} of {count} {track has|tracks have} characters that the format does not allow, "
        "which are replaced",
    ),
    "name-changed": LossCode(
        LossKind.CHANGED,
        "{count} {name|names} of processes, threads or tracks {is|are} too long or not valid UTF-8, and "
        "{is|are} changed",
    ),
    "thread-in-process-of-its-own": LossCode(
        LossKind.CHANGED,
        "{count} {thread is|threads are} in a process of {its|their} own, because events name "
        "{it|them} before {it starts|they start}",
    ),
    "thread-added": LossCode(
        LossKind.RETYPED,
        "{count} {thread|threads} that only events name {is|are} in the list of threads",
    ),
    "thread-0-renumbered": LossCode(
        LossKind.CHANGED,
        "{count} {thread|threads} with number 0 {has|have} another number, for example {items}",
        "that of process {pid} is {shown}",
    ),
    "thread-0-apart": LossCode(
        LossKind.CHANGED,
        "{count} {thread|threads} with number 0 {is|are} shown apart from the main {thread|threads} of "
        "{its process|their processes}, as which viewers of the input show {it|them}: {items}",
        "that of process {pid}",
    ),
    "id-taken": LossCode(
        LossKind.CHANGED,
        "{count} {id|ids} of processes or threads {has|have} another number, because viewers cannot "
        "tell {it|them} from others; for example {items}",
        "{what} {was} is {shown}",
    ),
    "id-too-large": LossCode(
        LossKind.CHANGED,
        "{count} {id|ids} of processes or threads of more than {bits} bits {has|have} another number, "
        "for example {items}",
        "{what} {was} is {shown}",
    ),
}
