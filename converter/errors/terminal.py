"""Text from inputs as people may see it: without characters that act on a terminal, and without secrets of URLs."""

from __future__ import annotations

import codecs
import re
from typing import Final

#: A URL in a text, up to what cannot be in one.
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^\s'\"<>]*)")
#: A host with a port, before a path that happens to have an @ sign.
_PORT: Final = re.compile(r"[^:@/?#]*:\d{0,5}(/|\Z)")
#: What may reach a terminal besides printable characters.
_LINE_ENDS: Final = re.compile(r"([\n\t])")


def printable(text: str) -> str:
    """Return a text on one line in which all that is not printable is escaped, as Python does it.

    That is control characters (C0, C1), separators of lines, characters that turn the direction of text around, and
    lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines, escaped like `printable`, with its line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(
        part if part in ("\n", "\t") else printable(part) for part in _LINE_ENDS.split(text)
    )


class PrintableBytes:
    """Escapes text in UTF-8 that arrives in pieces, also within a character."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def escape(self, data: bytes | memoryview) -> bytes:
        """Return the next piece of the text."""
        return printable_lines(self._decoder.decode(data)).encode()

    def finish(self) -> bytes:
        """Return the rest: a character that has no end."""
        return printable_lines(self._decoder.decode(b"", final=True)).encode()


def without_secrets(text: str) -> str:
    """Return a text whose URLs have no passwords, and no queries and fragments, where signatures are."""
    return _URL.sub(_without_secrets, text) if "://" in text else text


def _without_secrets(found: re.Match[str]) -> str:
    scheme, rest = found[1], found[2]
    login, sign, after = rest.rpartition("@")
    # A password may have any character, where it is not escaped as it should be; a path may have the sign, too.
    has_password = ":" in login.partition("/")[0] and not _PORT.match(login)
    if sign and (has_password or "/" not in login):
        rest = after
    if scheme.lower() in ("http://", "https://"):
        rest = re.split("[?#]", rest, maxsplit=1)[0]
    return scheme + rest


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
