"""Ends of slices under the names of their begins."""

import json

import numpy as np
import pytest
from support.traces.small_traces import event_class, events_of, trace_of

from converter import convert
from converter.formats.chrome.capabilities import CAPABILITIES
from converter.ir.collect import collect
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.passes.slices.open_slices import NamedEnds
from converter.projection.project import project

NAME = (StringClass(), Role.NAME)
CATEGORY = (StringClass(), Role.CATEGORY)
BEGIN = event_class(Kind.SLICE_BEGIN, name=NAME, category=CATEGORY)
END = event_class(Kind.SLICE_END)
OF_CATEGORY = event_class(Kind.SLICE_END, category=CATEGORY)
NAMED = event_class(Kind.SLICE_END, name=NAME)


def begin(ts, name, thread=1, category=b""):
    return (0, ts, -1, thread, (name, category))


def end(ts, thread=1):
    return (1, ts, -1, thread, ())


def end_of(ts, category):
    return (2, ts, -1, 1, (category,))


def end_named(ts, name):
    return (3, ts, -1, 1, (name,))


def names(*batches):
    """The names of ends, as Chrome JSON has them, and how many were given one."""
    trace = trace_of([BEGIN, END, OF_CATEGORY, NAMED], *batches)
    target, report = project(trace, CAPABILITIES, "chrome")
    events = events_of(collect(target))
    given = [loss.count for loss in report if loss.code == "slice-end-named"]
    return [fields["name"] for _, kind, _, fields in events if kind is Kind.SLICE_END], given


def test_an_end_has_the_name_of_the_innermost_slice_of_its_thread():
    nested = [begin(1, b"a"), begin(2, b"b", 2), begin(3, b"c"), end(4), end(5), end(6, 2)]
    assert names(nested) == (["c", "a", "b"], [3])


def test_slices_stay_open_from_batch_to_batch():
    assert names([begin(1, b"a"), begin(2, b"b")], [end(3)], [end(4)]) == (["b", "a"], [2])


def test_an_end_that_closes_nothing_has_no_name():
    assert names([end(1), begin(2, b"a"), end(3), end(4)]) == (["", "a", ""], [1])
    assert names([end(1)]) == ([""], [])


def test_an_end_of_a_slice_without_a_name_has_none():
    assert names([begin(1, b"a"), begin(2, b""), end(3), end(4)]) == (["", "a"], [1])


def test_ends_that_have_names_keep_them():
    assert names([begin(1, b"a"), end_named(2, b"a")]) == (["a"], [])
    both = [begin(1, b"a"), begin(2, b"b"), end_named(3, b"a"), begin(4, b"c"), end(5)]
    assert names(both) == (["a", "c"], [1])


def test_an_end_of_another_category_is_left_as_it_is():
    inside = [begin(1, b"a", category=b"x"), end_of(2, b"y"), end_of(3, b"x")]
    assert names(inside) == (["", "a"], [1])


def test_ends_are_named_in_the_order_of_time():
    assert names([begin(3, b"b"), begin(1, b"a"), end(2), end(4)]) == (["a", "b"], [2])


def test_ends_of_a_json_file_stay_as_they_are(tmp_path):
    events = [{"ph": ph, "ts": i, "pid": 1, "tid": 1} for i, ph in enumerate("BE")]
    events[0]["name"] = "a"
    (tmp_path / "in.json").write_text(json.dumps({"traceEvents": events}))
    convert(tmp_path / "in.json", tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    assert [event["name"] for event in found] == ["a", ""]


def test_the_kernel_refuses_what_does_not_fit():
    ids = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="fewer rows"):
        NamedEnds().name(ids, ids + 1, ids, None, {0: (ids, ids)}, {})
    with pytest.raises(ValueError, match="differ in length"):
        NamedEnds().name(ids, np.zeros(2, np.int32), ids, None, {}, {})
    with pytest.raises(ValueError, match="outside of the columns"):
        NamedEnds().name(ids, ids, ids, np.ones(1, np.int64), {}, {})
    assert NamedEnds().name(ids + 7, ids, ids, None, {0: (ids, ids)}, {}) == (0, -1)
