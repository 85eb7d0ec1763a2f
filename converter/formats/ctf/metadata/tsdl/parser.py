"""The blocks of TSDL: trace, clock, stream, event and env, with their attributes (CTF 1.8.3, 7 and appendix C)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from converter.formats.ctf.metadata.field_classes import ByteOrder
from converter.formats.ctf.metadata.tsdl.lexer import Token, TokenKind
from converter.formats.ctf.metadata.tsdl.tokens import TokenReader
from converter.formats.ctf.metadata.tsdl.type_parser import TypeParser
from converter.formats.ctf.metadata.tsdl.types import DeclaredType

_BLOCKS: Final = frozenset({"trace", "clock", "stream", "event", "env", "callsite"})
_DECLARATIONS: Final = frozenset({"typedef", "typealias", "struct", "variant", "enum"})
BYTE_ORDERS: Final[dict[str, ByteOrder]] = {"le": "little", "be": "big", "network": "big"}


@dataclass(slots=True)
class Value:
    """The value of an attribute: a number, a quoted text, or unquoted words."""

    value: int | str
    is_text: bool
    offset: int


@dataclass(slots=True)
class Block:
    """A block: attributes assigned with "=", and types assigned with ":="."""

    name: str
    offset: int
    values: dict[str, Value] = field(default_factory=dict)
    types: dict[str, tuple[DeclaredType, int]] = field(default_factory=dict)


def native_byte_order(tokens: Iterator[Token]) -> ByteOrder | None:
    """Return the trace's byte order, None if it declares none: integers declared before the trace block have it too."""
    depth = 0
    inside = False
    for token in tokens:
        if token.kind is TokenKind.PUNCTUATION:
            depth += (token.text == "{") - (token.text == "}")
        elif token.kind is TokenKind.WORD:
            if depth == 0:
                inside = token.text == "trace"
            elif depth == 1 and inside and token.text == "byte_order":
                next(tokens)
                return BYTE_ORDERS.get(next(tokens, token).text)
    return None


def parse_blocks(
    reader: TokenReader, byte_order: ByteOrder
) -> tuple[list[Block], list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the blocks of a text in order, and remarks about it and tolerated defects: (offset, text).

    Raises:
        TraceError: the text is not valid TSDL; names line and column.

    """
    parser = _BlockParser(reader, byte_order)
    while reader.peek().kind is not TokenKind.END:
        parser.statement()
    return parser.blocks, parser.types.remarks, parser.types.tolerated


class _BlockParser:
    def __init__(self, reader: TokenReader, byte_order: ByteOrder) -> None:
        self._reader = reader
        self.types = TypeParser(reader, byte_order)
        self.blocks: list[Block] = []

    def statement(self) -> None:
        """Parse one statement outside of all blocks."""
        reader = self._reader
        token = reader.peek()
        if token.kind is TokenKind.PUNCTUATION and token.text == ";":
            reader.next()
        elif token.kind is TokenKind.WORD and token.text in _BLOCKS:
            self._block()
        else:
            self._declaration()

    def _block(self) -> None:
        reader = self._reader
        name = reader.next()
        reader.expect("{")
        block = Block(name.text, name.offset)
        if name.text == "env":
            while not reader.accept("}"):
                self._assignment(block)
        else:
            with self.types.scope():
                while not reader.accept("}"):
                    token = reader.peek()
                    if token.kind is TokenKind.WORD and token.text in _DECLARATIONS:
                        self._declaration()
                    elif not reader.accept(";"):
                        self._assignment(block)
        if reader.peek().kind is not TokenKind.END:
            reader.expect(";")
        elif name.text != "env":
            reader.fail(expected="';'")
        self.blocks.append(block)

    def _declaration(self) -> None:
        """Parse a typedef or typealias, or a structure, variant or enumeration that is only named."""
        reader = self._reader
        token = reader.peek()
        if self.types.aliasing():
            reader.expect(";")
            return
        if token.kind is not TokenKind.WORD or token.text not in _DECLARATIONS:
            reader.fail(expected="a block or a declaration of a type")
        self.types.specifier()
        # The semicolon may be missing before another declaration.
        if not (reader.peek().kind is TokenKind.WORD and reader.peek().text in _DECLARATIONS):
            reader.expect(";")

    def _assignment(self, block: Block) -> None:
        """Parse `name.name = value;` or `name.name := type;`."""
        reader = self._reader
        first = reader.peek()
        words = [self._name()]
        while reader.accept("."):
            words.append(reader.word().text)
        name = ".".join(words)
        if reader.accept(":="):
            place = reader.peek().offset
            if name in block.types:
                reader.fail(f"{block.name}.{name} is set twice", at=first)
            block.types[name] = (self.types.type_of_attribute(), place)
        else:
            reader.expect("=")
            if name in block.values:
                reader.fail(f"{block.name}.{name} is set twice", at=first)
            block.values[name] = self._value()
        reader.expect(";")

    def _name(self) -> str:
        """Parse a name; in env it may be quoted."""
        token = self._reader.peek()
        if token.kind is TokenKind.STRING:
            return self._reader.next().text
        return self._reader.word().text

    def _value(self) -> Value:
        reader = self._reader
        token = reader.peek()
        if token.kind is TokenKind.STRING:
            reader.next()
            return Value(token.text, True, token.offset)
        if token.kind is TokenKind.WORD and token.text not in _DECLARATIONS:
            words = [reader.next().text]
            while reader.accept("."):
                words.append(reader.word().text)
            return Value(".".join(words), False, token.offset)
        return Value(reader.signed_integer(), False, token.offset)
