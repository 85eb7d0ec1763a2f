import shutil
import webbrowser
from pathlib import Path

import pytest

from converter.cli import main

SMALL = Path(__file__).parents[3] / "roundtrip_fixtures/trace_cmd/small.dat"


@pytest.fixture
def addresses(tmp_path, monkeypatch):
    """What a browser was to open."""
    opened = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open_new_tab", lambda address: opened.append(address) or True)
    shutil.copy(SMALL, "trace.dat")
    return opened


def test_the_page_is_named_like_the_trace_and_opened(addresses, tmp_path, capfd):
    assert main(["view", "trace.dat"]) == 0
    page = Path("trace.html")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert addresses == [(tmp_path / "trace.html").as_uri()]
    out, err = capfd.readouterr()
    assert out == ""
    assert err == f"traceconv: trace.html: 338 events, {page.stat().st_size:,} bytes\n"
    # It is there now.
    assert main(["view", "trace.dat"]) == 1
    assert main(["view", "trace.dat", "-y", "--no-browser", "-q"]) == 0
    assert len(addresses) == 1


def test_it_may_have_a_name_and_is_not_opened_then(addresses, capfd):
    assert main(["view", "trace.dat", "-o", "x.html", "--last", "1ms"]) == 0
    assert Path("x.html").exists()
    assert addresses == []
    assert "kept 8 of 338 events" in capfd.readouterr().err


def test_printed(addresses, capfd):
    assert main(["view", "trace.dat", "-o", "-"]) == 0
    out, err = capfd.readouterr()
    assert out.endswith("</html>\n")
    assert err == ""


def test_several_are_one_trace(addresses, capfd):
    shutil.copy(SMALL, "again.dat")
    assert (
        main(["view", "trace.dat", "again.dat", "--offset", "again.dat=+1s", "-o", "x.html"]) == 0
    )
    assert "x.html: 676 events" in capfd.readouterr().err


def test_without_a_browser(addresses, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(webbrowser, "open_new_tab", lambda _: False)
    assert main(["view", "trace.dat"]) == 0
    out, err = capfd.readouterr()
    assert out == f"{(tmp_path / 'trace.html').as_uri()}\n"
    assert "no browser can be started" in err


def test_nothing_is_left_of_what_fails(addresses):
    Path("broken.dat").write_bytes(SMALL.read_bytes()[:300])
    assert main(["view", "broken.dat", "-q"]) == 4
    assert main(["view", "missing.dat"]) == 1
    assert {path.name for path in Path().iterdir()} == {"trace.dat", "broken.dat"}
    assert main(["view", "trace.dat", "-o", "trace.dat", "-y"]) == 2
    assert addresses == []
