"""Field classes of CTF 2's metadata (CTF2-SPEC-2.0, 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Mappings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from converter.formats.ctf.metadata.ctf2.field_locations import LocationResolver
from converter.formats.ctf.metadata.ctf2.json_values import (
    FragmentError,
    Json,
    alignment_of,
    base_of,
    byte_order_of,
    mappings_of,
    ranges_of,
    roles_of,
)
from converter.formats.ctf.metadata.errors import (
    MAX_INTEGER_BITS,
    MAX_LENGTH,
)
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedBoolean,
    FixedFloat,
    FixedInteger,
    Location,
    Mapping,
    Member,
    Option,
    Optional,
    Scope,
    Structure,
    Text,
    VariableInteger,
    Variant,
)
from converter.limits import allowed, limit

#: Field classes that contain other field classes.
_HOLDING: Final = frozenset(
    {"structure", "variant", "optional", "static-length-array", "dynamic-length-array"}
)
_ENCODINGS: Final = frozenset({"utf-8", "utf-16be", "utf-16le", "utf-32be", "utf-32le"})


@dataclass(frozen=True, slots=True)
class _Alias:
    """A named field class; `declared` if it is the same wherever it is used, with its field count and depth."""

    value: Any
    declared: FieldDeclaration | None
    count: int
    depth: int


class FieldParser:
    """Parses field classes in their context and resolves aliases."""

    def __init__(self) -> None:
        self._aliases: dict[str, _Alias] = {}
        #: Fields of all structures so far, and fields of aliases, which are parsed again wherever they are used.
        self._total = 0
        self._expanded = 0
        self._count = 0
        self._depth = 0
        self._deepest = 0
        self._most_fields, self._most_in_all = limit("ctf.fields"), limit("ctf.all-fields")
        self._most_nested = limit("ctf.nesting")
        # Nesting level of aliases that are being parsed again where they are used.
        self._expanding = 0
        self._locations = LocationResolver()
        self._parsers: dict[str, Callable[[Json, tuple[str, ...]], FieldDeclaration]] = {
            "fixed-length-bit-array": self._bits,
            "fixed-length-bit-map": self._bits,
            "fixed-length-boolean": self._boolean,
            "fixed-length-unsigned-integer": self._fixed_integer,
            "fixed-length-signed-integer": self._fixed_integer,
            "fixed-length-floating-point-number": self._float,
            "variable-length-unsigned-integer": self._variable_integer,
            "variable-length-signed-integer": self._variable_integer,
            "null-terminated-string": self._text,
            "static-length-string": self._text,
            "dynamic-length-string": self._text,
            "static-length-blob": self._blob,
            "dynamic-length-blob": self._blob,
            "static-length-array": self._array,
            "dynamic-length-array": self._array,
            "structure": self._structure,
            "variant": self._variant,
            "optional": self._optional,
        }

    def root(
        self, value: Any, path: str, scope: Scope, outer: Mappings[Scope, Structure | None]
    ) -> FieldDeclaration:
        """Return the field class of a scope; `outer` has the structures of the earlier scopes."""
        self._locations.enter(scope, outer)
        # The root structure is not itself a field of a structure.
        return self._root(value, path, fields=-1)

    def has_alias(self, name: str) -> bool:
        """Return True if there is a field class of this name."""
        return name in self._aliases

    def add_alias(self, name: str, value: Any, path: str) -> None:
        """Name a field class. Only its lengths and selectors make it depend on where it is used."""
        self._locations.leave()
        declared = self._root(value, path)
        self._aliases[name] = _Alias(
            value, None if self._locations.located else declared, self._count, self._deepest
        )

    def _root(self, value: Any, path: str, fields: int = 0) -> FieldDeclaration:
        self._count = fields
        self._depth = self._deepest = self._expanding = 0
        result = self._parse(value, path, ())
        self._total += self._count
        return result

    def _parse(self, value: Any, where: str, path: tuple[str, ...]) -> FieldDeclaration:
        if isinstance(value, str):
            return self._alias(value, where, path)
        given = Json(value, where)
        kind = given.text("type")
        # As in CTF 1.8, only field classes that contain others count as a nesting level.
        self._enter(1, int(kind in _HOLDING), where)
        if self._expanding:
            self._expanded += 1
            if self._expanded > limit("ctf.aliases"):
                expected = f"{allowed('ctf.aliases')} that aliases expand to"
                raise FragmentError(where, expected=expected)
        self._depth += 1
        if kind not in self._parsers:
            raise FragmentError(f"{where}.type", expected="a field class", found=kind)
        result = self._parsers[kind](given, path)
        given.finish()
        self._depth -= 1
        return result

    def _enter(self, count: int, depth: int, where: str) -> None:
        """Count fields at this nesting depth."""
        self._count += count
        self._deepest = max(self._deepest, self._depth + depth)
        if self._count > self._most_fields:
            raise FragmentError(where, expected=f"{allowed('ctf.fields')} of a structure")
        if self._total + self._count > self._most_in_all:
            expected = f"{allowed('ctf.all-fields')} of all structures"
            raise FragmentError(where, expected=expected)
        if self._deepest > self._most_nested:
            levels = allowed("ctf.nesting")
            raise FragmentError(where, f"field classes are nested too deeply: {levels}")

    def _alias(self, name: str, where: str, path: tuple[str, ...]) -> FieldDeclaration:
        alias = self._aliases.get(name)
        if alias is None:
            raise FragmentError(where, f"there is no field class alias {name!r}")
        if alias.declared is not None:
            self._enter(alias.count, alias.depth, where)
            return alias.declared
        self._expanding += 1
        result = self._parse(alias.value, where, path)
        self._expanding -= 1
        return result

    # Numbers

    def _bits(self, given: Json, _: tuple[str, ...]) -> FixedBits:
        length = given.integer("length", 1, highest=MAX_INTEGER_BITS)
        flags: tuple[Mapping, ...] = ()
        if given.value["type"] == "fixed-length-bit-map":
            flags = mappings_of(given, "flags", 0, length - 1)
            if not flags:
                raise FragmentError(f"{given.path}.flags", expected="at least one flag")
        order, reversed_bits = byte_order_of(given)
        return FixedBits(length, order, alignment_of(given, "alignment"), flags, reversed_bits)

    def _boolean(self, given: Json, _: tuple[str, ...]) -> FixedBoolean:
        length = given.integer("length", 1, highest=64)
        order, reversed_bits = byte_order_of(given)
        return FixedBoolean(length, order, alignment_of(given, "alignment"), reversed_bits)

    def _fixed_integer(self, given: Json, _: tuple[str, ...]) -> FixedInteger:
        signed = given.value["type"] == "fixed-length-signed-integer"
        order, reversed_bits = byte_order_of(given)
        return FixedInteger(
            given.integer("length", 1, highest=64),
            signed,
            order,
            alignment_of(given, "alignment"),
            base_of(given),
            _labels_of(given, signed=signed),
            frozenset() if signed else roles_of(given),
            reversed_bits=reversed_bits,
        )

    def _float(self, given: Json, _: tuple[str, ...]) -> FixedFloat:
        length = given.integer("length", 1)
        if length not in (16, 32, 64, 128):
            raise FragmentError(
                f"{given.path}.length", expected="16, 32, 64 or 128 bits", found=length
            )
        order, reversed_bits = byte_order_of(given)
        return FixedFloat(length, order, alignment_of(given, "alignment"), reversed_bits)

    def _variable_integer(self, given: Json, _: tuple[str, ...]) -> VariableInteger:
        signed = given.value["type"] == "variable-length-signed-integer"
        roles = frozenset[FieldRole]() if signed else roles_of(given)
        return VariableInteger(signed, base_of(given), _labels_of(given, signed=signed), roles)

    # Texts and bytes

    def _length(self, given: Json) -> int | Location | None:
        kind = given.value["type"]
        if kind.startswith("static"):
            return int(given.integer("length", 0, highest=MAX_LENGTH))
        if not kind.startswith("dynamic"):
            return None
        location, target = self._locations.locate(given, "length-field-location")
        if target is not None and (
            not isinstance(target, FixedInteger | VariableInteger) or target.signed
        ):
            raise FragmentError(
                f"{given.path}.length-field-location", "a length must be an unsigned integer"
            )
        return location

    def _text(self, given: Json, _: tuple[str, ...]) -> Text:
        encoding = given.text("encoding", "utf-8")
        if encoding not in _ENCODINGS:
            raise FragmentError(f"{given.path}.encoding", expected="an encoding", found=encoding)
        return Text(self._length(given), encoding)

    def _blob(self, given: Json, _: tuple[str, ...]) -> Blob:
        length = self._length(given)
        assert length is not None
        media_type = given.text("media-type", "application/octet-stream")
        roles = frozenset[FieldRole]()
        if isinstance(length, int):
            roles = roles_of(given, of_bytes=True)
        if roles and length != 16:
            raise FragmentError(f"{given.path}.length", expected="16 bytes of a UUID", found=length)
        return Blob(length, media_type, roles)

    # Compounds

    def _array(self, given: Json, path: tuple[str, ...]) -> Array:
        length = self._length(given)
        assert length is not None
        where = f"{given.path}.element-field-class"
        element = self._parse(given.get("element-field-class"), where, path)
        return Array(element, length, alignment_of(given, "minimum-alignment"))

    def _structure(self, given: Json, path: tuple[str, ...]) -> Structure:
        frame = self._locations.begin(path)
        members = []
        for number, one in enumerate(given.list("member-classes")):
            member = Json(one, f"{given.path}.member-classes[{number}]")
            name = member.text("name")
            if name in frame.members:
                raise FragmentError(f"{member.path}.name", f"there are two members {name!r}")
            held = member.get("field-class")
            declared = self._parse(held, f"{member.path}.field-class", (*path, name))
            member.finish()
            frame.members[name] = declared
            members.append(Member(name, declared))
        self._locations.end()
        return Structure(tuple(members), alignment_of(given, "minimum-alignment"))

    def _variant(self, given: Json, path: tuple[str, ...]) -> Variant:
        location, target = self._locations.locate(given, "selector-field-location")
        if target is not None and not isinstance(target, FixedInteger | VariableInteger):
            raise FragmentError(
                f"{given.path}.selector-field-location", "a variant's selector must be an integer"
            )
        options: list[Option] = []
        for number, one in enumerate(given.list("options")):
            option = Json(one, f"{given.path}.options[{number}]")
            ranges = ranges_of(option.get("selector-field-ranges"), option, "selector-field-ranges")
            declared = self._parse(option.get("field-class"), f"{option.path}.field-class", path)
            name = option.text("name", "")
            if "name" in option.value and any(one.name == name for one in options):
                raise FragmentError(f"{option.path}.name", f"there are two options {name!r}")
            option.finish()
            options.append(Option(name, declared, ranges))
        if not options:
            raise FragmentError(f"{given.path}.options", expected="at least one option")
        spans = sorted(span for option in options for span in option.ranges)
        if any(before.high >= span.low for before, span in pairwise(spans)):
            raise FragmentError(f"{given.path}.options", "a value selects two options")
        return Variant(location, tuple(options))

    def _optional(self, given: Json, path: tuple[str, ...]) -> Optional:
        location, target = self._locations.locate(given, "selector-field-location")
        ranges = None
        if given.get("selector-field-ranges") is not None:
            name = "selector-field-ranges"
            ranges = ranges_of(given.value[name], given, name)
            if target is not None and not isinstance(target, FixedInteger | VariableInteger):
                raise FragmentError(f"{given.path}.{name}", "only integers have ranges")
        elif target is not None and not isinstance(target, FixedBoolean):
            raise FragmentError(
                f"{given.path}.selector-field-location",
                "a selector without ranges must be a boolean",
            )
        held = given.get("field-class")
        element = self._parse(held, f"{given.path}.field-class", path)
        return Optional(location, element, ranges)


def _labels_of(given: Json, *, signed: bool) -> tuple[Mapping, ...]:
    if signed:
        return mappings_of(given, "mappings", -(1 << 63), (1 << 63) - 1)
    return mappings_of(given, "mappings")
