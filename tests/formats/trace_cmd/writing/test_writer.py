"""Writing trace.dat: what is written reads back as it was, and is what trace-cmd accepts."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.samples import sampled
from support.trace_cmd.files import File, Kernel
from support.trace_cmd.writing import (
    CAPABILITIES,
    encoded,
    made_anew,
    projected,
    read_back,
    slices,
    written,
)
from support.traces.strategies import fitted_traces, texts, traces

from converter.formats.ftrace.ring_buffer.pages import PageStream
from converter.formats.trace_cmd.reading.reader import read
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.kinds import Kind
from converter.projection.project import project
from converter.storage.opening import open_source

VARIANTS = ("", "v7", "v6", "v7_zlib", "v7_none")
#: Texts that the kernel's arrays of 16 characters hold.
SHORT_TEXTS = (
    texts(utf8_only=False, max_bytes=15)
    .map(lambda text: text.replace(b"\0", b"z"))
    .filter(lambda text: len(text) < 16)
)
IDENTIFIERS = st.from_regex(r"\A[a-z][a-z0-9_]{0,7}\Z")

needs_trace_cmd = pytest.mark.skipif(
    shutil.which("trace-cmd") is None, reason="trace-cmd is not installed"
)


def report(path, *arguments):
    done = subprocess.run(
        ["trace-cmd", "report", *arguments, path], capture_output=True, check=True
    )
    lines = done.stdout.split(b"\n")
    return [line for line in lines if not line.startswith((b"cpus=", b"version ="))]


# The law


@given(traces(), st.sampled_from(VARIANTS))
def test_reading_what_was_written_gives_the_projection(trace, variant):
    fitted = projected(trace)
    back = read_back(written(fitted, variant))
    assert back.warnings == []
    assert difference(fitted, back) is None


#: What arbitrary numbers of tasks, times and counts lose: tasks are on threads, gaps near events, and -1 is unknown.
OF_VALUES = (
    "thread-added",
    "gap-moved",
    "gap-unfollowed",
    "gap-size-negative",
)


@given(
    fitted_traces(
        CAPABILITIES,
        names_of_fields=IDENTIFIERS,
        strings=SHORT_TEXTS,
    ),
    st.sampled_from(VARIANTS),
)
def test_what_fits_survives_and_loses_nothing(trace, variant):
    assert difference(trace, read_back(written(trace, variant))) is None
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    collect(fitted)
    assert [loss for loss in losses if loss.code not in OF_VALUES] == []


@settings(max_examples=10)
@given(fitted_traces(CAPABILITIES, names_of_fields=IDENTIFIERS, strings=SHORT_TEXTS))
def test_a_file_survives_all_versions_and_new_pages(trace):
    data = written(trace)
    for variant in ("v6", "v7", ""):
        with open_source(data) as source:
            held = read(source)
            again = written(encoded(held), variant)
            data = written(held, variant)
        assert difference(trace, read_back(again)) is None
        assert difference(trace, read_back(data)) is None


# What trace-cmd makes of it


@needs_trace_cmd
@given(traces(max_events=30))
def test_trace_cmd_prints_every_event(tmp_path_factory, trace):
    fitted = projected(trace)
    kinds = [
        fitted.event_classes[number].kind
        for batch in fitted.batches()
        for number in batch.class_id.tolist()
    ]
    # Events that were lost behind the last one of a CPU are not printed.
    count = len(kinds) - kinds.count(Kind.DISCARDED)
    path = tmp_path_factory.getbasetemp() / "any.dat"
    path.write_bytes(written(fitted))
    for arguments in (("-N",), ("-R",)):
        text = b"\n".join(report(path, *arguments))
        assert b"UNKNOWN EVENT" not in text
        assert b"FAILED TO PARSE" not in text
    # Texts may have line ends in them.
    assert text.count(b"[") >= count - text.count(b"EVENTS DROPPED")


@needs_trace_cmd
@pytest.mark.parametrize("variant", ["v7", "v7_none", "v6"])
def test_trace_cmd_accepts_files(tmp_path, variant):
    path = tmp_path / "slices.dat"
    path.write_bytes(written(projected(slices([b"frame"] * 5000)), variant))
    lines = report(path, "-t")
    assert len(lines) == 10_001
    assert (
        lines[0].split()
        == b"render-8 [000] 0.000000000: print: tracing_mark_write: B|7|frame".split()
    )
    subprocess.run(["trace-cmd", "dump", "--all", path], capture_output=True, check=True)
    other = tmp_path / "other.dat"
    subprocess.run(
        ["trace-cmd", "convert", "-i", path, "-o", other, "--file-version", "6", "--compression", "none"],
        capture_output=True, check=True,
    )  # fmt: skip
    assert report(other, "-t", "-R") == report(path, "-t", "-R")


FIXTURES = sorted(
    path
    for path in (Path(__file__).parents[4] / "roundtrip_fixtures").rglob("*.dat")
    if path.read_bytes().startswith(b"\x17\x08\x44tracing")
)


def test_what_is_copied_is_looked_through_once(monkeypatch):
    """One pass over its chunks tells whether it is damaged, and how large it is; names of functions nobody asks for."""
    source = next(path for path in FIXTURES if path.name == "small.dat")
    with open_source(source) as opened:
        packed = written(read(opened), "v7")
    walked = []
    walk = PageStream.windows
    monkeypatch.setattr(
        PageStream, "windows", lambda stream: (walked.append(stream), walk(stream))[1]
    )
    trace = read(open_source(packed))
    assert written(trace, "") == packed
    assert len(walked) == sum(len(buffer.cpus) for buffer in trace.sidecar["trace_cmd"]["buffers"])
    assert trace.symbols is not None
    assert trace.symbols._loading is None


@needs_trace_cmd
@pytest.mark.parametrize(
    ("name", "way"),
    sampled(((path.name, way) for path in FIXTURES for way in ("copied", "encoded")), 4),
)
def test_trace_cmd_prints_the_same_of_a_copy(tmp_path, name, way):
    (path,) = [one for one in FIXTURES if one.name == name]
    encode = way == "encoded"
    expected = report(path, "-t", "-R")
    following = path
    for variant in ("", "v6", "v7"):
        copy = tmp_path / f"{variant}.dat"
        with open_source(following) as source:
            trace = read(source)
            if encode:
                trace = encoded(trace)
            copy.write_bytes(written(trace, variant))
        # Of the same bytes it need not be asked.
        if copy.read_bytes() != path.read_bytes():
            assert report(copy, "-t", "-R") == expected
        following = copy


@pytest.mark.parametrize("version", [6, 7])
def test_options_that_nothing_interprets_come_back(version):
    kernel = Kernel()
    kept = [
        (2, b"CPU: 0\nentries: 5\n\0"),
        (6, b"sched:sched_switch,next_pid\0"),
        (10, b"2a 1 ./a\n1000 2000 /lib/c.so\n\0"),
        (13, b"guest\0" + kernel.pack("QIII", 7, 1, 0, 42)),
        (24, b"inst:boot\0"),
        (99, b"whatever"),
    ]
    file = File(kernel, {0: kernel.page(1, kernel.record(1, kernel.slice(42, 5)))}, options=kept)
    data = file.version_6() if version == 6 else file.version_7()
    for again in (made_anew(data), written_of(data, f"v{version}"), written_of(data, "v6")):
        back = read_back(again).sidecar["trace_cmd"]["options"]
        assert [option for option in back if option in kept] == kept


def written_of(data, variant):
    with open_source(data) as source:
        return written(read(source), variant)
