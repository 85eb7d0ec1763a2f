"""A recording of uftrace with functions of the kernel."""

from __future__ import annotations

from support.trace_cmd.files import FORMATS, Kernel, format_text
from support.uftrace.files import ENTRY, EXIT, FOO, MAIN, TID, Directory

from converter.formats.uftrace.layout import Feature, Header, InfoBit, build_header

HEADER_PAGE = (
    b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    b"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    b"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    b"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
)
KERNEL_FILES = {
    "events/header_page": HEADER_PAGE,
    "events/ftrace/funcgraph_entry/format": format_text(
        "funcgraph_entry", 11, "unsigned long func 8 8 0\nint depth 16 4 1", '""'
    ),
    "events/ftrace/funcgraph_exit/format": format_text(
        "funcgraph_exit", 10, "unsigned long func 8 8 0\nint depth 16 4 1", '""'
    ),
    "events/sched/sched_switch/format": FORMATS["sched"][0],
}
SYSTEM_CALL, INNER, LEAF, NAMELESS = (0xFFFF_FFFF_8100_0000 + 0x100 * i for i in range(4))
SYMBOLS = "".join(
    f"{at:016x} T {name}\n"
    for at, name in (
        (SYSTEM_CALL, "sys_a"),
        (INNER, "do_b"),
        (LEAF, "leaf_c"),
        (NAMELESS, "_etext"),
    )
)


def info(features: Feature, *tids: int) -> bytes:
    """An `info` that uftrace takes."""
    tids = tids or (TID,)
    lines = {
        InfoBit.EXE_NAME: "exename:/usr/bin/app\n",
        InfoBit.TASKINFO: f"taskinfo:lines=2\ntaskinfo:nr_tid={len(tids)}\n"
        f"taskinfo:tids={','.join(map(str, tids))}\n",
    }
    features |= Feature.TASK_SESSION | Feature.SYM_REL_ADDR | Feature.MAX_STACK
    header = Header(features=int(features), info_mask=sum(1 << bit for bit in lines))
    return build_header(header) + "".join(lines.values()).encode()


def in_the_kernel(options: str) -> Directory:
    """Functions of the kernel in those of a program, and outside of them."""
    kernel = Kernel()

    def called(at: int, depth: int) -> bytes:
        return kernel.pack("HBBiQi", 11, 0, 0, TID, at, depth)

    def left(at: int, depth: int) -> bytes:
        return kernel.pack("HBBiQi", 10, 0, 0, TID, at, depth)

    records = (
        (500, called(SYSTEM_CALL, 0)), (600, left(SYSTEM_CALL, 0)),
        (2500, called(SYSTEM_CALL, 0)), (2600, called(INNER, 1)), (2700, called(LEAF, 2)),
        (2800, left(LEAF, 2)), (2900, left(INNER, 1)),
        (3000, kernel.switch(TID, b"app", 300, b"other")), (3500, left(SYSTEM_CALL, 0)),
        (4000, called(INNER, 0)), (4100, left(INNER, 0)),
        (13_000, called(LEAF, 0)), (13_100, left(LEAF, 0)),
    )  # fmt: skip
    times = [0, *(ts for ts, _ in records)]
    page = b"".join(
        kernel.record(ts - before, payload)
        for before, (ts, payload) in zip(times, records, strict=False)
    )
    directory = Directory()
    directory.tasks[TID] = b"".join(
        directory.record(*one)
        for one in ((1000, ENTRY, 0, MAIN), (2000, ENTRY, 1, FOO), (9000, EXIT, 1, FOO))
    ) + directory.record(12_000, EXIT, 0, MAIN)
    directory.files["kernel_header"] = b"PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\n" + b"".join(
        b"TRACEFS: %b: %d\n%b" % (name.encode(), len(text), text)
        for name, text in KERNEL_FILES.items()
    )
    directory.files["kernel-cpu0.dat"] = kernel.page(0, page)
    directory.files["kallsyms"] = SYMBOLS.encode()
    directory.files["default.opts"] = options.encode()
    directory.files["info"] = info(Feature.KERNEL)
    return directory
