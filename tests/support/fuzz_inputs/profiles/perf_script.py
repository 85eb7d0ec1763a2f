"""Text of perf script that no fixture is like."""

from __future__ import annotations

from support.fuzzing.corpus import Files

_FRAMES = "\t    ffffffff81000130 entry+0x76 ([kernel.kallsyms])\n\t            1198 leaf (/bin/a b (deleted))\n\n"
_TEXTS = (
    # of perf 3.x: no CPU, no period
    f"perf  1234 1234.567890: cycles: \n{_FRAMES}",
    # processes, names with spaces, letters of where, source files, inlined functions
    (
        "V8 1 [w]:2 10/11 [003] U     5.000001234:     250000 cpu/event=0x3c/u: \n"
        "\t              10 f(int, char)+0x1\n  a b.c:12 (inlined)\n\t              10 g+0x2 (/b+0x12)\n  ??:0\n\n"
    ),
    # on one line, with addresses, branches and registers
    (
        "           a    11 [000]     1.000001:          1 branches:uH:   tr strt     0 [unknown] ([unknown])"
        " => 7f1234567890 main+0x10 (/bin/a)\n"
        "           a    11 [000]     1.000002:          1 mem:0x10:rw:   7f0000000000   5616dc014198 f (/b) ABI:2\n"
        "  a.c:5\n"
    ),
    # without times
    f"a b 11  250000 cycles: \n{_FRAMES}a\n{_FRAMES}",
    # tracepoints of all kinds
    (
        " a 1 [000] 1.000000: sched:sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b"
        " next_pid=2 next_prio=120\n"
        " a 1 [000] 1.000001: syscalls:sys_enter_read: fd: 0x00000003, buf: 0x7f, count: 0x10\n"
        " a 1 [000] 1.000002: syscalls:sys_exit_read: 0xfffffffffffffff2\n"
        f" a 1 [000] 1.000003: probe:f: (ffffffff81000130) x=1\n{_FRAMES}"
        " a 1 [000] 1.000004: x:y: no fields\n"
    ),
    # records that are no samples
    (
        "  a  0  0.000000: PERF_RECORD_COMM: a:b:1/1\n"
        "  a  1  1.000000: PERF_RECORD_COMM exec: a:1/1\n"
        "  a  1  1.000000: PERF_RECORD_FORK(1:2):(1:1)\n"
        "  a  1  1.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1209988) @ 0]: x [kernel.kallsyms]_text\n"
        "  a  1  1.000000: PERF_RECORD_MMAP2 1/1: [0x56(0x10) @ 0x1000 fe:00 27 8]: r-xp /bin/a\n"
        "  a  1  1.000000: PERF_RECORD_MMAP2 1/1: [0x56(0x10) @ 0x1000 <0a0b>]: r-xp /bin/a\n"
        "  a  1  1.000000: PERF_RECORD_SWITCH OUT\n"
        "  a  1  1.000000: PERF_RECORD_LOST lost 12\n"
        "  a  1  1.000000: PERF_RECORD_NAMESPACES 1/1 - nr_namespaces: 1\n\t\t[0/net: 4/0xf0000098]\n"
    ),
    "# ========\n# captured on    : x\n# nrcpus online : 2\n# ========\n#\n a 1 1.0000: e: \n\nwhat\n\t12 f (g)\n",
)


def inputs() -> list[Files]:
    """Texts of all kinds, whole and with a last line that is cut."""
    found: list[Files] = [{"": text.encode()} for text in _TEXTS]
    return [*found, {"": _TEXTS[1].encode()[:-30]}]
