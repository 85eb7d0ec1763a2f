"""The parts of the canonical form: converts event classes, field classes and values to JSON-like forms and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    take,
)
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.invariants import class_faults
from converter.ir.kinds import Kind, Role
from converter.kernels.tables.strings import StringTable

#: Any value that the json module returns.
Json = Any

#: The maximum of an array of fixed length; columns count in 63 bits.
_MOST_ELEMENTS = (1 << 63) - 1
_USUAL_NAN = {32: 0x7FC00000, 64: 0x7FF8000000000000}


def class_form(event_class: EventClass) -> dict[str, Json]:
    """Return the form of an event class: ``kind`` always; ``name``, ``category``, ``fields`` and ``timed`` if not the
    default.
    """
    form: dict[str, Json] = {"kind": event_class.kind.name}
    if event_class.name:
        form["name"] = event_class.name
    if event_class.category:
        form["category"] = event_class.category
    if not event_class.timed:
        form["timed"] = False
    if event_class.fields:
        form["fields"] = [
            {"name": field.name, "type": type_form(field.type)}
            | ({"role": field.role.name} if field.role is not Role.NONE else {})
            | ({"unit": field.unit} if field.unit else {})
            for field in event_class.fields
        ]
    return form


def class_of(form: Mapping[str, Json]) -> EventClass:
    """Return the event class of a form.

    Raises:
        ValueError: there cannot be such a class (`invariants.class_faults`).
    """
    fields = tuple(
        Field(
            field["name"],
            type_of(field["type"]),
            Role[field.get("role", "NONE")],
            field.get("unit", ""),
        )
        for field in form.get("fields", ())
    )
    event_class = EventClass(
        Kind[form["kind"]],
        form.get("name", ""),
        form.get("category", ""),
        fields,
        timed=form.get("timed", True),
    )
    fault = next(class_faults(event_class), None)
    if fault is not None:
        raise ValueError(fault)
    return event_class


def type_form(field_class: FieldClass) -> Json:
    """Return the form of a field class: a word for a plain one (``u8`` .. ``i64``, ``f64``, ``string``),
    else an object.
    """
    match field_class:
        case IntegerClass(bits, signed, style, labels, flags):
            word = f"{'i' if signed else 'u'}{bits}"
            form: dict[str, Json] = {}
            if style is not Style.DECIMAL:
                form["style"] = style.name
            if labels:
                form["labels"] = [list(label) for label in labels]
            if flags:
                form["flags"] = True
            return {"integer": word, **form} if form else word
        case FloatClass(bits):
            return f"f{bits}"
        case BooleanClass():
            return "bool"
        case StringClass():
            return "string"
        case BytesClass(media_type):
            return "bytes" if field_class == BytesClass() else {"bytes": media_type}
        case NullClass():
            return "null"
        case ArrayClass(element, length):
            sized = {} if length is None else {"length": length}
            return {"array": type_form(element), **sized}
        case StructureClass(members):
            return {"structure": [[member.name, type_form(member.type)] for member in members]}
        case VariantClass(options):
            return {"variant": [[option.name, type_form(option.type)] for option in options]}
        case OptionalClass(element):
            return {"optional": type_form(element)}


def type_of(form: Json) -> FieldClass:
    """Return the field class of a form.

    Raises:
        ValueError: there is no such field class.
    """
    match form:
        case "bool":
            return BooleanClass()
        case "string":
            return StringClass()
        case "bytes":
            return BytesClass()
        case "null":
            return NullClass()
        case "f32" | "f64":
            return FloatClass(int(form[1:]))
        case str():
            return type_of({"integer": form})
        case {"integer": str(word)} if word[:1] in ("i", "u"):
            return IntegerClass(
                _number(int(word[1:]), 1, 64),
                word[0] == "i",
                Style[form.get("style", "DECIMAL")],
                tuple(_label(*label) for label in form.get("labels", ())),
                form.get("flags", False) is True,
            )
        case {"bytes": media_type}:
            return BytesClass(_name(media_type))
        case {"array": element}:
            length = form.get("length")
            if length is not None:
                length = _number(length, 0, _MOST_ELEMENTS)
            return ArrayClass(type_of(element), length)
        case {"structure": members}:
            return StructureClass(_members(members))
        case {"variant": options}:
            return VariantClass(_members(options))
        case {"optional": element}:
            return OptionalClass(type_of(element))
    raise ValueError(f"no field class is written {form!r}")


def _members(forms: Iterable[Json]) -> tuple[Member, ...]:
    return tuple(Member(_name(name), type_of(inner)) for name, inner in forms)


def _label(low: Json, high: Json, text: Json) -> Label:
    least, most = -(1 << 63), (1 << 64) - 1
    return Label(_number(low, least, most), _number(high, least, most), _name(text))


def _number(form: Json, least: int, most: int) -> int:
    if type(form) is not int or not least <= form <= most:
        raise ValueError(f"{form!r} is no number from {least} to {most}")
    return form


def _name(form: Json) -> str:
    if type(form) is not str:
        raise ValueError(f"{form!r} is no name")
    form.encode("utf-8", "surrogateescape")  # A lone surrogate is not text.
    return form


def column_form(column: Column, field_class: FieldClass, strings: StringTable) -> list[Json]:
    """Return the values of a column, one per item."""
    match field_class, column:
        case (FloatClass(bits), np.ndarray()):
            return _float_texts(column, bits)
        case (StringClass(), np.ndarray()):
            ids: list[int] = column.tolist()
            texts = {number: _text(strings[number]) for number in set(ids)}
            return [texts[number] for number in ids]
        case (_, np.ndarray()):
            numbers: list[Json] = column.tolist()
            return numbers
        case (StringClass() | BytesClass(), ListColumn(offsets, np.ndarray() as values)):
            form = _text if isinstance(field_class, StringClass) else bytes_form
            data = values[offsets[0] : offsets[-1]].tobytes()
            ends = (offsets - offsets[0]).tolist()
            return [form(data[ends[i] : ends[i + 1]]) for i in range(len(column))]
        case (NullClass(), _):
            return [None] * len(column)
        case (ArrayClass(element), ListColumn(offsets, values)):
            used = take(values, np.arange(int(offsets[0]), int(offsets[-1])))
            items = column_form(used, element, strings)
            ends = (offsets - offsets[0]).tolist()
            return [items[ends[i] : ends[i + 1]] for i in range(len(column))]
        case (StructureClass(members), StructColumn(length, columns)):
            forms = [
                column_form(inner, member.type, strings)
                for member, inner in zip(members, columns, strict=True)
            ]
            return [[form[i] for form in forms] for i in range(length)]
        case (VariantClass(options), UnionColumn(tags, rows, columns)):
            result: list[Json] = [None] * len(tags)
            for tag, option in enumerate(options):
                positions = np.flatnonzero(tags == tag)
                held = column_form(take(columns[tag], rows[positions]), option.type, strings)
                for position, item in zip(positions.tolist(), held, strict=True):
                    result[position] = {option.name: item}
            return result
        case (OptionalClass(element), OptionalColumn(valid, values)):
            result = [None] * len(valid)
            positions = np.flatnonzero(valid)
            held = column_form(take(values, positions), element, strings)
            for position, item in zip(positions.tolist(), held, strict=True):
                result[position] = item
            return result
    raise TypeError(f"a {type(column).__name__} does not hold {field_class}")


def value_of(form: Json, field_class: FieldClass) -> Any:
    """Return the value of a form, in the representation of `converter.ir.columns.value` and `column_from_values`."""
    match field_class:
        case FloatClass(bits):
            if form.startswith("nan:"):
                pattern = np.array([int(form[4:], 16)], f"u{bits // 8}")
                return pattern.view(field_class.dtype)[0]
            return field_class.dtype.type(form)
        case StringClass() | BytesClass():
            return form.encode() if isinstance(form, str) else b64decode(form["bytes"])
        case ArrayClass(element):
            return [value_of(item, element) for item in form]
        case StructureClass(members):
            return [
                (member.name, value_of(item, member.type))
                for member, item in zip(members, form, strict=True)
            ]
        case VariantClass(options):
            ((name, item),) = form.items()
            types = {option.name: option.type for option in options}
            return (name, value_of(item, types[name]))
        case OptionalClass(element):
            return None if form is None else value_of(form, element)
        case _:
            return form


def bytes_form(data: bytes) -> Json:
    """Return bytes as ``{"bytes": base64}``."""
    return {"bytes": b64encode(data).decode("ascii")}


def sidecar_form(value: Any) -> Json:
    """Return the form of a value of a sidecar. A lazy one (a callable, an object with ``__bytes__``) is evaluated.

    Raises:
        TypeError: the value is neither JSON-like nor bytes.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": repr(value)}
        case bytes() | bytearray() | memoryview():
            return bytes_form(bytes(value))
        case Mapping():
            return {key: sidecar_form(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [sidecar_form(item) for item in value]
    if hasattr(value, "__bytes__"):
        return bytes_form(bytes(value))
    if callable(value):
        return sidecar_form(value())
    raise TypeError(f"a sidecar holds JSON-like values and bytes, not a {type(value).__name__}")


def sidecar_of(form: Json) -> Any:
    """Return the value of a form that `sidecar_form` made."""
    match form:
        case {"bytes": str(text)} if len(form) == 1:
            return b64decode(text)
        case {"float": str(text)} if len(form) == 1:
            return float(text)
        case dict():
            return {key: sidecar_of(item) for key, item in form.items()}
        case list():
            return [sidecar_of(item) for item in form]
    return form


def _float_texts(column: NDArray[Any], bits: int) -> list[str]:
    # The shortest text of a 32-bit float is not that of the same number in 64 bits.
    texts = [str(number) for number in column] if bits == 32 else [repr(x) for x in column.tolist()]
    for position in np.flatnonzero(np.isnan(column)).tolist():
        pattern = int(column[position : position + 1].view(f"u{bits // 8}")[0])
        texts[position] = "nan" if pattern == _USUAL_NAN[bits] else f"nan:{pattern:x}"
    return texts


def _text(data: bytes) -> Json:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return bytes_form(data)
