"""Functions that a `Trace` needs from packages of higher layers.

The package, which is imported before any of its modules, registers them here; so no module imports upwards.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: By the name of the product, the function that finds the function to make it.
HOOKS: dict[str, Callable[[], Callable[..., Any]]] = {}
