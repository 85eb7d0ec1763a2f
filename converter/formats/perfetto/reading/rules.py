"""The messages that the reader decodes, and the fields of each for which it has a rule.

Other fields, as written by recorders newer than this package, are only in the records: each is counted by its message
when columns of a record are read, since columns do not have it. Records that are copied keep such fields. The messages
of kernel events are not listed here: their fields become columns by their declarations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.annotations import EMPTY_LIST_OF
from converter.formats.perfetto.layout import (
    ARGUMENTS,
    ARGUMENTS_ANNOTATIONS,
    EVENT_NOTES,
    LOST_COUNT,
    NO_PATH,
    OF_KERNEL_EVENT,
    SYMBOL_DISTANCE,
    AnnotationField,
    FtraceField,
    InternedField,
    LegacyField,
    PacketField,
    TaskStateField,
)
from converter.formats.perfetto.protobuf.descriptors import field_name
from converter.formats.perfetto.protobuf.messages import message_type
from converter.formats.perfetto.protobuf.numbers import Numbers
from converter.formats.perfetto.protobuf.scan import (
    DATA,
    DEFAULTS,
    DEFAULTS_SIZE,
    DEFAULTS_START,
    FLAGS,
    FURTHER,
    INTERNED,
    INTERNED_SIZE,
    INTERNED_START,
    SIZE,
    START,
)
from converter.formats.perfetto.reading.kernels.scan_rules import (
    HIGH_NUMBERS,
    MESSAGE,
    NUMBERS,
    READ,
    READ_AS_BYTES,
    fields_without_rule,
)
from converter.formats.perfetto.reading.packets import Window

#: The handling of a field: read in place, or a message of the table.
_Fields = Mapping[int, int | str]
#: Represents all fields that a message does not list.
OTHERS: Final = 0
#: The maximum number of distinct field names; all further ones are counted as one.
_MOST_NAMES: Final = 1000


def _read(*numbers: int) -> _Fields:
    return dict.fromkeys(numbers, READ)


def _interned(message: str, *numbers: InternedField) -> _Fields:
    return dict.fromkeys(numbers, message)


#: Fields of InternedData to which only unchanged packets and fields refer.
_OTHER_INTERNED: Final = (4, 20, 22, 23, 24, 25, 28, 31, 32, 33, 34, 35, 47, 48, 49, 50, 51)
_DATA: Final[_Fields] = {
    PacketField.FTRACE_EVENTS: "FtraceEventBundle",
    PacketField.TRACK_EVENT: "TrackEvent",
    PacketField.ANDROID_LOG: "AndroidLogPacket",
    PacketField.PERF_SAMPLE: "PerfSample",
    PacketField.GENERIC_KERNEL_TASK_STATE_EVENT: "GenericKernelTaskStateEvent",
}
_WITH_DATA: Final = Numbers(*_DATA)
#: By message: the fields that have a rule.
MESSAGES: Final[dict[str, _Fields]] = {
    "TracePacket": {
        **_read(3, 8, 10, 13, 41, 42, 58, 79, 87, 98),
        PacketField.INTERNED_DATA: "InternedData",
        PacketField.TRACE_PACKET_DEFAULTS: "TracePacketDefaults",
        **_DATA,
    },
    "FtraceEventBundle": {
        **_read(*range(1, 11), 512, LOST_COUNT, EVENT_NOTES),
        2: "FtraceEvent",
        4: "FtraceEventBundle.CompactSched",
        11: "FtraceEventBundle.GenericEventDescriptor",
    },
    "FtraceEventBundle.CompactSched": _read(*range(1, 13)),
    "FtraceEventBundle.GenericEventDescriptor": _read(1, 2, 3),
    "FtraceEvent": {
        # All other fields are events.
        OTHERS: READ_AS_BYTES,
        **_read(FtraceField.TIMESTAMP, FtraceField.PID, FtraceField.COMMON_FLAGS),
        FtraceField.GENERIC: "GenericFtraceEvent",
    },
    "GenericFtraceEvent": {1: READ, 2: "GenericFtraceEvent.Field"},
    "GenericFtraceEvent.Field": _read(1, 3, 4, 5),
    "TrackEvent": {
        # Kept unchanged.
        OTHERS: READ,
        4: "DebugAnnotation",
        6: "TrackEvent.LegacyEvent",
        55: "TrackEvent.InlineCallstack",
        ARGUMENTS: "Arguments",
    },
    "Arguments": {ARGUMENTS_ANNOTATIONS: "DebugAnnotation"},
    "TrackEvent.LegacyEvent": _read(*LegacyField),
    "TrackEvent.InlineCallstack": {1: "TrackEvent.InlineCallstack.Frame"},
    "TrackEvent.InlineCallstack.Frame": _read(1, 2, 3),
    "DebugAnnotation": {
        **_read(*AnnotationField),
        AnnotationField.NESTED_VALUE: "DebugAnnotation.NestedValue",
        AnnotationField.DICT_ENTRIES: "DebugAnnotation",
        AnnotationField.ARRAY_VALUES: "DebugAnnotation",
    },
    "DebugAnnotation.NestedValue": {
        **_read(*range(1, 9), EMPTY_LIST_OF),
        3: "DebugAnnotation.NestedValue",
        4: "DebugAnnotation.NestedValue",
    },
    "AndroidLogPacket": {1: "AndroidLogPacket.LogEvent", 2: READ},
    "AndroidLogPacket.LogEvent": _read(*range(1, 10)),
    "PerfSample": _read(*range(1, 8), 16, 17, 18, 19, OF_KERNEL_EVENT),
    "GenericKernelTaskStateEvent": _read(*TaskStateField),
    "InternedData": {
        **_read(*_OTHER_INTERNED),
        **_interned("EventCategory", InternedField.EVENT_CATEGORIES),
        **_interned("EventName", InternedField.EVENT_NAMES),
        **_interned("DebugAnnotationName", InternedField.DEBUG_ANNOTATION_NAMES),
        **_interned(
            "DebugAnnotationValueTypeName", InternedField.DEBUG_ANNOTATION_VALUE_TYPE_NAMES
        ),
        **_interned(
            "InternedString",
            InternedField.DEBUG_ANNOTATION_STRING_VALUES,
            InternedField.CORRELATION_ID_STR,
            InternedField.BUILD_IDS,
            InternedField.MAPPING_PATHS,
            InternedField.SOURCE_PATHS,
            InternedField.FUNCTION_NAMES,
            InternedField.KERNEL_SYMBOLS,
        ),
        **_interned("Mapping", InternedField.MAPPINGS),
        **_interned("Frame", InternedField.FRAMES),
        **_interned("Callstack", InternedField.CALLSTACKS),
    },
    "EventCategory": _read(1, 2),
    "EventName": _read(1, 2),
    "DebugAnnotationName": _read(1, 2),
    "DebugAnnotationValueTypeName": _read(1, 2),
    "InternedString": _read(1, 2, SYMBOL_DISTANCE),
    "Mapping": _read(1, 7, NO_PATH),
    "Frame": _read(*range(1, 7)),
    "Callstack": _read(1, 2),
    "TracePacketDefaults": {
        **_read(58, 99, 100),
        11: "TrackEventDefaults",
        12: "PerfSampleDefaults",
    },
    "TrackEventDefaults": _read(11, 31, 45),
    # The timebase of samples is reported separately.
    "PerfSampleDefaults": _read(*range(1, 5)),
}
_NAMES: Final = tuple(MESSAGES)


@cache
def _tables() -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the rules as `scan_rules` expects them."""
    low = np.zeros((len(MESSAGES), NUMBERS), np.uint8)
    high = np.zeros((len(MESSAGES), HIGH_NUMBERS, 2), np.int32)
    for row, fields in enumerate(MESSAGES.values()):
        low[row] = fields.get(OTHERS, 0)
        further = iter(range(HIGH_NUMBERS))
        for number, said in fields.items():
            code = said if isinstance(said, int) else MESSAGE + _NAMES.index(said)
            if number < NUMBERS:
                low[row, number] = code
            else:
                high[row, next(further)] = number, code
    return low, high


class FieldsWithoutRule:
    """Counts fields without a rule in a pass's records, in `Trace.records_shown`. One object for all passes."""

    def __init__(self, shown: Counter[str]) -> None:
        self._shown = shown
        self._counts: Counter[str] = Counter()
        self._counting = Lock()

    def start(self) -> None:
        """Begin a pass over the events."""
        for what in self._counts:
            del self._shown[what]
        self._counts.clear()

    def count(self, message: str, number: int, times: int) -> None:
        """Count a field of a message, or of a kernel event, that is not read; 0 represents high numbers.

        May be called on any thread: several threads read columns.
        """
        what = _called(message, number)
        with self._counting:
            if len(self._counts) >= _MOST_NAMES and what not in self._counts:
                what = "further fields that no message declares"
            self._counts[what] += times
            self._shown[what] = self._counts[what]

    def note(self, window: Window, stays: NDArray[np.bool_]) -> None:
        """Count such fields in the packets of a window, except in packets that stay unchanged."""
        rows = window.rows
        low, high = _tables()
        # Scanning has shown that the other decoded packets have no such fields.
        all_fields = ((rows[:, FLAGS] & FURTHER) != 0) & _WITH_DATA.isin(rows[:, DATA]) & ~stays
        spans = [(rows[all_fields][:, [START, SIZE]], "TracePacket")]
        for flag, columns, message in _STATE:
            has_state = ((rows[:, FLAGS] & flag) != 0) & ~all_fields & ~stays
            spans.append((rows[has_state][:, columns], message))
        starts = np.concatenate([start for start, _ in spans])
        roots = np.repeat(
            np.array([_NAMES.index(message) for _, message in spans], np.uint8),
            [len(start) for start, _ in spans],
        )
        found = fields_without_rule(
            window.data, starts[:, 0].copy(), starts[:, 1].copy(), roots, low, high
        )
        if len(found):
            keys, times = np.unique(found, return_counts=True)
            for key, count in zip(keys.tolist(), times.tolist(), strict=True):
                self.count(_NAMES[key >> 32], key & 0xFFFF_FFFF, count)


#: The location of a sequence's state outside of events.
_STATE: Final = (
    (INTERNED, [INTERNED_START, INTERNED_SIZE], "InternedData"),
    (DEFAULTS, [DEFAULTS_START, DEFAULTS_SIZE], "TracePacketDefaults"),
)


@cache
def _called(message: str, number: int) -> str:
    """Return a name for a field that is not read: its own if the package declares it."""
    if message_type(message) is not None:
        name = field_name(message, number)
        if name != str(number):
            return f"{name} of {message}"
    field = f"field {number}" if number else "fields of high numbers"
    return f"{field} of {message}, which no message declares"
