"""Dimensions of trace.dat files: pages, CPUs, instances, formats of events, texts beside them."""

from __future__ import annotations

from collections.abc import Iterator

from scale.drawn import Dimension, Drawn, token, tokens
from support.trace_cmd.files import FORMATS, PAGE, SLICE, File, Kernel, format_text

_KERNEL = Kernel()
#: Bytes of records that a page has room for.
_ROOM = PAGE - 16
_START = 10**9


def pages_of(records: list[bytes], start: int = _START, step: int = 1000) -> bytes:
    """As many pages as records of this distance need."""
    found: list[bytes] = []
    held: list[bytes] = []
    size, first = 0, start
    for number, payload in enumerate(records):
        record = _KERNEL.record(step if held else 0, payload)
        if size + len(record) > _ROOM:
            found.append(_KERNEL.page(first, *held))
            held, size, first = [], 0, start + step * number
            record = _KERNEL.record(0, payload)
        held.append(record)
        size += len(record)
    if held:
        found.append(_KERNEL.page(first, *held))
    return b"".join(found)


def _markers(count: int) -> list[bytes]:
    return [_KERNEL.marker(42, token("m", number).encode()) for number in range(count)]


def _file(**parts: object) -> dict[str, bytes]:
    return {"": File(_KERNEL, **parts).version_7()}  # type: ignore[arg-type]


def tasks(count: int) -> Drawn:
    """Tasks that are switched to, one after the other, and whose names are known from the start."""
    records = [
        _KERNEL.switch(
            100 + number,
            token("t", number).encode(),
            100 + (number + 1) % count,
            token("t", (number + 1) % count).encode(),
        )
        for number in range(count)
    ]
    cmdlines = b"".join(b"%d %s\n" % (100 + n, token("t", n).encode()) for n in range(count))
    file = _file(cpus={0: pages_of(records)}, cmdlines=cmdlines)
    return Drawn(file, tokens("t", count), count)


def markers(count: int) -> Drawn:
    """Texts that programs wrote."""
    return Drawn(_file(cpus={0: pages_of(_markers(count))}), tokens("m", count), count)


def pages(count: int) -> Drawn:
    """Pages of a record each."""
    found = b"".join(
        _KERNEL.page(_START + 1000 * number, _KERNEL.record(0, payload))
        for number, payload in enumerate(_markers(count))
    )
    return Drawn(_file(cpus={0: found}), tokens("m", count), count)


def losses(count: int) -> Drawn:
    """Pages before each of which events were lost."""
    found = b"".join(
        _KERNEL.page(_START + 1000 * number, _KERNEL.record(0, payload), missed=number + 1)
        for number, payload in enumerate(_markers(count))
    )
    return Drawn(_file(cpus={0: found}), tokens("m", count), 2 * count)


def cpus(count: int) -> Drawn:
    """CPUs with a page each."""
    found = {
        number: _KERNEL.page(_START + 1000 * number, _KERNEL.record(0, payload))
        for number, payload in enumerate(_markers(count))
    }
    return Drawn(_file(cpus=found), tokens("m", count), count)


def instances(count: int) -> Drawn:
    """Instances of the ring buffer with a page each."""
    found = {
        token("i", number): {0: _KERNEL.page(_START + 1000 * number, _KERNEL.record(0, payload))}
        for number, payload in enumerate(_markers(count))
    }
    named = tokens("m", count) | tokens("i", count)
    return Drawn(_file(cpus={0: pages_of(_markers(1))}, instances=found), named, count + 1)


def formats(count: int) -> Drawn:
    """Formats of events, with an event each."""
    described = [
        format_text(token("e", number), 1000 + number, "u64 value 8 8 0", '"%llu", REC->value')
        for number in range(count)
    ]
    records = [
        _KERNEL.common(1000 + number, 42) + _KERNEL.pack("Q", number) for number in range(count)
    ]
    file = _file(cpus={0: pages_of(records)}, formats={**FORMATS, "many": described})
    return Drawn(file, tokens("e", count), count)


def fields(count: int) -> Drawn:
    """Fields of a format."""
    lines = "\n".join(f"u32 {token('f', n)} {8 + 4 * n} 4 0" for n in range(count))
    described = [format_text("wide", 1000, lines, '"wide"')]
    record = _KERNEL.common(1000, 42) + _KERNEL.pack(f"{count}I", *range(count))
    file = _file(cpus={0: pages_of([record, record])}, formats={**FORMATS, "many": described})
    return Drawn(file, tokens("f", count), 2)


def symbols(count: int) -> Drawn:
    """Functions of the kernel, of which markers name as many."""
    kallsyms = b"".join(
        b"%x T %s\n" % (0xFFFFFFFF81000000 + 16 * number, token("y", number).encode())
        for number in range(count)
    )
    records = [
        _KERNEL.common(5, 42) + _KERNEL.pack("Q", 0xFFFFFFFF81000000 + 16 * number) + b"text\n\0"
        for number in range(count)
    ]
    return Drawn(_file(cpus={0: pages_of(records)}, kallsyms=kallsyms), frozenset(), count)


def printk_formats(count: int) -> Drawn:
    """Formats of trace_printk, with an event each."""
    printk = b"".join(
        b'0x%x : "%s %%d\\n"\n' % (0xFFFFFFFF82000000 + 64 * number, token("b", number).encode())
        for number in range(count)
    )
    records = [
        _KERNEL.common(6, 42) + _KERNEL.pack("QQI", 16, 0xFFFFFFFF82000000 + 64 * number, number)
        for number in range(count)
    ]
    return Drawn(_file(cpus={0: pages_of(records)}, printk=printk), tokens("b", count), count)


def names(count: int) -> Drawn:
    """Tasks that the recording names but no event."""
    cmdlines = b"".join(b"%d %s\n" % (100 + n, token("t", n).encode()) for n in range(count))
    pages = pages_of([_KERNEL.slice(100 + n, 5) for n in range(count)])
    return Drawn(_file(cpus={0: pages}, cmdlines=cmdlines), tokens("t", count), count)


def _damaged(count: int) -> Iterator[bytes]:
    """Pages that say more than there is, each after a sound one."""
    for number, payload in enumerate(_markers(count)):
        yield _KERNEL.page(_START + 2000 * number, _KERNEL.record(0, payload))
        page = bytearray(_KERNEL.page(_START + 2000 * number + 1000, _KERNEL.record(0, payload)))
        page[16:20] = _KERNEL.word(28, 0)
        page[8:16] = _KERNEL.pack("Q", 4)
        yield bytes(page)


def damaged(count: int) -> Drawn:
    """Pages whose record does not end in them."""
    file = _file(cpus={0: b"".join(_damaged(count))})
    return Drawn(file, tokens("m", count), count, is_damaged=count > 0)


DIMENSIONS = [
    Dimension("switched tasks", tasks, "trace_cmd"),
    Dimension("markers", markers, "trace_cmd"),
    # A page is 4 KiB.
    Dimension("pages", pages, "trace_cmd", most=(1 << 14) + 1),
    Dimension("lost events of trace.dat", losses, "trace_cmd", most=(1 << 13) + 1),
    Dimension("CPUs of trace.dat", cpus, "trace_cmd", least=1, most=(1 << 12) + 1),
    # The limit trace_cmd.options counts sections, of which a buffer has one.
    Dimension("instances", instances, "trace_cmd", most=4093),
    Dimension("formats", formats, "trace_cmd", most=(1 << 15) + 1),
    # A record is no larger than a page.
    Dimension("fields of a format", fields, "trace_cmd", most=1015),
    Dimension("kernel symbols", symbols, "trace_cmd"),
    Dimension("formats of trace_printk", printk_formats, "trace_cmd"),
    Dimension("named tasks", names, "trace_cmd"),
    Dimension("damaged pages", damaged, "trace_cmd", most=(1 << 12) + 1),
]
assert SLICE < 1000
