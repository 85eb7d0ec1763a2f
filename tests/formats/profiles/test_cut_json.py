"""Of profiles in JSON that are cut off, what is before is read."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import converter
from converter.errors import TraceError
from converter.formats.profiles.cut_json import closed, parsed_prefix
from converter.formats.profiles.speedscope import SCHEMA

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
THREAD = {
    "type": "evented",
    "unit": "seconds",
    "events": [{"type": "O", "frame": 0, "at": 1}, {"type": "C", "frame": 0, "at": 2}],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 23', {"a": [1]}),
        ('{"a": [1, 2], "b', {"a": [1, 2]}),
        ('{"a": [1, 2], "b": ', {"a": [1, 2]}),
        ('{"a": {"b": [{"c": 1', {"a": {"b": [{}]}}),
        ('["x,[\\"", "y, [', ['x,["']),
        ("[[1, 2], [3, 4", [[1, 2]]),
        ("[[1, 2], [3, 4]", [[1, 2], [3, 4]]),
        ('[{"a": 1}, x, {"a": 2}]', [{"a": 1}]),
        ('["a", "\\q", "b"]', ["a"]),
        ("[1] 2", [1]),
    ],
)
def test_what_is_complete_is_kept(text, value):
    found, before, error = parsed_prefix(text)
    assert found == value == json.loads(before)
    assert error is not None


@pytest.mark.parametrize("text", ["", "x", "]", '"[', " "])
def test_where_nothing_is_complete_it_is_an_error(text):
    with pytest.raises(json.JSONDecodeError):
        parsed_prefix(text)


def test_each_prefix_can_be_closed():
    text = json.dumps({"a": [[1, 2], [3, 'x,[\\"']], "b": {"c": [{"d": 1}, {"e": None}]}, "f": "}"})
    for end in range(1, len(text)):
        assert isinstance(json.loads(closed(text, end)), dict)


@pytest.mark.parametrize(
    "name",
    [
        "cpuprofile/node.cpuprofile",
        "gecko/samply.profile.json",
        "speedscope/mixed.speedscope.json",
    ],
)
def test_a_longer_prefix_has_no_fewer_events(name):
    data = (FIXTURES / name).read_bytes().rstrip()
    counts = []
    for cut in (*range(len(data) // 10, len(data), len(data) // 30), len(data) - 1):
        try:
            with converter.open_trace(data[:cut], name.partition("/")[0]) as trace:
                counts.append(sum(map(len, trace.batches())))
                (damage, *_) = (one for one in trace.warnings if "cut off" in str(one))
                assert damage.is_damage
                assert damage.offset <= cut
        except TraceError:
            counts.append(0)
    with converter.open_trace(data) as trace:
        assert counts[-1] == sum(map(len, trace.batches()))
    assert all(first <= second for first, second in pairwise(counts))


def test_cut_profiles_become_whole_ones(tmp_path):
    data = (FIXTURES / "cpuprofile/node.cpuprofile").read_bytes().rstrip()
    with converter.open_trace(data[:-5]) as trace:
        converter.write(trace, tmp_path / "whole.cpuprofile")
    assert json.loads((tmp_path / "whole.cpuprofile").read_bytes())["samples"]


@pytest.mark.parametrize(
    ("profile", "left"),
    [
        ({**THREAD, "events": [*THREAD["events"], {"type": "X", "frame": 0, "at": 3}]}, 4),
        ({**THREAD, "events": [{"type": "O", "frame": 9, "at": 3}]}, 2),
        ({"type": "sampled", "samples": [[0], [9], [0]], "weights": [1, 1, 1]}, 3),
        ({"type": "sampled", "samples": [[0], [0]], "weights": [1, "x"]}, 3),
        ({"type": "sampled", "samples": [[0]], "weights": ["x"]}, 2),
    ],
)
def test_damage_in_a_profile_of_speedscope_costs_its_rest(profile, left):
    frames = {"frames": [{"name": "f"}]}
    document = {"$schema": SCHEMA, "shared": frames, "profiles": [profile, THREAD]}
    with converter.open_trace(json.dumps(document).encode()) as trace:
        assert sum(map(len, trace.batches())) == left
        (warning,) = trace.warnings
        assert (warning.field, warning.is_damage) == ("profiles[0]", True)
