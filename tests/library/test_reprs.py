"""What an interactive session prints of each public class is one short line, however much there is in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import pytest

import converter

RECORDING = Path(__file__).parents[2] / "roundtrip_fixtures/trace_cmd/small.dat"
#: Long enough for a dozen names.
LONGEST = 300


def _losses(folder: Path) -> converter.LossReport:
    return converter.convert(RECORDING, folder / "made.fxt", force=True)


def _difference(folder: Path) -> converter.TraceDifference:
    _losses(folder)
    return converter.diff(RECORDING, folder / "made.fxt")


def _merged(_: Path) -> converter.MergedTrace:
    with converter.open_merged([RECORDING, RECORDING]) as trace:
        for _batch in trace.batches():
            pass
        return trace


#: One of each public class, from a recording where that has any.
MADE: Mapping[str, Callable[[Path], object]] = {
    "Batch": lambda _: next(iter(converter.read(RECORDING).batches())),
    "ClockDomain": lambda _: converter.read(RECORDING).clock,
    "EventClass": lambda _: converter.read(RECORDING).event_classes[0],
    "TraceEvent": lambda _: next(converter.read(RECORDING).iter_events()),
    "EventColumns": lambda _: converter.read(RECORDING).events(),
    "Field": lambda _: converter.read(RECORDING).event_classes[0].fields[0],
    "Format": lambda _: converter.FORMATS[0],
    "Kind": lambda _: converter.Kind.SLICE_BEGIN,
    "Loss": lambda folder: next(iter(_losses(folder))),
    "LossReport": _losses,
    "MergedInput": lambda folder: _merged(folder).inputs[0],
    "MergedTrace": _merged,
    "Place": lambda _: converter.TraceBuilder().thread(1, "main"),
    "Process": lambda _: converter.read(RECORDING).processes[0],
    "Role": lambda _: converter.Role.NAME,
    "RoundTrip": lambda _: converter.roundtrip(RECORDING, ["fxt"]),
    "Selection": lambda _: converter.Selection(since="+1s", cpus=(1,)),
    "SplitPart": lambda folder: converter.split(RECORDING, folder / "part.dat", "cpu")[0],
    "Thread": lambda _: converter.read(RECORDING).threads[0],
    "Trace": lambda _: converter.read(RECORDING),
    "TraceBuilder": lambda _: converter.TraceBuilder(),
    "TraceDifference": _difference,
    "TraceWarning": lambda _: converter.TraceWarning(message="it is damaged", offset=3),
    "Track": lambda _: converter.Track("track"),
}


def test_each_public_class_is_among_them() -> None:
    public = {name: getattr(converter, name) for name in converter.__all__}
    classes = {
        name
        for name, one in public.items()
        if inspect.isclass(one) and not issubclass(one, BaseException)
    }
    assert classes == MADE.keys()


@pytest.mark.parametrize("name", MADE)
def test_is_one_short_line(name: str, tmp_path: Path) -> None:
    made = MADE[name](tmp_path)
    assert isinstance(made, getattr(converter, name))
    text = repr(made)
    assert "\n" not in text
    assert len(text) <= LONGEST, text


def test_what_is_summed_up_is_told(tmp_path: Path) -> None:
    report = _losses(tmp_path)
    counts = {one: len(report.of_class(one)) for one in {loss.loss_class for loss in report}}
    assert all(f"{count} {one}" in repr(report) for one, count in counts.items())
    assert repr(converter.LossReport()) == "<LossReport: no losses>"
    assert repr(_difference(tmp_path)).startswith("<TraceDifference of 338 and ")
    assert repr(converter.diff(RECORDING, RECORDING)) == ("<TraceDifference: none, of 338 events>")
    assert repr(_merged(tmp_path).inputs[0].shift) == repr(Fraction(0))
