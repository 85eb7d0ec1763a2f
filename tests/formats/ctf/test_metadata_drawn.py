"""Metadata of every clause, changed in one place: what is forbidden is refused, and Babeltrace agrees."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from converter.errors import TraceError
from converter.formats.ctf.metadata_files import parse_metadata

Place = tuple[str | int, ...]


def integer(bits: int = 8, **more: Any) -> dict[str, Any]:
    return {
        "type": "fixed-length-unsigned-integer",
        "length": bits,
        "byte-order": "little-endian",
        "alignment": 8,
        **more,
    }


def role(name: str, bits: int = 64) -> dict[str, Any]:
    return integer(bits, roles=[name])


def structure(**members: Any) -> dict[str, Any]:
    return {
        "type": "structure",
        "member-classes": [{"name": name, "field-class": one} for name, one in members.items()],
    }


def by(*path: str | None, **more: Any) -> dict[str, Any]:
    return {"path": list(path), **more}


_NAMES = {"namespace": "n", "name": "x", "uid": "u"}
_BITS = {"length": 8, "byte-order": "little-endian"}
#: Fragments with all properties there are.
FRAGMENTS: list[dict[str, Any]] = [
    {"type": "preamble", "version": 2, "uuid": list(range(16)), "attributes": {"a": {"b": 1}}},
    {
        "type": "field-class-alias",
        "name": "alias",
        "field-class": integer(
            16,
            **{
                "preferred-display-base": 16,
                "mappings": {"one": [[1, 1]], "more": [[2, 5], [7, 9]]},
            },
        ),
    },
    {
        "type": "trace-class",
        **_NAMES,
        "environment": {"host": "h", "n": -3},
        "packet-header-field-class": structure(
            magic=role("packet-magic-number", 32),
            uuid={"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]},
            stream=role("data-stream-class-id", 8),
            instance=role("data-stream-id", 8),
        ),
    },
    {
        "type": "clock-class",
        "id": "c",
        **_NAMES,
        "description": "d",
        "frequency": 1_000_000_000,
        "precision": 5,
        "accuracy": 3,
        "offset-from-origin": {"seconds": -5, "cycles": 10},
        "origin": {"namespace": "n", "name": "boot", "uid": "1"},
    },
    {
        "type": "data-stream-class",
        "id": 3,
        **_NAMES,
        "default-clock-class-id": "c",
        "packet-context-field-class": structure(
            begin=role("default-clock-timestamp"),
            end=role("packet-end-default-clock-timestamp"),
            content=role("packet-content-length"),
            length=role("packet-total-length"),
            number=role("packet-sequence-number"),
            lost=role("discarded-event-record-counter-snapshot"),
        ),
        "event-record-header-field-class": structure(
            id=role("event-record-class-id", 8), time=role("default-clock-timestamp")
        ),
        "event-record-common-context-field-class": structure(c=integer()),
    },
    {
        "type": "event-record-class",
        "id": 1,
        "data-stream-class-id": 3,
        **_NAMES,
        "attributes": {},
        "specific-context-field-class": structure(count=integer()),
        "payload-field-class": structure(
            signed={
                **integer(16, **{"bit-order": "last-to-first", "preferred-display-base": 10}),
                "type": "fixed-length-signed-integer",
                "mappings": {"negative": [[-5, -1]]},
            },
            alias="alias",
            bits={"type": "fixed-length-bit-array", **_BITS},
            map={
                "type": "fixed-length-bit-map",
                **_BITS,
                "flags": {"low": [[0, 1]], "high": [[3, 3]]},
            },
            truth={"type": "fixed-length-boolean", **_BITS},
            real={"type": "fixed-length-floating-point-number", **_BITS, "length": 32},
            var={
                "type": "variable-length-unsigned-integer",
                "preferred-display-base": 8,
                "mappings": {"zero": [[0, 0]]},
            },
            varsigned={"type": "variable-length-signed-integer"},
            text={"type": "null-terminated-string", "encoding": "utf-8"},
            fixedtext={"type": "static-length-string", "length": 2, "encoding": "utf-16le"},
            longtext={
                "type": "dynamic-length-string",
                "encoding": "utf-8",
                "length-field-location": by("count", origin="event-record-specific-context"),
            },
            blob={"type": "static-length-blob", "length": 2, "media-type": "x/y"},
            longblob={"type": "dynamic-length-blob", "length-field-location": by("var")},
            two={
                "type": "static-length-array",
                "length": 2,
                "minimum-alignment": 16,
                "element-field-class": integer(),
            },
            many={
                "type": "dynamic-length-array",
                "length-field-location": by("var"),
                "element-field-class": {
                    **structure(
                        q=integer(),
                        inner={
                            "type": "dynamic-length-array",
                            "length-field-location": by(None, "var"),
                            "element-field-class": integer(),
                        },
                    ),
                    "minimum-alignment": 8,
                },
            },
            maybe={
                "type": "optional",
                "selector-field-location": by("truth"),
                "field-class": integer(),
            },
            ranged={
                "type": "optional",
                "selector-field-location": by("varsigned", origin="event-record-payload"),
                "selector-field-ranges": [[-3, -1], [1, 1]],
                "field-class": integer(),
            },
            either={
                "type": "variant",
                "selector-field-location": by("var"),
                "options": [
                    {"name": "o", "selector-field-ranges": [[0, 3]], "field-class": integer()},
                    {"selector-field-ranges": [[5, 5]], "field-class": structure()},
                ],
            },
        ),
    },
]
#: Objects whose names and values are the user's; of mappings and flags only the names are.
FREE = {"attributes", "environment"}
NAMED = {"mappings", "flags"}


def places(node: Any, at: Place = ()) -> Iterator[Place]:
    """Where there is something, but for what is free."""
    if at:
        yield at
    items: Any = ()
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, inner in items:
        if not FREE & {*at, key}:
            yield from places(inner, (*at, key))


def held(node: Any, at: Place) -> Any:
    for key in at:
        node = node[key]
    return node


def changed(at: Place, value: Any) -> list[dict[str, Any]]:
    fragments = copy.deepcopy(FRAGMENTS)
    held(fragments, at[:-1])[at[-1]] = value
    return fragments


def text_of(fragments: list[dict[str, Any]]) -> bytes:
    return "".join(f"\x1e{json.dumps(fragment)}\n" for fragment in fragments).encode()


def is_refused(metadata: bytes) -> bool:
    try:
        parse_metadata(metadata)
    except TraceError:
        return True
    return False


def test_all_properties_are_accepted() -> None:
    assert not is_refused(text_of(FRAGMENTS))


def properties() -> dict[tuple[str, str], Place]:
    """A place of each property of each type of object."""
    found: dict[tuple[str, str], Place] = {}
    for at in places(FRAGMENTS):
        if isinstance(at[-1], str) and at[-2] not in NAMED:
            owner = held(FRAGMENTS, at[:-1])
            names = [key for key in at[:-1] if isinstance(key, str)]
            found.setdefault((owner.get("type") or names[-1], at[-1]), at)
    return found


def test_a_property_that_there_is_not_is_refused() -> None:
    owners = {kind: at[:-1] for (kind, _), at in properties().items()}
    assert len(owners) > 25
    for kind, at in owners.items():
        assert is_refused(text_of(changed((*at, "unknown"), 1))), kind


#: For a value of one of JSON's types: others, none of which can stand where that does.
OTHERS: dict[type, tuple[Any, ...]] = {
    str: (None, True, 1, -1.5, [], ["x"], {"x": 1}),
    int: (None, "1", -1.5, [], [1], {"x": 1}),
    list: (None, True, 1, "x", {"x": 1}),
    dict: (None, True, 1, [], [1]),
}


def test_a_value_of_another_type_is_refused() -> None:
    for number, (kind, at) in enumerate(properties().items()):
        others = OTHERS[type(held(FRAGMENTS, at))]
        other = others[number % len(others)]
        assert is_refused(text_of(changed(at, other))), (kind, other)


_BITS_NEED = {"length", "byte-order"}
#: What objects need; fragments and field classes need their type besides.
NEEDED = {
    "preamble": {"version"},
    "field-class-alias": {"name", "field-class"},
    "clock-class": {"id", "frequency"},
    "origin": {"name", "uid"},
    "member-classes": {"name", "field-class"},
    "fixed-length-unsigned-integer": _BITS_NEED,
    "fixed-length-signed-integer": _BITS_NEED,
    "fixed-length-bit-array": _BITS_NEED,
    "fixed-length-bit-map": _BITS_NEED | {"flags"},
    "fixed-length-boolean": _BITS_NEED,
    "fixed-length-floating-point-number": _BITS_NEED,
    "static-length-string": {"length"},
    "dynamic-length-string": {"length-field-location"},
    "static-length-blob": {"length"},
    "dynamic-length-blob": {"length-field-location"},
    "static-length-array": {"length", "element-field-class"},
    "dynamic-length-array": {"length-field-location", "element-field-class"},
    "length-field-location": {"path"},
    "selector-field-location": {"path"},
    "optional": {"selector-field-location", "field-class"},
    "variant": {"selector-field-location", "options"},
    "options": {"selector-field-ranges", "field-class"},
}
#: What can be left out though something else of these fragments refers to it.
REFERRED = {"uuid", "id", "default-clock-class-id", "data-stream-class-id", "origin"}


def test_what_is_needed_is_missed() -> None:
    for (kind, name), at in properties().items():
        fragments = copy.deepcopy(FRAGMENTS)
        del held(fragments, at[:-1])[name]
        refused = is_refused(text_of(fragments))
        if name == "type" or name in NEEDED.get(kind, ()):
            assert refused, (kind, name)
        elif name not in REFERRED and not name.endswith(("field-class", "-classes", "-ranges")):
            assert not refused, (kind, name)


@pytest.mark.skipif(shutil.which("babeltrace2-2.1") is None, reason="needs Babeltrace 2.1")
def test_babeltrace_agrees_on_fragments(tmp_path: Path) -> None:
    values = (None, True, 0, 3, 65, "x", [], [[2, 1]], {}, by("nothing"), by("text"))
    drawn = [(at, value) for at in places(FRAGMENTS) for value in values]
    # Babeltrace takes true for an alignment of 1.
    for at, value in drawn[11 :: len(drawn) // 12]:
        if value is True and at[-1] in ("alignment", "minimum-alignment"):
            continue
        metadata = text_of(changed(at, value))
        (tmp_path / "metadata").write_bytes(metadata)
        done = subprocess.run(["babeltrace2-2.1", str(tmp_path)], capture_output=True, check=False)
        assert is_refused(metadata) == (done.returncode != 0), (at, value, done.stderr[-500:])


#: Every block and every form of a type.
TSDL = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = 0; base = hex; byte_order = be; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := time_t;
typealias integer { size = 16; align = 8; signed = true; encoding = none; } := unsigned long int;
typedef uint8_t byte;
struct point { uint8_t x; uint32_t y; } align(8);
enum color : uint8_t { RED, GREEN = 3, "dark blue" = 5 ... 9, LAST, };
trace {
  major = 1; minor = 8; byte_order = le; uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564";
  packet.header := struct {
    uint32_t magic; uint8_t uuid[16]; uint8_t stream_id; uint8_t stream_instance_id;
  };
};
env { host = "h\\n\\x41"; n = -3; };
clock {
  name = c; uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a565"; description = "d";
  freq = 1000; precision = 5; offset_s = -4; offset = 7; absolute = FALSE;
};
stream {
  id = 0;
  packet.context := struct {
    time_t timestamp_begin; time_t timestamp_end; uint32_t content_size; uint32_t packet_size;
    uint32_t events_discarded; uint32_t packet_seq_num; uint32_t cpu_id;
  };
  event.header := struct {
    enum : uint8_t { compact = 0 ... 30, extended = 31 } id;
    variant <id> {
      struct { integer { size = 27; align = 1; map = clock.c.value; } timestamp; } compact;
      struct { uint32_t id; time_t timestamp; } extended;
    } v;
  };
  event.context := struct { uint8_t _len; };
};
event {
  name = "p:e"; id = 1; stream_id = 0; loglevel = 5; model.emf.uri = "http://x";
  context := struct { uint8_t c; };
  fields := struct {
    uint8_t a; byte _b; struct point p; enum color k; unsigned long int l; uint8_t arr[2][3];
    uint8_t seq[a]; uint8_t seq2[stream.event.context._len]; string s;
    string { encoding = ASCII; } t; floating_point { exp_dig = 8; mant_dig = 24; align = 32; } f;
    variant <k> { uint8_t RED; struct { uint8_t q; } GREEN; uint8_t LAST; } var;
    integer { size = 8; encoding = UTF8; } txt[4]; struct { uint8_t n; uint8_t d[n]; } inner[2];
  };
};
"""
_TOKEN = re.compile(r'/\*.*?\*/|"[^"]*"|\.\.\.|:=|\w+|\s+|.', re.DOTALL)


def without_a_token() -> list[bytes]:
    tokens = _TOKEN.findall(TSDL)
    return [
        "".join([*tokens[:i], " ", *tokens[i + 1 :]]).encode()
        for i, token in enumerate(tokens)
        # Whether an event needs a name, and a clock its rate, Babeltrace sees in another way.
        if not token.isspace() and "".join(tokens[i - 3 : i]).strip() not in ("event {", "freq")
    ]


def test_the_declarations_are_accepted() -> None:
    assert not is_refused(TSDL.encode())


@pytest.mark.parametrize("program", ["babeltrace2", "babeltrace2-2.1"])
def test_babeltrace_agrees_on_declarations(program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    drawn = without_a_token()
    verdicts = set()
    for metadata in [TSDL.encode(), *drawn[7 :: len(drawn) // 12]]:
        (tmp_path / "metadata").write_bytes(metadata)
        done = subprocess.run([program, str(tmp_path)], capture_output=True, check=False)
        verdicts.add(done.returncode)
        assert is_refused(metadata) == (done.returncode != 0), (metadata, done.stderr[-500:])
    assert len(verdicts) > 1
