"""What the bytes of a raw stream are, apart from its entries, which `formats/aix/entries/words.pxd` declares.

Facts are from the comment block of IBM's "Example Trace Format File" (AIX Files Reference, trcfmt): section I.A has the
32-bit entries, I.B the 64-bit ones, I.C what becomes of data from the other environment.
"""

from __future__ import annotations

from typing import Final

#: What a raw stream of a 64-bit kernel starts with; that of a 32-bit kernel has no header.
MAGIC: Final = bytes.fromhex("efdf1114")

#: The longest buffer that `trcgen` traces.
MAX_DATA: Final = 4096
#: The smallest entries, hook word and thread id, by bits.
MIN_ENTRY: Final = {64: 16, 32: 8}

#: The hook for conversion of time stamps, and the subhook for it (I, "To interpret the time stamp").
UTIL_HOOK: Final = 0x00A0
CONVERSION: Final = 0x025C
#: m and d of ns = t * m / d hold where the third word is this.
CONVERSION_TYPE: Final = 2

#: User hooks are 010 to 0FF ("Start the trace facility"). The first is for metadata here, the others for events.
METADATA_HOOK: Final = 0x0100
FIRST_HOOK: Final = 0x0110
HOOKS: Final = 239

#: How the first entry of a stream that this converter wrote begins.
OWN_MAGIC: Final = b"# traceconv 1\n"
#: And how such a stream of a 32-bit kernel begins: hook 010, generic with a time stamp, data word 1.
OWN_START_32: Final = (0x0108_0000 | len(OWN_MAGIC)).to_bytes(4, "big") + b"\0\0\0\1" + OWN_MAGIC


def hook_text(hook: int) -> str:
    """A 16-bit hook id as templates spell it: 3 hexadecimal digits where the fourth is zero."""
    return f"{hook:04X}" if hook & 15 else f"{hook >> 4:03X}"
