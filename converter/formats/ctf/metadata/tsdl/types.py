"""Types as TSDL declares them, before they are resolved: what names refer to is known only where a type is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, cast

from converter.formats.ctf.metadata.field_classes import (
    FixedBits,
    FixedFloat,
    FixedInteger,
    Text,
)

#: What is said of a variant whose options nothing can select, which section 4.2.2 allows.
NO_LABEL: Final = "no label of the enumeration is the name of an option"
#: Types that are the same wherever they are used.
Plain = FixedInteger | FixedBits | FixedFloat | Text


@dataclass(slots=True, eq=False)
class Reference:
    """The name, or dotted path, of a field that holds a length or selects an option."""

    words: tuple[str, ...]
    offset: int
    #: The enclosing structure in whose declaration the first word was found, if any.
    lexical: StructureType | None = None


@dataclass(slots=True, eq=False)
class ArrayType:
    """An array; with a reference, a sequence."""

    element: DeclaredType
    length: int | Reference
    offset: int


@dataclass(slots=True, eq=False)
class MemberType:
    """A member of a structure, or an option of a variant."""

    name: str
    type: DeclaredType
    offset: int


@dataclass(slots=True, eq=False)
class StructureType:
    """A structure."""

    offset: int
    members: dict[str, MemberType] = field(default_factory=dict)
    minimum_alignment: int = 1

    def named(self, name: str) -> MemberType | None:
        """Return the member that a reference means: of exactly this name, or with a leading underscore."""
        return self.members.get(name) or self.members.get(f"_{name}")


@dataclass(slots=True, eq=False)
class VariantType:
    """A variant; one without a selector can only be named."""

    offset: int
    options: list[MemberType]
    selector: Reference | None = None


DeclaredType = Plain | ArrayType | StructureType | VariantType


@dataclass(slots=True)
class TypeScope:
    """The types named in a block, and those of the enclosing blocks."""

    outer: TypeScope | None = None
    aliases: dict[str, DeclaredType] = field(default_factory=dict)
    structures: dict[str, StructureType] = field(default_factory=dict)
    variants: dict[str, VariantType] = field(default_factory=dict)
    enumerations: dict[str, FixedInteger] = field(default_factory=dict)

    def find(self, kind: str, name: str) -> DeclaredType | None:
        """Return the type of that name in one of the four tables, here or in an enclosing block."""
        scope: TypeScope | None = self
        while scope is not None:
            found = getattr(scope, kind).get(name)
            if found is not None:
                return cast(DeclaredType, found)
            scope = scope.outer
        return None
