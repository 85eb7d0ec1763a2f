"""Templates in IBM's language for the hooks with events of other formats, so that `trcrpt` prints named fields.

An entry is generic: its data word identifies the class among those that share the hook, the first 20 bytes of its
buffer are for traceconv's reader, and the fields follow as encoded by `encoding`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from converter.formats.aix.layout import FIRST_HOOK, HOOKS, METADATA_HOOK, hook_text
from converter.ir.events import EventClass
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)

_VERSION: Final = "1.0"
#: What a quoted string of the language can contain without a special meaning.
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9_.:+ ()\[\]-]+")
_NOT_IN_NAMES: Final = re.compile(r"\W+", re.ASCII)

#: Skips the data word (word 2, which starts at byte 16 of 64-bit entries and 8 of 32-bit ones) and the context.
_TO_FIELDS: Final = "W2 O20"

METADATA_TEMPLATE: Final = (
    f'{hook_text(METADATA_HOOK)} {_VERSION} L=KERN "traceconv metadata"\n'.encode("ascii")
)


def place_of(number: int) -> tuple[int, int]:
    """Return hook and data word of class `number`: if there are more classes than hooks, they share them."""
    return FIRST_HOOK + (number % HOOKS << 4), number // HOOKS


def class_template(number: int, event_class: EventClass) -> bytes:
    """Return the template of one class, as if it had its hook to itself."""
    hook, word = place_of(number)
    body = _body(event_class)
    if word:
        body = f'$D1, 0x{word:X} {{ \\\n{body}}}, \\* "other class"'
    return f"{hook_text(hook)} {_VERSION} L=KERN {body}\n".encode("ascii")


def shared_templates(classes: Sequence[EventClass]) -> bytes:
    """Return the templates of all hooks, as in a trcfmt file; that of a shared hook distinguishes its classes."""
    parts = [METADATA_TEMPLATE]
    for first in range(min(len(classes), HOOKS)):
        sharing = range(first, len(classes), HOOKS)
        if len(sharing) == 1:
            parts.append(class_template(first, classes[first]))
            continue
        hook, _ = place_of(first)
        cases = "".join(
            f"0x{number // HOOKS:X} {{ {_body(classes[number])}}}, \\\n" for number in sharing
        )
        parts.append(
            f'{hook_text(hook)} {_VERSION} L=KERN $D1, \\\n{cases}\\* "?"\n'.encode("ascii")
        )
    return b"".join(parts)


def _body(event_class: EventClass) -> str:
    label = ":".join(part for part in (event_class.category, event_class.name) if part)
    text = _plain(label or event_class.kind.name.lower())
    fields = "".join(
        f' \\\n"{_name(field.name)}="{_format(field.type)}' for field in event_class.fields
    )
    return f'"{text}" {_TO_FIELDS}{fields} '


def _plain(text: str) -> str:
    return _NOT_PLAIN.sub("_", text)


def _name(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name) or "_"


def _format(held: FieldClass) -> str:
    """Return the descriptors that print a value."""
    match held:
        case IntegerClass(signed=signed, style=style):
            size = max(held.dtype.itemsize, 2)
            if style is Style.OCTAL:
                return f"o{size}"
            if style in (Style.DECIMAL, Style.CHARACTER):
                return f"{'D' if signed else 'U'}{size}"
            return f"X{size}"
        case FloatClass(bits):
            return f"F{bits // 8}"
        case BooleanClass():
            return "U2"
        case StringClass():
            return "S4"
        case BytesClass():
            return "LOOP U4 { X0 }"
        case NullClass():
            return '""'
        case ArrayClass(element):
            return f'"[" LOOP U4 {{ {_format(element)} }} "]"'
        case StructureClass(members):
            inner = " ".join(f'"{_name(one.name)}="{_format(one.type)}' for one in members)
            return f'"(" {inner} ")"'
        case OptionalClass(element):
            return f'U2, 0 "-", \\* {{ {_format(element)} }}'
        case VariantClass(options):
            cases = "".join(f"{i} {{ {_format(one.type)} }}, " for i, one in enumerate(options))
            return f'U2, {cases}\\* "?"'
