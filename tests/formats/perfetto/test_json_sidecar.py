"""What only a JSON trace has, in a Perfetto trace: names that are no Unicode stay escaped, and are there again."""

import json

import pytest
from support.fuzzing.outputs import written

import converter
from converter.ir.canonical import difference
from converter.ir.collect import collect

EVENTS = [
    {"ph": "M", "name": "other", "pid": 1, "args": {"sort": "metadata"}},
    {"ph": "i", "name": "a", "ts": 1, "pid": 1, "tid": 1, "s": "t"},
]
TRACE = {"traceEvents": EVENTS, "member": "value", "inner": {"name": ["element"]}}


def held(trace):
    sidecar = trace.sidecar["chrome"]
    return json.dumps([sidecar["members"], *map(json.loads, sidecar["metadata"])])


@pytest.mark.parametrize("place", ["metadata", "sort", "member", "value", "name", "element"])
@pytest.mark.parametrize("name", [r"\ud800", r"\udcff", r"a\u00e9"])
@pytest.mark.parametrize("way", ["perfetto", "ir", "arrow", "fxt"])
def test_names_that_are_no_unicode_come_back(way, name, place):
    text = json.dumps(TRACE).replace(f'"{place}"', f'"{name}"')
    trace = collect(converter.read(text.encode()))
    between = collect(converter.read(written(trace, way, lossless=way == "fxt")[""], way))
    again = converter.read(written(between, "chrome")[""])
    kept = held(trace)
    assert name in kept
    assert held(between) == held(again) == kept
    assert difference(between, again) is None
