"""Compiles field classes into kernel programs: one finds the ends of records, one decodes their fields.

Both are compiled from the same declarations. The first keeps only what it needs to find the next record (lengths,
selectors, IDs, times, the thread) and skips everything else in one step; the second stores every delivered field.
"""

from __future__ import annotations

from collections.abc import Callable

from converter.errors import TraceError
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FixedBits,
    FixedBoolean,
    FixedFloat,
    FixedInteger,
    Location,
    Optional,
    Range,
    Scope,
    Structure,
    Text,
    VariableInteger,
    Variant,
    alignment_of,
)
from converter.formats.ctf.streams.columns import (
    ConstantText,
    FieldMember,
    Lists,
    Optionals,
    Plan,
    Structures,
    Unions,
    field_class,
    is_spread,
    kept_members,
)
from converter.formats.ctf.streams.program import State
from converter.formats.ctf.streams.scalar_program import ScalarAssembler, integer_flags
from converter.formats.ctf.streams.scan_programs import MAX_DEPTH


class FieldAssembler(ScalarAssembler):
    """Appends the operations for a sequence of structures."""

    def structure(
        self, structure: Structure | None, scope: Scope, path: tuple[str, ...] = ()
    ) -> None:
        """Append operations that find the end of a structure."""
        if structure is not None:
            self._structure(structure, scope, path, None)

    def members(
        self, structure: Structure | None, scope: Scope, wanted: Callable[[FieldMember], bool]
    ) -> list[tuple[FieldMember, Plan]]:
        """Append operations that decode the wanted members of a top-level structure."""
        if structure is None:
            return []
        return self._structure(structure, scope, (), wanted)

    def _structure(
        self,
        structure: Structure,
        scope: Scope,
        path: tuple[str, ...],
        wanted: Callable[[FieldMember], bool] | None,
    ) -> list[tuple[FieldMember, Plan]]:
        self._skip(alignment_of(structure), 0)
        kept = {}
        if wanted is not None:
            kept = {
                member.name: member
                for member in kept_members(structure, scope, path)
                if wanted(member)
            }
        plans = []
        for member in structure.members:
            keep = kept.get(member.name)
            plan = self._field(member.type, scope, (*path, member.name), keep is not None)
            if keep is not None:
                assert plan is not None
                plans.append((keep, plan))
        return plans

    def _field(
        self, declared: FieldDeclaration, scope: Scope, path: tuple[str, ...], keep: bool
    ) -> Plan | None:
        match declared:
            case FixedInteger() | FixedBits() | FixedBoolean() | FixedFloat():
                return self._fixed(declared, scope, path, keep)
            case VariableInteger():
                return self._variable(declared, scope, path, keep)
            case Text():
                if is_spread(declared):
                    assert declared.element is not None and declared.length is not None
                    array = Array(declared.element, declared.length)
                    return self._array(array, scope, path, keep)
                return self._text(declared, scope, path, keep)
            case Blob():
                return self._bytes(declared.length, 8, 0, scope, path, keep, declared)
            case Array():
                return self._array(declared, scope, path, keep)
            case Structure():
                return self._inner_structure(declared, scope, path, keep)
            case Variant():
                return self._variant(declared, scope, path, keep)
            case Optional():
                return self._optional(declared, scope, path, keep)

    def _array(
        self, declared: Array, scope: Scope, path: tuple[str, ...], keep: bool
    ) -> Plan | None:
        special = self._special(declared, scope, path)
        if special is not None and special[0] >= 0:
            blob = Blob(declared.length, roles=declared.roles)
            return self._bytes(declared.length, 8, 0, scope, path, keep, blob)
        element = declared.element
        constant, source = self._length(declared.length)
        alignment = alignment_of(declared)
        scalar = (
            isinstance(element, FixedInteger | FixedBits | FixedBoolean | FixedFloat)
            and element.length <= 64
            and Location(scope, path) not in self._registers.of
        )
        if scalar:
            assert isinstance(element, FixedInteger | FixedBits | FixedBoolean | FixedFloat)
            stride = -(-element.length // element.alignment) * element.alignment
            bits = (constant - 1) * stride + element.length if constant else 0
            self._begin_bits(element.byte_order, alignment)
            if not keep and source < 0 and bits < 1 << 39:
                self._skip(alignment, bits)
                return None
            slot = -1
            plan: Plan | None = None
            if keep:
                slot = self._slot(8)
                plan = Lists(slot, self._scalar_plan(element, counted=False))
            self._append(
                "INTEGERS",
                align=self._align(alignment),
                width=element.length,
                flags=integer_flags(element),
                slot=slot,
                target=constant,
                source=source,
                stride=element.alignment,
            )
            if source < 0:
                self._advance(bits)
            else:
                self._advance_by_multiple(stride if element.length == stride else 1)
            return plan
        return self._loop(declared, scope, path, keep)

    def _loop(
        self, declared: Array, scope: Scope, path: tuple[str, ...], keep: bool
    ) -> Plan | None:
        if self._depth == MAX_DEPTH:
            raise TraceError("arrays are nested too deeply", field="metadata")
        constant, source = self._length(declared.length)
        self._skip(alignment_of(declared), 0)
        slot = self._slot(8) if keep else -1
        loop = self._append("LOOP", slot=slot, target=constant, source=source)
        outside = self.state
        once, self._once = self._once, False
        self._depth += 1
        self._barrier = len(self._operations)
        # An element starts where the last one ended; only its alignment is known.
        self._go_to(State())
        self._skip(alignment_of(declared.element), 0)
        element = self._field(declared.element, scope, path, keep)
        inside = self.state
        self._append("LOOP_END")
        self._depth -= 1
        self._once = once
        loop[8] = len(self._operations)
        self._join([outside, inside])
        if not keep:
            return None
        assert element is not None
        return Lists(slot, element)

    def constant_text(self, text: str) -> Plan:
        """Return the plan of a column with the same text for every record."""
        slot = self._slot(1)
        self._count(slot)
        return ConstantText(slot, text)

    def _inner_structure(
        self, declared: Structure, scope: Scope, path: tuple[str, ...], keep: bool
    ) -> Plan | None:
        if not keep:
            self._structure(declared, scope, path, None)
            return None
        plans = self._structure(declared, scope, path, lambda _: True)
        # The number of structures, needed also for those without members.
        slot = self._slot(1)
        self._count(slot)
        return Structures(tuple(plan for _, plan in plans), slot)

    def _variant(
        self, declared: Variant, scope: Scope, path: tuple[str, ...], keep: bool
    ) -> Plan | None:
        slot = self._slot(2) if keep else -1
        select = self._append(
            "SELECT",
            slot=slot,
            source=self._registers.of[declared.selector],
            flags=self._selector_flags(declared.selector),
        )
        before = self.state
        once, self._once = self._once, False
        ranges: list[list[int]] = []
        states, jumps, plans = [], [], []
        for number, option in enumerate(declared.options):
            self._go_to(before)
            self._barrier = start = len(self._operations)
            plan = self._field(option.type, scope, path, keep)
            if plan is not None:
                plans.append(plan)
            states.append(self.state)
            jumps.append(self._append("JUMP"))
            ranges += self._bounds(option.ranges, declared.selector, number, start)
        for jump in jumps:
            jump[6] = len(self._operations)
        self._once = once
        self._select(select, ranges)
        self._join(states or [before])
        return Unions(slot, tuple(plans)) if keep else None

    def _optional(
        self, declared: Optional, scope: Scope, path: tuple[str, ...], keep: bool
    ) -> Plan | None:
        slot = self._slot(1) if keep else -1
        select = self._append(
            "SELECT",
            slot=slot,
            source=self._registers.of[declared.selector],
            flags=self._selector_flags(declared.selector),
        )
        before = self.state
        once, self._once = self._once, False
        self._barrier = start = len(self._operations)
        plan = self._field(declared.element, scope, path, keep)
        self._once = once
        select[8] = len(self._operations)
        wanted = declared.ranges if declared.ranges is not None else (Range(1, (1 << 64) - 1),)
        self._select(select, [*self._bounds(wanted, declared.selector, 1, start)])
        self._join([before, self.state])
        if not keep:
            return None
        assert plan is not None
        return Optionals(slot, plan, field_class(declared.element, scope, path))
