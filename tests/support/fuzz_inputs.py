"""Inputs that no fixture is like, by format: old versions, other byte orders, what is described in rare ways."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from support.fuzz_corpus import Files

_MANGLED = (
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8capacityEv",
    "_ZNSt6thread6_StateD2Ev",
    "_ZN1AcvRSsEv",
    "_ZN12_GLOBAL__N_11fILi3EEEvPFiRKT_ES5_",
    "_RNvC3foo3bar",
)
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
    from support.fuzz_inputs_trace_cmd import inputs

    return inputs()


def _chrome() -> list[Files]:
    from support.gecko_profiles import FORMS

    return [{"": json.dumps(profile()).encode()} for profile in FORMS.values()]


def _uftrace() -> list[Files]:
    from support.uftrace_files import BAR, BAZ, FOO, MAIN, TID, Directory, calls
    from support.uftrace_recordings import recording

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(4):
            path = recording(Path(folder, f"{seed}"), seed, estimated=seed == 3)
            found.append({file.name: file.read_bytes() for file in path.iterdir()})
    for pattern, matched in (("regex", "(ba[rz]|^m.{2,3}$)+"), ("glob", "[a-m]*o?")):
        for big_endian, bits in ((False, 64), (True, 64), (False, 32)):
            directory = Directory(
                big_endian=big_endian,
                bits=bits,
                pattern=pattern,
                argspec=f"{matched}@arg1/i32,arg2/s,fparg1/80;foo@arg3/e:Color%stack+1,arg4/t8:P",
                retspec=f"{matched}@retval/x16",
                argauto="_ZN2ns3barEi@arg1/i32",
                enumauto="enum Color { RED, GREEN = 4 };",
                auto_args=True,
            )
            directory.tasks[TID] = calls(directory)
            names = zip((MAIN, FOO, BAR, BAZ), _MANGLED, strict=False)
            directory.symbols["app"] = "".join(f"{at:016x} T {name}\n" for at, name in names)
            found.append(directory.contents())
    return found


def _lttng_legacy() -> list[Files]:
    from support.lttng_legacy_files import sample

    versions = ((1, 0), (2, 0), (2, 2), (2, 3), (2, 5), (2, 6))
    found = [sample(version=version).build() for version in versions]
    return [*found, sample(version=(2, 6), big_endian=True).build()]


def _perfetto() -> list[Files]:
    from support import perfetto_files as made

    builders = (
        made.kernel_typed,
        made.kernel_compact,
        made.kernel_lost,
        made.kernel_generic,
        made.compressed,
        made.timeline,
        made.annotations,
        made.interned,
        made.legacy,
        made.extra_counters,
        made.callstacks,
        made.clocks,
        made.tables,
    )
    return [{"": build()} for build in builders]


def _ctf() -> list[Files]:
    from support.fuzz_inputs_ctf import inputs

    return inputs()


def _aix() -> list[Files]:
    return [{"": _PRINTED}]


_MADE = {
    "aix": _aix,
    "ctf": _ctf,
    "trace_cmd": _trace_cmd,
    "chrome": _chrome,
    "uftrace": _uftrace,
    "lttng_legacy": _lttng_legacy,
    "perfetto": _perfetto,
}


def made(format: str) -> list[Files]:
    """The inputs of a format."""
    return _MADE[format]() if format in _MADE else []
