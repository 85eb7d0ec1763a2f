"""Reading the tokens of TSDL one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from converter.formats.ctf.metadata.errors import Positions
from converter.formats.ctf.metadata.tsdl.lexer import Token, TokenKind


class TokenReader:
    """A position in a stream of tokens whose last is END."""

    def __init__(self, tokens: Iterator[Token], positions: Positions) -> None:
        self._tokens = tokens
        self._token = next(tokens)
        self.positions = positions

    def peek(self) -> Token:
        """Return the next token without consuming it."""
        return self._token

    def next(self) -> Token:
        """Consume and return the next token."""
        token = self._token
        if token.kind is not TokenKind.END:
            self._token = next(self._tokens)
        return token

    def accept(self, sign: str) -> bool:
        """Consume a sign if it comes next."""
        token = self._token
        if token.text == sign and token.kind is TokenKind.PUNCTUATION:
            self._token = next(self._tokens)
            return True
        return False

    def expect(self, sign: str) -> Token:
        """Consume a sign that must come next."""
        token = self._token
        if token.text != sign or token.kind is not TokenKind.PUNCTUATION:
            self.fail(expected=f"'{sign}'")
        self._token = next(self._tokens)
        return token

    def word(self) -> Token:
        """Consume and return a word that must come next."""
        token = self._token
        if token.kind is not TokenKind.WORD:
            self.fail(expected="a name")
        self._token = next(self._tokens)
        return token

    def signed_integer(self) -> int:
        """Consume and return an integer, possibly signed, that must come next."""
        sign = 1
        if self.accept("-"):
            sign = -1
        else:
            self.accept("+")
        token = self._token
        if token.kind is not TokenKind.INTEGER:
            self.fail(expected="an integer")
        self._token = next(self._tokens)
        return sign * token.number

    def fail(
        self, message: str = "", *, expected: str | None = None, at: Token | None = None
    ) -> NoReturn:
        """Reject a token: the next one unless `at` is given.

        Raises:
            TraceError: always.

        """
        token = self._token if at is None else at
        found = token.text if expected is not None else None
        raise self.positions.error(token.offset, message, expected=expected, found=found)
