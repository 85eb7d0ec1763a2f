"""A pytest plugin for projects that read traces: the fixture `trace_file` makes valid files of any format.

    def test_my_parser(trace_file):
        path = trace_file(format="trace_cmd", variant="v6", kinds="sched", events=100)
        assert len(my_parser(path)) == trace_file.expected(path).trace.events().count

It is available wherever traceconv and pytest are installed; ``-p no:traceconv`` turns it off.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from converter.fixtures.files import Expected
    from converter.ir.trace import ClockDomain


class TraceFileMaker:
    """The value of the fixture `trace_file`."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._files: dict[tuple[object, ...], Path] = {}
        self._expected: dict[Path, Expected] = {}

    def __call__(
        self,
        format: str = "fxt",
        kinds: str | Iterable[str] = "all",
        events: int = 128,
        seed: int = 0,
        variant: str = "",
        *,
        clock: ClockDomain | None = None,
        byte_order: str | None = None,
        damage: str | None = None,
    ) -> Path:
        """Return a file or directory with a synthetic trace, made when first requested in a session.

        Args:
            format: a name, or "name+variant", as `traceconv formats` lists them.
            kinds: names of kinds of events and of groups of them, as `traceconv fixtures --help` lists them.
            events: the number of events of the synthetic trace; formats may store some as two, or none.
            seed: determines their values and times.
            variant: of the format, unless `format` names it.
            clock: the clock of the synthetic trace (`converter.ClockDomain`), by default nanoseconds.
            byte_order: "little" or "big", for a format that has both.
            damage: the name of one defect of the file, as `traceconv fixtures --corrupt` names them.

        Raises:
            converter.TraceError: there is no such format, variant, kind, byte order or defect.

        """
        # Imported when first used: every run of pytest loads this module.
        from converter.fixtures.files import make_file, variant_of
        from converter.fixtures.kinds import kinds_named

        name = variant_of(format, variant, byte_order)
        chosen = tuple(kind.name for kind in kinds_named(kinds))
        key = (name, chosen, events, seed, clock, damage)
        if key not in self._files:
            folder = self._factory.mktemp("trace")
            path, expected = make_file(
                folder, name, chosen, events, seed, clock=clock, damage=damage
            )
            self._files[key] = path
            self._expected[path] = expected
        return self._files[key]

    def expected(self, path: Path) -> Expected:
        """Return the expected contents of a file made by this fixture."""
        return self._expected[path]


@pytest.fixture(scope="session")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> TraceFileMaker:
    """Makes valid trace files of any format: ``trace_file(format, kinds, events, seed, variant, ...) -> Path``."""
    return TraceFileMaker(tmp_path_factory)
