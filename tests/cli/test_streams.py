"""What commands do where standard output is full, closed, or a narrow terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from converter.cli import main

ROOT = Path(__file__).parents[2]
SMALL = str(ROOT / "roundtrip_fixtures" / "trace_cmd" / "scratch_v6_min.dat")
COMMANDS = [
    ["--help"],
    ["formats"],
    ["info", SMALL],
    ["report", SMALL],
    [SMALL, "-o", "-", "-t", "json"],
]


def started(arguments, **streams):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    program = [sys.executable, "-P", "-m", "converter", *arguments]
    return subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, **streams)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_is_said_in_a_line(arguments):
    with open("/dev/full", "wb") as full, started(arguments, stdout=full) as process:
        said = process.stderr.read().decode().splitlines()
    assert process.returncode == 1
    assert said == ["traceconv: standard output: No space left on device"]


@pytest.mark.parametrize("arguments", [*COMMANDS, ["check", SMALL]], ids=" ".join)
def test_a_closed_standard_output_is_said_in_a_line(arguments):
    """What nobody gets to see is no success."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-P", "-m", "converter", *arguments]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *words],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.stderr.decode().splitlines() == ["traceconv: standard output: is closed"]
    assert done.returncode == 1


def test_a_conversion_needs_no_standard_output(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-P", "-m", "converter", SMALL, "-o", str(tmp_path / "a.json"), "-q"]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], env=environment, check=False)
    assert (done.returncode, [each.name for each in tmp_path.iterdir()]) == (0, ["a.json"])


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["info", ""], 2, "the name is empty"),
        ([SMALL, "-o", "", "-t", "json"], 2, "the name is empty"),
        ([SMALL, "-o", "/dev/null/a.json"], 1, "/dev/null/a.json: Not a directory"),
        ([SMALL, "-o", "/dev/full", "-t", "json"], 1, "/dev/full: No space left on device"),
        ([SMALL, "-o", "none/a.json"], 1, "none/a.json: there is no folder none"),
        (["info", "/dev/null"], 1, "/dev/null: the file is empty"),
    ],
)
def test_what_is_no_file_is_said_in_a_line(arguments, status, said, capfd):
    assert main(arguments) == status
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("traceconv") and said in line


@pytest.mark.parametrize("arguments", COMMANDS[::2], ids=" ".join)
def test_a_reader_that_has_gone_needs_no_line(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    with started(arguments, stdout=writing) as process:
        os.close(writing)
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("arguments", [["--events", "1"], ["--timeline"]], ids=" ".join)
def test_what_the_output_has_no_letters_for_is_escaped(arguments, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        '[{"ph": "i", "name": "n\\u00e9\\ufffd", "ts": 1, "pid": "p\\u00e9", "tid": 1}]'
    )
    arguments = [sys.executable, "-P", "-m", "converter", "info", str(path), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(arguments, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\xe9" in done.stdout


def test_without_colours_a_terminal_gets_none():
    ours, theirs = pty.openpty()
    with started(["info", SMALL, "--timeline"], stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        # Linux ends what is read of a terminal that nobody has open with an error.
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:
            pass
        finally:
            os.close(ours)
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert b"\x1b" not in shown
    assert b"events" in shown
