"""Template files: the text between the templates, updates, and printing the whole again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from converter.errors import TraceError, TraceWarning, note
from converter.formats.aix.trcfmt.grammar import parse_body
from converter.formats.aix.trcfmt.model import (
    Block,
    Function,
    Level,
    Template,
    Unknown,
)
from converter.formats.aix.trcfmt.printer import print_template
from converter.limits import allowed, limit

_HEADER = re.compile(r"\s*([+-]?)\s*(?:0[xX])?([0-9A-Fa-f]{3,4})(?![^\s])")
_VERSION = re.compile(r"\s+(\d{1,9}\.\d{1,9})(?![^\s])")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_LEVEL = re.compile(r"\s+L=(APPL|SVC|KERN|INT|0)(?![^\s])")


@dataclass(frozen=True, slots=True)
class Stanza:
    """A template of a file, or a change in an update: ``+`` adds the template, ``-`` removes the one of that ID.

    `between` are the lines before it: comments, empty lines, and text that is not a template.
    """

    template: Template
    action: str = ""
    between: str = ""
    source: str = field(default="", compare=False)

    def text(self) -> str:
        """The lines of the stanza, as they were read if nothing is changed."""
        if self.source:
            return self.between + self.source
        if self.action == "-":
            return f"{self.between}- {self.template.id_text}\n"
        sign = f"{self.action} " if self.action else ""
        return self.between + sign + print_template(self.template)


@dataclass(slots=True)
class Budget:
    """The remaining cost for evaluating the templates of a file beyond what each entry may take.

    Limits per entry do not bound the cost of a long trace.
    """

    steps: int = 2_000_000


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A template file, or an update of one. `rest` are the lines after the last stanza."""

    stanzas: tuple[Stanza, ...] = ()
    rest: str = ""
    warnings: tuple[TraceWarning, ...] = field(default=(), compare=False)
    budget: Budget = field(default_factory=Budget, compare=False, repr=False)
    _templates: dict[int, Template] = field(default_factory=dict, compare=False, repr=False)
    _functions: dict[str, Function] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for stanza in self.stanzas:
            if stanza.action == "-":
                self._templates.pop(stanza.template.id, None)
                continue
            self._templates[stanza.template.id] = stanza.template
            for function in _functions_in(stanza.template.body):
                self._functions[function.name] = function

    @property
    def templates(self) -> Mapping[int, Template]:
        """The templates by their 16-bit IDs; if several have the same ID, the last."""
        return self._templates

    @property
    def functions(self) -> Mapping[str, Function]:
        """The template functions of all templates, by name."""
        return self._functions

    def text(self) -> str:
        """Return the file as text; unchanged parts are as they were, byte for byte (UTF-8 with surrogateescape)."""
        return "".join(stanza.text() for stanza in self.stanzas) + self.rest

    def printed(self) -> str:
        """Return the file as text with every template printed again."""
        return "".join(replace(stanza, source="").text() for stanza in self.stanzas) + self.rest

    def updated(self, update: TemplateFile) -> TemplateFile:
        """Return the file after an update, whose templates replace those of the same ID or are appended."""
        changes = {stanza.template.id: stanza for stanza in update.stanzas}
        kept: list[Stanza] = []
        placed: set[int] = set()
        for stanza in self.stanzas:
            change = changes.get(stanza.template.id)
            if change is None:
                kept.append(stanza)
            elif change.action != "-" and change.template.id not in placed:
                placed.add(change.template.id)
                kept.append(Stanza(change.template, between=stanza.between))
        kept += [
            Stanza(stanza.template)
            for stanza in changes.values()
            if stanza.action != "-" and stanza.template.id not in placed
        ]
        return TemplateFile(tuple(kept), self.rest, (*self.warnings, *update.warnings))


def parse(text: bytes | str) -> TemplateFile:
    """Parse the templates of a file.

    What cannot be parsed is kept and named in `TemplateFile.warnings`.

    Raises:
        TraceError: the file exceeds the size limit of a template file, or that of all of them together.

    """
    if len(text) > limit("aix.template-file"):
        raise TraceError(
            format="trcfmt",
            expected=f"templates of {allowed('aix.template-file')}",
            found=len(text),
        )
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    stanzas: list[Stanza] = []
    warnings: list[TraceWarning] = []
    between = ""
    for offset, lines in _logical_lines(text):
        stanza = _stanza(lines, between)
        if stanza is None:
            between += lines
            if lines.strip() and lines.lstrip()[0] not in "#*":
                note(
                    warnings,
                    TraceWarning(
                        format="trcfmt",
                        offset=offset,
                        expected="a template or a comment",
                        found=lines.strip(),
                        is_damage=False,
                    ),
                )
            continue
        between = ""
        stanzas.append(stanza)
        pieces = stanza.template.body.pieces
        if pieces and isinstance(unknown := pieces[-1].item, Unknown):
            note(
                warnings,
                TraceWarning(
                    format="trcfmt",
                    offset=offset,
                    field=f"template {stanza.template.id_text}",
                    expected=unknown.reason.removeprefix("expected "),
                    found=unknown.text,
                    is_damage=False,
                ),
            )
    return TemplateFile(tuple(stanzas), between, tuple(warnings))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines joined with their continuation lines, with their offsets in characters."""
    start = at = 0
    in_template = False
    for line in _LINE.findall(text):
        if at == start:
            in_template = line.lstrip()[:1] not in ("#", "*", "")
        at += len(line)
        if in_template and (line.rstrip().endswith("\\") or _is_comment_inside(line, start, at)):
            continue
        yield start, text[start:at]
        start = at
    if start < len(text):
        yield start, text[start:]


def _is_comment_inside(line: str, start: int, end: int) -> bool:
    """Return True if a line is a comment within a template that the previous line continues."""
    return end - start > len(line) and line.lstrip()[:1] == "#"


def _stanza(lines: str, between: str) -> Stanza | None:
    header = _HEADER.match(lines)
    if header is None:
        return None
    action, digits = header[1], header[2]
    version = _VERSION.match(lines, header.end())
    id16 = int(digits, 16) << (4 if len(digits) == 3 else 0)
    if action == "-":
        removed = Template(id16, version[1] if version else "", id_text=digits)
        return Stanza(removed, action, between, lines)
    if version is None:
        return None
    level = _LEVEL.match(lines, version.end())
    body = lines[(level or version).end() :]
    template = Template(
        id16,
        version[1],
        Level.KERN if level is None else Level.EDGE if level[1] == "0" else Level[level[1]],
        parse_body(_joined(body)),
        id_text=digits,
    )
    return Stanza(template, action, between, lines)


def _joined(body: str) -> str:
    """Return the text of a template with its continued lines joined by newlines, and without comment lines."""
    joined: list[str] = []
    for number, line in enumerate(body.split("\n")):
        text = line.rstrip()
        if number and text.lstrip().startswith("#"):
            continue
        joined.append(text.removesuffix("\\"))
    return "\n".join(joined)


def _functions_in(block: Block) -> Iterator[Function]:
    for piece in block.pieces:
        if isinstance(piece.item, Function):
            yield piece.item
