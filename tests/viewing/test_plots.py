"""Figures: what is drawn is what was counted."""

import io
import sys

import numpy as np
import pytest

import converter
from converter.analysis.statistics.distributions import Distribution, wakeup_latencies
from converter.analysis.viewing import plots
from converter.analysis.viewing.shares import Shares, shares_of
from converter.cli import main
from converter.errors import UnsupportedError

SMALL = "roundtrip_fixtures/trace_cmd/small.dat"


def drawn(figure):
    """What each shape of a figure shows: heights over its base, and edges."""
    (axes,) = figure.axes
    shapes = [patch.get_data() for patch in axes.patches]
    return [(np.asarray(one.values) - one.baseline, one.edges) for one in shapes]


@pytest.fixture
def shares():
    pytest.importorskip("matplotlib")
    with converter.open_trace(SMALL) as trace:
        return shares_of(trace, 40)


def test_the_timeline_has_a_row_for_each_cpu_and_thread(shares):
    figure = plots.timeline_figure(shares, "t")
    lines = [*shares.threads[::-1], *shares.cpus[::-1]]
    assert len(lines) > 5
    for (heights, edges), line in zip(drawn(figure), lines, strict=True):
        assert heights == pytest.approx(0.85 * np.array(line.shares))
        assert edges[1] == pytest.approx(shares.step / 1e6)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"{line.name}  {line.total:.0%}" for line in lines]


def test_cpu_use_is_that_of_all_together(shares):
    ((heights, _),) = drawn(plots.cpu_figure(shares, "t"))
    assert heights == pytest.approx(
        [50 * (one + other) for one, other in zip(*(c.shares for c in shares.cpus), strict=True)]
    )


def test_latencies_are_on_a_scale_of_powers_of_ten():
    pytest.importorskip("matplotlib")
    with converter.open_trace(SMALL) as trace:
        found = wakeup_latencies(trace)
    figure = plots.distribution_figure(found, "t", "what", times=True)
    ((heights, edges),) = drawn(figure)
    assert heights.sum() == found.total
    assert heights[0]
    assert heights[-1]
    assert edges[0] * 1000 <= found.lowest
    assert edges[-1] * 1000 >= found.highest
    assert figure.axes[0].get_xscale() == "log"


def test_what_a_trace_does_not_have_is_not_drawn():
    nothing = Shares(0, 1.0, [], [], 0)
    for draw in (plots.timeline_figure, plots.cpu_figure):
        with pytest.raises(UnsupportedError, match="no switches"):
            draw(nothing, "t")


@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_names_are_drawn_as_they_are_and_figures_repeat(format):
    pytest.importorskip("matplotlib")
    found = Distribution(np.arange(3.0), np.array([1, 2]), 0, 1)
    name = r"</script> $\frac{ & " + "x" * 1000
    files = []
    for _ in range(2):
        out = io.BytesIO()
        plots.save(plots.distribution_figure(found, name, name), out, format)
        files.append(out.getvalue())
    assert files[0] == files[1]
    if format == "svg":
        assert rb"&lt;/script&gt; $\frac{ &amp; xxx" in files[0]


def test_the_command_says_what_it_needs(monkeypatch, capsys, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    target = tmp_path / "t.svg"
    assert main(["plot", SMALL, "-o", str(target)]) == 1
    assert "pip install 'traceconv[plot]'" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-o", "t.bmp"], 2, "ends in .svg or .png or .pdf"),
        (["-o", "t.svg", "--field", "prio"], 2, "is not EVENT.FIELD"),
        (["-o", "t.svg", "--field", "sched_switch.x"], 1, "no event 'sched_switch' with a number"),
        ([], 2, "Missing option '-o'"),
    ],
)
def test_mistakes(arguments, code, message, capsys, tmp_path, monkeypatch):
    recording = str(tmp_path / "small.dat")
    with open(SMALL, "rb") as source, open(recording, "wb") as copy:
        copy.write(source.read())
    monkeypatch.chdir(tmp_path)
    assert main(["plot", recording, *arguments]) == code
    assert message in capsys.readouterr().err
