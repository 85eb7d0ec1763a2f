"""The tokens of the C text after `print fmt:`."""

from __future__ import annotations

import re
from typing import Final

from converter.formats.ftrace.event_format.syntax import FormatSyntaxError
from converter.formats.ftrace.print_format.nodes import MASK

#: Kind (string, character, number, name, operator, end) and text; a number is without its suffix.
Token = tuple[str, str]
END: Final[Token] = ("end", "")

#: Macros that mac80211 left in the formats of some kernels; the values are those of libtraceevent.
STRING_MACROS: Final = {
    "LOCAL_PR_FMT": "%s",
    "STA_PR_FMT": " sta:%pM",
    "VIF_PR_FMT": " vif:%p(%d)",
}

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string> "(?:[^"\\]|\\.)*+" )
      | (?P<character> '(?:[^'\\]|\\.)*+' )
      | (?P<number> 0[xX][0-9A-Fa-f]+ | [0-9]+ ) [uUlL]*
      | (?P<name> [A-Za-z_]\w* )
      | (?P<operator> ->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:=,;.(){}\[\]] )
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPES: Final = {"n": 10, "t": 9, "r": 13, "0": 0}


def tokenize(text: str) -> list[Token]:
    """Split a text into tokens; FormatSyntaxError where there is none."""
    tokens: list[Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position, end)
        if match is None or match.lastgroup is None:
            raise FormatSyntaxError(f"print fmt: cannot read {text[position : position + 20]!r}")
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens


def character_value(text: str) -> int:
    """Return the value of a character constant, quotes included."""
    body = text[1:-1]
    if body.startswith("\\") and len(body) > 1:
        return _ESCAPES.get(body[1], ord(body[1]))
    return ord(body[:1] or "\0")


def integer_value(text: str) -> int:
    """Return the value of a number token, as C's `strtoull(text, NULL, 0)`."""
    if len(text) > 24:
        return MASK
    if text[:2] in ("0x", "0X"):
        return min(int(text, 16), MASK)
    if text.startswith("0"):
        digits = re.match("[0-7]*", text)
        return min(int(digits[0] if digits else "0", 8), MASK)
    return min(int(text), MASK)
