"""The values outside of their entry that templates request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from converter.formats.aix.trcfmt import TemplateFile
from converter.formats.aix.trcfmt.model import DEFAULT_TEMPLATE, Call, Macro, Subroutine


def requested_macros(file: TemplateFile, ids: Iterable[int]) -> set[str]:
    """Return the macros that the templates of some hooks use, including those of the templates that they call."""
    found: set[str] = set()
    waiting = [file.templates.get(id16) or file.templates.get(DEFAULT_TEMPLATE) for id16 in ids]
    seen: set[int] = set()
    pending: list[Any] = [template.body for template in waiting if template is not None]
    while pending:
        for node in _nodes(pending.pop()):
            called: Any = None
            if isinstance(node, Subroutine):
                called = file.templates.get(node.id)
            elif isinstance(node, Call):
                called = file.functions.get(node.name)
            elif isinstance(node, Macro):
                found.add(node.name)
                called = file.templates.get(_template_of(node.name))
            if called is not None and id(called) not in seen:
                seen.add(id(called))
                pending.append(called.body)
    return found


def _template_of(name: str) -> int:
    """Return the ID of the template that `$name` may refer to."""
    if name == "DEFAULT":
        return DEFAULT_TEMPLATE
    try:
        return int(name, 16) if len(name) == 4 else -1
    except ValueError:
        return -1


def _nodes(item: Any) -> Iterator[Any]:
    """Yield an item and everything in it."""
    waiting = [item]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting += node
        elif is_dataclass(node):
            yield node
            waiting += [getattr(node, one.name) for one in fields(node)]
