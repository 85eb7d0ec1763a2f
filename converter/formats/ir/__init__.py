"""The representation itself on disk: `.tcir`, and the canonical form as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: What the header of a file says.
MAGIC = "traceconv-ir"
#: How a file starts: the first record (of less than 128 bytes or more), its header, and in that the magic.
_HEAD_SIZE = 16


def capabilities(variant: str) -> Capabilities:
    """Never asked for: the representation holds whatever is represented."""
    raise NotImplementedError(variant)


def sniff(head: bytes) -> bool:
    """Whether a file starts with a header record or is a canonical form."""
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
