"""Metadata with all properties that CTF 2 has, and with all declarations of CTF 1.8."""

from __future__ import annotations

from typing import Any


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
