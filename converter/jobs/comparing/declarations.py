"""Compares the declarations of event classes: names and types of their fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from converter.ir.events import EventClass, Field, class_label
from converter.ir.forms import class_form, type_form
from converter.ir.kinds import Role
from converter.jobs.comparing.differences import TraceDifference

#: The most fields of a class that a line names.
_MOST_FIELDS = 8


def compare_declarations(
    first: Iterable[EventClass], second: Iterable[EventClass], result: TraceDifference
) -> None:
    """Add a line for each class of events that is not declared in the same way on both sides.

    Each declaration counts once, even if a trace repeats it.
    """
    one, other = _by_form(first), _by_form(second)
    missing = [one[form] for form in sorted(one.keys() - other.keys())]
    added = [other[form] for form in sorted(other.keys() - one.keys())]
    labels = Counter(map(_key, missing))
    others = Counter(map(_key, added))
    # A class that both sides have once is the same class, whose fields are declared in another way.
    partners = {_key(found): found for found in added}
    for declared in missing:
        key = _key(declared)
        if _is_pair(labels[key], others[key], declared, partners.get(key)):
            line = _fields_differ(declared, partners.pop(key))
            result.tables.append(f"fields of {class_label(declared)} differ: {line}")
        else:
            result.tables.append(f"event class only in the first: {_described(declared)}")
    for declared in added:
        key = _key(declared)
        if others[key] != 1 or key in partners:
            result.tables.append(f"event class only in the second: {_described(declared)}")


def _by_form(classes: Iterable[EventClass]) -> dict[str, EventClass]:
    return {str(class_form(one)): one for one in classes}


def _key(declared: EventClass) -> tuple[str, str, str]:
    return declared.kind.name, declared.category, declared.name


def _is_pair(count: int, others: int, first: EventClass, second: EventClass | None) -> bool:
    """Return True if two classes are the same one, each of whose fields has a name of its own."""
    if second is None or count != 1 or others != 1:
        return False
    return all(
        len({field.name for field in one.fields}) == len(one.fields) for one in (first, second)
    )


def _described(declared: EventClass) -> str:
    fields = [f"{field.name} {_type(field)}" for field in declared.fields]
    return f"{class_label(declared)} ({_listed(fields)})" if fields else class_label(declared)


def _fields_differ(first: EventClass, second: EventClass) -> str:
    one = {field.name: field for field in first.fields}
    other = {field.name: field for field in second.fields}
    lines = [f"{name} (only in the first)" for name in one if name not in other]
    lines += [f"{name} (only in the second)" for name in other if name not in one]
    lines += [
        f"{name} ({_change(field, other[name])})"
        for name, field in one.items()
        if name in other and field != other[name]
    ]
    if not lines:
        return "their order" if [*one] != [*other] else "whether events have a time"
    return _listed(lines)


def _change(first: Field, second: Field) -> str:
    if first.type != second.type:
        one, other = _type(first), _type(second)
        return f"{one}, {other}" if one != other else f"both {one}, in other detail"
    if first.unit != second.unit:
        return f"unit {first.unit or 'none'}, {second.unit or 'none'}"
    return f"role {_role(first)}, {_role(second)}"


def _role(field: Field) -> str:
    return "none" if field.role is Role.NONE else field.role.name.lower()


def _type(field: Field) -> str:
    return _type_name(type_form(field.type))


def _type_name(form: Any) -> str:
    """Return the name of a field class, as short as a declaration in C."""
    match form:
        case {"integer": str(word)}:
            more = [name for name in ("labels", "flags") if name in form]
            style = form.get("style", "").lower().replace("_", " ")
            return " ".join([word, *([style] if style else []), *more])
        case {"bytes": _}:
            return "bytes"
        case {"array": element}:
            return f"{_type_name(element)}[{form.get('length', '')}]"
        case {"optional": element}:
            return f"{_type_name(element)} or nothing"
        case {"structure": _}:
            return "structure"
        case {"variant": _}:
            return "variant"
    return str(form)


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _MOST_FIELDS
    shown = ", ".join(items[:_MOST_FIELDS])
    return f"{shown} and {more} more" if more > 0 else shown
