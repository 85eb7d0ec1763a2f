"""The block addresses and lengths of SCSI commands, from their descriptor blocks (T10, SCSI Block Commands)."""

from __future__ import annotations

from typing import Final

_READ_WRITE: Final = {
    # The offset and size of the block address, and those of the length, in the commands of these codes.
    **dict.fromkeys((0x28, 0x2A, 0x2F, 0x41), (2, 4, 7, 2)),
    **dict.fromkeys((0xA8, 0xAA, 0xAF), (2, 4, 6, 4)),
    **dict.fromkeys((0x88, 0x8A, 0x8F, 0x93), (2, 8, 10, 4)),
}
_READ_6, _WRITE_6, _UNMAP, _SERVICE_IN_16, _VARIABLE = 0x08, 0x0A, 0x42, 0x9E, 0x7F
_WRITE_SAME: Final = (0x41, 0x93)
_SERVICES_IN: Final = {0x10: "READ_CAPACITY_16", 0x12: "GET_LBA_STATUS"}
_VARIABLES: Final = {0x09: "READ", 0x0A: "VERIFY", 0x0B: "WRITE", 0x0D: "WRITE_SAME"}
_LONGEST: Final = 32


def command_text(block: bytes) -> str:
    """Return the addresses and lengths of a command, "-" if it has none."""
    data = block.ljust(_LONGEST, b"\0")

    def number(start: int, size: int) -> int:
        return int.from_bytes(data[start : start + size], "big")

    code = data[0]
    if code in (_READ_6, _WRITE_6):
        return f"lba={number(1, 3) & 0x1FFFFF} txlen={data[4]}"
    if code in _READ_WRITE:
        address, address_size, length, length_size = _READ_WRITE[code]
        shown = f"lba={number(address, address_size)} txlen={number(length, length_size)}"
        return f"{shown}{_protection(data[1], same=code in _WRITE_SAME)}"
    if code == _UNMAP:
        return f"regions={(number(7, 2) - 8) // 16 & 0xFFFFFFFF}"
    if code == _SERVICE_IN_16:
        service = _SERVICES_IN.get(data[1] & 0x1F)
        if service is None:
            return "UNKNOWN"
        return f"{service} lba={number(2, 8)} alloc_len={number(10, 4)}"
    if code == _VARIABLE:
        name = _VARIABLES.get(number(8, 2))
        if name is None:
            return "-"
        shown = f"{name}_32 lba={number(12, 8)} txlen={number(28, 4)}"
        first, _, same = _protection(data[10], same=name == "WRITE_SAME").partition(" unmap")
        return f"{shown}{first} ei_lbrt={number(20, 4)}{' unmap' * bool(same)}{same}"
    return "-"


def _protection(flags: int, *, same: bool) -> str:
    return f" protect={flags >> 5}" + (f" unmap={flags >> 3 & 1}" if same else "")
