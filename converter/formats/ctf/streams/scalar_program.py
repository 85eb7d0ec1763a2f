"""Compiles numbers, texts and bytes into operations: fields that contain no other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from converter.formats.ctf.metadata.field_classes import (
    Blob,
    FieldDeclaration,
    FixedBits,
    FixedBoolean,
    FixedFloat,
    FixedInteger,
    Location,
    Scope,
    Text,
    VariableInteger,
    alignment_of,
)
from converter.formats.ctf.streams.columns import Bytes, Chunks, Plan, Recoded, Scalars
from converter.formats.ctf.streams.program import Assembler, Registers, State
from converter.formats.ctf.streams.scan_programs import FLAGS
from converter.ir.field_classes import IntegerClass

#: Fixed-length texts of at most this many characters are names, which repeat.
_NAME_LENGTH: Final = 32

_UNITS: Final = {"utf-16be": 16, "utf-16le": 16, "utf-32be": 32, "utf-32le": 32}

#: Returns the register of a top-level member by its role or name, and further flags; None: nothing special.
Special = Callable[[FieldDeclaration, Scope, tuple[str, ...]], tuple[int, int] | None]


class ScalarAssembler(Assembler):
    """Appends the operations for a sequence of fields; fields that are kept get slots, and a plan of their column."""

    def __init__(
        self,
        registers: Registers,
        special: Special,
        state: State = State(),  # noqa: B008 - immutable
    ) -> None:
        super().__init__(registers, state)
        self._special = special

    def _register(
        self, declared: FieldDeclaration, scope: Scope, path: tuple[str, ...], *, signed: bool
    ) -> tuple[int, int, int]:
        """Return the register of a field, further flags, and another register for the same value; -1: none."""
        special = self._special(declared, scope, path)
        location = Location(scope, path)
        own = self._registers.of.get(location, -1)
        if own >= 0:
            self._registers.signed[location] = signed
        if special is None:
            return own, 0, -1
        register, flags = special
        return (register, flags, own) if register >= 0 else (own, flags, -1)

    def _fixed(
        self,
        declared: FixedInteger | FixedBits | FixedBoolean | FixedFloat,
        scope: Scope,
        path: tuple[str, ...],
        keep: bool,
    ) -> Plan | None:
        signed = isinstance(declared, FixedInteger) and declared.signed
        register, flags, copy = self._register(declared, scope, path, signed=signed)
        self._begin_bits(declared.byte_order, declared.alignment)
        if declared.length > 64:
            return self._wide(declared.length, declared.alignment, integer_flags(declared), keep)
        if register < 0 and not flags and not keep:
            self._skip(declared.alignment, declared.length)
            return None
        plan = self._scalar_plan(declared) if keep else None
        align = self._align(declared.alignment)
        flags |= integer_flags(declared)
        if (
            self._at_byte
            and not declared.reversed_bits
            and declared.length == 8 * _item_size(declared.length)
        ):
            flags |= FLAGS["BYTEWISE"]
        self._append(
            "INTEGER",
            align=align,
            width=declared.length,
            flags=flags,
            slot=plan.slot if plan is not None else -1,
            register=register,
        )
        self._advance(declared.length)
        if copy >= 0:
            self._append("COPY", source=register, register=copy)
        return plan

    def _scalar_plan(
        self,
        declared: FixedInteger | FixedBits | FixedBoolean | FixedFloat | VariableInteger,
        *,
        counted: bool = True,
    ) -> Scalars:
        if isinstance(declared, FixedFloat):
            stored = np.dtype(f"f{declared.length // 8}")
            column = stored if declared.length >= 32 else np.dtype("f4")
        elif isinstance(declared, FixedBoolean):
            stored = np.dtype(f"u{_item_size(declared.length)}")
            column = np.dtype(np.bool_)
        elif isinstance(declared, VariableInteger):
            stored = column = np.dtype("i8" if declared.signed else "u8")
        else:
            signed = isinstance(declared, FixedInteger) and declared.signed
            stored = column = IntegerClass(declared.length, signed).dtype
        return Scalars(self._slot(stored.itemsize, counted=counted), stored, column)

    def _wide(self, length: int, alignment: int, flags: int, keep: bool) -> Plan | None:
        """Read a number that does not fit any column as bytes."""
        if not keep:
            self._skip(alignment, length)
            return None
        # The ends are not needed: the values are in the next slot.
        ends = self._slot(8)
        slot = self._slot(1, counted=False)
        self._append(
            "INTEGERS",
            align=self._align(alignment),
            width=8,
            flags=flags,
            slot=ends,
            target=length // 8,
            stride=1,
        )
        if length % 8:
            self._append("INTEGER", width=length % 8, flags=flags, slot=slot)
        self._advance(length)
        return Chunks(slot, -(-length // 8))

    def _variable(
        self, declared: VariableInteger, scope: Scope, path: tuple[str, ...], keep: bool
    ) -> Plan | None:
        register, flags, copy = self._register(declared, scope, path, signed=declared.signed)
        plan = self._scalar_plan(declared) if keep else None
        self._append(
            "VARIABLE",
            align=self._byte(8),
            flags=flags | (FLAGS["SIGNED"] if declared.signed else 0),
            slot=plan.slot if plan is not None else -1,
            register=register,
        )
        self._advance_by_multiple(8)
        if copy >= 0:
            self._append("COPY", source=register, register=copy)
        return plan

    def _text(self, declared: Text, scope: Scope, path: tuple[str, ...], keep: bool) -> Plan | None:
        unit = _UNITS.get(declared.encoding, 8)
        if declared.length is not None:
            return self._bytes(declared.length, unit, FLAGS["TEXT"], scope, path, keep, declared)
        register, _, _ = self._register(declared, scope, path, signed=False)
        plan, slot, flags = self._text_plan(declared, keep)
        self._append(
            "ENDED", align=self._byte(8), width=unit, flags=flags, slot=slot, register=register
        )
        self._advance_by_multiple(8)
        return plan

    def _text_plan(self, declared: Text | Blob, keep: bool) -> tuple[Plan | None, int, int]:
        if not keep:
            return None, -1, 0
        recoded = isinstance(declared, Text) and declared.encoding in _UNITS
        if (
            isinstance(declared, Text)
            and not recoded
            and isinstance(declared.length, int)
            and declared.length <= _NAME_LENGTH
        ):
            slot = self._slot(4)
            return Scalars(slot, np.dtype("i4"), np.dtype("i4")), slot, FLAGS["INTERNED"]
        slot = self._slot(8)
        self._slot(1, counted=False)
        if recoded:
            assert isinstance(declared, Text)
            return Recoded(slot, declared.encoding), slot, 0
        return Bytes(slot), slot, 0

    def _bytes(
        self,
        length: int | Location,
        unit: int,
        flags: int,
        scope: Scope,
        path: tuple[str, ...],
        keep: bool,
        declared: Text | Blob,
    ) -> Plan | None:
        register, _, _ = self._register(declared, scope, path, signed=False)
        if register < 0 and not keep and isinstance(length, int) and length < 1 << 36:
            self._skip(alignment_of(declared), 8 * length)
            return None
        plan, slot, more = self._text_plan(declared, keep)
        constant, source = self._length(length)
        self._append(
            "BYTES",
            align=self._byte(alignment_of(declared)),
            width=unit,
            flags=flags | more,
            slot=slot,
            register=register,
            target=constant,
            source=source,
        )
        if source < 0:
            self._advance(8 * constant)
        else:
            self._advance_by_multiple(8)
        return plan


def _item_size(bits: int) -> int:
    return 1 if bits <= 8 else 2 if bits <= 16 else 4 if bits <= 32 else 8


def integer_flags(declared: FixedInteger | FixedBits | FixedBoolean | FixedFloat) -> int:
    """Return the flags of an operation that reads a number."""
    flags = FLAGS["BIG"] if declared.byte_order == "big" else 0
    if declared.reversed_bits:
        flags |= FLAGS["REVERSED"]
    if isinstance(declared, FixedInteger) and declared.signed:
        flags |= FLAGS["SIGNED"]
    return flags
