"""FXT as its writers make it: a small file for each thing that such files have of their own.

Several providers that name the same threads, idle threads by weight or priority, slots that are registered again or
never, koids of 64 bits, words after records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.fxt import files as fxt
from support.fxt.writer import HIGH, IDLE, ORDER, Writer, legacy_system, number, system

from converter.formats.fxt.record_types import (
    ArgumentType,
    EventType,
    MetadataType,
    ProfilerType,
    RecordType,
)

DOCUMENTS: dict[str, Callable[[], bytes]] = {}
Maker = Callable[[Writer], None]


def document(make: Maker) -> Maker:
    """Add a document to the table by the name of the function that fills it."""

    def made() -> bytes:
        writer = Writer()
        make(writer)
        return writer.bytes()

    DOCUMENTS[make.__name__] = made
    return make


# Fuchsia: the kernel's provider, and those of programs


@document
def system_switches(w: Writer) -> None:
    """Switches to and from idle threads, which have koids of their own."""
    system(w)
    w.switch(500, 0, (101, 20), (7, IDLE), 3)
    w.wakeup(900, 0, 101, 20)
    w.switch(1000, 0, (7, IDLE), (101, 20), 1)
    w.wakeup(1200, 1, 102, 24, waker=101)
    w.switch(1250, 1, (8, IDLE), (102, 24), 1)
    w.switch(1500, 0, (101, 20), (7, IDLE), 3)
    w.switch(1700, 1, (102, 24), (8, IDLE), 3)


@document
def system_states(w: Writer) -> None:
    """Each state in which a thread leaves its CPU, and those that the format does not have."""
    system(w)
    for n, state in enumerate([0, 1, 2, 3, 4, 5, 6, 15]):
        at = 1000 + 100 * n
        w.switch(at, 0, (7, IDLE), (101, 20), 1)
        w.switch(at + 50, 0, (101, 20), (7, IDLE), state)


@document
def system_weights(w: Writer) -> None:
    """Weights at their limits: only the least is idle."""
    system(w)
    last = 7
    for n, (tid, weight) in enumerate(
        [(101, 0), (102, 1), (101, -1), (102, (1 << 31) - 1), (101, IDLE + 1)]
    ):
        w.switch(1000 + 100 * n, 0, (last, IDLE if last == 7 else 9), (tid, weight), 3)
        last = tid
    w.switch(2000, 0, (last, IDLE + 1), (7, IDLE), 3)


@document
def system_wakeups(w: Writer) -> None:
    """Wakeups of threads that sleep, wait, run, and of unknown ones, by known and unknown threads."""
    system(w)
    w.switch(500, 0, (101, 20), (7, IDLE), 3)
    w.switch(600, 1, (102, 24), (8, IDLE), 3)
    w.wakeup(700, 0, 101, 20, waker=102)
    w.wakeup(750, 1, 101, 20)
    w.switch(800, 0, (7, IDLE), (101, 20), 1)
    w.wakeup(850, 1, 102, 24, waker=999)
    w.switch(900, 1, (8, IDLE), (102, 24), 1)
    w.wakeup(950, 1, 555, 24, waker=102)


@document
def system_no_weights(w: Writer) -> None:
    """Records without the weights that the importer asks for."""
    system(w)
    w.switch(500, 0, (7, None), (101, None), 1)
    w.wakeup(550, 0, 102, None)
    w.switch(600, 0, (101, 20), (102, None), 3)
    w.switch(700, 0, (102, 24), (7, IDLE), 3)


@document
def system_thread_0(w: Writer) -> None:
    """Idle threads that are koid 0 on every CPU."""
    system(w)
    for n in range(3):
        w.switch(500 + n * 100, n, (0, IDLE), (101 + n % 2, 20), 1)
        w.switch(550 + n * 100, n, (101 + n % 2, 20), (0, IDLE), 3)


@document
def system_without_objects(w: Writer) -> None:
    """Switches of threads that no kernel object names."""
    w.provider(1, b"ktrace_provider")
    w.switch(500, 0, (7, IDLE), (101, 20), 1)
    w.switch(600, 0, (101, 20), (102, 24), 2)
    w.switch(700, 0, (102, 24), (7, IDLE), 5)


@document
def system_and_slices(w: Writer) -> None:
    """Scheduling of one provider, slices of another on the same threads."""
    system(w)
    w.provider(2, b"app")
    w.thread(1, 100, 101)
    w.thread(2, 100, 102)
    w.slice(1000, 1400, 1, b"frame")
    w.slice(1100, 1200, 1, b"inner")
    w.slice(1260, 1600, 2, b"job")
    w.section(1)
    w.switch(900, 0, (7, IDLE), (101, 20), 1)
    w.switch(1250, 1, (8, IDLE), (102, 24), 1)
    w.switch(1500, 0, (101, 20), (7, IDLE), 3)


@document
def system_large_koids(w: Writer) -> None:
    """Koids of more than 32 bits, in switches, wakeups and slices alike."""
    base = HIGH + (1 << 20)
    system(w, base)
    w.thread(1, base + 100, base + 101)
    w.slice(1000, 1400, 1, b"frame")
    w.switch(900, 0, (base + 7, IDLE), (base + 101, 20), 1)
    w.wakeup(950, 1, base + 102, 24, waker=base + 101)
    w.switch(1000, 1, (base + 8, IDLE), (base + 102, 24), 1)
    w.switch(1500, 0, (base + 101, 20), (base + 7, IDLE), 3)


@document
def legacy_switches(w: Writer) -> None:
    """The first type of switches: threads by slot, the idle one with priority 0."""
    legacy_system(w)
    w.legacy(500, 0, (1, 20), (3, 0), 3)
    w.legacy(900, 0, (3, 0), (2, 24), 1)
    w.legacy(1200, 0, (2, 24), (1, 20), 2)
    w.legacy(1300, 1, (4, 0), (2, 24), 1)
    w.legacy(1400, 0, (1, 20), (3, 0), 5)


@document
def legacy_inline(w: Writer) -> None:
    """The same with process and thread in each record."""
    system(w)
    w.legacy(500, 0, ((100, 101), 20), ((0, 7), 0), 3)
    w.legacy(900, 0, ((0, 7), 0), ((100, 102), 24), 1)
    w.legacy(1200, 0, ((100, 102), 24), ((100, 101), 20), 4)


@document
def legacy_priority_0(w: Writer) -> None:
    """Priority 0 of a program's thread, and another one of a thread of process 0."""
    legacy_system(w)
    w.legacy(500, 0, (3, 0), (1, 0), 1)
    w.legacy(600, 0, (1, 0), (3, 5), 3)
    w.legacy(700, 0, (3, 5), (2, 24), 1)
    w.legacy(800, 0, (2, 24), (3, 0), 3)


# Fuchsia: programs


@document
def providers_share_threads(w: Writer) -> None:
    """Two providers register the same threads in other slots, and name them again."""
    for id, slots in ((1, (1, 2)), (2, (2, 1))):
        w.provider(id, b"provider %d" % id)
        w.process(10, b"app")
        for slot, tid in zip(slots, (11, 12), strict=True):
            w.thread(slot, 10, tid)
            w.named(10, tid, b"t%d" % tid)
        w.slice(1000 * id, 1000 * id + 500, 1, b"first")
        w.slice(1000 * id + 100, 1000 * id + 600, 2, b"second")


@document
def providers_of_own_strings(w: Writer) -> None:
    """Sections that change in between: each provider has slots of its own."""
    w.provider(1, b"one")
    w.string(1, b"draw")
    w.thread(1, 10, 11)
    w.provider(2, b"two")
    w.string(1, b"decode")
    w.thread(1, 20, 21)
    for n in range(3):
        w.section(1)
        w.slice(1000 + 100 * n, 1050 + 100 * n, 1, 1)
        w.section(2)
        w.slice(1010 + 100 * n, 1060 + 100 * n, 1, 1)


@document
def providers_of_own_rates(w: Writer) -> None:
    """Clocks of different rates."""
    w.provider(1, b"one", 10**9)
    w.thread(1, 10, 11)
    w.slice(1000, 2000, 1, b"a")
    w.provider(2, b"two", 24_000_000)
    w.thread(1, 20, 21)
    w.slice(24, 48, 1, b"b")


@document
def koids_that_agree_in_32_bits(w: Writer) -> None:
    """Two processes that only their upper halves tell apart: the importer takes them for one."""
    w.provider(1)
    w.thread(1, 100, 101)
    w.thread(2, HIGH + 500, HIGH + 501)
    w.slice(1000, 2000, 1, b"a")
    w.slice(1500, 2500, 2, b"b")


@document
def koids_at_the_limits(w: Writer) -> None:
    """Ids at the limits of 31 and 32 bits."""
    w.provider(1)
    for slot, tid in enumerate(
        [1, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, (1 << 31) + 5, HIGH - 7], 1
    ):
        w.thread(slot, 5, tid)
        w.named(5, tid, b"t%d" % slot)
        w.slice(1000 + slot, 1500 + slot, slot, b"s%d" % slot)


@document
def events_of_every_type(w: Writer) -> None:
    w.provider(1)
    w.process(10, b"app")
    w.thread(1, 10, 11)
    w.named(10, 11, b"main")
    w.begin(100, 1, b"outer", arguments=[number(b"n", 5)])
    w.instant(110, 1, b"mark", arguments=[number(b"x", 0.5)])
    w.flow(EventType.FLOW_BEGIN, 120, 1, 7)
    w.end(200, 1, b"outer")
    w.begin(300, 1, b"target")
    w.flow(EventType.FLOW_END, 310, 1, 7)
    w.end(400, 1, b"target")
    w.counter(410, 1, b"fps", 0, number(b"value", 60))
    w.event(EventType.ASYNC_BEGIN, 420, 1, b"load", tail=1)
    w.event(EventType.ASYNC_INSTANT, 430, 1, b"load", tail=1)
    w.event(EventType.ASYNC_END, 440, 1, b"load", tail=1)


@document
def scope_words_of_instants(w: Writer) -> None:
    """The builder of 2026 appends the scope of each instant."""
    w.provider(1)
    w.thread(1, 10, 11)
    for n, scope in enumerate([1, 2, 3]):
        w.instant(100 + n, 1, b"mark", arguments=[number(b"n", n)])
        w.extend(scope.to_bytes(8, "little"))


@document
def null_arguments(w: Writer) -> None:
    w.provider(1)
    w.thread(1, 10, 11)
    w.slice(
        100, 200, 1, b"s", arguments=[fxt.argument(ArgumentType.NULL, b"none"), number(b"n", 1)]
    )
    w.instant(150, 1, b"i", arguments=[fxt.argument(ArgumentType.NULL, b"none")])


@document
def arguments_of_every_type(w: Writer) -> None:
    w.provider(1)
    w.thread(1, 10, 11)
    values: list[tuple[ArgumentType, Any]] = [
        (ArgumentType.INT32, -5),
        (ArgumentType.UINT32, (1 << 32) - 1),
        (ArgumentType.INT64, (1 << 64) - 9),
        (ArgumentType.UINT64, 1 << 40),
        (ArgumentType.STRING, b"text"),
        (ArgumentType.POINTER, 0xFFFF_8000_0000_1000),
        (ArgumentType.KOID, HIGH + 5),
        (ArgumentType.BOOLEAN, True),
    ]
    arguments = [fxt.argument(kind, b"a%d" % kind, value) for kind, value in values]
    w.slice(100, 200, 1, b"s", arguments=[*arguments, number(b"d", -1.25)])
    w.begin(300, 1, b"b", arguments=arguments[:3])
    w.end(400, 1, b"b", arguments=arguments[3:])


@document
def koids_as_arguments(w: Writer) -> None:
    """Arguments that name threads are what they were, whatever number the thread has."""
    w.provider(1)
    w.thread(1, HIGH + 10, HIGH + 11)
    w.instant(100, 1, b"post", arguments=[fxt.argument(ArgumentType.KOID, b"to", HIGH + 11)])
    w.slice(200, 300, 1, b"s")


@document
def counters_of_programs(w: Writer) -> None:
    """Several series, ids, doubles, and counters without numbers."""
    w.provider(1)
    w.process(10, b"app")
    w.thread(1, 10, 11)
    w.counter(100, 1, b"memory", 0, number(b"used", 10), number(b"free", 2.5))
    w.counter(110, 1, b"memory", 1, number(b"used", -3))
    w.counter(120, 1, b"memory", 0, number(b"used", 11), number(b"free", 2.0))


@document
def counters_without_numbers(w: Writer) -> None:
    w.provider(1)
    w.process(10, b"app")
    w.thread(1, 10, 11)
    w.counter(100, 1, b"state", 0, fxt.argument(ArgumentType.STRING, b"is", b"open"))
    w.counter(110, 1, b"empty", 0)
    w.counter(120, 1, b"fps", 0, number(b"v", 5))


@document
def logs_and_objects(w: Writer) -> None:
    """Records that no viewer shows, among slices."""
    w.provider(1)
    w.thread(1, 10, 11)
    w.slice(100, 200, 1, b"s")
    w.log(150, 1, b"hello")
    w.add(fxt.kernel_object(ORDER, 17, 99, b"vmo"))
    header = {"profiler_type": int(ProfilerType.BACKTRACE), "thread": 1, "frames": 2}
    w.add(fxt.record(ORDER, RecordType.PROFILER, header, timestamp=160, frames=[5, 6]))
    w.slice(300, 400, 1, b"t")


@document
def slots_registered_again(w: Writer) -> None:
    """A ring of slots that is too small for the threads and names."""
    w.provider(1)
    for n in range(6):
        w.thread(1 + n % 2, 10, 20 + n)
        w.string(1 + n % 2, b"name %d" % n)
        w.slice(100 + 100 * n, 150 + 100 * n, 1 + n % 2, 1 + n % 2)


@document
def unregistered_threads(w: Writer) -> None:
    """Slots that were never registered: the importer takes all for thread 0."""
    w.provider(1)
    for slot in (1, 2, 3):
        w.slice(1000 * slot, 1000 * slot + 500, slot, b"s%d" % slot)


@document
def unregistered_strings(w: Writer) -> None:
    w.provider(1)
    w.thread(1, 10, 11)
    w.slice(100, 200, 1, 77)
    w.slice(300, 400, 1, b"known")


@document
def names_that_change(w: Writer) -> None:
    """A process and a thread that are called otherwise later, and a thread that is named after its events."""
    w.provider(1)
    w.process(10, b"launcher")
    w.thread(1, 10, 11)
    w.thread(2, 10, 12)
    w.named(10, 11, b"initial")
    w.slice(100, 200, 1, b"s")
    w.slice(150, 250, 2, b"u")
    w.process(10, b"app")
    w.named(10, 11, b"worker")
    w.named(10, 12, b"late")
    w.slice(300, 400, 1, b"t")


@document
def names_without_process(w: Writer) -> None:
    """Kernel objects of threads that do not say their process."""
    w.provider(1)
    w.thread(1, 10, 11)
    w.add(fxt.kernel_object(ORDER, 2, 11, b"main"))
    w.slice(100, 200, 1, b"s")


@document
def main_threads(w: Writer) -> None:
    """Threads that have the id of their process."""
    w.provider(1)
    w.process(10, b"app")
    w.thread(1, 10, 10)
    w.thread(2, HIGH + 5, HIGH + 5)
    w.named(10, 10, b"main")
    w.slice(100, 200, 1, b"s")
    w.slice(150, 250, 2, b"t")


@document
def empty_names(w: Writer) -> None:
    w.provider(1)
    w.process(10, b"")
    w.thread(1, 10, 11)
    w.named(10, 11, b"")
    w.slice(100, 200, 1, b"")
    w.instant(300, 1, b"")


# OCaml: runtime_events, olly, ocaml-trace


@document
def ocaml_rings(w: Writer) -> None:
    """A ring for each domain: threads of process 1, strings interned at first use."""
    w.add(fxt.initialization(ORDER, 10**9))
    for domain in range(3):
        w.thread(domain + 1, 1, domain + 1)
        w.named(1, domain + 1, b"Domain %d" % domain)
    for domain in range(3):
        at = 1000 + domain
        w.begin(at, domain + 1, b"major_slice")
        w.begin(at + 10, domain + 1, b"mark")
        w.end(at + 20, domain + 1, b"mark")
        w.end(at + 30, domain + 1, b"major_slice")
        w.counter(at + 40, domain + 1, b"minor_promoted", 0, number(b"v", 5 * domain))


@document
def ocaml_open_slices(w: Writer) -> None:
    """A recording that was cut: ends without begins, begins without ends."""
    w.provider(1, b"ocaml-trace")
    w.thread(1, 4242, 1)
    w.end(1000, 1, b"minor")
    w.begin(1100, 1, b"major")
    w.begin(1200, 1, b"sweep")
    w.end(1300, 1, b"sweep")


@document
def ocaml_inline_threads(w: Writer) -> None:
    """Process and thread in each record."""
    w.provider(1, b"ocaml-trace")
    for tid in (1, 2):
        w.slice(1000, 1100, (4242, tid), b"span", arguments=[number(b"n", tid)])
    w.instant(1050, (4242, 1), b"message")
    w.counter(1060, (4242, 1), b"heap", 1, number(b"words", 100))


@document
def ocaml_system_thread(w: Writer) -> None:
    """Thread ids that are addresses of pthreads, of more than 32 bits."""
    w.provider(1, b"ocaml-trace")
    for slot, tid in ((1, 0x7F12_3456_7000), (2, 0x7F12_3456_7000 + HIGH), (3, 0x3456_7000)):
        w.thread(slot, 4242, tid)
        w.named(4242, tid, b"t%d" % slot)
        w.slice(1000 + slot, 2000 + slot, slot, b"span")


# Rust, Go: libraries


@document
def rust_spans(w: Writer) -> None:
    """Names and arguments inline, one process, koids from the operating system."""
    w.provider(1, b"fxt-rs")
    w.process(3_000_000, b"service")
    w.thread(1, 3_000_000, 3_000_001)
    w.named(3_000_000, 3_000_001, b"tokio-runtime-worker")
    w.begin(1000, 1, b"request", arguments=[fxt.argument(ArgumentType.STRING, b"path", b"/a")])
    w.instant(
        1100, 1, b"log", arguments=[fxt.argument(ArgumentType.STRING, b"message", "é".encode())]
    )
    w.end(1200, 1, b"request")


@document
def rust_blobs(w: Writer) -> None:
    w.provider(1, b"fxt-rs")
    w.thread(1, 10, 11)
    header = {"name": fxt.text(b"blob"), "size": 4, "blob_type": 1}
    w.slice(100, 200, 1, b"s", arguments=[fxt.argument(ArgumentType.BLOB, b"data", b"\1\2\3\4")])
    del header
    w.slice(300, 400, 1, b"t")


@document
def go_processes(w: Writer) -> None:
    """One provider, many processes, each registered inline."""
    w.provider(1, b"fxt-go")
    for pid in range(1, 6):
        w.process(pid, b"p%d" % pid)
        w.slice(1000 + pid, 1500 + pid, (pid, pid * 100), b"work")
        w.counter(2000 + pid, (pid, pid * 100), b"load", 0, number(b"v", pid))


# magic-trace


@document
def magic_trace(w: Writer) -> None:
    """The header of magic-trace, begins and ends alone, and a thread a lane."""
    w.add(fxt.provider(ORDER, 0, b"jane_tracing"), fxt.provider(ORDER, 0, None))
    w.string(1, b"process")
    w.add(fxt.initialization(ORDER, 10**9, 1000, 1_700_000_000_000_000_000))
    w.process(1, b"demo")
    w.thread(1, 1, 2)
    w.named(1, 2, b"main")
    w.string(2, b"")
    w.string(3, b"main")
    w.string(4, b"compute")
    w.begin(100, 1, 3)
    for n in range(3):
        w.begin(
            110 + 20 * n,
            1,
            4,
            arguments=[fxt.argument(ArgumentType.POINTER, b"address", 0x40_1000)],
        )
        w.end(120 + 20 * n, 1, 4)
    w.end(200, 1, 3)


@document
def magic_trace_same_times(w: Writer) -> None:
    """Begins and ends at one time, as a tracer of branches has them."""
    w.provider(0, b"jane_tracing")
    w.thread(1, 1, 2)
    for name in (b"a", b"b", b"c"):
        w.begin(100, 1, name)
    for name in (b"c", b"b"):
        w.end(100, 1, name)
    w.begin(100, 1, b"d")
    w.end(150, 1, b"d")
    w.end(150, 1, b"a")


@document
def magic_trace_no_process(w: Writer) -> None:
    """A thread of process 0."""
    w.provider(0, b"jane_tracing")
    w.thread(1, 0, 5)
    w.named(0, 5, b"lane")
    w.slice(100, 200, 1, b"f")
    w.slice(120, 130, 1, b"g")


# Kernels that are not Fuchsia's, and what recorders get wrong


@document
def cpus_of_many(w: Writer) -> None:
    """The highest CPU that the importer takes."""
    system(w)
    for n, cpu in enumerate([0, 1, 1023, 1024, 4095]):
        w.switch(500 + 100 * n, cpu, (7, IDLE), (101 + n % 2, 20), 1)
        w.switch(550 + 100 * n, cpu, (101 + n % 2, 20), (7, IDLE), 3)


@document
def provider_events(w: Writer) -> None:
    """A provider whose buffer was full."""
    w.provider(1)
    w.thread(1, 10, 11)
    w.slice(100, 200, 1, b"s")
    header = {"metadata_type": int(MetadataType.PROVIDER_EVENT), "id": 1, "data": 0}
    w.add(fxt.record(ORDER, RecordType.METADATA, header))
    w.slice(300, 400, 1, b"t")


@document
def out_of_order(w: Writer) -> None:
    """Events of two threads as their buffers were written, one after the other."""
    w.provider(1)
    w.thread(1, 10, 11)
    w.thread(2, 10, 12)
    for slot in (1, 2):
        for n in range(3):
            w.slice(1000 + 100 * n + slot, 1050 + 100 * n + slot, slot, b"s%d" % n)
