"""Lines by which texts of ftrace are recognised. This imports nothing else: it is loaded to recognise any input."""

from __future__ import annotations

import re
from typing import Final

_TASK: Final = rb"[ \t]*\S[^\n]{0,100}-[0-9]{1,10}[ ]+(?:\([ \d-]{1,9}\)[ ]+)?"
_NUMBER: Final = rb"[0-9]{1,18}(?:\.[0-9]{1,9})?"
#: A line with an event: with a CPU in brackets, in the latency format, or in that with the option `verbose`.
EVENT_LINE: Final = re.compile(
    rb"^(?:"
    + _TASK
    + rb"(?:\[[0-9]{1,5}\](?:[ ]+|(?=-0x))(?:[^\s0-9:]\S{1,11}[ ]+)?(?P<time>"
    + _NUMBER
    + rb")|[0-9]{1,5}[^\s0-9:]\S{1,11}[ ]+(?P<late>"
    + _NUMBER
    + rb")(?P<unit>us.?)?[ ]*)"
    rb"|[ \t]*\S[^\n]{0,100}(?:[ ]+[0-9]{1,10}){3} [0-9a-f]{8} [0-9a-f]{8,16} \[[0-9a-f]{8,16}\][ ]"
    rb"[0-9.]{1,24}(?P<millis>ms)? \(\+[0-9.]{1,24}(?:ms)?\)): ?",
    re.MULTILINE,
)
#: A line of the kernel's function graph.
GRAPH_LINE: Final = re.compile(
    rb"^[ \t]*(?P<time>[0-9]{1,10}(?:\.[0-9]{1,9}|[ ]us)[ ]\|[ ]{1,9})?[0-9]{1,4}\)[^\n|]{1,60}\|"
    rb"[^\n]{0,400}(?:\) \{|\);|\}|\*/)",
    re.MULTILINE,
)
#: The first line of the kernel's file, and of trace-cmd's report.
HEADER_LINE: Final = re.compile(rb"\s*(?:# tracer: |TRACE:\r?\n# tracer: |cpus=[0-9]{1,5}\r?\n)")
