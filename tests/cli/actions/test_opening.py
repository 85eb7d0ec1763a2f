import gzip
import shutil
import socket
import webbrowser
from pathlib import Path

import pytest
from support.viewers.viewer import Viewer

from converter.analysis.viewing import perfetto_ui
from converter.cli import main
from converter.cli.actions import opening
from converter.cli.commands.table import COMMANDS

SMALL = Path(__file__).parents[3] / "roundtrip_fixtures/trace_cmd/small.dat"


@pytest.fixture
def viewer(monkeypatch, tmp_path):
    viewer = Viewer()
    monkeypatch.setattr(webbrowser, "open_new_tab", viewer.open)
    # The help text contains the port from when the module is first imported: import it with the real one.
    assert COMMANDS["open"]
    # Tests run in parallel, so each takes a free port.
    monkeypatch.setattr(perfetto_ui, "PORT", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return viewer


@pytest.fixture
def converted(viewer):
    assert main([str(SMALL), "-o", "converted.pftrace", "-q"]) == 0
    return Path("converted.pftrace").read_bytes()


def test_the_viewer_gets_it_in_its_format(viewer, converted, capfd):
    shutil.copy(SMALL, "trace.dat")
    assert main(["open", "trace.dat"]) == 0
    assert viewer.got == {"trace.pftrace": converted}
    out, err = capfd.readouterr()
    assert out == ""
    assert "trace.pftrace: 338 of 338 events" in err
    assert f"traceconv: opening {viewer.opened[0]}\n" in err
    assert viewer.opened[0].startswith("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:")
    assert {path.name for path in Path().iterdir()} == {"trace.dat", "converted.pftrace"}


def test_of_a_part(viewer, converted):
    assert main(["open", str(SMALL), "--last", "1ms", "-q"]) == 0
    assert 0 < len(viewer.got["small.pftrace"]) < len(converted)


def test_one_in_its_format_is_given_as_it_is(viewer, converted, capfd):
    # Converting would leave out what no trace has.
    data = converted + b"\x0a\x04\x52\x02hi"
    Path("a b.pb").write_bytes(data)
    assert main(["open", "a b.pb", "-q"]) == 0
    assert viewer.got == {"a%20b.pb": data}
    assert capfd.readouterr() == ("", "")


def test_one_that_is_compressed_is_not(viewer, converted):
    Path("x.pftrace.gz").write_bytes(gzip.compress(converted))
    assert main(["open", "x.pftrace.gz", "-q"]) == 0
    assert viewer.got == {"x.pftrace": converted}


def test_several_are_one_trace(viewer, converted):
    shutil.copy(SMALL, "again.dat")
    assert main(["open", str(SMALL), "again.dat", "--offset", "again.dat=+1s", "-q"]) == 0
    assert len(viewer.got["small.pftrace"]) > len(converted)


def test_a_viewer_of_ones_own(viewer, converted):
    told = ["--ui", "http://perfetto.example:10000/v1/", "--port", "0", "-q"]
    assert main(["open", str(SMALL), *told]) == 0
    assert viewer.opened[0].startswith("http://perfetto.example:10000/v1/#!/?url=http://127.0.0.1:")


def test_without_a_browser(viewer, monkeypatch, capfd):
    monkeypatch.setattr(webbrowser, "open_new_tab", lambda _: False)
    assert main(["open", str(SMALL), "--timeout", "1"]) == 1
    out, err = capfd.readouterr()
    assert out.startswith("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:")
    assert "no browser can be started: open this address in one" in err
    assert (
        "https://ui.perfetto.dev has not asked for the trace within 1 s; without the inter" in err
    )


def test_with_none_wanted(viewer, monkeypatch, capfd):
    asked = []
    monkeypatch.setattr(webbrowser, "open_new_tab", asked.append)
    monkeypatch.setattr(opening, "_PATIENCE", 0)
    monkeypatch.setattr(opening, "print", lambda line, flush: viewer.open(line), raising=False)
    assert main(["open", str(SMALL), "--no-browser"]) == 0
    assert asked == []
    assert "small.pftrace" in viewer.got
    err = capfd.readouterr().err
    assert "allow it; without the internet, 'traceconv view' makes a page" in err
    assert "Ctrl-C ends this" in err


def test_a_port_that_is_taken(viewer, capfd):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["open", str(SMALL), "--port", str(port), "-q"]) == 1
    assert f"127.0.0.1:{port}: Address already in use; end what uses it" in capfd.readouterr().err


@pytest.mark.parametrize(
    "told", [["--ui", "perfetto.dev"], ["--port", "70000"], ["--timeout", "0"]]
)
def test_what_makes_no_sense(viewer, told, capfd):
    assert main(["open", str(SMALL), *told]) == 2
    assert told[0] in capfd.readouterr().err


def test_what_is_no_trace(viewer, capfd):
    Path("x.txt").write_text("nothing")
    assert main(["open", "x.txt"]) == 1
    assert main(["open", "missing.dat"]) == 1
    assert viewer.opened == []
