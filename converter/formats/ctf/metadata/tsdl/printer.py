"""Prints classes as TSDL (CTF 1.8.3, 7 and appendix C): the counterpart of `trace.parse_tsdl`."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from string import Template
from typing import Final
from uuid import UUID

from converter.errors import UnsupportedError
from converter.formats.ctf.metadata.field_classes import (
    Array,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedFloat,
    FixedInteger,
    Location,
    Mapping,
    Member,
    Option,
    Scope,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.field_trees import roles_in
from converter.formats.ctf.metadata.trace_class import (
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)
from converter.formats.ctf.metadata.tsdl.lexer import KEYWORDS, escaped

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)
_ORDERS: Final = {"little": "le", "big": "be"}
_FLOATS: Final = {16: (5, 11), 32: (8, 24), 64: (11, 53), 128: (15, 113)}
_PREFIXES: Final = {
    Scope.PACKET_HEADER: "trace.packet.header",
    Scope.PACKET_CONTEXT: "stream.packet.context",
    Scope.EVENT_HEADER: "stream.event.header",
    Scope.COMMON_CONTEXT: "stream.event.context",
    Scope.SPECIFIC_CONTEXT: "event.context",
    Scope.PAYLOAD: "event.fields",
}
_CHARACTER: Final = FixedInteger(8, alignment=8, encoding="UTF8")


def print_tsdl(trace: TraceClass) -> str:
    """Return the text that declares a trace.

    Raises:
        UnsupportedError: TSDL cannot express a part of it.

    """
    printer = _Printer(trace)
    return printer.text()


@cache
def _template() -> Template:
    text = pkgutil.get_data("converter.schemas", "ctf/metadata-1.8.tsdl.in")
    assert text is not None
    return Template(text.decode())


class _Printer:
    def __init__(self, trace: TraceClass) -> None:
        self._trace = trace
        self._has_ids = FieldRole.STREAM_CLASS_ID in roles_in(trace.packet_header)
        self._scope = Scope.PAYLOAD
        self._roots: dict[Scope, Structure | None] = {}
        #: The structures around the type being printed: their members by displayed name, and their paths.
        self._frames: list[tuple[Structure, tuple[str, ...]]] = []

    def text(self) -> str:
        """Return the whole text."""
        trace = self._trace
        header = self._root("packet.header", trace.packet_header, Scope.PACKET_HEADER)
        blocks = [self._clock(clock) for clock in trace.clocks.values()]
        for stream in trace.streams.values():
            blocks.append(self._stream(stream))
            blocks += [self._event(stream, event) for event in stream.events.values()]
        return _template().substitute(
            uuid=f'\tuuid = "{trace.uuid}";\n' if trace.uuid is not None else "",
            byte_order=_ORDERS[trace.byte_order],
            packet_header=header,
            environment=self._environment(),
            classes="".join(blocks),
        )

    def _environment(self) -> str:
        if not self._trace.environment:
            return ""
        lines = [
            f"\t{_word(name)} = {value if isinstance(value, int) else escaped(value)};\n"
            for name, value in self._trace.environment.items()
        ]
        return f"env {{\n{''.join(lines)}}};\n\n"

    def _clock(self, clock: ClockClass) -> str:
        if clock.origin is not None or clock.accuracy is not None:
            raise _unsupported("the origin or accuracy of a clock class")
        lines = [f"\tname = {escaped(clock.name)};\n"]
        if clock.uid:
            try:
                lines.append(f'\tuuid = "{UUID(clock.uid)}";\n')
            except ValueError:
                raise _unsupported("a clock class with a uid that is no UUID") from None
        if clock.description:
            lines.append(f"\tdescription = {escaped(clock.description)};\n")
        lines.append(f"\tfreq = {clock.frequency};\n")
        if clock.precision is not None:
            lines.append(f"\tprecision = {clock.precision};\n")
        lines.append(f"\toffset_s = {clock.offset_seconds};\n\toffset = {clock.offset_cycles};\n")
        lines.append(f"\tabsolute = {'TRUE' if clock.unix_epoch else 'FALSE'};\n")
        return f"clock {{\n{''.join(lines)}}};\n\n"

    def _stream(self, stream: StreamClass) -> str:
        # The id has a meaning only if packets name their stream class.
        parts = [
            f"\tid = {stream.id};\n" if self._has_ids else "",
            self._root("packet.context", stream.packet_context, Scope.PACKET_CONTEXT),
            self._root("event.header", stream.event_header, Scope.EVENT_HEADER),
            self._root("event.context", stream.common_context, Scope.COMMON_CONTEXT),
        ]
        return f"stream {{\n{''.join(parts)}}};\n\n"

    def _event(self, stream: StreamClass, event: EventRecordClass) -> str:
        lines = [f"\tname = {escaped(event.name)};\n"]
        lines.append(f"\tid = {event.id};\n")
        if self._has_ids:
            lines.append(f"\tstream_id = {stream.id};\n")
        if event.log_level is not None:
            if isinstance(event.log_level, str):
                raise _unsupported("a log level that is no number")
            lines.append(f"\tloglevel = {event.log_level};\n")
        if event.model_uri:
            lines.append(f"\tmodel.emf.uri = {escaped(event.model_uri)};\n")
        for name, value in event.attributes.items():
            if not _ATTRIBUTE.fullmatch(name) or not isinstance(value, str | int):
                raise _unsupported(f"the attribute {name!r}")
            lines.append(f"\t{name} = {value if isinstance(value, int) else escaped(value)};\n")
        lines.append(self._root("context", event.specific_context, Scope.SPECIFIC_CONTEXT))
        lines.append(self._root("fields", event.payload, Scope.PAYLOAD))
        return f"event {{\n{''.join(lines)}}};\n\n"

    # Types

    def _root(self, name: str, structure: Structure | None, scope: Scope) -> str:
        self._roots[scope] = structure
        if structure is None:
            return ""
        self._scope = scope
        specifier, _ = self._type(structure, (), "\t")
        return f"\t{name} := {specifier};\n"

    def _type(
        self, declared: FieldDeclaration, path: tuple[str, ...], indent: str
    ) -> tuple[str, str]:
        """Return the text before the name of a field, and the text after it."""
        match declared:
            case FixedInteger() if not declared.reversed_bits:
                return self._integer(declared), ""
            case FixedBits(length, flags=(), reversed_bits=False) if length > 64:
                order = _ORDERS[declared.byte_order]
                align = declared.alignment
                return f"integer {{ size = {length}; align = {align}; byte_order = {order}; }}", ""
            case FixedFloat(length, reversed_bits=False):
                exponent, mantissa = _FLOATS[length]
                digits = f"exp_dig = {exponent}; mant_dig = {mantissa};"
                layout = (
                    f"align = {declared.alignment}; byte_order = {_ORDERS[declared.byte_order]};"
                )
                return f"floating_point {{ {digits} {layout} }}", ""
            case Text(None, "utf-8" | "ascii" as encoding):
                return f"string {{ encoding = {'UTF8' if encoding == 'utf-8' else 'ASCII'}; }}", ""
            case Text(int() | Location() as length, "utf-8" | "ascii"):
                element = declared.element or _CHARACTER
                return self._integer(element), self._length(length)
            case Structure():
                return self._structure(declared, path, indent), ""
            case Array(element, length, 1):
                before, after = self._type(element, path, indent)
                return before, self._length(length) + after
            case Variant(selector, options):
                name = self._reference(selector)
                if "." in name:
                    # The grammar allows a path here, but no reader accepts one.
                    raise _unsupported("a selector that is in no structure around its variant")
                body = self._members(self._labelled(options, selector), path, indent)
                return f"variant <{name}> {{\n{body}{indent}}}", ""
        raise _unsupported(f"a field class {type(declared).__name__}")

    def _labelled(self, options: tuple[Option, ...], selector: Location) -> tuple[Option, ...]:
        """Return options that are declared by the labels that select them: Babeltrace finds no others."""
        labels = dict(self._labels(selector))
        result = []
        for option in options:
            names = (option.declared, f"_{option.name}", option.name)
            name = next((one for one in names if labels.get(one) == option.ranges), None)
            if name is None:
                raise _unsupported(f"an option {option.name!r} without a label of this name")
            result.append(option._replace(declared=name))
        return tuple(result)

    def _labels(self, selector: Location) -> tuple[Mapping, ...]:
        """Return the labels of a selector in a structure around the type being printed."""
        for structure, path in reversed(self._frames):
            if path == selector.path[:-1] and selector.scope == self._scope:
                for member in structure.members:
                    if member.name == selector.path[-1] and isinstance(member.type, FixedInteger):
                        return member.type.mappings
        return ()

    def _integer(self, declared: FixedInteger) -> str:
        size = f"size = {declared.length}; align = {declared.alignment};"
        parts = [f"integer {{ {size} signed = {int(declared.signed)};"]
        if (
            declared.length % 8
            or declared.length > 8
            or declared.byte_order != self._trace.byte_order
        ):
            parts.append(f" byte_order = {_ORDERS[declared.byte_order]};")
        if declared.base != 10:
            parts.append(f" base = {declared.base};")
        if declared.encoding:
            parts.append(f" encoding = {declared.encoding};")
        if declared.clock:
            parts.append(f" map = clock.{declared.clock}.value;")
        parts.append(" }")
        base = "".join(parts)
        if not declared.mappings:
            return base
        labels = [
            f"{escaped(mapping.name)} = {span.low}"
            + (f" ... {span.high}" if span.high != span.low else "")
            for mapping in declared.mappings
            for span in mapping.ranges
        ]
        return f"enum : {base} {{ {', '.join(labels)} }}"

    def _structure(self, declared: Structure, path: tuple[str, ...], indent: str) -> str:
        self._frames.append((declared, path))
        body = self._members(declared.members, path, indent, extend=True)
        self._frames.pop()
        align = declared.minimum_alignment
        return f"struct {{\n{body}{indent}}}" + (f" align({align})" if align > 1 else "")

    def _members(
        self,
        members: tuple[Member, ...] | tuple[Option, ...],
        path: tuple[str, ...],
        indent: str,
        *,
        extend: bool = False,
    ) -> str:
        lines = []
        for member in members:
            inner = (*path, member.name) if extend else path
            before, after = self._type(member.type, inner, indent + "\t")
            lines.append(f"{indent}\t{before} {_declared(member)}{after};\n")
        return "".join(lines)

    def _length(self, length: int | Location) -> str:
        return f"[{length if isinstance(length, int) else self._reference(length)}]"

    def _reference(self, location: Location) -> str:
        """Return the name of a field in an enclosing structure, or its path from a scope."""
        *inside, last = location.path
        if location.scope == self._scope:
            for structure, path in reversed(self._frames):
                found = next((one for one in structure.members if one.name == last), None)
                if found is not None:
                    if path == tuple(inside):
                        return _declared(found)
                    break
        return ".".join([_PREFIXES[location.scope], *self._declared_path(location)])

    def _declared_path(self, location: Location) -> Iterator[str]:
        """Yield the names on a path as they are declared, since other readers find no others."""
        found: FieldDeclaration | None = self._roots.get(location.scope)
        for name in location.path:
            while isinstance(found, Array):
                found = found.element
            members = found.members if isinstance(found, Structure) else ()
            member = next((one for one in members if one.name == name), None)
            if member is None:
                raise _unsupported(f"a length at {'.'.join(location.path)}")
            yield _declared(member)
            found = member.type


def _declared(member: Member | Option) -> str:
    """Return the name in TSDL."""
    name = member.declared or f"_{member.name}"
    if not _IDENTIFIER.fullmatch(name) or name in KEYWORDS:
        raise _unsupported(f"the name {name!r}")
    return name


def _word(name: str) -> str:
    if _IDENTIFIER.fullmatch(name) and name not in KEYWORDS:
        return name
    return escaped(name)


def _unsupported(what: str) -> UnsupportedError:
    return UnsupportedError(f"CTF 1.8 does not have {what}", format="ctf", field="metadata")
