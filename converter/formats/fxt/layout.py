"""The binary layout of FXT: words of bit fields, and streams padded to eight bytes.

Declared from the "Fuchsia trace format" reference, section by section in its spelling. A declaration takes about 20 us
for a record, so these parse only rare records (metadata); events go through `converter.formats.fxt.reading.scan` and
`emit`. Tests compare those, and what `writer` builds itself, with these declarations.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Bytes,
    ByteSwapped,
    Construct,
    FocusedSeq,
    If,
    Int64ub,
    Int64ul,
    Padding,
    Struct,
    Switch,
    this,
)

from converter.formats.fxt.record_types import (
    INLINE,
    ArgumentType,
    ByteOrder,
    EventType,
    LargeBlobFormat,
    MetadataType,
    ProfilerType,
    RecordType,
    SchedulingType,
)


class Layout:
    """The declarations in one byte order; it affects only words, not streams."""

    def __init__(self, order: ByteOrder) -> None:
        self.order: ByteOrder = order
        self.u64: Construct[int, int] = Int64ul if order == "little" else Int64ub
        self.argument = self._argument()
        #: By record type and subtype; the subtype is 0 unless it decides the layout of the header (scheduling,
        #: profiler).
        self.records: dict[tuple[int, int], Construct[Any, Any]] = {
            (RecordType.METADATA, 0): self._metadata(),
            (RecordType.INITIALIZATION, 0): self._initialization(),
            (RecordType.STRING, 0): self._string(),
            (RecordType.THREAD, 0): self._thread(),
            (RecordType.EVENT, 0): self._event(),
            (RecordType.BLOB, 0): self._blob(),
            (RecordType.USERSPACE_OBJECT, 0): self._userspace_object(),
            (RecordType.KERNEL_OBJECT, 0): self._kernel_object(),
            **self._scheduling(),
            (RecordType.LOG, 0): self._log(),
            **self._profiler(),
            (RecordType.LARGE, 0): self._large(),
        }

    def word(self, *fields: tuple[str, int]) -> Construct[Any, Any]:
        """Return a word of bit fields, least significant first; those with an empty name are reserved."""
        parts = [
            name / BitsInteger(bits) if name else Padding(bits) for name, bits in reversed(fields)
        ]
        assert sum(bits for _, bits in fields) == 64
        declared = BitStruct(*parts)
        return ByteSwapped(declared) if self.order == "little" else declared

    def header(self, *fields: tuple[str, int]) -> Construct[Any, Any]:
        """Return a record's header: type, size in words, and 48 bits of fields."""
        return self.word(("type", 4), ("size", 12), *fields)

    def parse(self, data: bytes) -> Any:
        """Return the record at the start of `data` as a container of its fields."""
        header = int.from_bytes(data[:8], self.order)
        kind = header & 15
        subtype = 0
        if kind == RecordType.SCHEDULING:
            subtype = header >> 60
        elif kind == RecordType.PROFILER:
            subtype = (header >> 16) & 15
        return self.records[kind, subtype].parse(data)

    def build(self, kind: RecordType, fields: dict[str, Any], subtype: int = 0) -> bytes:
        """Return the bytes of a record; types and sizes of the record and its arguments are filled in."""
        arguments = []
        for argument in fields.get("arguments", ()):
            header = {**argument["header"], "size": 0}
            size = len(self.argument.build({**argument, "header": header})) // 8
            arguments.append({**argument, "header": {**header, "size": size}})
        header = {**fields["header"], "type": int(kind), "size": 0}
        filled = {**fields, "arguments": arguments, "header": header}
        declared = self.records[kind, subtype]
        size = len(declared.build(filled)) // 8
        return bytes(declared.build({**filled, "header": {**header, "size": size}}))

    # Parts

    def _references(self) -> tuple[Construct[Any, Any], Construct[Any, Any]]:
        """Return process and thread koid, present if the header's thread reference says that they are inline."""
        absent = this.header.thread == 0
        return "process" / If(absent, self.u64), "thread" / If(absent, self.u64)

    def _argument(self) -> Construct[Any, Any]:
        value = this.header.value
        one_word = If(True, self.u64)
        return Struct(
            "header" / self.word(("type", 4), ("size", 12), ("name", 16), ("value", 32)),
            "name" / inline(this.header.name),
            "value"
            / Switch(
                this.header.type,
                {
                    ArgumentType.INT64: one_word,
                    ArgumentType.UINT64: one_word,
                    ArgumentType.DOUBLE: one_word,
                    ArgumentType.POINTER: one_word,
                    ArgumentType.KOID: one_word,
                    ArgumentType.STRING: inline(value & 0xFFFF),
                    ArgumentType.BLOB: stream(value),
                },
                # For types that the specification does not have: everything after the name.
                default=If(this.header.type > ArgumentType.BLOB, Bytes(_rest_of_argument)),
            ),
        )

    def _arguments(self) -> Construct[Any, Any]:
        return "arguments" / Array(this.header.arguments, self.argument)

    # Records

    def _metadata(self) -> Construct[Any, Any]:
        """Return provider info, section, event and trace info: `data` is the event's ID or the name's length."""
        return Struct(
            "header" / self.header(("metadata_type", 4), ("id", 32), ("data", 8), ("", 4)),
            "name"
            / If(this.header.metadata_type == MetadataType.PROVIDER_INFO, stream(this.header.data)),
        )

    def _initialization(self) -> Construct[Any, Any]:
        """Return an initialization record. `more` are words that some tracers append, first a tick and its wall-clock
        time (ns).
        """
        return Struct(
            "header" / self.header(("", 48)),
            "ticks_per_second" / self.u64,
            "more" / Array(lambda c: c.header.size - 2 if c.header.size else len(c.more), self.u64),
        )

    def _string(self) -> Construct[Any, Any]:
        return Struct(
            "header" / self.header(("index", 15), ("", 1), ("length", 15), ("", 17)),
            "value" / stream(this.header.length),
        )

    def _thread(self) -> Construct[Any, Any]:
        return Struct(
            "header" / self.header(("index", 8), ("", 40)),
            "process" / self.u64,
            "thread" / self.u64,
        )

    def _event(self) -> Construct[Any, Any]:
        tailed = (this.header.event_type == EventType.COUNTER) | (
            this.header.event_type >= EventType.DURATION_COMPLETE
        )
        return Struct(
            "header"
            / self.header(
                ("event_type", 4), ("arguments", 4), ("thread", 8), ("category", 16), ("name", 16)
            ),
            "timestamp" / self.u64,
            *self._references(),
            "category" / inline(this.header.category),
            "name" / inline(this.header.name),
            self._arguments(),
            "tail" / If(tailed, self.u64),
        )

    def _blob(self) -> Construct[Any, Any]:
        return Struct(
            "header"
            / self.header(("name", 16), ("length", 15), ("", 1), ("blob_type", 8), ("", 8)),
            "name" / inline(this.header.name),
            "payload" / stream(this.header.length),
        )

    def _userspace_object(self) -> Construct[Any, Any]:
        return Struct(
            "header" / self.header(("thread", 8), ("name", 16), ("arguments", 4), ("", 20)),
            "pointer" / self.u64,
            "process" / If(this.header.thread == 0, self.u64),
            "name" / inline(this.header.name),
            self._arguments(),
        )

    def _kernel_object(self) -> Construct[Any, Any]:
        return Struct(
            "header" / self.header(("object_type", 8), ("name", 16), ("arguments", 4), ("", 20)),
            "koid" / self.u64,
            "name" / inline(this.header.name),
            self._arguments(),
        )

    def _scheduling(self) -> dict[tuple[int, int], Construct[Any, Any]]:
        legacy = Struct(
            "header"
            / self.header(
                ("cpu", 8),
                ("outgoing_state", 4),
                ("outgoing", 8),
                ("incoming", 8),
                ("outgoing_priority", 8),
                ("incoming_priority", 8),
                ("scheduling_type", 4),
            ),
            "timestamp" / self.u64,
            "outgoing_process" / If(this.header.outgoing == 0, self.u64),
            "outgoing_thread" / If(this.header.outgoing == 0, self.u64),
            "incoming_process" / If(this.header.incoming == 0, self.u64),
            "incoming_thread" / If(this.header.incoming == 0, self.u64),
        )
        switch = Struct(
            "header"
            / self.header(
                ("arguments", 4),
                ("cpu", 16),
                ("outgoing_state", 4),
                ("", 20),
                ("scheduling_type", 4),
            ),
            "timestamp" / self.u64,
            "outgoing_thread" / self.u64,
            "incoming_thread" / self.u64,
            self._arguments(),
        )
        wakeup = Struct(
            "header" / self.header(("arguments", 4), ("cpu", 16), ("", 24), ("scheduling_type", 4)),
            "timestamp" / self.u64,
            "waking_thread" / self.u64,
            self._arguments(),
        )
        return {
            (RecordType.SCHEDULING, SchedulingType.LEGACY_CONTEXT_SWITCH): legacy,
            (RecordType.SCHEDULING, SchedulingType.CONTEXT_SWITCH): switch,
            (RecordType.SCHEDULING, SchedulingType.THREAD_WAKEUP): wakeup,
        }

    def _log(self) -> Construct[Any, Any]:
        return Struct(
            "header" / self.header(("length", 15), ("", 1), ("thread", 8), ("", 24)),
            "timestamp" / self.u64,
            *self._references(),
            "message" / stream(this.header.length),
        )

    def _profiler(self) -> dict[tuple[int, int], Construct[Any, Any]]:
        common = (("profiler_type", 4), ("thread", 8))
        start = ("timestamp" / self.u64, *self._references())
        module = Struct(
            "header"
            / self.header(
                *common, ("module_id", 16), ("name_length", 8), ("build_id_length", 8), ("", 4)
            ),
            *start,
            "name" / stream(this.header.name_length),
            "build_id" / stream(this.header.build_id_length),
        )
        mmap = Struct(
            "header" / self.header(*common, ("module_id", 16), ("flags", 3), ("", 17)),
            *start,
            "start_address" / self.u64,
            "range" / self.u64,
            "vaddr" / self.u64,
        )
        backtrace = Struct(
            "header" / self.header(*common, ("frames", 8), ("", 28)),
            *start,
            "frames" / Array(this.header.frames, self.u64),
        )
        return {
            (RecordType.PROFILER, ProfilerType.MODULE): module,
            (RecordType.PROFILER, ProfilerType.MMAP): mmap,
            (RecordType.PROFILER, ProfilerType.BACKTRACE): backtrace,
        }

    def _large(self) -> Construct[Any, Any]:
        with_metadata = this.header.blob_format == LargeBlobFormat.WITH_METADATA
        inline_thread = with_metadata & (this.format.thread == 0)
        return Struct(
            "header"
            / self.word(("type", 4), ("size", 32), ("large_type", 4), ("blob_format", 4), ("", 20)),
            "format"
            / self.word(("category", 16), ("name", 16), ("arguments", 4), ("thread", 8), ("", 20)),
            "category" / inline(this.format.category),
            "name" / inline(this.format.name),
            "timestamp" / If(with_metadata, self.u64),
            "process" / If(inline_thread, self.u64),
            "thread" / If(inline_thread, self.u64),
            "arguments" / If(with_metadata, Array(this.format.arguments, self.argument)),
            "payload_size" / self.u64,
            "payload" / stream(this.payload_size),
        )


@cache
def layout(order: ByteOrder) -> Layout:
    """Return the cached declarations in a byte order."""
    return Layout(order)


def stream(length: Any) -> Construct[Any, Any]:
    """Return bytes padded with zeros to a multiple of eight ("Atoms")."""

    def size(context: Any) -> int:
        # Within the sequence, the record's own fields are one level up.
        return int(length(context._)) if callable(length) else int(length)

    return FocusedSeq("data", "data" / Bytes(size), Padding(lambda c: -size(c) % 8))


def inline(reference: Any) -> Construct[Any, Any]:
    """Return the stream of a string whose reference says that it is inline ("String references")."""
    return If(reference & INLINE, stream(reference & 0x7FFF))


def _rest_of_argument(context: Any) -> int:
    if not context.header.size:
        return len(context["value"])
    name = int(context.header.name)
    size = int(context.header.size)
    return (size - 1) * 8 - (-(-(name & 0x7FFF) // 8) * 8 if name & INLINE else 0)
