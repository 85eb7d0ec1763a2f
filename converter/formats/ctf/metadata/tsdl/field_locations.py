"""Resolves types in their context: what the names in lengths and selectors refer to, seen from the root of a scope.

CTF 1.8.3, 7.3: a name is looked up in the structures around its declaration, then in those around its use, then in the
earlier scopes; a path that begins with a scope's name is absolute.
"""

from __future__ import annotations

from collections.abc import Mapping as Mappings
from dataclasses import dataclass, field
from typing import Final

from converter.formats.ctf.metadata.errors import (
    MAX_LENGTH,
    Positions,
)
from converter.formats.ctf.metadata.field_classes import (
    Array,
    FieldDeclaration,
    FixedBits,
    FixedFloat,
    FixedInteger,
    Location,
    Member,
    Option,
    Range,
    Scope,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.tsdl.plain_types import is_character, text_of
from converter.formats.ctf.metadata.tsdl.types import (
    NO_LABEL,
    ArrayType,
    DeclaredType,
    MemberType,
    Reference,
    StructureType,
    VariantType,
)
from converter.limits import allowed, limit

#: The prefixes of absolute paths.
_SCOPES: Final = {
    ("trace", "packet", "header"): Scope.PACKET_HEADER,
    ("stream", "packet", "context"): Scope.PACKET_CONTEXT,
    ("stream", "event", "header"): Scope.EVENT_HEADER,
    ("stream", "event", "context"): Scope.COMMON_CONTEXT,
    ("event", "context"): Scope.SPECIFIC_CONTEXT,
    ("event", "fields"): Scope.PAYLOAD,
}


@dataclass(slots=True)
class _Frame:
    """A structure that is being resolved: its members so far, by their names in the text."""

    type: StructureType
    path: tuple[str, ...]
    members: dict[str, Member] = field(default_factory=dict)

    def find(self, name: str) -> Member | None:
        return self.members.get(name) or self.members.get(f"_{name}")


class TypeResolver:
    """Resolves the types of one trace; counts their fields."""

    def __init__(self, positions: Positions, environment: Mappings[str, str | int]) -> None:
        self._positions = positions
        self._environment = environment
        self._total = 0
        self._count = 0
        self._most_fields = limit("ctf.fields")
        self._scope = Scope.PAYLOAD
        self._outer: Mappings[Scope, Structure | None] = {}
        self._frames: list[_Frame] = []
        self._closed: dict[int, tuple[FieldDeclaration, int]] = {}
        self._depth = 0
        self._by_name: dict[int, tuple[Structure, dict[str, Member]]] = {}
        #: Accepted defects: (offset, text).
        self.tolerated: list[tuple[int, str]] = []
        #: True if a location was found since this was last cleared.
        self._located = False

    def root(
        self,
        declared: DeclaredType,
        offset: int,
        scope: Scope,
        outer: Mappings[Scope, Structure | None],
    ) -> Structure:
        """Return the structure of a scope; `outer` has the structures of the earlier scopes.

        Raises:
            TraceError: the type is not a structure, refers to a missing field, or is too large.

        """
        if not isinstance(declared, StructureType):
            raise self._positions.error(offset, expected="a structure")
        # The root structure is not itself a field of a structure.
        self._scope, self._outer, self._count = scope, outer, -1
        self._frames.clear()
        resolved = self._resolve(declared, ())
        self._total += self._count
        if self._total > limit("ctf.all-fields"):
            expected = f"{allowed('ctf.all-fields')} of all structures"
            raise self._positions.error(offset, expected=expected)
        assert isinstance(resolved, Structure)
        return resolved

    def _resolve(self, declared: DeclaredType, path: tuple[str, ...]) -> FieldDeclaration:
        if isinstance(declared, FixedInteger | FixedBits | FixedFloat | Text):
            self._add(1, 0)
            return declared
        closed = self._closed.get(id(declared))
        if closed is not None:
            self._add(closed[1], declared.offset)
            return closed[0]
        self._depth += 1
        if self._depth > limit("ctf.nesting"):
            message = f"types are nested too deeply: {allowed('ctf.nesting')}"
            raise self._positions.error(declared.offset, message)
        before, located = self._count, self._located
        self._located = False
        self._add(1, declared.offset)
        resolved: FieldDeclaration
        match declared:
            case StructureType():
                resolved = self._structure(declared, path)
            case ArrayType():
                resolved = self._array(declared, path)
            case _:
                resolved = self._variant(declared, path)
        if not self._located:
            self._closed[id(declared)] = resolved, self._count - before
        self._located |= located
        self._depth -= 1
        return resolved

    def _add(self, count: int, offset: int) -> None:
        self._count += count
        if self._count > self._most_fields:
            expected = f"{allowed('ctf.fields')} of a structure"
            raise self._positions.error(offset, expected=expected)

    def _structure(self, declared: StructureType, path: tuple[str, ...]) -> Structure:
        frame = _Frame(declared, path)
        self._frames.append(frame)
        names = displayed_names(declared.members)
        for (name, member), shown in zip(declared.members.items(), names, strict=True):
            resolved = self._resolve(member.type, (*path, shown))
            frame.members[name] = Member(shown, resolved, name)
        self._frames.pop()
        return Structure(tuple(frame.members.values()), declared.minimum_alignment)

    def _array(self, declared: ArrayType, path: tuple[str, ...]) -> FieldDeclaration:
        if not isinstance(declared.length, Reference):
            return Array(self._resolve(declared.element, path), declared.length)
        constant = self._environment_length(declared.length)
        if constant is not None:
            if is_character(declared.element):
                assert isinstance(declared.element, FixedInteger)
                return text_of(declared.element, constant)
            return Array(self._resolve(declared.element, path), constant)
        location, target = self._locate(declared.length)
        if not isinstance(target, FixedInteger) or target.signed:
            message = "the length of a sequence must be an unsigned integer"
            raise self._positions.error(declared.length.offset, message)
        if is_character(declared.element):
            assert isinstance(declared.element, FixedInteger)
            return text_of(declared.element, location)
        return Array(self._resolve(declared.element, path), location)

    def _variant(self, declared: VariantType, path: tuple[str, ...]) -> Variant:
        if declared.selector is None:
            raise self._positions.error(declared.offset, "a variant has no selector")
        location, target = self._locate(declared.selector)
        if not isinstance(target, FixedInteger) or not target.mappings:
            message = "what selects an option must be an enumeration"
            raise self._positions.error(declared.selector.offset, message)
        ranges = {mapping.name: mapping.ranges for mapping in target.mappings}
        names = displayed_names({option.name: option for option in declared.options})
        options = [
            Option(
                shown, self._resolve(option.type, path), _ranges(option, shown, ranges), option.name
            )
            for option, shown in zip(declared.options, names, strict=True)
        ]
        if not any(option.ranges for option in options):
            self.tolerated.append((declared.selector.offset, NO_LABEL))
        return Variant(location, tuple(options))

    def _locate(self, reference: Reference) -> tuple[Location, FieldDeclaration]:
        """Return the field that a reference means."""
        self._located = True
        words = reference.words
        if reference.lexical is not None:
            for frame in reversed(self._frames):
                if frame.type is reference.lexical:
                    found = self._descend(self._scope, frame.path, frame.members, words)
                    if found is not None:
                        return found
        for prefix, scope in _SCOPES.items():
            if words[: len(prefix)] == prefix:
                found = self._in_scope(scope, words[len(prefix) :])
                if found is None:
                    break
                return found
        else:
            for frame in reversed(self._frames):
                found = self._descend(self._scope, frame.path, frame.members, words)
                if found is not None:
                    return found
            for scope in reversed(Scope):
                found = self._in_scope(scope, words) if scope < self._scope else None
                if found is not None:
                    return found
        message = f"there is no field {'.'.join(words)!r} before this"
        raise self._positions.error(reference.offset, message)

    def _environment_length(self, reference: Reference) -> int | None:
        """Return the length from an entry of the environment, or None if the reference is to a field."""
        if reference.lexical is not None or reference.words[0] != "env":
            return None
        name = ".".join(reference.words[1:])
        value = self._environment.get(name)
        if not isinstance(value, int) or not 0 <= value <= MAX_LENGTH:
            raise self._positions.error(
                reference.offset,
                expected=f"a length from 0 to {MAX_LENGTH} in the environment",
                found=value,
                field=f"env.{name}",
            )
        return value

    def _in_scope(
        self, scope: Scope, words: tuple[str, ...]
    ) -> tuple[Location, FieldDeclaration] | None:
        if scope == self._scope:
            frame = self._frames[0]
            return self._descend(scope, (), frame.members, words)
        structure = self._outer.get(scope)
        if structure is None or scope > self._scope:
            return None
        return self._descend(scope, (), self._members(structure), words)

    def _members(self, structure: Structure) -> dict[str, Member]:
        """Return the members by their names in the text."""
        known = self._by_name.get(id(structure))
        if known is None:
            members = {member.declared: member for member in structure.members}
            # Keep the structure too, so that its id() cannot be reused.
            known = self._by_name[id(structure)] = structure, members
        return known[1]

    def _descend(
        self,
        scope: Scope,
        path: tuple[str, ...],
        members: dict[str, Member],
        words: tuple[str, ...],
    ) -> tuple[Location, FieldDeclaration] | None:
        """Return the field at the end of a path of names."""
        found: FieldDeclaration | None = None
        for number, word in enumerate(words):
            member = members.get(word) or members.get(f"_{word}")
            if member is None:
                # The structure itself is still being resolved: continue the path in its frame.
                inner = self._open_frame(scope, path, word)
                if inner is None:
                    return None
                path, members, found = inner.path, inner.members, None
                continue
            path, found = (*path, member.name), member.type
            if isinstance(found, Variant):
                return self._in_options(found, scope, path, words[number + 1 :])
            # For an array that has ended, there is no current element that the path could mean.
            members = self._members(found) if isinstance(found, Structure) else {}
        return None if found is None else (Location(scope, path), found)

    def _in_options(
        self, variant: Variant, scope: Scope, path: tuple[str, ...], words: tuple[str, ...]
    ) -> tuple[Location, FieldDeclaration] | None:
        """Return the field at the end of a path to or through a variant: each option must have one, and all must be
        alike.
        """
        each = [self._in_option(option.type, scope, path, words) for option in variant.options]
        first = each[0] if each else None
        if first is None or any(one is None or not _are_same_key(one, first) for one in each):
            return None
        return first

    def _in_option(
        self,
        declared: FieldDeclaration,
        scope: Scope,
        path: tuple[str, ...],
        words: tuple[str, ...],
    ) -> tuple[Location, FieldDeclaration] | None:
        match declared:
            case Variant():
                return self._in_options(declared, scope, path, words)
            case Structure() if words:
                return self._descend(scope, path, self._members(declared), words)
            case _:
                return None if words else (Location(scope, path), declared)

    def _open_frame(self, scope: Scope, path: tuple[str, ...], word: str) -> _Frame | None:
        """Return the innermost structure being resolved that a name on a path means."""
        if scope == self._scope:
            wanted = ((*path, word), (*path, word.removeprefix("_")))
            for frame in reversed(self._frames):
                if frame.path in wanted:
                    return frame
        return None


def _are_same_key(
    one: tuple[Location, FieldDeclaration], other: tuple[Location, FieldDeclaration]
) -> bool:
    """Return True if fields in two options of a variant hold a length or select an option in the same way."""
    left, right = one[1], other[1]
    return (
        one[0] == other[0]
        and isinstance(left, FixedInteger)
        and isinstance(right, FixedInteger)
        and (left.signed, left.mappings) == (right.signed, right.mappings)
    )


def displayed_names(members: Mappings[str, MemberType]) -> list[str]:
    """Return names without their leading underscore, unless another member has that name or nothing is left."""
    shown = {name: name for name in members if not name.startswith("_")}
    taken = set(shown)
    # Those with the fewest underscores first, so that no name that was already assigned is needed again.
    for name in sorted(members.keys() - taken, key=lambda one: len(one) - len(one.lstrip("_"))):
        bare = name[1:]
        shown[name] = bare if bare and bare not in taken else name
        taken.add(shown[name])
    return [shown[name] for name in members]


def _ranges(
    option: MemberType, shown: str, ranges: Mappings[str, tuple[Range, ...]]
) -> tuple[Range, ...]:
    """Return the values that select an option: those of the label with its name, with or without an underscore."""
    for label in (option.name, shown, f"_{option.name}"):
        if label in ranges:
            return ranges[label]
    return ()
