"""Kernel events that the Perfetto writer makes of other formats are what Perfetto's importer shows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.perfetto_writing import kernel_events, projected, trace_of, written
from support.trace_processor import answer, errors, needs_trace_processor, number

import converter
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
RECORDINGS = [
    *(f"trace_cmd/{path.name}" for path in sorted(FIXTURES.glob("trace_cmd/*.dat"))),
    *(f"ctf/{name}" for name in ("ctf2_small", "ctf_cyg", "ctf_lost", "ctf_small", "perf_ctf")),
    "lttng_legacy/kernel-2.5.tar.gz",
    "lttng_legacy/net-2.6.tar.gz",
    "uftrace/rich",
    "aix/kernel-trace-32.aix32",
    "aix/kernel-trace-64.aix",
]
#: What the recordings themselves have: events that were lost, and marks that are none of atrace's.
OF_THE_SOURCE = {"ftrace_cpu_has_data_loss", "systrace_parse_failure"}

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
