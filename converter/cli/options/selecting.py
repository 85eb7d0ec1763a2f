"""The options that select a part of a trace: the same for all commands that read one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from converter.selection.selection import Selection

#: CPU numbers are less than this, and a range may not have more.
_MOST_CPUS = 1 << 16

_Command = TypeVar("_Command", bound=Callable[..., Any])

EXAMPLES = """\b
A part of a trace:
  --from 827.28 --to 827.3             seconds, as reports print them
  --from +1.5s --to +1600ms            from the start of the trace
  --from "2024-05-01 12:00:00.25"      where the clock knows the time of day
  --cpu 0,2-3 --event "sched:*,!sched:sched_stat_*"
  --comm "make*" --children            also the processes that these fork
  --where 'sched_switch: prev_pid == 0 && next_comm ~ "x*"'
  --where "duration > 5ms" --where "ret in (-4, -11) || flags & 0x40"
"""


def _as_cpus(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> frozenset[int]:
    numbers: set[int] = set()
    for part in ",".join(given).split(",") if given else []:
        low, dash, high = part.strip().partition("-")
        try:
            first = int(low)
            last = int(high) if dash else first
        except ValueError:
            raise click.BadParameter(
                f"{part!r} is not a CPU: write numbers and ranges, such as 0,2-3"
            ) from None
        if not 0 <= first <= last < _MOST_CPUS:
            raise click.BadParameter(f"{part!r} is not a range of CPUs, such as 2-3")
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def _as_patterns(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(part.strip() for text in given for part in text.split(","))


def _listed(name: str, metavar: str, meaning: str) -> Callable[[_Command], _Command]:
    return click.option(
        f"--{name}",
        f"wanted_{name}s",
        metavar=metavar,
        multiple=True,
        callback=_as_patterns,
        help=meaning,
    )


_OPTIONS = [
    click.option(
        "--from", "--since", "since", metavar="TIME", help="Leave out what is before this time."
    ),
    click.option(
        "--to", "--until", "until", metavar="TIME", help="Leave out what is after this time."
    ),
    click.option("--last", metavar="LENGTH", help="Only the end of the trace, such as 5s or 20ms."),
    click.option(
        "--cpu",
        "wanted_cpus",
        metavar="CPUS",
        multiple=True,
        callback=_as_cpus,
        help="Only events on these CPUs, such as 0,2-3.",
    ),
    _listed("pid", "PIDS", "Only events of these processes; * matches any characters."),
    _listed("tid", "TIDS", "Only events of these threads."),
    _listed("comm", "NAMES", "Only events of threads or processes with these names."),
    click.option(
        "--read-all",
        is_flag=True,
        help="Also read everything before --from, to find slices that opened long before.",
    ),
    click.option(
        "--children", is_flag=True, help="Also events of processes that these have forked."
    ),
    _listed(
        "event",
        "NAMES",
        "Only events with these names: NAME or SYSTEM:NAME; !NAME leaves events out.",
    ),
    click.option(
        "--where",
        metavar="CONDITION",
        multiple=True,
        help="Only events for which this, or another --where, is true.",
    ),
]
#: The parameter names of the options, and the names of the same fields of a selection.
_NAMES = {
    "since": "since",
    "until": "until",
    "last": "last",
    "wanted_cpus": "cpus",
    "wanted_pids": "pids",
    "wanted_tids": "tids",
    "wanted_comms": "comms",
    "children": "children",
    "wanted_events": "events",
    "where": "where",
    "read_all": "read_all",
}
#: The parameters of commands that hold names of formats, which may be written where a time is expected.
_FORMATS = {"since": "source_format", "until": "target_format"}


def selects(command: _Command) -> _Command:
    """Return the command with these options, passed to it as the argument `selection`: None without any of them."""

    @wraps(command)
    def selecting(*args: Any, **options: Any) -> Any:
        given = {ours: options.pop(name) for name, ours in _NAMES.items()}
        for parameter, format in _FORMATS.items():
            # Other converters have formats there.
            if format in options and options[format] is None and _is_format(given[parameter]):
                options[format], given[parameter] = given[parameter], None
        return command(*args, **options, selection=_selection(given))

    for option in reversed(_OPTIONS):
        selecting = option(selecting)
    return selecting  # type: ignore[return-value] # the options replace the argument


def _is_format(text: str | None) -> bool:
    """Return True if a text is the name of a format; no time begins with a letter."""
    if not text or not text[0].isalpha():
        return False
    from converter import registry
    from converter.errors import UnknownFormatError

    try:
        registry.source_format(text.partition("+")[0])
    except UnknownFormatError:
        return False
    return True


def _selection(given: dict[str, Any]) -> Selection | None:
    if given["read_all"] and not (given["since"] or given["last"]):
        raise click.UsageError("--read-all needs --from or --last: it reads what is before")
    if not any(given.values()):
        return None
    if given["children"] and not (given["pids"] or given["tids"] or given["comms"]):
        raise click.UsageError("--children needs --pid, --tid or --comm, which say whose")
    from converter.selection.selection import Selection

    return Selection(**given)
