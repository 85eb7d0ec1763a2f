"""Inputs that no fixture is like, by format: old versions, other byte orders, what is described in rare ways."""

from __future__ import annotations

import importlib
import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from support.fuzz_corpus import Files

_FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"
#: Of larger recordings this much of each file with events is enough.
_BEGINNING = 8 << 10
_EVENTS_OF_A_FILE = 32
#: What tracers of latencies leave behind: text.
_LATENCY = b"""\
# tracer: wakeup
#
# latency: 126 us, #3/3, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)
#    | task: migration/1-17 (uid:0 nice:0 policy:1 rt_prio:99)
#
    bash-1994   1d.h5   10us+: 1994:120:R   + [001]    17:  0:R migration/1
    bash-1994   1d..3.  20us : probe_wakeup_sched_switch <-__schedule
   <...>-17     1.N..  126us!: <stack trace>
"""
#: What trcrpt prints.
_PRINTED = b"""\

Wed Oct 22 10:14:53 2003
System: AIX 5.2 Node: lpar05
Machine: 0021768A4C00
Internet Address: 00000000 0.0.0.0
Buffering: Kernel Heap

trace -a -o trc_raw

ID    PROCESS NAME     CPU  PID        TID         I  SYSTEM CALL    ELAPSED_SEC    DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT

001   --1-             -1   -1         -1                             0.000000000      0.000000                  TRACE ON channel 0
                                                                                                                 Wed Oct 22 10:14:53 2003
106   ksh              0    8526       24713                          0.000001000      0.001000                  dispatch: cmd=ksh pid=8526 tid=24713 priority=60 old_tid=517 old_priority=127 CPUID=0
101   ksh              0    8526       24713          kfork           0.005833472      5.832472          kfork LR = D0040AF8
104   ksh              0    8526       24713          kfork           0.006000000      0.056528          return from kfork [166 usec]
102   ksh              0    8526       24713       1                  0.006100000      0.100000                          slih cpuid=0
103   ksh              0    8526       24713       1                  0.006200000      0.100000                          return from slih
134   cp               1    7214       25001          execve          0.014451456      8.251456                  exec: cmd=cp ../bin/track /tmp/junk pid=7214 tid=25001
006   wait             0    516        517                            7.160342830      0.000826                  TRACEBUFFER WRAPAROUND 5D88 C77A missed entries
"""  # noqa: E501 - as wide as it is


def _trace_cmd() -> list[Files]:
    from support.trace_cmd_files import File, Kernel, rich

    kernels = [Kernel(), Kernel(big_endian=True), Kernel(long_size=4)]
    versions = [*((version, kernel) for version in ("6", "none") for kernel in kernels)]
    found = [{"": rich(version, kernel)} for version, kernel in versions]
    lines = [{"": File(text=_LATENCY).version_6()}, {"": File(text=_LATENCY).version_7("zstd")}]
    return [*found, {"": rich("zstd")}, {"": rich("zlib")}, *lines, *_kernel_events()]


def _kernel_events() -> Iterator[Files]:
    """Every event of a kernel, whose print formats are of every sort: a few in a file, with any values."""
    from support.print_format_events import all_formats
    from support.trace_cmd_files import File, Kernel

    rng = random.Random(0)
    texts = all_formats()
    for first in range(0, len(texts), _EVENTS_OF_A_FILE):
        kernel = Kernel()
        formats, records = texts[first : first + _EVENTS_OF_A_FILE], []
        for text in formats:
            fields = re.findall(rb"offset:(\d+);\s+size:(\d+);", text)
            size = max(int(at) + int(length) for at, length in fields)
            (number,) = re.findall(rb"\nID: (\d+)", text)
            small = rng.choices((0, 1, 5, 255), (9, 3, 2, 1), k=max(size - 8, 0) + 24)
            records.append(kernel.record(3, kernel.common(int(number), 42) + bytes(small)))
        # Some have arrays of a kilobyte.
        pages = (
            kernel.page(1000, *records)
            if sum(map(len, records)) < 4000
            else b"".join(kernel.page(1000 + i, record) for i, record in enumerate(records))
        )
        yield {"": File(kernel, {0: pages}, formats={"kernel": formats}).version_7("zlib")}


def _ctf() -> list[Files]:
    from support.ctf_metadata_cases import ACCEPTED
    from support.ctf_random_traces import random_trace

    from converter.formats.ctf.ctf2_printer import print_sequence
    from converter.formats.ctf.tsdl_printer import print_tsdl

    data = bytes(range(32)) * 4
    found = [{"metadata": text.encode(), "stream": data} for text in ACCEPTED.values()]
    for seed in range(8):
        for version in (1, 2):
            trace, streams = random_trace(seed, version)
            text = print_sequence(trace) if version == 2 else print_tsdl(trace).encode()
            packets = _in_packets(text, "<" if trace.byte_order == "little" else ">")
            found += [{"metadata": text, **streams}, {"metadata": packets, **streams}]
    for name in ("ctf_small", "ctf2_small", "ctf_cyg"):
        folder = _FIXTURES / "ctf" / name
        files = {str(file.relative_to(folder)): file for file in folder.rglob("*")}
        found.append(
            {
                path: file.read_bytes()[: None if path.endswith("metadata") else _BEGINNING]
                for path, file in files.items()
                if file.is_file()
            }
        )
    return found


def _in_packets(text: bytes, order: str) -> bytes:
    """Metadata in packets of 1 KiB, as tracers write them."""
    found = b""
    for at in range(0, len(text), 1024 - 37):
        content = text[at : at + 1024 - 37]
        bits = (37 + len(content)) * 8
        head = (0x75D11D57, bytes(16), 0, bits, 8192, 0, 0, 0, 1, 8)
        found += struct.pack(f"{order}I16sIIIBBBBB", *head)
        found += content.ljust(1024 - 37, b"\0")
    return found


def _aix() -> list[Files]:
    return [{"": _PRINTED}]


_MADE = {
    "aix": _aix,
    "ctf": _ctf,
    "trace_cmd": _trace_cmd,
}
#: Formats with a module of their inputs.
_MODULES = ("arrow", "chrome", "fxt", "ir", "lttng_legacy", "parquet", "perfetto", "uftrace")


def made(format: str) -> list[Files]:
    """The inputs of a format."""
    if format in _MODULES:
        # Some take packages that others do without.
        module = importlib.import_module(f"support.fuzz_inputs_{format}")
        return list(module.inputs())
    return _MADE[format]() if format in _MADE else []
