"""Reports as trcrpt prints them, with columns of any choice."""

from __future__ import annotations

from collections.abc import Sequence

Line = tuple[str, str, int, int, int, str, str, int, str, int, str]

PREAMBLE = """
Wed Oct 22 10:14:53 2003
System: AIX 5.2 Node: lpar05
Machine: 0021768A4C00
Internet Address: 00000000 0.0.0.0
Buffering: Kernel Heap

trace -a -o trc_raw

"""
#: The id, process, cpu, pid, tid, depth, system call, ns, ms since the one before, column of text, text.
LINES: list[Line] = [
    ("001", "--1-", -1, -1, -1, "", "", 0, "0.000000", 2, "TRACE ON channel 0\nWed Oct 22 10:14:53 2003"),
    ("106", "ksh", 0, 8526, 24713, "", "", 1000, "0.001000", 2,
     "dispatch: cmd=ksh pid=8526 tid=24713 priority=60 old_tid=517 old_priority=127 CPUID=0"),
    ("101", "ksh", 0, 8526, 24713, "", "kfork", 5833472, "5.832472", 1, "kfork LR = D0040AF8"),
    ("139", "ksh", 0, 8526, 24713, "", "kfork", 5933472, "0.100000", 2, "fork: pid=7214 tid=25001"),
    ("11F", "ksh", 0, 8526, 24713, "", "kfork", 5943472, "0.010000", 2,
     "setrq: cmd=ksh pid=7214 tid=25001 priority=64 policy=0 rq=0001"),
    ("104", "ksh", 0, 8526, 24713, "", "kfork", 6000000, "0.056528", 1, "return from kfork [166 usec]"),
    ("102", "ksh", 0, 8526, 24713, "1", "", 6100000, "0.100000", 3, "slih cpuid=0"),
    ("103", "ksh", 0, 8526, 24713, "1", "", 6200000, "0.100000", 3, "return from slih"),
    ("134", "cp", 1, 7214, 25001, "", "execve", 14451456, "8.251456", 2,
     "exec: cmd=cp ../bin/track /tmp/junk pid=7214 tid=25001"),
    ("1B1", "ksh", 0, 8526, 24713, "", "", 14482912, "0.031456", 2,
     "VMM page delete:           V.S=0000.150E ppage=1F7F\nworking_storage"),
    ("10C", "wait", 0, 516, 517, "", "", 15000000, "0.517088", 2,
     "dispatch:  idle process pid=516 tid=517 priority=127 old_tid=24713 old_priority=60 CPUID=0"),
    ("006", "wait", 0, 516, 517, "", "", 7160342830, "0.000826", 2,
     "TRACEBUFFER WRAPAROUND 5D88 C77A missed entries"),
    ("F5F1", "wait", 0, 516, 517, "", "", 7160342831, "0.000001", 0, "a hook of four digits"),
]  # fmt: skip
WIDTHS = {
    "ID": 6, "PROCESS NAME": 17, "CPU": 5, "PID": 11, "TID": 12, "I": 3, "SYSTEM CALL": 14,
}  # fmt: skip
#: By the value of timestamp=.
TIMES = [" ELAPSED_SEC    DELTA_MSEC  ", " ELAPSED  ", " ELAPSED_SEC    DELTA  ", ""]


def report(
    columns: Sequence[str] = tuple(WIDTHS),
    timestamp: int = 0,
    lines: Sequence[Line] = LINES,
    preamble: str = PREAMBLE,
    two_lines: bool = False,
) -> bytes:
    """A report with these columns, in widths of our own."""
    head = "".join(name.ljust(WIDTHS[name]) for name in columns)
    head += TIMES[timestamp]
    if two_lines:
        head += "\n    "
    margin = len(head.split("\n")[-1])
    text = [preamble + head + "APPL    SYSCALL KERNEL  INTERRUPT\n\n"]
    for hook, name, cpu, pid, tid, depth, call, ns, delta, level, said in lines:
        values = dict(zip(WIDTHS, (hook, name, cpu, pid, tid, depth, call), strict=True))
        line = "".join(str(values[column]).ljust(WIDTHS[column]) for column in columns)
        seconds = f"{ns // 10**9}.{ns % 10**9:09}"
        if timestamp in (0, 2):
            shown = delta if timestamp == 0 else str(int(float(delta) * 1000))
            line += f"{seconds:>12}{shown:>14}  "
        elif timestamp == 1:
            line += f"{seconds[:-3]:>8}  "
        first, *more = said.split("\n")
        indent = " " * (margin + 8 * level)
        text.append(
            f"{line}\n{indent}{first}\n" if two_lines else f"{line}{' ' * 8 * level}{first}\n"
        )
        text += [f"{indent}{each}\n" for each in more]
    return "".join(text).encode()
