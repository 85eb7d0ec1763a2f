"""Fragments and field classes that CTF 2 does not allow, each with one defect."""

from __future__ import annotations

from typing import Any

from support.ctf.ctf2_fragments import (
    CLOCK,
    FLAG,
    PREAMBLE,
    S8,
    STREAM,
    TEXT,
    U8,
    VARIANT,
    Json,
    at,
    event,
    sequence,
    structure,
)

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
    "a late trace": ((STREAM, {"type": "trace-class"}), "fragment 2", "after a data stream"),
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


#: By name: the field class of a record's only field, where in it the defect is, and what the error says.
REFUSED_FIELDS: dict[str, tuple[Any, str, str]] = {
    "a property of another class": (
        {**U8, "encoding": "utf-8"},
        ".encoding",
        "there is no such property",
    ),
    "a role of a signed integer": (
        {**U8, "type": "fixed-length-signed-integer", "roles": ["packet-sequence-number"]},
        ".roles",
        "there is no such property",
    ),
    "a UUID that is a number": ({**U8, "roles": ["metadata-stream-uuid"]}, ".roles", "a role"),
    "a flag behind the last bit": (
        {**U8, "type": "fixed-length-bit-map", "flags": {"a": [[0, 8]]}},
        ".flags.a",
        "[lowest, highest]",
    ),
    "an origin that is a list": (
        {
            "type": "dynamic-length-blob",
            "length-field-location": {"origin": [], "path": ["n"]},
        },
        ".length-field-location.origin",
        "expected a string, found a list",
    ),
    "more of a location": (
        {"type": "dynamic-length-blob", "length-field-location": {**at("n"), "from": "n"}},
        ".length-field-location.from",
        "there is no such property",
    ),
    "options for one value": (
        {
            **VARIANT,
            "options": [
                {"field-class": U8, "selector-field-ranges": [[1, 5]]},
                {"field-class": TEXT, "selector-field-ranges": [[4, 9]]},
            ],
        },
        ".options",
        "a value selects two options",
    ),
    "options of one name": (
        {
            **VARIANT,
            "options": [
                {"name": "a", "field-class": U8, "selector-field-ranges": [[1, 1]]},
                {"name": "a", "field-class": TEXT, "selector-field-ranges": [[2, 2]]},
            ],
        },
        ".options[1].name",
        "two options 'a'",
    ),
    "nothing": (None, "", "expected a value, found null"),
    "a number": (3, "", "expected an object, found 3"),
    "no such alias": ("u8", "", "there is no field class alias 'u8'"),
    "no type": ({}, ".type", "expected a string, found nothing"),
    "unknown type": ({"type": "integer"}, ".type", "expected a field class, found integer"),
    "no length": ({**U8, "length": None}, ".length", "found null"),
    "no bits": ({**U8, "length": 0}, ".length", "an integer from 1 to 64"),
    "too many bits": ({**U8, "length": 65}, ".length", "an integer from 1 to 64"),
    "half a bit": ({**U8, "length": 0.5}, ".length", "found 0.5"),
    "true bits": ({**U8, "length": True}, ".length", "found True"),
    "a length in words": ({**U8, "length": "8"}, ".length", "found 8"),
    "no byte order": ({"type": "fixed-length-boolean", "length": 1}, ".byte-order", "a string"),
    "other byte order": ({**U8, "byte-order": "middle"}, ".byte-order", "found middle"),
    "other bit order": ({**U8, "bit-order": "up"}, ".bit-order", "expected a bit order"),
    "alignment of 3": ({**U8, "alignment": 3}, ".alignment", "a power of two"),
    "alignment of 0": ({**U8, "alignment": 0}, ".alignment", "an integer from 1"),
    "base 7": ({**U8, "preferred-display-base": 7}, ".preferred-display-base", "2, 8, 10 or 16"),
    "unknown role": ({**U8, "roles": ["king"]}, ".roles", "expected a role, found king"),
    "roles as an object": ({**U8, "roles": {}}, ".roles", "expected a list"),
    "mappings as a list": ({**U8, "mappings": []}, ".mappings", "expected an object"),
    "a mapping of nothing": ({**U8, "mappings": {"a": []}}, ".mappings.a", "a list of ranges"),
    "a range backwards": ({**U8, "mappings": {"a": [[2, 1]]}}, ".mappings.a", "found [2, 1]"),
    "a range of one": ({**U8, "mappings": {"a": [[2]]}}, ".mappings.a", "[lowest, highest]"),
    "a negative range": ({**U8, "mappings": {"a": [[-1, 1]]}}, ".mappings.a", "found [-1, 1]"),
    "a range of 65 bits": ({**U8, "mappings": {"a": [[0, 1 << 64]]}}, ".mappings.a", "found"),
    "a map without flags": (
        {**U8, "type": "fixed-length-bit-map"},
        ".flags",
        "expected at least one flag",
    ),
    "number of 24 bits": (
        {**U8, "type": "fixed-length-floating-point-number", "length": 24},
        ".length",
        "16, 32, 64 or 128 bits",
    ),
    "unknown encoding": ({**TEXT, "encoding": "latin-1"}, ".encoding", "found latin-1"),
    "negative length": ({"type": "static-length-string", "length": -1}, ".length", "found -1"),
    "huge length": ({"type": "static-length-blob", "length": 1 << 31}, ".length", "from 0 to"),
    "no location": ({"type": "dynamic-length-blob"}, ".length-field-location", "an object"),
    "no path": (
        {"type": "dynamic-length-blob", "length-field-location": {}},
        ".length-field-location.path",
        "a path of names",
    ),
    "path to a structure": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", None)},
        ".length-field-location.path",
        "a path of names",
    ),
    "path of numbers": (
        {"type": "dynamic-length-blob", "length-field-location": {"path": [1]}},
        ".length-field-location.path",
        "a path of names",
    ),
    "unknown origin": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", origin="moon")},
        ".length-field-location.origin",
        "expected an origin, found moon",
    ),
    "field of no scope": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", origin="packet-header")},
        ".length-field-location",
        "there is no field before this",
    ),
    "field of no name": (
        {"type": "dynamic-length-blob", "length-field-location": at("m")},
        ".length-field-location",
        "there is no field before this: found ['m']",
    ),
    "field outside the root": (
        {"type": "dynamic-length-blob", "length-field-location": at(None, None, "n")},
        ".length-field-location.path",
        "out of the outermost structure",
    ),
    "field in an integer": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", "m")},
        ".length-field-location",
        "there is no field before this",
    ),
    "signed length": (
        {"type": "dynamic-length-string", "length-field-location": at("signed")},
        ".length-field-location",
        "a length must be an unsigned integer",
    ),
    "length of text": (
        {
            "type": "dynamic-length-array",
            "length-field-location": at("text"),
            "element-field-class": U8,
        },
        ".length-field-location",
        "a length must be an unsigned integer",
    ),
    "array of nothing": (
        {"type": "static-length-array", "length": 1},
        ".element-field-class",
        "expected an object",
    ),
    "members by name": (
        {"type": "structure", "member-classes": {"a": U8}},
        ".member-classes",
        "expected a list",
    ),
    "a member without a name": (
        {"type": "structure", "member-classes": [{"field-class": U8}]},
        ".member-classes[0].name",
        "expected a string",
    ),
    "a member without a class": (
        {"type": "structure", "member-classes": [{"name": "a"}]},
        ".member-classes[0].field-class",
        "expected an object",
    ),
    "two members of a name": (
        {
            "type": "structure",
            "member-classes": [{"name": "a", "field-class": U8}, {"name": "a", "field-class": U8}],
        },
        ".member-classes[1].name",
        "there are two members 'a'",
    ),
    "no options": (
        {"type": "variant", "selector-field-location": at("n"), "options": []},
        ".options",
        "expected at least one option",
    ),
    "an option that nothing selects": (
        {
            "type": "variant",
            "selector-field-location": at("n"),
            "options": [{"field-class": U8}],
        },
        ".options[0].selector-field-ranges",
        "expected a list of ranges",
    ),
    "a selector of text": (
        {
            "type": "variant",
            "selector-field-location": at("text"),
            "options": [{"field-class": U8, "selector-field-ranges": [[0, 0]]}],
        },
        ".selector-field-location",
        "a variant's selector must be an integer",
    ),
    "ranges of a boolean": (
        {
            "type": "optional",
            "selector-field-location": at("flag"),
            "selector-field-ranges": [[1, 1]],
            "field-class": U8,
        },
        ".selector-field-ranges",
        "only integers have ranges",
    ),
    "an integer without ranges": (
        {"type": "optional", "selector-field-location": at("n"), "field-class": U8},
        ".selector-field-location",
        "a selector without ranges must be a boolean",
    ),
}


def with_field(held: Any) -> bytes:
    """Metadata of a record with this field, and others beside it that its locations may lead to."""
    context = structure(n=U8, signed=S8, text=TEXT, flag=FLAG)
    record = {**event(x=_in_context(held)), "specific-context-field-class": context}
    return sequence(STREAM, record)


def _in_context(held: Any) -> Any:
    """The same with those locations from the specific context on whose first name is of a field there."""
    if isinstance(held, list):
        return [_in_context(each) for each in held]
    if not isinstance(held, dict):
        return held
    path = held.get("path")
    if list(held) == ["path"] and path and path[0] in ("n", "signed", "text", "flag"):
        return {"origin": "event-record-specific-context", "path": path}
    return {name: _in_context(each) for name, each in held.items()}
