"""The capabilities of ftrace text: what trace.dat holds, as far as texts say it exactly."""

from __future__ import annotations

from functools import cache

from converter.formats.ftrace.event_format.new_formats import COMMON_FIELDS
from converter.formats.ftrace.lines.text_capabilities import text_capabilities
from converter.projection.capabilities import Capabilities


@cache
def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - all variants hold the same
    """Return the capabilities of every variant."""
    return text_capabilities(COMMON_FIELDS)
