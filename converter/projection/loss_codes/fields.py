"""Losses of the types of events, of their fields, and of the values of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.projection.loss_codes.entry import Extent, LossClass, LossCode, LossKind

FIELDS: Final[Mapping[str, LossCode]] = {
    # Whole events
    "event-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event is|events are} missing: {items}",
        "{event}",
        extent=Extent.EVENTS,
    ),
    "event-as": LossCode(
        LossKind.LOWERED,
        "{count} {event has|events have} another type: {items}",
        "{event} as {shown}",
        extent=Extent.FIELDS,
    ),
    "value-on-its-own": LossCode(
        LossKind.LOWERED,
        "{count} {event|events} with several values {is|are} one event for each value: {items}",
        "{event}",
        extent=Extent.FIELDS,
    ),
    "event-renamed": LossCode(
        LossKind.CHANGED,
        "{count} {event has|events have} another name: {items}",
        "{event} as {shown}",
        extent=Extent.FIELDS,
    ),
    "event-name-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event is|events are} without {its name|their names}, as the format says what "
        "{it is|they are} in another way: {items}",
        "{event}",
        LossClass.DETAIL,
        Extent.FIELDS,
    ),
    "event-name-of-format": LossCode(
        LossKind.CHANGED,
        "{count} {event has the name|events have the names} that the kernel's own tools use: {items}",
        "{event} as {shown}",
        LossClass.DETAIL,
        Extent.FIELDS,
    ),
    "time-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event is|events are} without a time: {items}",
        "{event}",
    ),
    "time-added": LossCode(
        LossKind.CHANGED,
        "{count} {event|events} without a time {has|have} that of the event before: {items}",
        "{event}",
        LossClass.KEPT,
    ),
    # Fields
    "field-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event lacks a field|events lack a field}: {items}",
        "'{field}' of {event}",
    ),
    "field-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {event has a field|events have fields} that viewers do not show: {items}",
        "'{field}' of {event}",
    ),
    "list-elements-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {event has a list of which|events have lists of which} viewers show the last element "
        "only: {items}",
        "'{field}' of {event}",
    ),
    "empty-field-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {event has a field|events have fields} without a value, which viewers do not show: "
        "{items}",
        "'{field}' of {event}",
    ),
    "bytes-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {event has a binary field|events have binary fields} of which viewers show only that "
        "{it is|they are} there: {items}",
        "'{field}' of {event}",
    ),
    "field-renamed": LossCode(
        LossKind.CHANGED,
        "{count} {event has a field|events have a field} of another name: {items}",
        "'{field}' of {event} as '{shown}'",
        extent=Extent.FIELDS,
    ),
    "argument-name-shown-as": LossCode(
        LossKind.CHANGED,
        "{count} {event has an argument|events have an argument} that viewers show under another name: "
        "{items}",
        "'{field}' of {event} as '{shown}'",
    ),
    "field-name-of-format": LossCode(
        LossKind.RETYPED,
        "{n} {n:field has|fields have} the {n:name|names} of the output format: {items}",
        "'{field}' as '{shown}'",
        extent=Extent.FIELDS,
    ),
    "field-as-text": LossCode(
        LossKind.LOWERED,
        "{n} {n:field is|fields are} text in {count} {event|events}: {items}",
        "'{field}' of {event}",
        extent=Extent.FIELDS,
    ),
    "field-type": LossCode(
        LossKind.RETYPED,
        "{n} {n:field has|fields have} another declared type, with the same values: {items}",
        "'{field}' of {event}",
        extent=Extent.FIELDS,
    ),
    "field-unit": LossCode(
        LossKind.RETYPED,
        "{n} {n:field lacks its unit|fields lack their units}: {items}",
        "'{field}' of {event}",
        extent=Extent.FIELDS,
        keeps="units",
    ),
    "field-meaning": LossCode(
        LossKind.RETYPED,
        "{n} {n:field is a plain argument|fields are plain arguments} (the output does not say what "
        "{n:it means|they mean}): {items}",
        "'{field}' of {event}",
        extent=Extent.FIELDS,
    ),
    "field-order": LossCode(
        LossKind.RETYPED,
        "{count} {event has its|events have their} fields in another order: {items}",
        "{event}",
        extent=Extent.FIELDS,
    ),
    "field-added": LossCode(
        LossKind.RETYPED,
        "{count} {event has a field|events have fields} that the input lacks, which {is|are} zero or "
        "empty: {items}",
        "{event}",
        extent=Extent.FIELDS,
    ),
    "trailing-data": LossCode(
        LossKind.DROPPED,
        "{count} {event lacks|events lack} data of the recorder after the fields: {items}",
        "{event}",
        LossClass.DETAIL,
        Extent.FIELDS,
    ),
    "duration-without-length": LossCode(
        LossKind.DROPPED,
        "{count} {event lacks|events lack} a duration or CPU time that viewers of the input do not show either: "
        "{items}",
        "'{field}' of {event}",
        LossClass.DETAIL,
    ),
    "nested-fields": LossCode(
        LossKind.LOWERED,
        "{count} {event has|events have} the members of structures and arrays as separate fields: "
        "{items}",
        "{event}",
        LossClass.DETAIL,
        Extent.FIELDS,
    ),
    "optional-fields": LossCode(
        LossKind.LOWERED,
        "{count} {event|events} with optional fields {has|have} different types by which of these are "
        "set: {items}",
        "{event}",
        LossClass.DETAIL,
        Extent.FIELDS,
    ),
    "arguments-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {event has its|events have their} first {limit} arguments only: {items}",
        "{event}",
    ),
    "arguments-in-instants": LossCode(
        LossKind.LOWERED,
        '{count} {event has|events have} more than {limit} arguments; the others are on instants "... '
        '(continued)" right after: {items}',
        "{event}",
        LossClass.SHOWN,
    ),
    "function-names": LossCode(
        LossKind.DROPPED,
        "{count} {event has|events have} addresses without the names of functions: {items}",
        "'{field}' of {event}",
        keeps="symbols",
    ),
    # Values
    "text-cut": LossCode(
        LossKind.TRUNCATED,
        "{count} {text is|texts are} cut: {items}",
        "'{field}' of {event} after {limit:,} bytes",
    ),
    "text-cut-for-viewer": LossCode(
        LossKind.TRUNCATED,
        "{count} {text is|texts are} cut to what the viewer's buffers hold: {items}",
        "'{field}' of {event}",
    ),
    "text-cut-at-nul": LossCode(
        LossKind.TRUNCATED,
        "{count} {text ends|texts end} at {its|their} first NUL byte: {items}",
        "'{field}' of {event}",
    ),
    "text-not-utf8": LossCode(
        LossKind.CHANGED,
        "{count} {text has|texts have} bytes that are not UTF-8, each of which is U+FFFD: {items}",
        "'{field}' of {event}",
    ),
    "bytes-cut": LossCode(
        LossKind.TRUNCATED,
        "{count} binary {value is|values are} cut: {items}",
        "'{field}' of {event} after {limit:,} bytes",
    ),
    "list-cut": LossCode(
        LossKind.TRUNCATED,
        "{count} {list is|lists are} cut: {items}",
        "'{field}' of {event} after {limit:,} elements",
    ),
    "number-out-of-range": LossCode(
        LossKind.CHANGED,
        "{count} {number does|numbers do} not fit the output's type and {has another value|have other "
        "values}: {items}",
        "'{field}' of {event} as {type}",
    ),
    "id-text-as-number": LossCode(
        LossKind.CHANGED,
        "{count} {id|ids} that {is|are} text {is a number|are numbers}: {items}",
        "'{field}' of {event}",
    ),
    "flag-names": LossCode(
        LossKind.CHANGED,
        "{count} {event has a number|events have numbers} in place of the names of flags: {items}",
        "'{field}' of {event}",
    ),
    "syscall-arguments-cut": LossCode(
        LossKind.TRUNCATED,
        "{count} system {call has its|calls have their} first 6 arguments only: {items}",
        "{event}",
    ),
    "address-invalid": LossCode(
        LossKind.CHANGED,
        "{count} {text|texts} in place of {an address is|addresses are} written as zeros: {items}",
        "'{field}' of {event}",
    ),
    "address-as-number": LossCode(
        LossKind.RETYPED,
        "{count} IPv4 {address is a number|addresses are numbers}, as the format declares it: {items}",
        "'{field}' of {event}",
    ),
    "address-zero-named": LossCode(
        LossKind.CHANGED,
        "{count} {event|events} at address 0 {is|are} shown as tracing_mark_write: {items}",
        "{event}",
        LossClass.DETAIL,
    ),
    "marker-line-end-removed": LossCode(
        LossKind.CHANGED,
        "{count} {marker|markers} no longer {ends|end} with an end of line",
        loss_class=LossClass.DETAIL,
    ),
    "marker-function-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {marker does not|markers do not} say the address of the function that wrote {it|them}",
        loss_class=LossClass.DETAIL,
    ),
}
