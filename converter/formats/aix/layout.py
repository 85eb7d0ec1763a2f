"""The binary layout of a raw stream, except for its entries, which `formats/aix/entries/words.pxd` declares.

All facts are from the comment block of IBM's "Example Trace Format File" (AIX Files Reference, trcfmt): section I.A
has the 32-bit entries, I.B the 64-bit ones, I.C data from an application of the other word size.
"""

from __future__ import annotations

from typing import Final

#: The magic number of raw streams of a 64-bit kernel; those of a 32-bit kernel have no header.
MAGIC: Final = bytes.fromhex("efdf1114")

#: The longest buffer that `trcgen` traces.
MAX_DATA: Final = 4096
#: The smallest entries, hook word and thread ID, by word size.
MIN_ENTRY: Final = {64: 16, 32: 8}

#: The hook for conversion of timestamps, and its subhook (I, "To interpret the time stamp").
UTIL_HOOK: Final = 0x00A0
CONVERSION: Final = 0x025C
#: If the third word is this, ns = t * m / d with the words m and d.
CONVERSION_TYPE: Final = 2

#: User hooks are 010 to 0FF ("Start the trace facility"). traceconv uses the first for metadata, the others for events.
METADATA_HOOK: Final = 0x0100
FIRST_HOOK: Final = 0x0110
HOOKS: Final = 239

#: The data at the start of the first entry of a stream that traceconv wrote.
OWN_MAGIC: Final = b"# traceconv 1\n"
#: The start of such a stream of a 32-bit kernel: hook 010, generic with a timestamp, data word 1.
OWN_START_32: Final = (0x0108_0000 | len(OWN_MAGIC)).to_bytes(4, "big") + b"\0\0\0\1" + OWN_MAGIC


def hook_text(hook: int) -> str:
    """Return a 16-bit hook ID as templates spell it: 3 hexadecimal digits if the fourth is zero."""
    return f"{hook:04X}" if hook & 15 else f"{hook >> 4:03X}"
