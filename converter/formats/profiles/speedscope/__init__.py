"""The file format of speedscope: call trees and samples, each thread a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: By this, speedscope knows its files: the value of the member `$schema`.
SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
_MARK: Final = SCHEMA.partition("//")[2].encode()


def sniff(head: bytes) -> bool:
    """Return True if a JSON object names the schema near its start."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and _MARK in head


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.profiles.speedscope.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="speedscope",
    title="speedscope",
    suffixes=(".speedscope.json", ".speedscope"),
    spec="https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources",
    variants=("",),
    capabilities=_capabilities,
    sniff=sniff,
    embeds=True,
    searches=True,
    package="converter.formats.profiles.speedscope",
)
