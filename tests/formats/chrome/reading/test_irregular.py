"""Events as recorders write them that print JSON by hand: a member of an unusual type, or said twice, and values that
are no JSON cost what they say, never the event. What is expected is what trace_processor v52 shows.
"""

from __future__ import annotations

import json
import math

import pytest
from support.chrome.files import dump, events, load, written

from converter.ir.canonical import difference


def one(text: str = "") -> str:
    """An event with further members."""
    return f'{{"ph":"X","ts":1,"dur":5,"name":"a","cat":"c","pid":1,"tid":2{text}}}'


def with_argument(text: str) -> str:
    """An event with an argument and one after it."""
    return one(f',"args":{{"k":{text},"z":2}}')


def read_back(text: str) -> dict[str, object]:
    """The event as it is written; what is written is read as the same."""
    trace = load(f"[{one(text)}]")
    assert trace.warnings == []
    data = dump(trace)
    assert difference(trace, load(data), sidecar=True) is None
    (found,) = json.loads(data)["traceEvents"]
    assert found["ph"] == "X"
    return {key: value for key, value in found.items() if key not in ("ph", "ts")}


BASE = {"name": "a", "cat": "c", "dur": 5, "pid": 1, "tid": 2}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        *((f',"{name}":null', {}) for name in ("id", "bind_id", "s", "cname2", "args", "cpu")),
        (',"name":null', {"name": ""}),
        (',"cat":null', {"cat": None}),
        # As for importers, what was said before counts, but for names and categories.
        (',"pid":null', {}),
        (',"tid":null', {}),
        # Kept, and without a meaning.
        (',"name":42', {"name": 42}),
        (',"cat":7', {"cat": 7}),
        (',"cat":[1, {"a": true}]', {"cat": [1, {"a": True}]}),
        (',"s":5', {"s": 5}),
        (',"id":1.5', {"id": 1.5}),
        (',"id2":[]', {"id2": []}),
        (',"flow_in":1,"bind_id":3', {"flow_in": 1, "bind_id": 3}),
        (',"cpu":"x"', {"cpu": "x"}),
        (',"args":5', {"args": 5}),
        # The last counts.
        (',"name":7,"name":"b"', {"name": "b"}),
        (',"name":"b","cat":"d"', {"name": "b", "cat": "d"}),
        (',"dur":"3"', {"dur": 3}),
        (',"tid":3,"tid":4', {"tid": 4}),
        (',"args":{"k":[1]},"args":{"j":2}', {"args": {"j": 2}}),
        (',"args":{"k":1},"args":null', {"args": {"k": 1}}),
        (',"id":1,"id":"0x2"', {"id": "0x2"}),
        (',"id2":{"local":"0x2"},"id":3', {"id": 3, "id2": {"local": "0x2"}}),
        (',"id":3,"id2":{"local":"0x2"}', {"id": 3, "id2": {"local": "0x2"}}),
        (',"id2":{"local":"0x2"},"id":null', {"id2": {"local": "0x2"}}),
    ],
)
def test_a_member_of_another_type_or_said_again(text: str, changed: dict[str, object]) -> None:
    expected = BASE | changed
    found = read_back(text)
    found.setdefault("cat", None)
    found.pop("cname2", None)
    assert found == expected


def test_what_is_kept_has_no_meaning() -> None:
    trace = load("[" + one(',"name":42,"cat":7,"tid":true') + "]")
    ((_, _, fields),) = events(trace)
    assert (fields["name"], fields["category"]) == (b"", b"")
    assert json.loads(fields["members"]) == {"name": 42, "cat": 7, "tid": True}
    # What names a thread otherwise is there beside what is kept.
    assert [thread.tid for thread in trace.threads] == [2]
    trace = load('[{"ph":"X","ts":1,"dur":1,"pid":5,"tid":true,"name":"a"}]')
    for again in (trace, load(dump(trace))):
        assert [(thread.tid, len(again.processes)) for thread in again.threads] == [(5, 1)]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(
            (word, math.inf)
            for word in ("inf", "Inf", "INF", "+inf", "Infinity", "1.#INF", "1.#INF00")
        ),
        *((word, -math.inf) for word in ("-inf", "-Infinity", "-1.#INF")),
        *((word, math.nan) for word in ("nan", "NaN", "-nan", "-nan(ind)", "NAN", "nan(0x8)")),
        *((word, math.nan) for word in ("-1.#IND", "1.#QNAN", "1.#SNAN0")),
        *((word, word.encode()) for word in ("True", "None", "undefined", "nullx", "0x1F", ".5")),
        *((word, word.encode()) for word in ("5.", "+5", "1e", "-", "12abc", "infx", "x" * 64)),
    ],
)
def test_a_bare_word_is_a_value(word: str, value: object) -> None:
    for text in (f"{word}", f" {word}\n", f"[{word}, {word}]", f'{{"a":{word}}}'):
        ((_, _, fields),) = events(load(f"[{with_argument(text)}]"))
        found = fields["args.k"] if "args.k" in fields else fields["k"]
        while isinstance(found, list):
            found = found[0][1] if isinstance(found[0], tuple) else found[0]
        assert found == value or (value != value and found != found)
        assert fields["z"] == 2
    # In members that are no arguments, and around the events, it is text.
    kept = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, word)  # type: ignore[call-overload]
    kept = "NaN" if value != value else kept
    (back,) = written(load("[" + one(f',"x":[{word}]') + "]"))
    assert back["x"] == [kept]
    document = load(f'{{"otherData":{{"k":{word}}},"traceEvents":[{one()}]}}')
    assert document.sidecar["chrome"]["members"]["otherData"] == {"k": kept}


@pytest.mark.parametrize("word", ["x" * 65, "a b", "nul!", "'a'", "{]", "5 6"])
def test_other_text_is_damage(word: str) -> None:
    trace = load(f"[{with_argument(word)},{one()}]")
    assert [fields["name"] for _, _, fields in events(trace)] == [b"a"]
    assert trace.warnings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"torch\cuda\__init__.py", r"torch\cuda\__init__.py"),
        (r"\u00e9\x41\n", "é\\x41\n"),
        (r"a\u12", r"a\u12"),
        (r"\u12zz\\", "\\u12zz\\"),
        (r"\ud83d\q\u00e9", "\ufffd\\qé"),
        (r"\U0001f600", r"\U0001f600"),
    ],
)
def test_a_backslash_that_begins_no_escape_is_one(text: str, value: str) -> None:
    found = read_back(f',"name":"{text}","args":{{"{text}":"{text}"}},"x":"{text}","y{text}":1')
    assert (found["name"], found["args"]) == (value, {value: value})
    assert f"y{value}" in json.loads(json.dumps(found).replace("\\ud83d", "\\ufffd"))
    document = load(f'{{"otherData":["{text}"],"traceEvents":[{one()}]}}')
    (other,) = document.sidecar["chrome"]["members"]["otherData"]
    assert other.replace("\ud83d", "\ufffd") == value


@pytest.mark.parametrize("text", ["{}", " { } ", "{},{}", "{\n}"])
def test_an_object_without_members_is_no_event(text: str) -> None:
    # The lists of TensorFlow and JAX end with one.
    for document in (f"[{one()},{text}]", f"[{text},{one()}", f"[{one()},{text}"):
        assert [kind for kind, _, _ in events(load(document))] == ["SLICE_COMPLETE"]
    assert events(load(f"[{text}]")) == []


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ('"pid":5,"args":{"name":"a"},"args":null', "a"),
        ('"pid":5,"args":{"name":"a"},"args":[1]', "a"),
        ('"pid":5,"args":null,"args":{"name":"b"}', "b"),
        ('"pid":5,"args":{"name":"a"},"args":{"name":"b"}', "b"),
        ('"pid":5,"args":{"name":"a","name":null}', "a"),
        ('"pid":5,"args":{"name":"a","name":""}', "a"),
        ('"pid":5,"args":{"name":"a","name":"b"}', "b"),
        ('"pid":5,"pid":null,"args":{"name":"a"}', "a"),
        ('"pid":5,"pid":true,"args":{"name":"a"}', "a"),
        ('"pid":7,"pid":5,"args":{"name":"a"}', "a"),
        ('"pid":5,"name":null,"args":{"name":"a"}', ""),
    ],
)
def test_of_repeated_members_of_metadata_events_those_of_their_type_count(
    members: str, name: str
) -> None:
    event = f'{{"ph":"M","name":"process_name",{members}}}'
    trace = load(f"[{event},{one()}]")
    events(trace)
    assert {process.name for process in trace.processes if process.pid == 5} <= {name}
    kept = trace.sidecar["chrome"]["metadata"]
    assert [json.loads(text)["name"] for text in kept] == [json.loads(event)["name"]]


def test_of_a_longer_phase_of_metadata_the_first_letter_counts() -> None:
    trace = load(f'[{{"ph":"Meta","name":"process_name","pid":5,"args":{{"name":"a"}}}},{one()}]')
    events(trace)
    assert [process.name for process in trace.processes if process.pid == 5] == ["a"]
