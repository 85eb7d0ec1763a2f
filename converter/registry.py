"""Look-up of formats: by the contents of an input, by name, by suffix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from converter.errors import UnknownFormatError, UnknownNameError
from converter.errors.advice import advice
from converter.formats.descriptor import Format
from converter.formats.table import formats
from converter.limits import allowed, limit

if TYPE_CHECKING:
    from converter.storage.source import Source

    FORMATS: tuple[Format, ...]

#: A suggestion has to be this similar: '.txt' is not '.ltt'.
_CLOSE: Final = 0.7

#: How much of a file a format is shown to recognise it.
_HEAD_SIZE = 4096

#: Once this many names of a directory are known, no further folder of it is listed.
_HEAD_NAMES = 10_000


def __getattr__(name: str) -> Any:
    # Their descriptors are imported on first use.
    if name == "FORMATS":
        return tuple(formats())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def detect(source: Source) -> Format:
    """Return the first format that recognises an input.

    Raises:
        UnknownFormatError: none does.

    """
    unseen: list[str] = []
    if source.is_directory:
        names = list(_head_names(source))
        unseen = names[limit("listed-files") :]
        head = _head_of_names(names[: limit("listed-files")])
    else:
        head = source.read(0, _HEAD_SIZE)
        if not head:
            if source.warnings:  # from decompression, which produced nothing
                raise source.warnings[0].to_error()
            raise UnknownFormatError("the file is empty", path=source.name)
    for format in formats():
        if format.readable and format.sniff(head):
            return format
    for format in formats():
        if format.readable and format.searches and format.search()(source, head):
            return format
    from converter.unrecognised import hint  # not needed for inputs that are recognised

    if unseen:
        expected = f"a trace that {allowed('listed-files')} show"
        raise UnknownFormatError(path=source.name, expected=expected, found="more files")
    tried = ", ".join(format.name for format in formats() if format.readable)
    raise UnknownFormatError(
        f"not recognised as any of {tried}; {hint(source, head)}", path=source.name
    )


def is_live(head: bytes) -> bool:
    """Return True for the start of a text that is read while it is being written."""
    return any(format.is_live is not None and format.is_live(head) for format in formats())


def is_single_trace(source: Source, names: Iterable[str]) -> bool:
    """Return True unless an input is a folder that no format recognises by those of these names that are directly in
    it.
    """
    if not source.is_directory:
        return True
    head = _head_of_names(names)
    return any(format.readable and format.sniff(head) for format in formats())


def _head_names(source: Source) -> Iterator[str]:
    """Yield the names in a directory that formats are shown.

    They are all names of each folder, since that by which a format is recognised may be the last in it, up to the
    folder in which they become too many, and one more than the limit allows.
    """
    folder = None
    for count, name in enumerate(islice(source.walk(), limit("listed-files") + 1)):
        if count >= _HEAD_NAMES and os.path.dirname(name) != folder:
            return
        folder = os.path.dirname(name)
        yield name


def _head_of_names(names: Iterable[str]) -> bytes:
    """Return the bytes by which formats recognise a directory."""
    return b"dir:" + "\n".join(names).encode("utf-8", "surrogateescape")


def detected(source: Source) -> Format | None:
    """Return the format of an input, None if no format recognises it."""
    try:
        return detect(source)
    except UnknownFormatError:
        return None


def format_named(text: str) -> tuple[Format, str]:
    """Return the format and variant of "name" or "name+variant", or of an alias.

    Hyphens and underscores are equivalent, and case does not matter.

    Raises:
        UnknownNameError: there is no such format or variant.

    """
    name, plus, variant = text.lower().replace("-", "_").removeprefix(".").partition("+")
    for format in formats():
        implied = _aliases(format).get(name)
        if format.name == name or implied is not None:
            if not plus:
                return format, implied or format.default_variant
            if variant and variant in format.variants:
                return format, variant
            known = ", ".join(f"{format.name}+{each}" for each in format.variants if each)
            there = f"there are {known}" if known else f"{format.name} has no variants"
            raise UnknownNameError(f"unknown variant {text!r}; {there}")
    if not name:
        raise UnknownNameError("the name of a format is empty")
    known = ", ".join(format.name for format in formats())
    names = [name for format in formats() for name in (format.name, *_aliases(format))]
    raise UnknownNameError(f"unknown format {text!r}{_suggestion(name, names)}; there are {known}")


def _aliases(format: Format) -> dict[str, str]:
    """Return the variant (or "") for each alias of a format."""
    return {alias.partition("+")[0]: alias.partition("+")[2] for alias in format.aliases}


def _suggestion(word: str, words: list[str]) -> str:
    """Return a question that suggests the closest of the words; empty if none is close."""
    from difflib import get_close_matches  # slow to import, and mistakes are rare

    close = get_close_matches(word, words, 1, _CLOSE)
    return f" (did you mean {close[0]!r}?)" if close else ""


def source_format(text: str) -> tuple[Format, dict[str, str]]:
    """Return the format of this name, for an input, and the options that the name implies for its reader.

    Raises:
        UnknownNameError: there is no such format, or the name is that of a variant that its reader detects.

    """
    format, variant = format_named(text)
    if "+" not in text:
        return format, {}
    if "variant" not in format.options:
        raise UnknownNameError(f"the variant of an input is detected; use {format.name!r}")
    return format, {"variant": variant}


def target_format(path: str | os.PathLike[str], text: str | None) -> tuple[Format, str]:
    """Return the format and variant of an output: as named, or by the suffix of the path.

    Raises:
        UnknownNameError: there is no such format, or none has the suffix.

    """
    if text is not None:
        return format_named(text)
    from converter.storage.compression.wrapping import unwrapped_name  # only outputs have suffixes

    name, wrapping = unwrapped_name(path)
    # A suffix may be of two parts, of which one is the compression: profile.pb.gz.
    whole = os.path.basename(os.fspath(path)).lower() if wrapping is not None else name
    for one in dict.fromkeys((whole, name)):
        for format in formats():
            if format.writable and one.endswith(format.suffixes):
                return format, format.default_variant
    raise UnknownNameError(_no_suffix(name))


#: Suffixes of what other commands write, and how.
_OTHERS: Final = {
    ".txt": "'traceconv report IN -o {name}' writes the events as text",
    ".log": "'traceconv report IN -o {name}' writes the events as text",
    ".csv": "'traceconv report IN --csv -o {name}' writes the events as a table",
    ".html": "'traceconv view IN -o {name}' writes a page that shows the trace",
    ".htm": "'traceconv view IN -o {name}' writes a page that shows the trace",
    ".svg": "'traceconv plot IN -o {name}' draws the trace",
    ".png": "'traceconv plot IN -o {name}' draws the trace",
    ".pdf": "'traceconv plot IN -o {name}' draws the trace",
    ".rar": "outputs are compressed as .gz, .zst, .xz, .bz2 or .lz4, and directories as .tar.gz or the like",
    ".7z": "outputs are compressed as .gz, .zst, .xz, .bz2 or .lz4, and directories as .tar.gz or the like",
}


def _no_suffix(name: str) -> str:
    """Return why the suffix of an output names no format, and what to do."""
    if not name:
        return "the output has an empty name"
    suffix = os.path.splitext(name)[1].lower()
    how = advice("the argument `format` names one", "-t names one")
    if suffix in _OTHERS:
        return f"no format has the suffix {suffix}: {_OTHERS[suffix].format(name=name)}"
    suffixes = [one for format in formats() if format.writable for one in format.suffixes]
    first = [format.suffixes[0] for format in formats() if format.writable and format.suffixes]
    if not suffix:
        example = advice("format='fxt'", "-t fxt")
        return f"{name!r} has no suffix that says the format: {how}, {example} for instance"
    return (
        f"no format has the suffix {suffix!r}{_suggestion(suffix, suffixes)}: {how}, "
        f"or a suffix: {', '.join(first)}"
    )
