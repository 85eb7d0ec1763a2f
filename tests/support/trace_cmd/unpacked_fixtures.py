"""Fixtures of trace-cmd that are stored compressed."""

import io
from functools import cache
from pathlib import Path

import zstandard

_FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures/trace_cmd"


@cache
def unpacked(name: str) -> bytes:
    """The content of a compressed fixture."""
    data = (_FIXTURES / name).read_bytes()
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
