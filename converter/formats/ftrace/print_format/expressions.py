"""The expressions after the string of a `print fmt:` line, as a tree.

The kernel prints the C text of `TP_printk()` with macros expanded, so an argument can be any C expression over the
record's fields (`REC->x`), with the helper functions of `include/trace/stages/stage3_trace_output.h`.
"""

from __future__ import annotations

import re
from typing import Final

from converter.formats.ftrace.event_format.syntax import FormatSyntaxError
from converter.formats.ftrace.print_format.nodes import (
    OPERATORS,
    PRECEDENCE,
    UNARY_OPERATORS,
    Binary,
    Call,
    Cast,
    Choice,
    Conditional,
    Field,
    Formatted,
    Index,
    Node,
    Number,
    Record,
    Sequence,
    SizeOf,
    String,
    Symbol,
    Unary,
    cast_mask,
    check_height,
    constant,
)
from converter.formats.ftrace.print_format.tokens import (
    END,
    STRING_MACROS,
    Token,
    character_value,
    integer_value,
    tokenize,
)
from converter.limits import allowed, limit

_TYPE_WORDS: Final = frozenset(
    (
        *("void", "bool", "char", "short", "int", "long", "signed", "unsigned"),
        *("const", "volatile", "struct", "union", "enum"),
    )
)
_SIZED_TYPE = re.compile(r"(?:__)?[us](?:8|16|32|64)|\w+_t")
_FIELD_HELPERS: Final = frozenset(
    f"__get_{rel}{what}"
    for rel in ("", "rel_")
    for what in (
        "str", "dynamic_array", "dynamic_array_len", "bitmask", "cpumask", "sockaddr", "stacktrace",
    )
) | {"__get_sockaddr_rel"}  # fmt: skip


def parse_print_fmt(text: str) -> tuple[str, tuple[Node, ...]]:
    """Split the text after `print fmt:` into its format string (escapes unresolved) and its arguments.

    Raises `FormatSyntaxError` where the text is not C, or is C whose meaning a trace file does not define.
    """
    parser = _Parser(tokenize(text))
    if parser.kind not in ("string", "name"):
        raise FormatSyntaxError("print fmt does not start with a string")
    format_string = parser.string()
    arguments: list[Node] = []
    while parser.accept(","):
        arguments.append(parser.expression())
    if parser.kind != "end":
        raise FormatSyntaxError(f"print fmt: unexpected {parser.text[:40]!r}")
    for argument in arguments:
        check_height(argument)
    return format_string, tuple(arguments)


class _Parser:
    """A recursive descent parser; `kind` and `text` are those of the current token."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._levels = 0
        self._most_levels = limit("trace_cmd.format-levels")
        self._most_nodes = limit("trace_cmd.format-nodes")
        self._nodes = 0
        self._locals: dict[str, tuple[Node, int]] = {}

    @property
    def kind(self) -> str:
        return self._peek()[0]

    @property
    def text(self) -> str:
        return self._peek()[1]

    def accept(self, operator: str) -> bool:
        if self._peek() != ("operator", operator):
            return False
        self._position += 1
        return True

    def string(self) -> str:
        """Parse adjacent string constants and join them as C does."""
        parts: list[str] = []
        while True:
            kind, text = self._peek()
            if kind == "string":
                parts.append(text[1:-1])
            elif kind == "name" and text in STRING_MACROS:
                parts.append(STRING_MACROS[text])
            elif parts:
                return "".join(parts)
            else:
                raise FormatSyntaxError(f"expected a string, found {text[:40]!r}")
            self._position += 1

    def expression(self) -> Node:
        self._enter()
        node = self._binary(1)
        if self.accept("?"):
            then = node if self.text == ":" else self.expression()
            self._expect(":")
            node = Conditional(node, then, self.expression())
        self._levels -= 1
        return node

    def _binary(self, minimum: int) -> Node:
        self._enter()
        left = self._unary()
        while True:
            kind, operator = self._peek()
            precedence = PRECEDENCE.get(operator, 0) if kind == "operator" else 0
            if precedence < minimum:
                break
            self._position += 1
            right = self._binary(precedence + 1)
            self._count()
            if isinstance(left, Number) and isinstance(right, Number):
                left = Number(OPERATORS[operator](left.value, right.value))
            else:
                left = Binary(operator, left, right)
        self._levels -= 1
        return left

    def _unary(self) -> Node:
        self._enter()
        kind, text = self._peek()
        node: Node
        if kind == "operator" and text in ("-", "+", "~", "!", "&", "*"):
            self._position += 1
            operand = self._unary()
            if isinstance(operand, Number) and text in UNARY_OPERATORS:
                node = Number(UNARY_OPERATORS[text](operand.value))
            else:
                node = Unary(text, operand)
        elif (declared := self._cast_ahead()) is not None:
            operand = self._unary()
            if isinstance(operand, Number):
                node = Number(operand.value & cast_mask(declared))
            else:
                node = Cast(declared, operand)
        else:
            node = self._postfix()
        self._levels -= 1
        return node

    def _postfix(self) -> Node:
        node = self._primary()
        while True:
            if self.accept("["):
                node = Index(node, self.expression())
                self._expect("]")
            elif isinstance(node, Record) and self.accept("->"):
                node = Field(self._name())
            else:
                return node
            self._count()

    def _primary(self) -> Node:
        self._count()
        kind, text = self._peek()
        if kind == "string" or (kind == "name" and text in STRING_MACROS):
            return String(self.string())
        self._position += 1
        if kind == "number":
            return Number(integer_value(text))
        if kind == "character":
            return Number(character_value(text))
        if kind == "name":
            return self._named(text)
        if text == "(" and kind == "operator":
            if self.text == "{":
                return self._statement_expression()
            node = self.expression()
            self._expect(")")
            return node
        raise FormatSyntaxError(f"expected an operand, found {text[:40]!r}")

    def _named(self, name: str) -> Node:
        if name == "REC":
            return Record()
        if name in self._locals:
            node, size = self._locals[name]
            self._count(size)
            return node
        if self.accept("("):
            return self._call(name)
        # Types can be operands where the macro was not written for the trace (apart from `sizeof`).
        words = [name]
        while self.kind == "name":
            words.append(self._name())
        return Symbol(" ".join(words))

    def _call(self, name: str) -> Node:
        plain = name.removesuffix("_u64")
        if plain in ("__print_flags", "__print_symbolic"):
            return self._choice(plain == "__print_flags")
        if name == "sizeof":
            return self._size_of()
        if name == "trace_seq_buffer_ptr":
            self._name()
            self._expect(")")
            return Sequence()
        if name in _FIELD_HELPERS or name == "__print_dynamic_array":
            arguments: list[Node] = [Field(self._name())]
        else:
            arguments = [] if self.text == ")" else [self.expression()]
        while self.accept(","):
            arguments.append(self.expression())
        self._expect(")")
        if name == "__builtin_expect":
            return arguments[0] if arguments else Number(0)
        return Call(name, tuple(arguments))

    def _choice(self, flags: bool) -> Choice:
        value = self.expression()
        delimiter = None
        if flags:
            self._expect(",")
            delimiter = self.string() if self.text != "{" else ""
        pairs: list[tuple[int | None, str]] = []
        terminated = False
        while self.accept(",") and not (self.text == ")" and self.kind == "operator"):
            self._expect("{")
            if self.accept("}"):
                terminated = True
                continue
            number = self.expression()
            check_height(number)
            self._expect(",")
            name = self.expression()
            self.accept(",")
            self._expect("}")
            # The kernel's table ends at the first NULL.
            terminated = terminated or not isinstance(name, String)
            if isinstance(name, String) and not terminated:
                pairs.append((constant(number), name.text))
        self._expect(")")
        return Choice(value, delimiter, tuple(pairs))

    def _size_of(self) -> SizeOf:
        if self.text == "REC":
            self._position += 1
            self._expect("->")
            field = self._name()
            self._expect(")")
            return SizeOf("", field)
        words: list[str] = []
        while self.kind == "name" or self.text == "*":
            words.append(self.text)
            self._position += 1
        self._expect(")")
        return SizeOf(" ".join(words), None)

    def _statement_expression(self) -> Node:
        """Parse `({ type x = ...; trace_seq_printf(p, ...); result; })`, a GNU extension to which some macros expand.

        A local without initializer, or an assignment to a part of one (a union of bit fields), needs declarations that
        are not in the trace.
        """
        self._expect("{")
        outer = dict(self._locals)
        written: list[tuple[str, tuple[Node, ...]]] = []
        result: Node | None = None
        while not self.accept("}"):
            local = self._declaration_ahead()
            before = self._nodes
            if local is None and self.text in (
                "trace_seq_printf",
                "trace_seq_puts",
                "trace_seq_putc",
            ):
                written.append(self._trace_seq())
            else:
                node = self.expression()
                if local is None:
                    result = node
                else:
                    self._locals[local] = node, self._nodes - before
            self._expect(";")
        self._expect(")")
        self._locals = outer
        if isinstance(result, Sequence):
            return Formatted(tuple(written))
        if result is None or written:
            raise FormatSyntaxError("a statement expression without a value")
        return result

    def _trace_seq(self) -> tuple[str, tuple[Node, ...]]:
        function = self._name()
        self._expect("(")
        self._name()
        self._expect(",")
        text = self.string() if function == "trace_seq_printf" else "%s"
        if function == "trace_seq_putc":
            text = "%c"
        arguments = [] if function == "trace_seq_printf" else [self.expression()]
        while self.accept(","):
            arguments.append(self.expression())
        self._expect(")")
        return text, tuple(arguments)

    def _declaration_ahead(self) -> str | None:
        """Skip `type name =` and return the name."""
        position, words = self._position, 0
        while position < len(self._tokens):
            kind, text = self._tokens[position]
            if kind != "name" and text != "*":
                break
            words += 1
            position += 1
        if words < 2 or position >= len(self._tokens):
            return None
        if self._tokens[position] != ("operator", "="):
            return None
        self._position = position + 1
        return self._tokens[position - 1][1]

    def _cast_ahead(self) -> str | None:
        """Skip `(type)` where it is a cast, and return the type.

        `(name)` alone is a cast when the name is a known type, or when an operand follows (as in libtraceevent).
        """
        tokens, start = self._tokens, self._position
        if self._peek() != ("operator", "("):
            return None
        position = start + 1
        while position < len(tokens) and tokens[position][0] == "name":
            position += 1
        names = tokens[start + 1 : position]
        while position < len(tokens) and tokens[position] == ("operator", "*"):
            position += 1
        words = [text for _, text in tokens[start + 1 : position]]
        if not names or position + 1 >= len(tokens) or tokens[position] != ("operator", ")"):
            return None
        if words[0] == "REC" or words[0] in self._locals:
            return None
        kind, following = tokens[position + 1]
        known = (
            len(words) > 1 or words[0] in _TYPE_WORDS or _SIZED_TYPE.fullmatch(words[0]) is not None
        )
        operand = kind != "operator" or following == "("
        if not operand and not (known and following in ("-", "+", "~", "!", "&", "*")):
            return None
        self._position = position + 1
        return " ".join(words)

    def _peek(self) -> Token:
        return self._tokens[self._position] if self._position < len(self._tokens) else END

    def _name(self) -> str:
        kind, text = self._peek()
        if kind != "name":
            raise FormatSyntaxError(f"expected a name, found {text[:40]!r}")
        self._position += 1
        return text

    def _expect(self, operator: str) -> None:
        if not self.accept(operator):
            raise FormatSyntaxError(f"expected {operator!r}, found {self.text[:40]!r}")

    def _enter(self) -> None:
        self._levels += 1
        if self._levels > self._most_levels:
            levels = allowed("trace_cmd.format-levels")
            raise FormatSyntaxError(f"expressions are nested too deeply: {levels}")

    def _count(self, nodes: int = 1) -> None:
        self._nodes += nodes
        if self._nodes > self._most_nodes:
            most = allowed("trace_cmd.format-nodes")
            raise FormatSyntaxError(f"expressions are too large: {most}")
