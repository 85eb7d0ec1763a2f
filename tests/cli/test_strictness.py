"""What --strict refuses: losses of what is shown, of details, and of what does not even travel."""

import json
from pathlib import Path

import pytest

import converter
from converter.cli import main
from converter.projection.losses import LossClass, LossKind, LossReport

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"
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
    assert "native data of trace_cmd (" in err
    assert not out.exists()
    report = json.loads(losses.read_text())["losses"]
    assert {loss["class"] for loss in report} == {"detail"}


def test_what_is_shown_is_refused(capfd, tmp_path):
    code, _, err = run(capfd, KERNEL, "-o", tmp_path / "out.fxt", "--strict")
    assert code == 3
    assert "allows no loss of what is shown" in err


def test_an_unknown_strictness(capfd, out):
    code, _, err = run(capfd, KERNEL, "-o", out, "--strict=most")
    assert code == 2
    assert "'most'" in err
    with pytest.raises(ValueError, match="no strictness 'most'"):
        converter.convert(KERNEL, out, strict="most")


def test_details_have_a_line_of_their_own(capfd, out):
    _, _, err = run(capfd, KERNEL, "-o", out)
    assert [line.split(": ")[2] for line in err.splitlines()] == ["details"]


def test_strict_says_what_lossless_does_not_bring_back(capfd, tmp_path):
    code, _, err = run(capfd, STREAM, "-o", tmp_path / "a.fxt", "--lossless", "--strict")
    assert code == 3
    assert "hooks of the stream" in err
    with pytest.raises(converter.StrictLossError, match="hooks of the stream"):
        converter.convert(STREAM, tmp_path / "a.fxt", strict=True, lossless=True)
    assert run(capfd, STREAM, "-o", tmp_path / "a.aix", "--lossless", "--strict")[0] == 0
    assert run(capfd, KERNEL, "-o", tmp_path / "b.fxt", "--lossless", "--strict=all")[0] == 0


def test_the_class_is_that_of_the_kind_or_as_counted():
    report = LossReport()
    report.add(LossKind.RETYPED, "a")
    report.add(LossKind.DROPPED, "b")
    report.add(LossKind.DROPPED, "c", loss_class=LossClass.DETAIL)
    classes = {loss.what: loss.loss_class for loss in report}
    assert classes == {"a": LossClass.DETAIL, "b": LossClass.SHOWN, "c": LossClass.DETAIL}
    assert [loss.what for loss in report.of_class(LossClass.SHOWN)] == ["b"]
