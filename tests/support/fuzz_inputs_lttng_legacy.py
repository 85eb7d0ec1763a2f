"""Traces of LTTng 0.x that no fixture is like."""

from __future__ import annotations

from support.fuzz_corpus import Files
from support.lttng_legacy_files import sample


def inputs() -> list[Files]:
    """A small trace in every version of the format."""
    versions = ((1, 0), (2, 0), (2, 2), (2, 3), (2, 5), (2, 6))
    found = [sample(version=version).build() for version in versions]
    return [*found, sample(version=(2, 6), big_endian=True).build()]
