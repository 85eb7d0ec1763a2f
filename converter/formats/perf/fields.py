"""Names that recordings of perf and their texts have in common."""

from __future__ import annotations

from typing import Final

#: The category of the kernel's records but samples.
CATEGORY: Final = "perf"
