"""Tests of how trace_processor is found and asked: all engines that are installed give the same answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.viewers import trace_processor_engines as engines
from support.viewers.trace_processor import answer, needs_trace_processor, printed
from support.viewers.trace_processor_engines import (
    Engine,
    Program,
    UserInterface,
    engine,
    version_in,
)
from support.viewers.trace_processor_rpc import CrashedError, Server, statements
from support.viewers.trace_processor_versions import Feature, shows

SLICES = [{"ph": "X", "pid": 1, "tid": 2, "ts": n, "dur": 2, "name": f"é{n}"} for n in (1, 5)]
INSTALLED = list(engines.engines())


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SLICES, ensure_ascii=False))
    return path


def program(folder: Path, name: str, script: str) -> None:
    """Make a program that a shell runs."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Perfetto v58.2-abc (hash)\nTrace Processor RPC API version: 14\n", (58, 2)),
        ("trace_processor_v52", (52, 0)),
        ("v60", (60, 0)),
        ("trace_processor_shell", None),
        ("", None),
    ],
)
def test_versions_are_read_from_what_programs_print_and_from_names(text, version):
    assert version_in(text) == version


def test_a_native_program_is_preferred_and_a_newer_one_to_an_older(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(engines, "ui_folder", lambda: None)
    assert list(engines.engines()) == []
    for name in ("trace_processor_v9", "trace_processor_v52"):
        program(tmp_path, name, "exit 1")
    assert [one.version for one in engines.engines()] == [(52, 0), (9, 0)]
    program(tmp_path, "trace_processor", "echo Perfetto v61.3-abc")
    program(tmp_path, "trace_processor_shell", "echo Perfetto v60.1-abc")
    assert [one.version for one in engines.engines()] == [(60, 1), (61, 3), (52, 0), (9, 0)]
    program(tmp_path, "trace_processor_shell", "echo nothing")
    with pytest.raises(AssertionError, match="does not tell its version"):
        _ = next(engines.engines()).version


def test_a_program_prints_its_answers_as_rows(tmp_path, trace):
    csv = r"""printf '"a","b"\n1,"x\ny"\n\n"c"\n'"""
    program(tmp_path, "answers", csv)
    rows = [["a", "b"], ["1", "x\ny"], ["c"]]
    assert Program(str(tmp_path / "answers")).printed(trace, "", ()) == rows
    program(tmp_path, "options", "echo $2")
    for knows, shown in ((True, "--crop-track-events"), (False, str(trace))):
        asked = Program(str(tmp_path / "options"), knows_options=knows)
        assert asked.printed(trace, "", ["--crop-track-events"]) == [[shown]]
    program(tmp_path, "refuses", "echo no >&2; exit 1")
    with pytest.raises(AssertionError, match="ended with 1: no"):
        Program(str(tmp_path / "refuses")).printed(trace, "", ())
    program(tmp_path, "crashes", "kill -SEGV $$")
    with pytest.raises(CrashedError, match="ended with -11"):
        Program(str(tmp_path / "crashes")).printed(trace, "", ())


def test_statements_end_in_semicolons_outside_of_quotes_and_comments():
    text = "select ';', \";\" -- ; \n; /* ; */ select 2;;\n select 3 "
    assert [one.strip(" ;\n") for one in statements(text)] == [
        *("select ';', \";\" --", "/* ; */ select 2", "", "select 3"),
    ]
    assert list(statements(" ")) == []


@pytest.fixture(params=range(len(INSTALLED)), ids=lambda i: type(INSTALLED[i]).__name__)
def asked(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine that is installed."""
    yield INSTALLED[request.param]
    INSTALLED[request.param].close()


def test_engines_answer_alike(asked: Engine, trace: Path, tmp_path: Path) -> None:
    query = "select name, dur, 1.5 as r, null as n from slice order by ts; select 'a;b' as t"
    rows = [
        *(["name", "dur", "r", "n"], ["é1", "2000", "1.500000", "[NULL]"]),
        *(["é5", "2000", "1.500000", "[NULL]"], ["t"], ["a;b"]),
    ]
    assert asked.printed(trace, query, ()) == rows
    first = "select name, dur, 1.5 as r, null as n from slice order by ts"
    assert asked.rows(trace, first) == asked.rows(trace, first) == rows[1:3]
    assert asked.version >= (50, 0)
    with pytest.raises(AssertionError, match="no such table: elsewhere"):
        asked.printed(trace, "select 1 from elsewhere", ())
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents": [{"ph": ')
    broken.write_bytes(b"\x07 no trace")
    with pytest.raises(AssertionError):
        asked.printed(broken, query, ())
    # What a query makes is not there for the next one.
    for _ in range(2):
        assert asked.printed(trace, "create table made as select 7 as x; select x from made", ())[
            -1
        ] == ["7"]
    assert asked.printed(trace, query, ()) == rows


def test_an_engine_that_is_made_empty_again_knows_nothing_of_the_file_before(
    asked: Engine, trace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b.json"
    many = [{**SLICES[0], "ts": n, "dur": 1, "name": f"n{n}" * 50} for n in range(300)]
    other.write_text(json.dumps(many))
    for options in ((), ("--crop-track-events",), ()):
        for path, count in ((trace, 2), (other, 300), (trace, 2)):
            printed = asked.printed(path, "select count(*), max(id) from slice", options)
            assert printed[-1] == [str(count), str(count - 1)]


@needs_trace_processor
def test_an_answer_is_kept_for_the_same_contents_and_query(trace, monkeypatch):
    query = "select count(*) from slice"
    before = printed(trace, query)
    monkeypatch.setattr("support.viewers.trace_processor.engine", lambda: UserInterface)
    assert printed(trace, query) == before
    assert answer(trace, query) == [["2"]]
    trace.write_text("[]")
    with pytest.raises(TypeError):
        printed(trace, query)


def test_an_engine_that_ends_is_started_again(tmp_path, trace):
    program(tmp_path, "ends", "echo why >&2; exit 3")
    server = Server([str(tmp_path / "ends")])
    for _ in range(2):
        with pytest.raises(CrashedError, match="ended with 3: why"):
            server.status()
    program(tmp_path, "cut", r"printf '\010\000\000\000ab'")
    with pytest.raises(CrashedError, match="ended with 0"):
        Server([str(tmp_path / "cut")]).printed(trace, "select 1", (), 60)


def test_an_engine_that_does_not_answer_is_ended(tmp_path, trace):
    program(tmp_path, "waits", "exec sleep 60")
    with pytest.raises(subprocess.TimeoutExpired):
        Server([str(tmp_path / "waits")]).printed(trace, "select 1", (), 0.2)


@needs_trace_processor
def test_a_feature_is_there_since_its_version(monkeypatch):
    asked = engine()
    assert asked is not None
    assert {shows(one) for one in Feature if one.since <= asked.version} <= {True}
    assert {shows(one) for one in Feature if one.since > asked.version} <= {False}
    monkeypatch.setattr("support.viewers.trace_processor_versions.version", lambda: (58, 1))
    assert shows(Feature.ZSTD_PACKETS)
    assert not shows(Feature.JSON_NAN)
    monkeypatch.setattr("support.viewers.trace_processor_versions.version", lambda: (58, 2))
    assert all(map(shows, Feature))
