"""Field classes that CTF 2 does not allow: each defect is refused, by its place."""

from __future__ import annotations

from typing import Any

import pytest
from support.ctf2_fragments import (
    FLAG,
    S8,
    STREAM,
    TEXT,
    U8,
    VARIANT,
    at,
    event,
    sequence,
    structure,
)

from converter.errors import TraceError
from converter.formats.ctf.metadata_files import parse_metadata

MEMBER = "fragment 2.payload-field-class.member-classes[0].field-class"
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


@pytest.mark.parametrize("name", REFUSED_FIELDS)
def test_defects_of_field_classes(name: str) -> None:
    held, place, text = REFUSED_FIELDS[name]
    context = structure(n=U8, signed=S8, text=TEXT, flag=FLAG)
    held = _in_context(held)
    record = {**event(x=held), "specific-context-field-class": context}
    with pytest.raises(TraceError) as caught:
        parse_metadata(sequence(STREAM, record))
    error = caught.value
    assert error.field == f"metadata.{MEMBER}{place}"
    assert text in str(error) and "line 3, column 2" in str(error)


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
