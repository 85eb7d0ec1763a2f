"""Inputs of trace.dat for what describes events: print formats of every construct, fields in every spelling."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator

from support.trace_cmd.files import BPRINT, BPUTS, File, Kernel, format_text
from support.trace_cmd.print_format_cases import BINARY, NOT_EVALUATED, PRINTED
from support.trace_cmd.print_format_events import FIELDS, all_formats, event_text, record

_EVENTS_OF_A_FILE = 32
KALLSYMS = b"1000 T schedule\n2000 T middle\n3000 t inner\t[mod]\n4000 T end\nFFFF8000 A last\n"
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
#: Print formats that nobody writes: trace-cmd has no word for most.
_ODD = (
    '"%d", (REC->u, REC->i)',
    '"%d", "text"',
    '"%d", REC->words',
    '"%d", is_writable_pte(REC->u)',
    '"%d", __print_hex(REC->mac, 3)',
    '"%d", __get_str(d)',
    '"%d", jiffies_to_msecs()',
    '"%d", __le16_to_cpup(REC->u)',
    '"%d", __le16_to_cpup(&REC->mac[2])',
    '"%d", REC->u[1]',
    '"%x", *(u16 *)&REC->words',
    '"%x", *(REC->words + 1)',
    '"%s", __print_hex(REC->mac + 2, 2)',
    '"%s", __print_hex(REC->u ? REC->mac : REC->ip4, 2)',
    '"%s", __print_hex(REC, 8)',
    '"%s", __print_hex(REC->u, 8)',
    '"%s", __print_array(REC->u, 1, 1)',
    '"%s", __print_symbolic(REC->u, { (u8)1, "a" }, { -1, "b" }, { 1 ? 2 : 3, "c" }, { !0, "d" })',
    '"%s", __print_symbolic(REC->u, { sizeof(u32), "a" }, { REC->i, "b" })',
    '"%s", __get_dynamic_array(5)',
)
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


def described() -> list[bytes]:
    """The inputs."""
    return [*_kernel_events(), *_print_formats(), *_internal(), *_addresses(), *_declared()]


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
        file = File(kernel, {0: pages}, formats=formats, kallsyms=KALLSYMS, printk=_PRINTK)
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
    cases = [
        *PRINTED,
        *((print_fmt, {"u": 1, "comm": b"a"}, "") for print_fmt in (*NOT_EVALUATED, *_ODD)),
    ]
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
        kernel, {0: page}, formats={"ftrace": formats}, kallsyms=KALLSYMS, printk=printk
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
    yield File(kernel, {0: page}, formats=own, kallsyms=KALLSYMS, printk=_PRINTK).version_7()
    stack = struct.pack("<i4x8Q", 3, 0x1010, 0x2010, 0x3010, *range(5))
    for name, spelling in (
        ("kernel_stack", "unsigned long caller[8] 16 64 0"),
        ("kernel_stack", "unsigned long caller 16 0 0"),
        ("user_stack", "char caller[64] 16 64 0"),
    ):
        text = format_text(name, 77, f"int size 8 4 1\n{spelling}", '""')
        page = kernel.page(1000, kernel.record(1, kernel.common(77, 42) + stack))
        yield File(kernel, {0: page}, formats={"ftrace": [text]}, kallsyms=KALLSYMS).version_6()


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
