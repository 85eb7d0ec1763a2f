"""A pytest plugin for projects that read traces: the fixture `trace_file` makes valid files of any format.

    def test_my_parser(trace_file):
        path = trace_file(format="trace_cmd", variant="v6", kinds="sched", events=100)
        assert len(my_parser(path)) == 100

It is there wherever traceconv is installed beside pytest; ``-p no:traceconv`` turns it off.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import pytest


class TraceFileMaker(Protocol):
    """What the fixture `trace_file` is."""

    def __call__(
        self,
        format: str = "fxt",
        kinds: str | Iterable[str] = "all",
        events: int = 128,
        seed: int = 0,
        variant: str = "",
    ) -> Path:
        """A file or directory with a synthetic trace, made when first asked for in a session.

        Args:
            format: a name, or "name+variant", as `traceconv formats` lists them.
            kinds: names of kinds of events and of groups of them, as `traceconv fixtures --help` lists them.
            events: how many the synthetic trace has; formats may hold some as two, or none.
            seed: decides their values and times.
            variant: of the format, where `format` does not name it.

        Raises:
            converter.TraceError: there is no such format, variant or kind.

        """


@pytest.fixture(scope="session")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> TraceFileMaker:
    """Makes valid trace files of any format: ``trace_file(format, kinds, events, seed, variant) -> Path``."""
    made: dict[tuple[str, tuple[str, ...], int, int], Path] = {}

    def make(
        format: str = "fxt",
        kinds: str | Iterable[str] = "all",
        events: int = 128,
        seed: int = 0,
        variant: str = "",
    ) -> Path:
        # Imported when first used: every run of pytest loads this module.
        from converter.conversion import write
        from converter.fixtures.generation import file_name
        from converter.fixtures.kinds import kinds_named
        from converter.fixtures.synthetic import synthetic_trace
        from converter.registry import format_named

        name = f"{format}+{variant}" if variant else format
        chosen = tuple(kind.name for kind in kinds_named(kinds))
        key = (name, chosen, events, seed)
        if key not in made:
            path = tmp_path_factory.mktemp("trace") / file_name(*format_named(name))
            write(synthetic_trace(chosen, events, seed), path, name)
            made[key] = path
        return made[key]

    return make
