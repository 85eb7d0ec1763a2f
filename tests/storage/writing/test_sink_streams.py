"""Standard output and pipes as sinks, and what an interrupted process leaves."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest
from support.system.sink_checks import BIG, BrokenError

from converter.errors import OutputError, UnsupportedError
from converter.storage.outputs import open_sink

# Whatever a test does to a sink, no temporary file stays behind.
pytestmark = pytest.mark.usefixtures("no_temporary_files")


def run(program, **arguments):
    # What a shell starts in the background, tests too, ignores interruptions.
    program = f"""
import signal
from converter.storage.outputs import open_sink
signal.signal(signal.SIGINT, signal.default_int_handler)
{program}"""
    return subprocess.Popen([sys.executable, "-c", program], **arguments)


class TestStandardOutput:
    def test_follows_what_was_printed(self):
        program = """
print("before")
with open_sink("-") as sink:
    sink.write(bytes(10))
print("after", sink.tell())
"""
        with run(program, stdout=subprocess.PIPE) as process:
            assert process.stdout.read() == b"before\n" + bytes(10) + b"after 10\n"
        assert process.returncode == 0

    @pytest.mark.parametrize("seekable", [False, True])
    def test_a_reader_that_went_away_is_told_from_other_errors(self, seekable):
        program = f"""
from converter.errors import OutputError
try:
    with open_sink("-", seekable={seekable}) as sink:
        for _ in range(300): sink.write(bytes(100_000))
except OutputError as error:
    assert isinstance(error.__cause__, BrokenPipeError), error
    raise SystemExit(77)
"""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with run(program, **pipes) as process:
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 77

    def test_can_be_replaced_by_another_stream(self, monkeypatch):
        binary = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(binary, write_through=True))
        with open_sink("-") as sink:
            sink.write(b"ab")
            sink.write(BIG)
        assert binary.getvalue() == b"ab" + BIG

    def test_cannot_be_patched(self, monkeypatch):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        with open_sink("-") as sink:
            sink.write(b"abc")
            with pytest.raises(UnsupportedError):
                sink.write_at(0, b"x")

    def test_can_be_patched_when_asked_for(self, monkeypatch):
        binary = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(binary))
        with open_sink("-", seekable=True) as sink:
            sink.write(b"abc")
            sink.write(BIG)
            sink.write_at(1, b"X")
            assert binary.getvalue() == b""
        assert binary.getvalue() == b"aXc" + BIG
        with pytest.raises(BrokenError), open_sink("-", seekable=True) as sink:
            sink.write(BIG)
            raise BrokenError
        assert binary.getvalue() == b"aXc" + BIG

    def test_that_blocks_does_not_keep_the_process_from_being_interrupted(self):
        program = """
with open_sink("-") as sink:
    while True: sink.write(bytes(100_000))
"""
        with run(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdout.read(10)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            process.wait(20)

    def test_that_does_not_block_is_waited_for(self):
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        program = "with open_sink('-') as sink: sink.write(bytes(1_000_000))"
        with run(program, stdout=writing) as process:
            os.close(writing)
            with open(reading, "rb") as stream:
                assert len(stream.read()) == 1_000_000
        assert process.returncode == 0

    def test_is_no_directory(self):
        with pytest.raises(OutputError, match="directory"):
            open_sink("-", directory=True)

    def test_may_be_closed(self, monkeypatch):
        monkeypatch.setattr(sys, "stdout", None)
        with pytest.raises(OutputError, match="standard output: is closed"):
            open_sink("-")


def test_an_interrupted_process_leaves_nothing(tmp_path):
    program = f"""
import time
with open_sink({str(tmp_path / "out")!r}) as sink:
    sink.write(bytes(1_000_000))
    sink.write(bytes(1_000_000))
    print("ready", flush=True)
    time.sleep(60)
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with run(program, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        assert len(os.listdir(tmp_path)) == 1
        process.send_signal(signal.SIGINT)
    assert os.listdir(tmp_path) == []
