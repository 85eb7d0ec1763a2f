"""Values as format codes print them, and as the cases of a SWITCH name them."""

from __future__ import annotations

import math
import struct
import time

from converter.formats.aix.trcfmt.entry import Value
from converter.formats.aix.trcfmt.errno import ERRNO_NAMES
from converter.formats.aix.trcfmt.model import Format

_ALL_BITS = (1 << 64) - 1


def decode(format: Format, size: int, data: bytes) -> Value:
    """Return the value of `data`, read with a format code whose size is now known."""
    match format.code:
        case "D":
            return int.from_bytes(data, signed=True)
        case "F":
            number: float = struct.unpack(">f" if size == 4 else ">d", data)[0]
            return number
        case "A":
            return data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
        case "S":
            return data.decode("utf-8", "surrogateescape")
    return int.from_bytes(data)


def printed(format: Format, size: int, value: Value, paths: dict[int, str]) -> str:
    """Return the value as the code prints it, without the blank after it; `size` in bytes.

    A value that is wider than the code is cut to it; text in a code for numbers is printed as it is.
    """
    if isinstance(value, float):
        return f"{value:0.4E}" if math.isfinite(value) else str(value).upper()
    if isinstance(value, str):
        return value.ljust(format.part) if format.code == "A" else value
    bits = size * 8 + (format.part if format.code == "B" else 0)
    unsigned = value & ((1 << bits) - 1)
    match format.code:
        case "D":
            return str(unsigned - (1 << bits) if bits and unsigned >> (bits - 1) else unsigned)
        case "U" | "HB":
            return str(unsigned)
        case "o":
            return f"{unsigned:o}"
        case "B":
            return f"{unsigned:0{bits}b}" if bits else ""
        case "HT":
            return f"{value:X}"
        case "F":
            return printed(format, size, float(value), paths)
        case "T":
            return time.asctime(time.gmtime(value & 0xFFFFFFFF))
        case "E":
            return ERRNO_NAMES.get(unsigned, str(unsigned))
        case "P":
            return paths.get(unsigned) or str(unsigned)
    return f"{unsigned:0{2 * max(size, 1)}X}"


def is_number(format: Format) -> bool:
    """Return True if the code prints a blank after its value."""
    return format.code in ("X", "D", "U", "o", "B", "F", "HB", "HT") and (
        format.code != "X" or format.size != 0
    )


def case_value(format: Format | None, text: str, value: Value) -> Value | None:
    """Return the value of the case `text` of a SWITCH on a code (None: on a register without one), None if it is
    invalid.

    The base is that in which the code prints; 0x is always 16, and a leading o always 8.
    """
    if isinstance(value, str):
        return text
    if isinstance(value, float):
        return _float(text)
    code = "U" if format is None else format.code
    if text[:2] in ("0x", "0X"):
        base, digits = 16, text[2:]
    elif text[:1] in ("o", "O"):
        base, digits = 8, text[1:]
    else:
        base, digits = {"X": 16, "HT": 16, "o": 8, "B": 2}.get(code, 10), text
        if code == "B" and set(text) - {"0", "1"}:
            base = 16
    if len(digits) > 64:
        return None
    try:
        return int(digits, base)
    except ValueError:
        if code == "E":
            return next((each for each, name in ERRNO_NAMES.items() if name == text), None)
        return None


def wrapped(value: int) -> int:
    """Return a result of arithmetic as the 64 bits that a macro has."""
    return value & _ALL_BITS


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
