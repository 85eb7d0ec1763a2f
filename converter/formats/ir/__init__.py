"""The representation itself on disk: `.tcir`, and the canonical form as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: The format's name in the header of a file.
MAGIC = "traceconv-ir"
#: Bytes at the start of a file: the first record (of less than 128 bytes or more), its header, and in that the magic.
_HEAD_SIZE = 16


def capabilities(variant: str) -> Capabilities:
    """Never called: the representation can represent every trace."""
    raise NotImplementedError(variant)


def sniff(head: bytes) -> bool:
    """Return True if a file starts with a header record or is a canonical form."""
    if head.startswith(b'{"clock":'):
        return True
    return head.startswith(b"\x0a") and MAGIC.encode() in head[: _HEAD_SIZE + len(MAGIC)]


FORMAT = Format(
    name="ir",
    title="traceconv's own representation",
    suffixes=(".tcir",),
    spec="https://github.com/traceconv/traceconv/blob/main/schemas/ir.proto",
    variants=("", "json"),
    aliases=("tcir",),
    capabilities=capabilities,
    sniff=sniff,
    holds_all=True,
    reads_in_order=True,
)
