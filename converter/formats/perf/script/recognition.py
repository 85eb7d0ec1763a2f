"""Lines by which texts of perf script are recognised. This imports nothing else: it is loaded for any input."""

from __future__ import annotations

import re
from typing import Final

_TASK: Final = rb"(?:[^\n#][^\n]{0,60} )?(?:-?[0-9]{1,10}/[ ]*)?-?[0-9]{1,10}[ ]+"
#: A line with a time, after the number of a thread.
SAMPLE_LINE: Final = re.compile(
    rb"^[ ]*"
    + _TASK
    + rb"(?:\[[0-9]{1,6}\][ ]+)?(?:[A-Za-z]{1,8}[ ]+)?[0-9]{1,11}\.(?P<fraction>[0-9]{6,9}):(?:[ ]|\r?$)",
    re.MULTILINE,
)
#: A time anywhere on a line, and what lines without a time and a task have: an event, or an address.
TIME: Final = re.compile(
    rb"(?:^|[ ])[0-9]{1,11}\.(?P<fraction>[0-9]{6,9}):(?:[ ]|\r?$)", re.MULTILINE
)
EVENT_OR_ADDRESS: Final = re.compile(
    rb"^[^#\n][^\n]{0,300}[^ \n]:(?:[ ]|\r?$)|^[^#\n]{0,100}[ \t][0-9a-f]{4,16}(?:[ ]|\r?$)",
    re.MULTILINE,
)
#: The header of ``perf script --header``.
HEADER: Final = re.compile(rb"\A# ========\r?\n# captured on[ ]*: ")
#: A call stack: the line of a sample, and a frame.
STACK: Final = re.compile(
    rb"^[^\s#][^\n]{0,300}\n\t[ ]*[0-9a-f]{1,16} [^\n]{1,4000} \([^\n]{1,4000}\)\r?$", re.MULTILINE
)
#: Lines of the text of ftrace that has a task's name with a number at its end, and of perf report.
_FOREIGN: Final = re.compile(
    rb"^(?:# tracer: |cpus=[0-9]{1,5}\r?$|# (?:Overhead|Total Lost Samples|To display the perf\.data header))",
    re.MULTILINE,
)


def has_foreign_lines(head: bytes) -> bool:
    """Return True if a text is of ftrace, or of another command of perf."""
    return _FOREIGN.search(head) is not None
