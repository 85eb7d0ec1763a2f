"""Event classes of streams that a kernel wrote: one for each layout of each hook, with readers for its columns.

A class has the hook's name. Its fields are those of the user's template if that has a fixed layout, otherwise the named
words of a documented hook, or else the raw words.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.formats.aix.entries.scan import DOCUMENTED, FORM_BITS, GENERIC, RAGGED, WIDE
from converter.formats.aix.hooks import HOOKS, Hook, Word
from converter.formats.aix.layout import hook_text
from converter.ir.columns import Column, ListColumn
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import StringTable

if TYPE_CHECKING:
    from converter.formats.aix.trcfmt import StaticField, TemplateFile

#: The category of all hooks.
CATEGORY = "aix"
_WIDTHS = frozenset({1, 2, 4, 8})


@dataclass(slots=True, weakref_slot=True)
class Entries:
    """The entries of one class in a batch, as templates see them: their locations and how to read them."""

    count: int
    locate: Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]]
    segments: Segments
    strings: StringTable
    _located: tuple[NDArray[np.int64], NDArray[np.uint32]] | None = field(default=None)

    @property
    def located(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Location and size of each."""
        if self._located is None:
            self._located = self.locate()
        return self._located


class EntryTable(Table):
    """A table that can still access its entries until all of its columns are decoded."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Entries, columns: Sequence[Column | Callable[[], Column]]) -> None:
        super().__init__(entries.count, columns)
        # A collected trace must not keep its file in memory in addition to its columns.
        self._entries = weakref.ref(entries)

    @property
    def entries(self) -> Entries | None:
        """The entries, None when every column has been decoded."""
        return self._entries()


class Gather(Protocol):
    """Reads the column of a field."""

    def load(self, entries: Entries) -> Column:
        """Return the column."""


@dataclass(frozen=True, slots=True)
class NumberAt:
    """A number at a fixed offset in the entry."""

    offset: int
    dtype: np.dtype[np.generic]

    def load(self, entries: Entries) -> Column:
        """Return the column."""
        column = np.empty(entries.count, self.dtype)
        entries.segments.integers(
            *entries.located, self.offset, self.dtype.itemsize, True, column.view(np.uint8)
        )
        return column


@dataclass(frozen=True, slots=True)
class BytesAt:
    """Bytes at a fixed offset in the entry, to its end for a length of -1, cut to a multiple of `unit`."""

    offset: int
    length: int = -1
    unit: int = 1

    def load(self, entries: Entries) -> ListColumn:
        """Return the column."""
        span, size = self.spans(entries)
        offsets = np.empty(entries.count + 1, np.int64)
        entries.segments.measure(span, size, False, self.unit, offsets)
        values = np.empty(int(offsets[-1]), np.uint8)
        entries.segments.copy(span, offsets, values)
        return ListColumn(offsets, values)

    def spans(self, entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return location and size of the bytes."""
        span, size = np.empty(entries.count, np.int64), np.empty(entries.count, np.int64)
        entries.segments.fixed_spans(*entries.located, self.offset, self.length, span, size)
        return span, size


@dataclass(frozen=True, slots=True)
class TextAt:
    """A text up to its NUL."""

    bytes: BytesAt

    def load(self, entries: Entries) -> Column:
        """Return the column."""
        ids = np.empty(entries.count, np.int32)
        entries.segments.intern(*self.bytes.spans(entries), entries.strings, ids)
        return ids


@dataclass(frozen=True, slots=True)
class WordsAt:
    """All data words from an offset on."""

    offset: int
    width: int

    def load(self, entries: Entries) -> Column:
        """Return the column."""
        column = BytesAt(self.offset, -1, self.width).load(entries)
        assert isinstance(column.values, np.ndarray)
        words = column.values.view(f">u{self.width}").astype(f"u{self.width}")
        return ListColumn(column.offsets // self.width, words)


@dataclass(frozen=True, slots=True)
class CountedText:
    """A text after its length of `width` bytes; cut at the end of the entry."""

    offset: int
    width: int

    def load(self, entries: Entries) -> Column:
        """Return the column."""
        lengths = NumberAt(self.offset, np.dtype(f"u{self.width}")).load(entries)
        assert isinstance(lengths, np.ndarray)
        span, size = BytesAt(self.offset + self.width).spans(entries)
        # No entry is that long, and as signed numbers these lengths can be compared with sizes.
        size = np.minimum(size, np.minimum(lengths, np.uint64(1 << 32)).astype(np.int64))
        offsets = np.empty(entries.count + 1, np.int64)
        entries.segments.measure(span, size, False, 1, offsets)
        values = np.empty(int(offsets[-1]), np.uint8)
        entries.segments.copy(span, offsets, values)
        ids = np.empty(entries.count, np.int32)
        entries.strings.intern_spans(values, offsets[:-1], np.diff(offsets), ids)
        return ids


@dataclass(frozen=True, slots=True)
class BitsAt:
    """Some bits, counted from the most significant one of the byte at `offset`."""

    offset: int
    bit: int
    bits: int
    dtype: np.dtype[np.generic]

    def load(self, entries: Entries) -> Column:
        """Return the column."""
        value = np.zeros(entries.count, np.uint64)
        last = self.bit + self.bits
        for i in range((last + 7) // 8):
            byte = NumberAt(self.offset + i, np.dtype(np.uint8)).load(entries)
            assert isinstance(byte, np.ndarray)
            value = value << np.uint64(8) | byte.astype(np.uint64)
        value = value >> np.uint64(-last % 8) & np.uint64((1 << self.bits) - 1)
        return value.astype(self.dtype)


Declared = tuple[EventClass, Sequence[Gather]]


def native_class(form: int, bits: int, templates: TemplateFile | None) -> Declared:
    """Return the class of a layout (hook ID << FORM_BITS | bits, as in `Forms.found`), and the readers of its fields.

    Args:
        form: a layout that occurs.
        bits: those of the kernel, 32 or 64.
        templates: the user's, if there are any.

    """
    hook_id = form >> FORM_BITS
    hook = HOOKS.get(hook_id)
    generic, wide = bool(form & GENERIC), bool(form & WIDE)
    name = hook.name if hook is not None else f"hook {hook_text(hook_id)}"
    if templates is not None and hook_id in templates.templates:
        from converter.formats.aix.trcfmt import layout

        label = templates.templates[hook_id].label.strip()
        name = name if hook is not None or not label else label
        shown = layout(templates, hook_id, 64 if wide else 32, generic=generic)
        taken = None if shown is None else _template_fields(shown)
        if taken:
            return _class(hook, name, taken)
    if hook is not None and form & DOCUMENTED:
        return _documented(hook, wide, _labels(hook, hook_id, templates))
    return _class(None, name, _raw_fields(form, bits))


def _class(hook: Hook | None, name: str, fields: list[tuple[Field, Gather]]) -> Declared:
    declared = tuple(field for field, _ in fields)
    kind = Kind.TYPED
    if hook is not None and hook.is_documented:
        # Words of the same name mean the same, wherever template or documentation place them.
        words = {word.name: word for word in (*hook.words, hook.hookdata, hook.text) if word}
        roles = {words[each.name].role for each in declared if each.name in words} - {Role.NONE}
        if {word.role for word in words.values()} - {Role.NONE} <= roles:
            kind = hook.kind
            declared = tuple(
                Field(each.name, each.type, words[each.name].role) if each.name in words else each
                for each in declared
            )
    return EventClass(kind, name, CATEGORY, declared), [gather for _, gather in fields]


def _word(
    word: Word, offset: int, bits: int, labels: tuple[Label, ...] = ()
) -> tuple[Field, Gather]:
    held = IntegerClass(bits, word.signed, word.style, labels)
    return Field(word.name, held, word.role), NumberAt(offset, held.dtype)


def _labels(hook: Hook, hook_id: int, templates: TemplateFile | None) -> tuple[Label, ...]:
    """Return the user template's names for the hookdata, which identify the call or the interrupt."""
    if templates is None or hook.hookdata is None:
        return ()
    from converter.formats.aix.trcfmt import names_of_hookdata

    names = names_of_hookdata(templates, hook_id)
    return tuple(
        Label(number, number, names[number]) for number in sorted(names) if number < 1 << 16
    )


def _documented(hook: Hook, wide: bool, labels: tuple[Label, ...]) -> Declared:
    width = 8 if wide else 4
    fields: list[tuple[Field, Gather]] = []
    if hook.hookdata is not None:
        fields.append(_word(hook.hookdata, 6 if wide else 2, 16, labels))
    for number, word in enumerate(hook.words):
        fields.append(_word(word, width * (number + 1), 8 * width))
    if hook.text is not None:
        text = Field(hook.text.name, StringClass(), hook.text.role)
        fields.append((text, TextAt(BytesAt(2 * width))))
    declared = tuple(field for field, _ in fields)
    event_class = EventClass(hook.kind, hook.name, CATEGORY, declared)
    return event_class, [gather for _, gather in fields]


def _raw_fields(form: int, bits: int) -> list[tuple[Field, Gather]]:
    """Return hookdata and words, or the data word and buffer of generic entries, uninterpreted."""
    wide = bool(form & WIDE)
    width = 8 if wide else 4
    word = IntegerClass(8 * width, False, Style.HEXADECIMAL)
    hookdata = IntegerClass(16, False, Style.HEXADECIMAL)
    fields: list[tuple[Field, Gather]] = []
    if wide or bits == 64 or not form & GENERIC:
        # The hookdata of generic entries of 32-bit kernels is their length.
        place = NumberAt(6 if wide else 2, hookdata.dtype)
        fields.append((Field("hookdata", hookdata), place))
    if form & GENERIC:
        fields.append((Field("data_word", word), NumberAt(width, word.dtype)))
        fields.append((Field("buffer", BytesClass()), BytesAt(2 * width)))
    elif form & RAGGED:
        fields.append((Field("data", BytesClass()), BytesAt(width)))
    else:
        fields.append((Field("words", ArrayClass(word)), WordsAt(width, width)))
    return fields


def _template_fields(shown: Sequence[StaticField]) -> list[tuple[Field, Gather]]:
    return [
        (Field(each.name, held), gather)
        for each in shown
        for held, gather in [_static_reader(each)]
    ]


def _static_reader(each: StaticField) -> tuple[FieldClass, Gather]:
    """Return the field class of a template's field, and its reader."""
    width, at = each.width, each.offset
    match each.format:
        case "A":
            return StringClass(), TextAt(BytesAt(at, width))
        case "S" if width in _WIDTHS:
            return StringClass(), CountedText(at, width)
        case "F" if width in (4, 8):
            return FloatClass(8 * width), NumberAt(at, np.dtype(f"f{width}"))
        case "B" if 1 <= each.bits <= 64 - each.bit_offset:
            bits = IntegerClass(each.bits, False, Style.BINARY)
            return bits, BitsAt(at, each.bit_offset, each.bits, bits.dtype)
        case ("D" | "U" | "o" | "X" | "T" | "E" | "P") as letter if width in _WIDTHS:
            style = {"o": Style.OCTAL, "X": Style.HEXADECIMAL}.get(letter, Style.DECIMAL)
            number = IntegerClass(8 * width, letter in "DE", style)
            return number, NumberAt(at, number.dtype)
    return BytesClass(), BytesAt(at, width)


def columns_of(gathers: Sequence[Gather], entries: Entries) -> list[Callable[[], Column]]:
    """Return the columns of a class's entries, each read on demand."""

    def column(gather: Gather) -> Callable[[], Any]:
        return lambda: gather.load(entries)

    return [column(gather) for gather in gathers]
