"""The types of TSDL: structures, variants, enumerations, arrays, and the names given to them (CTF 1.8.3, 4 and C.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

from converter.formats.ctf.metadata.errors import MAX_ALIGNMENT, MAX_LENGTH
from converter.formats.ctf.metadata.field_classes import ByteOrder, FixedInteger, Mapping, Range
from converter.formats.ctf.metadata.tsdl.lexer import C_TYPE_WORDS, KEYWORDS, Token, TokenKind
from converter.formats.ctf.metadata.tsdl.plain_types import PlainTypeParser, as_text
from converter.formats.ctf.metadata.tsdl.tokens import TokenReader
from converter.formats.ctf.metadata.tsdl.types import (
    NO_LABEL,
    ArrayType,
    DeclaredType,
    MemberType,
    Reference,
    StructureType,
    TypeScope,
    VariantType,
)
from converter.limits import allowed, limit


class TypeParser:
    """Parses types at the reader's position; knows the type names that are visible there."""

    def __init__(self, reader: TokenReader, byte_order: ByteOrder) -> None:
        self._reader = reader
        self._plain = PlainTypeParser(reader, byte_order)
        self._scope = TypeScope()
        #: The structures being declared, the innermost last.
        self._structures: list[StructureType] = []
        self._depth = 0
        self._specifiers: dict[str, Callable[[], DeclaredType]] = {
            "struct": self._structure,
            "variant": self._variant,
            "enum": self._enumeration,
            "integer": self._plain.integer,
            "floating_point": self._plain.floating_point,
            "string": self._plain.string,
        }

    @property
    def tolerated(self) -> list[tuple[int, str]]:
        """Accepted defects: (offset, text)."""
        return self._plain.tolerated

    @property
    def remarks(self) -> list[tuple[int, str]]:
        """Accepted oddities: (offset, text)."""
        return self._plain.remarks

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope for the names of types."""
        self._scope = TypeScope(self._scope)
        try:
            yield
        finally:
            assert self._scope.outer is not None
            self._scope = self._scope.outer

    def aliasing(self) -> bool:
        """Parse a typedef or typealias without its semicolon, if one comes next."""
        token = self._reader.peek()
        if token.kind is not TokenKind.WORD or token.text not in ("typealias", "typedef"):
            return False
        self._reader.next()
        if token.text == "typedef":
            for name, declared in self._declarators():
                self._name(name, name.text, declared)
            return True
        declared = self._arrays(self._type_until(":="))
        place = self._reader.expect(":=")
        words = self._words()
        if not words:
            self._reader.fail(expected="the name of a type")
        for word in words:
            if word.text in KEYWORDS and word.text not in C_TYPE_WORDS:
                self._reader.fail(f"{word.text!r} is a keyword and cannot name a type", at=word)
        self._name(place, " ".join(word.text for word in words), declared)
        return True

    def type_of_attribute(self) -> DeclaredType:
        """Return the type that an attribute of a block is set to."""
        return self._type_until(";")

    def specifier(self) -> DeclaredType:
        """Parse a type that begins with a keyword of its own."""
        token = self._reader.next()
        self._depth += 1
        if self._depth > limit("ctf.nesting"):
            levels = allowed("ctf.nesting")
            self._reader.fail(f"types are nested too deeply: {levels}", at=token)
        declared = self._specifiers[token.text]()
        self._depth -= 1
        return declared

    def _type_until(self, end: str) -> DeclaredType:
        """Parse a type, by its specifier or by its name."""
        token = self._reader.peek()
        if token.kind is TokenKind.WORD and token.text in self._specifiers:
            return self.specifier()
        words = self._words()
        if not words:
            self._reader.fail(expected=f"a type and '{end}'")
        return self._alias(words)

    def _words(self) -> list[Token]:
        words: list[Token] = []
        while True:
            token = self._reader.peek()
            if token.kind is not TokenKind.WORD and token.text != "*":
                return words
            words.append(self._reader.next())

    def _alias(self, words: list[Token]) -> DeclaredType:
        name = " ".join(word.text for word in words)
        found = self._scope.find("aliases", name)
        if found is None:
            self._reader.fail(f"there is no type {name!r}", at=words[0])
        return found

    def _name(self, at: Token, name: str, declared: DeclaredType) -> None:
        if name in self._scope.aliases:
            self._reader.fail(f"type {name!r} is already defined", at=at)
        self._scope.aliases[name] = declared

    # Members

    def _declarators(self) -> list[tuple[Token, DeclaredType]]:
        """Parse `type name[...], name ...` and return the names with their types."""
        reader = self._reader
        token = reader.peek()
        if token.kind is TokenKind.WORD and token.text in self._specifiers:
            base = self.specifier()
            name = reader.word()
        else:
            words = self._words()
            if len(words) < 2:
                reader.fail(expected="a type and a name")
            base, name = self._alias(words[:-1]), words[-1]
        result = []
        while True:
            if name.text in KEYWORDS or name.kind is not TokenKind.WORD:
                reader.fail(f"{name.text!r} is a keyword and cannot be a name", at=name)
            result.append((name, self._arrays(base)))
            if not reader.accept(","):
                return result
            name = reader.word()

    def _arrays(self, element: DeclaredType) -> DeclaredType:
        """Return `element` wrapped in the arrays whose brackets come next: the first is the outermost."""
        reader = self._reader
        lengths: list[tuple[int | Reference, int]] = []
        while reader.accept("["):
            token = reader.peek()
            if token.kind is TokenKind.WORD:
                length: int | Reference = self._reference()
            else:
                length = reader.signed_integer()
                if not 0 <= length <= MAX_LENGTH:
                    found = str(length)
                    raise reader.positions.error(
                        token.offset, expected=f"a length from 0 to {MAX_LENGTH}", found=found
                    )
            lengths.append((length, token.offset))
            reader.expect("]")
            if len(lengths) > limit("ctf.nesting"):
                reader.fail(f"an array has too many dimensions: {allowed('ctf.nesting')}")
        for length, offset in reversed(lengths):
            if isinstance(length, Reference):
                self._check_length(length)
            element = as_text(element, length) or ArrayType(element, length, offset)
        return element

    def _reference(self) -> Reference:
        """Parse a dotted path to another field."""
        reader = self._reader
        first = reader.word()
        words = [first.text]
        while reader.accept("."):
            words.append(reader.word().text)
        reference = Reference(tuple(words), first.offset)
        for structure in reversed(self._structures):
            if structure.named(first.text) is not None:
                reference.lexical = structure
                return reference
        if len(words) == 1 and (first.text in KEYWORDS or not self._structures):
            reader.fail(f"there is no field {first.text!r}", at=first)
        return reference

    def _target(self, reference: Reference) -> DeclaredType | None:
        """Return the type of the field that a reference means, if the text before it already tells."""
        if reference.lexical is None:
            return None
        found: DeclaredType = reference.lexical
        for word in reference.words:
            if isinstance(found, VariantType):
                # The contents depend on where the type is used.
                return None
            member = found.named(word) if isinstance(found, StructureType) else None
            if member is None:
                self._refuse(reference, f"there is no field {'.'.join(reference.words)!r}")
            found = member.type
        return None if isinstance(found, VariantType) else found

    def _check_length(self, reference: Reference) -> None:
        target = self._target(reference)
        if target is not None and not (isinstance(target, FixedInteger) and not target.signed):
            self._refuse(reference, "the length of a sequence must be an unsigned integer")

    def _refuse(self, reference: Reference, message: str) -> NoReturn:
        raise self._reader.positions.error(reference.offset, message)

    # Structures, variants, enumerations

    def _tag(self) -> Token | None:
        token = self._reader.peek()
        if token.kind is not TokenKind.WORD:
            return None
        if token.text in KEYWORDS:
            self._reader.fail(f"{token.text!r} is a keyword and cannot be a name")
        return self._reader.next()

    def _structure(self) -> StructureType:
        reader = self._reader
        place = reader.peek()
        tag = self._tag()
        if not reader.accept("{"):
            if tag is None:
                reader.fail(expected="'{'")
            found = self._scope.find("structures", tag.text)
            if not isinstance(found, StructureType):
                reader.fail(f"there is no structure {tag.text!r}", at=tag)
            return found
        structure = StructureType(place.offset)
        self._structures.append(structure)
        with self.scope():
            self._members(structure.members)
        self._structures.pop()
        if reader.peek().kind is TokenKind.WORD and reader.peek().text == "align":
            reader.next()
            reader.expect("(")
            token = reader.peek()
            align = reader.signed_integer()
            check_alignment(align, token, reader)
            structure.minimum_alignment = align
            reader.expect(")")
        if tag is not None:
            if tag.text in self._scope.structures:
                reader.fail(f"structure {tag.text!r} is already defined", at=tag)
            self._scope.structures[tag.text] = structure
        return structure

    def _members(self, members: dict[str, MemberType]) -> None:
        reader = self._reader
        while not reader.accept("}"):
            if not self.aliasing():
                for name, declared in self._declarators():
                    if name.text in members:
                        reader.fail(f"there are two fields {name.text!r}", at=name)
                    members[name.text] = MemberType(name.text, declared, name.offset)
            reader.expect(";")

    def _variant(self) -> VariantType:
        reader = self._reader
        place = reader.peek()
        tag = self._tag()
        selector = None
        if reader.accept("<"):
            selector = self._reference()
            reader.expect(">")
        if reader.accept("{"):
            options: dict[str, MemberType] = {}
            with self.scope():
                self._members(options)
            if not options:
                reader.fail("a variant has no options", at=place)
            if tag is not None:
                if tag.text in self._scope.variants:
                    reader.fail(f"variant {tag.text!r} is already defined", at=tag)
                self._scope.variants[tag.text] = VariantType(place.offset, list(options.values()))
            chosen = list(options.values())
        else:
            if tag is None:
                reader.fail(expected="'{'")
            found = self._scope.find("variants", tag.text)
            if not isinstance(found, VariantType):
                reader.fail(f"there is no variant {tag.text!r}", at=tag)
            chosen = found.options
        if selector is not None:
            target = self._target(selector)
            if target is not None:
                self._check_selector(selector, target, chosen)
        return VariantType(place.offset, chosen, selector)

    def _check_selector(
        self, selector: Reference, target: DeclaredType, options: list[MemberType]
    ) -> None:
        if not isinstance(target, FixedInteger) or not target.mappings:
            self._refuse(selector, "what selects an option must be an enumeration")
        labels = {mapping.name for mapping in target.mappings}
        if not any(option.name in labels or option.name[1:] in labels for option in options):
            self.tolerated.append((selector.offset, NO_LABEL))

    def _enumeration(self) -> FixedInteger:
        reader = self._reader
        place = reader.peek()
        tag = self._tag()
        base: DeclaredType | None = None
        if reader.accept(":"):
            place = reader.peek()
            base = self._type_until("{")
        if not reader.accept("{"):
            if tag is None or base is not None:
                reader.fail(expected="'{'")
            found = self._scope.find("enumerations", tag.text)
            if not isinstance(found, FixedInteger):
                reader.fail(f"there is no enumeration {tag.text!r}", at=tag)
            return found
        if base is None:
            base = self._scope.find("aliases", "int")
            if base is None:
                reader.fail("an enumeration without a type needs a type 'int'", at=place)
        if not isinstance(base, FixedInteger):
            reader.fail("an enumeration's type must be an integer of at most 64 bits", at=place)
        result = replace(base, mappings=self._mappings(base))
        if tag is not None:
            if tag.text in self._scope.enumerations:
                reader.fail(f"enumeration {tag.text!r} is already defined", at=tag)
            self._scope.enumerations[tag.text] = result
        return result

    def _mappings(self, base: FixedInteger) -> tuple[Mapping, ...]:
        reader = self._reader
        lowest = -(1 << (base.length - 1)) if base.signed else 0
        highest = (1 << (base.length - base.signed)) - 1
        ranges: dict[str, list[Range]] = {}
        following = 0
        while not reader.accept("}"):
            label = reader.peek()
            if label.kind not in (TokenKind.WORD, TokenKind.STRING):
                reader.fail(expected="a label")
            reader.next()
            low = high = following
            if reader.accept("="):
                low = high = reader.signed_integer()
                if reader.accept("..."):
                    high = reader.signed_integer()
            if not lowest <= low <= high <= highest:
                reader.fail(
                    f"{low} ... {high} is no range of an integer from {lowest} to {highest}",
                    at=label,
                )
            ranges.setdefault(label.text, []).append(Range(low, high))
            following = high + 1
            if not reader.accept(","):
                reader.expect("}")
                break
        if not ranges:
            reader.fail("an enumeration has no labels")
        return tuple(Mapping(name, tuple(spans)) for name, spans in ranges.items())


def check_alignment(align: int, token: Token, reader: TokenReader) -> None:
    """Reject an alignment that is not a power of two.

    Raises:
        TraceError: it is not a power of two, or is too large.

    """
    if not 1 <= align <= MAX_ALIGNMENT or align & (align - 1):
        reader.fail(f"an alignment must be a power of two, not {align}", at=token)
