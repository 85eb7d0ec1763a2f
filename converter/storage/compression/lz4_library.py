"""The library for LZ4, installed only with the extra `lz4`."""

from __future__ import annotations

from types import ModuleType

from converter.errors import UnsupportedError


def lz4_frame() -> ModuleType:
    """Return its module for the frame format.

    Raises:
        UnsupportedError: it is not installed.

    """
    from importlib import import_module

    try:
        return import_module("lz4.frame")
    except ImportError:
        raise UnsupportedError(
            "LZ4 needs a library that is not installed: pip install 'traceconv[lz4]'"
        ) from None
