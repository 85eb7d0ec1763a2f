"""Prints templates as text again: parsing that text returns an equal template."""

from __future__ import annotations

from converter.formats.aix.trcfmt.model import (
    WORD,
    Assign,
    Backquoted,
    Block,
    Call,
    Control,
    Expression,
    Flag,
    Flags,
    Format,
    Function,
    Item,
    Level,
    Loop,
    Macro,
    Move,
    Number,
    Operation,
    Subroutine,
    Switch,
    Template,
    Text,
    Unknown,
    digits_of,
)

_SUMS = ("+", "-")


def print_template(template: Template) -> str:
    """Return the template on one line, continued at line ends in unparsed text, with a newline at its end."""
    head = [template.id_text or digits_of(template.id), template.version]
    if template.level is not Level.KERN:
        head.append("L=0" if template.level is Level.EDGE else f"L={template.level.name}")
    body = print_block(template.body)
    lines = " ".join([*head, body] if body else head).replace("\n", "\\\n") + "\n"
    # A backslash at the end, which only unparsed text can have, would continue the next template.
    return lines if not lines.endswith("\\\n") else f"{lines[:-1]}\\\n\n"


def print_block(block: Block) -> str:
    """Return the items of a descriptor, without braces."""
    return "".join((" " if piece.spaced else "") + print_item(piece.item) for piece in block.pieces)


def print_item(item: Item | Expression) -> str:
    """Return one item, or one expression."""
    match item:
        case Move(code, size, part):
            return f"{code}{size}" + (f".{part}" if part else "")
        case Format():
            return _format(item)
        case Text():
            return _text(item)
        case Backquoted(items):
            inside = [each.text if isinstance(each, Text) else print_item(each) for each in items]
            return "`" + "".join(inside) + "`"
        case Control(letter):
            return "\\" + letter
        case Macro():
            return _macro(item)
        case Subroutine(id16):
            return f"${id16 >> 4:03X}"
        case Call(name, arguments):
            return f"{name}({', '.join(print_item(each) for each in arguments)})"
        case Number(value):
            return str(value)
        case Operation(first, rest):
            parts = [_operand(first, "")]
            parts += [f"{operator} {_operand(operand, operator)}" for operator, operand in rest]
            return " ".join(parts)
        case Switch() | Loop() | Flags() | Assign() | Function():
            return _statement(item)
        case Unknown(text):
            return text


def _statement(item: Switch | Loop | Flags | Assign | Function) -> str:
    match item:
        case Switch(subject, cases):
            printed = [f"{_match(case.match)} {_target(case.target)}" for case in cases]
            return f"{print_item(subject)}, " + ", ".join(printed)
        case Loop(count, body):
            return f"LOOP {print_item(count)} {{ {print_block(body)} }}"
        case Flags(subject, entries):
            return f"BITFLAGS {print_item(subject)}, " + ", ".join(_flag(each) for each in entries)
        case Assign(name, value):
            return f"{{{{ ${name}" + (" }}" if value is None else f" = {print_item(value)} }}}}")
        case Function(name, parameters, body):
            return f"{{{{ {name}({', '.join(parameters)}) {print_block(body)} }}}}"


def _format(item: Format) -> str:
    text = item.code
    if item.code not in ("HB", "HT"):
        text += "W" if item.size == WORD else str(item.size)
    if item.part:
        text += f".{item.part}"
    return text + _mask(item.mask)


def _macro(item: Macro) -> str:
    text = f"${item.name}"
    if item.extract is not None:
        text += f"%W{item.extract[0]}.{item.extract[1]}"
    elif item.format is not None:
        text += f"%{_format(item.format)}"
    return text + _mask(item.mask)


def _mask(mask: int | None) -> str:
    return "" if mask is None else f" & 0x{mask:X}"


def _text(item: Text) -> str:
    if not item.quoted:
        return item.text
    quote = "'" if '"' in item.text else '"'
    return f"{quote}{item.text}{quote}"


def _match(match: str | None) -> str:
    if match is None:
        return "\\*"
    plain = match and not any(character.isspace() or character in ",{}\"'`" for character in match)
    return match if plain and match != "\\*" else _text(Text(match))


def _target(target: Item | Block) -> str:
    return f"{{ {print_block(target)} }}" if isinstance(target, Block) else print_item(target)


def _flag(entry: Flag) -> str:
    text = f"{entry.value:X} {print_item(entry.text)}"
    if entry.mask is not None:
        text = f"& {entry.mask:X} {text}"
    if entry.otherwise is None:
        return text
    return f"{text} {{ {print_item(entry.otherwise)} }}"


def _operand(operand: Expression, operator: str) -> str:
    """Return an operand of a sum (or of a product), in parentheses if it would be parsed differently."""
    text = print_item(operand)
    if not isinstance(operand, Operation):
        return text
    is_sum = operand.rest[0][0] in _SUMS
    return text if operator in _SUMS and not is_sum else f"({text})"
