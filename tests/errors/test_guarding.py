"""Whatever a reader or a writer raises is an error of the project for whoever reads or writes a trace."""

import errno
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import converter
from converter.cli import main
from converter.errors import (
    ClosedError,
    DefectError,
    MemoryLimitError,
    OpenFilesError,
    OutputError,
    TraceError,
)
from converter.formats.table import format_of
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.storage.pool.workers import TaskGroup
from converter.storage.sink import BufferSink

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "roundtrip_fixtures" / "fxt" / "every-record-little.fxt"
FOREIGN = {
    OverflowError("Python int too large to convert to C long"): DefectError,
    MemoryError("no room for more strings"): MemoryLimitError,
    np.linalg.LinAlgError(): DefectError,
    RecursionError(): DefectError,
    KeyError("a"): DefectError,
    StopIteration(): DefectError,
    AssertionError(): DefectError,
    OSError(errno.EIO, "Input/output error"): TraceError,
    OSError(errno.ENOMEM, "Cannot allocate memory"): MemoryLimitError,
    OSError(errno.EMFILE, "Too many open files"): OpenFilesError,
    ImportError("x.so: failed to map segment from shared object"): MemoryLimitError,
}
PLACES = ("open", "batches", "task", "column", "describe")


def reader_that_raises(error, place):
    """A reader that raises an exception when the trace is opened, or later."""

    def fail(*_):
        raise error

    def batches():
        if place == "batches":
            fail()
        if place == "task":
            with TaskGroup() as tasks:
                tasks.submit(fail).result()
        ids = np.zeros(1, np.int32)
        table = Table(1, [fail if place == "column" else np.zeros(1, np.int64)])
        yield Batch(ts=np.zeros(1, np.int64), class_id=ids, row=ids, tables={0: table})

    def read(source):
        if place == "open":
            fail()
        fields = (Field("x", IntegerClass(64, signed=True)),)
        trace = Trace("fxt", event_classes=[EventClass(Kind.TYPED, "e", fields=fields)])
        trace.make_batches = trace.source_batches = batches
        if place == "describe":
            trace.describe = lambda _: fail
        return trace

    return read


@pytest.fixture
def failing(monkeypatch):
    def make(error, place):
        module = import_module("converter.formats.fxt.reading")
        monkeypatch.setattr(module, "read", reader_that_raises(error, place))

    return make


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", FOREIGN, ids=repr)
def test_exceptions_of_readers(failing, error, place):
    failing(error, place)
    with pytest.raises(TraceError) as raised, converter.open_trace(SMALL) as trace:
        for batch in trace.batches():
            if trace.describe is not None:
                trace.describe(batch)(0)
            batch.tables[0].columns()
    assert type(raised.value) is FOREIGN[error]
    assert "\n" not in str(raised.value)
    assert raised.value.path == str(SMALL)
    cause = raised.value.__cause__
    # Python itself turns what ends an iteration into an error of its own inside generators.
    assert cause is error or isinstance(error, StopIteration)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), ClosedError("closed")])
def test_what_is_for_the_caller_passes(failing, error, place):
    failing(error, place)
    with pytest.raises(type(error)) as raised, converter.open_trace(SMALL) as trace:
        for batch in trace.batches():
            if trace.describe is not None:
                trace.describe(batch)(0)
            batch.tables[0].columns()
    assert raised.value is error


def test_an_exception_of_the_caller_stays_what_it_is():
    with pytest.raises(KeyError), converter.open_trace(SMALL) as trace:
        for _ in trace.batches():
            raise KeyError


@pytest.mark.parametrize("error", FOREIGN, ids=repr)
def test_exceptions_of_writers(monkeypatch, tmp_path, error):
    def write(*_):
        raise error

    monkeypatch.setattr(import_module("converter.formats.chrome.writing"), "write", write)
    with pytest.raises(TraceError) as raised:
        converter.convert(SMALL, tmp_path / "o.json")
    expected = FOREIGN[error]
    assert type(raised.value) is (OutputError if expected is TraceError else expected)
    assert list(tmp_path.iterdir()) == []


def test_exceptions_while_an_output_is_completed():
    class Refused(BufferSink):
        def close(self):
            raise MemoryError

    with pytest.raises(MemoryLimitError), Refused():
        pass


@pytest.mark.parametrize("place", ["open", "batches", "task", "column"])
def test_the_command_says_it_in_a_line(failing, place, capsys, tmp_path):
    for error, says in (
        (MemoryError(), "not enough memory"),
        (OverflowError("too large"), "internal error: OverflowError: too large"),
        (RecursionError(), "nested too deeply"),
    ):
        failing(error, place)
        assert main([str(SMALL), "-o", str(tmp_path / "o.json")]) == 1
        said = capsys.readouterr().err
        assert says in said
        assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_where_an_exception_was_raised_is_shown_on_request(failing, capsys, monkeypatch):
    failing(OverflowError("too large"), "batches")
    monkeypatch.setenv("TRACECONV_TRACEBACK", "1")
    assert main(["info", str(SMALL)]) == 1
    assert "in batches" in capsys.readouterr().err


def test_formats_outside_may_fail_too():
    """A format of another package is guarded by its descriptor as ours are."""
    format = format_of("fxt")
    assert format is not None
    with pytest.raises(TraceError):
        format.reader()(None)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
@pytest.mark.parametrize("share", [1.04, 1.12])
def test_refused_memory_is_said_in_a_line(tmp_path, share):
    """Only a little more address space than the interpreter and the libraries have at that point."""
    script = f"""
import resource, sys
from converter.cli import command
import converter.jobs.reading, converter.jobs.transcription
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (int(size * {share}),) * 2)
sys.argv = ["traceconv", {str(ROOT / "roundtrip_fixtures/trace_cmd/small.dat")!r}, "o.json", "-q"]
command()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=False, text=True
    )
    names = [path.name for path in tmp_path.iterdir()]
    if done.returncode == 0:
        assert (names, done.stderr) == (["o.json"], "")
        return
    assert done.returncode == 1
    assert names == []
    assert done.stderr.count("\n") == 1, done.stderr
    assert "emory" in done.stderr
