"""Directories of uftrace that no fixture is like."""

from __future__ import annotations

import tempfile
from pathlib import Path

from support.fuzz_corpus import Files
from support.uftrace_files import BAR, BAZ, FOO, MAIN, TID, Directory, calls
from support.uftrace_recordings import recording

_MANGLED = (
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8capacityEv",
    "_ZNSt6thread6_StateD2Ev",
    "_ZN1AcvRSsEv",
    "_ZN12_GLOBAL__N_11fILi3EEEvPFiRKT_ES5_",
    "_RNvC3foo3bar",
)


def inputs() -> list[Files]:
    """Recordings at random, and ones whose specifications and names are of every sort."""
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
