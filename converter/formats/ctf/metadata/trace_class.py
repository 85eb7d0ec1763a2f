"""The classes that CTF metadata declares: trace, clocks, data streams and event records (CTF2-SPEC-2.0, "Metadata").

A `TraceClass` is what the parsers of both metadata versions return, and what the printers of both accept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from converter.errors import TraceError
from converter.formats.ctf.metadata.field_classes import ByteOrder, Structure

#: The last minor version of CTF 1.
MINOR_VERSION: Final = 8
#: LTTng's names for log levels, by their CTF 1.8 number (lttng/ust-events.h; lttng-tools, CTF 2 output).
LOG_LEVELS: Final = (
    "emergency",
    "alert",
    "critical",
    "error",
    "warning",
    "notice",
    "info",
    "debug:system",
    "debug:program",
    "debug:process",
    "debug:module",
    "debug:unit",
    "debug:function",
    "debug:line",
    "debug",
)
#: The CTF 2 attribute that holds the unknown attributes from TSDL.
TSDL_ATTRIBUTES: Final = "traceconv"


@dataclass(slots=True)
class ClockClass:
    """A clock: its value `v` is ``offset_seconds + (offset_cycles + v) / frequency`` seconds after its origin.

    All integers, so that times are exact.
    """

    name: str
    frequency: int = 1_000_000_000
    offset_seconds: int = 0
    offset_cycles: int = 0
    #: The origin is 1970-01-01 (CTF 2: "unix-epoch"; CTF 1.8: LTTng's and most offsets are, whatever `absolute` says).
    unix_epoch: bool = False
    #: CTF 2: the namespace within which `name` is unique.
    namespace: str = ""
    #: CTF 2: another origin, as (namespace, name, uid).
    origin: tuple[str | None, str, str] | None = None
    uid: str = ""
    description: str = ""
    precision: int | None = None
    accuracy: int | None = None
    #: CTF 2: the clock class's id, which stream classes refer to.
    id: str = ""

    @property
    def offset_ticks(self) -> int:
        """The ticks from the origin to the clock's zero."""
        return self.offset_seconds * self.frequency + self.offset_cycles


@dataclass(slots=True)
class EventRecordClass:
    """A class of event records. `id` is unique in its stream class."""

    id: int
    name: str = ""
    #: LTTng's log level, as the number of CTF 1.8 or the text of CTF 2.
    log_level: int | str | None = None
    model_uri: str = ""
    specific_context: Structure | None = None
    payload: Structure | None = None
    #: CTF 2: namespace, uid, attributes and extensions as the metadata has them; CTF 1.8: unknown attributes.
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class StreamClass:
    """A class of data streams. `clock` is the name (CTF 1.8) or id (CTF 2) of its default clock class."""

    id: int = 0
    name: str = ""
    clock: str = ""
    packet_context: Structure | None = None
    event_header: Structure | None = None
    common_context: Structure | None = None
    events: dict[int, EventRecordClass] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class TraceClass:
    """The contents of a trace's metadata."""

    #: (major, minor): (1, 8) or (2, 0).
    version: tuple[int, int] = (1, 8)
    byte_order: ByteOrder = "little"
    uuid: UUID | None = None
    name: str = ""
    uid: str = ""
    namespace: str = ""
    environment: dict[str, str | int] = field(default_factory=dict)
    packet_header: Structure | None = None
    clocks: dict[str, ClockClass] = field(default_factory=dict)
    streams: dict[int, StreamClass] = field(default_factory=dict)
    #: The number of things with attributes that are not kept.
    other_attributes: int = 0
    #: Accepted oddities: (line, column, text).
    remarks: list[tuple[int, int, str]] = field(default_factory=list)
    #: Defects of the metadata that leave everything readable.
    tolerated: list[TraceError] = field(default_factory=list)
