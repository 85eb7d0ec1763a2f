"""A recording of LTTng's kernel tracer, byte by byte."""

from __future__ import annotations

from support.ctf.files import Bits, Stream

COMM = "integer { size = 8; align = 8; encoding = UTF8; } {}[16];"


def comm(name: str) -> str:
    return COMM.replace("{}", name)


SWITCH = (
    f"{comm('_prev_comm')} int32_t _prev_tid; int32_t _prev_prio; uint64_t _prev_state;"
    f"{comm('_next_comm')} int32_t _next_tid; int32_t _next_prio;"
)
WAKEUP = f"{comm('_comm')} int32_t _tid; int32_t _prio; int32_t _target_cpu;"
FORK = (
    f"{comm('_parent_comm')} int32_t _parent_tid; {comm('_child_comm')} int32_t _child_tid;"
    " int32_t _child_pid;"
)
STATE = f"int32_t _tid; int32_t _pid; {comm('_name')}"

KERNEL = Stream(
    {
        "sched_switch": SWITCH,
        "sched_wakeup": WAKEUP,
        "sched_process_fork": FORK,
        "lttng_statedump_process_state": STATE,
        "syscall_entry_openat": "string _filename;",
        "syscall_exit_openat": "uint64_t _ret;",
        "irq_handler_entry": "int32_t _irq; string _name;",
        "irq_softirq_entry": "uint32_t _vec;",
        "x86_irq_vectors_local_timer_entry": "int32_t _vector;",
        "x86_irq_vectors_thermal_apic_exit": "int32_t _vector;",
        "power_cpu_idle": "uint32_t _state; uint32_t _cpu_id;",
        "timer_hrtimer_expire_entry": "uint64_t _hrtimer; uint64_t _function;",
        "exit_syscall": "uint64_t _ret;",
        "sched_process_exec": "string _filename;",
    },
    environment='domain = "kernel"; tracer_name = "lttng-modules";',
)
IDS = {name: number for number, name in enumerate(KERNEL.events)}


def name16(text: bytes) -> bytes:
    return text.ljust(16, b"\0")


def i32(*values: int) -> bytes:
    return b"".join((value & 0xFFFF_FFFF).to_bytes(4, "little") for value in values)


def switch(ts: int, before: tuple[bytes, int], after: tuple[bytes, int]) -> Bits:
    payload = name16(before[0]) + i32(before[1], 20) + i32(1, 0) + name16(after[0])
    return KERNEL.record(IDS["sched_switch"], ts, payload + i32(after[1], -1))


def kernel(name: str, ts: int, payload: bytes = b"") -> Bits:
    return KERNEL.record(IDS[name], ts, payload)


def kernel_packets() -> dict[str, bytes]:
    """Packets of two CPUs: switches, a fork, system calls, interrupts."""
    idle, shell, editor = (b"swapper/0", 0), (b"bash", 100), (b"vi", 205)
    first = [
        kernel("syscall_entry_openat", 1, b"/etc\0"),
        switch(2, shell, idle),
        kernel("irq_handler_entry", 3, i32(9) + b"eth0\0"),
        switch(4, idle, editor),
        kernel("syscall_exit_openat", 5, i32(3, 0)),
    ]
    second = [
        kernel("lttng_statedump_process_state", 3, i32(205, 200) + name16(b"vi")),
        kernel(
            "sched_process_fork", 6, name16(b"bash") + i32(100) + name16(b"bash") + i32(300, 299)
        ),
        kernel("sched_wakeup", 7, name16(b"vi") + i32(205, 20, 1)),
        switch(8, (b"swapper/1", 0), (b"child", 300)),
        kernel("irq_softirq_entry", 9, i32(1)),
    ]
    return {"stream_0": KERNEL.packet(first, cpu=0), "other": KERNEL.packet(second, cpu=1)}
