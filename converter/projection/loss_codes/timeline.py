"""Losses of the timeline: slices, flows, counters, samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.projection.loss_codes.entry import Extent, LossClass, LossCode, LossKind

TIMELINE: Final[Mapping[str, LossCode]] = {
    # Slices
    "nested-too-deep": LossCode(
        LossKind.UNSHOWN,
        "{count} {slice or instant is|slices and instants are} inside more than {limit} others, where "
        "viewers do not show {it|them}",
        extent=Extent.EVENTS,
    ),
    "slice-end-cut": LossCode(
        LossKind.CHANGED,
        "{count} {slice overlaps another and ends|slices overlap others and end} with it in viewers",
    ),
    "slice-outlasting": LossCode(
        LossKind.CHANGED,
        "{count} {slice lasts|slices last} longer than the one around {it|them}, with which viewers of "
        "the input end {it|them}",
    ),
    "slice-tied": LossCode(
        LossKind.CHANGED,
        "{count} {slice begins|slices begin} at the time at which an outer one ends: viewers of the input "
        "draw {it|them} deeper",
    ),
    "slice-depth-changed": LossCode(
        LossKind.CHANGED,
        "{count} {slice overlaps another and is|slices overlap others and are} drawn at another depth",
    ),
    "slice-beside": LossCode(
        LossKind.LOWERED,
        "{count} {slice overlaps another and is on a track|slices overlap others and are on tracks} "
        '"overlapping slices" next to the thread',
        loss_class=LossClass.DETAIL,
    ),
    "slice-as-begin-and-end": LossCode(
        LossKind.LOWERED,
        "{count} {slice is|slices are} written as a begin and an end",
        loss_class=LossClass.DETAIL,
    ),
    "slice-joined": LossCode(
        LossKind.LOWERED,
        "{count} {slice that begins and ends|slices that begin and end} at the same time {is one "
        "record|are one record each}",
        loss_class=LossClass.DETAIL,
    ),
    "interrupt-result": LossCode(
        LossKind.CHANGED,
        "{count} {end of an interrupt says|ends of interrupts say} unhandled, as Perfetto does, in place of another "
        "number than 0 and 1: {items}",
        "{event}.{field}",
        loss_class=LossClass.DETAIL,
        extent=Extent.FIELDS,
    ),
    "slice-end-added": LossCode(
        LossKind.CHANGED,
        "{count} {slice that ends|slices that end} with an outer one {has an end of its|have ends of "
        "their} own",
        loss_class=LossClass.DETAIL,
    ),
    "slice-end-unmatched": LossCode(
        LossKind.DROPPED,
        "{count} {end of a slice matches|ends of slices match} no open slice and {is|are} missing",
        loss_class=LossClass.DETAIL,
        extent=Extent.EVENTS,
    ),
    "slice-end-named": LossCode(
        LossKind.CHANGED,
        "{count} {end of a slice has|ends of slices have} the name of the begin",
        loss_class=LossClass.DETAIL,
    ),
    "slice-end-name-unmatched": LossCode(
        LossKind.DROPPED,
        "{count} {end of a slice has|ends of slices have} a name that no open slice has, and "
        "{ends|end} the innermost one",
    ),
    "slice-end-name-other": LossCode(
        LossKind.DROPPED,
        "{count} {end of a slice lacks its|ends of slices lack their} own name, which differs from the "
        "slice's",
        loss_class=LossClass.DETAIL,
    ),
    "slice-end-name-of-unnamed": LossCode(
        LossKind.DROPPED,
        "{count} {end of a slice lacks its|ends of slices lack their} name, as the slice has none",
        loss_class=LossClass.DETAIL,
    ),
    "slice-end-too-late": LossCode(
        LossKind.CHANGED,
        "{count} {slice ends|slices end} at the latest time that the format has, and {is|are} shorter",
    ),
    "negative-duration": LossCode(
        LossKind.CHANGED,
        "{count} {slice|slices} with a negative duration {has|have} length 0",
    ),
    "slice-end-mixes-with-marks": LossCode(
        LossKind.CHANGED,
        "{count} {end of a slice|ends of slices} may end a slice of the trace's own markers on the same "
        "thread",
    ),
    "depth-at-shared-time": LossCode(
        LossKind.CHANGED,
        "{count} {slice|slices} may be drawn at another depth, because another begins or ends at the "
        "same time",
    ),
    # Flows
    "arrow-ids-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {event has|events have} ids of flows that viewers do not draw as arrows: {items}",
        "'{field}' of {event}",
        extent=Extent.FLOWS,
    ),
    "correlation-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {event has|events have} correlation ids by which viewers do not link them: {items}",
        "'{field}' of {event}",
    ),
    "arrows-at-ends": LossCode(
        LossKind.DROPPED,
        "{count} {arrow|arrows} at ends of slices or at instants {is|are} missing",
    ),
    "flow-id-not-followed": LossCode(
        LossKind.DROPPED,
        "{count} {flow id is|flow ids are} missing where viewers draw no arrows",
        loss_class=LossClass.KEPT,
    ),
    "flow-ids-as-events": LossCode(
        LossKind.LOWERED,
        "{count} {flow id of a slice is an event|flow ids of slices are events} of {its|their} own",
        loss_class=LossClass.DETAIL,
    ),
    "flow-at-shared-time": LossCode(
        LossKind.CHANGED,
        "{count} {arrow|arrows} may be drawn at another slice, because one begins or ends at the same "
        "time",
    ),
    "flow-moved-before-end": LossCode(
        LossKind.CHANGED,
        "{count} {arrow|arrows} at the end of {a slice|slices} {is|are} one tick earlier, so that viewers "
        "attach {it|them}",
        loss_class=LossClass.KEPT,
    ),
    "flow-moved-to-end": LossCode(
        LossKind.CHANGED,
        "{count} {arrow|arrows} after the end of {its slice is|their slices are} at the end of "
        "{it|these}",
        loss_class=LossClass.KEPT,
    ),
    "flow-turned": LossCode(
        LossKind.CHANGED,
        "{count} {arrow|arrows} after the end of {its slice points|their slices point} in the other "
        "direction",
    ),
    "flow-moved-to-next-slice": LossCode(
        LossKind.CHANGED,
        "{count} {arrow|arrows} to the next slice {is|are} at the time that it begins",
        loss_class=LossClass.KEPT,
    ),
    "flow-end-without-slice": LossCode(
        LossKind.DROPPED,
        "{count} {arrow|arrows} to a next slice that does not exist {is|are} missing",
        loss_class=LossClass.KEPT,
        extent=Extent.EVENTS,
    ),
    "flow-outside-slices": LossCode(
        LossKind.DROPPED,
        "{count} {event of a flow is|events of flows are} missing where no slice is, to which viewers "
        "attach {it|them}",
        loss_class=LossClass.KEPT,
        extent=Extent.EVENTS,
    ),
    "flow-after-end": LossCode(
        LossKind.CHANGED,
        "{count} {arrow|arrows} of flows that have ended {is|are} drawn differently",
    ),
    "flow-begins-again": LossCode(
        LossKind.CHANGED,
        "{count} {flow that begins|flows that begin} again after {its|their} end {is a new one|are new "
        "ones}",
    ),
    "flow-id-changed": LossCode(
        LossKind.CHANGED,
        "{count} {event of a flow has|events of flows have} another id, so that viewers connect the "
        "same slices",
        loss_class=LossClass.KEPT,
    ),
    "async-id-changed": LossCode(
        LossKind.CHANGED,
        "{count} {event of an asynchronous slice has|events of asynchronous slices have} another id, so "
        "that viewers match the same slices",
        loss_class=LossClass.KEPT,
    ),
    "flow-name-changed": LossCode(
        LossKind.CHANGED,
        "{count} {event of a flow has|events of flows have} another name, so that viewers connect the "
        "same slices",
        loss_class=LossClass.KEPT,
    ),
    "flow-end-binding": LossCode(
        LossKind.RETYPED,
        "{count} {end of a flow does|ends of flows do} not declare at which slice {it ends|they end}",
    ),
    "flow-direction": LossCode(
        LossKind.RETYPED,
        "{count} {slice has|slices have} flow ids whose other direction is not declared",
    ),
    "message-second-receiver": LossCode(
        LossKind.DROPPED,
        "{count} {arrow|arrows} of messages to another than the first receiver {is|are} missing",
    ),
    # Counters
    "counter-rounded": LossCode(
        LossKind.CHANGED,
        "{count} {value of a counter is|values of counters are} rounded to an integer: {items}",
        "{event}",
    ),
    "counter-argument-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {value of a counter lacks|values of counters lack} an argument that is no value: {items}",
        "'{field}' of {event}",
    ),
    "counter-arguments-in-instants": LossCode(
        LossKind.LOWERED,
        "{count} {value of a counter has|values of counters have} other arguments, which are on an "
        "instant right after: {items}",
        "{event}",
    ),
    "counter-text-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {value of a counter is text and is|values of counters are text and are} missing: {items}",
        "'{field}' of {event}",
    ),
    "counter-without-number": LossCode(
        LossKind.UNSHOWN,
        "{count} {counter event has|counter events have} no number, and viewers do not show "
        "{it|them}",
        extent=Extent.EVENTS,
    ),
    "counter-without-number-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {counter event has|counter events have} no number and {is|are} missing, as viewers of "
        "the input do not show {it|them} either",
        loss_class=LossClass.KEPT,
        extent=Extent.EVENTS,
    ),
    # Instants, asynchronous slices, samples
    "instant-scope": LossCode(
        LossKind.CHANGED,
        "{count} {instant|instants} of a process or of the whole trace {is|are} on {its thread|their "
        "threads} only",
    ),
    "instant-scope-unknown": LossCode(
        LossKind.CHANGED,
        "{count} {instant|instants} of unknown scope {is|are} on {its thread|their threads} only",
    ),
    "async-id-scope": LossCode(
        LossKind.CHANGED,
        "{count} asynchronous {event|events} with an id of {its|their} process may match those of other "
        "processes with the same id: {items}",
        "{event}",
    ),
    "phase-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event lacks the letter|events lack the letters} of the phase, which no viewer knows: "
        "{items}",
        "{event}",
    ),
    "mark-as-instant": LossCode(
        LossKind.CHANGED,
        "{count} {mark|marks} with a scope {is an instant|are instants}",
        loss_class=LossClass.DETAIL,
    ),
    "thread-time-rounded": LossCode(
        LossKind.CHANGED,
        "{count} CPU {time of a thread is|times of threads are} rounded down to microseconds: {items}",
        "'{field}' of {event}",
    ),
    "thread-time-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {event has|events have} CPU times of {its thread|their threads} as arguments only: "
        "{items}",
        "'{field}' of {event}",
    ),
    "thread-time-counter": LossCode(
        LossKind.UNSHOWN,
        "{count} CPU {time of a thread is|times of threads are} shown at {its event|their events} only: Perfetto draws "
        "a counter of them, too, if it opens the input",
    ),
    "clock-sync-dropped": LossCode(
        LossKind.DROPPED,
        "{count} clock {sync is|syncs are} missing, which viewers of the input do not show either",
        loss_class=LossClass.KEPT,
        extent=Extent.EVENTS,
    ),
    "tracepoint-sample-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {tracepoint without a call stack is an event|tracepoints without call stacks are events} only, "
        "which Perfetto shows among the samples, too, if it opens the input",
    ),
    "frames-as-recorded": LossCode(
        LossKind.CHANGED,
        "{count} call {stack has|stacks have} addresses as perf script prints them: if Perfetto opens the input, the "
        "kernel's are offsets in [kernel.kallsyms]_text, and those of callers are 1 less",
    ),
    "call-stacks-added": LossCode(
        LossKind.LOWERED,
        "{count} call {stack|stacks} of {items} {is a sample|are samples} in addition",
        "{profiler}",
        LossClass.DETAIL,
    ),
    "sample-without-thread": LossCode(
        LossKind.CHANGED,
        "{count} {sample|samples} on no thread {appears|appear} on the idle thread: {items}",
        "{event}",
    ),
    "listed-sample-outside": LossCode(
        LossKind.DROPPED,
        "{count} {sample|samples} before the first or after the last event {is|are} missing",
        loss_class=LossClass.DETAIL,
    ),
    "slice-end-made-up": LossCode(
        LossKind.CHANGED,
        "{count} {slice without an end ends|slices without an end end} with the last event of the trace",
        loss_class=LossClass.KEPT,
    ),
    "slice-time-moved": LossCode(
        LossKind.CHANGED,
        "{count} {begin or end of a slice is|begins and ends of slices are} earlier than the one before, "
        "and {has|have} the time of that",
    ),
    "summed-samples": LossCode(
        LossKind.CHANGED,
        "{count} {sample is|samples are} summed by call stack: {its time, CPU and thread id are|their "
        "times, CPUs and thread ids are} missing",
        extent=Extent.EVENTS,
    ),
    "summed-slices": LossCode(
        LossKind.CHANGED,
        "{count} {slice is|slices are} summed by call stack, as the nanoseconds that each took apart from "
        "the slices inside of it: {its time is|their times are} missing",
        extent=Extent.EVENTS,
    ),
    "slice-beside-samples": LossCode(
        LossKind.DROPPED,
        "{count} {slice is|slices are} missing: the sums are those of the samples",
        extent=Extent.EVENTS,
    ),
    "sample-of-other-event": LossCode(
        LossKind.DROPPED,
        "{count} {sample is|samples are} missing, as the sums are of one event only: {items}",
        "{name}",
        extent=Extent.EVENTS,
    ),
    "sample-of-other-thread": LossCode(
        LossKind.DROPPED,
        "{count} {sample is|samples are} missing, as a CPU profile is of one thread: {items}",
        "{name}",
        extent=Extent.EVENTS,
    ),
    "slice-of-other-thread": LossCode(
        LossKind.DROPPED,
        "{count} {begin or end of a slice is|begins and ends of slices are} missing, as a CPU profile is of one "
        "thread: {items}",
        "{name}",
        extent=Extent.EVENTS,
    ),
    "sample-weight-as-time": LossCode(
        LossKind.CHANGED,
        "{count} {sample has no time, and lasts|samples have no times, and last} as many nanoseconds as "
        "{its weight has|their weights have} {unit}",
    ),
    "sample-sum-too-large": LossCode(
        LossKind.CHANGED,
        "{count} {sum of samples is|sums of samples are} beyond 63 bits and cut to these",
    ),
    "frame-renamed": LossCode(
        LossKind.CHANGED,
        "{count} {function has|functions have} characters in the name that separate names or lines in the "
        "format, which are replaced",
    ),
    "stack-cut": LossCode(
        LossKind.TRUNCATED,
        "{count} call {stack|stacks} of more than {limit} functions {lacks|lack} the outermost ones",
    ),
    "counter-as-bytes": LossCode(
        LossKind.CHANGED,
        "{count} {value of a counter is|values of counters are} shown as an amount of memory, in bytes",
    ),
    "sample-time-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {sample is|samples are} drawn one after the other, as wide as their weight, and not at "
        "their times",
    ),
    "sample-as-instant": LossCode(
        LossKind.LOWERED,
        "{count} {sample is|samples are} shown as {an event|events} with a call stack in words, not as flame graphs",
        loss_class=LossClass.SHOWN,
    ),
    "sample-weight-added": LossCode(
        LossKind.CHANGED,
        "{count} {sample has no weight and counts|samples have no weight and count} as 1",
        loss_class=LossClass.DETAIL,
    ),
    "frame-binary-as-source": LossCode(
        LossKind.CHANGED,
        "{count} {sample has|samples have} functions whose binary is in the place of the source file",
        loss_class=LossClass.KEPT,
    ),
    "frame-address-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {sample has|samples have} functions without {its|their} address or binary",
        loss_class=LossClass.KEPT,
    ),
    "frame-place-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {sample has|samples have} names of functions only, without files, lines or addresses",
    ),
    "frame-text-changed": LossCode(
        LossKind.CHANGED,
        "{count} {sample has|samples have} names of functions or binaries without characters that lines cannot have",
    ),
    "frame-source-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {sample has|samples have} functions without {its|their} source files and lines",
    ),
    "frame-binary-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {sample has|samples have} functions whose binary perf shows and Perfetto does not",
    ),
    "frame-source-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {sample has|samples have} source files and lines, which perf and Perfetto do not show",
    ),
    "sample-weight-limited": LossCode(
        LossKind.CHANGED,
        "{count} {sample has a weight|samples have weights} below 0, or too large, which {is|are} limited",
    ),
    "call-site": LossCode(
        LossKind.DROPPED,
        "{count} function {call does|calls do} not say where {it was|they were} called from",
    ),
}
