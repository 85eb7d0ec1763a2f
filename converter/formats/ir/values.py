"""JSON-like values, texts, clocks and warnings as messages of schemas/ir.proto, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.message import DecodeError

from converter.errors import TraceError, TraceWarning
from converter.formats.ir import messages as pb
from converter.ir.display.text import is_text, is_unicode
from converter.ir.trace import ClockDomain, parse_epoch, parse_rate

_MASK = (1 << 64) - 1
#: Nesting of lists and mappings in one message: each is two or three messages, and protobuf reads 100 levels.
_MOST_NESTED = 16
#: Total nesting: more than JSON input has, and what fits a program's stack.
_DEEPEST = 600


def encoded(text: str) -> bytes:
    """Return a text as the bytes that it was read from."""
    return text.encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> str:
    """Return the text of some bytes; those that are not UTF-8 are escaped."""
    return data.decode("utf-8", "surrogateescape")


def signed(number: int) -> int:
    """Return a number of up to 64 bits, signed or not, as two's complement."""
    number &= _MASK
    return number - (1 << 64) if number >> 63 else number


def set_number(message: Any, name: str, number: int) -> None:
    """Set a field to a number of 64 bits, signed or not."""
    setattr(message, name if number < 1 << 63 else f"large_{name}", number)


def get_number(message: Any, name: str) -> int:
    """Return the number from `set_number`."""
    number: int = getattr(message, f"large_{name}") or getattr(message, name)
    return number


def pack_clock(clock: ClockDomain) -> pb.ClockDomain:
    """Return the message for a clock domain."""
    return pb.ClockDomain(
        name=encoded(clock.name),
        rate="" if clock.ticks_per_second is None else str(clock.ticks_per_second),
        epoch_ns=clock.epoch_ns,
        description=encoded(clock.description),
    )


def unpack_clock(message: pb.ClockDomain) -> ClockDomain:
    """Return the clock domain of a message.

    Raises:
        TraceError: its rate is not a fraction.

    """
    try:
        return ClockDomain(
            decoded(message.name),
            parse_rate(message.rate) if message.rate else None,
            parse_epoch(message.epoch_ns) if message.HasField("epoch_ns") else None,
            decoded(message.description),
        )
    except ValueError as error:
        raise TraceError(str(error), field="clock") from None


def pack_entries(entries: Mapping[str, Any]) -> Iterable[pb.Entry]:
    """Yield messages for the entries of a mapping."""
    return [_entry(key, pack_value(value)) for key, value in entries.items()]


def _entry(key: str, value: pb.Value) -> pb.Entry:
    if is_text(key):
        return pb.Entry(key=encoded(key), value=value)
    # Names in JSON may be invalid Unicode.
    return pb.Entry(escaped_key=json.dumps(key), value=value)


def unpack_entries(messages: Iterable[pb.Entry]) -> dict[str, Any]:
    """Return the mapping of some messages."""
    return {_key(message): unpack_value(message.value) for message in messages}


def _key(entry: pb.Entry) -> str:
    if entry.escaped_key:
        return _unescaped(entry.escaped_key, "escaped_key")
    return decoded(entry.key)


def pack_value(value: Any, depth: int = 0) -> pb.Value:
    """Return the message for a value of a sidecar; a lazy value is created now.

    `depth` is the number of lists and mappings around it in the same message.

    Raises:
        TypeError: the value is neither JSON-like nor bytes.

    """
    scalar = _pack_scalar(value)
    if scalar is not None:
        return scalar
    match value:
        case Mapping() | list() | tuple() if depth == _MOST_NESTED:
            return pb.Value(packed=pack_value(value).SerializeToString())
        case Mapping():
            # Loops instead of recursive generators, here and in `unpack_value`: values nest as deep as JSON does, and
            # each call uses stack.
            entries = []
            for key, inner in value.items():
                entries.append(_entry(key, pack_value(inner, depth + 1)))
            return pb.Value(map=pb.Entries(entry=entries))
        case list() | tuple():
            values = []
            for inner in value:
                values.append(pack_value(inner, depth + 1))  # noqa: PERF401
            return pb.Value(list=pb.Values(value=values))
    if hasattr(value, "__bytes__"):
        return pb.Value(data=bytes(value))
    if callable(value):
        return pack_value(value(), depth)
    raise TypeError(f"a sidecar holds JSON-like values and bytes, not a {type(value).__name__}")


def _pack_scalar(value: Any) -> pb.Value | None:
    match value:
        case None:
            return pb.Value(null=pb.Nothing())
        case bool():
            return pb.Value(boolean=value)
        case int() if -(1 << 63) <= value < 1 << 63:
            return pb.Value(integer=value)
        case int():
            return pb.Value(large_integer=str(value))
        case float():
            return pb.Value(number=value)
        case str():
            if is_unicode(value):
                return pb.Value(text=value)
            return pb.Value(escaped_text=json.dumps(value))
        case bytes() | bytearray() | memoryview():
            return pb.Value(data=bytes(value))
    return None


def unpack_value(message: pb.Value, depth: int = 0) -> Any:
    """Return the value of a message, which is inside of `depth` lists and mappings.

    Raises:
        TraceError: it has none, or is nested too deeply.

    """
    if depth > _DEEPEST:
        raise TraceError(
            field="value",
            expected=f"at most {_DEEPEST} lists and maps inside each other",
            found="more",
        )
    match message.WhichOneof("value"):
        case "null":
            return None
        case "boolean":
            return message.boolean
        case "integer":
            return message.integer
        case "large_integer":
            return _large(message.large_integer)
        case "number":
            return message.number
        case "text":
            return message.text
        case "escaped_text":
            return _unescaped(message.escaped_text, "escaped_text")
        case "data":
            return message.data
        case "list":
            values = []
            for item in message.list.value:
                values.append(unpack_value(item, depth + 1))  # noqa: PERF401
            return values
        case "map":
            entries = {}
            for entry in message.map.entry:
                entries[_key(entry)] = unpack_value(entry.value, depth + 1)
            return entries
        case "packed":
            return unpack_value(_unpacked(message.packed), depth + 1)
    raise TraceError(field="value", expected="a value", found="none")


def _unpacked(data: bytes) -> pb.Value:
    try:
        return pb.Value.FromString(data)
    except DecodeError:
        raise TraceError(field="packed", expected="a value", found="damaged data") from None


def _large(text: str) -> int:
    digits = text.removeprefix("-")
    # As many as Python prints and parses.
    if not digits.isascii() or not digits.isdigit() or len(digits) > 4000:
        raise TraceError(field="large_integer", expected="an integer", found=text)
    return int(text)


def _unescaped(text: str, field: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, str):
        raise TraceError(field=field, expected="a JSON string", found=text)
    return value


def pack_warning(warning: TraceWarning) -> pb.Damage:
    """Return the message for a warning."""
    return pb.Damage(
        message=encoded(warning.message or ""),
        format=encoded(warning.format or ""),
        path=encoded(warning.path or ""),
        offset=warning.offset,
        field=encoded(warning.field or ""),
        expected=encoded(warning.expected or ""),
        found=b"" if warning.found is None else str(warning.found).encode("utf-8", "replace"),
        remark=not warning.is_damage,
    )


def unpack_warning(message: pb.Damage) -> TraceWarning:
    """Return the warning of a message."""
    return TraceWarning(
        message=decoded(message.message) or None,
        format=decoded(message.format) or None,
        path=decoded(message.path) or None,
        offset=message.offset if message.HasField("offset") else None,
        field=decoded(message.field) or None,
        expected=decoded(message.expected) or None,
        found=decoded(message.found) or None,
        is_damage=not message.remark,
    )
