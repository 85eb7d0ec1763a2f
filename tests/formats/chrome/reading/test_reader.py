"""Reading Chrome JSON: what becomes of each feature and of each irregularity."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.chrome.files import FEATURES, FIXTURES, dump, event, events, load, written
from support.traces.small_traces import fields_at

from converter.errors import TraceError
from converter.formats.chrome import FORMAT
from converter.formats.chrome.capabilities import CAPABILITIES
from converter.formats.chrome.mapping import HEXADECIMAL, JSON_TEXT, WAKEUPS
from converter.formats.chrome.reading import reader
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.field_classes import ArrayClass, IntegerClass, StructureClass
from converter.ir.forms import type_form
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.storage.opening import open_source


def test_features_are_of_the_shapes_that_the_capabilities_declare() -> None:
    trace = load(FEATURES)
    check(trace)
    assert trace.warnings == []
    kinds = {event_class.kind for event_class in trace.event_classes}
    assert kinds == set(CAPABILITIES.kinds) - {Kind.SCHED_SWITCH, *WAKEUPS}
    for event_class in trace.event_classes:
        support = CAPABILITIES.kinds[event_class.kind]
        for field, declared in zip(event_class.fields, support.fields, strict=False):
            assert field == declared or (field.role is Role.ID and field in support.optional)


def test_times_are_exact_decimals() -> None:
    trace = load('[{"ph":"X","ts":1700000000000000.001,"dur":"0.3","tts":1e3,"tdur":12e-1}]')
    assert trace.clock.ticks_per_second == 10**9
    assert events(trace)[0][1] == 1_700_000_000_000_000_001
    fields = events(trace)[0][2]
    assert fields["duration"] == 300
    assert fields["thread_time"] == 1_000_000
    assert fields["thread_duration"] == 1200


def test_the_clock_is_as_fine_as_the_times() -> None:
    trace = load('[{"ph":"i","ts":1.00001},{"ph":"i","ts":2}]')
    assert trace.clock.ticks_per_second == Fraction(10**11)
    assert [ts for _, ts, _ in events(trace)] == [100001, 200000]
    # Times of up to a quarter of 63 bits, as later ones may be greater.
    for first, decimals in (("2305843009213.000001", 6), ("2305843009214.000001", 5)):
        trace = load(f'[{{"ph":"i","ts":{first}}}]')
        assert trace.clock.ticks_per_second == 10 ** (6 + decimals)


def test_finer_times_than_the_clock_are_rounded_with_a_warning() -> None:
    trace = load(
        '[{"ph":"X","ts":1.5,"dur":0.0977835574447349},{"ph":"X","ts":-1.0000005,"dur":1}]'
    )
    assert trace.clock.ticks_per_second == 10**12
    assert events(trace)[0][2]["duration"] == 97784
    assert events(trace)[1][1] == -1000001
    assert "2 times" in str(trace.warnings[0])


@pytest.mark.parametrize("ts", ["1e30", "99999999999999999999", '"x"', "null", "{}"])
def test_an_event_without_a_usable_time_stays_text(ts: str) -> None:
    kind, _, fields = events(load(f'[{{"ph":"B","name":"a","ts":{ts}}}]'))[0]
    assert kind == "NATIVE"
    assert json.loads(fields["payload"])["name"] == "a"


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ('"0x1f"', "id", 0x1F),
        ('"0xffffffffffffffff"', "id", 2**64 - 1),
        ('"0x001f"', "id", b"0x001f"),
        ('"1a"', "id", b"1a"),
        ("7", "id", 7),
        ("-7", "id", -7),
    ],
)
def test_ids_are_kept_exactly(text: str, name: str, found: object) -> None:
    trace = load(f'[{{"ph":"b","cat":"c","id":{text},"ts":1}}]')
    assert events(trace)[0][2][name] == found


@pytest.mark.parametrize("place", ["local", "global"])
def test_ids_have_places(place: str) -> None:
    trace = load([event(ph="b", id2={place: "0x2"})])
    assert events(trace)[0][2][f"id.{place}"] == 2


def test_arguments_keep_their_types_and_their_structure() -> None:
    text = (
        '{"ph":"i","ts":1,"args":{"a":9223372036854775807,"b":18446744073709551615,"c":"0xff",'
        '"d":[1,2],"e":{"x":1,"x":2},"f":[{"k":1},{"k":2}],"g":[1,"a"],"h":[[1],[2]],"i":-0,"j":1e400}}'
    )
    trace = load(f"[{text}]")
    types = {field.name: field.type for field in trace.event_classes[0].fields}
    assert types["a"] == IntegerClass(64, signed=True)
    assert types["b"] == IntegerClass(64)
    assert types["c"] == HEXADECIMAL
    assert types["d"] == ArrayClass(types["a"])
    assert isinstance(types["e"], StructureClass)
    assert isinstance(types["f"], ArrayClass)
    assert types["g"] == types["h"] == JSON_TEXT
    fields = events(trace)[0][2]
    assert fields["b"] == 2**64 - 1
    assert fields["c"] == 255
    assert fields["e"] == [("x", 1), ("x", 2)]
    assert fields["f"] == [[("k", 1)], [("k", 2)]]
    assert fields["g"] == b'[1,"a"]'
    assert str(fields["i"]) == "-0.0"
    assert fields["j"] == float("inf")


def test_floats_are_the_nearest_doubles() -> None:
    texts = [
        "0.1",
        "1.7976931348623157e308",
        "5e-324",
        "123456789012345678.5",
        "9007199254740993.0",
        "1e22",
    ]
    trace = load("[" + ",".join(f'{{"ph":"i","ts":1,"args":{{"v":{t}}}}}' for t in texts) + "]")
    assert [fields["v"] for _, _, fields in events(trace)] == [float(text) for text in texts]


def test_escapes_become_utf8_and_lone_surrogates_are_replaced() -> None:
    trace = load(r'[{"ph":"i","ts":1,"name":"\u00e9\ud83d\ude00\n\"","args":{"v":"\ud800"}}]')
    fields = events(trace)[0][2]
    assert fields["name"] == 'é😀\n"'.encode()
    assert fields["v"] == "\ufffd".encode()


def test_missing_threads_are_those_of_perfetto() -> None:
    trace = load('[{"ph":"i","ts":1},{"ph":"i","ts":1,"pid":5},{"ph":"i","ts":1,"tid":6}]')
    found = [(trace.processes[t.process].pid, t.tid) for t in trace.threads]
    assert found == [(0, 0), (5, 5), (0, 6)]


def test_processes_and_threads_may_be_text() -> None:
    trace = load([event(pid="main", tid="7"), event(pid=2**64 - 1, tid="worker")])
    first, second = trace.threads
    assert trace.processes[first.process].name == "main"
    assert first.tid == 7
    assert trace.processes[second.process].pid == 2**64 - 1
    assert trace.sidecar["chrome"]["text_ids"][str(second.tid)] == "worker" == second.name
    # A number of more bits is text.
    (thread,) = load([event(tid=2**64)]).threads
    assert (thread.tid < 2**64, thread.name) == (True, str(2**64))


@pytest.mark.parametrize(
    "ids",
    [
        (7, "7"),
        ("7", 7),
        ("7", "07", "+7", " 7", "7 ", "7.0", "-7", "\u0667", 7, -7),
        ("0", 0, "", "00", "-0"),
        (1 << 62, "4611686018427387904", "a", (1 << 62) + 1),
        ("140589156634432", 140589156634432),
        ("4611686018427387903", "18446744073709551615", (1 << 64) - 1, "18446744073709551616"),
    ],
)
def test_a_text_is_no_number(ids: tuple[int | str, ...]) -> None:
    trace = load([event(pid=1, tid=id) for id in ids])
    assert len({thread.tid for thread in trace.threads}) == len(ids)
    for id, thread in zip(ids, trace.threads, strict=True):
        assert thread.name == (id if isinstance(id, str) else "")
    # They are written as they were, and read again.
    again = written(trace)
    assert [one["tid"] for one in again] == list(ids)
    assert difference(trace, load(json.dumps(again))) is None


def test_a_text_that_is_a_number_keeps_it() -> None:
    trace = load([event(pid="0", tid="140589156634432"), event(pid="7", tid="0")])
    assert [one.pid for one in trace.processes] == [0, 7]
    assert [one.tid for one in trace.threads] == [140589156634432, 0]


def test_a_text_has_the_same_number_in_all_files() -> None:
    one = load([event(pid="Spans", tid="a"), event(pid="Traces", tid="b")])
    other = load([event(pid="Traces", tid="c"), event(pid="Spans", tid="b")])
    by_name = {process.name: process.pid for process in one.processes}
    assert by_name == {process.name: process.pid for process in other.processes}
    assert len({thread.tid for thread in (*one.threads, *other.threads)}) == 3


def test_metadata_fills_the_tables_and_the_sidecar() -> None:
    trace = load(FEATURES)
    names = {thread.name for thread in trace.threads}
    assert 'io "thread" é' in names
    assert "browser" in {process.name for process in trace.processes}
    sidecar = trace.sidecar["chrome"]
    assert any("process_labels" in text for text in sidecar["metadata"])
    assert sidecar["members"]["otherData"]["big"] == 12345678901234567890
    assert sidecar["members"]["displayTimeUnit"] == "ms"


@pytest.mark.parametrize("name", ["[]", "{}", "[1]", "1", "null", "true", '["process_name"]'])
def test_metadata_whose_name_is_no_text_is_kept(name: str) -> None:
    line = f'{{"name":{name},"ph":"M","pid":1,"tid":1,"args":{{"name":"x"}}}}'
    trace = load(f'[{{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}},{line}]')
    assert sum(len(batch.ts) for batch in trace.batches()) == 1
    assert trace.sidecar["chrome"]["metadata"] == [line]
    assert [thread.name for thread in trace.threads] == [""]


def test_reading_again_gives_the_same() -> None:
    trace = load(FEATURES)
    before = (len(trace.event_classes), len(trace.threads), json.dumps(trace.sidecar))
    first = [batch.class_id.tolist() for batch in trace.batches()]
    assert [batch.class_id.tolist() for batch in trace.batches()] == first
    assert (len(trace.event_classes), len(trace.threads), json.dumps(trace.sidecar)) == before


def test_switches_are_known_only_in_own_files() -> None:
    arguments = {"cpu": 1, "prev_tid": 1, "prev_comm": "a", "prev_prio": 1, "prev_state": 0}
    arguments |= {"next_tid": 2, "next_comm": "b", "next_prio": 3}
    switch = event(ph="T", name="Running", dur=1, args=arguments)
    assert events(load([switch]))[0][0] == "STATE"
    own = load({"traceconv": {"version": 1}, "traceEvents": [switch]})
    assert events(own)[0][0] == "SCHED_SWITCH"
    assert [batch.cpu.tolist() for batch in own.batches()] == [[1]]


@pytest.mark.parametrize(
    ("text", "count", "warned"),
    [
        ("[]", 0, False),
        ("{}", 0, False),
        ("\ufeff[]", 0, False),
        ('[{"ph":"i","ts":1}', 1, False),
        ('[{"ph":"i","ts":1},', 1, False),
        ('[{"ph":"i","ts":1},]', 1, False),
        ('[{"ph":"i","ts":1},{"ph":"i","t', 1, True),
        ('[{"ph":"i","ts":1},nonsense', 1, True),
        ('[{"ph":"i","ts":1}] more', 1, True),
        ('{"traceEvents":[{"ph":"i","ts":1}', 1, True),
        ('{"traceEvents":[{"ph":"i","ts":1}],"a":', 1, True),
        ('{"traceEvents":[{"ph":"i","ts":1}],"b":1,"traceEvents":[{"ph":"i","ts":1}]}', 2, False),
    ],
)
def test_ends_of_files(
    text: str, count: int, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The last window may have a single byte.
    for window in (1 << 16, max(len(text) - 1, 8)):
        monkeypatch.setattr(reader, "WINDOW", window)
        trace = load(text)
        assert len(events(trace)) == count
        assert bool(trace.warnings) is warned


def test_a_large_value_spans_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "WINDOW", 64)
    text = "x" * 1000
    trace = load({"big": text, "traceEvents": [event(name=text), event(args={"a": [1] * 500})]})
    assert events(trace)[0][2]["name"] == text.encode()
    assert events(trace)[1][2]["a"] == [1] * 500
    assert trace.sidecar["chrome"]["members"]["big"] == text


def test_many_shapes_of_arguments_do_not_make_many_classes() -> None:
    trace = load([event(args={f"key{i}": i}) for i in range(9000)])
    assert len(trace.event_classes) < 8200
    last = events(trace)[-1]
    assert json.loads(last[2]["members"]) == {"args": {"key8999": 8999}}


def test_compressed_files_are_read() -> None:
    assert len(events(load(gzip.compress(FEATURES)))) == len(events(load(FEATURES)))


def test_order_and_nesting_stay_as_they_are() -> None:
    trace = load((FIXTURES / "nesting.json").read_bytes())
    assert [ts for _, ts, _ in events(trace)] == [0, 5000, 5000, 1000, 9000]
    assert np.concatenate([batch.ts for batch in trace.batches()]).dtype == np.int64


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (b"[]", True),
        (b"{}", True),
        (b" \n[ {", True),
        (b'\xef\xbb\xbf[{"pid":1,"ph":"X","ts":1}]', True),
        (b'{"foo":1,"traceEvents":[{', True),
        (b'{"displayTimeUnit":"ns"', True),
        (b'[{"name":"Alice and Bob and others with a long list of names and no phase"}]', False),
        (b'{"type":"preamble","version":2}', False),
        (b'\x1e{"type":"preamble","version":2}\n', False),
        (b'{"clock":{}}', False),
        (b"[1,2]", False),
        (b"", False),
        (b"\x1f\x8b", False),
    ],
)
def test_sniffing(head: bytes, known: bool) -> None:
    assert FORMAT.sniff(head) is known


@pytest.mark.parametrize(
    "header",
    [
        '{"clock":{"ticks_per_second":"1e99999999"}}',
        '{"clock":{"ticks_per_second":1e999}}',
        '{"clock":{"ticks_per_second":"%s"}}' % ("9" * 400),
        '{"clock":{"ticks_per_second":"0","epoch_ns":%s}}' % ("9" * 400),
        '{"clock":{"ticks_per_second":"1000000000"},"offset":1e999}',
    ],
)
def test_nonsense_in_the_header_is_left_alone(header: str) -> None:
    trace = load(f'{{"traceconv":{header},"traceEvents":[{json.dumps(event(ts=5))}]}}')
    assert trace.clock.ticks_per_second == 10**9
    assert trace.clock.epoch_ns is None
    assert [batch.ts.tolist() for batch in trace.batches()] == [[5000]]


@pytest.mark.parametrize(
    ("declared", "is_believed"),
    [
        ({"array": "u64", "length": 2}, True),
        ({"array": "u64", "length": 3}, False),
        ({"array": "u64", "length": -1}, False),
        ({"array": "u64", "length": "2"}, False),
        ({"array": "u65"}, False),
        ({"array": {"integer": "u64", "labels": [["x", 1, "a"]]}}, False),
        ({"array": {"integer": "u64", "labels": [[1, 1, "\ud800"]]}}, False),
        ({"array": {"integer": "u64", "labels": [[1 << 80, 1 << 80, "a"]]}}, False),
    ],
)
def test_declarations_of_types_that_make_no_sense(declared: Any, is_believed: bool) -> None:
    """They are refused, or the values are of the types that their text tells."""
    one = event(args={"v": [1, 2]}, arg_types=[declared])
    try:
        trace = load({"traceconv": {"version": 1}, "traceEvents": [one]})
    except TraceError as error:
        assert error.field == "args.v"  # noqa: PT017 - either is right
        assert not is_believed
        return
    check(trace)
    (held,) = (field.type for field in trace.event_classes[0].fields if field.name == "v")
    assert isinstance(held, ArrayClass)
    assert (held.length == 2) is is_believed
    dump(trace)


def test_a_rate_that_only_zero_times_have_a_place_in() -> None:
    rate = f"1/{10**18}"
    text = f'{{"traceconv":{{"clock":{{"ticks_per_second":"{rate}"}}}},"traceEvents":[%s]}}'
    trace = load(text % json.dumps(event(ts=0)))
    assert trace.clock.ticks_per_second == Fraction(1, 10**18)
    assert [one["ts"] for one in written(trace)] == [0]


def test_an_environment_that_is_no_text_is_a_member_like_any_other() -> None:
    trace = load('{"environment":{"a":"\\ud800"},"traceEvents":[]}')
    assert trace.environment == {}
    assert trace.sidecar["chrome"]["members"] == {"environment": {"a": "\ud800"}}


@pytest.mark.parametrize("member", ["pid", "tid"])
def test_identities_are_text_without_lone_surrogates(member: str) -> None:
    trace = load([event(**{member: "\ud800"})])
    names = [*trace.processes, *trace.threads]
    assert "\\ud800" in [one.name for one in names]


@pytest.mark.parametrize(
    "text",
    [
        '{"ph":"M","name":"m","args":{"a":%s}}',
        '{"ph":"i","ts":1,"args":{' + "".join(f'"k{i}":1,' for i in range(9000)) + '"a":%s}}',
    ],
    ids=["metadata", "many arguments"],
)
def test_objects_that_are_nested_too_deeply_as_text_are_damage(text: str) -> None:
    # Each argument on its own is not too deep.
    trace = load(f"[{json.dumps(event())},{text % ('[' * 512 + ']' * 512)}]")
    assert sum(len(batch) for batch in trace.batches()) == 1
    assert trace.warnings


@pytest.mark.parametrize("hole", ["\0" * 300, '","args":{"x', "rubbish", '"', "}}]],"])
def test_events_go_on_behind_a_hole(hole: str) -> None:
    one = json.dumps(event())
    text = f"[{one},{one},{one[:9]}"
    trace = load(f"{text}{hole}{one[20:]},{one},{one}]")
    assert sum(len(batch) for batch in trace.batches()) >= 4
    assert trace.warnings
    assert all(warning.offset is not None for warning in trace.warnings)


def test_events_go_on_behind_a_window_of_damage() -> None:
    one = json.dumps(event())
    # Not at an object that is none.
    damage = f'{"x" * (5 << 20)} {{"ph":"i",:}}'
    trace = load(f"[{one},{damage},{one},{one}]")
    assert sum(len(batch) for batch in trace.batches()) == 3
    first, second = trace.warnings
    assert (first.offset, second.offset) == (len(one) + 2, len(one) + len(damage) + 3)


def test_more_events_in_the_first_look_than_a_batch_has() -> None:
    count = 100_000
    trace = load("[" + ",".join(['{"a":1}'] * count) + "]")
    assert sum(len(batch) for batch in trace.batches()) == count


def test_many_declarations_of_types_do_not_make_many_classes() -> None:
    count = 70_000
    one = '{"ph":"i","ts":1,"pid":1,"tid":1,"arg_types":%d}'
    trace = load("[" + ",".join(one % i for i in range(count)) + "]")
    batches = [*trace.batches()]
    assert sum(map(len, batches)) == count
    assert trace.event_classes[batches[-1].class_id[-1]].kind is Kind.NATIVE


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_text_that_is_not_utf_8_is_named_so(encoding: str) -> None:
    data = '{"traceEvents":[{"ph":"X","ts":1,"dur":1}]}'.encode(encoding)
    with pytest.raises(TraceError, match="UTF-16 or UTF-32"):
        FORMAT.reader()(open_source(data))


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        ("-1", '"u64"'),
        ("9223372036854775808", '"i64"'),
        ("[1,2]", '{"array":"u64","length":3}'),
        ('{"a":[-1]}', '{"structure":[["a",{"array":"u64"}]]}'),
    ],
)
def test_arguments_that_are_not_what_is_declared_are_read_as_found(
    value: str, declared: str
) -> None:
    one = '{"ph":"i","name":"a","ts":1,"pid":1,"tid":1,"args":{"x":%s},"arg_types":[%s]}'
    plain = collect(load(f'{{"traceEvents":[{one % (value, "null")}]}}'))
    check(plain)
    trace = collect(load(f'{{"traceEvents":[{one % (value, declared)}]}}'))
    check(trace)
    assert difference(plain, trace) is None
    assert [(warning.field, warning.message[:8]) for warning in trace.warnings] == [
        ("arg_types", "1 events")
    ]


@pytest.mark.parametrize(
    ("value", "declared"),
    [("[[1,2],[3]]", '{"array":{"array":"u64","length":2}}'), ('"a"', '"bytes"')],
)
def test_arguments_that_take_long_are_looked_at_when_they_are_asked_for(
    value: str, declared: str
) -> None:
    one = f'{{"ph":"i","name":"a","ts":1,"pid":1,"tid":1,"args":{{"x":{value}}},"arg_types":[%s]}}'
    check(collect(load(f'{{"traceEvents":[{one % "null"}]}}')))
    with pytest.raises(TraceError, match="what arg_types declares"):
        collect(load(f'{{"traceEvents":[{one % declared}]}}'))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_events_beside_those_that_contradict_are_what_they_declare(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are in a batch, and of how many shapes."""
    monkeypatch.setattr(reader, "BATCH_SIZE", size)
    one = '{"ph":"i","name":"a","ts":%d,"pid":1,"tid":1,"args":{%s"x":%d},"arg_types":[%s"u64"]}'
    values = [7, -256, -1, 8, 9, -300, 255, 0, -999]
    lines = [
        one % (ts, '"w":"",' * (ts % 2), value, '"string",' * (ts % 2))
        for ts, value in enumerate(values)
    ]
    trace = collect(load(f'{{"traceEvents":[{",".join(lines)}]}}'))
    check(trace)
    found = [
        (type_form(fields[-1].type), held["x"])
        for batch in trace.batches()
        for i, id in enumerate(batch.class_id.tolist())
        if (fields := trace.event_classes[id].fields) and (held := fields_at(trace, batch, i))
    ]
    assert found == [("u64" if value >= 0 else "i64", value) for value in values]
    assert [warning.message[:8] for warning in trace.warnings] == ["4 events"]


def test_declared_types_are_those_of_each_event() -> None:
    """Whatever events with arguments of the same shape declare, in front of theirs or behind."""
    # What is declared, and what is found: where that is no declaration of the argument, JSON's own integers.
    declared = {
        '["u64"]': "u64",
        '["f64"]': "f64",
        '[ "u64" ]': "u64",
        '["u64","u64"]': "i64",
        '"u64"': "i64",
        "8": "i64",
        "88": "i64",
        "[]": "i64",
        '["f64"\t]': "f64",
    }
    for behind in (True, False):
        order = [*declared, *reversed(declared), *declared]
        parts = ('"args":{"v":7}', '"arg_types":%s')
        line = (
            '{"ph":"i","ts":1,"pid":1,"tid":1,' + ",".join(parts if behind else parts[::-1]) + "}"
        )
        trace = load("[" + ",".join(line % form for form in order) + "]")
        (batch,) = trace.batches()
        found = []
        for class_id in batch.class_id.tolist():
            (of,) = (one.type for one in trace.event_classes[class_id].fields if one.name == "v")
            found.append(type_form(of))
        assert found == [declared[form] for form in order]
