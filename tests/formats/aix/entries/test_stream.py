"""Raw AIX streams: entries of every documented form, what hooks mean, time, threads, CPUs and templates."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.aix.files import (
    VARIANTS,
    Row,
    entry_32,
    entry_64,
    from_path,
    opened,
    rows,
    stream,
    words_32,
    words_64,
    written,
)

from converter.errors import TraceError, UnsupportedError
from converter.formats.aix import FORMAT
from converter.formats.aix.entries.scan import presented
from converter.formats.aix.hooks import HOOKS, NEEDS
from converter.formats.aix.layout import MAGIC
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

#: Section I of the document: what is in a stream (thread id 7, time 9), and what templates see of it.
WORKED_EXAMPLES = [
    pytest.param(
        64,
        "a000001450000005 0000000100000002 0000000300000004 0000000500000000"
        "0000000000000007 0000000000000009",
        32,
        "500e0005 00000001 00000002 00000003 00000004 00000005",
        id="TRCHKL5T of a 32-bit application on a 64-bit kernel",
    ),
    pytest.param(
        32,
        "00b8002c 80000028 50000005"
        "0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005"
        "00000007 00000009",
        64,
        "8000002850000005"
        "0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005",
        id="TRCHKL5T of a 64-bit application on a 32-bit kernel",
    ),
    pytest.param(
        32,
        "00b00012 40000006 50000005 0000000000000001 68656c6c6f00 0000 00000007",
        64,
        "4000000650000005 0000000000000001 68656c6c6f00",
        id="TRCGEN of a 64-bit application on a 32-bit kernel",
    ),
    pytest.param(32, "5001 0005 00000007", 32, "50010005", id="TRCHKL0"),
    pytest.param(32, "5009 0005 00000007 00000009", 32, "50090005", id="TRCHKL0T"),
    pytest.param(32, "5002 0005 11111111 00000007", 32, "50020005 11111111", id="TRCHKL1"),
    pytest.param(
        32, "500a 0005 11111111 00000007 00000009", 32, "500a0005 11111111", id="TRCHKL1T"
    ),
    pytest.param(
        32,
        "5006 0005 11111111 22222222 33333333 44444444 55555555 00000007",
        32,
        "50060005 11111111 22222222 33333333 44444444 55555555",
        id="trchkg",
    ),
    pytest.param(
        32,
        "500e 0005 11111111 22222222 33333333 44444444 55555555 00000007 00000009",
        32,
        "500e0005 11111111 22222222 33333333 44444444 55555555",
        id="trchkgt",
    ),
    pytest.param(
        32,
        "5008 0005 11111111 6162636465 000000 00000007 00000009",
        32,
        "50080005 11111111 6162636465",
        id="trcgent",
    ),
    pytest.param(
        64, "0000 0000 5000 0005 0000000000000007", 64, "0000000050000005", id="TRCHK64L0"
    ),
    pytest.param(
        64,
        "8000 0000 5000 0005 0000000000000007 0000000000000009",
        64,
        "8000000050000005",
        id="TRCHK64L0T",
    ),
    pytest.param(
        64,
        "0000 0008 5000 0005 1111111111111111 0000000000000007",
        64,
        "0000000850000005 1111111111111111",
        id="TRCHK64L1",
    ),
    pytest.param(
        64,
        "4000 0006 5000 0005 dddddddddddddddd 68656c6c6f00 0000 0000000000000007",
        64,
        "4000000650000005 dddddddddddddddd 68656c6c6f00",
        id="TRCGEN",
    ),
    pytest.param(
        64,
        "c000 0006 5000 0005 dddddddddddddddd 68656c6c6f00 0000 0000000000000007 0000000000000009",
        64,
        "c000000650000005 dddddddddddddddd 68656c6c6f00",
        id="TRCGENt",
    ),
    pytest.param(
        64,
        "e000 0005 5000 0005 dddddddd 6162636465 00000000000000 0000000000000007 0000000000000009",
        32,
        "50080005 dddddddd 6162636465",
        id="TRCGENt of a 32-bit application on a 64-bit kernel",
    ),
]


@pytest.mark.parametrize(("bits", "stored", "shown_bits", "shown"), WORKED_EXAMPLES)
def test_worked_example(bits, stored, shown_bits, shown):
    data = bytes.fromhex(stored.replace(" ", ""))
    assert presented(bits, data) == (bytes.fromhex(shown.replace(" ", "")), shown_bits, len(data))
    # One behind another, so that its end is where the next begins.
    whole = stream(str(bits), data, data)
    trace = opened(whole, str(bits))
    events = rows(trace)
    assert [(event.tid, event.name) for event in events] == [(7, "hook 500")] * 2
    assert not trace.warnings
    assert written(opened(whole, str(bits)), str(bits)) == whole


def test_words_of_an_unknown_hook():
    trace = opened(stream("64", words_64(0x5F51, 1, 2**64 - 1, sub=5, tid=9, ts=77)))
    assert rows(trace) == [
        Row(77, "hook 5F51", "TYPED", -1, 9, {"hookdata": 5, "words": [1, 2**64 - 1]})
    ]
    check(trace)


def test_words_of_the_other_environment():
    narrow = rows(opened(stream("64", words_64(0x5000, 1, 2, 3, narrow=True, sub=5))))
    assert narrow[0].values == {"hookdata": 5, "words": [1, 2, 3]}
    wide = entry_32(0x00B, bytes.fromhex("50000005") + bytes(7) + b"\x09", word=0x80000008)
    inner = rows(opened(stream("32", wide), "32"))
    assert (inner[0].name, inner[0].values) == ("hook 500", {"hookdata": 5, "words": [9]})


def test_a_hook_00b_that_holds_no_hook_is_itself():
    broken = entry_32(0x00B, bytes.fromhex("50000005"), word=0x80000028)
    event = rows(opened(stream("32", broken), "32"))[0]
    assert (event.name, event.values["buffer"]) == ("64-BIT HOOK", bytes.fromhex("50000005"))


def test_generic_data():
    event = rows(opened(stream("64", entry_64(0x5000, b"hello", word=3, sub=1))))[0]
    assert event.values == {"hookdata": 1, "data_word": 3, "buffer": b"hello"}
    event = rows(opened(stream("32", entry_32(0x500, b"hello", word=3)), "32"))[0]
    assert event.values == {"data_word": 3, "buffer": b"hello"}


def test_data_that_are_no_words():
    event = rows(opened(stream("64", entry_64(0x5000, b"hello"))))[0]
    assert event.values == {"hookdata": 0, "data": b"hello"}


def test_an_entry_without_a_time_has_that_of_the_one_before():
    events = rows(opened(stream("64", words_64(0x5000, ts=5), words_64(0x5000, ts=None))))
    assert [event.ts for event in events] == [5, 5]


def test_time_stamps_of_32_bits_go_on_beyond_them():
    times = [0xFFFFFFF0, 0x10, 0x80000000, 0xC0000000, 0x20]
    entries = [words_32(0x500, ts=time) for time in times]
    expected = [0xFFFFFFF0, 0x1_00000010, 0x1_80000000, 0x1_C0000000, 0x2_00000020]
    # The nearest time to the one before is meant, so that one that is a little earlier is just that.
    assert [event.ts for event in rows(opened(stream("32", *entries), "32"))] == expected
    back = [words_32(0x500, ts=time) for time in (5, 0xFFFFFFFF)]
    assert [event.ts for event in rows(opened(stream("32", *back), "32"))] == [5, -1]


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        ((1000, 512, 2), Fraction(512_000_000)),
        ((3, 7, 2), Fraction(7_000_000_000, 3)),
        ((1000, 512, 0), Fraction(1_000_000_000)),
        ((0, 512, 2), Fraction(1_000_000_000)),
        ((5, 0, 2), Fraction(1_000_000_000)),
    ],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_time_conversion(variant, words, rate):
    buffer = b"".join(word.to_bytes(8, "big") for word in words)
    made = (
        entry_64(0x00A0, buffer, word=0, sub=0x25C)
        if variant == "64"
        else entry_32(0x00A, buffer, word=0x25C)
    )
    trace = opened(stream(variant, made), variant)
    assert trace.clock.ticks_per_second == rate
    assert trace.sidecar["aix"]["conversion"] == list(words)


DOCUMENTED = [
    (
        0x1060,
        (8, 9, 60, 7, -1),
        0,
        Kind.SCHED_SWITCH,
        {
            "pid": 8,
            "tid": 9,
            "priority": 60,
            "old_tid": 7,
            "old_priority": -1,
        },
    ),
    (
        0x10C0,
        (8, 9, 255, 7, 60),
        0,
        Kind.SCHED_SWITCH,
        {
            "pid": 8,
            "tid": 9,
            "priority": 255,
            "old_tid": 7,
            "old_priority": 60,
        },
    ),
    (
        0x11F0,
        (8, 9, 60, 1, 2),
        0,
        Kind.SCHED_WAKEUP,
        {
            "pid": 8,
            "tid": 9,
            "priority": 60,
            "policy": 1,
            "rq": 2,
        },
    ),
    (0x1010, (0xD0,), 5, Kind.SYSCALL_ENTRY, {"svc": 5, "lr": 0xD0}),
    (0x1040, (-1,), 5, Kind.SYSCALL_EXIT, {"svc": 5, "rc": -1}),
    (0x1000, (0xD0,), 3, Kind.IRQ_ENTRY, {"type": 3, "iar": 0xD0}),
    (0x1020, (0xD0,), 3, Kind.IRQ_ENTRY, {"level": 3, "handler": 0xD0}),
    (0x1030, (1,), 3, Kind.IRQ_EXIT, {"level": 3, "result": 1}),
    (0x2000, (0xD0,), 3, Kind.IRQ_EXIT, {"type": 3, "iar": 0xD0}),
    (0x1350, (-2,), 0, Kind.TASK_EXIT, {"status": -2}),
    (0x1390, (8, 9), 0, Kind.PROCESS_FORK, {"pid": 8, "tid": 9}),
    (
        0x4650,
        (8, 9, 60, 1),
        0,
        Kind.TASK_NEW,
        {
            "pid": 8,
            "tid": 9,
            "priority": 60,
            "policy": 1,
        },
    ),
    (0x0060, (1, 51066), 0, Kind.DISCARDED, {"wraparounds": 1, "missed_entries": 51066}),
]


@pytest.mark.parametrize(("hook", "words", "sub", "kind", "values"), DOCUMENTED)
@pytest.mark.parametrize("variant", VARIANTS)
def test_documented_hook(variant, hook, words, sub, kind, values):
    bits = int(variant)
    unsigned = [word % (1 << bits) for word in words]
    made = (
        words_64(hook, *unsigned, sub=sub)
        if variant == "64"
        else words_32(hook >> 4, *unsigned, sub=sub)
    )
    trace = opened(stream(variant, made), variant)
    event = rows(trace)[0]
    assert (event.kind, event.values) == (kind.name, values)
    check(trace)
    # With a word less, nobody knows what is meant; entries of 32 bits always have five words.
    if variant == "64":
        short = rows(opened(stream("64", words_64(hook, *unsigned[:-1], sub=sub))))[0]
        assert (short.kind, short.name) == ("TYPED", HOOKS[hook].name)


def test_every_documented_hook_is_tested():
    assert {hook for hook, *_ in DOCUMENTED} | {0x1340} == NEEDS.keys()


def test_programs_and_processes():
    trace = opened(
        stream(
            "64",
            words_64(0x1060, 8, 9, 60, 7, 60, tid=9),
            entry_64(0x1340, b"/usr/bin/ksh -c true\0", word=8, tid=9),
            words_64(0x5000, tid=11),
        )
    )
    events = rows(trace)
    assert events[1].kind == "PROCESS_EXEC"
    assert events[1].values == {"pid": 8, "path": b"/usr/bin/ksh -c true"}
    assert [(one.pid, one.name) for one in trace.processes] == [(8, "ksh"), (0, "")]
    assert [(one.tid, one.process) for one in trace.threads] == [(9, 0), (11, 1)]
    role = next(c for c in trace.event_classes if c.kind is Kind.PROCESS_EXEC).index_of
    assert role(Role.FILENAME) is not None


@pytest.mark.parametrize("variant", VARIANTS)
def test_forks_say_whose_child_a_process_is(variant):
    def words(hook, *values, tid):
        if variant == "64":
            return words_64(hook, *values, tid=tid)
        # Of 32-bit kernels they are one or five.
        return words_32(hook >> 4, *values, *[0] * (5 - len(values)), tid=tid)

    path = b"/usr/bin/ksh\0"
    trace = opened(
        stream(
            variant,
            entry_64(0x1340, path, word=40, tid=7)
            if variant == "64"
            else entry_32(0x134, path, word=40, tid=7),
            words(0x1060, 40, 7, 60, 3, 60, tid=7),
            words(0x1390, 41, 8, tid=7),
            # Of nobody's child, and of its own.
            words(0x1390, 42, 9, tid=77),
            words(0x1390, 40, 7, tid=7),
            words(0x1060, 41, 8, 60, 7, 60, tid=8),
        ),
        variant,
    )
    assert rows(trace)
    found = {one.pid: (one.name, one.parent_pid) for one in trace.processes}
    assert found[40] == ("ksh", None)
    assert found[41] == ("ksh", 40)
    assert found[42] == ("", None)


def test_files_of_cpus_are_merged(tmp_path, monkeypatch):
    base = tmp_path / "trc"
    base.write_bytes(stream("64", words_64(0x0010, ts=1)))
    (tmp_path / "trc-0").write_bytes(
        stream("64", words_64(0x5000, 1, ts=2), words_64(0x5000, 2, ts=9))
    )
    (tmp_path / "trc-12").write_bytes(stream("64", words_64(0x5000, 3, ts=5)))
    (tmp_path / "trc-x").write_bytes(b"no stream")
    (tmp_path / "trc-3").write_bytes(b"nor this")
    trace = from_path(base)
    assert [(event.ts, event.cpu) for event in rows(trace)] == [(1, -1), (2, 0), (5, 12), (9, 0)]
    assert trace.sidecar["aix"]["files"] == ["trc", "trc-0", "trc-12"]
    check(from_path(base))
    sink = BufferSink()
    FORMAT.writer()(from_path(base), sink, "64")
    copies = {name: copy.getvalue() for name, copy in sink.companions.items()}
    assert copies == {end: (tmp_path / f"trc{end}").read_bytes() for end in ("-0", "-12")}
    # Without a place for further files they become user hooks.
    monkeypatch.setattr(BufferSink, "companion", lambda *_: None)
    again = opened(written(from_path(base)))
    assert [(event.ts, event.cpu) for event in rows(again)] == [(1, -1), (2, 0), (5, 12), (9, 0)]


TEMPLATES = b'5F5 1.0 L=KERN "my_hook" W1 "first="U8 "second="X4 "third="D4 "name="A8\n'


def test_templates_of_the_user_name_fields(tmp_path):
    path = tmp_path / "trc"
    data = (7).to_bytes(8, "big") + bytes.fromhex("deadbeeffffffffe") + b"disk\0xyz"
    path.write_bytes(stream("64", entry_64(0x5F50, data)))
    assert "words" in rows(from_path(path))[0].values
    (tmp_path / "trace.fmt").write_bytes(TEMPLATES)
    named = {"first": 7, "second": 0xDEADBEEF, "third": -2, "name": b"disk"}
    beside = from_path(path)
    assert rows(beside)[0].values == named
    assert rows(beside)[0].name == "my_hook"
    (tmp_path / "trace.fmt").rename(tmp_path / "other")
    given = opened(path.read_bytes(), trcfmt=str(tmp_path / "other"))
    assert rows(given)[0].values == named
    batch = next(given.batches())
    assert given.describe is not None
    text = given.describe(batch)(0)
    assert text is not None and text.startswith("my_hook first=7 second=DEADBEEF")
    assert written(given) == path.read_bytes()


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("length", [3, 200, None])
def test_templates_name_texts_with_their_lengths_in_front(width, length, tmp_path):
    """As long as they say, or as the entry has bytes."""
    said = (1 << 8 * width) - 1 if length is None else length
    path = tmp_path / "trc"
    path.write_bytes(stream("64", entry_64(0x5F50, said.to_bytes(width, "big") + b"disk")))
    (tmp_path / "trace.fmt").write_text(f'5F5 1.0 W1 "name="S{width}\n')
    assert rows(from_path(path))[0].values == {"name": b"disk"[:said]}


def test_detection():
    assert FORMAT.sniff(MAGIC + b"whatever")
    assert not FORMAT.sniff(b"\x00\x01\x02\x03")


def test_a_trace_log_file_is_refused():
    with pytest.raises(UnsupportedError, match="trcrpt -r"):
        opened(b"\xf0\x0d\xbe\xef" * 8)
    with pytest.raises(UnsupportedError, match=r"aix\+32"):
        opened(stream("32", words_32(0x500)))


def test_variants_exclude_each_other():
    with pytest.raises(TraceError, match="64-bit stream"):
        opened(stream("64", words_64(0x5000)), "32")
    with pytest.raises(TraceError, match="no such variant"):
        opened(stream("64", words_64(0x5000)), "65")


def test_a_missing_template_file():
    with pytest.raises(TraceError):
        opened(stream("64", words_64(0x5000)), trcfmt="/nowhere/trace.fmt")


def test_an_empty_stream_is_copied():
    assert rows(opened(MAGIC)) == []
    assert written(opened(MAGIC)) == MAGIC


def test_the_source_is_not_consumed():
    source = open_source(stream("64", words_64(0x5000, 1), words_64(0x5000, 2)))
    trace = FORMAT.reader()(source)
    assert rows(trace) == rows(trace)
