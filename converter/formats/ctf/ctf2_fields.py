"""Field classes of CTF 2's metadata (CTF2-SPEC-2.0, 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Mappings
from dataclasses import dataclass, field
from typing import Any, Final

from converter.formats.ctf.ctf2_json import (
    FragmentError,
    Json,
    alignment_of,
    base_of,
    byte_order_of,
    mappings_of,
    ranges_of,
    roles_of,
)
from converter.formats.ctf.field_classes import (
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
from converter.formats.ctf.metadata_errors import (
    MAX_ALL_FIELDS,
    MAX_DEPTH,
    MAX_EXPANDED,
    MAX_FIELDS,
    MAX_INTEGER_BITS,
)

#: Bytes of a text or blob, and elements of an array, of fixed length.
_MAX_LENGTH: Final = (1 << 31) - 1
ORIGINS: Final = {
    "packet-header": Scope.PACKET_HEADER,
    "packet-context": Scope.PACKET_CONTEXT,
    "event-record-header": Scope.EVENT_HEADER,
    "event-record-common-context": Scope.COMMON_CONTEXT,
    "event-record-specific-context": Scope.SPECIFIC_CONTEXT,
    "event-record-payload": Scope.PAYLOAD,
}
_ENCODINGS: Final = frozenset({"utf-8", "utf-16be", "utf-16le", "utf-32be", "utf-32le"})


@dataclass(slots=True)
class _Frame:
    """A structure under way."""

    path: tuple[str, ...]
    members: dict[str, FieldDeclaration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Alias:
    """A field class with a name; `declared` where it is the same at every place, with its fields and their depth."""

    value: Any
    declared: FieldDeclaration | None
    count: int
    depth: int


class FieldParser:
    """Parses field classes at their places; knows the aliases."""

    def __init__(self) -> None:
        self._aliases: dict[str, _Alias] = {}
        #: Fields of all structures so far, and those that aliases stand for and each place has anew.
        self._total = 0
        self._expanded = 0
        self._count = 0
        self._depth = 0
        self._deepest = 0
        # How many aliases are being taken at their place.
        self._expanding = 0
        # Whether a length or a selector was met.
        self._locates = False
        # Whether fields have a place, and so lengths and selectors a field: not those of an alias.
        self._placed = True
        self._scope = Scope.PAYLOAD
        self._outer: Mappings[Scope, Structure | None] = {}
        self._frames: list[_Frame] = []
        self._by_name: dict[int, tuple[Structure, dict[str, FieldDeclaration]]] = {}
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
        """The field class of a scope; `outer` are those of the scopes before it."""
        self._scope, self._outer, self._placed = scope, outer, True
        return self._root(value, path)

    def has_alias(self, name: str) -> bool:
        """Whether there is a field class of this name."""
        return name in self._aliases

    def add_alias(self, name: str, value: Any, path: str) -> None:
        """Give a field class a name; what it is depends on the place only for its lengths and selectors."""
        self._placed = False
        declared = self._root(value, path)
        self._aliases[name] = _Alias(
            value, None if self._locates else declared, self._count, self._deepest
        )

    def _root(self, value: Any, path: str) -> FieldDeclaration:
        self._count = self._depth = self._deepest = self._expanding = 0
        self._locates = False
        self._frames.clear()
        result = self._parse(value, path, ())
        self._total += self._count
        return result

    def _parse(self, value: Any, where: str, path: tuple[str, ...]) -> FieldDeclaration:
        if isinstance(value, str):
            return self._alias(value, where, path)
        self._enter(1, 1, where)
        if self._expanding:
            self._expanded += 1
            if self._expanded > MAX_EXPANDED:
                raise FragmentError(where, f"aliases stand for more than {MAX_EXPANDED} fields")
        self._depth += 1
        given = Json(value, where)
        kind = given.text("type")
        if kind not in self._parsers:
            raise FragmentError(f"{where}.type", expected="a field class", found=kind)
        result = self._parsers[kind](given, path)
        self._depth -= 1
        return result

    def _enter(self, count: int, depth: int, where: str) -> None:
        """Count fields that are so deeply nested."""
        self._count += count
        self._deepest = max(self._deepest, self._depth + depth)
        if self._count > MAX_FIELDS:
            raise FragmentError(where, f"a structure has more than {MAX_FIELDS} fields")
        if self._total + self._count > MAX_ALL_FIELDS:
            raise FragmentError(where, f"more than {MAX_ALL_FIELDS} fields in all")
        if self._deepest > MAX_DEPTH:
            raise FragmentError(where, f"field classes are nested deeper than {MAX_DEPTH}")

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
            flags = mappings_of(given, "flags", 0)
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
            mappings_of(given, "mappings", -(1 << 63) if signed else 0),
            roles_of(given),
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
        mappings = mappings_of(given, "mappings", -(1 << 63) if signed else 0)
        return VariableInteger(signed, base_of(given), mappings, roles_of(given))

    # Texts and bytes

    def _length(self, given: Json) -> int | Location | None:
        kind = given.value["type"]
        if kind.startswith("static"):
            return int(given.integer("length", 0, highest=_MAX_LENGTH))
        if not kind.startswith("dynamic"):
            return None
        location, target = self._locate(given, "length-field-location")
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
        roles = roles_of(given)
        if FieldRole.METADATA_UUID in roles and length != 16:
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
        frame = _Frame(path)
        self._frames.append(frame)
        members = []
        for number, one in enumerate(given.list("member-classes")):
            member = Json(one, f"{given.path}.member-classes[{number}]")
            name = member.text("name")
            if name in frame.members:
                raise FragmentError(f"{member.path}.name", f"there are two members {name!r}")
            held = member.get("field-class")
            declared = self._parse(held, f"{member.path}.field-class", (*path, name))
            frame.members[name] = declared
            members.append(Member(name, declared))
        self._frames.pop()
        return Structure(tuple(members), alignment_of(given, "minimum-alignment"))

    def _variant(self, given: Json, path: tuple[str, ...]) -> Variant:
        location, target = self._locate(given, "selector-field-location")
        if target is not None and not isinstance(target, FixedInteger | VariableInteger):
            raise FragmentError(
                f"{given.path}.selector-field-location", "a variant's selector must be an integer"
            )
        options = []
        for number, one in enumerate(given.list("options")):
            option = Json(one, f"{given.path}.options[{number}]")
            ranges = ranges_of(option.get("selector-field-ranges"), option, "selector-field-ranges")
            declared = self._parse(option.get("field-class"), f"{option.path}.field-class", path)
            options.append(Option(option.text("name", ""), declared, ranges))
        if not options:
            raise FragmentError(f"{given.path}.options", expected="at least one option")
        return Variant(location, tuple(options))

    def _optional(self, given: Json, path: tuple[str, ...]) -> Optional:
        location, target = self._locate(given, "selector-field-location")
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

    # Locations

    def _locate(self, given: Json, name: str) -> tuple[Location, FieldDeclaration | None]:
        """The field at a location: names from a root down, or from the structure around, whose outer one null means.

        None for a field class without a place.
        """
        self._locates = True
        location = Json(given.get(name), f"{given.path}.{name}")
        path = location.list("path")
        valid = bool(path) and path[-1] is not None
        if not valid or not all(one is None or isinstance(one, str) for one in path):
            raise FragmentError(f"{location.path}.path", expected="a path of names", found=path)
        origin = location.get("origin")
        if origin is None:
            scope, frame = self._scope, len(self._frames) - 1
            while path and path[0] is None:
                frame, path = frame - 1, path[1:]
            names = (*self._frames[frame].path, *path) if frame >= 0 else ()
        elif origin in ORIGINS:
            scope, names = ORIGINS[origin], tuple(path)
        else:
            raise FragmentError(f"{location.path}.origin", expected="an origin", found=origin)
        if not self._placed:
            return Location(scope, names), None
        target = self._at(scope, names)
        if target is None:
            raise FragmentError(location.path, "there is no field before this", found=list(names))
        return Location(scope, names), target

    def _at(self, scope: Scope, names: tuple[Any, ...]) -> FieldDeclaration | None:
        """The field at a path; structures under way are passed through where they are."""
        found: FieldDeclaration | None
        start = 0
        if scope == self._scope:
            # The innermost structure under way that is on the path and has the next name.
            for frame in reversed(self._frames):
                length = len(frame.path)
                if frame.path == names[:length] and names[length:][:1]:
                    found = frame.members.get(names[length])
                    if found is not None:
                        start = length + 1
                        break
            else:
                return None
        else:
            found = self._outer.get(scope) if scope < self._scope else None
        for name in names[start:]:
            while isinstance(found, Array | Optional):
                found = found.element
            if not isinstance(found, Structure):
                return None
            found = self._members(found).get(name)
        return found if names else None

    def _members(self, structure: Structure) -> dict[str, FieldDeclaration]:
        """The members by name."""
        known = self._by_name.get(id(structure))
        if known is None:
            members = {member.name: member.type for member in structure.members}
            # With the structure, so that no other has its place in memory.
            known = self._by_name[id(structure)] = structure, members
        return known[1]
