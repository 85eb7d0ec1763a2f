"""Fragments and sequences that CTF 2 does not allow, cut files and hostile metadata."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from support.ctf2_fragments import (
    CLOCK,
    PREAMBLE,
    STREAM,
    U8,
    VARIANT,
    Json,
    at,
    event,
    sequence,
    structure,
)

from converter.errors import TraceError
from converter.formats.ctf.metadata_files import parse_metadata

# What is refused

MAGIC: Json = {**U8, "length": 32, "roles": ["packet-magic-number"]}

#: By name: the fragments, the number of the wrong one and the place in it, and what the error says.
REFUSED: dict[str, tuple[tuple[Json, ...], str, str]] = {
    "two preambles": ((PREAMBLE, PREAMBLE), "fragment 1", "two preambles"),
    "no version": (({"type": "preamble"},), "fragment 0.version", "expected 2"),
    "another version": (({**PREAMBLE, "version": 3},), "fragment 0.version", "found 3"),
    "true as the version": (({**PREAMBLE, "version": True},), "fragment 0.version", "found True"),
    "half a UUID": (({**PREAMBLE, "uuid": [1] * 8},), "fragment 0.uuid", "16 bytes"),
    "a UUID of words": (({**PREAMBLE, "uuid": [256] * 16},), "fragment 0.uuid", "16 bytes"),
    "extensions that are needed": (
        ({**PREAMBLE, "extensions": {"my.tracer": {"compressed": True}}},),
        "fragment 0.extensions",
        "extensions that are not known",
    ),
    "unknown fragment": (({"type": "comment"},), "fragment 1.type", "found comment"),
    "fragment without a type": (({},), "fragment 1.type", "a string"),
    "two traces": (({"type": "trace-class"},) * 2, "fragment 2", "two trace classes"),
    "a late trace": ((STREAM, {"type": "trace-class"}), "fragment 2", "behind a data stream"),
    "an environment of floats": (
        ({"type": "trace-class", "environment": {"a": 1.5}},),
        "fragment 1.environment.a",
        "a string or an integer",
    ),
    "a header that is no structure": (
        ({"type": "trace-class", "packet-header-field-class": U8},),
        "fragment 1.packet-header-field-class",
        "expected a structure",
    ),
    "a UUID of 15 bytes": (
        (
            {
                "type": "trace-class",
                "packet-header-field-class": structure(
                    u={
                        "type": "static-length-blob",
                        "length": 15,
                        "roles": ["metadata-stream-uuid"],
                    }
                ),
            },
        ),
        "fragment 1.packet-header-field-class.member-classes[0].field-class.length",
        "16 bytes",
    ),
    "a clock without an id": (({"type": "clock-class"},), "fragment 1.id", "a string"),
    "a clock that stands": (({**CLOCK, "frequency": 0},), "fragment 1.frequency", "from 1"),
    "two clocks": ((CLOCK, CLOCK), "fragment 2.id", "two clock classes 'c'"),
    "more cycles than a second has": (
        ({**CLOCK, "offset-from-origin": {"cycles": 10}},),
        "fragment 1.offset-from-origin.cycles",
        "less than the frequency",
    ),
    "an unknown origin": (({**CLOCK, "origin": "noon"},), "fragment 1.origin", "an object"),
    "an origin without a uid": (
        ({**CLOCK, "origin": {"name": "a"}},),
        "fragment 1.origin.uid",
        "a string",
    ),
    "negative precision": (({**CLOCK, "precision": -1},), "fragment 1.precision", "from 0"),
    "a stream of no clock": (
        ({**STREAM, "default-clock-class-id": "x"},),
        "fragment 1.default-clock-class-id",
        "there is no clock class 'x'",
    ),
    "two streams": ((STREAM, STREAM), "fragment 2.id", "two data stream classes 0"),
    "a namespace that is a number": (
        ({**STREAM, "namespace": 1},),
        "fragment 1.namespace",
        "a string",
    ),
    "a list as a uid": ((STREAM, {**event(), "uid": ["x"]}), "fragment 2.uid", "a string"),
    "a negative id": (({**STREAM, "id": -1},), "fragment 1.id", "from 0"),
    "a record of no stream": (
        (STREAM, {"type": "event-record-class", "data-stream-class-id": 3}),
        "fragment 2.data-stream-class-id",
        "there is no data stream class 3",
    ),
    "two records": ((STREAM, event(), event()), "fragment 3.id", "two event record classes 0"),
    "two aliases": (
        ({"type": "field-class-alias", "name": "a", "field-class": U8},) * 2,
        "fragment 2.name",
        "already defined",
    ),
    "a damaged alias": (
        (
            {
                "type": "field-class-alias",
                "name": "a",
                "field-class": structure(b={**U8, "length": 0}),
            },
        ),
        "fragment 1.field-class.member-classes[0].field-class.length",
        "found 0",
    ),
    "a property that nobody knows": (
        ({**STREAM, "colour": "red"},),
        "fragment 1.colour",
        "there is no such property",
    ),
    "attributes that are no object": (
        ({**STREAM, "attributes": [1]},),
        "fragment 1.attributes",
        "expected an object, found a list",
    ),
    "nothing as a name": (({**STREAM, "name": None},), "fragment 1.name", "found null"),
    "extensions of a record": (
        (STREAM, {**event(), "extensions": {"my.tracer": {"compressed": {}}}}),
        "fragment 2.extensions",
        "extensions that are not known",
    ),
    "more of an offset": (
        ({**CLOCK, "offset-from-origin": {"ms": 1}},),
        "fragment 1.offset-from-origin.ms",
        "there is no such property",
    ),
    "more of an origin": (
        ({**CLOCK, "origin": {"name": "a", "uid": "b", "c": "d"}},),
        "fragment 1.origin.c",
        "there is no such property",
    ),
    "a version that is no integer": (
        ({**PREAMBLE, "version": 2.0},),
        "fragment 0.version",
        "found 2.0",
    ),
    "truth in a UUID": (({**PREAMBLE, "uuid": [True] * 16},), "fragment 0.uuid", "16 bytes"),
    "a UUID that the metadata do not have": (
        (
            {
                "type": "trace-class",
                "packet-header-field-class": structure(
                    u={
                        "type": "static-length-blob",
                        "length": 16,
                        "roles": ["metadata-stream-uuid"],
                    }
                ),
            },
        ),
        "fragment 1.packet-header-field-class",
        "the metadata have none",
    ),
    "times without a clock": (
        (
            {
                **STREAM,
                "packet-context-field-class": structure(
                    t={**U8, "roles": ["packet-end-default-clock-timestamp"]}
                ),
            },
        ),
        "fragment 1",
        "no default clock class",
    ),
    "a role in another's place": (
        ({**STREAM, "packet-context-field-class": structure(m=MAGIC)},),
        "fragment 1.packet-context-field-class",
        "the role packet-magic-number has no place here",
    ),
    "a role in a payload": (
        (STREAM, event(a=structure(b={**U8, "roles": ["packet-total-length"]}))),
        "fragment 2.payload-field-class",
        "the role packet-total-length has no place here",
    ),
    "a late magic number": (
        ({"type": "trace-class", "packet-header-field-class": structure(a=U8, m=MAGIC)},),
        "fragment 1.packet-header-field-class",
        "the magic number is not the first field",
    ),
    "a short magic number": (
        (
            {
                "type": "trace-class",
                "packet-header-field-class": structure(m={**MAGIC, "length": 16}),
            },
        ),
        "fragment 1.packet-header-field-class",
        "the magic number is not the first field",
    ),
    "two streams without ids in packets": (
        (STREAM, {**STREAM, "id": 1}),
        "fragment 2",
        "packets do not say of which of several classes they are",
    ),
    "two records without ids": (
        (STREAM, event(a=U8), {**event(a=U8), "id": 1}),
        "fragment 3",
        "records do not say of which of several classes they are",
    ),
    "an alias of itself": (
        ({"type": "field-class-alias", "name": "a", "field-class": "a"},),
        "fragment 1.field-class",
        "there is no field class alias 'a'",
    ),
    "an alias before it is there": (
        ({"type": "field-class-alias", "name": "a", "field-class": structure(b="c")},),
        "fragment 1.field-class.member-classes[0].field-class",
        "there is no field class alias 'c'",
    ),
}


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
