"""Kernel events that the Perfetto writer makes of other formats are what Perfetto's importer shows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.command.reports import reported
from support.perfetto.writing import kernel_events, projected, trace_of, written
from support.trace_cmd.files import File, Kernel, format_text
from support.traces.losses import line_of
from support.traces.strategies import batch_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor, number
from support.viewers.trace_processor_versions import Feature, shows

import converter
from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.protobuf.descriptors import typed_event
from converter.formats.trace_cmd.reading.reader import read
from converter.formats.trace_cmd.report.lines import print_report
from converter.ir.collect import with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Thread
from converter.storage.opening import open_source

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures"
RECORDINGS = [
    *(f"trace_cmd/{path.name}" for path in sorted(FIXTURES.glob("trace_cmd/*.dat"))),
    *(f"ctf/{name}" for name in ("ctf2_small", "ctf_cyg", "ctf_lost", "ctf_small", "perf_ctf")),
    "lttng_legacy/kernel-2.5.tar.gz",
    "lttng_legacy/net-2.6.tar.gz",
    "uftrace/rich",
    "aix/kernel-trace-32.aix32",
    "aix/kernel-trace-64.aix",
]
#: What the recordings themselves have: events that were lost, among them beginnings of functions.
OF_THE_SOURCE = {"ftrace_cpu_has_data_loss", "misplaced_end_event"}

pytestmark = needs_trace_processor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("importer")


@pytest.fixture(scope="module")
def shown(folder):
    """The recording as Perfetto, converted once."""
    made = {}

    def convert(name):
        if name not in made:
            made[name] = folder / f"{name.replace('/', '_')}.pftrace"
            converter.convert(FIXTURES / name, made[name])
        return made[name]

    return convert


recordings = pytest.mark.parametrize("name", RECORDINGS)


@recordings
def test_nothing_is_rejected(shown, name):
    assert errors(shown(name)).keys() <= OF_THE_SOURCE


@recordings
def test_each_event_is_a_row_with_a_name(shown, name):
    path = shown(name)
    assert number(path, "select count(*) from ftrace_event") == len(bundled(path))
    assert number(path, "select count(*) from ftrace_event where name is null") == 0


@recordings
def test_typed_events_show_the_fields_that_they_have(shown, name):
    path = shown(name)
    expected: Counter[str] = Counter()
    bare = set()
    for event in bundled(path):
        kind = event.WhichOneof("event")
        if kind is None:
            continue
        fields = getattr(event, kind).ListFields()
        expected[kind] += len(fields)
        if not fields:
            # Rows without arguments cannot be told from those with the first of all.
            bare.add(kind)
    query = "select f.name, count(*) from ftrace_event f join args using (arg_set_id) group by 1"
    found = {name: int(count) for name, count in answer(path, query)}
    for kind in expected.keys() - bare:
        # The importer shows all fields of a switch, also those that are absent.
        assert found[kind] >= expected[kind], kind


@recordings
def test_switches_arrive(shown, name):
    path = shown(name)
    switches = sum(event.HasField("sched_switch") for event in bundled(path))
    assert number(path, "select count(*) from ftrace_event where name = 'sched_switch'") == switches


def bundled(path):
    """The events of all bundles of a file."""
    return kernel_events(path.read_bytes())


# One event each


FLAGS = Field("common_flags", IntegerClass(8), Role.CONTEXT_FLAGS)
RSS_STAT = EventClass(
    Kind.TYPED,
    "rss_stat",
    "kmem",
    (
        FLAGS,
        Field("mm_id", IntegerClass(32)),
        Field("curr", IntegerClass(32)),
        Field("member", IntegerClass(32, signed=True)),
        Field("size", IntegerClass(64, signed=True)),
    ),
)


def imported(tmp_path, trace):
    path = tmp_path / "a.pftrace"
    path.write_bytes(written(projected(trace)))
    return path


def test_what_the_importer_makes_of_fields_without_a_role_is_there(tmp_path):
    path = imported(tmp_path, trace_of(RSS_STAT, (1, 7, 1, 1, 9 << 12), (0, 7, 1, 1, 900), cpu=2))
    values = answer(path, "select cast(value as int) from counter order by ts")
    assert values == [["36864"], ["900"]]


def test_flags_and_events_of_no_thread_are_no_rows_of_their_own(tmp_path):
    path = imported(tmp_path, trace_of(RSS_STAT, (3, 7, 1, 1, 900), thread=-1, cpu=2))
    assert answer(path, "select name, cpu from ftrace_event") == [["rss_stat", "2"]]
    assert errors(path) == {}


# Threads


FREE = tracepoints.tracepoint_class("sched", "sched_process_free", typed_event(240).fields)
BEGIN = EventClass(Kind.SLICE_BEGIN, fields=(mapping.NAME, mapping.CATEGORY))


def test_a_name_that_becomes_known_late_is_that_of_the_thread_which_has_ended(tmp_path):
    trace = trace_of(BEGIN, (b"work", b""))
    trace.threads[0].name = trace.processes[0].name = ""
    trace.event_classes.append(FREE)
    free = (0, b"", 11, 120)
    first = batch_of(trace, [(0, 100, -1, 0, -1, (b"work", b"")), (1, 200, 0, -1, -1, free)])
    second = batch_of(trace, [(1, 300, 0, -1, -1, (0, b"", 12, 120))])

    def batches():
        yield first
        trace.threads[0].name = "late"
        yield second

    trace.make_batches = batches
    path = tmp_path / "a.pftrace"
    path.write_bytes(written(trace))
    query = """
        select slice.name, thread.name, tid from slice
        join thread_track on thread_track.id = track_id join thread using (utid)
    """
    assert answer(path, query) == [["work", "late", "11"]]


TASK_NEW = EventClass(
    Kind.TASK_NEW, "task-new", "other", (Field("tid", IntegerClass(32), Role.TID),)
)


def test_a_new_thread_has_its_slices_its_name_and_its_process(tmp_path):
    trace = trace_of(TASK_NEW, (12,), cpu=0)
    trace.event_classes.append(BEGIN)
    trace.threads.append(Thread(12, 0, "worker"))
    events = [(0, 100, 0, 0, -1, (12,)), (1, 200, -1, 1, -1, (b"work", b""))]
    path = imported(tmp_path, with_batches(trace, [batch_of(trace, events)]))
    query = """
        select slice.name, thread.name, thread.start_ts, pid from slice
        join thread_track on thread_track.id = track_id join thread using (utid)
        join process using (upid)
    """
    assert answer(path, query) == [["work", "worker", "100", "10"]]


def test_switches_name_both_tasks_where_the_tables_do(tmp_path):
    fields = (
        Field("from", IntegerClass(32), Role.PREV_TID),
        Field("to", IntegerClass(32), Role.NEXT_TID),
    )
    switch = EventClass(Kind.SCHED_SWITCH, "schedule", "other", fields)
    trace = trace_of(switch, (11, 12), cpu=0)
    trace.threads.append(Thread(12, 0, "worker"))
    path = imported(tmp_path, trace)
    query = "select key, string_value from args where key like '%comm' order by 1"
    assert answer(path, query) == [["next_comm", "worker"], ["prev_comm", "main"]]


# What other tracers than Linux's record


def test_functions_of_a_program_are_slices_named_by_their_addresses(shown):
    path = shown("ctf/ctf_cyg")
    assert number(path, "select count(*) from slice where name like 'cyg+0x%'") == 753
    assert number(path, "select count(*) from ftrace_event where name like 'func%'") == 0


def test_hardware_interrupts_are_slices_as_softirqs_are(shown):
    query = "select count(*) from slice where name like 'IRQ (%'"
    assert number(shown("lttng_legacy/kernel-2.5.tar.gz"), query) > 0


def test_events_of_a_provider_are_instants_with_its_name(shown):
    path = shown("ctf/ctf_small")
    query = "select name, count(*) from slice where name like '%:end' group by 1"
    assert answer(path, query) == [["lttng_ust_statedump:end", "1"], ["rich:end", "60"]]
    assert number(path, "select count(*) from ftrace_event") == 0
    # Numbers with a fraction too.
    query = """
        select count(distinct real_value) > 1 from slice join args using (arg_set_id)
        where slice.name = 'rich:floats' and key = 'debug.d'
    """
    assert number(path, query) == 1


def test_only_marks_that_are_atraces_are_taken_for_that(tmp_path):
    fields = (Field("buf", StringClass(), Role.MESSAGE),)
    mark = EventClass(Kind.MARK, "print", "ftrace", fields)
    free = [
        b"Error: nothing ends here",
        b"Begin",
        b"C|7|no number|x",
        b"",
        b"x: B|7|within",
        b"B||a",
    ]
    texts = [b"B|7|outer\n", *free, b"C|7|level|5\n", b"S|7|op|1", b"F|7|op|1", b"E|7\n"]
    path = imported(tmp_path, trace_of(mark, *((text,) for text in texts), cpu=0))
    assert errors(path) == {}
    assert number(path, "select count(*) from ftrace_event where name = 'print'") == len(texts)
    assert answer(path, "select name, dur from slice order by ts, name") == [
        ["outer", str(len(texts) - 1)],
        ["op", "1"],
    ]
    assert number(path, "select count(*) from counter") == 1
    shown = {row[0] for row in answer(path, "select display_value from args where key = 'buf'")}
    assert {text.decode() for text in free if text} <= shown


def test_counters_of_a_cpu_are_on_its_track(tmp_path):
    fields = (
        Field("state", IntegerClass(32), Role.VALUE),
        Field("cpu_id", IntegerClass(32), Role.TARGET_CPU),
    )
    idle = EventClass(Kind.CPU_IDLE, "power_cpu_idle", "", fields)
    path = imported(tmp_path, trace_of(idle, (1, 0), (2, 3), thread=-1, cpu=1))
    query = "select name, cpu, cast(value as int) from counter join cpu_counter_track c on c.id = track_id"
    assert answer(path, query) == [["cpuidle", "0", "1"], ["cpuidle", "3", "2"]]


#: Of each sample: when, where, on which thread, its mode, and the functions, innermost first, by the way to the root.
CALL_STACKS = """
with recursive up(sample, depth, parent, name) as (
  select p.id, 0, c.parent_id, coalesce(f.name, printf('0x%x', f.rel_pc))
    from perf_sample p join stack_profile_callsite c on c.id = p.callsite_id
    join stack_profile_frame f on f.id = c.frame_id
  union all
  select u.sample, u.depth + 1, c.parent_id, f.name
    from up u join stack_profile_callsite c on c.id = u.parent
    join stack_profile_frame f on f.id = c.frame_id)
select p.ts, p.cpu, t.tid, p.cpu_mode,
  (select group_concat(name, ' ') from (select name from up where sample = p.id order by depth))
from perf_sample p join thread t using (utid) order by p.ts
"""


def test_call_stacks_of_the_kernel_are_samples_besides(tmp_path):
    k = Kernel()
    frames = ", ".join(f"(void *)REC->caller[{i}]" for i in range(8))
    kernel, user = (
        format_text(name, number, f"{first} 8 4 0\nunsigned long caller[8] 16 64 0", printed)
        for name, number, first, printed in (
            ("kernel_stack", 4, "int size", '""'),
            ("user_stack", 12, "unsigned int tgid", f'"{8 * "=> %ps "}", {frames}'),
        )
    )
    # A stack of an old kernel ends with all ones; a program's is filled with zeros, or has nothing in it.
    page = k.page(
        10,
        k.record(1, k.common(4, 42) + k.pack("ixxxx3Q", 3, 0x3010, 0x2020, 0x1030)),
        k.record(1, k.common(12, 42) + k.pack("Ixxxx8Q", 42, 0x7F00_1000, *[0] * 7)),
        k.record(1, k.common(12, 43) + k.pack("Ixxxx8Q", 43, *[0] * 8)),
        k.record(1, k.common(4, 42) + k.pack("ixxxx2Q", 2, 0x2000, (1 << 64) - 1)),
    )
    symbols = b"1000 T outer\n2000 T middle\n3000 t inner\n4000 T end\n"
    file = File(k, {1: page}, formats={"ftrace": [kernel, user]}, kallsyms=symbols)
    source, path, back = (tmp_path / name for name in ("a.dat", "a.pftrace", "back.dat"))
    source.write_bytes(file.version_7())
    losses = converter.convert(source, path)
    assert not [loss for loss in losses if "caller" in line_of(loss)]
    assert errors(path) == {}
    counted = [] if shows(Feature.SAMPLES_WITHOUT_COUNT) else [["3", "0.000000"]]
    assert answer(path, "select count(*), max(value) from counter having count(*)") == counted
    assert answer(path, CALL_STACKS) == [
        ["11", "1", "42", "kernel", "inner middle outer"],
        ["12", "1", "42", "user", "0x7f001000"],
        ["14", "1", "42", "kernel", "middle"],
    ]
    texts = "select display_value from args where flat_key = 'caller' and value_type = 'string'"
    assert answer(path, texts) == [
        ["inner <- middle <- outer"],
        ["[0x7f001000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0]"],
        ["[0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0]"],
        ["middle <- 0xffffffffffffffff"],
    ]
    # Each is one event again, its addresses and their names included.
    converter.convert(path, back)
    words = [
        reported(print_report, read(open_source(file.read_bytes()))).split()
        for file in (source, back)
    ]
    assert words[0] == words[1]


def test_lists_and_bytes_of_generic_events_are_shown_whole(tmp_path):
    k = Kernel()
    text = format_text(
        "gen",
        77,
        "__data_loc u32[] many 8 4 0\nu8 few[6] 12 6 0\n"
        "s16 signed[3] 18 6 1\nunsigned long mask[2] 24 16 0\nchar name[4] 40 4 0",
        '"%d", REC->name[0]',
    )
    records = [
        k.common(77, 42)
        + k.pack("I", 44 | 4 * len(many) << 16)
        + few
        + k.pack("3h2Q4s", -1, 2, -3, 1, 1 << 63, b"abc")
        + k.pack(f"{len(many)}I", *many)
        for many, few in (([1, 4_000_000_000, 3], b"\1\2\0\4\5\xff"), ([], bytes(6)))
    ]
    page = k.page(10, *(k.record(1, one) for one in records))
    file = File(k, {0: page}, formats={"user_events": [text]})
    source, path = tmp_path / "a.dat", tmp_path / "a.pftrace"
    source.write_bytes(file.version_7())
    losses = converter.convert(source, path)
    assert not [loss for loss in losses if loss.loss_class == "shown"]
    assert errors(path) == {}
    of_key = "select display_value from args where flat_key = '{}'"
    assert answer(path, of_key.format("many")) == [["[1, 4000000000, 3]"], ["[]"]]
    assert answer(path, of_key.format("few")) == [
        ["01 02 00 04 05 ff"],
        ["00 00 00 00 00 00"],
    ]
    assert answer(path, of_key.format("signed")) == [["[-1, 2, -3]"]] * 2
    assert answer(path, of_key.format("mask")) == [["[1, 9223372036854775808]"]] * 2
    assert answer(path, of_key.format("name")) == [["abc"]] * 2
