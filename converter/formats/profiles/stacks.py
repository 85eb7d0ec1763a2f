"""Call stacks as a tree, in which formats of profiles have them."""

from __future__ import annotations

from converter.projection.domain.stack_table import StackTable

__all__ = ["StackTable"]
