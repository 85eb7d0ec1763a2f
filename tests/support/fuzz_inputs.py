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
    from support.fuzz_inputs_aix import inputs

    return inputs()


def _aix_32() -> list[Files]:
    from support.fuzz_inputs_aix import inputs_32

    return inputs_32()


_MADE = {
    "aix": _aix,
    "aix+32": _aix_32,
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
