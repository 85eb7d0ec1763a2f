"""Kernels can be read: no function is longer than a few screens, and characters are written as characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import converter

ROOT = Path(converter.__file__).parent
MOST_LINES = 120

_SOURCES = sorted(path for path in ROOT.rglob("*.p*") if path.suffix in {".pyx", ".pxd"})
_HEAD = re.compile(r"( *)(?:cdef|cpdef|def)\b(?!.*\b(?:class|enum|extern|struct|union)\b)")
#: A text, or a comment: neither is code.
_NO_CODE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', re.DOTALL
)
#: A variable that holds a byte of a text, as names in kernels go.
_BYTE = r"\b(?:byte|c|ch|char|character|first|letter|next|phase)"
#: An element of a text.
_ELEMENT = r"\b(?:data|digits|key|letters|line|name|text|window)\[[^\[\]]*\]"
#: Numbers of the printable characters of ASCII.
_NUMBER = r"(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])(?![\w.])"
_COMPARISON = r"(?:[=!]=|[<>]=?)"
_NUMBERED = re.compile(
    rf"(?:{_BYTE}|{_ELEMENT})(?: \| (?:32|0x20))?\)? {_COMPARISON} {_NUMBER}"
    rf"|(?<![\w.]){_NUMBER} {_COMPARISON} (?:{_BYTE}\b|{_ELEMENT})"
    rf"|(?:{_BYTE}|{_ELEMENT}) (?:not )?in \(\d"
    rf"|\b(?:put8|_push\w*)\((?:out, )?{_NUMBER}"
)


def code_of(text: str) -> str:
    """Return the text with blanks in place of strings and comments, line by line as it is."""
    return _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def functions(code: str) -> Iterator[tuple[str, int]]:
    """Yield the first line of each function that has a body, and its number of lines with code."""
    lines = code.split("\n")
    for number, line in enumerate(lines):
        head = _HEAD.match(line)
        if head is None:
            continue
        end, depth = number, 0
        while (
            depth := depth + sum(lines[end].count(a) - lines[end].count(b) for a, b in ("()", "[]"))
        ) > 0:
            end += 1
        if not lines[end].rstrip().endswith(":"):
            continue
        count = end - number + 1
        for further in range(end + 1, len(lines)):
            if lines[further].strip():
                if len(lines[further]) - len(lines[further].lstrip()) <= len(head[1]):
                    break
                count += 1
        yield line.strip(), count


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_are_short(path: Path) -> None:
    long = [
        f"{line}: {size} lines"
        for line, size in functions(code_of(path.read_text()))
        if size > MOST_LINES
    ]
    assert not long


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_characters_are_no_numbers(path: Path) -> None:
    numbered = [
        line.strip() for line in code_of(path.read_text()).split("\n") if _NUMBERED.search(line)
    ]
    assert not numbered


def test_a_long_function_is_found() -> None:
    head = "cdef class A:\n    cdef int run(\n        self, int64_t[:] a\n    ) noexcept nogil:\n"
    code = head + "        at += 1\n" * MOST_LINES + "\n    cdef int b\n"
    assert list(functions(code)) == [("cdef int run(", MOST_LINES + 3)]


@pytest.mark.parametrize(
    "line",
    [
        "if byte == 123 or byte == 91:",
        "while at < end and data[at] != 34:",
        "return 48 <= byte <= 57",
        "if i == end or data[i] | 32 == 101:",
        "if phase in (67, 70):",
        "put8(out, 34)",
        "if self._push_value(86 if is_double else 118, 0, value) < 0:",
    ],
)
def test_characters_as_numbers_are_found(line: str) -> None:
    assert _NUMBERED.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "if byte == c'{' or data[at] != c'\"':",
        "if size == 54 and bits == 64:",
        "if byte < 0x80 or first < 10:",
        "value = word >> 32 & 63",
    ],
)
def test_numbers_that_are_no_characters_are_left(line: str) -> None:
    assert not _NUMBERED.search(line)
