"""The kernel that scans events: what it does in the usual case is what it does in any."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from support.chrome.files import events, load

from converter.formats.chrome.json.scan import EventScanner
from converter.formats.chrome.mapping import PHASE_TABLE
from converter.kernels.tables.strings import StringTable

numbers = st.from_regex(r"0{0,2}[0-9]{1,20}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


def scanned(text: str, digits: int) -> tuple[object, ...]:
    """Times of the events of a text, by one scanner, and what it has seen of them."""
    strings, names, shapes, keys, threads = (StringTable() for _ in range(5))
    scanner = EventScanner(strings, names, shapes, keys, threads, PHASE_TABLE, digits)
    data = text.encode()
    at, status = scanner.scan(data, 0, len(data))
    ts = scanner.take()[0].tolist()
    return ts, len(data) - at, status, scanner.rounded, scanner.places, scanner.largest


@given(numbers, st.integers(0, 9))
def test_times_are_the_same_with_and_without_quotes(number: str, digits: int) -> None:
    plain = scanned(f'{{"ph":"i","name":"a","ts":{number}}}', digits)
    assert plain == scanned(f'{{"ph":"i","name":"a","ts":"{number}"}}', digits)


@given(numbers)
def test_a_time_may_go_on_behind_the_window(number: str) -> None:
    whole = f'{{"ph":"i","name":"a","ts":{number}'
    assert scanned(whole, 3) == ([], len(whole), 0, 0, 0, 0)


@given(st.lists(st.text(st.sampled_from('ab"\\\n\u00e9'), max_size=20), max_size=8))
def test_texts_end_at_their_quote(names: list[str]) -> None:
    lines = [{"ph": "i", "name": name, "ts": 1, "args": {name: name}} for name in names]
    found = events(load(json.dumps(lines, ensure_ascii=False)))
    assert [fields["name"] for _, _, fields in found] == [name.encode() for name in names]


def test_texts_that_differ_only_in_the_middle_are_told_apart() -> None:
    names = [f"beginning{number:05}and an end" for number in range(1000)] * 2
    tasks = [(f"{pid}", f"{tid}") for pid in range(3) for tid in (7, 12345678901234567890, 8)]
    lines = [
        f'{{"ph":"i","name":"{name}","cat":"{names[-1 - i]}","ts":{i},'
        f'"pid":{tasks[i % 9][0]},"tid":{tasks[i % 9][1]}}}'
        for i, name in enumerate(names)
    ]
    trace = load(f"[{','.join(lines)}]")
    found = events(trace)
    assert [fields["name"].decode() for _, _, fields in found] == names
    assert [fields["category"].decode() for _, _, fields in found] == names[::-1]
    assert len(trace.threads) == len(tasks)
