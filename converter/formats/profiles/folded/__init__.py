"""Collapsed call stacks, as flamegraph.pl takes them: a line for each stack with its count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: The start of a comment with a part of an embedded payload: before it, there may be no stack.
COMMENT: Final = b"# traceconv.residual "
_COUNT: Final = rb"[ \t][0-9]+(\.[0-9]*)?"
#: Names that semicolons separate, and one or two counts.
_STACK: Final = re.compile(rb"[^\0\n]*" + _COUNT + rb"[ \t\r]*")
_SNIFFED: Final = 1 << 12
#: What a longer line than is looked at has at least of separators.
_MANY: Final = 8
_CONTROL: Final = re.compile(rb"[\0-\x08\x0e-\x1f]")


def sniff(head: bytes) -> bool:
    """Return True if a file starts with stacks and their counts, one with a separator, and few other lines."""
    if _CONTROL.search(head) or head[:1] in (b"{", b"[", b"<"):
        return False
    if head.startswith(COMMENT):
        return True
    lines = head.split(b"\n")
    if len(head) >= _SNIFFED:
        if len(lines) == 1:
            return head.count(b";") >= _MANY
        lines.pop()
    found = [line for line in lines if line.strip() and not line.startswith(b"#")]
    stacks = [line for line in found if _STACK.fullmatch(line)]
    few = len(found) - len(stacks) <= len(stacks) // 4
    return few and any(b";" in line for line in stacks)


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.profiles.folded.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="folded",
    title="Collapsed call stacks (flame graphs)",
    suffixes=(".folded", ".collapsed"),
    spec="https://github.com/brendangregg/FlameGraph#2-fold-stacks",
    variants=("",),
    capabilities=_capabilities,
    sniff=sniff,
    embeds=True,
    reads_in_order=True,
    aliases=("collapsed", "flamegraph"),
    package="converter.formats.profiles.folded",
)
