"""Answers about what comes back by way of another format: other ones have a line that names what is asked for."""

import json

from asked import answers, lines_for
from support.perfetto.files import BEGIN, END, File
from support.viewers.trace_processor import needs_trace_processor


def test_a_line_names_what_a_query_asks_for():
    lines = [
        "event-as event=slice begin shown=marker (1)",
        "native-data format=perfetto name=clock_snapshot (1)",
        "function-names event=b field=a (1)",
    ]
    assert lines_for("select name from SLICE", lines) == (lines[0],)
    assert lines_for("select to_monotonic(5)", lines) == (lines[1],)
    assert lines_for("select blocked_function from thread_state", lines) == (lines[2],)
    assert lines_for("select value from nothing", lines) == ()


@needs_trace_processor
def test_what_is_answered_otherwise_is_named(tmp_path):
    file = File()
    file.thread_track(2, 10, 11, "worker")
    event = file.event(10, BEGIN, "work", 2)
    event.categories.append("of marks alone")
    file.event(20, END, uuid=2)
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/one.pftrace").write_bytes(file.bytes())
    queries = {"name": "select name from slice", "category": "select category from slice"}
    cases = [{"name": name, "trace": "one.pftrace", "query": sql} for name, sql in queries.items()]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    found = {answer.name: answer for answer in answers(tmp_path, ".dat")}
    assert found["name"].same
    assert not found["category"].same
    assert any("field=category" in line for line in found["category"].lines)
