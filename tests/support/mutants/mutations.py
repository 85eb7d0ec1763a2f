"""Small changes of a source that tests should notice: another comparison, a limit off by one, a branch less.

A mutation replaces a range of the source, so that all lines keep their numbers. Declarations of types, texts,
decorators and representations for people are left alone: changing them changes nothing that a test could see.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Mutation:
    """A range of a source (offsets of characters), and the text in its place."""

    line: int
    start: int
    end: int
    text: str
    what: str
    #: The lines of its statement up to it.
    lines: range = range(0)
    #: False if it changes what runs when the module is imported.
    in_function: bool = False

    def applied(self, source: str) -> str:
        """Return the source with the mutation."""
        return source[: self.start] + self.text + source[self.end :]


_COMPARISONS: Final = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_OPERATORS: Final = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
#: Methods whose results are for people.
_FOR_PEOPLE: Final = frozenset({"__repr__", "_repr_html_"})


def mutations(source: str) -> list[Mutation]:
    """Return the mutations of a Python module, in their order."""
    return sorted(_Finder(source).found, key=lambda one: (one.start, one.end, one.text))


class _Finder(ast.NodeVisitor):
    """Collects the mutations of a module."""

    def __init__(self, source: str) -> None:
        self._source = source
        #: The offset of each line, in characters; columns of nodes are in bytes.
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self.found: list[Mutation] = []
        self._statement = 1
        self._depth = 0
        self.visit(ast.parse(source))

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)

    def _range(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno, node.end_col_offset),
        )

    def _add(self, line: int, start: int, end: int, text: str) -> None:
        before = self._source[start:end]
        lines = range(self._statement, line + 1)
        what = f"{before!r} -> {text!r}"
        self.found.append(Mutation(line, start, end, text, what, lines, self._depth > 0))

    def visit(self, node: ast.AST) -> None:
        """Visit a node; mutations inside know the statement that they are in."""
        outer = self._statement
        if isinstance(node, ast.stmt):
            self._statement = node.lineno
        super().visit(node)
        self._statement = outer

    def _replace_between(self, left: ast.expr, right: ast.expr, before: str, after: str) -> None:
        """Replace an operator, which is between two operands and outside of brackets and comments."""
        start, end = self._range(left)[1], self._range(right)[0]
        pattern = (
            r"\b" + before.replace(" ", r"\s+") + r"\b"
            if before[0].isalpha()
            else re.escape(before)
        )
        found = re.search(pattern, self._source[start:end])
        if found is not None:
            self._add(left.lineno, start + found.start(), start + found.end(), after)

    # What is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit the body and the defaults."""
        if node.name in _FOR_PEOPLE:
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._depth += 1
        for statement in node.body:
            self.visit(statement)
        self._depth -= 1

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the body."""
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit the value."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Pass over: it is for the type checker."""

    def visit_keyword(self, node: ast.keyword) -> None:
        """Pass over `strict` of zip, an assertion as well."""
        if node.arg != "strict":
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Pass over: the exception's text is for people."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Pass over: a text for people."""

    # What is changed

    def visit_If(self, node: ast.If) -> None:
        """Drop the branch; comparisons in the condition are mutations of their own."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        start, end = self._range(node.test)
        self._add(node.lineno, start, end, "False")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Take another comparison."""
        operands = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
            self._replace_between(left, right, *_COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange `and` and `or`."""
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._replace_between(node.values[0], node.values[1], *words)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Take the opposite operator; texts and types have operators, too, and are passed over."""
        texts = (ast.JoinedStr, ast.Constant)
        is_text = any(
            isinstance(side, texts) and isinstance(getattr(side, "value", ""), str | bytes)
            for side in (node.left, node.right)
        )
        if type(node.op) in _OPERATORS and not is_text:
            self._replace_between(node.left, node.right, *_OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop `not` and the sign."""
        start, end = self._range(node)
        if isinstance(node.op, ast.Not | ast.USub):
            self._add(node.lineno, start, end, f"({self._text(node.operand)})")
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Take a neighbour of a number, and the other truth value."""
        start, end = self._range(node)
        if isinstance(node.value, bool):
            self._add(node.lineno, start, end, str(not node.value))
        elif isinstance(node.value, int):
            self._add(node.lineno, start, end, str(node.value + 1))

    def _text(self, node: ast.expr) -> str:
        start, end = self._range(node)
        return self._source[start:end]


#: Operators of a kernel, by their text with the spaces around, which `ruff` and our style put there.
_IN_KERNELS: Final = re.compile(
    r" (<=|>=|==|!=|<|>|\+|-|and|or|is not|is|not in|in) (?=\S)|\b([01])\b(?![.x'\w])"
)
#: The line with the name of a function or method, and lines that declare or loop.
_FUNCTION: Final = re.compile(r"\s*(def|cpdef|cdef)\b[^=]*\(")
_DECLARATION: Final = re.compile(r"\s*(cdef class|class|from|import|cimport|for .* in range)\b")
_EXCHANGED: Final = dict(
    (*_COMPARISONS.values(), *_OPERATORS.values(), ("and", "or"), ("or", "and"))
)


def kernel_mutations(source: str) -> Iterator[Mutation]:
    """Yield the mutations of a Cython module: operators and 0 and 1 in the bodies of functions."""
    offset = 0
    in_text = in_signature = in_function = False
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        code = line.partition("#")[0].rstrip()
        quotes = code.count('"""')
        is_text = in_text or quotes > 0
        in_text ^= bool(quotes & 1)
        if not is_text and code:
            if not code.startswith((" ", ")")):
                in_function = False
            starts = _FUNCTION.match(code) is not None
            in_signature |= starts
            if in_signature:
                in_function = True
                in_signature = not code.endswith(":")
            elif in_function and not _DECLARATION.match(code):
                yield from _in_line(code, number, offset)
        offset += len(line)


def _in_line(code: str, number: int, offset: int) -> Iterator[Mutation]:
    for found in _IN_KERNELS.finditer(code):
        group = 1 if found[1] else 2
        before = found[group]
        after = _EXCHANGED.get(before) or {"0": "1", "1": "0"}[before]
        start, end = found.span(group)
        yield Mutation(number, offset + start, offset + end, after, f"{before!r} -> {after!r}")
