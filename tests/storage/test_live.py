"""Streams that are read while they are being written, until they end or an interrupt ends them."""

import os
import signal

import pytest

import converter
from converter.cli import signals
from converter.storage.opening import open_source

LINE = "   bash-7   [000] d..2. %d.5: mine: a=7\n"


@pytest.fixture
def pipe():
    """The reading end of a pipe as a file object, and a function that writes a line into it (None: ends it)."""
    reading, writing = os.pipe()
    with open(reading, "rb") as stream:

        def write(number):
            if number is None:
                os.close(writing)
            else:
                os.write(writing, (LINE % number).encode())

        yield stream, write


def test_events_come_with_their_lines(pipe):
    stream, write = pipe
    write(1)
    write(2)
    with converter.open_trace(stream) as trace:
        batches = trace.batches()
        # What follows a line may be a frame of its stack.
        assert next(batches).ts.tolist() == [1_500_000_000]
        write(3)
        assert next(batches).ts.tolist() == [2_500_000_000]
        write(4)
        write(None)
        assert [ts for batch in batches for ts in batch.ts.tolist()] == [
            3_500_000_000,
            4_500_000_000,
        ]


def test_an_interrupt_ends_the_stream_and_the_next_one_the_process(pipe):
    stream, write = pipe
    write(1)
    with signals.handled(), converter.open_trace(stream) as trace:
        os.kill(os.getpid(), signal.SIGINT)
        assert sum(len(batch) for batch in trace.batches()) == 1
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    write(None)


def test_other_streams_are_copied_first(pipe):
    stream, write = pipe
    write(1)
    write(None)
    with open_source(stream) as source:
        assert (source.is_live, source.size) == (False, len(LINE % 1))


def test_files_without_a_size_are_read(tmp_path):
    with open_source("/proc/self/status", lambda head: False) as source:
        assert source.read(0, 5) == b"Name:"
    (tmp_path / "empty").touch()
    with open_source(str(tmp_path / "empty"), lambda head: False) as source:
        assert source.read(0, 5) == b""
