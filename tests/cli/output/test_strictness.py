"""What --strict refuses: losses of what is shown, of details, and of what does not even travel."""

import json
import os
import re
from pathlib import Path

import pytest
from support.traces.strategies import batch_of

import converter
from converter.cli import main
from converter.ir.collect import with_batches
from converter.ir.events import EventClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.losses import LossClass, LossReport
from converter.registry import FORMATS

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
#: Perfetto has every event of it, not what only trace-cmd knows.
KERNEL = FIXTURES / "trace_cmd" / "uprobes.dat"
STREAM = FIXTURES / "aix" / "every-form-64.aix"


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return code, out, err


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.pftrace"


@pytest.mark.parametrize("strict", ["--strict", "--strict=shown"])
def test_details_may_be_lost(capfd, out, strict):
    # The option never takes the input for its value.
    assert run(capfd, strict, KERNEL, "-o", out, "-q") == (0, "", "")
    assert out.exists()


def test_strict_about_all_refuses_details(capfd, out, tmp_path):
    losses = tmp_path / "losses.json"
    code, _, err = run(capfd, KERNEL, "-o", out, "--strict=all", "--losses", losses)
    assert code == 3
    assert "native data" in err
    assert not out.exists()
    report = json.loads(losses.read_text())["losses"]
    assert {loss["class"] for loss in report} == {"detail"}


def test_what_is_shown_is_refused(capfd, tmp_path):
    small = FIXTURES / "trace_cmd" / "small.dat"
    code, _, err = run(capfd, small, "-o", tmp_path / "out.fxt", "--strict")
    assert code == 3
    assert "allows no loss of what is shown" in err


def test_an_unknown_strictness(capfd, out):
    code, _, err = run(capfd, KERNEL, "-o", out, "--strict=most")
    assert code == 2
    assert "'most'" in err
    with pytest.raises(ValueError, match="no strictness 'most'"):
        converter.convert(KERNEL, out, strict="most")


def test_details_are_part_of_the_verdict(capfd, out):
    _, _, err = run(capfd, KERNEL, "-o", out)
    (headline,) = err.splitlines()
    assert re.fullmatch(
        f"traceconv: {KERNEL} -> {out}: ([0-9]+) of \\1 events; viewers show all of them "
        "\\([0-9]+ details? (is|are) lost: -v\\)",
        headline,
    )


def test_what_other_readers_find_in_another_form_is_refused_as_such(capfd, tmp_path):
    trace = Trace(format="other", event_classes=[EventClass(Kind.TYPED, "e", "s")])
    trace = with_batches(trace, [batch_of(trace, [(0, 1, -1, -1, -1, ())])])
    out = tmp_path / "out.json"
    assert {loss.loss_class for loss in converter.write(trace, out, strict="shown")} <= {
        LossClass.KEPT,
        LossClass.DETAIL,
    }
    with pytest.raises(converter.StrictLossError, match="allows no loss but of details"):
        converter.write(trace, tmp_path / "kept.json", strict="kept")


def test_a_dry_run_says_the_same_and_writes_nothing(capfd, out, tmp_path):
    code, _, said = run(capfd, KERNEL, "-o", out, "--dry-run")
    assert (code, os.listdir(tmp_path)) == (0, [])
    code, losses, err = run(capfd, KERNEL, "-o", out, "--losses", "-")
    assert (code, err) == (0, said)
    assert json.loads(losses)["losses"]
    # What exists is neither replaced nor in the way.
    before = out.read_bytes()
    assert run(capfd, KERNEL, "-o", out, "--dry-run", "-t", "ctf")[0] == 0
    assert run(capfd, KERNEL, "-o", out, "--dry-run", "--strict=all")[0] == 3
    assert out.read_bytes() == before


@pytest.mark.parametrize("target", [f.name for f in FORMATS if f.writable])
def test_a_dry_run_finds_the_losses_of_a_run(capfd, target, tmp_path):
    out = tmp_path / "out"
    expected = run(capfd, KERNEL, "-o", out, "-t", target, "--losses", "-")
    (tmp_path / "other").mkdir()
    other = tmp_path / "other/out"
    code, said, err = run(capfd, KERNEL, "-o", other, "-t", target, "--losses", "-", "--dry-run")
    assert (code, said, err.replace("/other/", "/")) == expected
    assert not os.listdir(tmp_path / "other")


def test_strict_says_what_lossless_does_not_bring_back(capfd, tmp_path, monkeypatch):
    assert run(capfd, STREAM, "-o", tmp_path / "whole.fxt", "--lossless", "--strict=all")[0] == 0
    monkeypatch.setattr("converter.formats.lossless.travelling.MOST", 10)
    code, _, err = run(capfd, STREAM, "-o", tmp_path / "a.fxt", "--lossless", "--strict")
    assert code == 3
    assert "hooks of the streams" in err
    with pytest.raises(converter.StrictLossError, match="hooks of the streams"):
        converter.convert(STREAM, tmp_path / "a.fxt", strict=True, lossless=True)
    assert run(capfd, STREAM, "-o", tmp_path / "a.aix", "--lossless", "--strict")[0] == 0
    assert run(capfd, KERNEL, "-o", tmp_path / "b.fxt", "--lossless", "--strict=all")[0] == 0


def test_the_class_is_that_of_the_table_or_as_counted():
    report = LossReport()
    report.add("field-order")
    report.add("event-renamed")
    report.add("event-renamed", loss_class=LossClass.KEPT)
    assert [(loss.code, loss.loss_class) for loss in report] == [
        ("event-renamed", LossClass.KEPT),
        ("event-renamed", LossClass.SHOWN),
        ("field-order", LossClass.DETAIL),
    ]
    assert [loss.code for loss in report.of_class(LossClass.SHOWN)] == ["event-renamed"]
