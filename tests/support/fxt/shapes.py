"""FXT in the shapes of its writers, drawn by number: what they write, in the order and with the mistakes of theirs.

A document is of one writer: Fuchsia's kernel and several of its programs, OCaml's runtime, Rust, Go and C++ libraries,
magic-trace, Perfetto's own tests. It depends on its number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from support.fxt import files as fxt
from support.fxt.draws import Draw
from support.fxt.writer import HIGH, IDLE, ORDER, Slot, Writer, number

from converter.formats.fxt.record_types import ArgumentType, EventType

Shape = Callable[[Draw, Writer], None]
SHAPES: dict[str, Shape] = {}
#: The last slots that there are.
LAST_STRING, LAST_THREAD = (1 << 15) - 1, 255


def shape(draw: Shape) -> Shape:
    """Add a shape by the name of its function."""
    SHAPES[draw.__name__] = draw
    return draw


def document(seed: int) -> bytes:
    """A document by its number."""
    draw = Draw(seed)
    writer = Writer()
    list(SHAPES.values())[seed % len(SHAPES)](draw, writer)
    return writer.bytes()


def name_of(seed: int) -> str:
    """The shape that a number is of."""
    return list(SHAPES)[seed % len(SHAPES)]


# Fuchsia's kernel


class _Cpus:
    """What runs on each CPU, and threads that sleep; idle ones are of weight or priority."""

    def __init__(self, draw: Draw, writer: Writer, base: int) -> None:
        self.draw, self.writer = draw, writer
        self.legacy = draw.chance(0.3)
        #: Process, thread and weight.
        self.tasks = [
            (base + 100 * (1 + n // 2), base + 100 * (1 + n // 2) + 1 + n % 2, 16 + n)
            for n in range(draw.randint(2, 4))
        ]
        cpus = draw.choice([1, 2, 2, 3])
        self.idle = [(0, draw.choice([7 + cpu, 0]), 0) for cpu in range(cpus)]
        self.running = list(self.idle)
        self.runs: set[int] = set()

    def names(self) -> None:
        """Say processes and threads, idle ones included."""
        writer, draw = self.writer, self.draw
        said = set[int]()
        for pid, tid, _ in self.tasks:
            if pid not in said:
                writer.process(pid, b"process %d" % (pid % 1000))
                said.add(pid)
            writer.named(pid, tid, draw.choice([b"t%d" % (tid % 1000), b"main", b"thread name"]))
        for cpu, (_, tid, _) in enumerate(self.idle):
            if tid:
                writer.named(0, tid, b"idle %d" % cpu)
        for slot, (pid, tid, _) in enumerate([*self.tasks, *self.idle], 1):
            writer.thread(slot, pid, tid)

    def step(self) -> None:
        """A switch, or a wakeup."""
        draw, at = self.draw, self.draw.next(50)
        sleeping = [task for task in self.tasks if task not in self.running]
        cpu = draw.randrange(len(self.running))
        if draw.chance(0.35) and not self.legacy:
            _, tid, weight = draw.choice(sleeping if sleeping and draw.chance(0.9) else self.tasks)
            waker = self.running[cpu]
            known = waker not in self.idle and draw.chance(0.8)
            self.writer.wakeup(at, cpu, tid, weight, waker=waker[1] if known else None)
            return
        idle = self.idle[cpu]
        into = draw.choice([*sleeping, idle])
        out = self.running[cpu]
        if into == out:
            return
        state = 1 if out == idle else draw.choice([1, 2, 3, 3, 3, 4, 5])
        self.switch(at, cpu, out, into, state)
        self.running[cpu] = into

    def switch(
        self, at: int, cpu: int, out: tuple[int, int, int], into: tuple[int, int, int], state: int
    ) -> None:
        if not self.legacy:
            weights = [
                (tid, IDLE if (pid, tid, w) in self.idle else w) for pid, tid, w in (out, into)
            ]
            self.writer.switch(at, cpu, weights[0], weights[1], state)
            return
        slots = [*self.tasks, *self.idle]
        sides: list[tuple[Slot, int]] = []
        for pid, tid, priority in (out, into):
            slot = slots.index((pid, tid, priority)) + 1
            sides.append(((pid, tid) if self.draw.chance(0.3) else slot, priority))
        self.writer.legacy(at, cpu, sides[0], sides[1], state)


@shape
def kernel_scheduling(d: Draw, w: Writer) -> None:
    """Switches and wakeups, in the order of time."""
    w.provider(d.choice([0, 1, 0xFFFF_FFFF]), b"ktrace_provider")
    w.string(1, b"irq")
    cpus = _Cpus(d, w, d.choice([0, 0, 1 << 20, HIGH]))
    cpus.names()
    for _ in range(d.randint(2, 14)):
        cpus.step()


@shape
def kernel_and_programs(d: Draw, w: Writer) -> None:
    """Scheduling of one provider, slices of others on the same threads."""
    w.provider(1, b"ktrace_provider")
    cpus = _Cpus(d, w, 0)
    cpus.names()
    w.provider(2, b"app")
    for slot, (pid, tid, _) in enumerate(cpus.tasks, 1):
        w.thread(slot, pid, tid)
        if d.chance(0.5):
            w.process(pid, b"process %d" % pid)
    w.string(1, b"frame")
    for _ in range(d.randint(2, 6)):
        w.section(1)
        for _ in range(d.randint(0, 4)):
            cpus.step()
        w.section(2)
        at = d.next()
        w.slice(at, d.next() + 1, d.randint(1, len(cpus.tasks)), d.choice([1, b"draw"]))


@shape
def kernel_records(d: Draw, w: Writer) -> None:
    """System calls, interrupts and page faults of the kernel: instants, slices and counters, of the idle thread too."""
    w.provider(1, b"ktrace_provider")
    w.process(10, b"bin/app")
    w.thread(1, 10, 11)
    w.thread(2, 0, 7)
    w.named(10, 11, b"initial-thread")
    w.named(0, 7, b"idle 0")
    for _ in range(d.randint(1, 6)):
        slot = d.choice([1, 1, 2])
        match d.randrange(4):
            case 0:
                w.begin(d.next(), slot, b"syscall", arguments=d.arguments())
                w.end(d.next(), slot, b"syscall", arguments=d.arguments(1, b"end"))
            case 1:
                w.slice(d.next(), d.next(), slot, b"page_fault", arguments=d.arguments())
            case 2:
                w.instant(d.next(), slot, b"vcpu:enter", arguments=d.arguments())
                if d.chance(0.5):
                    w.extend(d.choice([1, 2, 3]).to_bytes(8, "little"))
            case 3:
                w.counter(
                    d.next(), slot, b"memory", d.choice([0, 1]), number(b"free", d.randrange(99))
                )


# Fuchsia's programs


def _program_event(d: Draw, w: Writer, slots: Sequence[Slot], named: Sequence[bytes | int]) -> None:
    """An event of a program, or those that belong together."""
    slot, name = d.choice(slots), d.choice(named)
    match d.choice("iXXBBCasf"):
        case "i":
            w.instant(d.next(), slot, name, arguments=d.arguments())
            if d.chance(0.3):
                w.extend(d.choice([1, 2, 3]).to_bytes(8, "little"))
        case "X":
            at = d.next()
            w.slice(at, d.next(), slot, name, arguments=d.arguments())
        case "B":
            w.begin(d.next(), slot, name, arguments=d.arguments())
            if d.chance(0.5):
                w.begin(d.next(), slot, b"inner")
                w.end(d.next(), slot, d.choice([b"inner", b""]))
            w.end(d.next(), slot, name, arguments=d.arguments(1, b"end"))
        case "C":
            values = [
                number(b"v%d" % n, d.choice([0, 1, -3, 2.5, 1 << 40]))
                for n in range(d.randint(1, 3))
            ]
            w.counter(d.next(), slot, d.choice([b"fps", b"memory"]), d.choice([0, 1, 9]), *values)
        case "a":
            id = d.choice([0, 1, 2, 1 << 40])
            w.event(EventType.ASYNC_BEGIN, d.next(), slot, name, tail=id, arguments=d.arguments())
            if d.chance(0.4):
                w.event(EventType.ASYNC_INSTANT, d.next(), slot, name, tail=id)
            w.event(EventType.ASYNC_END, d.next(), d.choice(slots), name, tail=id)
        case _:
            _flow(d, w, slots)


def _flow(d: Draw, w: Writer, slots: Sequence[Slot]) -> None:
    """A flow between slices of threads and processes, at their begins, ends, and in between."""
    id = d.choice([0, 1, 7, HIGH + 1, d.randrange(1 << 16)])
    kinds = [
        EventType.FLOW_BEGIN,
        *[EventType.FLOW_STEP] * d.choice([0, 0, 1, 2]),
        EventType.FLOW_END,
    ]
    for kind in kinds:
        slot = d.choice(slots)
        d.now += d.unit
        at = d.now
        inner = at + d.unit * d.choice([0, 1, 2, 3])
        d.now = end = at + 3 * d.unit
        if d.chance(0.5):
            w.begin(at, slot, b"part")
            w.flow(kind, inner, slot, id)
            w.end(end, slot, b"part")
        elif d.chance(0.5):
            w.slice(at, end, slot, b"whole")
            w.flow(kind, inner, slot, id)
        else:
            w.flow(kind, inner, slot, id)
            w.slice(at, end, slot, b"whole")
        d.now += d.unit


@shape
def programs(d: Draw, w: Writer) -> None:
    """Several providers, each with strings and threads of its own, of which some are the same."""
    providers = d.randint(1, 3)
    for id in range(1, providers + 1):
        w.provider(id, b"provider %d" % id)
        pid = d.choice([10, 10 * id])
        w.process(pid, b"p%d" % pid)
        for slot, tid in ((1, pid + 1), (2, pid + 2)):
            w.thread(slot, pid, tid)
            if d.chance(0.7):
                w.named(pid, tid, b"t%d" % tid)
        w.string(1, d.choice([b"draw", b"decode"]))
        w.string(LAST_STRING, b"last")
    d.slots = [1, LAST_STRING]
    for _ in range(d.randint(2, 8)):
        w.section(d.randint(1, providers))
        _program_event(d, w, [1, 2], [1, LAST_STRING, b"inline", b""])


@shape
def programs_with_flows(d: Draw, w: Writer) -> None:
    """Arrows of two processes, whose ids come again."""
    w.provider(1)
    for slot, (pid, tid) in enumerate([(10, 11), (10, 12), (20, 21)], 1):
        w.thread(slot, pid, tid)
    for _ in range(d.randint(1, 5)):
        _flow(d, w, [1, 2, 3])
        if d.chance(0.3):
            _program_event(d, w, [1, 2, 3], [b"x"])


@shape
def programs_with_arguments(d: Draw, w: Writer) -> None:
    """Arguments of all types, up to 15, with names in the first and the last slot."""
    w.provider(1)
    w.string(1, b"one")
    w.string(LAST_STRING, b"last")
    d.slots = [1, LAST_STRING]
    w.thread(LAST_THREAD, 10, 11)
    for _ in range(d.randint(1, 4)):
        count = d.choice([1, 2, 7, 14, 15])
        held = [d.argument(b"a%02d" % n) for n in range(count)]
        if count < 15 and d.chance(0.5):
            held.append(d.argument(d.choice([1, LAST_STRING])))
        at = d.next()
        match d.randrange(3):
            case 0:
                w.slice(at, d.next(), LAST_THREAD, d.choice([1, LAST_STRING]), arguments=held)
            case 1:
                w.instant(at, LAST_THREAD, d.text(), arguments=held)
            case 2:
                w.begin(at, LAST_THREAD, d.text(), arguments=held[: count // 2])
                w.end(d.next(), LAST_THREAD, b"", arguments=held[count // 2 :])


@shape
def counters(d: Draw, w: Writer) -> None:
    """Series, ids, numbers of all types, and what is no number."""
    w.provider(1)
    w.process(10, b"app")
    w.thread(1, 10, 11)
    w.thread(2, 20, 21)
    for _ in range(d.randint(1, 6)):
        held = []
        for n in range(d.choice([0, 1, 1, 2, 3])):
            kind = d.choice([ArgumentType.INT32, ArgumentType.UINT32, ArgumentType.UINT64])
            plain = fxt.argument(kind, b"s%d" % n, d.choice([0, 1, (1 << 31) - 1]))
            other = (
                d.argument(b"s%d" % n) if d.chance(0.3) else number(b"s%d" % n, d.choice([1.5, -2]))
            )
            held.append(d.choice([plain, other]))
        name = d.choice([b"c", b"d", b"", b"a:b"])
        w.counter(d.next(), d.choice([1, 2, (10, 12)]), name, d.choice([0, 1, HIGH]), *held)


@shape
def objects(d: Draw, w: Writer) -> None:
    """Names of processes and threads that come late, again, otherwise and with other arguments; other objects."""
    w.provider(1)
    w.thread(1, 10, 11)
    w.thread(2, 10, 10)
    w.string(1, b"process")
    w.string(2, b"named by slot")
    for _ in range(d.randint(2, 9)):
        match d.randrange(7):
            case 0:
                w.object(1, d.choice([10, 20]), d.choice([b"app", b"other", 2]), *d.arguments(2))
            case 1:
                process = fxt.argument(ArgumentType.KOID, d.choice([1, b"process"]), 10)
                name = d.choice([b"main", b"worker", b"", 2])
                w.object(2, d.choice([10, 11, 12]), name, process, *d.arguments(2))
            case 2:
                w.object(d.choice([3, 17]), 99, b"vmo", *d.arguments(2))
            case 3:
                w.userspace(0x1000, d.choice([1, (10, 0)]), b"object", *d.arguments(2))
            case 4:
                at = d.next()
                w.slice(at, d.next(), d.choice([1, 2]), b"s")
            case 5:
                w.blob(d.choice([1, 2]), d.choice([b"blob", 2, 0]), b"\1" * d.choice([0, 1, 8, 9]))
            case 6:
                w.log(d.next(), 1, d.text())


@shape
def slots(d: Draw, w: Writer) -> None:
    """Rings of slots that are registered again: the last registration before a record counts."""
    w.provider(1)
    for n in range(d.randint(3, 8)):
        thread, string = d.choice([1, 2, LAST_THREAD]), d.choice([1, 2, LAST_STRING])
        w.thread(thread, 10 + 10 * d.randrange(2), 20 + n % 4)
        w.string(string, b"name %d" % d.randrange(9))
        if d.chance(0.1):
            w.string(0, b"ignored")
        at = d.next()
        text = fxt.argument(ArgumentType.STRING, d.choice([string, b"inline"]), string)
        w.slice(at, d.next(), thread, string, arguments=[text])


# Libraries


@shape
def ocaml(d: Draw, w: Writer) -> None:
    """Rings of domains: begins and ends, cut at both sides; counters; threads in slots or in each record."""
    if d.chance(0.5):
        w.provider(1, b"ocaml-trace")
    else:
        w.add(fxt.initialization(ORDER, 10**9))
    inline = d.chance(0.3)
    places: list[Slot] = []
    for domain in range(d.randint(1, 3)):
        tid = d.choice([domain, domain + 1, 0x1234_5000 + domain])
        places.append((4242, tid) if inline else domain + 1)
        if not inline:
            w.thread(domain + 1, 4242, tid)
        if d.chance(0.5):
            w.named(4242, tid, b"Domain %d" % domain)
    for place in places:
        depth = 0
        at = d.now
        for _ in range(d.randint(1, 8)):
            at += d.choice([0, 1, 5, 9])
            if d.chance(0.55):
                w.begin(at, place, d.choice([b"major", b"minor", b"mark", b"sweep"]))
                depth += 1
            elif depth or d.chance(0.2):
                w.end(at, place, d.choice([b"", b"minor"]))
                depth = max(0, depth - 1)
        if d.chance(0.5):
            w.counter(at, place, b"minor_promoted", 0, number(b"v", d.randrange(99)))


@shape
def rust(d: Draw, w: Writer) -> None:
    """Spans with names and arguments inline, of threads of the operating system."""
    w.provider(1, b"fxt-rs")
    w.process(3_000_000, b"service")
    places: list[Slot] = []
    for slot, tid in enumerate((3_000_000, 3_000_001), 1):
        w.thread(slot, 3_000_000, tid)
        w.named(3_000_000, tid, d.choice([b"tokio-runtime-worker", "ö".encode(), b"main"]))
        places.append(slot)
    for _ in range(d.randint(1, 5)):
        _program_event(d, w, places, [b"request", b"poll", "größe".encode()])


@shape
def go(d: Draw, w: Writer) -> None:
    """Many processes of one provider, in each record; in the order of processes, not of time."""
    w.provider(1, b"fxt-go")
    begin = d.now
    for pid in range(1, d.randint(2, 5)):
        d.now = begin + d.randrange(20)
        if d.chance(0.7):
            w.process(pid, b"p%d" % pid)
        for _ in range(d.randint(1, 3)):
            place = (pid, pid * 100 + d.randrange(2))
            at = d.next()
            w.slice(at, d.next(), place, b"work", arguments=d.arguments())
            if d.chance(0.3):
                w.counter(d.next(), place, b"load", 0, number(b"v", pid))


@shape
def magic_trace(d: Draw, w: Writer) -> None:
    """Branches: begins and ends alone, many at one time; a clock with its time since 1970."""
    w.add(fxt.provider(ORDER, 0, b"jane_tracing"), fxt.provider(ORDER, 0, None))
    w.string(1, b"process")
    w.add(fxt.initialization(ORDER, 10**9, *d.choice([(), (1000, 1_700_000_000_000_000_000)])))
    w.object(1, 1, b"[demo] [123]")
    for slot in (1, 2):
        w.thread(slot, slot, slot + 1)
        w.object(2, slot + 1, b"main", fxt.argument(ArgumentType.KOID, 1, slot))
    for n, name in enumerate([b"", b"main", b"compute", b"[untraced]"], 2):
        w.string(n, name)
    open_names: list[int] = []
    for _ in range(d.randint(3, 14)):
        at = d.next(5)
        if open_names and d.chance(0.45):
            w.end(at, 1, open_names.pop())
        else:
            open_names.append(d.choice([2, 3, 4, 5]))
            address = fxt.argument(ArgumentType.POINTER, b"address", 0x40_1000)
            line = fxt.argument(ArgumentType.STRING, b"symbol", 4)
            w.begin(at, 1, open_names[-1], arguments=d.choice([[], [address], [address, line]]))
    while open_names and d.chance(0.8):
        w.end(d.now, 1, open_names.pop())
    if d.chance(0.3):
        w.slice(d.next(), d.next() + 1, 2, 4)


# Clocks, and what recorders get wrong


@shape
def clocks(d: Draw, w: Writer) -> None:
    """Rates of counters, said never, twice, or by each of two providers."""
    rates = [10**9, 10**6, 24_000_000, 19_200_000, 10**10, 2_400_000_000, 32_768]
    if d.chance(0.2):
        w.add(fxt.provider(ORDER, 1, b"no clock"), fxt.provider(ORDER, 1, None))
    else:
        w.provider(1, b"one", d.choice(rates))
        if d.chance(0.2):
            w.add(fxt.initialization(ORDER, d.choice(rates)))
    w.thread(1, 10, 11)
    two = d.chance(0.3)
    if two:
        w.provider(2, b"two", d.choice(rates))
        w.thread(1, 20, 21)
    # Times of several ticks in a nanosecond are rounded, by some importers to the nearest.
    d.unit = 100
    # At a common rate the importer is early by a nanosecond each 2^32 ticks.
    d.now = d.choice([0, 1000] if two else [0, 1000, 1 << 31])
    for _ in range(d.randint(1, 5)):
        w.section(d.choice([1, 2]) if two else 1)
        _program_event(d, w, [1], [b"x"])


@shape
def disorder(d: Draw, w: Writer) -> None:
    """Buffers of threads one after the other, slices at their ends, ends before begins."""
    w.provider(1)
    w.thread(1, 10, 11)
    w.thread(2, 10, 12)
    begin = d.now
    for slot in (1, 2):
        d.now = begin + d.randrange(5)
        held = []
        for _ in range(d.randint(1, 5)):
            at = d.next()
            end = d.next() + d.choice([0, 2, 7])
            if d.chance(0.05):
                at, end = end, at
            d.now = end
            held.append((at, end))
        if d.chance(0.5):
            held.reverse()
        for at, end in held:
            w.slice(at, end, slot, b"s", arguments=d.arguments())


@shape
def overlaps(d: Draw, w: Writer) -> None:
    """Slices of one thread that cross, and pairs among them."""
    w.provider(1)
    w.thread(1, 10, 11)
    for _ in range(d.randint(2, 6)):
        at = d.next(8)
        if d.chance(0.7):
            w.slice(at, at + d.randrange(12), 1, d.choice([b"a", b"b", b"c"]))
        elif d.chance(0.6):
            w.begin(at, 1, b"pair")
        else:
            w.end(at, 1, d.choice([b"pair", b"", b"a"]))


@shape
def leftovers(d: Draw, w: Writer) -> None:
    """Records that no viewer shows, among those that it shows."""
    w.provider(1)
    w.thread(1, 10, 11)
    w.named(10, 11, b"main")
    for _ in range(d.randint(2, 9)):
        match d.randrange(9):
            case 0:
                w.log(d.next(), 1, d.text())
            case 1:
                w.full_buffer(1)
            case 2:
                w.backtrace(d.next(), 1, 5, 6)
            case 3:
                w.blob(d.choice([1, 2, 7]), b"blob", b"\1\2\3")
            case 4:
                w.add(fxt.unknown(ORDER, d.choice([11, 12, 13]), b"unknown!" * d.randint(0, 2)))
            case 5:
                payload = b"\7" * d.choice([0, 5, 100])
                w.add(fxt.large_blob(ORDER, d.choice([0, 1]), payload, name=b"large", ts=d.next()))
            case 6:
                w.add(fxt.magic(ORDER))
            case _:
                _program_event(d, w, [1], [b"x"])
