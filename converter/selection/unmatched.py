"""Parts of a selection that name nothing in a trace, as sentences, with the nearest name that there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from converter.errors.advice import advice
from converter.ir.trace import Trace
from converter.selection.patterns import pattern
from converter.selection.selection import Selection

#: The number of names that the nearest is looked for among; comparing more takes seconds.
_COMPARED: Final = 20_000
#: How similar the nearest name has to be.
_CLOSE: Final = 0.6
#: The most CPUs that a sentence names.
_MOST_CPUS: Final = 8


class EventName(NamedTuple):
    """The name of some events, in the ways in which a pattern can spell it."""

    category: str
    name: str
    kind: str

    def matches(self, text: str) -> bool:
        """Return True if a pattern means these events."""
        one = pattern(text)
        spelled = (self.name, f"{self.category}:{self.name}", self.kind)
        return any(one.fullmatch(text) for text in spelled)


def unmatched_events(
    patterns: Iterable[str], seen: Iterable[EventName], declared: Iterable[EventName], where: str
) -> Iterator[str]:
    """Return a sentence for each pattern that no event matches.

    Args:
        patterns: as `Selection.events` has them.
        seen: the names of events that the trace has.
        declared: the names of events that it could have.
        where: the part of the trace that was read, at the end of a sentence.
    """
    names = [*seen]
    for text in patterns:
        bare = text.removeprefix("!").strip()
        if any(one.matches(bare) for one in names):
            continue
        others = [*declared]
        if any(one.matches(bare) for one in others):
            yield f"no event is called {bare}{where}, though the trace declares it"
            continue
        known = [*names, *others]
        if ":" in bare and bare.partition(":")[2].strip("*?") == "":
            # A whole system.
            system = bare.partition(":")[0]
            words = (f"{one.category}:*" for one in known if one.category)
            yield f"no event is called {bare}{where}{_nearest(f'{system}:*', words)}"
            continue
        if ":" in bare:
            words = (f"{one.category}:{one.name}" for one in known)
        else:
            words = (one.name for one in known)
        yield f"no event is called {bare}{where}{_nearest(bare, words)}"


def unmatched_cpus(wanted: Iterable[int], seen: Iterable[int], where: str) -> Iterator[str]:
    """Return a sentence if there is no event on wanted CPUs: on none of them, or on some beyond the last CPU."""
    found = set(seen)
    last = max(found, default=-1)
    missing = sorted(set(wanted) - found)
    beyond = [cpu for cpu in missing if cpu > last]
    if beyond or len(missing) == len(set(wanted)):
        shown = ", ".join(map(str, missing[:_MOST_CPUS]))
        more = f" and {len(missing) - _MOST_CPUS} more" if len(missing) > _MOST_CPUS else ""
        there = f"the last CPU is {last}" if found else "no event names a CPU"
        yield f"no event is on CPU {shown}{more}{where}; {there}"


def unmatched_tasks(trace: Trace, selection: Selection) -> Iterator[str]:
    """Return a sentence for each pattern that no process or thread of a trace matches."""
    pids = {str(process.pid) for process in trace.processes}
    tids = {str(thread.tid) for thread in trace.threads}
    of_threads, of_processes = advice("tids", "--tid"), advice("pids", "--pid")
    yield from _unmatched_ids("process", selection.pids, pids, tids, "thread", of_threads)
    yield from _unmatched_ids("thread", selection.tids, tids, pids, "process", of_processes)
    if selection.comms:
        names = {thread.name for thread in trace.threads}
        names |= {process.name for process in trace.processes}
        for text in selection.comms:
            if not any(map(pattern(text).fullmatch, names)):
                yield f"no thread or process is called {text}{_nearest(text, sorted(names))}"


def unmatched_fields(names: Iterable[str], trace: Trace) -> Iterator[str]:
    """Return a sentence for each name in a condition that no event has."""
    for name in names:
        fields = [one.name for event in trace.event_classes for one in event.fields]
        if name in fields:
            yield f"none of the events that are asked has a field {name}"
        else:
            yield f"no event has a field {name}{_nearest(name, fields)}"


def _unmatched_ids(
    what: str, texts: Iterable[str], ids: set[str], others: set[str], other: str, option: str
) -> Iterator[str]:
    for text in texts:
        matches = pattern(text).fullmatch
        if any(map(matches, ids)):
            continue
        if any(map(matches, others)):
            yield f"no {what} has the id {text}, but a {other} has ({option})"
        else:
            yield f"no {what} has the id {text}{_lists()}"


def _nearest(word: str, words: Iterable[str]) -> str:
    """Return the end of a sentence that names the nearest word."""
    from difflib import get_close_matches  # slow to import, and mistakes are rare

    known = [*dict.fromkeys(islice(words, _COMPARED))]
    close = get_close_matches(word, known, 1, _CLOSE)
    return f"; the nearest is {close[0]}" if close else _lists()


def _lists() -> str:
    return advice("", " ('traceconv info' lists what there is)")
