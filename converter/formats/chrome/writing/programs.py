"""Programs that emit the events of a class, and the columns that they run on."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.formats.chrome.layout import EVENT_ARGUMENTS, SWITCH_RECORD, Phase
from converter.formats.chrome.mapping import (
    CATEGORY,
    HEXADECIMAL,
    ID_FIELDS,
    NAME,
    SWITCH_FIELDS,
    WAKEUPS,
)
from converter.formats.chrome.phases import PHASES, STATE_PHASE
from converter.formats.json_values import emit_programs as op
from converter.formats.json_values.emit_programs import Program
from converter.formats.json_values.programs import Compiler, json_text
from converter.formats.json_values.value_text import reads_as_json
from converter.ir.columns import Column, ListColumn, StructColumn
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    NullClass,
    StructureClass,
)
from converter.ir.forms import type_form
from converter.ir.kinds import Kind, Role
from converter.kernels.tables.strings import StringTable
from converter.projection.timeline_fields import (
    BINDS,
    DURATION,
    FLOW_IN,
    FLOW_OUT,
    ID_SCOPE,
    JSON_TEXT,
    MEMBERS,
    PHASE,
    SCOPE,
    THREAD_DURATION,
    THREAD_TIME,
)

#: Objects nested deeper are read as JSON text (the scanner's limit).
_MAX_LEVELS = 16

_KEYS = {
    NAME: "name",
    CATEGORY: "cat",
    DURATION: "dur",
    THREAD_TIME: "tts",
    THREAD_DURATION: "tdur",
    SCOPE: "s",
    ID_SCOPE: "scope",
    FLOW_IN: "flow_in",
    FLOW_OUT: "flow_out",
}
_TIMES = (DURATION, THREAD_TIME, THREAD_DURATION)
_ID_PLACES = {name: place for place, name in ID_FIELDS.items()}


class Evidence:
    """The extent to which the text of values shows their class: always, for some values, or never."""

    ALWAYS = 0
    SOMETIMES = 1
    NEVER = 2


def evidence(field_class: FieldClass, level: int = 0, *, in_array: bool = False) -> int:
    """Return how reliably reading values of a class finds that class."""
    match field_class:
        case StructureClass(members) if level < _MAX_LEVELS:
            inner = (evidence(member.type, level + 1, in_array=in_array) for member in members)
            return max(inner, default=Evidence.ALWAYS)
        case ArrayClass(element, None) if level < _MAX_LEVELS and not in_array:
            if evidence(element, level + 1, in_array=True) != Evidence.ALWAYS:
                return Evidence.NEVER
            return Evidence.ALWAYS if element == NullClass() else Evidence.SOMETIMES
        case StructureClass() | ArrayClass():
            return Evidence.NEVER
        case IntegerClass():
            known = field_class.signed or field_class == HEXADECIMAL
            return Evidence.ALWAYS if known else Evidence.NEVER
        case BytesClass():
            is_text = field_class == JSON_TEXT and not in_array
            return Evidence.SOMETIMES if is_text else Evidence.NEVER
        case _:
            return Evidence.ALWAYS


def ambiguous_rows(field_class: FieldClass, column: Column) -> NDArray[np.bool_] | None:
    """Return the rows that contain an empty array, or JSON text that could be another value; None without any."""
    match field_class, column:
        case ArrayClass(element), ListColumn(offsets):
            return None if element == NullClass() else np.diff(offsets) == 0
        case BytesClass(), ListColumn(offsets, np.ndarray() as values) if field_class == JSON_TEXT:
            data, ends = values.tobytes(), offsets.tolist()
            spans = itertools.pairwise(ends)
            return np.array([not reads_as_json(data[start:end]) for start, end in spans], np.bool_)
        case StructureClass(members), StructColumn(_, columns):
            result: NDArray[np.bool_] | None = None
            for member, inner in zip(members, columns, strict=True):
                rows = ambiguous_rows(member.type, inner)
                if rows is not None:
                    result = rows if result is None else result | rows
            return result
    return None


@dataclass(frozen=True, slots=True)
class Outline:
    """The facts needed to emit a class, without its columns: standard and argument fields by index, the fields that
    are times, and how reliably the arguments show their classes.
    """

    event_class: EventClass
    standard: tuple[int, ...]
    arguments: tuple[int, ...]
    times: tuple[bool, ...]
    evidence: int

    @classmethod
    def of_class(cls, event_class: EventClass) -> Outline:
        """Return the outline of a class that the capabilities allow."""
        fields = event_class.fields
        if event_class.kind is Kind.SCHED_SWITCH:
            standard = tuple(range(len(SWITCH_FIELDS)))
        elif event_class.kind in WAKEUPS:
            standard = (0,)
        else:
            standard = tuple(
                i for i, field in enumerate(fields) if field.role not in (Role.NONE, Role.VALUE)
            )
        arguments = tuple(i for i in range(len(fields)) if i not in standard)
        levels = (evidence(fields[i].type, 1) for i in arguments)
        times = tuple(part in _TIMES for part in fields)
        return cls(event_class, standard, arguments, times, max(levels, default=Evidence.ALWAYS))

    @property
    def declaration(self) -> str:
        """The member that declares the classes of all arguments."""
        fields = self.event_class.fields
        leading = self.standard if self.is_scheduling else ()
        forms = [type_form(fields[i].type) for i in (*leading, *self.arguments)]
        return f',"arg_types":{_compact(forms)}'

    @property
    def kind_declaration(self) -> str:
        """The member that declares the kind of a wakeup, with the classes of its arguments."""
        own = self.event_class
        category, name = WAKEUPS[own.kind]
        declared: dict[str, object] = {"kind": name}
        if own.name != name:
            declared["name"] = own.name
        if own.category != category:
            declared["category"] = own.category
        if self.evidence != Evidence.ALWAYS:
            declared["types"] = [type_form(field.type) for field in own.fields]
        return f',"arg_types":{_compact(declared)}'

    @property
    def is_plain(self) -> bool:
        """True if the program uses the columns of the class unchanged."""
        is_other = any(self.times) or self.declares_by_row
        return not (is_other or self.event_class.kind is Kind.NATIVE)

    @property
    def declares_by_row(self) -> bool:
        """True if some events declare their classes and others do not."""
        return self.evidence == Evidence.SOMETIMES and self.event_class.kind not in WAKEUPS

    @property
    def is_scheduling(self) -> bool:
        """True if its events are switches or wakeups, all of whose fields are arguments."""
        kind = self.event_class.kind
        return kind is Kind.SCHED_SWITCH or kind in WAKEUPS

    def compile(self, strings: StringTable, *, binds: bool) -> Program:
        """Return the program for columns with ids of these strings. With `binds`, flows end at the enclosing slice."""
        compiler = Compiler()
        if self.event_class.kind is Kind.NATIVE:
            compiler.literal(",\n")
            compiler.value(JSON_TEXT)
        elif self.event_class.kind is Kind.SCHED_SWITCH:
            self._compile_switch(compiler)
        elif self.event_class.kind in WAKEUPS:
            self._compile_wakeup(compiler)
        else:
            self._compile_event(compiler, binds=binds)
        return compiler.program(strings)

    def _compile_event(self, compiler: Compiler, *, binds: bool) -> None:
        fields = self.event_class.fields
        kind = self.event_class.kind
        # The phase comes first in the text but not in the class, and columns are numbered in the class's order: so the
        # fields that precede it in the class follow it in the text.
        has_phase = PHASE in fields
        compiler.literal(",\n{" if has_phase else f',\n{{"ph":"{_usual_phase(kind)}"')
        if has_phase:
            compiler.literal('"ts":')
            compiler.operation(op.EVENT_TIME)
        for index in self.standard:
            self._standard(compiler, fields[index])
        if binds and kind is Kind.FLOW_END and BINDS not in fields:
            compiler.literal(',"bp":"e"')
        if has_phase:
            compiler.operation(op.EVENT_PLACE)
        else:
            compiler.literal(',"ts":')
            compiler.operation(op.EVENT)
        self._arguments(compiler, opened=False)

    def _standard(self, compiler: Compiler, part: Field) -> None:
        if part == PHASE:
            compiler.literal(',"ph":')
            compiler.value(part.type)
        elif part == BINDS:
            compiler.literal(',"bp":"e"')
            compiler.skip()
        elif part == NAME:
            # Catapult's importer rejects the whole file at an event without a name.
            compiler.literal(',"name":')
            compiler.plain_string()
        elif part in (NAME, CATEGORY):
            compiler.string_if(f',"{_KEYS[part]}":')
        elif part == MEMBERS:
            compiler.members()
        elif part.role is Role.ID and part.name in _ID_PLACES:
            outer, _, inner = _ID_PLACES[part.name].partition(".")
            compiler.literal(f',"{outer}":' + (f'{{"{inner}":' if inner else ""))
            compiler.value(part.type)
            compiler.literal("}" if inner else "")
        else:
            compiler.literal(f',"{_KEYS.get(part, part.name)}":')
            compiler.value(part.type, time=part in _TIMES)

    def _arguments(self, compiler: Compiler, *, opened: bool) -> None:
        """Emit the arguments, following others where they are `opened`, and the end of the event."""
        for index in self.arguments:
            part = self.event_class.fields[index]
            compiler.literal("," if opened else ',"args":{')
            compiler.literal(f"{json_text(part.name)}:")
            compiler.value(part.type)
            opened = True
        if opened:
            compiler.literal("}")
        if self.event_class.kind in WAKEUPS:
            compiler.literal(self.kind_declaration)
        elif self.evidence == Evidence.NEVER:
            compiler.literal(self.declaration)
        elif self.evidence == Evidence.SOMETIMES:
            compiler.operation(op.IF_TRUE, compiler.next_column(), self.declaration)
        compiler.literal("}")

    def _compile_switch(self, compiler: Compiler) -> None:
        compiler.literal(f',\n{SWITCH_RECORD.decode()}"ts":')
        compiler.operation(op.EVENT)
        compiler.literal(f',"{EVENT_ARGUMENTS}":{{')
        self._standard_arguments(compiler)

    def _compile_wakeup(self, compiler: Compiler) -> None:
        own = self.event_class
        name = json_text(own.name or WAKEUPS[own.kind][1])
        category = f',"cat":{json_text(own.category)}' if own.category else ""
        compiler.literal(f',\n{{"ph":"{Phase.INSTANT}","name":{name}{category},"ts":')
        compiler.operation(op.EVENT)
        compiler.literal(',"args":{')
        self._standard_arguments(compiler)

    def _standard_arguments(self, compiler: Compiler) -> None:
        """Emit the leading fields of a kind of event as arguments, then the others."""
        for index in self.standard:
            part = self.event_class.fields[index]
            compiler.literal(f'{"," if index else ""}"{part.name}":')
            compiler.value(part.type)
        self._arguments(compiler, opened=True)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _usual_phase(kind: Kind) -> Phase:
    return STATE_PHASE if kind is Kind.STATE else PHASES[kind][0]
