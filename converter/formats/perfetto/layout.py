"""The layout of a Perfetto trace: numbers of the fields of framing, sequences and bundles.

A trace is one protobuf message ``Trace { repeated TracePacket packet = 1; }``, so a file is records of the form
(0x0A, length, packet) (protos/perfetto/trace/trace.proto). The messages in packets are declared by the `perfetto`
package: see `descriptors`. This module has the field numbers that compiled code needs.
"""

from __future__ import annotations

from enum import IntEnum, unique
from typing import Final

#: First byte of every record of a file: field 1, length-delimited.
PACKET_TAG: Final = 0x0A

#: The field of TracePacket, length-delimited, in which a whole trace is embedded in frames: see `embedding`.
EMBEDDED: Final = 7_267


@unique
class PacketField(IntEnum):
    """Fields of TracePacket (trace_packet.proto)."""

    FTRACE_EVENTS = 1
    PROCESS_TREE = 2
    TRUSTED_UID = 3
    CLOCK_SNAPSHOT = 6
    TIMESTAMP = 8
    TRUSTED_PACKET_SEQUENCE_ID = 10
    TRACK_EVENT = 11
    INTERNED_DATA = 12
    SEQUENCE_FLAGS = 13
    TRACE_CONFIG = 33
    FTRACE_STATS = 34
    TRACE_STATS = 35
    SYNCHRONIZATION_MARKER = 36
    ANDROID_LOG = 39
    PROCESS_DESCRIPTOR = 43
    THREAD_DESCRIPTOR = 44
    SYSTEM_INFO = 45
    COMPRESSED_PACKETS = 50
    STREAMING_PROFILE_PACKET = 54
    TIMESTAMP_CLOCK_ID = 58
    TRACE_PACKET_DEFAULTS = 59
    TRACK_DESCRIPTOR = 60
    PERF_SAMPLE = 66
    SERVICE_EVENT = 69
    EXTENSION_DESCRIPTOR = 72
    TRUSTED_PID = 79
    TRACE_UUID = 89
    GENERIC_KERNEL_TASK_STATE_EVENT = 117
    TRACE_PROVENANCE = 124
    TRACE_ATTRIBUTES = 126
    ZSTD_COMPRESSED_PACKETS = 133


@unique
class SequenceFlag(IntEnum):
    """Bits of TracePacket.sequence_flags."""

    INCREMENTAL_STATE_CLEARED = 1
    NEEDS_INCREMENTAL_STATE = 2


@unique
class BuiltinClock(IntEnum):
    """Clocks that mean the same in every trace (builtin_clock.proto)."""

    REALTIME = 1
    REALTIME_COARSE = 2
    MONOTONIC = 3
    MONOTONIC_COARSE = 4
    MONOTONIC_RAW = 5
    BOOTTIME = 6
    TSC = 9
    PERF = 10
    TRACE_FILE = 11


#: Clock ids in this range belong to the packet sequence that uses them (clock_snapshot.proto).
SEQUENCE_CLOCKS: Final = range(64, 128)


#: A field added to TrackEvent: see `extension`. Its field 1 are annotations.
ARGUMENTS: Final = 3_267
ARGUMENTS_ANNOTATIONS: Final = 1

#: A field added to FtraceEventBundle (importers skip it): the number of lost events, where known.
LOST_COUNT: Final = 1000
#: Another one: for each event with flags or without a thread, the number of other events since the last such one and
#: `2 * common_flags + (1 without a thread)`, as varints. Importers would parse common_flags in an FtraceEvent as an
#: event, and reject events without a pid.
EVENT_NOTES: Final = 1001
#: A field added to PerfSample: the sample is the call stack of a kernel event, which also has it.
OF_KERNEL_EVENT: Final = 1000
#: Where the reader keeps a sequence's PerfSampleDefaults, among its interned data: a number that no such field has.
DEFAULTS_OF_SAMPLES: Final = 0
#: A field added to PerfEvents.Timebase: the unit of its counter.
TIMEBASE_UNIT: Final = 1000
#: A field added to Mapping: its name is not a path, and does not begin with a slash.
NO_PATH: Final = 1000
#: A field added to InternedString of kernel symbols: the distance of the address (the iid) from the function's start.
SYMBOL_DISTANCE: Final = 1000


@unique
class FtraceClock(IntEnum):
    """FtraceEventBundle.ftrace_clock (ftrace_event_bundle.proto)."""

    UNSPECIFIED = 0
    UNKNOWN = 1
    GLOBAL = 2
    LOCAL = 3
    MONO_RAW = 4


@unique
class FtraceField(IntEnum):
    """Fields of FtraceEvent other than typed events, and the first number of described ones (ftrace_event.proto)."""

    TIMESTAMP = 1
    PID = 2
    COMMON_FLAGS = 5
    GENERIC = 327
    #: Events from here on are declared by FtraceEventBundle.generic_event_descriptors.
    FIRST_DESCRIBED = 65536


@unique
class TaskStateField(IntEnum):
    """Fields of GenericKernelTaskStateEvent (generic_task.proto), and this package's own, which importers skip."""

    CPU = 1
    COMM = 2
    TID = 3
    STATE = 4
    PRIO = 5
    #: For the task that gets the CPU: the task that leaves it.
    PREV_TID = 1000
    PREV_COMM = 1001
    PREV_PRIO = 1002
    PREV_STATE = 1003
    #: For the task that leaves the CPU: the next event has all data. For a thread in a state: its track event has.
    IS_DUPLICATE = 1004
    #: For the task that leaves the CPU, if the one that gets it is unknown: its number, instead of another event.
    NEXT_TID = 1005
    NEXT_COMM = 1006
    NEXT_PRIO = 1007


@unique
class TaskState(IntEnum):
    """GenericKernelTaskStateEvent.TaskStateEnum, as far as switches and states have it."""

    UNKNOWN = 0
    RUNNABLE = 2
    RUNNING = 3
    INTERRUPTIBLE_SLEEP = 4
    UNINTERRUPTIBLE_SLEEP = 5
    STOPPED = 6
    DEAD = 7
    DESTROYED = 8


@unique
class InternedField(IntEnum):
    """Fields of InternedData (interned_data.proto): the meaning of iids of a sequence."""

    EVENT_CATEGORIES = 1
    EVENT_NAMES = 2
    DEBUG_ANNOTATION_NAMES = 3
    SOURCE_LOCATIONS = 4
    FUNCTION_NAMES = 5
    FRAMES = 6
    CALLSTACKS = 7
    BUILD_IDS = 16
    MAPPING_PATHS = 17
    SOURCE_PATHS = 18
    MAPPINGS = 19
    KERNEL_SYMBOLS = 26
    DEBUG_ANNOTATION_VALUE_TYPE_NAMES = 27
    DEBUG_ANNOTATION_STRING_VALUES = 29
    CORRELATION_ID_STR = 43


@unique
class TrackEventType(IntEnum):
    """TrackEvent.type (track_event.proto)."""

    UNSPECIFIED = 0
    SLICE_BEGIN = 1
    SLICE_END = 2
    INSTANT = 3
    COUNTER = 4
    STATE = 5


@unique
class AnnotationField(IntEnum):
    """Fields of DebugAnnotation (debug_annotation.proto)."""

    NAME_IID = 1
    BOOL_VALUE = 2
    UINT_VALUE = 3
    INT_VALUE = 4
    DOUBLE_VALUE = 5
    STRING_VALUE = 6
    POINTER_VALUE = 7
    NESTED_VALUE = 8
    LEGACY_JSON_VALUE = 9
    NAME = 10
    DICT_ENTRIES = 11
    ARRAY_VALUES = 12
    PROTO_TYPE_NAME_IID = 13
    PROTO_VALUE = 14
    PROTO_TYPE_NAME = 16
    STRING_VALUE_IID = 17
    #: This package's own, which importers skip: a name with dots. The annotation has the first part as its name and one
    #: entry, which has the next.
    WHOLE_NAME = 1000


@unique
class LegacyField(IntEnum):
    """Fields of TrackEvent.LegacyEvent (track_event.proto)."""

    NAME_IID = 1
    PHASE = 2
    DURATION_US = 3
    THREAD_DURATION_US = 4
    UNSCOPED_ID = 6
    ID_SCOPE = 7
    BIND_ID = 8
    USE_ASYNC_TTS = 9
    LOCAL_ID = 10
    GLOBAL_ID = 11
    BIND_TO_ENCLOSING = 12
    FLOW_DIRECTION = 13
    INSTANT_EVENT_SCOPE = 14
    THREAD_INSTRUCTION_DELTA = 15
    PID_OVERRIDE = 18
    TID_OVERRIDE = 19
    #: This package's own fields, which importers skip: ids that are text, from which the numbers are derived, and
    #: members of JSON events that are not standard.
    ID_TEXT = 1000
    BIND_TEXT = 1001
    MEMBERS = 1002
    #: The duration of a state, in nanoseconds.
    DURATION = 1003
    #: The scope of an id of JSON, where importers go by the category.
    UNUSED_SCOPE = 1004


#: The sidecar's entry of times since which CPUs were recorded: [CPU, time on the trace's clock].
CPU_STARTS: Final = "cpu_starts"

#: Packets from which the trace's tables are built: the message of each.
TABLE_PACKETS: Final[dict[PacketField, str]] = {
    PacketField.PROCESS_TREE: "ProcessTree",
    PacketField.CLOCK_SNAPSHOT: "ClockSnapshot",
    PacketField.PROCESS_DESCRIPTOR: "ProcessDescriptor",
    PacketField.THREAD_DESCRIPTOR: "ThreadDescriptor",
    PacketField.SYSTEM_INFO: "SystemInfo",
    PacketField.TRACK_DESCRIPTOR: "TrackDescriptor",
    PacketField.TRACE_ATTRIBUTES: "TraceAttributes",
}
#: The sidecar's entry of the state of sequences with packets that stay unchanged.
SEQUENCE_STATES: Final = "interned_data"
#: The trace attribute in which this package's writer stores data without a packet field: names and rates of clocks,
#: environment, as JSON.
TRACE_ATTRIBUTE: Final = "traceconv.trace"
