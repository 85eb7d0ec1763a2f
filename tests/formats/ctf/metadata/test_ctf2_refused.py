"""Fragments and sequences that CTF 2 does not allow, cut files and hostile metadata."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from support.ctf.ctf2_fragments import (
    CLOCK,
    STREAM,
    U8,
    VARIANT,
    Json,
    at,
    event,
    sequence,
    structure,
)
from support.ctf.ctf2_refused import REFUSED

from converter.errors import TraceError
from converter.formats.ctf.metadata.files import parse_metadata

# What is refused


@pytest.mark.parametrize("name", REFUSED)
def test_defects_of_fragments(name: str) -> None:
    fragments, place, text = REFUSED[name]
    with pytest.raises(TraceError) as caught:
        parse_metadata(sequence(*fragments))
    error = caught.value
    assert error.field == f"metadata.{place}"
    line = 1 + int(place.split()[1].split(".")[0])
    assert text in str(error) and f"line {line}, column 2" in str(error)


@pytest.mark.parametrize(
    ("data", "place", "text"),
    [
        (b"\x1e{}", "line 1, column 2", "expected a string"),
        (b'\x1e{"type": "trace-class"}', "line 1, column 2", "expected preamble"),
        (b"\x1e[]", "line 1, column 2", "expected an object, found a list"),
        (b'\x1e{"type": "preamble",}', "line 1, column", "no JSON"),
        (b'\x1e{"type": "preamble"', "line 1, column", "no JSON"),
        (sequence() + b"\x1e\n{'", "line 3, column 2", "no JSON"),
        (sequence(), "line 2, column 1", "there is no data stream class"),
        (b"\x1e" + b"[" * 100_000, "line 1, column 2", "no JSON"),
        (b'\x1e{"a": ' + b"9" * 10_000 + b"}", "line 1, column 2", "no JSON"),
        (
            b'\x1e{"type": "preamble", "type": "preamble"}',
            "line 1, column 2",
            "'type' is there twice",
        ),
        (b'\x1e{"type": "preamble", "version": NaN}', "line 1, column 2", "NaN is no number"),
    ],
    ids=[
        "no type",
        "no preamble",
        "list",
        "comma",
        "cut",
        "quote",
        "empty",
        "nesting",
        "digits",
        "twice",
        "no number",
    ],
)
def test_what_is_no_sequence(data: bytes, place: str, text: str) -> None:
    with pytest.raises(TraceError) as caught:
        parse_metadata(data)
    assert place in str(caught.value) and text in str(caught.value)


def test_a_cut_file_ends_in_an_error_or_a_trace() -> None:
    data = sequence(CLOCK, STREAM, event(n=U8, x=VARIANT))
    whole = parse_metadata(data)
    for size in range(1, len(data)):
        try:
            trace = parse_metadata(data[:size])
        except TraceError:
            continue
        assert trace.streams[0].events in ({}, whole.streams[0].events)


# Hostile metadata


def _nested(depth: int) -> Json:
    held: Json = U8
    for _ in range(depth):
        held = structure(a=held)
    return held


def _doubled(count: int, *, located: bool = False) -> tuple[Json, ...]:
    """Aliases each of which is twice the one before; the first perhaps depends on its place."""
    names = [f"a{number}" for number in range(count)]
    blob = {"type": "dynamic-length-blob", "length-field-location": at("n")}
    held = structure(n=U8, b=blob) if located else U8
    first: Json = {"type": "field-class-alias", "name": "a0", "field-class": held}
    return (
        first,
        *(
            {
                "type": "field-class-alias",
                "name": after,
                "field-class": structure(x=before, y=before),
            }
            for before, after in pairwise(names)
        ),
    )


@pytest.mark.parametrize(
    "fragments",
    [
        (STREAM, event(x=_nested(60))),
        (STREAM, event(x=_nested(300))),
        (*_doubled(80), STREAM),
        (*_doubled(80, located=True), STREAM),
        (
            *_doubled(12, located=True),
            STREAM,
            *({**event(x="a11"), "id": number} for number in range(20)),
        ),
        (*_doubled(15), STREAM, *({**event(x="a14"), "id": number} for number in range(20))),
        (STREAM, event(**{f"m{number}": U8 for number in range(20_000)})),
    ],
    ids=[
        "nesting",
        "deep nesting",
        "doubling",
        "doubling what has a place",
        "many that have a place",
        "many doubled",
        "members",
    ],
)
def test_hostile_metadata_end_in_an_error_soon(fragments: tuple[Json, ...]) -> None:
    data = sequence(*fragments)
    start = time.process_time()
    with pytest.raises(TraceError):
        parse_metadata(data)
    # What doubles with each level takes years; a busy machine takes a tenth of a second, or one.
    assert time.process_time() - start < 5
