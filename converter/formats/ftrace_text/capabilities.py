"""The capabilities of ftrace text: none, as long as it is only read."""

from __future__ import annotations

from converter.projection.capabilities import Capabilities


def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - the same for all
    """Return no capabilities."""
    return Capabilities({})
