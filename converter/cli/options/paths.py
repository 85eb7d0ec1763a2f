"""Paths of the inputs and the output of a conversion, from the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import click

from converter.formats.descriptor import Format
from converter.storage.locations import name_of
from converter.storage.lookup import is_folder


def inputs_and_output(
    paths: Sequence[str], option: str | None, *, needed: bool
) -> tuple[list[str], str | None]:
    """Return the inputs and the output, which is given by -o or is the last of the paths."""
    inputs = list(paths)
    if not inputs:
        raise click.UsageError("Missing argument 'IN'")
    if option is None and len(inputs) > 1:
        option = inputs.pop()
    if option is None and needed:
        raise click.UsageError("Missing OUT: traceconv IN OUT, or -o OUT")
    return inputs, option


#: The suffixes of pages that browsers show, of figures, and of text.
PAGES: Final = (".html", ".htm")
FIGURES: Final = (".svg", ".png", ".pdf")
_COMMANDS: Final = {"view": PAGES, "plot": FIGURES}


def check_output(
    command: str, target: str, allowed: Sequence[str], *, others: bool = False
) -> None:
    """Refuse an output whose suffix promises something else than a command writes.

    Args:
        command: what the command writes, at the beginning of a sentence.
        target: the output.
        allowed: the suffixes of what it writes.
        others: suffixes that nothing else writes, and names without one, are allowed too.
    """
    from converter.storage.compression.wrapping import unwrapped_name

    if target == "-" or target.startswith("/dev/"):
        return
    name, _ = unwrapped_name(target)
    suffix = os.path.splitext(name)[1].lower()
    if suffix in allowed:
        return
    for other, suffixes in _COMMANDS.items():
        if suffix in suffixes:
            raise click.UsageError(f"{command}; 'traceconv {other} IN -o {target}' writes {suffix}")
    from converter import registry

    if suffix and any(suffix in one.suffixes for one in registry.FORMATS):
        raise click.UsageError(f"{command}; 'traceconv IN -o {target}' converts to {suffix}")
    if not others:
        shown = " or ".join(allowed)
        raise click.UsageError(f"{command}: the name ends in {shown}, not in {suffix or 'nothing'}")


def output_in(target: str, source: str, format: Format, variant: str) -> str:
    """Return the output: in a directory, a file named like the input with the format's suffix."""
    names_folder = target.endswith("/") or is_folder(target)
    if not names_folder or format.is_directory(variant):
        return target
    return os.path.join(target, output_name(source, format))


def output_name(source: str, format: Format) -> str:
    """Return the default name of an input's output."""
    return output_stem(source) + suffix_of(format)


def suffix_of(format: Format) -> str:
    """Return the default suffix of outputs."""
    return format.suffixes[0] if format.suffixes else f".{format.name}"


def output_stem(source: str) -> str:
    """Return the name of an input without the suffixes of its format and its compression."""
    from converter import registry
    from converter.storage.compression.wrapping import unwrapped_name

    name = "trace" if source == "-" else name_of(source)
    plain, wrapping = unwrapped_name(name)
    stem = name[: len(plain)] if wrapping is not None else name
    for suffix in sorted((s for one in registry.FORMATS for s in one.suffixes), key=len)[::-1]:
        if stem.lower().endswith(suffix) and len(stem) > len(suffix):
            return stem[: -len(suffix)]
    return stem
