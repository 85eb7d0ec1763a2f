"""What templates are told of the events before: programs, priorities, system calls, lines, files."""

from __future__ import annotations

import pytest
from support.aix.files import entry_64, stream, words_64
from support.command.reports import reported

import converter
from converter.formats.aix.report.lines import print_report
from converter.ir.kinds import Kind, Role

#: Two programs; the child of the first runs its program until it executes its own.
ENTRIES = (
    words_64(0x5000, tid=7, ts=1),
    entry_64(0x1340, b"/usr/bin/ksh -c true\0", word=40, tid=7, ts=2),
    words_64(0x1060, 40, 7, 60, 3, 61, tid=7, ts=3),
    words_64(0x1010, 0x99, sub=5, tid=7, ts=4),
    words_64(0x1390, 41, 8, tid=7, ts=5),
    words_64(0x1040, 0, sub=5, tid=7, ts=6),
    words_64(0x5000, tid=7, ts=7),
    words_64(0x1060, 41, 8, 70, 7, 65, tid=8, ts=8),
    entry_64(0x1340, b"/usr/bin/cp\0", word=41, tid=8, ts=9),
    words_64(0x11F0, 40, 7, 50, 0, 1, tid=8, ts=10),
    words_64(0x1060, 40, 7, 50, 8, 70, tid=7, ts=11),
)


def report_lines(trace):
    """The heading, then each line."""
    text = reported(print_report, trace).decode()
    heading, _, events = text.partition("\n\n")
    return [heading, *events.splitlines(keepends=True)]


def texts(folder, template, *entries, name="trc"):
    """The texts of all events as one template for every hook makes them."""
    (folder / name).write_bytes(stream("64", *entries))
    (folder / "trace.fmt").write_text(f"008 1.0 L=APPL {template}\n")
    with converter.open_trace(folder / name) as trace:
        lines = report_lines(trace)
        start = lines[0].index("APPL") - 1
        return [line[start:].rstrip("\n") for line in lines[1:]]


def test_programs_in_the_order_of_events(tmp_path):
    found = texts(tmp_path, '"x" $EXECPATH', *ENTRIES)
    ksh, cp = "x /usr/bin/ksh", "x /usr/bin/cp"
    assert found == ["x", *[ksh] * 7, cp, cp, ksh]


def test_process_ids_are_printed_as_programs(tmp_path):
    assert texts(tmp_path, "W1 P8", *ENTRIES[:3])[2] == "/usr/bin/ksh"


def test_system_calls_are_current_until_they_return(tmp_path):
    assert texts(tmp_path, '"in" $SVC', *ENTRIES[2:8]) == ["in", *["in 0005"] * 3, "in", "in"]


def test_priorities_are_those_of_dispatches_and_the_run_queue(tmp_path):
    found = texts(tmp_path, "$PRI", *ENTRIES)
    assert found == [*["-1"] * 2, *["60"] * 5, *["70"] * 3, "50"]


def test_lines_of_the_report_are_counted_from_1(tmp_path):
    assert texts(tmp_path, "$RELLINENO", *ENTRIES[:3]) == ["1", "2", "3"]
    both = '"line" $RELLINENO \\n "more"'
    found = texts(tmp_path, both, *ENTRIES[:2])
    assert found == ["line 1", "more", "line 3", "more"]


def test_the_file_and_the_place_in_it(tmp_path):
    # The magic number, and the first entry: a hook word, a thread id and a time.
    found = texts(tmp_path, "$LOGFILE $LOGIDX0", *ENTRIES[:2], name="mine")
    assert found == ["mine 4", "mine 28"]


def test_places_in_the_file_go_on_from_batch_to_batch(tmp_path, monkeypatch):
    monkeypatch.setattr("converter.formats.aix.reading.batches._ROOM", 2)
    found = texts(tmp_path, "$LOGIDX0", *[words_64(0x5000, tid=7, ts=ts) for ts in range(5)])
    assert found == [str(4 + 24 * n) for n in range(5)]


def test_times_beyond_64_bits_are_followed_by_others(tmp_path, monkeypatch):
    monkeypatch.setattr("converter.formats.aix.reading.batches._ROOM", 1)
    slow = b"".join(word.to_bytes(8, "big") for word in (1000, 512, 2))
    entries = (
        entry_64(0x00A0, slow, word=0, sub=0x25C, ts=1),
        words_64(0x5000, tid=7, ts=(1 << 63) - 1),
        words_64(0x5000, tid=7, ts=5),
    )
    assert [line.split()[-1] for line in texts(tmp_path, '"x"', *entries)] == ["x"] * 3


def test_counts_of_cpus(tmp_path):
    counts = "$TOTALCPUS $TRACEDCPUS $REPORTEDCPUS"
    assert texts(tmp_path, counts, ENTRIES[0]) == ["1 1 1"]


def test_reports_of_several_cpus(tmp_path):
    """Entries of either environment, merged by time."""
    both = {0: ENTRIES[::2], 3: ENTRIES[1::2]}
    for cpu, entries in both.items():
        other = words_64(0x6000, 0x12345678, 2, tid=9, ts=20 + cpu, narrow=True)
        (tmp_path / f"trc-{cpu}").write_bytes(stream("64", *entries, other))
    found = texts(
        tmp_path, '$CPUID $LOGFILE $TOTALCPUS $SVC "w" $D1', words_64(0x0010, 1, tid=1, ts=0)
    )
    word = "{:016X}".format
    assert found[:3] == [
        f"-1 trc 2 w {word(1)}",
        f"0 trc-0 2 w {word(0)}",
        f"3 trc-3 2 w {word(40)}",
    ]
    assert found[4:6] == [
        f"3 trc-3 2 0005 w {word(0x99)}",
        f"0 trc-0 2 0005 w {word(41)}",
    ]
    assert found[-2:] == ["0 trc-0 2 w 12345678", "3 trc-3 2 w 12345678"]
    assert len(found) == 1 + len(ENTRIES) + 2


NAMES = """\
100 1.0 L=INT X2, 3 "decrementer", 7 "external"
101 1.0 L=SVC $HD%X2, 0x5 "kfork", 6 {"kread" W1 XW}, \\* "other"
104 1.0 "return from" $SVC
"""


def test_templates_name_system_calls_and_interrupts(tmp_path):
    entries = (*ENTRIES[2:6], words_64(0x1000, 0x1234, sub=3, tid=7, ts=9))
    (tmp_path / "trc").write_bytes(stream("64", *entries))
    (tmp_path / "trace.fmt").write_text(NAMES)
    with converter.open_trace(tmp_path / "trc") as trace:
        lines = report_lines(trace)
        assert lines[4].rstrip().endswith("return from kfork")
        labels = {
            one.kind: [(label.low, label.text) for label in one.fields[index].type.labels]
            for one in trace.event_classes
            for role in (Role.SYSCALL_NUMBER, Role.IRQ)
            if (index := one.index_of(role)) is not None
        }
    assert labels[Kind.SYSCALL_ENTRY] == [(5, "kfork"), (6, "kread")]
    assert labels[Kind.IRQ_ENTRY] == [(3, "decrementer"), (7, "external")]
    converter.convert(tmp_path / "trc", tmp_path / "out.json", target_format="chrome")
    text = (tmp_path / "out.json").read_text()
    assert "IRQ (decrementer)" in text
    assert "sys_kfork" in text


@pytest.mark.parametrize(
    "template",
    [
        '$D1, 5 "no"',
        'W1 X2, 5 "no"',
        'X4, 5 "no"',
        '$HD, nonsense "no", 99999 "no"',
        "$HD, 5 X4",
        '$HD%W1.2, 5 "no"',
    ],
)
def test_other_switches_name_nothing(tmp_path, template):
    (tmp_path / "trc").write_bytes(stream("64", *ENTRIES[:4]))
    (tmp_path / "trace.fmt").write_text(f"101 1.0 {template}\n")
    with converter.open_trace(tmp_path / "trc") as trace:
        for _ in trace.batches():
            pass
        entry = next(one for one in trace.event_classes if one.kind is Kind.SYSCALL_ENTRY)
        assert not entry.fields[entry.index_of(Role.SYSCALL_NUMBER)].type.labels


def test_streams_that_have_travelled_have_their_report(tmp_path):
    (tmp_path / "trc").write_bytes(stream("64", *ENTRIES))
    (tmp_path / "trace.fmt").write_text(NAMES)
    with converter.open_trace(tmp_path / "trc") as trace:
        converter.write(trace, tmp_path / "out.fxt", lossless=True)
        expected = reported(print_report, trace)
    with converter.open_trace(tmp_path / "out.fxt") as trace:
        assert trace.format == "aix"
        assert expected
        assert reported(print_report, trace) == expected


def test_events_that_have_travelled_have_the_report_of_any_trace(tmp_path):
    """They have no entries that templates could be applied to."""
    (tmp_path / "trc").write_bytes(stream("64", *ENTRIES))
    converter.convert(tmp_path / "trc", tmp_path / "out.tcir")
    with converter.open_trace(tmp_path / "out.tcir") as trace:
        assert trace.format == "aix"
        assert reported(print_report, trace) is None
