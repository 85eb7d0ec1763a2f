"""Collapsed call stacks are read and written as flamegraph.pl takes them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import converter
from converter.errors import TraceError
from converter.formats.profiles.folded import sniff
from converter.formats.profiles.folded.capabilities import line_name
from converter.ir.columns import column_from_values
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Process, Thread, Trace
from converter.projection.timeline_fields import FUNCTIONS, weight
from converter.testing import FormatConformance, read

TEXT = b"""\
# taken at noon
main;work;inner 42
main;work 3.5

bash;main;other_[k] 7 9
# between
bash;execve;operator new 12
bash;small 0.00001
"""


class TestFolded(FormatConformance):
    format = "folded"


def rows(path):
    """Times, names from the outermost inwards, and counts of all samples."""
    trace = read(path, "folded")
    found = []
    for batch in trace.batches():
        for number, table in batch.tables.items():
            names, *counts = (table.column(i) for i in range(table.width))
            for row in range(len(table)):
                ids = names.values[names.offsets[row] : names.offsets[row + 1]][::-1]
                stack = b";".join(trace.strings[one] for one in ids.tolist())
                position = int(batch.positions(number)[row])
                found.append((int(batch.ts[position]), stack, [one[row] for one in counts]))
    return trace, sorted(found)


def written(path, text):
    path.write_bytes(text)
    return path


def test_a_file_survives_with_its_comments(tmp_path):
    path = written(tmp_path / "a.folded", TEXT)
    report = converter.convert(path, tmp_path / "b.folded")
    assert len(report) == 0
    same = TEXT.replace(b"\n\n", b"\n").replace(b"0.00001", b"0.0000100000000000000")
    again = (tmp_path / "b.folded").read_bytes()
    assert again[: len(same) - 1] == same[:-1]
    assert rows(path)[1] == rows(tmp_path / "b.folded")[1]


def test_counts(tmp_path):
    """One or two, of integers, with fractions; the second of two is the one that is drawn."""
    _, found = rows(written(tmp_path / "a", TEXT))
    assert found == [
        (0, b"main;work;inner", [42]),
        (1, b"main;work", [3.5]),
        (2, b"bash;main;other_[k]", [9, 7]),
        (3, b"bash;execve;operator new", [12]),
        (4, b"bash;small", [0.00001]),
    ]


@pytest.mark.parametrize(
    ("line", "names", "counts"),
    [
        (b"a;b 1\r", b"a;b", [1]),
        (b"a;b\t1 ", b"a;b", [1]),
        (b"a;;b 1", b"a;;b", [1]),
        (b" 5", b"", [5]),
        (b"a;b 1.", b"a;b", [1.0]),
        (b"a b  7", b"a b ", [7]),
        (b"a 999999999999999999", b"a", [10**18 - 1]),
        (b"a 1000000000000000000", b"a", [1e18]),
        (b"a 1.5 2", b"a", [2.0, 1.5]),
        (b"#a 2", b"#a", [2]),
        (b"a;\xff\x00;b 3", b"a;\xff\x00;b", [3]),
    ],
)
def test_lines(line, names, counts, tmp_path):
    _, found = rows(written(tmp_path / "a", line))
    assert found == [(0, names, counts)]
    converter.convert(
        tmp_path / "a", tmp_path / "b", source_format="folded", target_format="folded"
    )
    assert rows(tmp_path / "b")[1] == found


@pytest.mark.parametrize("line", [b"a;b", b"a;b x1", b"a;b 1e5", b"a;b -1", b"a;b 1.2.3", b"12"])
def test_what_is_no_stack_is_skipped_with_a_warning(line, tmp_path):
    trace, found = rows(written(tmp_path / "a", b"x;y 1\n" + line + b"\nx 2\n"))
    assert [stack for _, stack, _ in found] == [b"x;y", b"x"]
    (warning,) = trace.warnings
    assert warning.offset == 6
    assert warning.found == line.decode()
    with pytest.raises(TraceError, match="names between semicolons"):
        rows(written(tmp_path / "a", line))


def test_a_line_has_a_limit(tmp_path):
    path = written(tmp_path / "a", b"a;" * 4000 + b"a 1\n")
    assert rows(path)[1][0][1].count(b";") == 4000
    with converter.open_trace(path, "folded", limits={"folded.line": 8003}) as trace:
        assert sum(map(len, trace.batches())) == 1
    with (
        converter.open_trace(path, "folded", limits={"folded.line": 8002}) as trace,
        pytest.raises(TraceError, match=r"folded\.line"),
    ):
        list(trace.batches())
    long = written(tmp_path / "b", b"a;" * (3 << 19))
    with (
        converter.open_trace(long, "folded", limits={"folded.line": 4000}) as trace,
        pytest.raises(TraceError, match=r"folded\.line"),
    ):
        list(trace.batches())


def test_files_are_recognised():
    assert sniff(TEXT)
    assert sniff(b"a;b 1\r\nc 2\r\n")
    assert sniff(b"main;" * 2000)
    assert not sniff(b"")
    assert not sniff(b"# only a comment\n")
    # No separator: any list of words and numbers.
    assert not sniff(b"apples 3\npears 4\n")
    assert not sniff(b'{"a;b": 1 \n')
    assert not sniff(b"a;b 1\n\0")
    assert not sniff(b"a;b 1\nthis is\na letter\n")


def trace_of_samples(stacks, weights, threads):
    trace = Trace(format="made", processes=[Process(7, "app")])
    trace.threads = [Thread(7, 0, "main"), Thread(8, 0)]
    number = trace.add_class(EventClass(Kind.SAMPLE, "cycles", fields=(FUNCTIONS, weight("ns"))))
    other = trace.add_class(EventClass(Kind.SAMPLE, "faults", fields=(FUNCTIONS,)))
    count = len(stacks)
    table = Table(
        count, (column_from_values(FUNCTIONS.type, stacks, trace.strings), np.array(weights))
    )
    rest = Table(1, (column_from_values(FUNCTIONS.type, [["page"]], trace.strings),))
    trace.make_batches = lambda: iter(
        [
            Batch(
                ts=np.arange(count + 1),
                class_id=np.array([number] * count + [other], np.int32),
                row=np.array([*range(count), 0], np.int32),
                tables={number: table, other: rest},
                thread=np.array([*threads, 0], np.int32),
            )
        ]
    )
    return trace


def test_samples_are_summed_by_thread_and_call_stack(tmp_path):
    """Of one event: the one with the most samples; a thread is the outermost frame, as in stackcollapse-perf.pl."""
    trace = trace_of_samples(
        [["b", "a"], ["a"], ["b", "a"], ["b", "a"], ["x;y 5"], []],
        [1, 2, 3, 4, 5, 6],
        [0, 0, 0, 1, -1, -1],
    )
    report = converter.write(trace, tmp_path / "out.folded")
    assert (tmp_path / "out.folded").read_text().splitlines() == [
        "main;a;b 4",
        "main;a 2",
        "app;a;b 4",
        "x:y_5 5",
        "[unknown] 6",
    ]
    losses = {loss.code: loss.count for loss in report}
    assert losses["summed-samples"] == 6
    assert losses["sample-of-other-event"] == 1
    assert losses["frame-renamed"] == 1


def test_sums_beyond_63_bits_are_cut(tmp_path):
    trace = trace_of_samples([["a"], ["a"]], [(1 << 63) - 1, (1 << 63) - 1], [0, 0])
    report = converter.write(trace, tmp_path / "out.folded")
    assert (tmp_path / "out.folded").read_text() == f"main;a {(1 << 63) - 1}\n"
    assert "sample-sum-too-large" in {loss.code for loss in report}


def test_sums_below_0_are_0(tmp_path):
    """flamegraph.pl takes no line with a negative count; differences of profiles have such."""
    trace = trace_of_samples([["a"], ["a"], ["b"]], [5, -2, -7], [0, 0, 0])
    report = converter.write(trace, tmp_path / "out.folded")
    assert (tmp_path / "out.folded").read_text() == "main;a 3\nmain;b 0\n"
    assert {loss.code: loss.count for loss in report}["sample-weight-limited"] == 1


def test_slices_are_summed_by_their_own_time(tmp_path):
    """Without those inside of them; one without an end lasts to the end of the trace."""
    events = [
        {"ph": "M", "name": "thread_name", "tid": 3, "args": {"name": "worker"}},
        {"ph": "E", "ts": 0.05, "tid": 3},
        {"ph": "B", "name": "outer", "ts": 0.1, "tid": 3},
        {"ph": "B", "name": "inner", "ts": 0.13, "tid": 3},
        {"ph": "E", "ts": 0.15, "tid": 3},
        {"ph": "E", "ts": 0.19, "tid": 3},
        {"ph": "X", "name": "outer", "ts": 0.2, "dur": 0.01, "tid": 3},
        {"ph": "B", "name": "open", "ts": 0.3, "tid": 3},
        {"ph": "X", "name": "last", "ts": 1, "dur": 0, "tid": 4},
    ]
    source = tmp_path / "in.json"
    source.write_text(json.dumps([{"pid": 1, **event} for event in events]))
    report = converter.convert(source, tmp_path / "out.folded")
    assert (tmp_path / "out.folded").read_text().splitlines() == [
        "worker;outer 80",
        "worker;outer;inner 20",
        "worker;open 700",
    ]
    losses = {loss.code: loss.count for loss in report}
    assert losses["summed-slices"] == 5
    assert losses["slice-end-made-up"] == 1
    assert losses["slice-end-unmatched"] == 1


def test_names_that_lines_cannot_have():
    assert line_name(b"a;b\nc", innermost=False) == b"a:b c"
    assert line_name(b"operator 12", innermost=False) == b"operator 12"
    assert line_name(b"operator 12", innermost=True) == b"operator_12"
    assert line_name(b"v 1.5", innermost=True) == b"v_1.5"
    assert line_name(b"", innermost=True) == b"[unknown]"


#: Functions that uftrace and traceconv take as called by others, as a longjmp leaves some of them.
CALLERS = {"add", "main", "jumps", "two", "three", "longjmp", "dlopen", "linux:schedule", "execv"}


def by_function(path):
    """The time that each function took itself."""
    found = Counter()
    for _, stack, (time, *_) in rows(path)[1]:
        found[stack.rpartition(b";")[2].decode()] += time
    return found


def test_calls_take_the_time_that_uftrace_says(tmp_path):
    """The file is uftrace's own; what waits in its linux:schedule waits in the function here."""
    fixtures = Path(__file__).parents[3] / "roundtrip_fixtures"
    converter.convert(fixtures / "uftrace/rich", tmp_path / "out.folded")
    expected, found = (
        by_function(fixtures / "folded/uftrace.folded"),
        by_function(tmp_path / "out.folded"),
    )
    expected["pthread_join"] += 325984
    expected["waitpid"] += 17847731
    assert {name: found[name] for name in expected.keys() - CALLERS} == {
        name: time for name, time in expected.items() if name not in CALLERS
    }
