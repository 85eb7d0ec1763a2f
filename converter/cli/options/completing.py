"""Values of options that shells offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

_Offer = Callable[[click.Context, click.Parameter, str], list[str]]


def offered(values: Callable[[], Iterable[str]], *, listed: bool = False) -> _Offer:
    """Return the function by which an option offers values; if they are `listed`, several with commas between."""

    def offer(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",") if listed else ("", "", incomplete)
        return [f"{before}{comma}{value}" for value in values() if value.startswith(last)]

    return offer


def formats() -> list[str]:
    """Return the names of formats, and of their variants."""
    from converter import registry

    names = [one.name for one in registry.FORMATS]
    return names + [f"{one.name}+{of}" for one in registry.FORMATS for of in one.variants if of]


def limits() -> list[str]:
    """Return the beginnings of limits, and the word that lists them."""
    from converter.limits import LIMITS

    return [*(f"{name}=" for name in LIMITS), "help"]


def kinds() -> list[str]:
    """Return the names of groups and kinds of events."""
    from converter.fixtures.kinds import GROUPS

    return [*GROUPS, *(kind.name.lower() for kind in GROUPS["all"])]


def reader_options(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the beginnings of options that the format of the input has, or, without one, that any format has."""
    from converter import registry
    from converter.errors import TraceError
    from converter.formats.descriptor import COMMON_OPTIONS

    found = list(registry.FORMATS)
    given = context.params
    source = given.get("source") or next(iter(given.get("sources") or given.get("paths") or ()), "")
    try:
        if given.get("source_format"):
            found = [registry.format_named(given["source_format"])[0]]
        elif source and source != "-":
            from converter.jobs.reading import detect

            found = [detect(source)]
    except TraceError:
        pass  # nothing is known of the input
    of_formats = {name for one in found for name in one.options}
    names = sorted(f"{name}=" for name in of_formats.union(COMMON_OPTIONS))
    return [name for name in names if name.startswith(incomplete)]
