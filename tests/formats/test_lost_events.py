"""How many events were lost, and where nobody knows how many: whatever the source and the target, that stays so."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from support.traces.small_traces import event_class, events_of, trace_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.analysis.statistics.measure import measure
from converter.ir.collect import collect
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role

I64 = IntegerClass(64, signed=True)
TICK = event_class(Kind.TYPED, "tick", "sched", n=I64)
UNCOUNTED = event_class(Kind.DISCARDED)
COUNTED = event_class(Kind.DISCARDED, "discarded", count=(I64, Role.COUNT))
UNSIGNED = event_class(Kind.DISCARDED, "discarded", count=(IntegerClass(64), Role.COUNT))
CLASSES = [TICK, UNCOUNTED, COUNTED, UNSIGNED]

#: Formats that say where events were lost.
SUFFIXES = ("dat", "ctf", "lttng", "uftrace", "pftrace", "aix", "parquet", "arrow", "tcir")
GUESSES = "gap-size-guessed"


def recording(*gaps, step=1000):
    """Events on one CPU with a gap before each but the first: (class, values)."""
    rows = [(0, step, 0, 1, [0])]
    for number, (one, *values) in enumerate(gaps, 1):
        rows.append((CLASSES.index(one), 2 * number * step, 0, 1, values))
        rows.append((0, (2 * number + 1) * step, 0, 1, [number]))
    return trace_of(CLASSES, rows)


def lost(path):
    """How many events were lost, and how often nobody knows how many."""
    trace = converter.read(path)
    known, unknown = np.array(list(measure(trace).lost.values())).reshape(-1, 2).sum(axis=0)
    return int(known), int(unknown)


def losses(report):
    return {loss.code: loss.count for loss in report}


@pytest.mark.parametrize("target", SUFFIXES)
@pytest.mark.parametrize("source", SUFFIXES)
def test_what_is_not_known_stays_unknown(tmp_path, source, target):
    first, second = tmp_path / f"a.{source}", tmp_path / f"b.{target}"
    converter.write(recording((UNCOUNTED,), (COUNTED, -1), (COUNTED, 7), (UNSIGNED, 3)), first)
    assert lost(first) == (10, 2)
    report = converter.convert(first, second)
    assert lost(second) == (10, 2)
    assert GUESSES not in losses(report)


@pytest.mark.parametrize("source", SUFFIXES)
def test_a_version_without_a_word_for_it_guesses_and_says_so(tmp_path, source):
    first, second = tmp_path / f"a.{source}", tmp_path / "b"
    converter.write(recording((UNCOUNTED,), (COUNTED, -1), (COUNTED, 7)), first)
    report = converter.convert(first, second, target_format="lttng_legacy+1.0")
    assert lost(second) == (9, 0)
    assert losses(report)[GUESSES] == 2


@pytest.mark.parametrize("target", SUFFIXES)
def test_none_is_no_unknown_number(tmp_path, target):
    path = tmp_path / f"a.{target}"
    report = converter.write(recording((COUNTED, 0), (UNSIGNED, 0), (COUNTED, 1)), path)
    assert lost(path) == (1, 0)
    dropped = losses(report).get("gap-empty", 0)
    assert dropped == (2 if target in ("ctf", "lttng", "uftrace", "pftrace") else 0)


@pytest.mark.parametrize(
    ("target", "most"),
    [("uftrace", (1 << 48) - 1), ("lttng", (1 << 32) - 1), ("dat", (1 << 63) - 1)],
)
def test_numbers_beyond_those_of_a_format_are_cut_to_its_largest(tmp_path, target, most):
    path = tmp_path / f"a.{target}"
    for count, held, changed in ((most - 1, most - 1, 0), (most, most, 0), (most + 1, most, 1)):
        report = converter.write(recording((UNSIGNED, count)), path, force=True)
        assert lost(path) == (held, 0)
        assert losses(report).get("gap-size-capped", 0) == (changed)


def reported(program, *arguments):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return done.stdout.decode(), done.stderr.decode()


#: The gaps are near the next event, or seconds before it: of those the record in front has the time.
@pytest.mark.parametrize("step", [1000, (1 << 27) - 1, 1 << 27, 3_000_000_000])
def test_trace_cmd_shows_gaps_with_and_without_a_number(tmp_path, step):
    path = tmp_path / "a.dat"
    trace = recording((UNCOUNTED,), (COUNTED, -1), (COUNTED, 7), step=step)
    report = converter.write(trace, path)
    text, _ = reported("trace-cmd", "report", "-N", path)
    assert re.findall(r"CPU:0 \[(.*)\]", text) == [
        *("EVENTS DROPPED", "EVENTS DROPPED", "7 EVENTS DROPPED")
    ]
    moved = losses(report).get("gap-moved", 0)
    assert moved == (3 if step >= 1 << 27 else 0)


def test_a_gap_is_seen_whose_event_is_in_a_later_batch(tmp_path):
    batches = [
        [(0, 0, 0, 1, [0]), (0, 5, 1, 1, [0]), (2, 10, 0, 1, [4])],
        [(0, 1_000_000_000, 1, 1, [1]), (2, 1_500_000_000, 1, 1, [-1])],
        [(0, 2_000_000_000, 0, 1, [2]), (0, 3_000_000_000, 1, 1, [3]), (2, 10**10, 0, 1, [5])],
    ]
    path = tmp_path / "a.dat"
    report = converter.write(trace_of(CLASSES, *batches), path)
    assert lost(path) == (9, 1)
    assert losses(report)["gap-unfollowed"] == 1
    text, _ = reported("trace-cmd", "report", "-N", path)
    # Nothing follows the last.
    assert re.findall(r"(CPU:.*)\n.*n=(\d)", text) == [
        *(("CPU:0 [4 EVENTS DROPPED]", "2"), ("CPU:1 [EVENTS DROPPED]", "3"))
    ]


def test_gaps_that_no_event_follows_are_named(tmp_path):
    """Of several gaps before an event trace-cmd shows the last."""
    gaps = [(2, 10, 0, 1, [4]), (2, 20, 0, 1, [5]), (2, 20, 1, 1, [7]), (2, 30, 2, 1, [8])]
    batches = [
        [(0, 5, 0, 1, [0]), *gaps],
        [(2, 30, 1, 1, [9]), (0, 40, 0, 1, [1]), (0, 40, 1, 1, [2])],
    ]
    path = tmp_path / "a.dat"
    report = converter.write(trace_of(CLASSES, *batches), path)
    assert lost(path) == (33, 0)
    assert losses(report)["gap-unfollowed"] == 3
    text, _ = reported("trace-cmd", "report", "-N", path)
    assert re.findall(r"(CPU:.*)\n.*n=(\d)", text) == [
        *(("CPU:0 [5 EVENTS DROPPED]", "1"), ("CPU:1 [9 EVENTS DROPPED]", "2"))
    ]


def test_babeltrace_says_that_a_packet_was_lost(tmp_path):
    path = tmp_path / "a.ctf"
    converter.write(recording((UNCOUNTED,), (COUNTED, -1), (COUNTED, 7)), path)
    _, errors = reported("babeltrace2", path)
    assert re.findall(r"Tracer discarded (\d+ \w+)", errors) == ["1 packet", "1 packet", "7 events"]


def test_a_gap_in_front_of_all_events_is_between_two_packets(tmp_path):
    path = tmp_path / "a.ctf"
    converter.write(trace_of(CLASSES, [(1, 5, 0, -1, []), (0, 9, 0, 1, [1])]), path)
    assert lost(path) == (0, 1)
    _, errors = reported("babeltrace2", path)
    assert re.findall(r"Tracer discarded (\d+ \w+)", errors) == ["1 packet"]


@needs_trace_processor
def test_trace_processor_takes_no_record_of_nothing_for_a_gap(tmp_path):
    question = "select count(*) from stats where name = 'ftrace_cpu_has_data_loss' and value"
    for count, expected in ((0, "0"), (-1, "1"), (1, "1")):
        path = tmp_path / f"{count}.pftrace"
        converter.write(recording((COUNTED, count)), path)
        assert answer(path, question) == [[expected]]


def test_corrupt_sub_buffers_lose_nobody_knows_how_many(tmp_path):
    """LTTV warns of them apart from lost events."""
    path = tmp_path / "a.lttng"
    converter.write(recording((COUNTED, -1), (COUNTED, 5)), path)
    held = collect(converter.read(path))
    found = {
        fields["count"]: fields["subbuf_corrupt"]
        for _, kind, _, fields in events_of(held)
        if kind is Kind.DISCARDED
    }
    assert found == {-1: 1, 5: 0}
