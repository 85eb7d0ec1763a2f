"""FXT, the Fuchsia trace format: also what magic-trace, OCaml's and Go's tracers and Firedancer write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format
from converter.formats.fxt.record_types import MAGIC

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of a variant."""
    from converter.formats.fxt.capabilities import capabilities as declared

    return declared(variant)


def sniff(head: bytes) -> bool:
    """Return True if a file starts with the magic number record, in either byte order."""
    return head[:8] in (MAGIC, MAGIC[::-1])


FORMAT = Format(
    name="fxt",
    title="Fuchsia trace format",
    suffixes=(".fxt", ".ftf"),
    spec="https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format",
    variants=("", "large", "be"),
    shared=("", "large", "be"),
    byte_orders=(("little", ""), ("big", "be")),
    aliases=("fuchsia", "ftf", "magic_trace"),
    capabilities=capabilities,
    sniff=sniff,
    embeds=True,
    reads_in_order=True,
)
