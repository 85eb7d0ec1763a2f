import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.traces import fake_formats
from support.traces.strategies import batch_of

import converter
from converter import registry
from converter.cli import main
from converter.cli.output import progress
from converter.ir.canonical import dump, load
from converter.ir.collect import with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _fakes(monkeypatch, tmp_path):
    # The name of the package, too: it keeps what it was asked for.
    monkeypatch.setattr(converter, "FORMATS", fake_formats.FORMATS)
    monkeypatch.setattr(registry, "formats", lambda: fake_formats.FORMATS)
    monkeypatch.chdir(tmp_path)


def sample():
    name = Field("name", StringClass(), Role.NAME)
    classes = [
        EventClass(Kind.INSTANT, fields=(name,)),
        EventClass(Kind.TYPED, "sched_stat", "sched", fields=(Field("delay", IntegerClass(32)),)),
        EventClass(
            Kind.DISCARDED, fields=(Field("count", IntegerClass(32), Role.COUNT),), timed=False
        ),
    ]
    trace = Trace(
        format="whole",
        clock=ClockDomain("mono", Fraction(1_000_000), 1_700_000_000_000_000_000, "boot"),
        processes=[Process(7, "init\x1b[2J")],
        threads=[Thread(8, 0, "worker"), Thread(9, 0, "idle")],
        environment={"host": "box"},
        event_classes=classes,
    )
    events = [
        (0, 1_000_000, 0, 0, -1, (b"start",)),
        (1, 1_500_000, 2, 0, -1, (3,)),
        (1, 3_500_000, 1, 0, -1, (4,)),
        (2, 3_500_000, 0, -1, -1, (17,)),
    ]
    return with_batches(trace, [batch_of(trace, events[:2]), batch_of(trace, events[2:])])


def save(path, trace=None, magic=fake_formats.WHOLE):
    Path(path).write_bytes(magic + dump(trace or sample()).encode())
    return path


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_a_conversion_says_what_did_not_fit(capfd):
    save("in.whole")
    code, out, err = run(capfd, "in.whole", "-o", "out.narrow")
    assert (code, out) == (0, "")
    headline, *lines = err.splitlines()
    assert headline == "traceconv: in.whole -> out.narrow: 4 of 4 events"
    assert [line.partition(" (")[0].rstrip(":") for line in lines if line[:4] != "    "] == [
        "  In a viewer you will not see, or see differently",
        "  Programs that read out.narrow find in another form",
        "  -t perfetto keeps 1 of these; --lossless carries all; -v lists all with 1 detail",
    ]
    written = Path("out.narrow").read_bytes()
    assert written.startswith(fake_formats.NARROW)
    events = load(written.removeprefix(fake_formats.NARROW).decode())
    assert sum(len(batch) for batch in events.batches()) >= 3


def test_verbose_lists_every_loss_and_quiet_none(capfd):
    save("in.whole")
    _, _, brief = run(capfd, "in.whole", "-o", "a.narrow")
    _, _, full = run(capfd, "in.whole", "-o", "b.narrow", "-v", "--losses", "losses.json")
    losses = json.loads(Path("losses.json").read_text())["losses"]
    assert len(losses) > len(brief.splitlines()) > 1
    words = " ".join(full.split())
    for loss in losses:
        assert all(str(value) in words for value in loss["parameters"].values())
    assert "in.whole: whole to narrow_one: 4 events, " in full.splitlines()[-1]
    assert run(capfd, "in.whole", "-o", "c.narrow", "-q") == (0, "", "")


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ("80", "'category' of s:e (1), 'f0' of s:e (1), 5 more"),
        ("120", "'category' of s:e (1), 'f0' of s:e (1), 'f1' of s:e (1), 4 more"),
    ],
)
def test_the_summary_names_the_most_frequent_and_counts_the_rest(
    columns, named, capfd, monkeypatch
):
    """Of fields that are as frequent, in the order of their names; as many as fit into a line, and three at most."""
    monkeypatch.setenv("COLUMNS", columns)
    fields = tuple(Field(f"f{i}", IntegerClass(32)) for i in range(6))
    trace = Trace(format="whole", event_classes=[EventClass(Kind.TYPED, "e", "s", fields)])
    trace = with_batches(trace, [batch_of(trace, [(0, 1, -1, -1, -1, (0,) * 6)])])
    save("in.whole", trace)
    _, _, err = run(capfd, "in.whole", "-o", "out.narrow")
    (line,) = [
        line for line in err.splitlines() if "lack a field" in line or "lacks a field" in line
    ]
    assert line.strip() == f"1 event lacks a field: {named}"


def test_the_same_format_loses_nothing(capfd):
    save("in.whole")
    assert run(capfd, "in.whole", "-o", "out.whole", "--strict") == (0, "", "")
    assert Path("out.whole").read_bytes() == Path("in.whole").read_bytes()


def test_strict_refuses_a_loss_and_leaves_nothing(capfd):
    save("in.whole")
    code, out, err = run(
        capfd, "in.whole", "-o", "out.narrow", "--strict", "--losses", "losses.json"
    )
    assert (code, out) == (3, "")
    assert err.startswith("traceconv: in.whole: not everything fits: ")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == ["in.whole", "losses.json"]
    assert json.loads(Path("losses.json").read_text())["losses"]


def test_damage_is_a_warning_and_strict_refuses_it(capfd):
    save("in.whole", magic=fake_formats.WHOLE + fake_formats.DAMAGED)
    code, _, err = run(capfd, "in.whole", "-o", "out.whole")
    assert (code, err) == (0, "traceconv: warning: in.whole: the tail is damaged\n")
    code, _, err = run(capfd, "in.whole", "-o", "other.whole", "--strict")
    assert (code, err) == (1, "traceconv: in.whole: the tail is damaged\n")
    assert not Path("other.whole").exists()


def test_an_existing_output_needs_force(capfd):
    save("in.whole")
    Path("out.whole").write_bytes(b"mine")
    code, _, err = run(capfd, "in.whole", "-o", "out.whole")
    assert (code, err) == (1, "traceconv: out.whole: exists already (--force replaces it)\n")
    assert Path("out.whole").read_bytes() == b"mine"
    assert run(capfd, "in.whole", "-o", "out.whole", "--force") == (0, "", "")
    assert Path("out.whole").read_bytes() != b"mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["in.whole"], "Missing OUT"),
        (["in.whole", "-o", "-"], "standard output has no suffix: -t names the format"),
        (["in.whole", "-o", "out.xyz"], "no format has the suffix '.xyz': -t names one"),
        (
            ["in.whole", "-o", "out", "-t", "nope"],
            "unknown format 'nope'; there are whole, narrow_one",
        ),
        (["in.whole", "-o", "out", "-t", "whole+odd"], "there are whole+quiet, whole+loud"),
        (["in.whole", "-o", "out", "-t", "whole+"], "unknown variant 'whole+'"),
        (
            ["in.whole", "-o", "out.whole", "-f", "whole+loud"],
            "the variant of an input is detected",
        ),
        (["in.whole", "-o", "out.closed"], "no format has the suffix"),
        (["in.whole", "-o", "out", "-t", "closed"], "closed: this format cannot be written"),
        (["in.whole", "-o", "out.whole", "-f", "closed"], "closed: this format cannot be read"),
        (["in.whole", "-o", "out.whole", "-q", "-v"], "-q and -v exclude each other"),
        (["in.whole", "-o", "out.whole", "--what"], "No such option"),
        (["info"], "Missing argument 'IN'"),
    ],
)
def test_usage_is_one_line_and_exit_code_2(capfd, arguments, said):
    save("in.whole")
    code, out, err = run(capfd, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert err.startswith("traceconv info: " if arguments == ["info"] else "traceconv: ")
    assert os.listdir() == ["in.whole"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "missing.whole: No such file or directory"),
        (b"", "missing.whole: the file is empty"),
        (
            b"?",
            "missing.whole: not recognised as any of whole, narrow_one; it begins with '?'; -f names the format",
        ),
        (b"whole\nfail", "missing.whole: whole: offset 0x6: made to fail"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(capfd, content, said):
    if content is not None:
        Path("missing.whole").write_bytes(content)
    before = os.listdir()
    assert run(capfd, "missing.whole", "-o", "out.whole") == (1, "", f"traceconv: {said}\n")
    assert run(capfd, "info", "missing.whole") == (1, "", f"traceconv: {said}\n")
    assert os.listdir() == before


def test_variants_and_hyphens_in_names(capfd):
    save("in.whole")
    assert run(capfd, "in.whole", "-o", "a", "-t", "whole+loud", "-q")[0] == 0
    assert Path("a").read_bytes().startswith(b"whole\nloud\n")
    assert run(capfd, "in.whole", "-o", "b", "-t", "narrow-one", "-q")[0] == 0
    assert Path("b").read_bytes().startswith(fake_formats.NARROW)


def test_an_unrecognised_input_can_be_named(capfd):
    Path("in").write_bytes(b"??????" + dump(sample()).encode())
    assert run(capfd, "in", "-o", "out.whole")[0] == 1
    assert run(capfd, "in", "-o", "out.whole", "-f", "whole") == (0, "", "")


def test_compressed_input(capfd):
    save("in.whole")
    Path("in.gz").write_bytes(gzip.compress(Path("in.whole").read_bytes()))
    assert run(capfd, "in.gz", "-o", "out.whole") == (0, "", "")
    assert Path("out.whole").read_bytes() == Path("in.whole").read_bytes()


def test_info(capfd):
    save("in.whole")
    code, out, err = run(capfd, "info", "in.whole")
    assert (code, err) == (0, "")
    lines = [line.rstrip() for line in out.splitlines()]
    for line in (
        "format     whole",
        "clock      mono, 1000000 ticks per second",
        "start      2023-11-14T22:13:21+00:00",
        "duration   2.500000000 s",
        "events     4",
        "discarded  17 events",
        "cpus       0-2",
        "3 event classes: events, name",
        "             2  sched:sched_stat",
        "             7  init\\x1b[2J",
        "             8             3  worker",
        "  host: box",
    ):
        assert line in lines


def test_info_as_json(capfd):
    save("in.whole")
    _, out, _ = run(capfd, "info", "in.whole", "--json")
    report = json.loads(out)
    assert report["format"] == "whole"
    assert report["cpus"] == [0, 1, 2]
    assert report["duration_seconds"] == 2.5
    assert report["event_classes"] == {"sched:sched_stat": 2, "instant": 1, "discarded": 1}
    assert report["threads"][1] == {"pid": 7, "tid": 9, "name": "idle", "events": 0}
    assert report["processes"] == [{"pid": 7, "name": "init\x1b[2J", "parent_pid": None}]
    assert (report["first_ts"], report["last_ts"]) == (1_000_000, 3_500_000)


def test_info_of_next_to_nothing(capfd):
    save("in.whole", Trace(format="whole", clock=ClockDomain("tsc", None)))
    code, out, _ = run(capfd, "info", "in.whole")
    assert code == 0
    assert "clock      tsc, unknown ticks per second" in out
    assert "events     0" in out
    assert "duration" not in out


def test_info_lists_some_and_counts_the_rest(capfd):
    threads = [Thread(i, 0, f"t{i}") for i in range(100)]
    save("in.whole", replace(sample(), threads=threads))
    _, out, _ = run(capfd, "info", "in.whole")
    assert "100 threads: tid, events, name" in out
    assert "  and 80 more (--json lists them)" in out


def test_formats(capfd):
    code, out, _ = run(capfd, "formats")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[1] == ["whole", "+quiet", "+loud", ".whole", "read", "write", "Everything"]
    assert rows[3] == ["closed", "-", ".closed", "Neither", "way"]
    _, out, _ = run(capfd, "formats", "--json")
    assert [row["name"] for row in json.loads(out)["formats"]] == ["whole", "narrow_one", "closed"]


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_and_only_after_a_second(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    monkeypatch.setenv("TERM", "xterm")
    save("in.whole")
    for seconds, terminal, shown in ((0.3, True, False), (5.0, False, False), (5.0, True, True)):
        clock.now = 0.0
        stream = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.Progress(shown=True) as counting:
            trace = sample()
            trace.progress = lambda: (50, 100)
            counting.watch(trace)
            for _ in trace.batches():
                clock.now += seconds
        assert counting.events == 4
        assert ("4 events, 0/s" in stream.getvalue()) == shown
        assert ("50%" in stream.getvalue()) == shown


def test_an_interrupt_leaves_nothing(capfd, monkeypatch):
    save("in.whole")

    def interrupted(trace, sink, variant):
        sink.write(b"some")
        raise KeyboardInterrupt

    monkeypatch.setattr(fake_formats, "writing", lambda magic: interrupted)
    assert run(capfd, "in.whole", "-o", "out.whole") == (130, "", "")
    assert os.listdir() == ["in.whole"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_termination_leaves_nothing(capfd, monkeypatch, number):
    save("in.whole")

    def terminated(trace, sink, variant):
        sink.write(b"some")
        os.kill(os.getpid(), number)
        time.sleep(1)

    monkeypatch.setattr(fake_formats, "writing", lambda magic: terminated)
    before = signal.getsignal(number)
    assert run(capfd, "in.whole", "-o", "out.whole") == (128 + number, "", "")
    assert signal.getsignal(number) is before
    assert os.listdir() == ["in.whole"]


def test_a_hang_up_that_is_ignored_is_ignored(capfd, monkeypatch):
    save("in.whole")
    written = fake_formats.writing

    def hung_up(magic):
        os.kill(os.getpid(), signal.SIGHUP)
        return written(magic)

    monkeypatch.setattr(fake_formats, "writing", hung_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(capfd, "in.whole", "-o", "out.whole")[0] == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_public_functions(tmp_path):
    path = save(tmp_path / "in.whole")
    assert converter.detect(path).name == "whole"
    with converter.open_trace(path) as trace:
        assert sum(len(batch) for batch in trace.batches()) == 4
    trace = converter.read(path.read_bytes())
    assert converter.difference(trace, sample()) is None
    assert len(converter.write(trace, tmp_path / "out.whole")) == 0
    report = converter.convert(path, tmp_path / "out.narrow")
    assert len(report) > 0
    with pytest.raises(converter.StrictLossError, match="not everything fits"):
        converter.convert(path, tmp_path / "strict.narrow", strict=True)
    assert not (tmp_path / "strict.narrow").exists()
    with pytest.raises(converter.OutputError, match="the output is the input"):
        converter.convert(path, path, force=True)
    with pytest.raises(converter.UnknownFormatError, match="empty"):
        converter.detect(b"")


def test_every_public_name_is_there():
    assert sorted(converter._MODULE_OF) == sorted(converter.__all__)
    for name in converter.__all__:
        assert getattr(converter, name) is not None
        assert name in dir(converter)
    with pytest.raises(AttributeError, match="nothing"):
        _ = converter.nothing


def python(*arguments, stdout=subprocess.PIPE, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=60,
        check=False,
        **options,
    )


def test_help_is_quick_and_imports_nothing_heavy():
    seconds = []
    for _ in range(3):
        start = time.monotonic()
        result = python("-m", "converter", "--help")
        seconds.append(time.monotonic() - start)
        assert result.returncode == 0
        assert result.stdout.startswith(b"Usage: traceconv ")
        assert b"traceconv trace.dat trace.pftrace" in result.stdout
    assert min(seconds) < 1.0  # 0.05 s on a machine with nothing else to do
    heavy = "{'numpy', 'construct', 'zstandard', 'rich', 'google.protobuf', 'perfetto'}"
    code = f"import sys; from converter.cli import main; main(['--help']); print({heavy} & set(sys.modules))"
    assert python("-c", code).stdout.endswith(b"set()\n")


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, converter; print({'numpy', 'click'} & set(sys.modules))"
    assert python("-c", code).stdout == b"set()\n"


def test_exit_codes_of_the_process():
    assert python("-m", "converter", "missing", "-o", "x.fxt").returncode == 1
    assert python("-m", "converter").returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_standard_output_that_is_full_is_an_error_that_says_so():
    with open("/dev/full", "wb") as full:
        result = python("-m", "converter", "formats", stdout=full)
    assert result.returncode == 1
    assert result.stderr == b"traceconv: standard output: No space left on device\n"


def test_a_reader_that_goes_away_is_not_an_error():
    code = """
import sys, os
from converter.cli import main
os.close(sys.stdin.fileno())
sys.exit(main(["--help"]))
"""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        result = subprocess.run(
            [sys.executable, "-c", code],
            stdout=closed,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=60,
            check=False,
        )
    assert (result.returncode, result.stderr) == (141, b"")
