"""The kernel's extensions of `%p` that print memory (Documentation/core-api/printk-formats.rst), given the bytes.

All results have one character per byte.
"""

from __future__ import annotations

import re
from typing import Final, Literal

ByteOrder = Literal["little", "big"]

_AF_INET: Final = 2
_AF_INET6: Final = 10
_GUID_ORDER: Final = (3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15)
_ONES = re.compile("1+")


def is_memory_suffix(suffix: str) -> bool:
    """Return True if `%p` with this suffix prints the memory that the argument points to."""
    return suffix[:1] in ("M", "m", "U", "h") or suffix[:2] in _MEMORY_PAIRS


_MEMORY_PAIRS: Final = ("I4", "i4", "I6", "i6", "IS", "iS", "b", "bl")


def format_memory(
    suffix: str, memory: bytes, count: int | None, byte_order: ByteOrder, long_size: int
) -> str:
    """Print memory by a `%p` suffix; `count` is the field width, which `%*ph` and `%*pb` use as a length.

    A length that does not match the suffix prints libtraceevent's INVALIDMAC, INVALIDIPv4, INVALIDIPv6, INVALIDUUID.
    """
    kind = suffix[0]
    if kind in "Mm":
        return format_mac(suffix, memory)
    if kind in "Ii":
        if suffix[1] == "4":
            return _format_ipv4(suffix, memory, byte_order)
        if suffix[1] == "6":
            return _format_ipv6(suffix, memory)
        return format_sockaddr(suffix, memory, byte_order)
    if kind == "U":
        return format_uuid(suffix, memory)
    if kind == "h":
        delimiter = {"C": ":", "D": "-", "N": ""}.get(suffix[1:2], " ")
        return format_hex(memory[: max(count, 0) if count is not None else 1], delimiter)
    bits = bitmap(memory, long_size, byte_order)
    if count is not None:
        bits &= (1 << max(0, min(count, 8 * len(memory)))) - 1
    if suffix == "bl":
        return format_bit_list(bits)
    return format_bit_mask(bits, len(memory) if count is None else (max(count, 0) + 7) // 8)


def format_mac(suffix: str, memory: bytes) -> str:
    """Format `%pM` 00:01:02:03:04:05, `%pMF` with dashes, `%pMR` reversed, `%pm` without separators."""
    if len(memory) != 6:
        return "INVALIDMAC"
    if "R" in suffix:
        memory = memory[::-1]
    return format_hex(memory, "" if suffix[0] == "m" else "-" if "F" in suffix else ":")


def format_hex(memory: bytes, delimiter: str) -> str:
    """Format bytes as two hexadecimal digits each, like `%*ph`, `__print_hex` and `__print_hex_str`."""
    return memory.hex(delimiter) if delimiter else memory.hex()


def format_uuid(suffix: str, memory: bytes) -> str:
    """Format `%pU`: `b` and `B` (upper case) in the order of the bytes, `l` and `L` with little-endian fields."""
    if len(memory) != 16:
        return "INVALIDUUID"
    variant = suffix[1:2]
    if variant in ("l", "L"):
        memory = bytes(memory[index] for index in _GUID_ORDER)
    text = memory.hex()
    text = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    return text.upper() if variant in ("L", "B") else text


def format_sockaddr(suffix: str, memory: bytes, byte_order: ByteOrder) -> str:
    """Format `%pIS`: an address by its family; `p` adds the port, `c` compresses IPv6. Other families print nothing."""
    if len(memory) < 2:
        return ""
    family = int.from_bytes(memory[:2], byte_order)
    options = suffix[2:]
    port = int.from_bytes(memory[2:4], "big")
    if family == _AF_INET:
        if len(memory) < 16:
            return "INVALIDIPv4"
        address = _format_ipv4(suffix[0] + "4" + options.lstrip("pfsc"), memory[4:8], byte_order)
        return f"{address}:{port}" if "p" in options else address
    if family == _AF_INET6:
        if len(memory) < 28:
            return "INVALIDIPv6"
        compressed = "c" if "c" in options else ""
        address = _format_ipv6(f"{suffix[0]}6{compressed}", memory[8:24])
        return f"[{address}]:{port}" if "p" in options else address
    return ""


def _format_ipv4(suffix: str, memory: bytes, byte_order: ByteOrder) -> str:
    if len(memory) != 4:
        return "INVALIDIPv4"
    order = suffix[2:3]
    if order == "l" or (order == "h" and byte_order == "little"):
        memory = memory[::-1]
    return ".".join([f"{byte:03d}" if suffix[0] == "i" else str(byte) for byte in memory])


def _format_ipv6(suffix: str, memory: bytes) -> str:
    if len(memory) != 16:
        return "INVALIDIPv6"
    if suffix[0] == "I" and suffix[2:3] == "c":
        return _compressed_ipv6(memory)
    groups = [memory[index : index + 2].hex() for index in range(0, 16, 2)]
    return (":" if suffix[0] == "I" else "").join(groups)


def _compressed_ipv6(memory: bytes) -> str:
    """Format by RFC 5952, with the last four bytes as IPv4 for mapped and ISATAP addresses, as the kernel does."""
    mapped = memory[:12] == b"\0" * 10 + b"\xff\xff"
    isatap = memory[8] | 2 == 2 and memory[9:12] == b"\0\x5e\xfe"
    words = [int.from_bytes(memory[index : index + 2], "big") for index in range(0, 16, 2)]
    tail = ""
    if mapped or isatap:
        words = words[:6]
        tail = ".".join(map(str, memory[12:]))
    start, length = _longest_zeros(words)
    if length < 2:
        text = ":".join([f"{word:x}" for word in words])
        return f"{text}:{tail}" if tail else text
    before = ":".join([f"{word:x}" for word in words[:start]])
    after = ":".join([f"{word:x}" for word in words[start + length :]])
    if after and tail:
        after += ":"
    return f"{before}::{after}{tail}"


def _longest_zeros(words: list[int]) -> tuple[int, int]:
    best, run = (0, 0), 0
    for index, word in enumerate(words):
        run = 0 if word else run + 1
        if run > best[1]:
            best = (index + 1 - run, run)
    return best


def bitmap(memory: bytes, word_size: int, byte_order: ByteOrder) -> int:
    """Return an array of longs as one number, whose bit n is the array's bit n."""
    if byte_order == "little":
        return int.from_bytes(memory, "little")
    words = range(0, len(memory), word_size)
    swapped = b"".join([memory[index : index + word_size][::-1] for index in words])
    return int.from_bytes(swapped, "little")


def format_bit_mask(bits: int, size: int) -> str:
    """Format all `size` bytes of a mask in hexadecimal with a comma every 32 bits (`__get_bitmask`, `%*pb`)."""
    text = f"{bits:0{2 * size}x}" if size else ""
    first = len(text) % 8
    groups = [text[:first]] if first else []
    groups += [text[index : index + 8] for index in range(first, len(text), 8)]
    return ",".join(groups)


def format_bit_list(bits: int) -> str:
    """Return the numbers of the bits that are set, as ranges: 0-3,7 (`__get_cpumask`, `%*pbl`)."""
    ranges: list[str] = []
    for match in _ONES.finditer(bin(bits)[:1:-1]):
        first, last = match.start(), match.end() - 1
        ranges.append(str(first) if first == last else f"{first}-{last}")
    return ",".join(ranges)
