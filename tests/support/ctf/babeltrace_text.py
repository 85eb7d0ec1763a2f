"""The text that Babeltrace prints of a trace, as facts: what it says of each event, wherever it says it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

#: By version: Babeltrace 2.0.4 of Debian, which reads CTF 1.8, and 2.1, which reads both.
PROGRAMS = {"2.0": "babeltrace2", "2.1": "babeltrace2-2.1"}

#: What traceconv says of all events, whether the source did or not.
_ADDED = re.compile(r"(vpid|vtid|pid|tid|procname|cpu_id) = .*")
#: Lengths and selectors that another field implies, which each writer has in its own way.
_IMPLIED = r"_.*_(length|selector) = .*"


def lines_of(path: Path, version: str, *options: str) -> list[str]:
    """The lines of Babeltrace's text; skips the test where that version is missing."""
    program = shutil.which(PROGRAMS[version])
    if program is None:
        pytest.skip(f"{PROGRAMS[version]} is not installed")
    command = [program, "--clock-seconds", *options, str(path)]
    result = subprocess.run(command, capture_output=True, check=False, text=True, errors="replace")
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def said_of(line: str) -> tuple[str, list[str]]:
    """Time and name of an event, and the fields in all of its contexts and its payload, sorted."""
    head, _, rest = line.partition(": {")
    head = re.sub(r" \(\+[0-9?.]+\)", "", head)
    fields: list[str] = []
    depth, start, quoted = 1, 0, False
    for place, sign in enumerate(rest):
        if sign == '"' and rest[place - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (sign in "{[(") - (sign in ")]}")
        if (sign == "," and depth == 1) or (sign == "}" and depth == 0):
            fields.append(rest[start:place].strip())
        if (sign == "," and depth <= 1) or (sign == "{" and depth == 1):
            start = place + 1
    return head, sorted(field for field in fields if field)


def assert_says_all(source: list[str], output: list[str], but: str = "(?!)") -> None:
    """All that Babeltrace says of a trace it says of another, which may say more where traceconv puts it.

    Fields that match the pattern `but` are left out on both sides.
    """
    but = f"{_IMPLIED}|{but}"
    assert len(source) == len(output)
    for before, after in zip(source, output, strict=True):
        head, fields = said_of(before)
        other_head, others = said_of(after)
        assert head == other_head
        kept = [one for one in fields if not re.fullmatch(but, one)]
        left = [one for one in others if not re.fullmatch(but, one)]
        for one in kept:
            assert one in left, f"{one!r} of {before!r} is not in {after!r}"
            left.remove(one)
        assert all(_ADDED.fullmatch(one) for one in left), f"{left} is not in {before!r}"
