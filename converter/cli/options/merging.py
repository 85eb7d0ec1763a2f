"""Options of ``traceconv IN IN -o OUT`` that relate several inputs, and messages about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

import click

from converter.cli.output import messages

if TYPE_CHECKING:
    from converter.ir.trace import Trace

#: With more inputs than this, those without a problem are only counted.
_SAID = 20


class Relations(TypedDict):
    """The options that relate several inputs, as `open_merged` accepts them."""

    offsets: dict[str, str]
    align: str | None
    machines: dict[str, list[str]]


def _as_offsets(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for text in given:
        # A name may contain the sign, a time does not.
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not NAME=TIME, such as app.json=+1.5s")
        parsed[name] = value
    return parsed


def _as_machines(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, list[str]]:
    parsed: dict[str, list[str]] = {}
    for text in given:
        name, equals, files = text.partition("=")
        if not equals or not name or not files:
            raise click.BadParameter(f"{text!r} is not NAME=IN[,IN]")
        parsed.setdefault(name, []).extend(files.split(","))
    return parsed


def relating(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for several inputs to a command."""
    for option in (
        click.option(
            "--machine",
            "machines",
            metavar="NAME=IN[,IN]",
            multiple=True,
            callback=_as_machines,
            help="With several IN: those that are of one machine, if the traces do not say it.",
        ),
        click.option(
            "--align",
            metavar="EVENT",
            help="With several IN: put the first EVENT of each (name, system:name or text) at one time.",
        ),
        click.option(
            "--offset",
            "offsets",
            metavar="IN=TIME",
            multiple=True,
            callback=_as_offsets,
            help="With several IN: move one (name or number) by +1.5s, -20ms.",
        ),
    ):
        command = option(command)
    return command


def print_inputs(trace: Trace) -> None:
    """Print a line for each input of a merged trace: its position on the common clock; and one for each possible
    problem.
    """
    from converter.merging.merged_trace import MergedTrace

    if not isinstance(trace, MergedTrace):
        return
    for number, one in enumerate(trace.inputs):
        if number < _SAID:
            messages.note(str(one))
        if one.doubt:
            messages.warning(f"warning: {one.name}: {one.doubt}")
    more = len(trace.inputs) - _SAID
    if more > 0:
        messages.note(f"and {more} more inputs")
