"""Directories of uftrace that no fixture is like."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from support.fuzzing.corpus import Files, packed
from support.fuzzing.outputs import ANEW, written
from support.inputs.mangled_names import MANGLED
from support.trace_cmd.files import Kernel
from support.uftrace.files import (
    BAR,
    BASE,
    BAZ,
    ENTRY,
    EXIT,
    FOO,
    LOST,
    MAIN,
    PROGRAM,
    SID,
    TID,
    Directory,
    calls,
    kernel_header,
    with_binary_task_file,
)
from support.uftrace.kernel_files import in_the_kernel
from support.uftrace.recordings import recording

from converter.formats.uftrace.layout import EventId, Feature
from converter.jobs.reading import open_trace

#: Another session, and a library that is opened.
_OTHER = "f" * 16
_LIBRARY = 0x7F0000000000
#: Values of every kind, and how they are packed: `long` is that of the recording.
_EVERY_VALUE = (
    "foo@arg1,arg2/i8,arg3/u16,arg4/x32,arg5/o64,arg6/p,arg7/c,arg8/d32,arg9/t6:Point%RDI,fparg1/32,fparg2/64,"
    "fparg3/80,arg10/s,arg11/S,arg12/e:Color,arg13/i64,arg14/t8:P%rdi+rsi"
)
#: Of 80 bits: 3.0, what a double has no room for, infinity, and what is no number.
_EXTENDED = ((3 << 62, 0x4000), (1 << 63 | 1, 0xBFFF), (1 << 63, 0x7FFF), (3 << 62, 0xFFFF))
#: Patterns, some of which are none.
_PATTERNS = (
    "^f(a|o)+$", "fo{1,2}", "fo{1,}", "fo{0}o*", "[[:alpha:]_]oo", "[^a-c]oo", "[]f]oo", r"f\oo", "f?o+.", "(f|)oo",
    "(", ")", "f**", "*", "[a", "f{x}", "f{99999}", "[[:nope:]]", "f\\", "(" * 120, "((f{60}){60})",
)  # fmt: skip
_NO_SPECIFICATIONS = ("foo@arg1/q", "foo@arg1/i7", "foo@fparg1/16", "foo@arg/i", "foo@retval/e:")


def inputs() -> list[Files]:
    """One feature each, and recordings at random."""
    return [
        *_at_random(),
        *(directory.contents() for directory in _specified()),
        *(directory.contents() for directory in _values()),
        *(directory.contents() for directory in _exits()),
        *(directory.contents() for directory in _sessions()),
        *(directory.contents() for directory in _events()),
        *(directory.contents() for directory in _damaged()),
        _with_places(),
    ]


def _at_random() -> Iterator[Files]:
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(4):
            path = recording(Path(folder, f"{seed}"), seed, estimated=seed == 3)
            yield {file.name: file.read_bytes() for file in path.iterdir()}


def _with_places() -> Files:
    """A directory of this converter's own whose functions have places in the source."""
    (*_, directory) = _values()
    with open_trace(packed(directory.contents()), "uftrace", options={"srcline": "yes"}) as trace:
        return written(trace, ANEW)


def _specified() -> Iterator[Directory]:
    """Specifications of every sort, of functions whose names are of every sort."""
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
            names = zip((MAIN, FOO, BAR, BAZ), MANGLED, strict=False)
            directory.symbols["app"] = "".join(f"{at:016x} T {name}\n" for at, name in names)
            yield directory
    specifications = (*_NO_SPECIFICATIONS, *(f"{one}@arg1/i32" for one in _PATTERNS))
    directory = Directory(argspec=";".join((*specifications, "foo@arg1/i64")), retspec="*" * 9)
    directory.tasks[TID] = _one_call(directory, directory.pack("q", 7))
    yield directory
    directory = Directory(argspec=";".join(f"foo@arg{number}" for number in range(1, 40)))
    directory.tasks[TID] = _one_call(directory, bytes(39 * 8))
    yield directory
    # Each of these functions is called.
    directory = Directory(argspec="^std::@arg1/i32;operator@arg1/i32")
    places = [MAIN + 0x10 * number for number in range(len(MANGLED))]
    names = zip(places, MANGLED, strict=True)
    directory.symbols["app"] = "".join(f"{at:016x} T {name}\n" for at, name in names)
    directory.tasks[TID] = b"".join(
        directory.record(10 + at, kind, 0, at) for at in places for kind in (ENTRY, EXIT)
    )
    yield directory


def _values() -> Iterator[Directory]:
    """Values of every kind, and what their text is."""
    for big_endian, bits in ((False, 64), (True, 64), (False, 32)):
        directory = Directory(
            big_endian=big_endian,
            bits=bits,
            argspec=_EVERY_VALUE,
            retspec="foo@retval/f80",
            enumauto="enum Color { LOW = -1, GREEN, BLUE = 5, MASK = 256 };",
        )
        long = "q" if bits == 64 else "i"
        records = []
        for number, (mantissa, exponent) in enumerate(_EXTENDED):
            extended = struct.pack("<QH", mantissa, exponent)[:: -1 if big_endian else 1] + b"\0\0"
            entry = (
                directory.pack(long, -5)
                + directory.pack("b3xH2xIQ", -3, 65535, 0xFFFFFFFF, 1 << 63)
                + directory.pack(long, (BASE + FOO, 0, 7, -1)[number])
                + b"A\n\0'"[number : number + 1]
                + bytes(3)
                + directory.pack("i", -1)
                + bytes(range(8))
                + directory.pack("fd", 1.5, -2.5)
                + extended
                + directory.text((b"text", b"\xff", b"", b"NULL")[number])
                + directory.text("한글".encode())
                + directory.pack(long, (5, 300, -200_000, -1)[number])
                + directory.pack("q", -(1 << 63))
                + bytes(8)
            )
            records += [
                directory.record(10 * number + 1, ENTRY, 0, FOO, entry),
                directory.record(10 * number + 2, EXIT, 0, FOO, extended),
            ]
        directory.tasks[TID] = b"".join(records)
        yield directory
        # Cut off within each of its values.
        if not big_endian and bits == 64:
            for end in (17, 70, 84, 104, 116, 120, 140):
                cut = Directory(argspec=_EVERY_VALUE)
                cut.tasks[TID] = directory.tasks[TID][:end]
                yield cut
    directory = Directory(
        features=Directory.features | Feature.DEBUG_INFO | Feature.AUTO_ARGS, auto_args=True
    )
    directory.files["app.dbg"] = (
        f"# path name: {PROGRAM}\nE: enum Kind {{A,B=4}}\nF: {FOO:x} foo\nL: 12 foo.c\n"
        "A: @arg1/i8,arg2/e:Kind,arg3/t0:None\nR: @retval/c\n"
        f"F: none\nL: 7 none.c\nF: {BAR:x} bar\nL: 20 bar.c\nA: @arg1/q\nF: {MAIN:x} main\nL: 1 app.c\n"
    ).encode()
    directory.tasks[TID] = (
        directory.record(1, ENTRY, 0, MAIN)
        + directory.record(2, ENTRY, 1, FOO, directory.pack("b3x4xq", 1, 4))
        + directory.record(3, EXIT, 1, FOO, directory.pack("b7x", 65))
        + directory.record(4, ENTRY, 1, BAR)
        + directory.record(5, EXIT, 1, BAR)
    )
    yield directory


def _one_call(directory: Directory, entry: bytes | None = None) -> bytes:
    return directory.record(1, ENTRY, 0, FOO, entry) + directory.record(2, EXIT, 0, FOO)


def _exits() -> Iterator[Directory]:
    """Functions that are left with a value and without one, and that were never entered."""
    directory = Directory(retspec="foo@retval/i32;baz@retval/s", argspec="foo@arg1/s")
    value = directory.pack("i4x", 7)
    directory.tasks[TID] = b"".join(
        directory.record(time, kind, depth, at, held)
        for time, (kind, depth, at, held) in enumerate(
            (
                (EXIT, 1, FOO, value),
                (EXIT, 0, MAIN, None),
                (ENTRY, 0, MAIN, None),
                (ENTRY, 1, FOO, directory.text(b"one") + b"\0\0\0"),
                (EXIT, 1, FOO, value),
                (ENTRY, 1, FOO, None),
                (EXIT, 1, FOO, None),
                (ENTRY, 1, BAZ, None),
                (EXIT, 1, BAZ, directory.text(b"two") + b"\0\0\0"),
                (ENTRY, 1, BAZ, None),
                (EXIT, 1, BAZ, None),
                (EXIT, 0, MAIN, None),
                (EXIT, 0, BAZ, directory.text(b"") + bytes(4)),
                # The depth is that of one further out, which is another.
                (ENTRY, 0, MAIN, None),
                (ENTRY, 1, FOO, None),
                (ENTRY, 2, BAR, None),
                (EXIT, 1, BAR, None),
                (ENTRY, 1000, BAR, None),
                (EXIT, 3, FOO, None),
            ),
            1,
        )
    )
    yield directory


def _sessions() -> Iterator[Directory]:
    """Tasks that fork, execute and open libraries; functions that are left by jumps, or are deep."""
    directory = Directory()
    directory.task_txt = (
        f"{directory.task_txt}TASK timestamp=0.000000003 tid=101 pid={TID}\n"
        f"FORK timestamp=0.000000015 pid=102 ppid={TID}\nFORK timestamp=0.000000016 pid=103 ppid=102\n"
        f"FORK timestamp=0.000000016 pid=104 ppid=105\nFORK timestamp=0.000000016 pid=105 ppid=104\n"
        f'SESS timestamp=0.000000020 pid={TID} sid={_OTHER} exename="/bin/other one"\n'
        + "".join(
            f'DLOP timestamp=0.00000{time:04} tid={TID} sid={sid} base={_LIBRARY:x} libname="{path}"\n'
            for time, sid, path in (
                (20, SID, "./lib one.so"),
                (40, SID, "/opt/two.so"),
                (30, _OTHER, "/opt/two.so"),
                (31, "0" * 16, "/opt/two.so"),
            )
        )
    )
    directory.maps[SID] += "500000-509000 r-xp 00000000 00:00 0 /opt/app build-id:abcdef\n"
    directory.maps[SID] += "509000-50a000 r-xp 00009000 00:00 0 /opt/app\nnonsense\n"
    directory.maps[_OTHER] = f"{BASE:x}-{BASE + 0x9000:x} r-xp 0 00:00 0 /bin/other one\n"
    directory.symbols |= {
        "app-abcd": f"{MAIN:x} T other_main\n{FOO:x} ? __sym_end\n",
        "other one": f"{MAIN:x} {0x20:08x} T start\n{FOO:x} {0x20:08x} T inner\n",
        "lib one.so": f"{MAIN:x} T first\n{FOO:x} ? __sym_end\nnonsense\n",
        "two.so": f"{MAIN:x} T second\nffffffffffffffff T last\n",
    }
    directory.tasks = {
        TID: b"".join(
            directory.record(time, kind, depth, place + MAIN)
            for time, kind, depth, place in (
                (10, ENTRY, 0, BASE),
                (11, ENTRY, 1, 0x500000),
                (21, ENTRY, 0, BASE),
                (22, ENTRY, 1, _LIBRARY),
                (41, ENTRY, 2, _LIBRARY),
                (42, EXIT, 2, _LIBRARY),
            )
        ),
        101: calls(directory, 12),
        102: directory.record(30, EXIT, 1, BAZ) + directory.record(31, EXIT, 0, MAIN),
        103: directory.record(31, ENTRY, 0, MAIN),
        104: directory.record(31, ENTRY, 0, MAIN),
    }
    yield directory

    directory = with_binary_task_file()
    yield directory
    for text in (directory.files["task"][:50], directory.files["task"] + b"\xce\xfa\x09"):
        cut = Directory(task_txt=None, files={"task": text})
        cut.tasks[TID] = calls(cut)
        yield cut

    absolute = Directory(features=Feature.TASK_SESSION)
    absolute.symbols["app"] = f"{BASE + MAIN:x} T main\n{BASE + FOO:x} ? __sym_end\n"
    absolute.tasks[TID] = absolute.record(1, ENTRY, 0, MAIN)
    yield absolute

    jumps = Directory()
    jumps.tasks[TID] = b"".join(
        jumps.record(time, kind, depth, at)
        for time, (kind, depth, at) in enumerate(
            (
                (ENTRY, 0, MAIN),
                (ENTRY, 1, FOO),
                (ENTRY, 2, FOO),
                (ENTRY, 3, BAZ),
                (EXIT, 1, BAR),
                (ENTRY, 1, BAR),
                (EXIT, 2, BAR),
                (EXIT, 1, MAIN),
                (LOST, 0, 5),
                (EXIT, 4, FOO),
                (EXIT, 0, MAIN),
                (ENTRY, 0, MAIN),
            )
        )
    )
    yield jumps
    # The recorder adds to the address what the bits of the depth have no room for.
    deep = Directory()
    depths = range(1100)
    deep.tasks[TID] = b"".join(
        deep.record(depth, ENTRY, depth, FOO + (depth >> 10)) for depth in depths
    ) + b"".join(
        deep.record(3000 - depth, EXIT, depth, FOO + (depth >> 10)) for depth in depths[::-7]
    )
    yield deep
    for seed in range(2):
        yield _estimated(seed)


def _estimated(seed: int) -> Directory:
    """Exits without times, beside losses, switches and depths that skip."""
    directory = Directory(
        features=Directory.features | Feature.ESTIMATE_RETURN | Feature.PERF_EVENT
    )
    directory.tasks[TID] = b"".join(
        directory.record(time, kind, depth, at)
        for time, kind, depth, at in (
            (10, ENTRY, 0, MAIN),
            (20, ENTRY, 1, FOO),
            (0, EXIT, 1, FOO),
            (30, LOST, 0, 3),
            (40, ENTRY, 3, BAZ),
            (0, EXIT, 3, BAZ),
            (50, LOST, 0, 1),
            (50 + seed, EXIT, 1, BAR),
            (60, ENTRY, 1, BAR),
            (0, EXIT, 1, FOO),
            (0, EXIT, 0, MAIN),
        )
    )
    directory.files["perf-cpu0.dat"] = b"".join(
        directory.perf(14, misc, directory.pack("iiQ", TID, TID, time))
        for misc, time in ((0x2000, 15), (0, 25), (0x6000, 45), (0, 1 << 63))
    )
    return directory


def _events() -> Iterator[Directory]:
    """Events of every sort: of the recorder, of users, of perf, of the kernel, and of others."""
    for big_endian in (False, True):
        directory = Directory(big_endian=big_endian, lines=["utc_offset:1700000000", "cmdline:app"])
        pack = directory.pack
        directory.files["events.txt"] = b"EVENT: 1000000 prov:one: two\nnonsense\n"
        directory.tasks[TID] = (
            directory.event(1, EventId.READ_PROC_STATM, pack("QQQ", 1, 2, 3))
            + directory.event(2, EventId.DIFF_PAGE_FAULT, pack("qq", -1, 2))
            + directory.event(3, EventId.WATCH_CPU, pack("i", 5))
            + b"".join(
                directory.event(4, EventId.WATCH_VAR, pack(f"Q{code}", BASE + FOO, 77))
                for code in "bhiq"
            )
            + directory.event(5, EventId.READ_PMU_CYCLE, pack("QQ", 8, 9))
            + directory.event(6, 1_000_000)
            + directory.event(8, 777, b"abc")
            + directory.event(9, EventId.READ_PROC_STATM, b"short")
            + directory.event(9, EventId.WATCH_VAR)
            + directory.event(10, 1_000_000, b"data")[:-8]
        )
        life = pack("iiii", TID, TID, 101, TID)
        directory.files["perf-cpu3.dat"] = (
            directory.perf(14, 0, pack("iiQ", TID, TID, 11))
            + directory.perf(14, 0x2000, pack("iiQ", TID, TID, 12))
            + directory.perf(7, 0, life + pack("Q", 14) + bytes(16))
            + directory.perf(1, 0, bytes(16))
            + directory.perf(3, 0, pack("ii8siiQ", TID, 101, b"worker", TID, 101, 15))
            + directory.perf(4, 0, life + pack("Q", 16) + bytes(16))
            + directory.perf(14, 0, pack("iiQ", TID, TID, 1 << 63))
            + pack("IHH", 14, 0, 4)
            + directory.perf(14, 0, bytes(16))[:-3]
        )
        directory.files["extern.dat"] = (
            b"# comment\n0.000000001 first message\n\n0.5 second\nnonsense\n99999999999.0 far\n0.x\n3.0 last"
        )
        yield directory
        # These have no version of uftrace that writes them.
        directory.tasks[TID] = directory.event(7, 1_000_000, b"data") + directory.event(9, 1, b"")
        yield directory
    yield from map(in_the_kernel, ("", "--kernel-full\n", "-D 3\n", "--kernel-only -D 1\n"))
    kernel = Kernel()
    directory = Directory(features=Directory.features | Feature.KERNEL)
    directory.tasks[TID] = calls(directory)
    page = kernel.page(
        5, kernel.record(0, kernel.slice(TID, 1)), kernel.record(3, kernel.slice(TID, 2))
    )
    directory.files["kernel_header"] = kernel_header(kernel)
    directory.files["kernel-cpu0.dat"] = page
    directory.files["kernel-cpu1.dat"] = b""
    yield directory
    directory.files["kernel-cpu0.dat"] = page + page[:16] + b"\xff" * 8 + page[24:100]
    yield directory
    whole = directory.files["kernel_header"]
    for header in (
        b"PAGE_SIZE: 4096\nLONG_SIZE: 3\nENDIAN: LE\n",
        b"PAGE_SIZE: x\nLONG_SIZE: 8\n",
        b"PAGE_SIZE: 4096\n\nLONG_SIZE: 8\n" + whole[len(whole) // 2 :],
        whole[:-20],
        b"nonsense",
    ):
        damaged = Directory(
            features=directory.features, files={**directory.files, "kernel_header": header}
        )
        damaged.tasks = directory.tasks
        yield damaged


def _damaged() -> Iterator[Directory]:
    """Files that make no sense, here and there."""
    lines = (
        'SESS timestamp=1.000000000 pid=x sid=0123456789abcdef exename="a"',
        'SESS timestamp=1.000000000 pid=1 sid=../../etc/passwd exename="a"',
        "TASK timestamp=1.000000000 tid=1",
        f'DLOP timestamp=1.000000000 tid=1 sid={SID} base=1{"0" * 16} libname="a"',
        "nonsense",
    )
    for line in lines:
        directory = Directory(task_txt=f"{Directory().task_txt}{line}\n")
        directory.tasks[TID] = calls(directory)
        yield directory
    for line in (
        "nonsense",
        "exit_status:x",
        "taskinfo:tids=1,x",
        "taskinfo:tids=-1",
        "utc_offset:" + "9" * 14,
    ):
        directory = Directory(lines=[line])
        directory.tasks[TID] = calls(directory)
        yield directory
    for name in (
        "app.sym",
        "perf-cpu0.dat",
        "events.txt",
        "extern.dat",
        "kernel_header",
        f"{TID}.dat",
    ):
        # A folder in the place of a file.
        directory = Directory(files={f"{name}/inside": b""})
        if name != f"{TID}.dat":
            directory.tasks[TID] = calls(directory)
        yield directory
    for at, value in ((0, b"x"), (8, b"\2"), (12, b"\1\0"), (14, b"\3"), (15, b"\0")):
        directory = Directory()
        info = bytearray(directory.info())
        info[at : at + len(value)] = value
        yield Directory(files={"info": bytes(info)})
    yield Directory(files={"info": directory.info()[:20]})
