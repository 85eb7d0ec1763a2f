"""The mapping of perf.data: attributes and records to event classes, and what is kept for writing the file again.

An attribute is a class. One that is no tracepoint is of `Kind.SAMPLE`, named as perf prints the event, with the fields
`FRAMES`, `weight` (its period, if known) and then those of `sample_fields`. A tracepoint has the kind and the fields
that its format says, as from trace.dat; `sample_fields` follow as context, and `CALLSTACK` with the frames.

The kernel's other records are classes of category "perf", named as their `RecordType` in lower case, with the fields of
`layout.RECORDS`: see `record_class`. One without a time (those that perf itself makes of what was running before) is
of the same class with `timed=False`. Records that nothing here describes, or that are damaged, are of `native_class`:
the payload is the whole record. Of perf's own records AUXTRACE is a native one, with its data.

The sidecar "perf" of a trace has, as JSON-like values and bytes:

    version      1 or 2
    big_endian   True or False
    pipe         True if it is what perf writes into a pipe
    attributes   a list of {"attr": bytes of perf_event_attr, "ids": numbers, "name": text, empty if unknown}
    features     a list of [bit, bytes], in ascending order of the bits: parts of the header, or FEATURE records' bytes
    tracing      the bytes of TRACING_DATA, empty if there are none; also in `features` of a file
    records      bytes: perf's own records but those above, rounds, samples' and compressed ones; each whole, in order

    context      with `Trace.keep_records`: the records so far of the types in `CONTEXT_RECORDS`, each as bytes

and, while the input is open, "source": the input as it is. With `Trace.keep_records`, batches have `native` records of
format "perf": `data` are whole records, in the order of the events.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

from converter.formats.perf.data.attributes import Attribute
from converter.formats.perf.data.layout import (
    BRANCH_HW_INDEX,
    MMAP2_BUILD_ID,
    RECORDS,
    EventType,
    Record,
    RecordType,
    SampleType,
)
from converter.formats.perf.event_names import CLOCK_EVENTS
from converter.formats.perf.fields import CATEGORY
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    Member,
    StringClass,
    StructureClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.projection.domain import linux_tracepoints
from converter.projection.timeline_fields import CALLSTACK, FRAMES, weight

#: The kinds of the events of recordings.
KINDS: Final = linux_tracepoints.KINDS | {
    Kind.TYPED,
    Kind.MARK,
    Kind.LOG,
    Kind.SAMPLE,
    Kind.MAPPING,
    Kind.DISCARDED,
    Kind.NATIVE,
}
#: The mapping of the kernel's functions, as perf names it.
KERNEL: Final = "[kernel.kallsyms]"

_U64: Final = IntegerClass(64)
_HEXADECIMAL: Final = IntegerClass(64, style=Style.HEXADECIMAL)
_WORDS: Final = ArrayClass(_HEXADECIMAL)
_PAYLOAD: Final = Field("payload", BytesClass(), Role.PAYLOAD)
#: A branch: where it was, where it led, and the bits of `perf_branch_entry`.
BRANCH: Final = StructureClass(
    (Member("from", _HEXADECIMAL), Member("to", _HEXADECIMAL), Member("flags", _HEXADECIMAL))
)


#: Records without which others mean less: what was mapped, and what tasks are called.
CONTEXT_RECORDS: Final = frozenset(
    {
        RecordType.MMAP,
        RecordType.MMAP2,
        RecordType.COMM,
        RecordType.FORK,
        RecordType.NAMESPACES,
        RecordType.KSYMBOL,
        RecordType.BPF_EVENT,
        RecordType.CGROUP,
        RecordType.TEXT_POKE,
    }
)


class Value(NamedTuple):
    """A value of samples: its field, and the part of the sample that it is in."""

    name: str
    type: FieldClass
    part: SampleType


#: The values of samples that are fields of their own, in their order; thread, time and CPU are the event's.
VALUES: Final = (
    Value("ip", _HEXADECIMAL, SampleType.IP),
    Value("addr", _HEXADECIMAL, SampleType.ADDR),
    Value("id", _U64, SampleType.ID),
    Value("stream_id", _U64, SampleType.STREAM_ID),
    Value("period", _U64, SampleType.PERIOD),
    Value("read", ArrayClass(_U64), SampleType.READ),
    Value("raw", BytesClass(), SampleType.RAW),
    Value("brstack_index", _HEXADECIMAL, SampleType.BRANCH_STACK),
    Value("brstack", ArrayClass(BRANCH), SampleType.BRANCH_STACK),
    Value("uregs_abi", _U64, SampleType.REGS_USER),
    Value("uregs", _WORDS, SampleType.REGS_USER),
    Value("ustack", BytesClass(), SampleType.STACK_USER),
    Value("ustack_size", _U64, SampleType.STACK_USER),
    Value("local_weight", _U64, SampleType.WEIGHT),
    Value("local_weight", IntegerClass(32), SampleType.WEIGHT_STRUCT),
    Value("ins_lat", IntegerClass(16), SampleType.WEIGHT_STRUCT),
    Value("retire_lat", IntegerClass(16), SampleType.WEIGHT_STRUCT),
    Value("data_src", _HEXADECIMAL, SampleType.DATA_SRC),
    Value("transaction", _HEXADECIMAL, SampleType.TRANSACTION),
    Value("iregs_abi", _U64, SampleType.REGS_INTR),
    Value("iregs", _WORDS, SampleType.REGS_INTR),
    Value("phys_addr", _HEXADECIMAL, SampleType.PHYS_ADDR),
    Value("cgroup", _U64, SampleType.CGROUP),
    Value("data_page_size", _U64, SampleType.DATA_PAGE_SIZE),
    Value("code_page_size", _U64, SampleType.CODE_PAGE_SIZE),
    Value("aux", BytesClass(), SampleType.AUX),
)


def sample_values(attribute: Attribute) -> tuple[Value, ...]:
    """Return the values that the samples of an event have as fields of their own."""
    left_out = SampleType.RAW if attribute.is_tracepoint else SampleType.PERIOD
    index = attribute.branch_sample_type & BRANCH_HW_INDEX
    return tuple(
        value
        for value in VALUES
        if value.part & attribute.sample_type & ~left_out
        and (value.name != "brstack_index" or index)
    )


def has_frames(attribute: Attribute) -> bool:
    """Return True if samples of a tracepoint have a call stack."""
    return bool(attribute.sample_type & SampleType.CALLCHAIN)


def has_weight(attribute: Attribute) -> bool:
    """Return True if the periods of samples are known."""
    has_period = bool(attribute.sample_type & SampleType.PERIOD)
    return has_period or attribute.constant_period is not None


def weight_unit(attribute: Attribute) -> str:
    """Return the unit of an event's period."""
    is_clock = attribute.type == EventType.SOFTWARE and attribute.config in CLOCK_EVENTS
    return "ns" if is_clock else ""


def sample_class(attribute: Attribute, name: str) -> EventClass:
    """Return the class of an event that is no tracepoint, or one without a format."""
    fields = [FRAMES]
    if has_weight(attribute):
        fields.append(weight(weight_unit(attribute)))
    fields += [Field(value.name, value.type) for value in sample_values(attribute)]
    return EventClass(Kind.SAMPLE, name, fields=tuple(fields))


def context_fields(attribute: Attribute) -> tuple[Field, ...]:
    """Return the fields of a tracepoint's sample that follow those of its format."""
    values = sample_values(attribute)
    fields = [Field(value.name, value.type, Role.CONTEXT) for value in values]
    if has_frames(attribute):
        fields.append(CALLSTACK)
    return tuple(fields)


# The kernel's other records

_KINDS: Final = {
    RecordType.COMM: Kind.TASK_RENAME,
    RecordType.FORK: Kind.TASK_NEW,
    RecordType.EXIT: Kind.TASK_EXIT,
    RecordType.MMAP: Kind.MAPPING,
    RecordType.MMAP2: Kind.MAPPING,
    RecordType.LOST: Kind.DISCARDED,
    RecordType.LOST_SAMPLES: Kind.DISCARDED,
}
_ROLES: Final = {
    "pid": Role.PID,
    "tid": Role.TID,
    "comm": Role.NEW_COMM,
    "ptid": Role.PARENT_TID,
    "addr": Role.ADDRESS,
    "len": Role.SIZE,
    "filename": Role.FILENAME,
    "lost": Role.COUNT,
    "build_id": Role.BUILD_ID,
}
_HEXADECIMAL_VALUES: Final = frozenset({"addr", "pgoff", "tag", "hw_id"})
#: Tails that are no texts: the type of each.
_TAILS: Final[dict[str, FieldClass]] = {
    "values": ArrayClass(_U64),
    "namespaces": ArrayClass(StructureClass((Member("dev", _U64), Member("inode", _U64)))),
    "bytes": BytesClass(),
}
#: Values that the type of a tail makes superfluous, or that have no meaning.
_LEFT_OUT: Final = frozenset({"nr_namespaces", "old_len", "new_len", "time"})
#: Bits of `misc` as fields: the name, and the bit.
MISC_FIELDS: Final = {
    RecordType.COMM: (("exec", 13),),
    RecordType.SWITCH: (("out", 13), ("preempt", 14)),
    RecordType.SWITCH_CPU_WIDE: (("out", 13), ("preempt", 14)),
}


@cache
def record_class(
    record_type: RecordType, *, build_id: bool = False, timed: bool = True
) -> EventClass:
    """Return the class of a record of the kernel.

    Args:
        record_type: the record's.
        build_id: it is an MMAP2 with a build id in place of device and inode.
        timed: False for a record without a time.

    """
    record = MMAP2_BUILD_ID if build_id else RECORDS[record_type]
    kind = _KINDS.get(record_type, Kind.TYPED)
    fields: list[Field] = []
    for name, code in record.fixed:
        if name == "build_id_size":
            fields.append(_record_field("build_id", BytesClass(), kind))
        if not is_field(record_type, name):
            continue
        style = Style.HEXADECIMAL if name in _HEXADECIMAL_VALUES else Style.DECIMAL
        bits = 8 * int(code[1:])
        fields.append(_record_field(name, IntegerClass(bits, code[0] == "i", style), kind))
    if record.tail:
        fields.append(_record_field(record.tail, tail_type(record), kind))
    fields += [Field(name, BooleanClass()) for name, _ in MISC_FIELDS.get(record_type, ())]
    found = EventClass(kind, record_type.name.lower(), CATEGORY, tuple(fields))
    return found if timed else replace(found, timed=False)


def is_field(record_type: RecordType, name: str) -> bool:
    """Return True if a value of constant place is a field of its own, as it is."""
    if name in _LEFT_OUT:
        return record_type in (RecordType.THROTTLE, RecordType.UNTHROTTLE)
    return not name.startswith(("build_id_", "reserved_"))


def tail_type(record: Record) -> FieldClass:
    """Return the type of what follows the values of constant place."""
    return StringClass() if record.is_text else _TAILS[record.tail]


def _record_field(name: str, field_class: FieldClass, kind: Kind) -> Field:
    return Field(
        name, field_class, Role.NONE if kind is Kind.TYPED else _ROLES.get(name, Role.NONE)
    )


def record_of(record_type: RecordType, *, build_id: bool) -> Record:
    """Return the layout of a record of the kernel."""
    return MMAP2_BUILD_ID if build_id else RECORDS[record_type]


@cache
def native_class(record_type: int, *, timed: bool = False) -> EventClass:
    """Return the class of records of a type that nothing here describes, or that are damaged."""
    known = next((known for known in RecordType if known == record_type), None)
    name = f"record {record_type}" if known is None else known.name.lower()
    return EventClass(Kind.NATIVE, name, CATEGORY, (_PAYLOAD,), timed=timed)
