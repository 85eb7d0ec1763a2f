"""Samples as slices, on request: a sample's functions run until the next sample of the same thread."""

import json
from dataclasses import replace

import pytest

import converter
from converter.errors import ArgumentError
from converter.jobs.reading import open_merged
from converter.projection.passes.slices.sample_slices import with_slices

AS_SLICES = {"samples": "slices"}
#: Two threads; "b" stays open over three samples, and "c" ends and begins with "b".
SCRIPT = """\
one 1/1 [000] 1.000000: 5 cpu-clock:
                 a b (x)
                 b main (x)

two 2/2 [001] 1.500000: 5 cpu-clock:
                 a leaf (x)

one 1/1 [000] 2.000000: 5 cpu-clock:
                 a c (x)
                 a b (x)
                 b main (x)

one 1/1 [001] 4.000000: 5 cpu-clock:
                 a d (x)
                 b main (x)

"""


def slices(path, **options):
    with converter.open_trace(path, options=options) as trace:
        return rows(trace)


def rows(trace):
    found = trace.slices()
    columns = (list(found[name]) for name in ("ts", "dur", "name", "depth"))
    return sorted(zip(*columns, strict=True))


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(SCRIPT)
    return path


def test_functions_run_until_a_sample_without_them(script):
    second = 10**9
    assert slices(script, **AS_SLICES) == [
        (second, 3 * second, "b", 1),
        (second, 3 * second + 5, "main", 0),
        (3 * second // 2, 5 * second // 2 + 5, "leaf", 0),
        (2 * second, 2 * second, "c", 2),
        (4 * second, 5, "d", 1),
    ]
    assert not slices(script)


def test_samples_without_times_last_their_weights(tmp_path):
    path = tmp_path / "a.folded"
    path.write_text("main;a;b 5\nmain;a;c 3\nother 2\n")
    assert slices(path, **AS_SLICES) == [
        (0, 5, "b", 2),
        (0, 8, "a", 1),
        (0, 8, "main", 0),
        (5, 3, "c", 2),
        (8, 2, "other", 0),
    ]


def test_of_several_samples_at_one_time_the_last_counts(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(SCRIPT.replace("2.000000", "4.000000"))
    assert "c" not in [name for _, _, name, _ in slices(path, **AS_SLICES)]


def test_samples_that_json_lists_are_slices_on_their_own_track(tmp_path):
    path, target = tmp_path / "a.json", tmp_path / "b.json"
    own = {"ph": "X", "name": "own", "ts": 1, "dur": 5, "pid": 1, "tid": 7}
    samples = [{"tid": 7, "ts": ts, "sf": sf} for ts, sf in ((2, "2"), (4, "1"))]
    frames = {"1": {"name": "main"}, "2": {"name": "leaf", "parent": "1"}}
    content = {"traceEvents": [own, {**own, "ts": 8}], "samples": samples, "stackFrames": frames}
    path.write_text(json.dumps(content))
    converter.convert(path, target, options=AS_SLICES)
    assert slices(target) == [
        (1000, 5000, "own", 0),
        (2000, 2000, "leaf", 1),
        (2000, 6000, "main", 0),
        (8000, 5000, "own", 0),
    ]


def test_batches_may_end_anywhere(script):
    with converter.open_trace(script) as trace:

        def one_by_one():
            for batch in trace.batches():
                yield from (batch.select(slice(at, at + 1)) for at in range(len(batch)))

        parts = with_slices(replace(trace, make_batches=one_by_one))
        assert rows(parts) == slices(script, **AS_SLICES)


def test_there_is_one_value(script):
    with pytest.raises(ArgumentError, match="the option is samples=slices"):
        open_merged([script], options={"samples": "flames"})
