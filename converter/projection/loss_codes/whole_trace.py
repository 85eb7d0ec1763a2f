"""Losses of the trace as a whole: its clock, facts about the recording, native data, merging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.projection.loss_codes.entry import Extent, LossClass, LossCode, LossKind

WHOLE_TRACE: Final[Mapping[str, LossCode]] = {
    # The clock
    "clock-rate-unknown": LossCode(
        LossKind.CHANGED,
        "The rate of the clock '{clock}' is not known: one tick is shown as one nanosecond",
    ),
    "clock-name": LossCode(
        LossKind.DROPPED,
        "The name of the clock is missing: {items}",
        "'{clock}'",
        LossClass.DETAIL,
        keeps="clock_names",
    ),
    "other-clocks": LossCode(
        LossKind.DROPPED,
        "{count} other {clock|clocks} that the input relates to its own {is|are} missing",
        loss_class=LossClass.DETAIL,
        keeps="other_clocks",
    ),
    "times-rounded": LossCode(
        LossKind.CHANGED,
        "Times are rounded down from ticks of {rate} to nanoseconds",
        keeps="clock_rates",
    ),
    "times-rounded-by-viewers": LossCode(
        LossKind.CHANGED,
        "Viewers round ticks of {rate} to nanoseconds otherwise than those of the input: times may be a nanosecond "
        "apart, or more the later they are",
    ),
    "times-in-nanoseconds": LossCode(
        LossKind.RETYPED,
        "Times are nanoseconds, not ticks of {rate}",
        keeps="clock_rates",
    ),
    "times-between-units": LossCode(
        LossKind.CHANGED,
        "{count} {event is|events are} at times that are rounded down to multiples of {unit:,} ns",
    ),
    "times-moved": LossCode(
        LossKind.CHANGED,
        "All times are {seconds:,} s earlier, because viewers round times this late (traceconv reads "
        "them as they were)",
    ),
    "time-beyond-63-bits": LossCode(
        LossKind.CHANGED,
        "{count} {event is|events are} at the latest time that 63 bits of nanoseconds hold",
    ),
    "time-before-zero": LossCode(
        LossKind.CHANGED,
        "{count} {event|events} before time 0 {is|are} at 0, and slices lack what is before",
        keeps="negative_times",
    ),
    "time-too-late": LossCode(
        LossKind.CHANGED,
        "{count} {event is|events are} at the latest time that viewers accept, counted from 1970",
    ),
    "wall-clock-dropped": LossCode(
        LossKind.DROPPED,
        "The date and time of the recording are missing: times count from the clock's zero",
        keeps="epoch",
    ),
    "wall-clock-unshown": LossCode(
        LossKind.UNSHOWN,
        "The date and time of the recording are in the file, but viewers do not show them",
    ),
    "wall-clock-too-late": LossCode(
        LossKind.DROPPED,
        "The date of the recording, after the year 2116, is missing",
    ),
    "wall-clock-before-1970": LossCode(
        LossKind.CHANGED,
        "Viewers do not show the date of the recording, which is before 1970",
    ),
    "wall-clock-rounded": LossCode(
        LossKind.CHANGED,
        "Viewers show dates and times to {unit} only",
    ),
    # The recording
    "environment": LossCode(
        LossKind.DROPPED,
        "{count} {fact|facts} about the machine and the recorder {is|are} missing: host, kernel, tool",
        loss_class=LossClass.KEPT,
        keeps="environment",
    ),
    "recording-record-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {record|records} about the recording itself {is|are} missing: {items}",
        "{event}",
        LossClass.DETAIL,
    ),
    "native-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {record|records} that only {format} has {is|are} missing: {items}",
        "{name}",
        extent=Extent.EVENTS,
    ),
    "native-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {record|records} that only {format} has {is|are} not shown: {items}",
        "{name}",
        extent=Extent.EVENTS,
    ),
    "native-big-endian": LossCode(
        LossKind.DROPPED,
        "{count} big-endian {record|records} of unknown layout {is|are} missing: {items}",
        "{name}",
    ),
    "native-thread": LossCode(
        LossKind.CHANGED,
        "{count} {record|records} of unknown layout {has the old number of its thread|have the old "
        "numbers of their threads}: {items}",
        "{name}",
    ),
    "native-data": LossCode(
        LossKind.DROPPED,
        "{n} {n:item|items} of native data that only tools of the input's format read {n:is|are} "
        "missing: {items}",
        "'{name}' of {format}",
        LossClass.DETAIL,
        Extent.OTHER,
    ),
    "native-data-shown": LossCode(
        LossKind.DROPPED,
        "{count} {item|items} that viewers of the input show {is|are} missing: {items}",
        "{name} of {format}",
    ),
    "native-data-detail": LossCode(
        LossKind.DROPPED,
        "{count} {item|items} that only tools of the input's format show {is|are} missing: {items}",
        "{name} of {format}",
        LossClass.DETAIL,
    ),
    "record-field": LossCode(
        LossKind.DROPPED,
        "{count} {value|values} in records of {format} {is|are} missing, which no event has: {items}",
        "{name}",
    ),
    "hidden-event-unhidden": LossCode(
        LossKind.CHANGED,
        "{count} {event|events} that viewers of the input hide {is|are} shown: {items}",
        "{name}",
    ),
    "sequence-texts": LossCode(
        LossKind.DROPPED,
        "{count} {event lacks|events lack} texts that other packets of the same sequence define",
    ),
    "event-without-sequence": LossCode(
        LossKind.DROPPED,
        "{count} track {event is|events are} missing, as the start of {its|their} packet sequence is",
        extent=Extent.EVENTS,
    ),
    "json-metadata-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {member|members} of the input's metadata {is|are} not listed among the facts about the "
        "recording",
    ),
    "log-field-added": LossCode(
        LossKind.RETYPED,
        "{count} {event has|events have} a tag or priority that log entries need: {items}",
        "'{field}' of {event}",
    ),
    "file-bytes": LossCode(
        LossKind.DROPPED,
        "The bytes of the input's files other than events are missing",
        loss_class=LossClass.DETAIL,
    ),
    "file-layout": LossCode(
        LossKind.DROPPED,
        "The layout of the input's files is missing, of which the output has the events only: {items}",
        "{part}",
    ),
    # Metadata of CTF
    "ctf-attribute": LossCode(
        LossKind.DROPPED,
        "{count} {attribute|attributes} of the input's metadata {is|are} missing: {items}",
        "{attribute} of {owner}",
        LossClass.DETAIL,
    ),
    "ctf-attribute-shown": LossCode(
        LossKind.DROPPED,
        "{count} {attribute|attributes} of the input's metadata that viewers show {is|are} missing: "
        "{items}",
        "{attribute} of {owner}",
    ),
    "ctf-stream-layout": LossCode(
        LossKind.CHANGED,
        "Data streams have another layout: the order of fields, the bounds of packets",
        loss_class=LossClass.DETAIL,
    ),
    "ctf-declaration": LossCode(
        LossKind.DROPPED,
        "{count} {declaration|declarations} of fields that CTF 1.8 does not have {is|are} missing: "
        "{items}",
        "{declaration}",
        LossClass.DETAIL,
    ),
    "ctf-ascii": LossCode(
        LossKind.RETYPED,
        "{count} {field is|fields are} declared as UTF-8, not ASCII",
    ),
    "ctf-packet-thread": LossCode(
        LossKind.CHANGED,
        "Threads that packets name are in the fields vtid and procname of events",
        loss_class=LossClass.KEPT,
    ),
    "ctf-told-thread": LossCode(
        LossKind.CHANGED,
        "Threads that other events name are contexts of all events: their process, ID and name",
        loss_class=LossClass.KEPT,
    ),
    "ctf-packet-field": LossCode(
        LossKind.CHANGED,
        "{count} {field|fields} of packets {is|are} among the contexts of each event",
    ),
    "ctf-key-field": LossCode(
        LossKind.CHANGED,
        "{count} {array or variant has|arrays or variants have} a further field before {it|them}, with the length or "
        "the selected option",
    ),
    "ctf-flag-names": LossCode(
        LossKind.CHANGED,
        "{count} {field of flags is a number|fields of flags are numbers}, as CTF 1.8 has no names of "
        "flags",
    ),
    "ctf-text-length": LossCode(
        LossKind.CHANGED,
        "{count} {text has|texts have} no field with the length before it",
    ),
    "ctf-trace-program": LossCode(
        LossKind.CHANGED,
        "The events of {count} {trace|traces} have the host and program of the first trace",
    ),
    "ctf-plain-fields": LossCode(
        LossKind.CHANGED,
        "{count} {field is|fields are} declared by plainer ones in CTF 1.8: booleans by numbers, optional fields by "
        "variants, blobs by arrays",
    ),
    # Merging
    "merge-parent-differs": LossCode(
        LossKind.CHANGED,
        "{n} {n:process has|processes have} another parent in one input than in another: {items}",
        "{parent} of process {pid} in {input}",
    ),
    "merge-command-line-differs": LossCode(
        LossKind.CHANGED,
        "{n} {n:process has|processes have} another command line in one input than in another: {items}",
        "process {pid} in {input}",
    ),
    "merge-name-differs": LossCode(
        LossKind.CHANGED,
        "{n} {n:process or thread has|processes or threads have} another name in one input than in "
        "another: {items}",
        "{what} {id} is '{shown}', not '{name}' as in {input}",
    ),
    "merge-clock-unknown": LossCode(
        LossKind.CHANGED,
        "The rate of the clock of {n} {n:input|inputs} is not known: one tick is shown as one "
        "nanosecond: {items}",
        "{input}",
    ),
    "merge-times-rounded": LossCode(
        LossKind.CHANGED,
        "Times of {n} {n:input|inputs} are rounded down: {items}",
        "{input} from {was} to {shown}",
    ),
    "merge-ids-moved": LossCode(
        LossKind.CHANGED,
        "The ids of processes and threads of {n} {n:machine|machines} are higher, to tell them from "
        "others: {items}",
        "{machine} by {by:,}",
    ),
    "merge-cpus-moved": LossCode(
        LossKind.CHANGED,
        "The CPUs of {n} {n:machine|machines} have other numbers, to tell them from others: {items}",
        "{machine} from CPU {first} on",
    ),
}
