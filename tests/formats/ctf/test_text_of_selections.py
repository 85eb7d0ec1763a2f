"""All that Babeltrace prints of a trace it prints of what is written of it, also after selections, which encode anew:
each field of each event, wherever it stands; but for what the loss report names.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from support.ctf.babeltrace_text import assert_says_all, lines_of
from support.ctf.ctf2_fragments import CLOCK, STREAM, TEXT, U8, Json, at, event, sequence, structure
from support.ctf.files import UUID, Stream, open_trace
from support.traces.losses import line_of

import converter
from converter.formats.ctf.writing.writer import write
from converter.projection.losses import LossClass
from converter.storage.outputs import open_sink

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "ctf"

U64: Json = {**U8, "length": 64}
TIMES: Json = {
    **STREAM,
    "default-clock-class-id": "c",
    "packet-context-field-class": structure(
        size={**U8, "length": 16, "roles": ["packet-total-length"]},
        begin={**U64, "roles": ["default-clock-timestamp"]},
    ),
    "event-record-header-field-class": structure(t={**U64, "roles": ["default-clock-timestamp"]}),
}


def selected(path: Path, output: Path, variant: str) -> list[str]:
    """Write all events of a trace anew; the losses that viewers show."""
    trace = open_trace(path)
    batches = list(trace.batches())
    trace.make_batches = lambda: iter(batches)
    with open_sink(output, directory=True) as sink:
        report = write(trace, sink, variant)
    return [line_of(loss) for loss in report if loss.loss_class is LossClass.SHOWN]


def in_ctf2(path: Path, clock: Json, records: bytes, **fields: Json) -> Path:
    """A trace of one packet, whose times begin at 1,000."""
    path.mkdir()
    named = {**event(**fields), "name": "e"}
    (path / "metadata").write_bytes(sequence({**CLOCK, **clock}, TIMES, named))
    packet = struct.pack("<HQ", 8 * (10 + len(records)), 1000) + records
    (path / "stream").write_bytes(packet)
    return path


@pytest.mark.parametrize("name", ["ctf_small", "ctf_lost", "perf_ctf", "ctf2_small"])
@pytest.mark.parametrize("variant", ["1.8", "2"])
def test_recordings(name: str, variant: str, tmp_path: Path) -> None:
    losses = selected(FIXTURES / name, tmp_path / "out", variant)
    assert all(one.startswith(("ctf-attribute-shown", "ctf-text-length")) for one in losses)
    source, written = (lines_of(path, "2.1") for path in (FIXTURES / name, tmp_path / "out"))
    assert [*map(without_lengths, source)] == [*map(without_lengths, written)]
    if variant == "1.8":
        # 2.0.4 shows an earlier text for an empty one, depending on what is before it.
        assert_says_all(source, lines_of(tmp_path / "out", "2.0"), "seqtext = .*")


def without_lengths(line: str) -> str:
    """The line without the lengths of texts, which a loss names."""
    return re.sub(r'_\w+_length = \d+, (?=\w+ = ")', "", line)


STACKS_AND_VARIANTS = (
    "uint32_t _vtid; uint8_t __stack_length; uint64_t _stack[__stack_length]; uint8_t _mac[2]; "
    "enum : uint8_t { _none = 0, _int32 = 1, _string = 2 } __tag; "
    "variant <__tag> { struct {} _none; int32_t _int32; string _string; } _app;"
)


@pytest.mark.parametrize("variant", ["1.8", "2"])
def test_contexts_of_arrays_and_variants(variant: str, tmp_path: Path) -> None:
    """Contexts of all events stay in their braces, with the lengths and selectors that they need."""
    stream = Stream({"p:a": "uint8_t _x;", "p:b": "string _y;"}, context=STACKS_AND_VARIANTS)
    values = [
        b"\7\0\0\0\1" + bytes(8) + b"ab\0",
        b"\7\0\0\0\0ab\1\3\0\0\0",
        b"\7\0\0\0\0ab\2text\0",
    ]
    records = [
        stream.record(i % 2, 5 + i, one + b"9\0"[: i % 2 + 1]) for i, one in enumerate(values)
    ]
    path = stream.write(tmp_path / "in", stream.packet(records, begin=1, end=9))
    assert selected(path, tmp_path / "out", variant) == ["ctf-key-field (1)"]
    source = lines_of(path, "2.1")
    for version in ("2.0", "2.1") if variant == "1.8" else ("2.1",):
        written = lines_of(tmp_path / "out", version)
        assert [re.sub(r"_app_selector = (\d+|\(.*?\)), ", "", one) for one in written] == source


@pytest.mark.parametrize("variant", ["1.8", "2"])
def test_contexts_of_each_channel(variant: str, tmp_path: Path) -> None:
    """Streams keep their own contexts, in their order, also where others have more."""
    contexts = {
        "a": ("uint32_t _vtid; string _procname;", struct.pack("<I", 7) + b"main\0"),
        "b": (
            "uint64_t _ip; uint32_t _vpid; uint64_t _count; uint32_t _vtid;",
            struct.pack("<QIQI", 0x1234, 6, 9, 7),
        ),
    }
    for number, (name, (context, data)) in enumerate(contexts.items()):
        uuid = f"{UUID[:-1]}{number}"
        stream = Stream({f"p:{name}": "uint8_t _x;"}, context=context, uuid=uuid)
        record = stream.record(0, 5 + number, data + b"\1")
        stream.write(tmp_path / "in" / name, stream.packet(record, begin=1, end=9))
    assert not selected(tmp_path / "in", tmp_path / "out", variant)
    source = lines_of(tmp_path / "in", "2.1")
    assert source[1].endswith("{ ip = 4660, vpid = 6, count = 9, vtid = 7 }, { x = 1 }")
    assert lines_of(tmp_path / "out", "2.1") == source
    if variant == "1.8":
        assert lines_of(tmp_path / "out", "2.0") == source


@pytest.mark.parametrize("offset", [0, 21_600, -3, 40_000])
@pytest.mark.parametrize("first", [0, 21_600_002_500, 10**13 + 1])
def test_times_of_a_slow_clock(first: int, offset: int, tmp_path: Path) -> None:
    """Babeltrace computes with floats: it rounds the same values in the same way."""
    path = tmp_path / "in"
    path.mkdir()
    clock = {**CLOCK, "frequency": 10**6, "offset-from-origin": {"seconds": offset, "cycles": 7}}
    (path / "metadata").write_bytes(sequence(clock, TIMES, {**event(x=U8), "name": "e"}))
    records = b"".join(struct.pack("<QB", first + 1500 * i, i) for i in range(8))
    (path / "stream").write_bytes(struct.pack("<HQ", 8 * (10 + len(records)), first) + records)
    selected(path, tmp_path / "out", "")
    assert lines_of(tmp_path / "out", "2.1") == lines_of(path, "2.1")


def test_a_cpu_in_the_context_stays_there(tmp_path: Path) -> None:
    context = structure(cpu_id=U8, vtid=U8)
    timed = {**TIMES, "event-record-common-context-field-class": context}
    path = tmp_path / "in"
    path.mkdir()
    declared = sequence({**CLOCK, "frequency": 10**9}, timed, {**event(x=U8), "name": "e"})
    (path / "metadata").write_bytes(declared)
    records = b"".join(struct.pack("<QBBB", 1001 + i, cpu, 7, i) for i, cpu in enumerate((1, 0, 1)))
    (path / "stream").write_bytes(struct.pack("<HQ", 8 * (10 + len(records)), 1000) + records)
    assert not selected(path, tmp_path / "out", "")
    source = lines_of(path, "2.1")
    assert "{ cpu_id = 1, vtid = 7 }, { x = 0 }" in source[0]
    assert lines_of(tmp_path / "out", "2.1") == source
    (batch,) = open_trace(tmp_path / "out").batches()
    assert batch.cpu.tolist() == [1, 0, 1]


def test_lengths_and_selectors_that_are_fields(tmp_path: Path) -> None:
    """A length that is a field stays the only one; a selector gets another field, which a loss names."""
    fields = (
        "uint8_t _n; uint16_t _values[_n]; enum : uint8_t { _int = 0, _text = 1 } _tag; "
        "variant <_tag> { uint8_t _int; string _text; } _v;"
    )
    stream = Stream({"p:a": fields})
    records = [
        stream.record(0, 5, struct.pack("<BHHBB", 2, 1, 500, 0, 9)),
        stream.record(0, 6, b"\0\1hey\0"),
    ]
    path = stream.write(tmp_path / "in", stream.packet(records, begin=1, end=9))
    assert selected(path, tmp_path / "out", "") == ["ctf-key-field (1)"]
    written = lines_of(tmp_path / "out", "2.1")
    assert [re.sub(r"_v_selector = \(.*?\), ", "", one) for one in written] == lines_of(path, "2.1")


@pytest.mark.parametrize("context", ["", "uint8_t _level;"])
def test_fields_of_packets_beside_others_are_named(context: str, tmp_path: Path) -> None:
    stream = Stream({"e": "uint8_t _x;"}, context=context, packet_extra="uint16_t bat;")
    record = stream.record(0, 5, b"\1\2"[: 1 + bool(context)])
    packet = stream.packet(record, begin=1, end=9, extra=struct.pack("<H", 300))
    path = stream.write(tmp_path / "in", packet)
    assert selected(path, tmp_path / "out", "") == ["ctf-packet-field (1)"]
    assert_says_all(lines_of(path, "2.1"), lines_of(tmp_path / "out", "2.1"))
    plain = Stream({"e": ""}).write(tmp_path / "plain", Stream({"e": ""}).packet(b"", begin=1))
    assert not selected(plain, tmp_path / "other", "")


def test_kernel_events_of_perf_keep_names_and_priorities(tmp_path: Path) -> None:
    fields = "uint32_t _perf_tid; uint32_t _perf_pid; string _comm; int32_t _pid; int32_t _prio;"
    stream = Stream({"sched:sched_wakeup": fields}, environment='domain = "kernel";')
    record = stream.record(0, 5, struct.pack("<II", 7, 7) + b"x\0" + struct.pack("<ii", 8, 120))
    path = stream.write(tmp_path / "in", stream.packet(record, begin=1, end=9))
    assert not selected(path, tmp_path / "out", "")
    (line,) = lines_of(path, "2.1")
    assert "sched:sched_wakeup: " in line and "pid = 8, prio = 120" in line
    assert lines_of(tmp_path / "out", "2.1") == [line]


def test_threads_that_switches_name_are_contexts(tmp_path: Path) -> None:
    switch = (
        "string _prev_comm; int32_t _prev_tid; int32_t _prev_prio; int32_t _prev_state; "
        "string _next_comm; int32_t _next_tid; int32_t _next_prio;"
    )
    data = b"a\0" + struct.pack("<iii", 1, 20, 0) + b"b\0" + struct.pack("<ii", 2, 20)
    stream = Stream({"sched_switch": switch, "e": ""}, environment='domain = "kernel";')
    records = [stream.record(0, 5, data), stream.record(1, 6)]
    path = stream.write(tmp_path / "in", stream.packet(records, begin=1, end=9))
    trace = open_trace(path)
    batches = list(trace.batches())
    trace.make_batches = lambda: iter(batches)
    with open_sink(tmp_path / "out", directory=True) as sink:
        report = write(trace, sink, "")
    named = [loss.code for loss in report if loss.loss_class is LossClass.KEPT]
    assert named == (["ctf-told-thread"] if trace.threads else [])
    assert_says_all(lines_of(path, "2.1"), lines_of(tmp_path / "out", "2.1"))


def test_traces_of_several_programs_are_named(tmp_path: Path) -> None:
    """Babeltrace prints the host and program of a trace with each event; one trace is written."""
    for name, program in (("a", "one"), ("b", "one"), ("c", "two")):
        stream = Stream({"e": ""}, environment=f'hostname = "vm"; procname = "{program}";')
        packet = stream.packet(stream.record(0, 5), begin=1, end=9)
        stream.write(tmp_path / "in" / name, packet)
    (line,) = selected(tmp_path / "in", tmp_path / "out", "")
    assert line == "ctf-trace-program (1)"


NAMES = {
    "one underscore": ["_u", "__two", "___three", "plain"],
    "a clash": ["x", "_x", "__x"],
    "a clash the other way round": ["_x", "x"],
    "barectf's length": ["_array_len", "array"],
    "the name of a length": ["_array_length", "array_length"],
}


@pytest.mark.parametrize("name", NAMES)
def test_names_keep_their_underscores(name: str, tmp_path: Path) -> None:
    fields: dict[str, Json] = {}
    for one in NAMES[name]:
        fields[one] = U8
        if one == "array":
            length = at("_array_len")
            fields[one] = {
                "type": "dynamic-length-array",
                "element-field-class": U8,
                "length-field-location": length,
            }
    data = struct.pack("<Q", 1001) + (b"\2ab" if "array" in fields else b"\1\2\3\4"[: len(fields)])
    path = in_ctf2(tmp_path / "in", {"frequency": 1_000_000_000}, data, **fields)
    source = lines_of(path, "2.1")
    for variant in ("1.8", "2"):
        assert not selected(path, tmp_path / variant, variant)
        assert_says_all(source, lines_of(tmp_path / variant, "2.1"))
    assert_says_all(source, lines_of(tmp_path / "1.8", "2.0"))
    # The same with the streams as they are.
    converter.convert(path, tmp_path / "copy", target_format="ctf+1.8")
    assert_says_all(source, lines_of(tmp_path / "copy", "2.1"))
    assert_says_all(source, lines_of(tmp_path / "copy", "2.0"))


OFFSETS = [0, 1, -1, 21_600, 631_151_999, 631_152_000, 1_434_072_888, -(1 << 30)]


@pytest.mark.parametrize("frequency", [1_000_000_000, 3_000_000])
@pytest.mark.parametrize("seconds", OFFSETS)
def test_offsets_of_clocks_are_kept(seconds: int, frequency: int, tmp_path: Path) -> None:
    """Those of no certain origin, too."""
    clock: Json = {
        "frequency": frequency,
        "offset-from-origin": {"seconds": seconds, "cycles": 9},
    }
    data = struct.pack("<QB", 1001, 5) + struct.pack("<QB", 1 << 31, 6)
    path = in_ctf2(tmp_path / "in", clock, data, x=U8)
    assert not selected(path, tmp_path / "out", "2")
    trace = open_trace(path)
    (batch,) = trace.batches()
    assert trace.clock.epoch_ns is None
    assert batch.ts.tolist() == [seconds * frequency + 9 + value for value in (1001, 1 << 31)]
    assert lines_of(path, "2.1", "--clock-cycles") != lines_of(path, "2.1")
    assert_says_all(lines_of(path, "2.1"), lines_of(tmp_path / "out", "2.1"))


def test_offsets_without_absolute_in_ctf_1_8(tmp_path: Path) -> None:
    stream = Stream({"e": ""}, offset=21_600 * 10**9)
    path = stream.write(tmp_path / "in", stream.packet(stream.record(0, 5), begin=1, end=9))
    metadata = (path / "metadata").read_text().replace("absolute = true;", "")
    (path / "metadata").write_text(metadata)
    assert open_trace(path).clock.epoch_ns is None
    assert not selected(path, tmp_path / "out", "")
    for version in ("2.0", "2.1"):
        found = lines_of(tmp_path / "out", version)
        assert found[0].startswith("[21600.000000005]")
        assert_says_all(lines_of(path, version), found)


def test_flags_have_names_in_ctf_2_alone(tmp_path: Path) -> None:
    flags = {**U8, "type": "fixed-length-bit-map", "flags": {"READ": [[0, 0]], "WRITE": [[1, 2]]}}
    records = b"".join(struct.pack("<QB", 1001 + value, value) for value in range(8))
    path = in_ctf2(tmp_path / "in", {"frequency": 10**9}, records, f=flags)
    source = lines_of(path, "2.1")
    assert not selected(path, tmp_path / "two", "2")
    assert_says_all(source, lines_of(tmp_path / "two", "2.1"))
    lost = ["ctf-flag-names (1)"]
    assert selected(path, tmp_path / "one", "1.8") == lost
    assert_says_all(source, lines_of(tmp_path / "one", "2.1"), "f = .*")
    report = converter.convert(path, tmp_path / "copy", target_format="ctf+1.8")
    assert [line_of(loss) for loss in report if loss.loss_class is LossClass.SHOWN] == lost
    # The flags are still those of the source for this reader.
    types = []
    for one in (path, tmp_path / "one"):
        trace = open_trace(one)
        assert sum(map(len, trace.batches())) == 8
        types += [declared.fields[0].type for declared in trace.event_classes]
    assert types[0] == types[1]


LABELS = {
    "an underscore more": {"A": [[0, 0]], "_B": [[1, 1]]},
    "labels of both": {"A": [[0, 0]], "B": [[1, 1]], "_B": [[2, 2]]},
    "no label": {"C": [[0, 1]]},
    "a label of other values": {"A": [[0, 0]], "B": [[2, 2]]},
}


@pytest.mark.parametrize("name", LABELS)
def test_options_by_labels(name: str, tmp_path: Path) -> None:
    """Babeltrace looks for the labels of options by their names as they are declared."""
    options = [
        {"name": option, "field-class": TEXT, "selector-field-ranges": [[number, number]]}
        for number, option in enumerate("AB")
    ]
    variant = {"type": "variant", "selector-field-location": at("tag"), "options": options}
    tag = {**U8, "mappings": LABELS[name]}
    records = b"".join(struct.pack("<QB", 1001, value) + b"hey\0" for value in (0, 1, 0))
    path = in_ctf2(tmp_path / "in", {"frequency": 10**9}, records, tag=tag, v=variant)
    converter.convert(path, tmp_path / "copy", target_format="ctf+1.8")
    assert_says_all(lines_of(path, "2.1"), lines_of(tmp_path / "copy", "2.1"))
    assert_says_all(lines_of(path, "2.1"), lines_of(tmp_path / "copy", "2.0"))


def test_directories_of_one_trace_are_related_in_ctf_2(tmp_path: Path) -> None:
    """Babeltrace reads packets once that snapshots share."""
    stream = Stream({"e": "uint8_t x;"})
    stream_of = "uint32_t stream_id; uint64_t stream_instance_id;"
    packets = []
    for number in range(3):
        packet = stream.packet(
            [stream.record(0, 100 * number + 1, b"x")],
            begin=100 * number + 1, end=100 * number + 9, sequence=number,
            content=8 * 90, size=8 * 90,
        )  # fmt: skip
        packets.append(packet[:24] + bytes(8) + packet[24:])
    for name, held in (("one", packets[:2]), ("two", packets[1:])):
        folder = tmp_path / "in" / name
        folder.mkdir(parents=True)
        text = stream.metadata().replace("uint32_t stream_id;", stream_of)
        (folder / "metadata").write_text(text)
        (folder / "stream").write_bytes(b"".join(held))
    converter.convert(tmp_path / "in", tmp_path / "two", target_format="ctf+2")
    source = lines_of(tmp_path / "in", "2.1")
    assert len(source) == 3
    assert lines_of(tmp_path / "two", "2.1") == source
    converter.convert(tmp_path / "two", tmp_path / "one", target_format="ctf+1.8")
    assert lines_of(tmp_path / "one", "2.1") == source


def test_threads_of_packets_are_named_as_usual(tmp_path: Path) -> None:
    stream = Stream(
        {"p:work_entry": "uint8_t x;", "p:work_exit": ""},
        packet_extra="uint32_t thread_id; string thread_name;",
        environment='tracer_name = "qtctf";',
    )
    extra = struct.pack("<I", 17) + b"alpha\0"
    records = [stream.record(0, 5, b"\1"), stream.record(1, 7)]
    path = stream.write(tmp_path / "in", stream.packet(records, begin=1, extra=extra))
    trace = open_trace(path)
    batches = list(trace.batches())
    trace.make_batches = lambda: iter(batches)
    with open_sink(tmp_path / "out", directory=True) as sink:
        report = write(trace, sink, "")
    (named,) = [loss for loss in report if loss.loss_class is LossClass.KEPT]
    assert named.code == "ctf-packet-thread"
    source = [
        line.replace("thread_id", "vtid").replace("thread_name", "procname")
        for line in lines_of(path, "2.1")
    ]
    for version in ("2.0", "2.1"):
        # A range has its name as a field.
        assert_says_all(source, lines_of(tmp_path / "out", version), "name = .*")


@pytest.mark.parametrize("variant", ["1.8", "2"])
@pytest.mark.parametrize("timed", [True, False], ids=["times", "no times"])
def test_nothing_is_said_of_threads_and_times_that_a_trace_has_not(
    variant: str, timed: bool, tmp_path: Path
) -> None:
    path = tmp_path / "in"
    if timed:
        records = b"".join(struct.pack("<QB", 1001 + one, one) for one in range(3))
        in_ctf2(path, {"frequency": 10**9}, records, x=U8)
    else:
        path.mkdir()
        plain = {**STREAM, "packet-context-field-class": structure()}
        named = {**event(x=U8), "name": "e"}
        (path / "metadata").write_bytes(sequence(plain, named))
        (path / "stream").write_bytes(b"\1\2\3")
    source = lines_of(path, "2.1")
    assert len(source) == 3 and source[0].startswith("e: {") is not timed
    assert not selected(path, tmp_path / "out", variant)
    assert lines_of(tmp_path / "out", "2.1") == source
    if variant == "1.8":
        assert lines_of(tmp_path / "out", "2.0") == source
    # Written again, and read, it is the same.
    assert not selected(tmp_path / "out", tmp_path / "again", variant)
    assert lines_of(tmp_path / "again", "2.1") == source
    back = open_trace(tmp_path / "again")
    (batch,) = back.batches()
    (table,) = batch.tables.values()
    assert np.asarray(table.column(0)).tolist() == ([0, 1, 2] if timed else [1, 2, 3])
    assert not back.threads
    assert [one.timed for one in back.event_classes] == [timed]


def test_fields_that_ctf_1_8_has_in_a_plainer_form_are_named(tmp_path: Path) -> None:
    flag = {**U8, "type": "fixed-length-boolean"}
    blob = {"type": "static-length-blob", "length": 2}
    optional = {"type": "optional", "selector-field-location": at("b"), "field-class": TEXT}
    data = struct.pack("<QB", 1001, 1) + b"hi\0ab"
    path = in_ctf2(tmp_path / "in", {"frequency": 10**9}, data, b=flag, o=optional, l=blob)
    lost = ["ctf-key-field (1)", "ctf-plain-fields (3)"]
    assert selected(path, tmp_path / "one", "1.8") == lost
    assert selected(path, tmp_path / "two", "2") == lost[:1]
