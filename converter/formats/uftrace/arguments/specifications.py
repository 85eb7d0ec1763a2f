"""Specifications of arguments and return values, which describe a record's values (utils/argspec.c, utils/filter.c).

    FUNCTION@arg1/i32,arg2/x,fparg1/64;FUNCTION@retval/s

An argument record does not describe itself, so the recorder's specifications must be determined again: those of the
user first; functions without them have those of the .dbg file of their module, or of the table of well-known functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from converter.errors import TraceError
from converter.formats.elf.demangle import demangled
from converter.formats.uftrace.arguments.patterns import PatternError, compile_extended
from converter.formats.uftrace.info import Info
from converter.formats.uftrace.symbols.debug_info import DebugInfo
from converter.ir.field_classes import Label

_SPECIFICATION = re.compile(
    r"(?:(?P<kind>arg|fparg)(?P<index>[0-9]{1,3})|(?P<returned>retval))"
    r"(?:/(?:"
    r"(?P<format>[diuxoscfSp]?)(?P<bits>[0-9]{1,3})?"
    r"|e:(?P<enum>[A-Za-z_][^%]*)"
    r"|t(?P<size>[0-9]{1,6})(?::(?P<structure>[^%]*))?"
    r"))?"
    r"(?:%(?P<place>.+))?"
)
#: The characters that make a name a pattern (utils/filter.h, REGEX_CHARS).
_PATTERN_CHARACTERS = frozenset(".?*+-^$|()[]{}")
_SIZES = {8: 1, 16: 2, 32: 4, 64: 8}
_MOST_VALUES = 128


class SpecificationError(ValueError):
    """A specification does not follow the grammar."""


@dataclass(frozen=True, slots=True)
class Specification:
    """A value: its name ("arg1", "fparg1", "retval"), the letter of its format, its size in bytes."""

    name: str
    format: str
    size: int
    #: The name of a structure or an enumeration.
    type_name: str = ""
    #: The value's location (kind, and number or name), which other specifications of the same value share.
    place: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a function, in the order in which they are recorded."""

    arguments: tuple[Specification, ...] = ()
    returned: tuple[Specification, ...] = ()


def parse_specification(text: str, long_size: int) -> Specification:
    """Parse a specification: "arg1/x32", "fparg2/32%stack+1", "retval/e:Color", "arg1/t8:Point%RDI".

    Raises:
        SpecificationError: it is not a specification.

    """
    match = _SPECIFICATION.fullmatch(text)
    if match is None:
        raise SpecificationError(f"not a specification: {text[:60]!r}")
    kind = match["kind"] or "arg"
    name = "retval" if match["returned"] else f"{kind}{int(match['index'])}"
    letter = match["format"] or ("f" if kind == "fparg" else "d")
    size = {"c": 1, "f": 8}.get(letter, long_size)
    type_name = ""
    if match["enum"]:
        letter, type_name = "e", match["enum"]
    elif match["size"]:
        letter, size, type_name = "t", int(match["size"]), match["structure"] or ""
    elif match["bits"]:
        bits = int(match["bits"])
        if letter == "f":
            if bits not in (32, 64, 80):
                raise SpecificationError(f"a float of {bits} bits: {text[:60]!r}")
            size = bits // 8
        elif bits in _SIZES:
            size = _SIZES[bits]
        else:
            raise SpecificationError(f"an integer of {bits} bits: {text[:60]!r}")
    place = match["place"] or ""
    if place.startswith("stack"):
        key = ("stack", place.removeprefix("stack"))
    elif place:
        # The last register of a structure in several registers counts.
        key = ("register", place.rpartition("+")[2].rpartition("%")[2].lower())
    else:
        key = ("float" if letter == "f" else "argument", name)
    return Specification(name, letter, size, type_name, key)


@dataclass(slots=True)
class _Item:
    """An entry of a list of specifications: functions, and their values (none: determined automatically)."""

    matches: Callable[[str], bool]
    exact: bool
    specifications: list[Specification] = field(default_factory=list)


class SpecificationLists:
    """All specifications of the recording, looked up by function.

    Specifications that are not understood are skipped and reported to `warn`.
    """

    def __init__(
        self, info: Info, long_size: int, *, debug: bool, warn: Callable[[TraceError], None]
    ) -> None:
        self._long_size = long_size
        self._pattern_type = info.pattern_type
        self._debug = debug
        self._auto = info.auto_args
        self._warn = warn
        self._arguments = list(self._items(info.argspec, "argspec", returned=False))
        self._returned = list(self._items(info.retspec, "retspec", returned=True))
        self._auto_arguments = self._table(info.argauto, "argauto", returned=False)
        self._auto_returned = self._table(info.retauto, "retauto", returned=True)
        #: From enumauto, for all modules; in its own module a .dbg file has precedence.
        self._enums = self._enumerations([info.enumauto])
        self._own_enums: dict[int, dict[str, tuple[Label, ...]]] = {}

    def values(self, name: str, address: int, debug_info: DebugInfo) -> Values:
        """Return the values of a function, given its (demangled) name and its relative address in a module."""
        return Values(
            self._one(name, address, debug_info, returned=False),
            self._one(name, address, debug_info, returned=True),
        )

    def labels(self, type_name: str, debug_info: DebugInfo) -> tuple[Label, ...]:
        """Return the names of an enumeration's values; none where it is not known."""
        own = self._own_enums.get(id(debug_info))
        if own is None:
            own = self._own_enums[id(debug_info)] = self._enumerations(debug_info.enums)
        return own.get(type_name) or self._enums.get(type_name, ())

    def _one(
        self, name: str, address: int, debug_info: DebugInfo, *, returned: bool
    ) -> tuple[Specification, ...]:
        found: list[tuple[Specification, bool]] = []
        known = False
        for item in self._returned if returned else self._arguments:
            if not item.matches(name):
                continue
            specifications = item.specifications or self._automatic(
                name, address, debug_info, returned=returned
            )
            for specification in specifications:
                _add(found, specification, item.exact)
            known = known or bool(specifications)
        if not known and self._auto:
            found = [
                (item, True)
                for item in self._automatic(name, address, debug_info, returned=returned)
            ]
        return tuple(item for item, _ in found)

    def _automatic(
        self, name: str, address: int, debug_info: DebugInfo, *, returned: bool
    ) -> list[Specification]:
        """Return the specifications of the .dbg file if it has any for the function, else those of the table."""
        function = debug_info.functions.get(address)
        if self._debug and function is not None:
            text = function.returned if returned else function.arguments
            if text:
                try:
                    return self._parse_all(text, returned=returned)
                except SpecificationError as error:
                    self._warn(TraceError(f"{name}: {error}", field="dbg"))
        table = self._auto_returned if returned else self._auto_arguments
        return table.get(name, [])

    def _parse_all(self, text: str, *, returned: bool) -> list[Specification]:
        held: list[tuple[Specification, bool]] = []
        for part in text.split(","):
            if not part.startswith(("arg", "fparg", "retval")) or part == "auto-args":
                # A module's name, or an action unrelated to values.
                continue
            if part.startswith("retval") == returned:
                _add(held, parse_specification(part, self._long_size), True)
        if len(held) > _MOST_VALUES:
            raise SpecificationError(f"{len(held)} values of one function")
        return [item for item, _ in held]

    def _items(self, text: str, field_name: str, *, returned: bool) -> Iterator[_Item]:
        for part in text.split(";"):
            name, _, specifications = part.partition("@")
            if not name:
                continue
            try:
                yield _Item(
                    *self._matcher(demangled(name)),
                    self._parse_all(specifications, returned=returned),
                )
            except (SpecificationError, PatternError) as error:
                self._warn(TraceError(str(error), field=f"info.{field_name}"))

    def _table(
        self, text: str, field_name: str, *, returned: bool
    ) -> dict[str, list[Specification]]:
        table: dict[str, list[Specification]] = {}
        for part in text.split(";"):
            name, separator, specifications = part.partition("@")
            if separator:
                try:
                    found = self._parse_all(specifications, returned=returned)
                except SpecificationError as error:
                    self._warn(TraceError(str(error), field=f"info.{field_name}"))
                else:
                    if found:
                        table.setdefault(demangled(name), found)
        return table

    def _matcher(self, pattern: str) -> tuple[Callable[[str], bool], bool]:
        """Return a function that returns True for matching names, and True if the match is exact (no pattern)."""
        plain = _PATTERN_CHARACTERS.isdisjoint(pattern)
        if plain or self._pattern_type == "simple" or pattern.startswith("operator "):
            return (lambda name: name == pattern), True
        if self._pattern_type == "glob":
            if pattern.count("*") > 8:
                raise PatternError(f"too many stars: {pattern[:60]!r}")
            return (lambda name: fnmatchcase(name, pattern)), False
        return compile_extended(pattern), False

    def _enumerations(self, texts: list[str]) -> dict[str, tuple[Label, ...]]:
        found: dict[str, tuple[Label, ...]] = {}
        for text in texts:
            for name, values in _ENUM.findall(text):
                found.setdefault(name, tuple(_labels(values)))
        return found


_ENUM = re.compile(r"enum\s+([A-Za-z_]\w*)\s*\{([^}]*)\}", re.ASCII)
_ENUMERATOR = re.compile(
    r"\s*([A-Za-z_]\w*)\s*(?:=\s*(-?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})))?\s*", re.ASCII
)


def _labels(values: str) -> Iterator[Label]:
    following = 0
    for part in values.split(","):
        match = _ENUMERATOR.fullmatch(part)
        if match is None:
            continue
        if match[2]:
            text = match[2]
            sign = -1 if text.startswith("-") else 1
            digits = text.lstrip("-")
            base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
            try:
                following = sign * int(digits, base)
            except ValueError:
                continue
        if -(1 << 63) <= following < 1 << 63:
            yield Label(following, following, match[1])
        following += 1


def _add(found: list[tuple[Specification, bool]], new: Specification, exact: bool) -> None:
    """Add a specification. It replaces one of the same value, unless only that was exact; else it is appended."""
    for i, (known, known_exact) in enumerate(found):
        if known.place == new.place:
            if exact or not known_exact:
                found[i] = new, exact
            return
    found.append((new, exact))
