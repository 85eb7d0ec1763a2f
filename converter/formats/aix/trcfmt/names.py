"""Names that templates have for numbers in the hookdata: of system calls, of interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converter.formats.aix.trcfmt.files import TemplateFile
from converter.formats.aix.trcfmt.model import Assign, Block, Format, Macro, Switch, Text
from converter.formats.aix.trcfmt.values import case_value

#: No hook has that many names: more are from a hostile template.
_MOST: Final = 4096


def names_of_hookdata(file: TemplateFile, id16: int) -> dict[int, str]:
    """Return a hook template's names for the values of its hookdata: the cases of a SWITCH on them."""
    template = file.templates.get(id16)
    if template is None:
        return {}
    for piece in template.body.pieces:
        match piece.item:
            # The data pointer starts at the hookdata; $HD is the same everywhere.
            case Switch(Format("X" | "U" | "D", 2) | Macro("HD", _, None)) as switch:
                return dict(_named_cases(switch))
            case Text() | Macro() | Switch(Macro()):
                continue
            case Assign(_, None):
                continue
            case _:
                break
    return {}


def _named_cases(switch: Switch) -> Iterator[tuple[int, str]]:
    subject = switch.subject
    format = subject.format if isinstance(subject, Macro) else subject
    for case in switch.cases[:_MOST]:
        target = case.target
        if isinstance(target, Block):
            target = target.pieces[0].item if target.pieces else target
        if case.match is None or not isinstance(target, Text) or not target.text.strip():
            continue
        number = case_value(format if isinstance(format, Format) else None, case.match, 0)
        if isinstance(number, int):
            yield number, target.text.strip()
