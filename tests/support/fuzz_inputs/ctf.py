"""Inputs of CTF that no fixture is like: declarations and packets of every sort, what tracers record, defects."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from support.ctf.ctf2_fragments import (
    sequence,
)
from support.ctf.ctf2_refused import REFUSED as REFUSED_FRAGMENTS
from support.ctf.ctf2_refused import REFUSED_FIELDS, with_field
from support.ctf.every_property import FRAGMENTS, TSDL
from support.ctf.files import Bits, Stream
from support.ctf.lttng_kernel_files import KERNEL, comm, i32, kernel_packets, name16
from support.ctf.metadata_cases import ACCEPTED, GIGANTIC, REFUSED
from support.ctf.random_traces import random_trace
from support.ctf.ros_files import QUEUED, RECORDS, ROS
from support.ctf.zephyr_files import METADATA as ZEPHYR
from support.ctf.zephyr_files import RECORDS as OF_ZEPHYR
from support.fuzz_inputs.ctf_fields import fields
from support.fuzz_inputs.ctf_streams import clocks, depending, files_of, packets
from support.fuzzing.corpus import Files

from converter.formats.ctf.metadata.ctf2.printer import print_sequence
from converter.formats.ctf.metadata.tsdl.printer import print_tsdl

_FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
#: Of larger recordings this much of each file with events is enough.
_BEGINNING = 8 << 10
_DATA = bytes(range(32)) * 4
#: Texts that are no sequence of CTF 2.
_NO_SEQUENCE = (
    b"\x1e{}",
    b'\x1e{"type": "trace-class"}',
    b"\x1e[]",
    b'\x1e{"type": "preamble",}',
    b"\x1e" + b"[" * 2000,
    b'\x1e{"a": ' + b"9" * 5000 + b"}",
    b'\x1e{"type": "preamble", "type": "preamble"}',
    b'\x1e{"type": "preamble", "version": NaN}',
)
#: Fields of TSDL that depend on others, and those that say no length.
_DEPENDING = (
    "u8 a[env.n]; struct { string s[env.n]; } b;",
    "u8 a[env.name];",
    "u8 a[env.other];",
    (
        "enum : u8 { X, Y } tag; variant <tag> { struct { u8 len; } X; struct { string s; u8 len; } Y; } v;"
        " u8 a[v.len]; u8 b[trace.packet.header.n];"
    ),
    "enum : u8 { X, Y } t; variant <t> { u8 X; variant <t> { u8 X; u8 Y; } Y; } v; u8 a[v];",
    "u8 n[2]; u8 a[n];",
    "struct { u8 n; } s[2]; u8 a[s.n];",
    "enum : u8 { X, Y } t; variant <t> { u8 X; string Y; } v; u8 a[v];",
    "enum : u8 { X, Y } t; variant <t> { struct { u8 n; } X; struct { string n; } Y; } v; u8 a[v.n];",
    "enum : u8 { X, Y } t; variant <t> { struct { u8 n; } X; u8 Y; } v; u8 a[v.n];",
    "struct { u8 n; struct { u8 a[s.n]; } t; } s;",
)
_TSDL = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 n; u8 s[n]; }; };
env { n = 2; name = "three"; }; stream { };
event { name = e; fields := struct { %s }; };
"""


def inputs() -> list[Files]:
    """The inputs."""
    return [
        *_metadata(),
        *_random(),
        *_recordings(),
        *_recorded(),
        *fields(),
        *depending(),
        *packets(),
        *clocks(),
    ]


def _metadata() -> Iterator[Files]:
    """Metadata of every sort above any data, and such as is refused."""
    texts = [text.encode() for cases in (ACCEPTED, GIGANTIC) for text in cases.values()]
    texts += [text.encode() for text, *_ in REFUSED.values()]
    texts += [sequence(*fragments) for fragments, *_ in REFUSED_FRAGMENTS.values()]
    texts += [with_field(held) for held, *_ in REFUSED_FIELDS.values()]
    texts += [*_NO_SEQUENCE, TSDL.encode(), sequence(*FRAGMENTS), sequence()]
    texts += [(_TSDL % fields).encode() for fields in _DEPENDING]
    for text in texts:
        yield {"metadata": text, "stream": _DATA}
    framed = in_packets(TSDL.encode(), "<")
    yield {"metadata": in_packets(TSDL.encode(), ">"), "stream": _DATA}
    for place, data in (
        (24, b"\xff" * 4),
        (28, b"\xf8" * 3),
        (32, b"\1"),
        (35, b"\3"),
        (1024, b"\0"),
        (1028, b"\1" * 16),
    ):
        yield {"metadata": framed[:place] + data + framed[place + len(data) :], "stream": _DATA}
    yield {"metadata": framed[:1040], "stream": _DATA}


def _random() -> Iterator[Files]:
    """Traces of random declarations, their metadata as text and in packets."""
    for seed in range(8):
        for version in (1, 2):
            trace, streams = random_trace(seed, version)
            text = print_sequence(trace) if version == 2 else print_tsdl(trace).encode()
            packets = in_packets(text, "<" if trace.byte_order == "little" else ">")
            yield from ({"metadata": text, **streams}, {"metadata": packets, **streams})


def _recordings() -> Iterator[Files]:
    """The beginnings of larger recordings."""
    for name in ("ctf_small", "ctf2_small", "ctf_cyg"):
        folder = _FIXTURES / "ctf" / name
        files = {str(file.relative_to(folder)): file for file in folder.rglob("*")}
        yield {
            path: file.read_bytes()[: None if path.endswith("metadata") else _BEGINNING]
            for path, file in files.items()
            if file.is_file()
        }


def in_packets(text: bytes, order: str) -> bytes:
    """Metadata in packets of 1 KiB, as tracers write them."""
    found = b""
    for start in range(0, len(text), 1024 - 37):
        content = text[start : start + 1024 - 37]
        bits = (37 + len(content)) * 8
        head = (0x75D11D57, bytes(16), 0, bits, 8192, 0, 0, 0, 1, 8)
        found += struct.pack(f"{order}I16sIIIBBBBB", *head)
        found += content.ljust(1024 - 37, b"\0")
    return found


def _recorded() -> Iterator[Files]:
    """What tracers record: threads that are switched, named and created, callbacks, libraries, contexts."""
    yield {"metadata": ZEPHYR.encode(), "channel0_0": b"".join(OF_ZEPHYR)}
    yield files_of(KERNEL, **kernel_packets())
    for records in (RECORDS, QUEUED):
        yield files_of(ROS, ROS.packet(list(records)))
    context = "int32_t _vpid; int32_t _vtid;"
    loaded = "uint64_t _baddr; uint64_t _memsz; string _path;"
    stream = Stream(
        {
            "ros2:rclcpp_callback_register": "uint64_t _callback; string _symbol;",
            "ros2:callback_start": "uint64_t _callback; int32_t _is_intra_process;",
            "lttng_ust_statedump:bin_info": f"{loaded} uint8_t _is_pic;",
            "lttng_ust_lib:load": loaded,
            "lttng_ust_cyg_profile:func_entry": "uint64_t _addr; uint64_t _call_site;",
            "lttng_ust_tracelog:TRACE_INFO": "int32_t line; string file; string func; string msg;",
        },
        context=context,
    )

    def recorded(id: int, pid: int, *values: int, last: bytes = b"") -> Bits:
        numbers = b"".join(value.to_bytes(8, "little") for value in values)
        return stream.record(id, 10 * id + pid, i32(pid, pid) + numbers + last)

    records = [
        recorded(0, 7, 0x10, last=b"one\0"),
        recorded(0, 8, 0x10, last=b"two\0"),
        recorded(0, 8, 0x20, last=b"three\0"),
        recorded(1, 7, 0x20, last=i32(0)),
        recorded(2, 7, 0x400000, 0x1000, last=b"/usr/bin/tool\0\0"),
        recorded(2, 7, 0x7F000000, 0x100, last=b"/lib/libc.so.6\0\1"),
        recorded(3, 7, 0x80000000, 0x100, last=b"plugin.so\0"),
        recorded(4, 7, 0x400123, 0x7F000010),
        recorded(4, 8, 0x80000020, 0x401000),
        recorded(5, 8, last=i32(9) + b"a.c\0main\0hello\0"),
    ]
    yield files_of(stream, stream.packet(records))
    wrong = Stream({"ros2:rclcpp_callback_register": "string _callback; uint8_t _symbol;"})
    yield files_of(wrong, wrong.packet(wrong.record(0, 1, b"a\0\1")))
    names = Stream(
        {"app:work": "uint8_t x[2];"},
        context=f"int32_t _vpid; int32_t _vtid; {comm('_procname')} uint8_t _depth;",
    )
    many = [
        names.record(0, at, i32(at % 40, at) + name16(b"task%d" % at) + b"\5ab") for at in range(90)
    ]
    many.append(names.record(0, 99, i32(-1, -1) + name16(b"") + b"\5ab"))
    yield files_of(names, names.packet(many))
    # Of the kernel by their names alone, and with fields of other types.
    for environment in ("", 'domain = "kernel"; tracer_name = "lttng-modules";'):
        other = Stream(
            {
                "sched_switch": "uint8_t prev_tid;",
                "irq_handler_entry": "string irq;",
                "lttng_statedump_process_state": "int32_t _tid;",
                "x86_irq_vectors_local_timer_entry": "int32_t _vector;",
                "syscall_entry_read": "",
                "lttng_logger": "string msg;",
                "sched_process_fork": "int32_t _child_tid;",
            },
            environment=environment,
        )
        payloads = (b"\1", b"a\0", i32(5), i32(3), b"", b"hello\0", i32(9))
        held = [other.record(id, 1 + id, payload) for id, payload in enumerate(payloads)]
        yield files_of(other, other.packet(held))
