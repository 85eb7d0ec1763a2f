"""The sidecar: what a trace keeps of its source files besides its events, so that such files can be written again.

``Trace.sidecar["lttng_legacy"]`` is JSON-like, so that it can be embedded in other formats; what is read from there is
checked like any input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from converter.errors import TraceError
from converter.formats.lttng_legacy.layout import Version, check_geometry, versions
from converter.formats.lttng_legacy.marker_declarations import Declaration, are_sizes
from converter.formats.lttng_legacy.marker_formats import TypeSizes
from converter.formats.lttng_legacy.recording import MAX_CPU

#: Members of a block's header that belong to the block, not to the trace.
_OF_BLOCKS: Final = frozenset(
    {
        "cycle_count_begin", "cycle_count_end", "freq_begin", "freq_end", "lost_size", "data_size",
        "sb_size", "events_lost", "subbuf_corrupt",
    }
)  # fmt: skip


_Checked = TypeVar("_Checked")


@dataclass(frozen=True, slots=True)
class HeldClass:
    """A class of the trace: its marker (ID -1 for undeclared records), and the sources of its fields.

    `sources` are those of `mapping.MarkerClass`.
    """

    channel: str
    id: int
    format: str
    sources: tuple[int | bytes | None, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """The sidecar of a trace.

    `header` are the constant members of its blocks' headers, `start` the time at which its declarations start. `own` is
    True for a trace that traceconv converted from another format. `files` are channel and CPU of each file.
    """

    version: Version
    big_endian: bool
    header: dict[str, int]
    start: int
    own: bool
    classes: tuple[HeldClass, ...]
    files: tuple[tuple[str, int], ...]
    declarations: tuple[Declaration, ...]

    def to_json_like(self) -> dict[str, Any]:
        """Return the JSON-like representation."""
        return {
            "version": self.version.name,
            "literal": self.version.literal,
            "byte_ids": self.version.byte_ids,
            "big_endian": self.big_endian,
            "header": {
                name: value for name, value in self.header.items() if name not in _OF_BLOCKS
            },
            "start": self.start,
            "own": self.own,
            "classes": [
                [one.channel, one.id, one.format, list(one.sources)] for one in self.classes
            ],
            "files": [list(file) for file in self.files],
            "declarations": [_form(one) for one in self.declarations],
        }


def parse_sidecar(form: dict[str, Any]) -> Held:
    """Return the sidecar from its JSON-like representation.

    Raises:
        TraceError: it is damaged.

    """
    try:
        name = _checked(form["version"], str)
        if name not in versions():
            raise ValueError(f"version {name}")
        major, minor = name.split(".")
        version = Version(
            int(major),
            int(minor),
            _checked(form["literal"], bool),
            _checked(form["byte_ids"], bool),
        )
        return Held(
            version,
            _checked(form["big_endian"], bool),
            _header(form["header"], version),
            _number(form["start"], 64),
            _checked(form["own"], bool),
            tuple(_class(*entry) for entry in form["classes"]),
            tuple((_text(channel), _cpu(cpu)) for channel, cpu in form["files"]),
            tuple(_declaration(*entry) for entry in form["declarations"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TraceError(
            f"not what a trace keeps of its files: {error}", field="sidecar.lttng_legacy"
        ) from error


def _header(form: dict[str, Any], version: Version) -> dict[str, int]:
    members = {name: size for name, _, size in version.layout.members if name not in _OF_BLOCKS}
    if form.keys() != members.keys():
        raise ValueError("a header of other members")
    header = {name: _number(form[name], 8 * size) for name, size in members.items()}
    check_geometry(header)
    return header


def _class(channel: Any, id: Any, format: Any, sources: Sequence[Any]) -> HeldClass:
    if id != -1:
        _number(id, 16)
    if not all(source is None or type(source) in (int, bytes) for source in sources):
        raise TypeError("a field comes from nowhere")
    return HeldClass(_text(channel), id, _text(format), tuple(sources))


def _form(one: Declaration) -> list[Any]:
    sizes = one.sizes
    numbers = [sizes.integer, sizes.long, sizes.pointer, sizes.size_t, sizes.alignment]
    return [one.ts, one.cpu, one.channel, one.name, one.id, numbers, one.format]


def _declaration(
    ts: Any, cpu: Any, channel: Any, name: Any, id: Any, sizes: Sequence[Any], format: Any
) -> Declaration:
    of_types = TypeSizes(*(_number(size, 8) for size in sizes))
    if format is None and not are_sizes(of_types):
        raise ValueError("types of such sizes")
    return Declaration(
        _number(ts, 63),
        _cpu(cpu),
        _text(channel),
        _text(name),
        _number(id, 16),
        of_types,
        None if format is None else _text(format),
    )


def _checked(value: Any, kind: type[_Checked]) -> _Checked:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _number(value: Any, bits: int) -> int:
    number = _checked(value, int)
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{number} does not fit {bits} bits")
    return number


def _cpu(value: Any) -> int:
    number = _number(value, 32)
    if number > MAX_CPU:
        raise ValueError(f"CPU {number}")
    return number


def _text(value: Any) -> str:
    text = _checked(value, str)
    # UnicodeEncodeError, a ValueError, for lone surrogates other than those of bytes that are not UTF-8.
    if b"\0" in text.encode("utf-8", "surrogateescape"):
        raise ValueError("a text with a NUL")
    return text
