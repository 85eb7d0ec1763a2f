"""The tokens of TSDL, the language of CTF 1.8's metadata (CTF 1.8.3, 7 and appendix C.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum, unique
from typing import Final, NamedTuple

from converter.formats.ctf.metadata.errors import Positions

#: Words that names of C types consist of, none of which can name a field (CTF 1.8.3, C.1.2).
C_TYPE_WORDS: Final = frozenset(
    {
        "void",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "const",
        "_Bool",
        "_Complex",
        "_Imaginary",
    }
)
#: All words that cannot name a field.
KEYWORDS: Final = C_TYPE_WORDS | frozenset(
    {
        "align",
        "callsite",
        "clock",
        "enum",
        "env",
        "event",
        "floating_point",
        "integer",
        "stream",
        "string",
        "struct",
        "trace",
        "typealias",
        "typedef",
        "variant",
    }
)


@unique
class TokenKind(IntEnum):
    """The kind of a token."""

    WORD = 0
    INTEGER = 1
    STRING = 2
    PUNCTUATION = 3
    END = 4


class Token(NamedTuple):
    """A token. `text` is the source text; for string literals, the string's value."""

    kind: TokenKind
    text: str
    offset: int
    number: int = 0


_TOKEN: Final = re.compile(
    r"""
    (?P<gap> [ \t\r\n\f\v]*+ ) (?:
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<word> [A-Za-z_][A-Za-z0-9_]* )
  | (?P<integer> (?: 0[xX][0-9A-Fa-f]{1,40} | 0[bB][01]{1,64} | [0-9]{1,40} ) [uUlL]{0,3} )
  | L?"(?P<string> (?: [^"\\\n\0] | \\[^\n\0] )* )"
  | '(?P<character> (?: [^'\\\n\0] | \\[^\n\0] )+ )'
  | (?P<punctuation> := | \.\.\. | -> | [{}()\[\]<>;:,.=*+\-] )
  | (?P<end> \Z ) )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE: Final = " \t\r\n\f\v"
_ESCAPE: Final = re.compile(
    rb"\\(?:x(0?[0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL
)
_SIMPLE_ESCAPES: Final = {
    b"a": b"\a",
    b"b": b"\b",
    b"e": b"\x1b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
_WORD_CHARACTER: Final = re.compile(r"[A-Za-z0-9_]")


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text lazily, then an END token.

    Raises:
        TraceError: the text has an invalid token; names line and column.

    """
    match = _TOKEN.match
    start, size = 0, len(text)
    while start < size:
        found = match(text, start)
        if found is None:
            raise _bad_token(text, start)
        at = found.end("gap")
        start = found.end()
        kind = found.lastgroup
        if kind == "word":
            yield Token(TokenKind.WORD, found["word"], at)
        elif kind == "punctuation":
            yield Token(TokenKind.PUNCTUATION, found["punctuation"], at)
        elif kind == "integer":
            yield _integer(text, found, at)
        elif kind in ("string", "character"):
            yield Token(TokenKind.STRING, _unescaped(found[kind]), at)
    yield Token(TokenKind.END, "end of the metadata", size)


def _integer(text: str, found: re.Match[str], at: int) -> Token:
    digits = found["integer"]
    end = found.end()
    if end < len(text) and _WORD_CHARACTER.match(text[end]):
        raise Positions(text).error(at, expected="an integer", found=text[at : end + 8])
    bare = digits.rstrip("uUlL")
    try:
        number = (
            int(bare, 8) if len(bare) > 1 and bare.isdigit() and bare[0] == "0" else int(bare, 0)
        )
    except ValueError:
        raise Positions(text).error(at, expected="an integer", found=digits) from None
    if number >= 1 << 64:
        raise Positions(text).error(at, expected="an integer of 64 bits", found=number)
    return Token(TokenKind.INTEGER, digits, at, number)


def _unescaped(text: str) -> str:
    """Return the value of a string literal; like C strings, it ends at a null character."""
    if "\\" not in text:
        return text

    def replaced(found: re.Match[bytes]) -> bytes:
        hexadecimal, octal, four, eight, other = found.groups()
        if hexadecimal:
            return bytes([int(hexadecimal, 16)])
        if octal:
            return bytes([int(octal, 8) & 0xFF])
        if four or eight:
            code = int(four or eight, 16)
            return chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else b"?"
        return _SIMPLE_ESCAPES.get(other, other)

    content = _ESCAPE.sub(replaced, text.encode("utf-8", "surrogateescape"))
    return content.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _bad_token(text: str, start: int) -> Exception:
    positions = Positions(text)
    at = len(text) - len(text[start:].lstrip(_SPACE))
    if text.startswith("/*", at):
        return positions.error(at, "a comment has no end")
    if text[at] in "\"'" or text.startswith('L"', at):
        return positions.error(at, "a string has no end on its line")
    if text[at].isdigit():
        return positions.error(at, expected="an integer of 64 bits", found=text[at : at + 40])
    return positions.error(at, expected="a word, number, string or sign of TSDL", found=text[at])


#: Escape sequences: octal ones have three digits, so that no following digit becomes part of them.
_ESCAPES: Final = {
    **{byte: f"\\{byte:03o}" for byte in (*range(0x20), *range(0x7F, 0x100))},
    ord("\n"): "\\n",
    ord('"'): '\\"',
    ord("\\"): "\\\\",
}


def escaped(text: str) -> str:
    """Return the string literal for a text."""
    content = text.encode("utf-8", "surrogateescape").partition(b"\0")[0]
    return f'"{content.decode("latin-1").translate(_ESCAPES)}"'
