"""Inputs of trace.dat that no fixture is like: other kernels, print formats of every construct, lost pieces."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator

from support.fuzz_corpus import Files
from support.print_format_cases import BINARY, NOT_EVALUATED, PRINTED
from support.print_format_events import FIELDS, all_formats, event_text, record
from support.trace_cmd_files import BPRINT, BPUTS, DYNAMIC, File, Kernel, format_text, rich

_EVENTS_OF_A_FILE = 32
_SMALL_PAGE = 512
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
            bash-42      [001] d..2.  1234.567890: sched_waking: comm=x y pid=7
   with space-43-44      [000] .....  1234.567891: tracing_mark_write: B|44|slice
 0)   1.234 us    |  }
"""
_KALLSYMS = b"1000 T schedule\n2000 T middle\n3000 t inner\t[mod]\n4000 T end\nFFFF8000 A last\n"
_PRINTK = b'0x2000 : "value %d of %s\\n"\n0x3000 : "plain\\n"\n'
#: Events of ftrace itself, and what stands behind their common fields where not any bytes do.
_INTERNAL = {
    "bprint": struct.pack("<QQII", 0x1010, 0x2000, 7, 8),
    "bputs": struct.pack("<QQ", 0x1010, 0x3000),
    "branch": None,
    "func_repeats": None,
    "function": struct.pack("<QQ", 0x1010, 0x2010),
    "kernel_stack": struct.pack("<i4x3Q", 3, 0x1010, 0x2010, 0x1011),
    "mmiotrace_rw": None,
    "osnoise": None,
    "print": struct.pack("<Q", 0x1010) + b"B|42|a mark\n\0",
    "raw_data": struct.pack("<i", 5) + b"\xff\x00\x01\x02payload\x80",
    "user_stack": None,
}
#: Addresses that print formats show: the length, the conversion, the bytes.
_ADDRESSES = [
    (4, "I4", bytes([127, 0, 0, 1])),
    (4, "i4", bytes([10, 2, 3, 255])),
    (4, "I4l", bytes([1, 0, 0, 127])),
    (16, "I6", bytes(15) + b"\1"),
    (16, "i6", bytes(15) + b"\1"),
    (16, "I6c", bytes.fromhex("20010db8000000000000000000000001")),
    (6, "M", bytes(range(6))),
    (6, "MR", bytes(range(6))),
    (6, "m", bytes(range(6))),
    (16, "U", bytes(range(16))),
    (16, "UL", bytes(range(16))),
    (28, "ISpc", b"\2\0\0\x50\x0a\0\0\1"),
    (28, "ISpc", b"\x0a\0\1\xbb" + bytes(19) + b"\1"),
    (28, "ISpc", b"\1\0abc"),
    (28, "IS", b"\2\0\0\x50\x0a\0\0\1"),
    (28, "ISc", b"\x0a\0\1\xbb" + bytes(19) + b"\1"),
    (28, "iS", b"\x0a\0\1\xbb" + bytes(19) + b"\1"),
    (28, "iSp", b"\2\0\0\x50\x0a\0\0\1"),
]
#: Declarations of fields as old kernels have spelled them, and those that are none.
_DECLARATIONS = [
    b"field:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:1;",
    b"field:u8 m[2][6];\toffset:8;\tsize:12;\tsigned:0;",
    b"field:__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\tsigned:0;",
    b"field:const char __attribute__((user)) * filename;\toffset:8;\tsize:8;\tsigned:0;",
    b"field:unsigned long graph_ent.func;\toffset:8;\tsize:8;\tsigned:0;",
    b"field special:char x[4];\toffset:8;\tsize:4;",
    b"field:unsigned long args[];\toffset:8;\tsize:0;\tsigned:0;",
    b"field:long double x;\toffset:8;\tsize:10;\tsigned:1;",
    b"field:int;\toffset:0;\tsize:4;\tsigned:1;",
    b"field:int x;\toffset:-1;\tsize:4;\tsigned:1;",
    b"field:int x;\toffset:0;\tsize:99999999999;",
    b"field:int x[;\toffset:0;\tsize:4;",
    b"field:;\toffset:0;\tsize:4;",
    b"something else",
]


def inputs() -> list[Files]:
    """The inputs."""
    kernels = [Kernel(), Kernel(big_endian=True), Kernel(long_size=4)]
    versions = [*((version, kernel) for version in ("6", "none") for kernel in kernels)]
    found = [rich(version, kernel) for version, kernel in versions]
    found += [rich("zstd"), rich("zlib")]
    found += [File(text=_LATENCY).version_6(), File(text=_LATENCY).version_7("zstd")]
    found += [*_kernel_events(), *_print_formats(), *_internal(), *_addresses(), *_declared()]
    found += [*_records_of_all_kinds(), *_page_sizes(), *_calls(), *_holes(), *_damaged()]
    return [{"": data} for data in found]


def _files(kernel: Kernel, texts: list[bytes], contents: list[bytes]) -> Iterator[bytes]:
    """Files of a few events each; the bytes of each event stand behind those that all events have."""
    numbers = [int(re.findall(rb"\nID: (\d+)", text)[0]) for text in texts]
    for first in range(0, len(texts), _EVENTS_OF_A_FILE):
        part = slice(first, first + _EVENTS_OF_A_FILE)
        records = [
            kernel.record(3, kernel.common(number, 42, 0x10) + content)
            for number, content in zip(numbers[part], contents[part], strict=True)
        ]
        # Some have arrays of a kilobyte.
        pages = (
            kernel.page(1000, *records)
            if sum(map(len, records)) < 4000
            else b"".join(kernel.page(1000 + i, record) for i, record in enumerate(records))
        )
        formats = {"kernel": texts[part]}
        file = File(kernel, {0: pages}, formats=formats, kallsyms=_KALLSYMS, printk=_PRINTK)
        yield file.version_7("zlib")


def _kernel_events() -> Iterator[bytes]:
    """Every event of a kernel, whose print formats are of every sort: a few in a file, with any values."""
    rng = random.Random(0)
    texts, contents = all_formats(), []
    for text in texts:
        fields = re.findall(rb"offset:(\d+);\s+size:(\d+);", text)
        size = max(int(at) + int(length) for at, length in fields)
        contents.append(bytes(rng.choices((0, 1, 5, 255), (9, 3, 2, 1), k=max(size - 8, 0) + 24)))
    return _files(Kernel(), texts, contents)


def _print_formats() -> Iterator[bytes]:
    """Print formats of every construct, those that cannot be evaluated, and texts of `trace_printk`."""
    cases = [*PRINTED, *((print_fmt, {"u": 1, "comm": b"a"}, "") for print_fmt in NOT_EVALUATED)]
    for kernel in (Kernel(), Kernel(big_endian=True, long_size=4)):
        order = "big" if kernel.big_endian else "little"
        texts = [event_text(case[0], FIELDS, number) for number, case in enumerate(cases, 1000)]
        contents = [record(order, **dict(case[1]))[8:] for case in cases]
        yield from _files(kernel, texts, contents)
        yield _messages(kernel)
    hypercalls = format_text(
        "xen_mc_entry",
        900,
        "unsigned int op 8 4 0",
        '"op %s %s", xen_hypercall_name(REC->op), jbd2_dev_to_name(REC->op)',
    )
    commands = format_text(
        "scsi_dispatch_cmd_start",
        901,
        "__data_loc unsigned char[] cmnd 8 4 0",
        '"%s", scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), 32)',
    )
    numbers = [(number, hypercalls) for number in (1, 48, 70)]
    yield from _one_event(hypercalls, [struct.pack("<I", number) for number, _ in numbers])
    blocks = [
        bytes([code, service, *range(7, 13), 0, service, 0x68, *range(40, 61)])
        for code, services in {8: (1,), 40: (0x18,), 65: (0x6B,), 66: (0,), 0: (0,)}.items()
        for service in services
    ]
    blocks += [bytes([158, service, *range(30)]) for service in (0x10, 0x12, 5)]
    blocks += [bytes([127, 0, *bytes(6), 0, kind, *range(22)]) for kind in (9, 11, 13, 1)]
    yield from _one_event(commands, [struct.pack("<I", 32 << 16 | 12) + block for block in blocks])


def _one_event(text: bytes, contents: list[bytes]) -> Iterator[bytes]:
    """A file of records of one event."""
    kernel = Kernel()
    number = int(re.findall(rb"\nID: (\d+)", text)[0])
    records = [kernel.record(3, kernel.common(number, 42) + content) for content in contents]
    yield File(kernel, {0: kernel.page(5, *records)}, formats={"kernel": [text]}).version_7()


def _messages(kernel: Kernel) -> bytes:
    """Texts of `trace_printk` with binary arguments; one that is not in the file."""
    long = "Q" if kernel.long_size == 8 else "I"
    places = [0x9000 + 0x40 * number for number in range(len(BINARY))]
    printk = b"".join(
        f'0x{at:x} : "{text}"\n'.encode() for at, (text, *_) in zip(places, BINARY, strict=True)
    )
    records = [
        kernel.common(BPRINT, 42) + kernel.pack(2 * long, 0x1010, at) + args
        for at, (_, args, _) in zip([*places, 0x123], [*BINARY, BINARY[0]], strict=True)
    ]
    records.append(kernel.common(BPUTS, 42) + kernel.pack(2 * long, 0x1010, places[-1]))
    end = 8 + kernel.long_size
    head = f"unsigned long ip 8 {kernel.long_size} 0\nconst char * {{}} {end} {kernel.long_size} 0"
    buffer = f"\nu32 buf[] {end + kernel.long_size} 0 0"
    formats = [
        format_text("bprint", BPRINT, head.format("fmt") + buffer, '"%ps: %s", REC->ip, REC->fmt'),
        format_text("bputs", BPUTS, head.format("str"), '"%ps: %s", REC->ip, REC->str'),
    ]
    page = kernel.page(7, *(kernel.record(1, record) for record in records))
    return File(
        kernel, {0: page}, formats={"ftrace": formats}, kallsyms=_KALLSYMS, printk=printk
    ).version_6()


def _internal() -> Iterator[bytes]:
    """Events of ftrace itself in the formats of a kernel, and stacks as old ones have spelled them."""
    kernel = Kernel()
    formats = {re.findall(rb"name: (\S+)", text)[0].decode(): text for text in all_formats()}
    texts = [formats[name] for name in _INTERNAL]
    records = []
    for text, given in zip(texts, _INTERNAL.values(), strict=True):
        places = re.findall(rb"offset:(\d+);\s*size:(\d+)", text)
        end = max(int(offset) + int(size) for offset, size in places)
        content = given or bytes(range(1, max(end - 7, 1)))
        number = int(re.findall(rb"ID: (\d+)", text)[0])
        records.append(kernel.record(10, kernel.common(number, 42) + content))
    page = kernel.page(1000, *records)
    own = {"ftrace": texts}
    yield File(kernel, {0: page}, formats=own, kallsyms=_KALLSYMS, printk=_PRINTK).version_7()
    stack = struct.pack("<i4x8Q", 3, 0x1010, 0x2010, 0x3010, *range(5))
    for name, spelling in (
        ("kernel_stack", "unsigned long caller[8] 16 64 0"),
        ("kernel_stack", "unsigned long caller 16 0 0"),
        ("user_stack", "char caller[64] 16 64 0"),
    ):
        text = format_text(name, 77, f"int size 8 4 1\n{spelling}", '""')
        page = kernel.page(1000, kernel.record(1, kernel.common(77, 42) + stack))
        yield File(kernel, {0: page}, formats={"ftrace": [text]}, kallsyms=_KALLSYMS).version_6()


def _addresses() -> Iterator[bytes]:
    """Addresses of every sort, on machines of both orders."""
    for kernel in (Kernel(), Kernel(big_endian=True)):
        texts = [
            format_text(
                f"seen{number}",
                number,
                f"__u8 addr[{length}] 8 {length} 0",
                f'"%p{suffix}", REC->addr',
            )
            for number, (length, suffix, _) in enumerate(_ADDRESSES, 1000)
        ]
        contents = [data.ljust(length, b"\0") for length, _, data in _ADDRESSES]
        yield from _files(kernel, texts, contents)


def _declared() -> Iterator[bytes]:
    """Fields in every spelling, formats that are none, and header pages that lack a field."""
    kernel = Kernel()
    head, _, tail = format_text("event", 800, "int x 8 4 1", '"%d", REC->x').rpartition(b"\tfield")
    texts = [
        head.replace(b"ID: 800", b"ID: %d" % number)
        + b"\t"
        + line
        + b"\n"
        + tail[tail.index(b"\n\n") :]
        for number, line in enumerate(_DECLARATIONS, 800)
    ]
    texts += [b"", b"name: x\n", b"name: x\nID: y\n", b"name: x\nID: 99999999999\nformat:\n"]
    records = [
        kernel.record(1, kernel.common(number, 42) + bytes(range(16)))
        for number in range(800, 800 + len(_DECLARATIONS))
    ]
    file = File(kernel, {0: kernel.page(5, *records)}, formats={"test": texts})
    whole = file.version_6()
    yield whole
    for old, new in (
        (b"timestamp", b"timestimp"),
        (b"commit", b"committ"[:6][::-1]),
        (b"timestamp;\toffset:0;\tsize:8", b"timestamp;\toffset:0;\tsize:2"),
        (b"commit;\toffset:8;\tsize:8", b"commit;\toffset:8;\tsize:2"),
    ):
        yield whole.replace(old, new, 1)


def _records_of_all_kinds() -> Iterator[bytes]:
    """Every kind of record that a ring buffer has, with every option that changes times."""
    for kernel in (Kernel(page_size=1024), Kernel(big_endian=True, long_size=4, page_size=1024)):
        k = kernel
        pages = {
            0: k.page(
                1 << 33,
                k.record(0, k.slice(42, 1 << 63, -3)),
                k.extend(1 << 30),
                k.record(5, k.marker(43, b"B|40|hi")),
                k.discarded(7, 20),
                k.record(1, k.switch(43, b"one", 44, b"two")),
                k.stamp(5 << 33),
                k.record(0, k.marker(1, b"x" * 300)),
                k.record(1, k.common(4321, 7) + b"of no format"),
                k.record(1, k.common(DYNAMIC, 1) + k.pack("III", 8 << 16 | 20, 16 | 6 << 16, 4))
            )
            + k.page(6 << 33, k.record(3, k.slice(42, 1)), missed=77)
            + k.page(6 << 33)
            + k.page(7 << 33, k.record(3, k.slice(42, 2)), missed=-1),
            3: k.page(2 << 33, k.record(0, k.slice(0, 9)), k.discarded(0, 8)),
        }  # fmt: skip
        instance = {"foo": {1: k.page(2 << 33, k.record(0, k.slice(42, 5)))}}
        local = (4, b"local [mono] global\0")
        shift = (1 << 33, 2 << 33)
        for options in (
            [
                local,
                (1, b"0x10\0"),
                (5, b"Linux box 6.18.0-rc1 x86_64\0"),
                (7, b"-12345\0"),
                (8, k.pack("I", 12)),
                (9, b"3.1.6\0"),
                (11, k.pack("Q", 1 << 63)),
                (13, b"vm\0" + k.pack("QI", 5, 2) + k.pack("4I", 0, 700, 1, 701)),
                (13, b"vm\0\1"),
                (999, b"unheard of"),
            ],
            [(4, b"local [x86-tsc]\0"), (14, k.pack("IIQ", 3000, 10, 55))],
            [(4, b"local [x86-tsc]\0"), (14, k.pack("IIQ", 3000, 60, 55)), (7, b"x\0")],
            [local, (12, k.pack("QIII2q2q2q2q", 9, 1, 1, 2, *shift, 5, 700, 3, 3, 1, 2))],
            [local, (12, k.pack("QIII2q2q2q2q", 9, 0, 1, 2, *shift, 5, 700, 3, 3, 1, 2))],
            [local, (12, k.pack("QIIIqqq", 9, 0, 1, 1, 10**9, -500, 1)), (12, b"\1")],
        ):
            file = File(kernel, pages, instance, options)
            yield file.version_6()
            yield file.version_7("zstd")


def _page_sizes() -> Iterator[bytes]:
    """Instances with pages larger and smaller than the others, which version 6 has none of."""
    for big_endian, long_size in ((False, 8), (True, 4)):
        for size, other in ((512, 1024), (1024, 512)):
            k = Kernel(big_endian, long_size, size)
            o = Kernel(big_endian, long_size, other)
            marks = [o.record(1, o.marker(43, b"x" * 40)) for _ in range(4)]
            pages = [
                o.page(100, *marks),
                o.page(200, *marks, missed=7),
                o.page(300, *marks, missed=-1),
                o.page(1 << 40, *marks),
                o.page((1 << 40) + 5),
            ]
            instances = {"inst": {0: b"".join(pages), 1: pages[0] + pages[3][:60]}}
            cpus = {0: k.page(5, k.record(0, k.slice(42, 5)))}
            file = File(k, cpus, instances, instance_page_size=other)
            yield from (file.version_7("none"), file.version_7("zstd"))


def _calls() -> Iterator[bytes]:
    """Functions that are called and return, deeper than at first, on more CPUs than at first."""
    kernel = Kernel()
    formats = [
        format_text("function", 1, "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0", '""'),
        format_text(
            "funcgraph_exit",
            10,
            "unsigned long func 8 8 0\nunsigned int depth 16 4 0\nu64 calltime 24 8 0\nu64 rettime 32 8 0",
            '""',
        ),
        format_text(
            "funcgraph_entry", 11, "unsigned long func 8 8 0\nunsigned int depth 16 4 0", '""'
        ),
    ]
    depths = [*range(40), *range(39, -1, -1)]
    graph = [
        kernel.common(11, 42) + kernel.pack("QIxxxx", 0x1000 * (depth % 4), depth)
        if at < 40
        else kernel.common(10, 42) + kernel.pack("QIxxxxQQ", 0x1000 * (depth % 4), depth, 9, 99)
        for at, depth in enumerate(depths)
    ]
    called = [
        kernel.common(1, 42) + kernel.pack("QQ", 0x1000 * at + 16, 0x1000 * (at - 1) + 8)
        for at in (*range(1, 40), 1, 2, 3, 1)
    ]
    for records in (graph, called):
        page = kernel.page(1000, *(kernel.record(10, each) for each in records))
        cpus = dict.fromkeys(range(3), page)
        yield File(kernel, cpus, formats={"ftrace": formats}, kallsyms=_KALLSYMS).version_7("zstd")


def _holes() -> Iterator[bytes]:
    """Files that a piece was lost of, or overwritten: in what describes the pages, and in the pages."""
    for kernel in (
        Kernel(page_size=_SMALL_PAGE),
        Kernel(big_endian=True, long_size=4, page_size=_SMALL_PAGE),
    ):
        pages = {
            cpu: [
                kernel.page(
                    1000 * (2 * number + cpu + 1),
                    *(kernel.record(1, kernel.slice(cpu + 1, i)) for i in range(15)),
                )
                for number in range(6)
            ]
            for cpu in (0, 1)
        }
        cpus = {cpu: b"".join(each) for cpu, each in pages.items()}
        file = File(kernel, cpus, {"inst": {0: pages[0][0]}})
        for data in (file.version_6(), file.version_7("none")):
            first = data.index(pages[0][1])
            for start, size in (
                (300, 8),
                (300, 60),
                (first + 100, 68),
                (first + 100, _SMALL_PAGE + 68),
                (first + 100, _SMALL_PAGE),
                (data.index(pages[1][2]) + 100, 68),
            ):
                yield data[:start] + data[start + size :]
            for start, filling in ((first, bytes(16)), (first + 100, b"\x9d" * _SMALL_PAGE)):
                yield data[:start] + filling + data[start + len(filling) :]
        for compression in ("zlib", "zstd"):
            data = file.version_7(compression)
            for start, size in ((300, 60), (len(data) - 900, 40), (len(data) - 700, 300)):
                yield data[:start] + data[start + size :]


def _damaged() -> Iterator[bytes]:
    """What a header, an option or a table says of the rest is not so."""
    kernel = Kernel(page_size=_SMALL_PAGE)
    page = kernel.page(5, kernel.record(0, kernel.slice(1, 1)))
    six = File(kernel, {0: page}, {"inst": {0: page}}).version_6()
    seven = File(kernel, {0: page, 1: page}).version_7()
    yield seven.replace(b"tracing7", b"tracing8", 1)
    yield six.replace(b"flyrecord", b"flyrekord")
    yield six.replace(b"options  \0", b"optoins  \0", 1)
    yield six.replace(b"header_page", b"header_pige", 1)
    yield six.replace(b"header_event", b"header_ivent", 1)
    for size in (0, 63, 1 << 31):
        yield seven[:14] + kernel.pack("I", size) + seven[18:]
    start = seven.index(b"none\0\0") + 6
    # Options in a circle, and where none are.
    yield seven[:-8] + seven[start : start + 8]
    yield seven[:-8] + kernel.pack("Q", 20)
    # Data that overlap, and of CPUs beyond any machine.
    entries = seven.index(kernel.pack("II", 2, 0))
    first, second = (slice(entries + at + 4, entries + at + 12) for at in (4, 24))
    yield seven[: second.start] + seven[first] + seven[second.stop :]
    yield seven[: entries + 4] + kernel.pack("I", 1 << 30) + seven[entries + 8 :]
    # Without what says where pages are, and what is cut before these end.
    yield seven[: seven.rindex(page) + len(page)]
    yield six[: six.rindex(page) + 100]
    text = File(text=_LATENCY)
    yield text.version_6()[:-300]
    yield text.version_7("zstd")[:-60]
    damage = kernel.word(0, 1) + kernel.pack("I", 5000)
    good = kernel.record(1, kernel.slice(1, 0))
    yield File(kernel, {0: kernel.page(1, good, damage, good)}).version_7("zlib")
    yield File(kernel, {0: kernel.page(1, good) + page[:100]}).version_7("none")
