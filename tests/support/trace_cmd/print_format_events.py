"""An event with fields of every type, its records, and the event formats of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import zstandard

from converter.formats.ftrace.event_format.syntax import parse_event_format
from converter.formats.ftrace.print_format.print_format import PrintFormat
from converter.formats.ftrace.print_format.text_sources import TextSources

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "trace_cmd"


class Symbols:
    """Functions of 0x100 bytes, and strings."""

    def __init__(
        self,
        functions: Mapping[int, tuple[str, int]],
        printk: Mapping[int, str],
    ) -> None:
        self.functions = dict(functions)
        self.strings = dict(printk)

    def function(self, address: int) -> tuple[str, int] | None:
        return self.functions.get(address)

    def printk(self, address: int) -> str | None:
        return self.strings.get(address)


SYMBOLS = Symbols(
    {0x1000: ("schedule", 0), 0x1024: ("schedule", 0x24)},
    {0x2000: "value %d of %s\\n", 0x3000: "plain\\n"},
)
#: By name: the declared type, its size in bytes, and whether it is signed.
FIELDS: dict[str, tuple[str, int, int]] = {
    "u": ("unsigned int", 4, 0),
    "i": ("int", 4, 1),
    "l": ("unsigned long", 8, 0),
    "q": ("s64", 8, 1),
    "b": ("u8", 1, 0),
    "h": ("short", 2, 1),
    "p": ("void *", 8, 0),
    "comm": ("char", 16, 0),
    "mac": ("u8", 6, 0),
    "ip4": ("__u8", 4, 0),
    "ip6": ("__u8", 16, 0),
    "sa": ("__u8", 28, 0),
    "words": ("unsigned long", 32, 0),
    "d": ("__data_loc char[]", 4, 0),
    "m": ("__data_loc unsigned long[]", 4, 0),
    "a": ("__data_loc u32[]", 4, 0),
    "r": ("__rel_loc char[]", 4, 0),
}
#: Elements of those that are arrays.
COUNTS = {"comm": 16, "mac": 6, "ip4": 4, "ip6": 16, "sa": 28, "words": 4}


def event_text(
    print_fmt: str,
    record_fields: Mapping[str, tuple[str, int, int]] = FIELDS,
    number: int = 1,
    name: str = "event",
) -> bytes:
    """The format of an event with these fields."""
    lines = ["field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;"]
    lines.append("field:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n")
    offset = 8
    for field, (declared, size, signed) in record_fields.items():
        count = f"[{COUNTS[field]}]" if field in COUNTS else ""
        lines.append(
            f"field:{declared} {field}{count};\toffset:{offset};\tsize:{size};\tsigned:{signed};"
        )
        offset += size
    body = "\n\t".join(lines)
    return f"name: {name}\nID: {number}\nformat:\n\t{body}\n\nprint fmt: {print_fmt}\n".encode()


def compiled(
    print_fmt: str,
    record_fields: Mapping[str, tuple[str, int, int]] = FIELDS,
    *,
    order: Literal["little", "big"] = "little",
    long_size: int = 8,
    system: str = "test",
    name: str = "event",
) -> PrintFormat:
    """The print format of an event with these fields."""
    event = parse_event_format(event_text(print_fmt, record_fields, name=name), system)
    return PrintFormat(event, TextSources(SYMBOLS), order, long_size)


def record(order: Literal["little", "big"] = "little", **values: Any) -> bytes:
    """A record with the given fields; dynamic ones follow the others."""
    fixed = bytearray(8)
    fixed[2] = values.pop("flags", 0)
    size = 8 + sum(size for _, size, _ in FIELDS.values())
    tail = b""
    for field, (declared, length, _) in FIELDS.items():
        value = values.get(field, 0)
        if declared.startswith(("__data_loc", "__rel_loc")):
            data = value or b""
            base = 0 if declared.startswith("__data_loc") else len(fixed) + 4
            fixed += (len(data) << 16 | size + len(tail) - base).to_bytes(4, order)
            tail += data
        elif isinstance(value, bytes):
            fixed += value.ljust(length, b"\0")
        else:
            fixed += (value & (1 << 8 * length) - 1).to_bytes(length, order)
    return bytes(fixed) + tail


def unpacked(name: str) -> bytes:
    """A fixture that is compressed."""
    return zstandard.ZstdDecompressor().decompress((FIXTURES / name).read_bytes())


def all_formats() -> list[bytes]:
    """The texts of all event formats of Linux 6.18."""
    first, *others = unpacked("linux618_all_formats.txt.zst").split(b"\nname: ")
    return [first, *(b"name: " + other for other in others)]
