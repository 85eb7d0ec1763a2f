"""Applies templates to entries: the text of the report, and the values in it by name."""

from __future__ import annotations

import math
from dataclasses import dataclass

from converter.errors import TraceWarning
from converter.formats.aix.trcfmt.data import Data, EndError, masked
from converter.formats.aix.trcfmt.entry import SPECIAL_MACROS, Entry, Environment, Report, Value
from converter.formats.aix.trcfmt.files import TemplateFile
from converter.formats.aix.trcfmt.model import (
    DEFAULT_TEMPLATE,
    POINTERS,
    WORD,
    Assign,
    Backquoted,
    Block,
    Call,
    Control,
    Expression,
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
    Subject,
    Subroutine,
    Switch,
    Template,
    Text,
    Unknown,
    digits_of,
    macro_slots,
)
from converter.formats.aix.trcfmt.output import Output, OutputFullError
from converter.formats.aix.trcfmt.values import case_value, is_number, printed, wrapped
from converter.limits import allowed, limit

#: The steps that each entry may take; beyond these, all entries share the file's `Budget`.
USUAL_STEPS = 1_000

#: Codes in which no macro is printed.
_NO_NUMBERS = frozenset({"F", "S", "A", "o"})
_TWO_BYTES = Format("X", 2)
_DECIMAL = Format("U", 8)
_WORD_MACROS = {f"{letter}{number}": (letter, number) for letter in "DL" for number in range(1, 6)}
_CONTROL_MACROS = ("ERROR", "DEFAULT", "STOP", "BREAK", "SKIP")
_DECIMAL_MACROS = frozenset(SPECIAL_MACROS) - {"HD", "TRACEID", "IPADDR"}


@dataclass(slots=True)
class _Frame:
    """The names that a template or function can use. `values` are shared with the caller, by index."""

    slots: dict[str, int]
    values: list[Value]
    parameters: dict[str, Value]


def evaluate(file: TemplateFile, id16: int, entry: Entry, around: Environment) -> Report:
    """Format an entry with the template of its ID, or with the default one.

    No template or entry makes this raise or run forever: limits of steps, depth and text end it with a warning. An
    entry without a template, or with a template that cannot be parsed, is shown in raw words.
    """
    template = file.templates.get(id16) or file.templates.get(DEFAULT_TEMPLATE)
    if template is None:
        return Report(raw_words(entry))
    return _Evaluation(file, template, entry, around).report()


def raw_words(entry: Entry) -> str:
    """Return an entry in hexadecimal: hook word and words of data."""
    size = entry.word_size
    data = entry.data
    return " ".join(data[at : at + size].hex().upper() for at in range(0, len(data), size))


class _Evaluation:
    def __init__(
        self, file: TemplateFile, template: Template, entry: Entry, around: Environment
    ) -> None:
        self.file = file
        self.template = template
        self.entry = entry
        self.around = around
        self.out = Output(at_edge=template.level is Level.EDGE)
        self.data = Data(entry)
        self.frame = _Frame(macro_slots(template.body), [], {})
        self.steps = 0
        self.depth = 0
        self.calls = 0
        self.most_steps = limit("aix.template-steps")
        #: Nesting of descriptors, including those of subroutines and functions.
        self.most_depth = limit("aix.template-depth")
        #: The document's limit for subroutines; functions count too.
        self.most_calls = limit("aix.template-calls")
        self.ending = False
        self.action = ""

    def report(self) -> Report:
        warning = ""
        try:
            self.evaluate_template(self.template)
        except EndError as end:
            warning = end.warning
            if end.raw:
                self.out.separate()
                try:
                    self.out.write(raw_words(self.entry))
                except OutputFullError:
                    warning = f"too much text: {allowed('aix.template-text')}"
        except OutputFullError:
            warning = f"too much text: {allowed('aix.template-text')}"
        return Report(
            "" if self.action == "skip" else self.out.text,
            self.template.level,
            tuple(self.out.fields.items()),
            self.action,
            self.warning(warning) if warning else None,
        )

    def warning(self, message: str) -> TraceWarning:
        name = digits_of(self.template.id)
        return TraceWarning(
            format="trcfmt", field=f"template {name}", message=message, is_damage=False
        )

    def evaluate_template(self, template: Template) -> None:
        """Evaluate a template's items. The string at its beginning names the event, not the first value."""
        self.block(template.body, has_label=bool(template.label))

    def block(self, block: Block, *, has_label: bool = False) -> None:
        self.depth += 1
        if self.depth > self.most_depth:
            levels = allowed("aix.template-depth")
            raise EndError(f"descriptors lie too deep in each other: {levels}")
        for number, piece in enumerate(block.pieces):
            if piece.spaced:
                self.out.separate()
            elif number and not isinstance(piece.item, Assign | Move | Function):
                self.out.join()
            self.item(piece.item)
            if has_label and isinstance(piece.item, Text):
                self.out.forget_label()
                has_label = False
        self.depth -= 1
        if self.ending:
            raise EndError

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.most_steps:
            raise EndError(f"it takes too long: {allowed('aix.template-steps')}")
        if self.steps > USUAL_STEPS:
            if not self.file.budget.steps:
                raise EndError(f"more than {USUAL_STEPS} steps, and no more are left")
            self.file.budget.steps -= 1

    def item(self, item: Item) -> None:
        self.step()
        match item:
            case Text(text):
                self.out.label(text)
            case Format() | Macro():
                self.show(item)
            case Control(letter):
                self.out.newline() if letter == "n" else self.out.tab()
            case Move():
                self.data.move(item)
            case Switch(subject):
                self.switch(item, subject)
            case Loop():
                self.loop(item)
            case Flags():
                self.flags(item)
            case Assign(name, value):
                self.assign(name, 0 if value is None else self.expression(value), value)
            case Backquoted():
                self.backquoted(item)
            case Subroutine(id16):
                self.subroutine(id16)
            case Call():
                self.call(item)
            case Unknown():
                raise EndError(f"not understood: {item.text}", raw=True)
            case Function():
                pass

    def backquoted(self, item: Backquoted) -> None:
        for number, each in enumerate(item.items):
            if number:
                self.out.join()
            self.item(each)

    # Values.

    def show(self, item: Format | Macro) -> None:
        """Print a value that is not the subject of a statement."""
        if isinstance(item, Format):
            value, size = self.data.read(item)
            if item.code == "A" and item.size == 0:
                self.out.write(" " * item.part)
                return
            self.out.write(printed(item, size, value, self.around.paths))
            self.out.name(value)
            if is_number(item):
                self.out.separate()
            return
        if item.name in _CONTROL_MACROS and item.format is None:
            self.control(item.name)
            return
        if self.is_template(item.name):
            self.subroutine(int(item.name, 16))
            return
        value = self.macro(item)
        format, size = self.format_of(item)
        if item.extract is not None and isinstance(value, int):
            self.out.write(f"{value:X}")
        else:
            self.out.write(printed(format, size, value, self.around.paths))
        self.out.name(value, item.name)
        if isinstance(value, int) and is_number(format):
            self.out.separate()

    def format_of(self, item: Macro) -> tuple[Format, int]:
        """Return the format of a macro (its own, or the usual one: X2) and its size in bytes."""
        if item.format is not None and item.format.code not in _NO_NUMBERS:
            size = item.format.size
            if item.format.code == "B":
                return item.format, size
            return item.format, self.entry.word_size if size == WORD else size
        if item.name not in self.frame.slots and item.name not in self.frame.parameters:
            if item.name in _WORD_MACROS:
                return Format("X"), 8 if item.name[0] == "L" else self.entry.word_size
            if item.name in _DECIMAL_MACROS or item.name in ("LOGIDX", *POINTERS):
                return _DECIMAL if self.is_positive(item.name) else Format("D", 8), 8
            if item.name == "IPADDR":
                return Format("X", 4), 4
        return _TWO_BYTES, 2

    def is_positive(self, name: str) -> bool:
        special = SPECIAL_MACROS.get(name)
        value = special(self.entry, self.around) if special else 0
        return not isinstance(value, int) or value >= 0

    def macro(self, item: Macro) -> Value:
        """Return the value of a macro; 0 if it is not defined."""
        if item.format is not None and item.format.code == "S":
            return self.data.text(min(_integer(self.named(item.name)), len(self.entry.data)))
        value = self.named(item.name)
        if item.extract is not None:
            low, high = item.extract
            value = wrapped(_integer(value)) >> low & ((1 << max(0, min(high, 63) - low + 1)) - 1)
        return masked(value, item)

    def named(self, name: str) -> Value:
        if name in self.frame.parameters:
            return self.frame.parameters[name]
        if name == "DATAPOINTER":
            return self.data.pointer // 8
        if name == "BASEPOINTER":
            return self.data.base
        slot = self.frame.slots.get(name)
        if slot is not None:
            return self.frame.values[slot] if slot < len(self.frame.values) else 0
        if name in _WORD_MACROS:
            letter, number = _WORD_MACROS[name]
            return self.entry.word(number, 8 if letter == "L" else self.entry.word_size)
        if name == "LOGIDX":
            return self.around.log_offset + self.data.pointer // 8 + self.data.base
        special = SPECIAL_MACROS.get(name)
        return special(self.entry, self.around) if special else 0

    def assign(self, name: str, value: Value, source: Expression | None) -> None:
        if name == "DATAPOINTER":
            self.data.pointer = _integer(value) * 8
            return
        if name == "BASEPOINTER":
            self.data.base = _integer(value)
            return
        slot = self.frame.slots.setdefault(name, len(self.frame.slots))
        values = self.frame.values
        values.extend([0] * (slot + 1 - len(values)))
        if source is not None:
            values[slot] = value

    def value(self, subject: Subject) -> Value:
        """Return a value that is not printed: the subject of a statement, or an operand."""
        match subject:
            case Format():
                return self.data.read(subject)[0]
            case Macro():
                return self.macro(subject)
            case Call():
                raise EndError(f"a call of {subject.name} has no value", raw=True)

    def expression(self, expression: Expression) -> Value:
        match expression:
            case Number(value):
                return value
            case Operation(first, rest):
                result = _integer(self.expression(first))
                for operator, operand in rest:
                    self.step()
                    result = _computed(result, operator, _integer(self.expression(operand)))
                return result
            case _:
                return self.value(expression)

    # Statements.

    def loop(self, item: Loop) -> None:
        count = item.count
        value = count.value if isinstance(count, Number) else self.value(count)
        for _ in range(min(_integer(value), self.most_steps + 1)):
            self.step()
            self.block(item.body)

    def switch(self, item: Switch, subject: Subject) -> None:
        value = self.value(subject)
        format = subject if isinstance(subject, Format) else None
        if isinstance(subject, Macro) and subject.format is not None:
            format = subject.format
        if isinstance(subject, Macro) and subject.extract is not None:
            format = _TWO_BYTES
        self.out.name(value, subject.name if isinstance(subject, Macro) else "field")
        for case in item.cases:
            self.step()
            if case.match is None or case_value(format, case.match, value) == value:
                if isinstance(case.target, Block):
                    self.block(case.target)
                else:
                    self.item(case.target)
                self.out.forget_label()
                return

    def flags(self, item: Flags) -> None:
        value = self.value(item.subject)
        name = item.subject.name if isinstance(item.subject, Macro) else "flags"
        self.out.name(value, name)
        bits = _integer(value)
        for entry in item.entries:
            self.step()
            if entry.mask is not None:
                holds = bits & entry.mask == entry.value
            else:
                holds = bool(bits & entry.value) if entry.value else bits == 0
            text = entry.text if holds else entry.otherwise
            if text is not None:
                self.item(text)
                self.out.forget_label()
                self.out.separate()

    def is_template(self, name: str) -> bool:
        """Return True if ``$hhhh`` is a subroutine: only if there is such a template, and no such macro."""
        if len(name) != 4 or name in self.frame.slots or name in self.frame.parameters:
            return False
        try:
            return int(name, 16) in self.file.templates
        except ValueError:
            return False

    def subroutine(self, id16: int) -> None:
        template = self.file.templates.get(id16)
        if template is None:
            raise EndError(f"there is no template {digits_of(id16)}", raw=True)
        caller = self.frame
        self.enter(_Frame(macro_slots(template.body), caller.values, {}))
        self.evaluate_template(template)
        self.calls -= 1
        self.frame = caller

    def enter(self, frame: _Frame) -> None:
        self.calls += 1
        if self.calls > self.most_calls:
            levels = allowed("aix.template-calls")
            raise EndError(f"subroutines lie too deep in each other: {levels}")
        self.frame = frame

    def call(self, item: Call) -> None:
        function = self.file.functions.get(item.name)
        arguments = [self.expression(argument) for argument in item.arguments]
        if function is None:
            self.timer(item.name, arguments)
            return
        caller = self.frame
        values = dict(zip(function.parameters, arguments, strict=False))
        self.enter(_Frame(macro_slots(function.body), [], values))
        self.block(function.body)
        self.calls -= 1
        self.frame = caller

    def timer(self, name: str, arguments: list[Value]) -> None:
        """Run ``starttimer(a, b)`` or ``endtimer(a, b)``: the time since the last start with the same two numbers."""
        if name not in ("starttimer", "endtimer") or len(arguments) != 2:
            raise EndError(f"there is no function {name}", raw=True)
        key = (_integer(arguments[0]), _integer(arguments[1]))
        if name == "starttimer":
            self.around.timers[key] = self.around.time_ns
        elif key in self.around.timers:
            microseconds = (self.around.time_ns - self.around.timers.pop(key)) // 1000
            self.out.write(f"[{microseconds} usec]")
            self.out.name(microseconds, "usec")

    def control(self, name: str) -> None:
        match name:
            case "STOP":
                self.action = "stop"
                raise EndError
            case "BREAK":
                raise EndError
            case "SKIP":
                self.action = "skip"
                raise EndError
            case "DEFAULT":
                if DEFAULT_TEMPLATE not in self.file.templates:
                    raise EndError(raw=True)
                self.subroutine(DEFAULT_TEMPLATE)
            case _:
                location = f"{self.around.logfile or '-'} offset {self.around.log_offset}"
                self.out.write(f"ERROR: {location} traceid {digits_of(self.entry.id)}")
                self.ending = True


def _integer(value: Value) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    return 0


def _computed(left: int, operator: str, right: int) -> int:
    match operator:
        case "+":
            return wrapped(left + right)
        case "-":
            return wrapped(left - right)
        case "*":
            return wrapped(left * right)
    return left // right if right else 0
