"""A recording of Zephyr, byte by byte."""

from __future__ import annotations

import struct

_THREAD = "fields := struct { uint32_t thread_id; ctf_bounded_string_t name[20]; };"
_EVENTS = {
    "thread_switched_out": (0x10, _THREAD),
    "thread_switched_in": (0x11, _THREAD),
    "thread_ready": (0x17, _THREAD),
    "thread_name_set": (0x1A, _THREAD),
    "isr_enter": (0x1B, ""),
    "isr_exit": (0x1C, ""),
    "isr_exit_to_scheduler": (0x1D, ""),
    "idle": (0x1E, ""),
}
#: As Zephyr has it (subsys/tracing/ctf/tsdl/metadata): no clock, no packets, no CPU.
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 8; align = 8; signed = false; encoding = ASCII; } := ctf_bounded_string_t;
struct event_header { uint32_t timestamp; uint8_t id; };
trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct event_header; };
""" + "\n".join(
    f"event {{ name = {name}; id = {id:#x}; {fields} }};" for name, (id, fields) in _EVENTS.items()
)
MAIN, WORKER = 0x20000100, 0x20000200


def record(name: str, ts: int, thread: int = 0, called: str = "") -> bytes:
    id, fields = _EVENTS[name]
    payload = struct.pack("<I20s", thread, called.encode()) if fields else b""
    return struct.pack("<IB", ts, id) + payload


RECORDS = [
    record("isr_enter", 500),
    record("isr_exit", 600),
    record("thread_switched_in", 1000, MAIN, "main"),
    record("isr_enter", 1500),
    record("isr_enter", 1550),
    record("isr_exit", 1560),
    record("isr_exit_to_scheduler", 1600),
    record("thread_ready", 1700, WORKER),
    record("thread_switched_out", 2000, MAIN, "main"),
    record("thread_switched_in", 2010, WORKER),
    record("thread_name_set", 2500, WORKER, "worker"),
    record("thread_switched_out", 3000, WORKER, "worker"),
    record("idle", 3100),
    record("thread_switched_in", 4000, MAIN, "main"),
]
