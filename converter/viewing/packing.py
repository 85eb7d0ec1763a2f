"""Columns as a page holds them: bytes of equal weight together, deflated, and all of it in base64."""

from __future__ import annotations

import base64
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: What a browser's DecompressionStream calls "deflate".
_LEVEL: Final = 6


class Packer:
    """Columns one after the other; each is described by where it is, its length, and the bytes of a value."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes so far, as the page will have them."""
        return self._size * 4 // 3

    def add(self, column: NDArray[Any], width: int | None = None) -> dict[str, int]:
        """Append numbers, which are not negative unless a width is given; what a page needs to find them."""
        values = np.ascontiguousarray(column)
        if width is None:
            values = values.astype(np.uint64)
            width = max(1, (int(values.max(initial=0)).bit_length() + 7) // 8)
        raw = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
        where = self.add_bytes(np.ascontiguousarray(raw[:, :width].T).tobytes())
        return {**where, "length": len(values), "width": width}

    def add_bytes(self, data: bytes) -> dict[str, int]:
        """Append bytes."""
        packed = zlib.compress(data, _LEVEL)
        at = self._size
        self._parts.append(packed)
        self._size += len(packed)
        return {"at": at, "size": len(packed)}

    def text(self, end: bytes = b"") -> bytes:
        """All of it, and bytes behind it, as the page has it."""
        return base64.b64encode(b"".join([*self._parts, end]))
