"""Recognises CPU profiles by their first members. This imports nothing else: it is loaded to recognise any input."""

from __future__ import annotations

import re
from typing import Final

_SPACE: Final = rb"[ \t\r\n]*"
_START: Final = rb"(?:\xef\xbb\xbf)?" + _SPACE + rb"\{" + _SPACE
#: The members of a profile; DevTools and editors add others.
_FIRST: Final = re.compile(
    _START
    + rb'"(?:nodes|head|startTime|endTime|samples|timeDeltas|timestamps|title|typeId|uid|\$vscode)"'
    + _SPACE
    + rb":"
)
_NODES: Final = re.compile(
    rb'"(?:nodes"' + _SPACE + rb":" + _SPACE + rb'\[|head"' + _SPACE + rb":)" + _SPACE + rb"\{"
)
#: What nodes have: the frame, or in old profiles its members.
_NODE: Final = re.compile(rb'"(?:callFrame|functionName|hitCount|callUID)"' + _SPACE + rb":")
#: Nodes of V8's profiles of memory, and what traces of events have.
_OTHERS: Final = re.compile(rb'"(?:selfSize|traceEvents|edges|\$schema)"' + _SPACE + rb":")
#: Samples or times before the nodes: numbers, where traces of events have objects.
_NUMBERS: Final = re.compile(
    _START
    + rb'(?:"(?:startTime|endTime)"'
    + _SPACE
    + rb":"
    + _SPACE
    + rb"-?[0-9.]+"
    + _SPACE
    + rb","
    + _SPACE
    + rb')*"(?:samples|timeDeltas|timestamps)"'
    + _SPACE
    + rb":"
    + _SPACE
    + rb"\["
    + _SPACE
    + rb"-?[0-9]"
)


def is_profile(head: bytes) -> bool:
    """Return True if a file starts like a CPU profile of V8."""
    if not _FIRST.match(head) or _OTHERS.search(head):
        return False
    if _NUMBERS.match(head):
        return True
    return _NODES.search(head) is not None and _NODE.search(head) is not None
