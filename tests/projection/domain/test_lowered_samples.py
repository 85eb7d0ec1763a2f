"""Samples in formats without them are events with the call stack as an argument, and samples again after that."""

import json

import pytest
from support.traces.losses import codes_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter

#: The second sample has names that JSON escapes, the third no frames.
SCRIPT = """\
one     1/1     [000]     1.000000:          5 cpu-clock:
                aaaa b (/bin/x)
                bbbb main (/bin/x)

two     2/2     [001]     1.500000:          6 cpu-clock:
                aabb operator"" _s<\\t> (/bin/é)

one     1/1     [001]     1.600000:          7 cycles:u:

"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(SCRIPT)
    return path


def frames_of(path, target):
    """What a processed profile says: the samples of its threads, with time, weight and frames."""
    converter.convert(path, target, target_format="gecko")
    profile = json.loads(target.read_bytes())
    found = []
    for thread in profile["threads"]:
        texts, samples = thread["stringArray"], thread["samples"]
        functions = thread["funcTable"]["name"], thread["frameTable"]["func"]
        for ts, weight, stack in zip(
            *(samples[k] for k in ("time", "weight", "stack")), strict=True
        ):
            names, at = [], stack
            while at is not None:
                frame = thread["stackTable"]["frame"][at]
                names.append(texts[functions[0][functions[1][frame]]])
                at = thread["stackTable"]["prefix"][at]
            found.append((ts, weight, thread["tid"], names))
    return sorted(found, key=str)


@pytest.mark.parametrize("format", ["chrome", "trace_cmd", "ctf", "fxt", "uftrace", "aix", "arrow"])
def test_they_come_back_as_samples(script, format, tmp_path):
    between = tmp_path / f"b.{format}"
    losses = converter.convert(script, between, target_format=format)
    # The others hold samples.
    is_lowered = format in ("chrome", "trace_cmd", "fxt", "uftrace")
    assert ("sample-as-instant" in codes_of(losses)) == is_lowered
    assert frames_of(between, tmp_path / "c.json") == frames_of(script, tmp_path / "d.json")


def test_of_a_call_stack_whose_text_is_cut_the_inner_frames_come_back(tmp_path):
    path, between, target = (tmp_path / name for name in ("a.txt", "b.dat", "c.folded"))
    stack = "".join(f"            {at:x} function_{at} (/bin/x)\n" for at in range(1, 65))
    path.write_text(f"one 1/1 [000] 1.000000: 5 cpu-clock:\n{stack}\n")
    converter.convert(path, between)
    converter.convert(between, target)
    names = target.read_text().partition(" ")[0].split(";")
    assert len(names) > 20
    assert names[1:] == [f"function_{at}" for at in range(len(names) - 1, 0, -1)]


def test_events_with_other_frames_stay_events(tmp_path):
    path, target = tmp_path / "a.json", tmp_path / "b.folded"
    frames = '[{"function":"main"}]', [{"function": "main"}], "[]x", 5
    events = [
        {"ph": "i", "name": "e", "ts": 1, "pid": 1, "tid": 1, "args": {"frames": one, "weight": 1}}
        for one in frames
    ]
    path.write_text(json.dumps(events))
    losses = converter.convert(path, target)
    assert "event-dropped" in codes_of(losses)
    assert "summed-samples" not in codes_of(losses)


@needs_trace_processor
def test_samples_of_json_are_samples_in_perfetto(script, tmp_path):
    between, target = tmp_path / "b.json", tmp_path / "c.pftrace"
    converter.convert(script, between)
    # The importer of JSON shows them as instants.
    assert answer(between, "select name from slice order by ts")[:2] == [["cpu-clock"]] * 2
    converter.convert(between, target)
    assert answer(target, "select ts, callsite_id is null from perf_sample order by ts") == [
        ["1000000000", "0"],
        ["1500000000", "0"],
        ["1600000000", "1"],
    ]
