"""trace.dat: recordings of the Linux kernel's ftrace by trace-cmd, which KernelShark shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def _sniff(head: bytes) -> bool:
    return head.startswith(b"\x17\x08\x44tracing")


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.trace_cmd.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="trace_cmd",
    title="trace-cmd trace.dat (ftrace)",
    suffixes=(".dat",),
    spec="https://www.trace-cmd.org/Documentation/trace-cmd/trace-cmd.dat.v7.5.html",
    # The empty variant keeps the version and compression of the source.
    variants=("", "v7", "v6", "v7_zlib", "v7_none"),
    aliases=("ftrace", "dat", "trace.dat", "kernelshark"),
    capabilities=_capabilities,
    sniff=_sniff,
    has_portable=True,
    sends_source=True,
    travels_whole=True,
    embeds=True,
    reports=True,
)
