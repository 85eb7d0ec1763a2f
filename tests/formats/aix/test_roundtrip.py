"""AIX's laws: streams are copied byte for byte, and what is written reads back as it was, in user hooks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aix.files import (
    VARIANTS,
    both_written,
    entry_64,
    every_form,
    from_path,
    opened,
    rows,
    stream,
    streams,
    trace_of_rows,
    words_64,
    written,
)
from support.traces.strategies import clocks, fitted_traces, traces

from converter.errors import UnsupportedError
from converter.formats.aix import FORMAT
from converter.formats.aix.capabilities import capabilities
from converter.formats.aix.entries.scan import presented
from converter.formats.aix.layout import FIRST_HOOK
from converter.formats.aix.reading.event_texts import entry_of
from converter.formats.aix.side_table import Declarations
from converter.formats.aix.trcfmt import Environment, evaluate, parse
from converter.formats.aix.writing.user_templates import place_of
from converter.formats.ftrace.capabilities import capabilities as trace_cmd_capabilities
from converter.formats.trace_cmd.reading.reader import read as read_trace_cmd
from converter.formats.trace_cmd.writing.writer import write as write_trace_cmd
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

FIXTURES = Path(__file__).resolve().parents[3] / "roundtrip_fixtures"


@pytest.mark.parametrize("variant", VARIANTS)
@given(data=st.data())
def test_a_stream_is_copied(variant, data):
    content = data.draw(streams(variant))
    trace = opened(content, variant)
    assert written(trace, variant) == content
    assert not trace.warnings


@given(variant=st.sampled_from(VARIANTS), trace=traces())
def test_what_is_projected_survives(variant, trace):
    projected = collect(project(trace, capabilities(variant), "aix")[0])
    content = written(projected, variant)
    again = opened(content, variant)
    assert difference(projected, again, sidecar=False) is None
    assert not again.warnings
    assert written(opened(content, variant), variant) == content


_clocks = clocks().filter(lambda clock: clock.ticks_per_second is not None)


@settings(max_examples=8)
@given(variant=st.sampled_from(VARIANTS), data=st.data())
def test_what_the_format_holds_survives(variant, data):
    # Of all integers the usual ones: to draw from the 126 that there are, in each style, takes long.
    usual = frozenset((bits, signed) for bits in (8, 16, 32, 64) for signed in (False, True))
    held = replace(capabilities(variant), integers=usual, styles=frozenset({Style.POINTER}))
    kinds = sorted(held.kinds.keys() - {Kind.NATIVE})
    trace = data.draw(fitted_traces(held, kinds=kinds, clock=_clocks))
    assert difference(trace, opened(written(trace, variant), variant)) is None


@given(trace=traces())
def test_only_an_unknown_rate_is_lost(trace):
    # User hooks hold what any event class declares, whatever its kind.
    target, report = project(trace, capabilities("64"), "aix")
    collect(target)
    expected = [] if trace.clock.ticks_per_second else ["clock-rate-unknown"]
    assert [loss.code for loss in report] == expected


@pytest.mark.parametrize("source", VARIANTS)
@pytest.mark.parametrize("target", VARIANTS)
@given(data=st.data())
def test_events_of_a_kernel_survive_as_user_hooks(source, target, data):
    # As they come from a filter: without the bytes that they were read from.
    read = collect(opened(data.draw(streams(source)), source))
    trace = with_batches(read, [_without_bytes(batch) for batch in read.batches()])
    projected = collect(project(trace, capabilities(target), "aix")[0])
    assert difference(projected, opened(written(projected, target), target)) is None


def _without_bytes(batch: Batch) -> Batch:
    return type(batch)(
        ts=batch.ts,
        class_id=batch.class_id,
        row=batch.row,
        tables=batch.tables,
        thread=batch.thread,
        cpu=batch.cpu,
        track=batch.track,
    )


@pytest.mark.parametrize("name", ["small.dat", "markers.dat"])
def test_a_kernel_trace_comes_back(name):
    original = read_trace_cmd(open_source(FIXTURES / "trace_cmd" / name))
    target, report = project(original, capabilities("64"), "aix")
    stream_again = opened(written(target))
    assert {loss.code for loss in report} <= {"native-data", "function-names"}
    back = BufferSink()
    write_trace_cmd(project(stream_again, trace_cmd_capabilities(""), "trace_cmd")[0], back, "")
    assert difference(original, read_trace_cmd(open_source(back.getvalue()))) is None


def _fixture(name: str, variant: str) -> bytes:
    # Nothing in a 32-bit stream says that it is one, so that its name must not either.
    suffix = {"64": ".aix", "32": ".aix32"}[variant]
    return (FIXTURES / "aix" / f"{name}-{variant}{suffix}").read_bytes()


@pytest.mark.parametrize("variant", VARIANTS)
def test_streams_of_every_form(variant):
    content = _fixture("every-form", variant)
    assert content == every_form(variant)
    trace = opened(content, variant)
    assert [(one.ts, one.name, one.kind) for one in rows(trace)] == EVERY_EVENT[variant]
    assert written(opened(content, variant), variant) == content
    assert trace.clock.ticks_per_second == 512_000_000
    # The second is forked from the first, whose program it runs.
    assert sorted((one.pid, one.name) for one in trace.processes) == [
        (0, ""),
        (8, "ksh"),
        (10, "ksh"),
    ]


_BEGINNING = [
    (100, "TRACE_UTIL", "TYPED"),
    (110, "TRACE ON", "TYPED"),
    (120, "DISPATCH", "SCHED_SWITCH"),
    (130, "EXEC", "PROCESS_EXEC"),
    (140, "SYSTEM CALL", "SYSCALL_ENTRY"),
    (150, "RETURN FROM SYSTEM CALL", "SYSCALL_EXIT"),
    (160, "FORK", "PROCESS_FORK"),
    (170, "hook 500", "TYPED"),
]
_END = [(190, "TRACEBUFFER WRAPAROUND", "DISCARDED"), (200, "TRACE OFF", "TYPED")]
_OTHER = (180, "hook 500", "TYPED")
EVERY_EVENT = {
    "64": [*_BEGINNING, (170, "hook 5F51", "TYPED"), _OTHER, _OTHER, *_END],
    "32": [*_BEGINNING, (170, "hook 500", "TYPED"), (170, "hook 500", "TYPED"), _OTHER, *_END],
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stream_written_before_still_reads(variant):
    content = _fixture("kernel-trace", variant)
    original = read_trace_cmd(open_source(FIXTURES / "trace_cmd" / "small.dat"))
    assert difference(original, opened(content, variant)) is None


U8, U64, I32 = IntegerClass(8), IntegerClass(64), IntegerClass(32, True)
EVERYTHING = EventClass(
    Kind.TYPED,
    "everything",
    "test",
    (
        Field("small", U8),
        Field("negative", I32),
        Field("pointer", IntegerClass(64, False, Style.POINTER)),
        Field("share", FloatClass(64)),
        Field("yes", BooleanClass()),
        Field("text", StringClass()),
        Field("blob", BytesClass()),
        Field("nothing", NullClass()),
        Field("many", ArrayClass(IntegerClass(16))),
        Field("maybe", OptionalClass(I32)),
        Field("last", U64),
    ),
)
EVERYTHING_VALUES = (200, -5, 0xABC, 0.5, True, b"hello", b"\x01\xff", None, [1, 2, 3], None, 9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_generated_templates_print_named_fields(variant):
    trace = trace_of_rows(EVERYTHING, rows=[(0, 5, 1, -1, -1, EVERYTHING_VALUES)])
    content, beside = both_written(trace, variant)
    assert beside is not None
    templates = parse(beside)
    assert not templates.warnings
    again = opened(content, variant)
    batch = next(again.batches())
    entry = entry_of(batch, 0, int(variant))
    assert entry is not None
    report = evaluate(templates, entry.id, entry, Environment(trace_env=int(variant)))
    assert report.warning is None
    fields = dict(report.fields)
    expected = {"small": 200, "negative": -5, "pointer": 0xABC, "share": 0.5, "yes": 1, "last": 9}
    assert {name: fields[name] for name in expected} == expected
    assert fields["text"] == "hello"
    text = report.text
    assert text.startswith("test:everything small=200 negative=-5")
    assert "blob=01FF" in text.replace(" ", "")
    assert "many=[123]" in text.replace(" ", "")
    assert text.endswith("last=9")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_templates_in_the_stream_are_those_beside_it(variant):
    trace = trace_of_rows(EVERYTHING, rows=[(0, 5, 1, -1, -1, EVERYTHING_VALUES)])
    content, beside = both_written(trace, variant)
    inside = b"011 1.0 L=KERN"
    assert beside is not None and inside in beside
    # An entry has 4,096 bytes of them at most, so that a short text is in one.
    assert inside in content


@pytest.mark.parametrize("variant", VARIANTS)
def test_thousands_of_classes_share_hooks(variant):
    classes = [
        EventClass(Kind.TYPED, f"event_{i}", "", (Field(f"value_{i}", U64),)) for i in range(2000)
    ]
    trace = trace_of_rows(*classes, rows=[(i, i, -1, -1, -1, (i,)) for i in range(2000)])
    content, beside = both_written(trace, variant)
    again = opened(content, variant)
    assert difference(trace, again) is None
    assert beside is not None
    templates = parse(beside)
    assert not templates.warnings
    batch = next(again.batches())
    for number in (0, 238, 239, 1000, 1999):
        position = int((batch.ts == number).argmax())
        entry = entry_of(batch, position, int(variant))
        assert entry is not None and entry.id == place_of(number)[0] >= FIRST_HOOK
        report = evaluate(templates, entry.id, entry, Environment())
        assert report.text == f"event_{number} value_{number}={number}"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("size", [4070, 4071, 4072, 4073, 4096, 9000, 300_000])
def test_events_larger_than_an_entry_go_on_in_further_ones(variant, size):
    event_class = EventClass(
        Kind.LOG, fields=(Field("message", StringClass(), Role.MESSAGE), Field("n", U64))
    )
    text = bytes(i % 251 for i in range(size))
    trace = trace_of_rows(
        event_class, rows=[(0, 1, 0, -1, -1, (text, 7)), (0, 2, 0, -1, -1, (b"short", 8))]
    )
    content = written(trace, variant)
    assert difference(trace, opened(content, variant)) is None
    at = 4 if variant == "64" else 0
    while at < len(content):
        shown, bits, stored = presented(int(variant), content[at:])
        assert len(shown) <= 4096 + 2 * bits // 8
        at += stored


@pytest.mark.parametrize("variant", VARIANTS)
def test_times_of_64_bits_survive(variant):
    event_class = EventClass(Kind.TYPED, "event")
    times = [-5, 3, 1 << 32, (1 << 32) + 1, 1 << 62]
    trace = trace_of_rows(event_class, rows=[(0, ts, -1, -1, -1, ()) for ts in times])
    assert [one.ts for one in rows(opened(written(trace, variant), variant))] == times


def test_rates_of_clocks_are_said_twice():
    trace = trace_of_rows(EventClass(Kind.TYPED, "event"), rows=[(0, 5, -1, -1, -1, ())])
    trace = replace(trace, clock=ClockDomain("tb", Fraction(512_000_000)))
    again = opened(written(trace))
    assert again.clock == trace.clock
    assert again.sidecar["aix"]["conversion"] == [125, 64, 2]


def test_names_that_come_late_are_declared_again():
    event_class = EventClass(Kind.TYPED, "event")
    trace = trace_of_rows(
        event_class,
        rows=[(0, 5, -1, 0, -1, ())],
        processes=[Process(7)],
        threads=[Thread(70, 0)],
    )
    batches = list(trace.batches())

    def named():
        yield from batches
        trace.processes[0].name = "late"
        trace.threads[0].name = "later"

    again = opened(written(replace(trace, make_batches=named)))
    list(again.batches())
    assert (again.processes[0].name, again.threads[0].name) == ("late", "later")


def test_arrays_of_nothing_have_an_end():
    held = EventClass(Kind.TYPED, "event", "", (Field("a", ArrayClass(NullClass())),))
    few = trace_of_rows(held, rows=[(0, 1, -1, -1, -1, ([None] * 255,))])
    assert difference(few, opened(written(few))) is None
    with pytest.raises(UnsupportedError, match="255"):
        written(trace_of_rows(held, rows=[(0, 1, -1, -1, -1, ([None] * 256,))]))


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_written_is_recognised(variant):
    content = written(
        trace_of_rows(EVERYTHING, rows=[(0, 5, 1, -1, -1, EVERYTHING_VALUES)]), variant
    )
    assert FORMAT.sniff(content)
    trace = FORMAT.reader()(open_source(content))
    assert trace.variant == variant
    assert len(rows(trace)) == 1


def test_half_a_copy_is_refused():
    trace = opened(stream("64", words_64(0x5000)))
    batches = list(trace.batches())
    mixed = replace(trace, make_batches=lambda: iter([batches[0], _without_bytes(batches[0])]))
    with pytest.raises(UnsupportedError, match="as they were read"):
        written(mixed)


def test_declarations_read_what_they_wrote():
    declarations = Declarations()
    content, beside = both_written(
        trace_of_rows(EVERYTHING, rows=[(0, 5, 1, -1, -1, EVERYTHING_VALUES)])
    )
    assert beside is not None and content
    declarations.read(beside)
    assert declarations.classes[0][0] == EVERYTHING
    assert not declarations.damaged


def test_templates_appear_beside_a_file(tmp_path):
    from converter.storage.outputs import open_sink

    trace = trace_of_rows(EVERYTHING, rows=[(0, 5, 1, -1, -1, EVERYTHING_VALUES)])
    with open_sink(tmp_path / "out.aix") as sink:
        from converter.formats.aix.writing.writer import write

        write(trace, sink, "64")
    assert (tmp_path / "out.aix.trcfmt").read_bytes().startswith(b"# traceconv 1\n")
    assert difference(trace, from_path(tmp_path / "out.aix")) is None


def test_hooks_of_others_in_a_stream_of_ours():
    trace = trace_of_rows(EVERYTHING, rows=[(0, 5, 1, -1, -1, EVERYTHING_VALUES)])
    content = written(trace) + words_64(0x5000, 4, tid=99) + entry_64(0x0110, b"", word=0)
    events = rows(opened(content))
    assert [one.name for one in events] == ["everything", "hook 500", "hook 011"]
    assert events[1].tid == 99
