"""Columns as a page stores them: bytes of equal significance together, deflated, and everything in base64."""

from __future__ import annotations

import base64
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: The format that a browser's DecompressionStream calls "deflate".
_LEVEL: Final = 6


class Packer:
    """Concatenated columns; each is described by its offset, its length, and the bytes per value."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def size(self) -> int:
        """The number of bytes so far, as encoded in the page."""
        return self._size * 4 // 3

    def add(self, column: NDArray[Any], width: int | None = None) -> dict[str, int]:
        """Append numbers, which are not negative unless a width is given; return the description for the page."""
        values = np.ascontiguousarray(column)
        if width is None:
            values = values.astype(np.uint64)
            width = max(1, (int(values.max(initial=0)).bit_length() + 7) // 8)
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
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
        """Return everything, with `end` appended, as encoded in the page."""
        return base64.b64encode(b"".join([*self._parts, end]))
