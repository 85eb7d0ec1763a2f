"""What a `Trace` is asked for and rooms above its own make.

The package, which is imported before any of its modules, says here where to find them; so none of them imports upwards.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: By what it makes, the function that finds what makes it.
HOOKS: dict[str, Callable[[], Callable[..., Any]]] = {}
