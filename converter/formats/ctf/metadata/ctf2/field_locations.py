"""Resolves the locations of length and selector fields in CTF 2's metadata."""

from __future__ import annotations

from collections.abc import Mapping as Mappings
from dataclasses import dataclass, field
from typing import Final

from converter.formats.ctf.metadata.ctf2.json_values import FragmentError, Json
from converter.formats.ctf.metadata.field_classes import (
    FieldDeclaration,
    Location,
    Scope,
    Structure,
    Variant,
)
from converter.formats.ctf.metadata.field_trees import key_kind

ORIGINS: Final = {
    "packet-header": Scope.PACKET_HEADER,
    "packet-context": Scope.PACKET_CONTEXT,
    "event-record-header": Scope.EVENT_HEADER,
    "event-record-common-context": Scope.COMMON_CONTEXT,
    "event-record-specific-context": Scope.SPECIFIC_CONTEXT,
    "event-record-payload": Scope.PAYLOAD,
}


@dataclass(slots=True)
class Frame:
    """A structure that is being parsed, and its members so far."""

    path: tuple[str, ...]
    members: dict[str, FieldDeclaration] = field(default_factory=dict)


class LocationResolver:
    """Resolves locations against the structures being parsed and against the earlier scopes."""

    def __init__(self) -> None:
        # False while an alias is parsed: its fields have no position, so its lengths and selectors cannot be resolved.
        self._has_position = True
        self._scope = Scope.PAYLOAD
        self._outer: Mappings[Scope, Structure | None] = {}
        self._frames: list[Frame] = []
        #: True if a length or a selector was found.
        self.located = False
        self._by_name: dict[int, tuple[Structure, dict[str, FieldDeclaration]]] = {}
        self._below_variants: dict[
            tuple[int, tuple[str, ...]], tuple[Variant, list[FieldDeclaration]]
        ] = {}

    def enter(self, scope: Scope, outer: Mappings[Scope, Structure | None]) -> None:
        """Start the root structure of a scope; `outer` has the structures of the earlier scopes."""
        self._scope, self._outer = scope, outer
        self._has_position, self.located = True, False
        self._frames.clear()

    def leave(self) -> None:
        """Start a field class that has no position, such as that of an alias."""
        self._has_position = self.located = False
        self._frames.clear()

    def begin(self, path: tuple[str, ...]) -> Frame:
        """Start a structure at `path`."""
        frame = Frame(path)
        self._frames.append(frame)
        return frame

    def end(self) -> None:
        """End the innermost structure."""
        self._frames.pop()

    def locate(self, given: Json, name: str) -> tuple[Location, FieldDeclaration | None]:
        """Return the field at a location, or None for a field class without a position.

        A path consists of names, from a root down or relative to the enclosing structure; null goes one structure up.
        """
        self.located = True
        location = Json(given.get(name), f"{given.path}.{name}")
        path = location.list("path")
        valid = bool(path) and path[-1] is not None
        if not valid or not all(one is None or isinstance(one, str) for one in path):
            raise FragmentError(f"{location.path}.path", expected="a path of names", found=path)
        scope = self._scope
        names: list[str] = []
        if location.get("origin") is not None:
            origin = location.text("origin")
            if origin not in ORIGINS:
                raise FragmentError(f"{location.path}.origin", expected="an origin", found=origin)
            scope = ORIGINS[origin]
        elif self._frames:
            names += self._frames[-1].path
        location.finish(extensible=False)
        for one in path:
            if one is not None:
                names.append(one)
            elif names:
                names.pop()
            elif self._has_position:
                message = "the path leads out of the outermost structure"
                raise FragmentError(f"{location.path}.path", message)
        found = Location(scope, tuple(names))
        if not self._has_position:
            return found, None
        targets = self._fields_at(found)
        if not targets:
            raise FragmentError(location.path, "there is no field before this", found=names)
        first = targets[0]
        if any(key_kind(target) != key_kind(first) for target in targets):
            message = "the options of a variant have fields of different classes there"
            raise FragmentError(location.path, message, found=names)
        return found, first

    def _fields_at(self, location: Location) -> list[FieldDeclaration]:
        """Return the fields at a location, looking into structures that are being parsed and into each option of
        variants.

        The list is empty if there is no field, or only one in an array or an optional field that has already ended.
        """
        names = location.path
        if location.scope != self._scope:
            outer = self._outer.get(location.scope) if location.scope < self._scope else None
            return self._fields_below(outer, names) if outer is not None else []
        # The innermost structure being parsed that is on the path and has the next name.
        for frame in reversed(self._frames):
            length = len(frame.path)
            if frame.path == names[:length] and length < len(names):
                found = frame.members.get(names[length])
                if found is not None:
                    return self._fields_below(found, names[length + 1 :])
        return []

    def _fields_below(
        self, found: FieldDeclaration, names: tuple[str, ...]
    ) -> list[FieldDeclaration]:
        if isinstance(found, Variant):
            known = self._below_variants.get((id(found), names))
            if known is None:
                each = [self._fields_below(option.type, names) for option in found.options]
                all_of_them = [one for some in each for one in some] if all(each) else []
                # Keep the variant too, so that its id() cannot be reused.
                known = self._below_variants[id(found), names] = found, _distinct(all_of_them)
            return known[1]
        if not names:
            return [found]
        if not isinstance(found, Structure):
            return []
        member = self._members(found).get(names[0])
        return self._fields_below(member, names[1:]) if member is not None else []

    def _members(self, structure: Structure) -> dict[str, FieldDeclaration]:
        """Return the members by name."""
        known = self._by_name.get(id(structure))
        if known is None:
            members = {member.name: member.type for member in structure.members}
            # Keep the structure too, so that its id() cannot be reused.
            known = self._by_name[id(structure)] = structure, members
        return known[1]


def _distinct(found: list[FieldDeclaration]) -> list[FieldDeclaration]:
    """Return one field of each kind: callers only look at the kind."""
    return list({key_kind(one): one for one in found}.values())
