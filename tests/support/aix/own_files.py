"""Streams of this converter, which declare what their events are."""

from __future__ import annotations

from support.aix.files import entry_64, stream

from converter.formats.aix.entries.scan import DECLARATION, HEADER
from converter.formats.aix.layout import OWN_MAGIC


def with_declarations(*lines: str, events: bytes = b"") -> bytes:
    """A stream that declares this."""
    text = "".join(f"{line}\n" for line in lines).encode()
    return stream(
        "64",
        entry_64(0x0100, OWN_MAGIC, word=HEADER),
        entry_64(0x0100, text, word=DECLARATION),
        events,
    )


def own_event(
    number: int = 0,
    *,
    cpu: int = 0,
    thread: int = 0,
    track: int = 0,
    rest: int = 0,
    data: bytes = b"",
) -> bytes:
    """An event of what a stream declares."""
    context = b"".join(word.to_bytes(4, "big") for word in (number, cpu, thread, track, rest))
    return entry_64(0x0110, context + data, word=0)


CLASS = '# class 0 {"kind":"TYPED","name":"e","fields":[{"name":"a","type":"u32"}]}'
#: Declarations of what cannot be.
DAMAGED = [
    '# class 0 {"kind":"NOTHING"}',
    '# class 0 {"kind":"TYPED","name":5}',
    '# class 0 {"kind":"TYPED","timed":5}',
    '# class 0 {"kind":"TYPED","name":"\\ud800"}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":"u99"}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":"f16"}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"array":"u8","length":-1}}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"array":"u8","length":99999999}}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"array":"u8","length":true}}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"variant":[]}}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"variant":[["x","u8"],["x","u8"]]}}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"bytes":5}}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","role":"KING","type":"u8"}]}',
    '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":{"integer":"u8","labels":[[2,1,"x"]]}}]}',
    '# class 0 {"kind":',
    "# class 0 " + '{"fields":' * 3000,
    '# class 5 {"kind":"TYPED"}',
    '# class 999999999 {"kind":"TYPED"}',
    '# thread 0 {"tid":1,"process":0,"name":""}',
    '# thread 0 {"tid":-1,"process":0,"name":""}',
    '# process 0 {"pid":18446744073709551616,"name":""}',
    '# process 0 {"pid":true,"name":""}',
    '# track 0 {"name":"","scope":"GLOBAL","owner":-1,"parent":0,"unit":"","identity":0}',
    '# track 0 {"name":"","scope":"THREAD","owner":0,"parent":-1,"unit":"","identity":0}',
    '# trace 0 {"clock":{"rate":"1e999999"},"clock_domains":[],"environment":{}}',
]
