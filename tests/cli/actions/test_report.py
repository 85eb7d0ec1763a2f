"""``traceconv report`` and the options that readers take (-O)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.traces.small_traces import trace_of

import converter
from converter.cli import main
from converter.formats.aix.reading import report_text
from converter.ir.collect import collect
from converter.ir.display.latency import latency_letters
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Track
from converter.storage.opening import open_source

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "roundtrip_fixtures"
SMALL = FIXTURES / "trace_cmd/small.dat"
LINE = re.compile(
    r" *(?P<task>.*?) \[(?P<cpu>\d{3}|---)\] (?:(?P<flags>[dDbX.][.nNp][.hHszZ]..) )? *(?P<time>[\d.-]+): "
    r"(?P<event>[^:]+): (?P<text>.*)"
)


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("flags", "count", "letters"),
    [
        (0, 0, "....."),
        (0x01, 2, "d..2."),
        (0x04, 0, ".n..."),
        (0x20, 0, ".p..."),
        (0x24, 0, ".N..."),
        (0x08, 0, "..h.."),
        (0x10, 0x21, "..s12"),
        (0x19, 0, "d.H.."),
        (0x40, 0, "..z.."),
        (0x48, 0, "..Z.."),
        (0x80, 0xF, "b..f."),
        (0x81, 0, "D...."),
    ],
)
def test_latency_letters(flags, count, letters):
    assert latency_letters(flags, count) == letters


def test_events_without_a_text_of_their_own(capfd, tmp_path):
    name = Field("name", StringClass(), Role.NAME)
    count = Field("count", IntegerClass(32), Role.COUNT)
    classes = [
        EventClass(Kind.INSTANT, fields=(name, Field("x", IntegerClass(32)))),
        EventClass(Kind.DISCARDED, fields=(count,), timed=False),
    ]
    trace = trace_of(
        classes,
        [(0, 1_500_000_000, 2, 1, (b"a\x1b b", 7)), (0, 2_000_000_001, -1, -1, (b"c", 8), 0)],
        [(1, 2_000_000_001, 0, -1, (5,))],
        tracks=[Track("line\n1")],
    )
    converter.write(trace, tmp_path / "in.fxt", "fxt")
    code, out, err = run(capfd, "report", tmp_path / "in.fxt")
    assert (code, err) == (0, "")
    first = LINE.fullmatch(out.splitlines()[0])
    assert (first["time"], first["event"]) == ("1.500000000", "instant")
    assert 'name="a\\u001b b"' in first["text"]
    assert all(line.isprintable() for line in out.splitlines())


@pytest.mark.parametrize(
    "fixture", sorted(FIXTURES.glob("*/*.fxt")) + sorted(FIXTURES.glob("*/*.pftrace"))[:2]
)
def test_other_formats(capfd, fixture):
    code, out, _ = run(capfd, "report", fixture, "-q")
    assert code == 0
    with converter.open_trace(fixture) as trace:
        events = samples = 0
        for batch in trace.batches():
            events += len(batch)
            samples += sum(
                len(table)
                for number, table in batch.tables.items()
                if trace.event_classes[number].kind is Kind.SAMPLE
            )
    # A sample is a line, its frames, and an empty line.
    lines = [line for line in out.splitlines() if line and not line.startswith("\t")]
    assert len(lines) == events
    assert sum(LINE.fullmatch(line) is None for line in lines) <= samples


def test_a_report_in_a_file(capfd, tmp_path):
    target = tmp_path / "out.txt"
    assert run(capfd, "report", SMALL, "-o", target) == (0, "", "")
    _, out, _ = run(capfd, "report", SMALL)
    assert target.read_text() == out
    code, _, err = run(capfd, "report", SMALL, "-o", target)
    assert (code, err) == (1, f"traceconv: {target}: exists already (--force replaces it)\n")
    assert run(capfd, "report", SMALL, "-o", target, "--force")[0] == 0


def test_a_reader_that_goes_away():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        result = subprocess.run(
            [sys.executable, "-m", "converter", "report", str(SMALL)],
            stdout=closed,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            timeout=60,
            check=False,
        )
    assert (result.returncode, result.stderr) == (141, b"")


def test_errors(capfd, tmp_path):
    code, out, err = run(capfd, "report", tmp_path / "missing")
    assert (code, out) == (1, "")
    assert err.startswith(f"traceconv: {tmp_path / 'missing'}: ")
    assert run(capfd, "report")[0] == 2
    (tmp_path / "bad").write_bytes(b"what is this")
    assert run(capfd, "report", tmp_path / "bad", "-o", tmp_path / "out")[0] == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", [("report",), ("info",), ()])
def test_reader_options(capfd, tmp_path, command):
    more = ["-o", str(tmp_path / "out.fxt")] if not command else []
    code, _, err = run(capfd, *command, SMALL, *more, "-O", "depth=3")
    assert code == 2
    assert err == (
        f"traceconv: {SMALL}: there is no option 'depth' for reading trace_cmd; known: samples\n"
    )
    for wrong in ("depth", "=3"):
        code, _, err = run(capfd, *command, SMALL, *more, "-O", wrong)
        assert code == 2
        assert f"{wrong!r} is not NAME=VALUE" in err


REPORT = b"""
System: AIX 5.2 Node: lpar05

ID   PROCESS NAME  CPU  PID   TID    I  ELAPSED_SEC  DELTA_MSEC  APPL    SYSCALL KERNEL  INTERRUPT

101  ksh           0    8526  24713     0.005833472    0.107008          kfork LR = D0040AF8
1B1  ksh           0    8526  24713     0.005864960    0.031488                  VMM page delete: V.S=0000.150E
                                                                                 working_storage
"""


def test_a_report_of_a_report(capfd, tmp_path):
    (tmp_path / "cp.rpt").write_bytes(REPORT)
    code, out, err = run(capfd, "report", tmp_path / "cp.rpt")
    assert (code, err) == (0, "")
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "ksh-24713 [000] 0.005833472: sys_enter_kfork: kfork LR = D0040AF8",
        "ksh-24713 [000] 0.005864960: VMM DELETE: VMM page delete: V.S=0000.150E working_storage",
    ]


def hook(id16, subhook, *words, tid, time, flags=0x8000):
    """An entry of the raw stream of a 64-bit kernel."""
    data = b"".join(word.to_bytes(8, signed=word < 0) for word in words)
    head = flags.to_bytes(2) + len(data).to_bytes(2) + id16.to_bytes(2) + subhook.to_bytes(2)
    return head + data + tid.to_bytes(8) + time.to_bytes(8)


STREAM = (
    bytes.fromhex("efdf1114")
    + hook(0x0010, 0, tid=1, time=1_000_000_000)
    + hook(0x1060, 0, 8526, 24713, 60, 517, 127, tid=517, time=1_000_001_000)
    + hook(0x1010, 5, 0xD0040AF8, tid=24713, time=1_005_833_472)
    + hook(0x5000, 9, 3, 4, tid=24713, time=1_005_900_000)
)


def test_the_report_of_an_aix_trace(capfd, tmp_path):
    """Columns as of trcrpt; text by our templates for documented hooks, and words for the others."""
    (tmp_path / "raw.aix").write_bytes(STREAM)
    code, out, err = run(capfd, "report", tmp_path / "raw.aix")
    assert (code, err) == (0, "")
    heading = out.splitlines()[1]
    assert " ".join(heading.split()) == (
        "ID PROCESS NAME CPU PID TID ELAPSED_SEC DELTA_MSEC APPL SYSCALL KERNEL INTERRUPT"
    )
    lines = out.splitlines()[3:]
    texts = [line[heading.index("APPL") :] for line in lines]
    assert texts == [
        " " * 16 + "TRACE ON",
        " " * 16 + "dispatch: pid=8526 tid=24713 priority=60 old_tid=517 old_priority=127 CPUID=-1",
        " " * 8 + "SYSTEM CALL svc=0005 lr=00000000D0040AF8",
        " " * 16 + "hookdata=0009 words= 0000000000000003 0000000000000004",
    ]
    assert [line.split()[0] for line in lines] == ["001", "106", "101", "500"]
    assert [
        line.split()[-len(text.split()) - 2 :][:2] for line, text in zip(lines, texts, strict=True)
    ] == [
        ["0.000000000", "0.000000"],
        ["0.000001000", "0.001000"],
        ["0.005833472", "5.832472"],
        ["0.005900000", "0.066528"],
    ]
    assert report_text.sniff(out.encode())
    again = collect(report_text.read_report(open_source(out.encode())))
    assert [int(ts) for batch in again.batches() for ts in batch.ts] == [0, 1000, 5833472, 5900000]


def test_the_users_own_templates(capfd, tmp_path):
    (tmp_path / "raw.aix").write_bytes(STREAM)
    (tmp_path / "my.fmt").write_text(
        '500 1.0 L=APPL "mine" W1 "a="DW \\n "b="DW\n101 1.0 "x" $SKIP\n106 1.0 "y" {{ \n001 1.0 "on"\n'
    )
    code, out, err = run(
        capfd, "report", tmp_path / "raw.aix", "-O", f"trcfmt={tmp_path / 'my.fmt'}"
    )
    assert code == 0
    assert "template 106" in err
    heading = out.splitlines()[1]
    lines = out.splitlines()[3:]
    assert [line.split()[0] for line in lines] == ["001", "106", "500", "b=4"]
    assert lines[2][heading.index("APPL") :] == "mine a=3"
    assert lines[3] == " " * heading.index("APPL") + "b=4"


def test_help_names_the_command(capfd):
    _, out, _ = run(capfd, "--help")
    assert "\n  report  " in out
    _, out, _ = run(capfd, "report", "--help")
    assert "-O, --option NAME=VALUE" in out
