"""The answers to the scan's queries about symbols: names, and the decoding of values of entries and exits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from converter.errors import RemarkError, TraceError
from converter.formats.elf.demangle import demangled
from converter.formats.uftrace.arguments.shown_values import is_text_of, recorded_fields, text_field
from converter.formats.uftrace.arguments.specifications import Specification, SpecificationLists
from converter.formats.uftrace.layout import FIRST_SYMBOL, SYMBOL_SIZE, symbol_address
from converter.formats.uftrace.mapping import (
    CATEGORY,
    NAME,
    SOURCE_LINE,
    argument_field,
    slice_begin,
    slice_end,
    unmatched_end,
    value_class,
)
from converter.formats.uftrace.reading.kernels.scan_functions import (
    BYTES,
    FLOAT80,
    REGISTER,
    SIGNED,
    TEXT,
    UNSIGNED,
)
from converter.formats.uftrace.symbols.symbol_files import Module
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    NullClass,
    StringClass,
)
from converter.ir.kinds import Kind
from converter.ir.trace import Trace

if TYPE_CHECKING:
    from converter.formats.uftrace.side_table import Tables

#: For an entry or exit without values, which needs no program.
NO_PROGRAM = -1
#: For a function whose source location is not known, or not wanted.
NO_SOURCE = -1
#: The class of events that are skipped.
LEFT_OUT = -1
#: Formats of values whose text differs from that of others of the same type: signed integers that are never shown in
#: hexadecimal, and objects of std::string.
SHOWN_OTHERWISE = frozenset("iS")


class Place(Enum):
    """The location of a column's values."""

    NAME = auto()
    CATEGORY = auto()
    STRING = auto()
    WORD = auto()
    SPAN = auto()
    #: The text that is shown for the value of the previous field, with which it shares the word.
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """The locations of a class's columns: the index of the (first) word among `words` per row; a STRING's is an id."""

    places: tuple[tuple[Place, int], ...]
    words: int
    #: The letters of the formats of values; "" for fields that are not values.
    formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Operations (operation, bytes) and the classes of their events, as `FunctionTable.add_program` expects them."""

    operations: tuple[tuple[int, int], ...]
    class_id: int
    unmatched: int


@dataclass(frozen=True, slots=True)
class Site:
    """The arguments of `FunctionTable.set_site`: ids of a function's names, programs, id of its source location."""

    name: int
    category: int
    entry: int
    leave: int
    source: int = NO_SOURCE


def columns_of(
    event_class: EventClass, *, recorded: bool, formats: Mapping[str, str] | None = None
) -> ClassColumns:
    """Return the locations of the columns of a class whose values are consecutive in the order of its fields.

    The source location is not a value, but a property of the function. Texts of values are in no record if uftrace
    `recorded` them; if this converter wrote them, only that of a return value is not.
    """
    fields = event_class.fields
    placed = event_class.kind is Kind.SLICE_BEGIN and fields[-1:] == (SOURCE_LINE,)
    first_text = 1 if recorded else max(len(recorded_fields(event_class.kind, fields)), 1)
    locations = []
    word = last = 0
    for number, field in enumerate(fields):
        if number >= first_text and is_text_of(field, fields[number - 1]):
            locations.append((Place.TEXT, last))
            continue
        last = word
        if field == NAME:
            locations.append((Place.NAME, 0))
        elif field == CATEGORY:
            locations.append((Place.CATEGORY, 0))
        elif placed and number == len(fields) - 1:
            locations.append((Place.STRING, word))
            word += 1
        elif isinstance(field.type, StringClass | BytesClass | NullClass):
            locations.append((Place.SPAN, word))
            word += 2
        else:
            locations.append((Place.WORD, word))
            word += 1
    letters = [(formats or {}).get(field.name, "") for field in fields]
    return ClassColumns(tuple(locations), word, tuple(letters))


class Functions:
    """The programs and names of symbols, created when a record first refers to one.

    Classes are added to the trace on demand. `columns` has the columns of each of these classes, by class id.
    """

    def __init__(
        self,
        trace: Trace,
        specifications: SpecificationLists,
        tables: Tables | None,
        warn: Callable[[TraceError], None],
        *,
        source_lines: bool,
    ) -> None:
        self._trace = trace
        self._specifications = specifications
        self._tables = tables
        self._warn = warn
        self._source_lines = source_lines
        self._class_ids: dict[tuple[EventClass, ClassColumns], int] = {}
        self._numbers: dict[Program, int] = {}
        self.columns: dict[int, ClassColumns] = {}
        #: In the order of their numbers, which are the same in every pass.
        self.programs: list[Program] = []
        self._sites: dict[tuple[int, int], Site] = {}

    def class_id(
        self,
        event_class: EventClass,
        values: tuple[Specification, ...] = (),
        *,
        recorded: bool = True,
    ) -> int:
        """Return the id of a class, added if new; classes that are shown or recorded differently are distinct."""
        formats = {item.name: item.format for item in values if item.format in SHOWN_OTHERWISE}
        columns = columns_of(event_class, recorded=recorded, formats=formats)
        key = event_class, columns
        if key not in self._class_ids:
            id = self._trace.add_class(event_class)
            self._class_ids[key] = id
            self.columns[id] = columns
        return self._class_ids[key]

    def site(self, number: int, module: Module, symbol: int) -> Site:
        """Return the site of a symbol of module `number`."""
        key = number, symbol
        if key not in self._sites:
            self._sites[key] = (
                self._recorded_site(module, symbol)
                if self._tables is None
                else self._tabled_site(self._tables, module, symbol)
            )
        return self._sites[key]

    def _recorded_site(self, module: Module, symbol: int) -> Site:
        name = demangled(module.symbols.names[symbol].decode("utf-8", "surrogateescape"))
        address = int(module.symbols.starts[symbol])
        values = self._specifications.values(name, address, module.symbols.debug_info)
        arguments = self._fields(values.arguments, module)
        returned = self._fields(values.returned, module)
        strings = self._trace.strings
        source = ""
        if self._source_lines and self._tables is None:
            source = module.symbols.debug_info.source(address)
        begin = 0
        if arguments:
            fields = (*arguments, SOURCE_LINE) if source else arguments
            begin = self.class_id(slice_begin(fields), values.arguments)
        return Site(
            strings.intern(name),
            strings.intern(module.name),
            self._program(_operations(values.arguments), begin, begin) if arguments else NO_PROGRAM,
            self._program(
                _operations(values.returned),
                self.class_id(slice_end(returned), values.returned),
                self.class_id(unmatched_end(returned), values.returned),
            )
            if returned
            else NO_PROGRAM,
            strings.intern(source) if source else NO_SOURCE,
        )

    def _tabled_site(self, tables: Tables, module: Module, symbol: int) -> Site:
        """Return the site of a symbol of another format's trace, which the side table describes."""
        address = int(module.symbols.starts[symbol])
        number = (address - FIRST_SYMBOL) // SYMBOL_SIZE
        if not 0 <= number < len(tables.symbols) or symbol_address(number) != address:
            return self._recorded_site(module, symbol)
        if number == tables.mark_symbol:
            left_out = self._program((), LEFT_OUT, LEFT_OUT)
            return Site(0, 0, left_out, left_out)
        held = tables.symbols[number]
        values = self._specifications.values(held.name, address, module.symbols.debug_info)
        strings = self._trace.strings
        programs: list[int] = []
        source = NO_SOURCE
        for kind, signature in (
            (Kind.SLICE_BEGIN, _named(tables.signatures[held.entry])),
            (Kind.SLICE_END, tables.signatures[held.exit]),
        ):
            placed = kind is Kind.SLICE_BEGIN and signature[-1:] == (SOURCE_LINE,)
            if placed:
                source = strings.intern(held.source)
            operations = _operations_of(
                signature[:-1] if placed else recorded_fields(kind, signature),
                values.arguments if kind is Kind.SLICE_BEGIN else values.returned,
            )
            if operations is None:
                self._warn(RemarkError(f"the values of {held.name!r} have no fixed size"))
                return self._recorded_site(module, symbol)
            id = self.class_id(EventClass(kind, fields=signature), recorded=False)
            programs.append(self._program(operations, id, id))
        names = strings.intern(held.name), strings.intern(held.category)
        return Site(*names, programs[0], programs[1], source)

    def _fields(
        self, specifications: tuple[Specification, ...], module: Module
    ) -> tuple[Field, ...]:
        """Return the fields of values, each followed by its text where it is shown as one.

        The text of a return value depends on the value alone, so that a directory that is written again has it too.
        """
        fields: list[Field] = []
        for item in specifications:
            labels: tuple[Label, ...] = ()
            if item.format == "e":
                labels = self._specifications.labels(item.type_name, module.symbols.debug_info)
            held = value_class(item.format, item.size, labels, item.type_name)
            fields.append(argument_field(item.name, held))
            text = text_field(fields[-1])
            if text is not None and (item.name != "retval" or item.format != "p"):
                fields.append(text)
        return tuple(fields)

    def _program(
        self, operations: tuple[tuple[int, int], ...], class_id: int, unmatched: int
    ) -> int:
        program = Program(operations, class_id, unmatched)
        if program not in self._numbers:
            self._numbers[program] = len(self.programs)
            self.programs.append(program)
        return self._numbers[program]


def _named(signature: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of an entry, which has a name."""
    return signature if NAME in signature else (NAME, CATEGORY, *signature)


def operations_array(program: Program) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Return the operations as the scanner expects them."""
    return np.array(program.operations, np.int32).reshape(len(program.operations), 2)


def _operations(specifications: tuple[Specification, ...]) -> tuple[tuple[int, int], ...]:
    found = []
    for item in specifications:
        if item.format in "sS":
            found.append((TEXT, 0))
        elif item.format == "t":
            found.append((BYTES, item.size))
        elif item.format == "f":
            found.append((FLOAT80 if item.size == 10 else UNSIGNED, item.size))
        elif item.format in "de" and item.size == 8:
            found.append((REGISTER, item.size))
        else:
            found.append((SIGNED if item.format in "dice" else UNSIGNED, item.size))
    return tuple(found)


def _operations_of(
    signature: tuple[Field, ...], specifications: tuple[Specification, ...]
) -> tuple[tuple[int, int], ...] | None:
    """Return the operations for the values of a signature; only the specifications have their sizes."""
    found: list[tuple[int, int]] = []
    payload = [field for field in signature if field not in (NAME, CATEGORY)]
    for number, field in enumerate(payload):
        operation = _operation_of(field.type)
        if operation is None and isinstance(field.type, BytesClass):
            specification = specifications[number] if number < len(specifications) else None
            if specification is not None and specification.format == "t":
                operation = BYTES, specification.size
        if operation is None:
            return None
        found.append(operation)
    return tuple(found)


def _operation_of(held: FieldClass) -> tuple[int, int] | None:
    match held:
        case StringClass():
            return TEXT, 0
        case IntegerClass():
            return (SIGNED if held.signed else UNSIGNED), held.dtype.itemsize
        case FloatClass():
            return UNSIGNED, held.dtype.itemsize
        case BooleanClass():
            return UNSIGNED, 1
        case NullClass():
            return BYTES, 0
        case _:
            return None
