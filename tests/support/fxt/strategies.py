"""Files of FXT with records of every type, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from support.fxt.files import (
    argument,
    event,
    extended,
    initialization,
    large_blob,
    magic,
    provider,
    record,
    string,
    text,
    thread,
    unknown,
)

from converter.formats.fxt.record_types import (
    ArgumentType,
    ByteOrder,
    EventType,
    ProfilerType,
    RecordType,
    SchedulingType,
)

_words = st.integers(0, (1 << 64) - 1)
_texts = st.sampled_from(
    (b"", b"a", b"process", b"eight by", "größe".encode(), b"\xff\xfe", b"x" * 40)
)
_slots = st.sampled_from((0, 1, 2, 3, 0x7FFF))
_names = st.one_of(_slots, _texts)
_threads = st.one_of(st.integers(0, 3), st.tuples(st.integers(0, 3), _words))
_ticks = st.integers(0, 1 << 40)


@st.composite
def arguments(draw: DrawFn) -> dict[str, Any]:
    """Arguments of every type, those to come included."""
    kind = draw(st.integers(0, 15))
    match kind:
        case ArgumentType.NULL:
            content: Any = None
        case ArgumentType.INT32 | ArgumentType.UINT32:
            content = draw(st.integers(0, 0xFFFFFFFF))
        case ArgumentType.STRING:
            content = draw(_names)
        case ArgumentType.BOOLEAN:
            content = draw(st.integers(0, 1))
        case ArgumentType.BLOB:
            content = draw(st.binary(max_size=20))
        case _ if kind > ArgumentType.BLOB:
            content = (draw(st.integers(0, 0xFFFFFFFF)), draw(st.integers(0, 3)) * b"12345678")
        case _:
            content = draw(_words)
    return argument(kind, draw(_names), content)


@st.composite
def records(draw: DrawFn, order: ByteOrder) -> bytes:
    """Records of every type."""
    held = draw(st.lists(arguments(), max_size=3))
    name, category, one = draw(_names), draw(_names), draw(_threads)
    inline_name = name if isinstance(name, bytes) else None
    name_reference = text(name) if isinstance(name, bytes) else name
    inline = one if isinstance(one, tuple) else (None, None)
    reference = 0 if isinstance(one, tuple) else max(one, 1)
    koids = {"process": inline[0], "thread": inline[1], "timestamp": draw(_ticks)}
    kind = draw(st.sampled_from((*RecordType, 4, 4, 4, 11)))
    match kind:
        case RecordType.METADATA:
            built = draw(
                st.sampled_from(
                    (
                        magic(order),
                        provider(order, 7, b"seven"),
                        provider(order, 7, None),
                        provider(order, 1, None),
                        unknown(order, 0, b"", 3 | 9 << 4),
                        unknown(order, 0, b"", 5),
                    )
                )
            )
        case RecordType.INITIALIZATION:
            built = initialization(order, 1_000_000_000)
        case RecordType.STRING:
            built = string(order, draw(_slots), draw(_texts))
        case RecordType.THREAD:
            built = thread(order, draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(_words))
        case RecordType.EVENT:
            event_type = EventType(draw(st.integers(0, 10)))
            tailed = event_type in (EventType.COUNTER, *list(EventType)[4:])
            tail = draw(_ticks if event_type is EventType.DURATION_COMPLETE else _words)
            built = event(
                order,
                event_type,
                draw(_ticks),
                thread=one if isinstance(one, tuple) else reference,
                category=category,
                name=name,
                arguments=held,
                tail=tail if tailed else None,
            )
        case RecordType.BLOB:
            payload = draw(st.binary(max_size=20))
            header = {
                "name": name_reference,
                "length": len(payload),
                "blob_type": draw(st.integers(0, 5)),
            }
            built = record(order, kind, header, name=inline_name, payload=payload)
        case RecordType.USERSPACE_OBJECT:
            header = {"thread": reference, "name": name_reference}
            built = record(
                order,
                kind,
                header,
                pointer=draw(_words),
                name=inline_name,
                arguments=held,
                process=inline[0],
            )
        case RecordType.KERNEL_OBJECT:
            object_type = draw(st.integers(1, 3))
            if draw(st.booleans()):
                held = [argument(ArgumentType.KOID, b"process", draw(st.integers(0, 3)))]
            header = {"object_type": object_type, "name": name_reference}
            koid = draw(st.integers(0, 3))
            built = record(order, kind, header, koid=koid, name=inline_name, arguments=held)
        case RecordType.SCHEDULING:
            built = draw(scheduling_records(order, held))
        case RecordType.LOG:
            message = draw(st.binary(max_size=20))
            header = {"length": len(message), "thread": reference}
            built = record(order, kind, header, message=message, **koids)
        case RecordType.PROFILER:
            built = draw(profiler_records(order, reference, koids))
        case RecordType.LARGE:
            built = large_blob(
                order,
                draw(st.integers(0, 1)),
                draw(st.binary(max_size=20)),
                name=name,
                category=category,
                thread=one if isinstance(one, tuple) else reference,
                arguments=held,
                ts=draw(_ticks),
            )
        case _:
            built = unknown(
                order, kind, draw(st.integers(0, 3)) * b"unknown!", draw(st.integers(0, 9))
            )
    if kind not in (0, 1, 2, 3, 11) and draw(st.integers(0, 9)) == 0:
        built = extended(order, built, b"and more" * draw(st.integers(1, 2)))
    return built


@st.composite
def scheduling_records(draw: DrawFn, order: ByteOrder, held: list[dict[str, Any]]) -> bytes:
    """Scheduling records of the three types."""
    state, cpu = draw(st.integers(0, 5)), draw(st.integers(0, 255))
    subtype = draw(st.sampled_from(SchedulingType))
    common = {"scheduling_type": int(subtype), "cpu": cpu}
    if subtype is SchedulingType.THREAD_WAKEUP:
        words = {"waking_thread": draw(_words)}
    elif subtype is SchedulingType.CONTEXT_SWITCH:
        common["outgoing_state"] = state
        words = {"outgoing_thread": draw(_words), "incoming_thread": draw(_words)}
    else:
        outgoing, incoming = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        common |= {"outgoing": outgoing, "incoming": incoming, "outgoing_state": state}
        common |= {"outgoing_priority": draw(st.integers(0, 255)), "incoming_priority": 3}
        words = {
            "outgoing_process": None if outgoing else draw(_words),
            "outgoing_thread": None if outgoing else draw(_words),
            "incoming_process": None if incoming else draw(_words),
            "incoming_thread": None if incoming else draw(_words),
        }
        held = []
    return record(
        order, RecordType.SCHEDULING, common, timestamp=draw(_ticks), arguments=held, **words
    )


@st.composite
def profiler_records(
    draw: DrawFn, order: ByteOrder, reference: int, koids: dict[str, Any]
) -> bytes:
    """Profiler records of the three types."""
    subtype = draw(st.sampled_from(ProfilerType))
    header: dict[str, Any] = {"profiler_type": int(subtype), "thread": reference}
    if subtype is ProfilerType.BACKTRACE:
        frames = draw(st.lists(_words, max_size=4))
        more: dict[str, Any] = {"frames": frames}
        header["frames"] = len(frames)
    elif subtype is ProfilerType.MMAP:
        header |= {"module_id": draw(st.integers(0, 0xFFFF)), "flags": draw(st.integers(0, 7))}
        more = {"start_address": draw(_words), "range": draw(_words), "vaddr": draw(_words)}
    else:
        name, build_id = draw(_texts), draw(st.binary(max_size=20))
        header |= {"module_id": 5, "name_length": len(name), "build_id_length": len(build_id)}
        more = {"name": name, "build_id": build_id}
    return record(order, RecordType.PROFILER, header, **koids, **more)


@st.composite
def files(draw: DrawFn, order: ByteOrder) -> bytes:
    """Whole files, of one clock rate."""
    start = magic(order) + string(order, 1, b"one") + thread(order, 1, 1, 11)
    return start + b"".join(draw(st.lists(records(order), max_size=12)))
