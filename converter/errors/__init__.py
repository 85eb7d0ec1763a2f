"""A family of errors, each with the file, the position in it, what was expected there and what was found.

A message is built from parts, so that every error of every format reads the same:

    trace_cmd: offset 0x1a4: options.BUFFER.page_size: expected a power of two, found 3000
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from errno import EEXIST, ENOENT
from typing import Any, ClassVar, Self

from converter.errors.terminal import printable, without_secrets
from converter.limits import allowed, limit

#: Longer texts are cut: values found in a file can be as long as the file.
_MAX_PART = 300
#: So are paths, of which the end says more.
_MAX_PATH = 4096
#: What a `MemoryLimitError` says.
MEMORY_REFUSED = (
    "not enough memory: the system allows this process no more (`ulimit -v`, a container's limit)"
)


class TraceError(Exception):
    """An error about an input, an output or a conversion.

    All attributes are optional and may be filled in later, while the error propagates (see `within`): `format`, the
    file's `path`, the byte `offset` in it, the dotted path of the `field` there, what was `expected` and `found`,
    and a `message` for what these do not say.
    """

    #: True if a warning made of it tells of damage: see `TraceWarning.is_damage`.
    is_damage: ClassVar[bool] = True

    def __init__(
        self,
        message: str | None = None,
        *,
        format: str | None = None,
        path: str | None = None,
        offset: int | None = None,
        field: str | None = None,
        expected: str | None = None,
        found: object = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.format = format
        self.path = path
        self.offset = offset
        self.field = field
        self.expected = expected
        self.found = found

    @property
    def detail(self) -> str:
        """The line without the path, for callers that print the path themselves."""
        return _line(self, with_path=False)

    def __str__(self) -> str:
        return _line(self, with_path=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def within(
        self,
        *,
        format: str | None = None,
        path: str | None = None,
        base: int = 0,
        field: str | None = None,
    ) -> Self:
        """Add where this happened, as seen by an outer caller; return the same error, to be raised again.

        `format` and `path` are set unless they are known, `field` is prepended to the field path, and `base` is the
        position in the file that the offset so far is relative to.
        """
        self.format = self.format if self.format is not None else format
        self.path = self.path if self.path is not None else path
        if self.offset is not None:
            self.offset += base
        if field:
            self.field = f"{field}.{self.field}" if self.field else field
        return self

    def parts(self) -> dict[str, Any]:
        """Return all parts by name, as the constructor accepts them."""
        return _parts(self)

    def to_warning(self) -> TraceWarning:
        """Return the same as a warning: for a damaged tail, when the data before it is delivered."""
        return TraceWarning(**_parts(self), is_damage=self.is_damage)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        # The parts are keyword-only, which pickling of exceptions does not support.
        return _rebuild, (type(self), _parts(self))


class UnknownFormatError(TraceError):
    """No format recognises the input, or no format has the given name."""


class UnsupportedError(TraceError):
    """The input is valid, but cannot be represented, or there is no reader or writer for it."""


class _NumberedError(TraceError, OSError):
    """An error that is one of the system's, too, with its number."""

    _number: ClassVar[int]

    def __init__(self, message: str | None = None, **parts: Any) -> None:
        super().__init__(message, **parts)
        self.errno = self._number
        self.strerror = message
        self.filename = self.path


class MissingFileError(_NumberedError, FileNotFoundError):
    """There is no such input."""

    _number = ENOENT


class StrictLossError(TraceError):
    """Something would be lost, and the caller requested a refusal in that case.

    `report` has all losses of the conversion: the `LossReport` that `convert` and `write` return.
    """

    report: Any = None


class OutputError(TraceError):
    """The output cannot be created or written.

    Also raised when the reader of standard output went away, with a BrokenPipeError as its `__cause__`.
    """


class ExistingOutputError(_NumberedError, OutputError, FileExistsError):
    """The output exists, and may not be replaced."""

    _number = EEXIST


class ArgumentError(TraceError, ValueError):
    """An argument that cannot be used; the message says what to do."""


class OutputNameError(OutputError, ArgumentError):
    """The name of the output does not fit what is written."""


class OpenFilesError(TraceError):
    """The system allows no more open files. This is not damage of a file, so no reader continues after it."""

    def __init__(self, message: str | None = None, **parts: Any) -> None:
        super().__init__(message or "too many open files (`ulimit -n` says how many)", **parts)

    def to_warning(self) -> TraceWarning:
        """Raise the error: a file that could not be opened is not damaged."""
        raise self


class MemoryLimitError(TraceError):
    """The system refuses memory. This is not damage of a file, so no reader continues after it."""

    def __init__(self, message: str | None = None, **parts: Any) -> None:
        super().__init__(message or MEMORY_REFUSED, **parts)

    def to_warning(self) -> TraceWarning:
        """Raise the error: a file that there is no memory for is not damaged."""
        raise self


class ClosedError(ValueError):
    """The caller reads what it has closed: a mistake of the program, whatever the file."""


class DefectError(TraceError):
    """A reader or writer failed in a way that it does not know: a defect of traceconv, or of a format's plug-in.

    The exception that it raised is the `__cause__`.
    """

    def to_warning(self) -> TraceWarning:
        """Raise the error: nothing is known of the file."""
        raise self


class SelectionWarning(UserWarning):
    """A selection, or a list of fields, names something that no event has."""


class SelectionError(TraceError):
    """A selection has a syntax error, or refers to something that a trace does not have."""

    #: The text of the selection, and the position of the error in it, if it has one.
    text = ""
    position = -1

    def pointing_at(self, text: str, position: int) -> Self:
        """Return the same error, about the character of `text` at a `position`."""
        self.text, self.position = text, position
        return self

    @property
    def pointer(self) -> str:
        """The text and, below, a caret under the position; empty without a position."""
        if self.position < 0:
            return ""
        return f"{_shown(self.text)}\n{' ' * len(_shown(self.text[: self.position]))}^"


class NothingLeftError(TraceError):
    """The input is damaged, and no event of it can be read."""


class UnknownNameError(UnknownFormatError, ArgumentError):
    """No format has the given name, or the suffix of the output."""


class TruncatedError(TraceError):
    """The data ends before it should."""


class RemarkError(TraceError):
    """Something worth a warning about a sound input: no event of it is lost. Never raised: it becomes a warning."""

    is_damage = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceWarning:
    """Damage that does not prevent reading the rest, or a remark; the parts are those of `TraceError`."""

    message: str | None = None
    format: str | None = None
    path: str | None = None
    offset: int | None = None
    field: str | None = None
    expected: str | None = None
    found: object = None
    #: True if part of the input is lost or cannot be read. False for a remark about a sound input.
    is_damage: bool = True

    @property
    def detail(self) -> str:
        """The line without the path, for callers that print the path themselves."""
        return _line(self, with_path=False)

    def __str__(self) -> str:
        return _line(self, with_path=True)

    def to_error(self) -> TraceError:
        """Return the same as an error: for callers that refuse damaged input."""
        return (TraceError if self.is_damage else RemarkError)(**_parts(self))


def note(warnings: list[TraceWarning], *found: TraceWarning) -> None:
    """Add warnings to those of a trace. There is no other way to add one.

    Those that it has already are skipped, as each pass over the input finds the same. If there are too many, the
    last one says so, and further ones are dropped.
    """
    most = limit("warnings")
    for warning in found:
        if len(warnings) > most:
            return
        # Few share an offset, and comparing all of them in full takes long.
        if any(one.offset == warning.offset and _is_same(one, warning) for one in warnings):
            continue
        if len(warnings) < most:
            warnings.append(warning)
            continue
        message = f"there is more damage: {allowed('warnings')} tell of it"
        further = TraceWarning(
            message=message,
            format=warning.format,
            path=warning.path,
            is_damage=warning.is_damage,
        )
        warnings.append(further)


def _is_same(one: TraceWarning, other: TraceWarning) -> bool:
    """Return True if two warnings say the same; what was found is a text in those that have travelled in a trace."""
    if type(one.found) is type(other.found):
        return one == other
    return str(one) == str(other)


def too_many_holes(offset: int | None) -> TraceError:
    """Return the error that reading does not resume after damage at an offset, because it did so too often."""
    expected = allowed("holes")
    return TraceError("damaged in too many places", offset=offset, expected=expected)


def too_many_classes(count: int) -> TraceError:
    """Return the error that a trace has too many classes of events: a sound one may, so that this is no damage."""
    return UnsupportedError(
        field="classes of events", expected=allowed("classes"), found=f"{count:,}"
    )


def _parts(source: TraceError | TraceWarning) -> dict[str, Any]:
    names = ("message", "format", "path", "offset", "field", "expected", "found")
    return {name: getattr(source, name) for name in names}


def _rebuild(kind: type[TraceError], parts: dict[str, Any]) -> TraceError:
    return kind(**parts)


def _line(source: TraceError | TraceWarning, *, with_path: bool) -> str:
    """Return one line of the parts that are present, from the outermost location to the innermost."""
    parts: list[str] = []
    if with_path and source.path is not None:
        parts.append(printable(without_secrets(source.path)[-_MAX_PATH:]) or "''")
    if source.format is not None:
        parts.append(_shown(source.format))
    if source.offset is not None:
        parts.append(f"offset {_shown_offset(source.offset)}")
    if source.field is not None:
        parts.append(_shown(source.field))
    if source.message is not None:
        parts.append(_shown(source.message))
    difference = []
    if source.expected is not None:
        difference.append(f"expected {_shown(source.expected)}")
    if source.found is not None:
        difference.append(f"found {_shown(source.found)}")
    if difference:
        parts.append(", ".join(difference))
    return ": ".join(parts) if parts else "unknown error"


def _shown_offset(offset: int) -> str:
    return f"0x{offset:x}" if offset >= 0 else f"-0x{-offset:x}"


def _shown(value: object) -> str:
    """Return a value as printable text of one line: the contents of a file must not reach a terminal unescaped."""
    if isinstance(value, bytes | bytearray):
        text = repr(bytes(value[:_MAX_PART])).removeprefix("b")
    elif isinstance(value, int) and value.bit_length() > 128:
        # Python refuses to print integers of many digits in decimal.
        text = f"an integer of {value.bit_length()} bits"
    else:
        text = str(value)
    text = without_secrets(text)
    if len(text) > _MAX_PART:
        text = text[: _MAX_PART - 3] + "..."
    return printable(text)
