"""How trace_processor nests slices, a stack for each track (`SliceTracker`), and draws flows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

OPEN = -1


@dataclass
class Slice:
    """A row of the table of slices."""

    place: tuple[Any, ...]
    ts: int
    dur: int
    name: str | None
    category: str | None
    args: dict[str, Any]
    depth: int = 0


@dataclass
class Flows:
    """Arrows between slices: from the one that a flow was bound to last to the next (`FlowTracker`)."""

    arrows: list[tuple[Slice, Slice]] = field(default_factory=list)
    _open: dict[Any, Slice] = field(default_factory=dict)
    #: How many begin or end outside of slices.
    homeless: int = 0
    #: Ends by their places that wait for the next slice there.
    _waiting: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)

    def wait(self, key: Any, place: tuple[Any, ...]) -> None:
        """A flow ends at the next slice that begins at a place."""
        self._waiting.setdefault(place, []).append(key)

    def begun(self, place: tuple[Any, ...], at: Slice) -> None:
        """A slice begins: what has waited for it comes there."""
        for key in self._waiting.pop(place, ()):
            self.arrive(key, at)

    def begin(self, key: Any, at: Slice | None) -> None:
        """A flow begins at this slice."""
        if at is None:
            self.homeless += 1
        else:
            self._open.setdefault(key, at)

    def arrive(
        self, key: Any, at: Slice | None, *, closes: bool = False, moves: bool = False
    ) -> None:
        """A flow comes to this slice; it may end there, or go on from there."""
        if at is None:
            self.homeless += 1
        if at is None or key not in self._open:
            return
        source = self._open[key]
        # Arrows go from the earlier slice to the later one.
        self.arrows.append((at, source) if source.ts > at.ts else (source, at))
        if closes:
            del self._open[key]
        elif moves:
            self._open[key] = at

    def key_of(self, process: Any, identity: Any) -> tuple[Any, Any]:
        """The flow of this id: that of the process, unless there is only one of another process."""
        if (process, identity) not in self._open:
            elsewhere = [key for key in self._open if key[1] == identity]
            if len(elsewhere) == 1:
                return elsewhere[0]
        return process, identity


@dataclass
class Slices:
    """Slices as they are begun and ended, in the order of time."""

    rows: list[Slice] = field(default_factory=list)
    #: What the importer counts as wrong.
    rejected: Counter[str] = field(default_factory=Counter)
    flows: Flows = field(default_factory=Flows)
    _stacks: dict[tuple[Any, ...], list[Slice]] = field(default_factory=dict)

    def begin(
        self,
        ts: int,
        place: tuple[Any, ...],
        name: str | None,
        category: str | None,
        args: dict[str, Any],
        dur: int = OPEN,
    ) -> Slice | None:
        """A slice that begins; with a duration, one that is complete. None where it does not nest."""
        stack = self._stacks.setdefault(place, [])
        if not self._close(stack, ts, dur):
            self.rejected["slice_drop_overlapping_complete_event"] += 1
            return None
        made = Slice(place, ts, dur, name, category, dict(args), len(stack))
        self.rows.append(made)
        stack.append(made)
        self.flows.begun(place, made)
        return made

    def end(
        self,
        ts: int,
        place: tuple[Any, ...],
        name: str | None = None,
        category: str | None = None,
        args: dict[str, Any] | None = None,
        behind: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] | None = None,
    ) -> Slice | None:
        """End the innermost open slice of this name and category, where they are given.

        `behind` makes of its arguments and those of the end what the latter are called.
        """
        stack = self._stacks.setdefault(place, [])
        self._close(stack, ts, OPEN)
        for one in reversed(stack):
            if one.dur != OPEN:
                continue
            if category is not None and one.category != category:
                continue
            if name is not None and one.name is not None and one.name != name:
                continue
            one.dur = ts - one.ts
            one.args.update(behind(one.args, args or {}) if behind else args or {})
            if one is stack[-1]:
                stack.pop()
            return one
        return None

    def problems(self) -> Counter[str]:
        """What the importer counts, flows included."""
        return self.rejected + Counter({"flow_no_enclosing_slice": self.flows.homeless})

    def innermost(self, place: tuple[Any, ...]) -> Slice | None:
        """The slice that a flow at this place binds to."""
        stack = self._stacks.get(place)
        return stack[-1] if stack else None

    def _close(self, stack: list[Slice], ts: int, dur: int) -> bool:
        """Take off what ended before `ts`; False where a complete slice would end within another one."""
        inner_is_open = False
        for i in range(len(stack) - 1, -1, -1):
            one = stack[i]
            if one.dur == OPEN:
                inner_is_open = True
                continue
            end = one.ts + one.dur
            if inner_is_open:
                if ts <= end:
                    continue
                for inner in stack[i + 1 :]:
                    inner.dur = end - inner.ts
                self.rejected["misplaced_end_event"] += 1
                del stack[i:]
                inner_is_open = False
                continue
            if end < ts or (end == ts and not (one.dur == 0 and dur == 0)):
                del stack[i:]
                continue
            if dur != OPEN and ts < end < ts + dur:
                return False
        return True
