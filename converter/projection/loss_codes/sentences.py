"""Sentences about losses: one for all losses of a code, with what it is about, the most frequent first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from converter.projection.loss_codes.entry import LossCode, Value
from converter.projection.loss_codes.names import begin_name

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
#: The parameters of one loss, and how often it occurs.
Item = tuple[Mapping[str, Value], int]


def sentence_of(entry: LossCode, losses: Sequence[Item], most: int = 3) -> str:
    """Return the sentence for losses of one code, which names at most `most` of its items."""
    items = items_of(entry, losses)
    count, number = count_of(losses), len(items)
    named = _listed(items, most)
    first = losses[0][0]

    def filled(found: re.Match[str]) -> str:
        name = found[1]
        if name == "count":
            return f"{count:,}"
        if name == "n":
            return f"{number:,}"
        if name == "items":
            return named
        if "|" in name:
            of_items = name.startswith("n:")
            one, _, several = name.removeprefix("n:").partition("|")
            return one if (number if of_items else count) == 1 else several
        return found[0].format_map(first)

    return _PLACEHOLDER.sub(filled, entry.sentence)


def count_of(losses: Iterable[Item]) -> int:
    """Return the number of events with losses, each once: fields of one event are several losses of it."""
    most: Counter[tuple[Value, ...]] = Counter()
    others = 0
    for parameters, count in losses:
        event = parameters.get("event")
        if event is None:
            others += count
        else:
            one: tuple[Value, ...] = (begin_name(str(event)),)
            if "shown" in parameters and "field" not in parameters:
                # Each event has one other type or name, also each end.
                one = event, parameters["shown"]
            most[one] = max(most[one], count)
    return others + most.total()


def items_of(entry: LossCode, losses: Sequence[Item]) -> list[tuple[str, int]]:
    """Return what losses of one code are about, with the counts, the most frequent first."""
    if not entry.item:
        return []
    counts: Counter[str] = Counter()
    events = {parameters.get("event") for parameters, _ in losses}
    for parameters, count in losses:
        event = parameters.get("event")
        begin = None if event is None else begin_name(str(event))
        # The begin of the same name says it.
        if event == begin or begin not in events or "shown" in parameters:
            counts[entry.item.format_map(parameters)] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _listed(items: Sequence[tuple[str, int]], most: int) -> str:
    if len(items) == 1:
        return items[0][0]
    named = [f"{text} ({count:,})" for text, count in items[:most]]
    if len(items) > most:
        named.append(f"{len(items) - most:,} more")
    return ", ".join(named)
