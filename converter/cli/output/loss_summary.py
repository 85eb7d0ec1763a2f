"""The losses of a conversion for people: a verdict, then losses by who is affected."""

from __future__ import annotations

from collections.abc import Iterator

from converter.errors.terminal import printable
from converter.projection.losses import Aspect, Loss, LossClass, LossKind, LossReport

#: The number of losses named in a line of the summary.
_NAMED = 3

#: The prefix of a line that lists a loss.
_FATES = {
    LossKind.DROPPED: "not in the output",
    LossKind.TRUNCATED: "cut",
    LossKind.CHANGED: "changed",
    LossKind.LOWERED: "in another form",
    LossKind.RETYPED: "declared otherwise",
    LossKind.UNSHOWN: "in the output, but not shown",
}


def summary(report: LossReport, events: int, source_format: str) -> list[str]:
    """Return the verdict and a line for each class of losses, without details; nothing if there are none."""
    lines = [f"{verdict(report, events)} (-v says more)"] if len(report) else []
    for loss_class in (LossClass.SHOWN, LossClass.KEPT):
        entries = _entries(report.of_class(loss_class))
        if entries:
            named = ", ".join(_with_count(what, count) for what, count in entries[:_NAMED])
            more = len(entries) - _NAMED
            rest = f", and {more:,} more" if more > 0 else ""
            lines.append(printable(f"  {_heading(loss_class, source_format)}: {named}{rest}"))
    return lines


def verdict(report: LossReport, events: int) -> str:
    """Return in one line how much of a trace of `events` events is shown."""
    missing = report.events_not_shown
    if missing:
        return f"{missing:,} of {max(events, missing):,} events are not shown"
    all_of = f"all {events:,} events are shown" if events != 1 else "the event is shown"
    if report.of_class(LossClass.SHOWN):
        return f"{all_of}, but not all that they say"
    details = f"{len(report):,} {'detail is' if len(report) == 1 else 'details are'} not kept"
    return f"{all_of}; {details}"


def listing(report: LossReport, events: int, source_format: str) -> Iterator[str]:
    """Yield the verdict and every loss, by who is affected."""
    if len(report):
        yield verdict(report, events)
    for loss_class in LossClass:
        losses = report.of_class(loss_class)
        if losses:
            yield f"  {_heading(loss_class, source_format)}:"
        for loss in sorted(losses, key=lambda loss: -loss.count):
            yield printable(f"    {_FATES[loss.kind]}: {_with_count(loss.what, loss.count)}")


def _heading(loss_class: LossClass, source_format: str) -> str:
    return {
        LossClass.SHOWN: "viewers no longer show",
        LossClass.KEPT: "other readers find in another form, or not at all",
        LossClass.DETAIL: f"only traceconv and the tools of {source_format} knew",
    }[loss_class]


def _entries(losses: list[Loss]) -> list[tuple[str, int]]:
    """Return losses and counts, the most frequent first; several losses of one aspect are combined."""
    by_aspect: dict[Aspect | str, list[Loss]] = {}
    for loss in losses:
        by_aspect.setdefault(loss.aspect or loss.what, []).append(loss)
    entries = [
        (_named(several, key), sum(loss.count for loss in several))
        for key, several in by_aspect.items()
    ]
    return sorted(entries, key=lambda entry: -entry[1])


def _named(losses: list[Loss], aspect: str) -> str:
    most = max(losses, key=lambda loss: loss.count).what
    return most if len(losses) == 1 else f"{aspect}, such as {most}"


def _with_count(what: str, count: int) -> str:
    return f"{what} ({count:,})"
