"""Inputs of trace.dat that no fixture is like: other kernels, records of every kind, lost pieces."""

from __future__ import annotations

from collections.abc import Iterator

from support.fuzz_inputs.trace_cmd_texts import KALLSYMS, described
from support.fuzzing.corpus import Files
from support.trace_cmd.files import DYNAMIC, File, Kernel, format_text, rich

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
#: Messages of atrace, and what is nearly such. Formatted by hand, many in a line.
# fmt: off
_MARKS = (
    b"B|42|x", b"C|42|n|5", b"C|42|n|-5", b"C|42|n|x", b"C|42|n", b"C|42|n|",
    b"C|42|n|1234567890123456789012", b"S|42|a|7", b"F|42|a|7", b"S|42|a", b"G|42|track|a|7",
    b"H|42|track|7", b"H|42|7", b"H|42|x", b"G|42|a|7", b"N|42|track|a", b"N|42|a", b"I|42|i",
    b"I|42|", b"E|42", b"E|42|x", b"E", b"B", b"B|", b"B|42", b"B|x|y", b"B|-1|y", b"B||y",
    b"T|42|x", b"Z|42|x|1", b"BB|42|x", b"tracing_mark_write: B|42|p", b"", b"|", b"no mark",
    b"trace_event_clock_sync: parent_ts=5.5", b"trace_event_clock_sync: realtime_ts=7",
    b"B|42|a|b", b"E|42", b"B|42|a\nb", b"C|42|a b|7", b"B|42|\xff\x01", b"E|42", b"E|42",
    b"B|99999999999999999999|x",
)
# fmt: on


def inputs() -> list[Files]:
    """The inputs."""
    kernels = [Kernel(), Kernel(big_endian=True), Kernel(long_size=4)]
    versions = [*((version, kernel) for version in ("6", "none") for kernel in kernels)]
    found = [rich(version, kernel) for version, kernel in versions]
    found += [rich("zstd"), rich("zlib")]
    found += [File(text=_LATENCY).version_6(), File(text=_LATENCY).version_7("zstd")]
    found += described()
    found += [
        *_records_of_all_kinds(),
        *_markers(),
        *_page_sizes(),
        *_calls(),
        *_holes(),
        *_damaged(),
    ]
    return [{"": data} for data in found]


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


def _markers() -> Iterator[bytes]:
    """Texts that programs wrote: of atrace in every form, and what is nearly such."""
    kernel = Kernel()
    records = [kernel.record(1, kernel.marker(42 + at % 3, text)) for at, text in enumerate(_MARKS)]
    yield File(kernel, {0: kernel.page(5, *records)}).version_7("zlib")


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
            instances = {"inst": {0: b"".join(pages), 1: pages[0] + pages[3]}}
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
        yield File(kernel, cpus, formats={"ftrace": formats}, kallsyms=KALLSYMS).version_7("zstd")


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
        # Two pieces of a CPU, so that neither its beginning nor its end tells where its pages are.
        for data in (file.version_6(), file.version_7("none")):
            first = data.index(pages[0][1]) + 100
            third = data.index(pages[0][3]) + 100
            yield data[:first] + data[first + 68 : third] + data[third + 37 :]
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
    commit = page[:8] + kernel.pack("Q", 5000) + page[16:]
    unset = page[:8] + kernel.pack("Q", 5000 << 40) + page[16:]
    for pages in (page + commit + page, unset, page[:10]):
        yield File(kernel, {0: pages}, {"inst": {0: pages}}).version_6()
    damage = kernel.word(0, 1) + kernel.pack("I", 5000)
    good = kernel.record(1, kernel.slice(1, 0))
    yield File(kernel, {0: kernel.page(1, good, damage, good)}).version_7("zlib")
    yield File(kernel, {0: kernel.page(1, good) + page[:100]}).version_7("none")
