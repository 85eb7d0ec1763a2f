"""Each limit is reached by an input, the message names it, and with a higher one the same input is read."""

import gzip
import lzma
import os
import pickle
import re
import struct
from pathlib import Path

import pytest
import zstandard
from fuzz import packed
from support.ctf.ctf2_fragments import STREAM, U8, event, sequence
from support.inputs.costly_inputs import INPUTS
from support.inputs.limit_inputs import (
    PERF,
    aliases,
    ancestors,
    classes,
    ctf,
    deep_profile,
    file,
    hits,
    kernel_symbols,
    large_packet,
    legacy,
    legacy_event,
    long_event,
    made,
    nested_tracks,
    of,
    perf,
    perf_auxtrace,
    perf_file,
    perf_mappings,
    printed,
    profile,
    replaced,
    report_of_hooks,
    representation,
    simpleperf,
    stack_of_frames,
    suspects,
    tar,
    templates,
    tsdl,
    uftrace,
    under,
    values,
)
from support.perfetto import files as perfetto_files
from support.profiles import simpleperf_messages
from support.trace_cmd.files import File
from support.uftrace import files as uftrace_files

import converter
from converter.cli import main
from converter.errors import UnsupportedError
from converter.formats.aix.trcfmt import parse
from converter.ir.events import decode
from converter.jobs import reading
from converter.jobs.reading import open_trace
from converter.limits import LIMITS, Limit, allowed, limit, limited, parse_limit, shown
from converter.scheduling import Share

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "roundtrip_fixtures"


#: By name: a lower value, what is read, and what else is changed.
CASES = {
    "warnings": (3, of("uftrace_holes", 2000), {}),
    "unpacked": (1000, of("fxt_gzip", 100), {"unpacked-ratio": 1}),
    "unpacked-ratio": (2, of("fxt_gzip", 100), {"unpacked": 100}),
    "wrappers": (1, made(lambda: gzip.compress(gzip.compress(INPUTS["fxt_events"](99)[""]))), {}),
    "zstd-window": (1 << 10, made(lambda: zstandard.compress(bytes(1 << 20), 19)), {}),
    "xz-memory": (1 << 20, made(lambda: lzma.compress(bytes(1 << 20))), {}),
    "members": (2, made(lambda: tar(*[INPUTS["fxt_events"](99)[""]] * 3)), {}),
    "tar.header": (600, made(lambda: tar(b"x", name="n" * 700)), {}),
    "classes": (2, made(lambda: classes(3)), {}),
    "listed-files": (2, made(lambda: tar(*[b"x"] * 5)), {}),
    "folder-files": (2, made(lambda: tar(*[b"x"] * 5)), {}),
    "aix.template-steps": (50, templates('LOOP 60 { "x" }'), {}),
    "aix.template-depth": (5, templates("LOOP 1 { " * 9 + '"x"' + " }" * 9), {}),
    "aix.template-calls": (2, templates("$501", "501 1.0 $502\n502 1.0 $503\n503 1.0 X1\n"), {}),
    "aix.template-nesting": (
        3,
        under(lambda: parse("500 1.0 " + "LOOP 1 { " * 5 + "}" * 5 + "\n").warnings),
        {},
    ),
    "aix.template-text": (10, templates('LOOP 9 { "xxx" }'), {}),
    "aix.template-file": (10, under(lambda: parse("# nothing at all\n")), {}),
    "aix.declarations": (10, file("generated/aix-64.aix"), {}),
    "aix.report-classes": (1, made(report_of_hooks), {}),
    "chrome.searched": (2, made(lambda: b'[{"ph":"i","ts":1},}' + b' {"x":1},' * 9), {}),
    "ctf.files": (1, of("ctf_events", 9), {}),
    "ctf.metadata": (10, of("ctf_events", 9), {}),
    "ctf.nesting": (5, made(lambda: ctf(tsdl(b"struct { " * 9 + b"u8 v;" + b" } a;" * 9))), {}),
    "ctf.fields": (5, made(lambda: ctf(tsdl(b"".join(b"u8 f%d;" % i for i in range(9))))), {}),
    "ctf.all-fields": (5, made(lambda: ctf(tsdl(b"u8 a; u8 b;", 9))), {}),
    "ctf.aliases": (5, made(aliases), {}),
    "ctf.operations": (3, made(lambda: ctf(tsdl(b"u8 a; string b; u8 c;"), stream=b"\1ab\0c")), {}),
    "folded.line": (8, made(lambda: b"a;b 1\nmain;b 12\n"), {}),
    "folded.comments": (2, made(lambda: b"a;b 1\n" + b"# a comment\n" * 3), {}),
    "fxt.suspects": (2, made(suspects), {}),
    "cpuprofile.profile": (10, made(lambda: hits(2)), {}),
    "cpuprofile.objects": (2, made(lambda: hits(2)), {}),
    "cpuprofile.hits": (5, made(lambda: hits(6)), {}),
    "pprof.profile": (10, made(lambda: deep_profile(2)), {}),
    "pprof.records": (3, made(lambda: deep_profile(2)), {}),
    "pprof.types": (2, made(lambda: deep_profile(2, types=3)), {}),
    "pprof.sample": (5, made(lambda: deep_profile(2)), {}),
    "pprof.frames": (12, made(lambda: deep_profile(13)), {}),
    "gecko.profile": (10, made(profile), {}),
    "gecko.objects": (4, made(profile), {}),
    "simpleperf.file": (10, made(simpleperf), {}),
    "simpleperf.records": (3, made(simpleperf), {}),
    "simpleperf.sample": (10, made(simpleperf), {}),
    "speedscope.document": (100, file("speedscope/mixed.speedscope.json"), {}),
    "speedscope.objects": (4, file("speedscope/mixed.speedscope.json"), {}),
    "ir.record": (20, representation(FIXTURES / "trace_cmd/small.dat"), {}),
    "ir.unpacked": (20, representation(FIXTURES / "trace_cmd/small.dat"), {}),
    "ir.events": (5, representation(FIXTURES / "trace_cmd/small.dat"), {}),
    "ir.equal": (1, representation(FIXTURES / "trace_cmd/small.dat"), {}),
    "ir.symbols": (1, representation(kernel_symbols()), {}),
    "ir.length": (3, representation(ctf(tsdl(b"u8 a[5];"), stream=b"\1abcde")), {}),
    "lttng_legacy.files": (1, file("generated/lttng_legacy-2.6.lttng"), {}),
    "lttng_legacy.fields": (5, made(legacy), {}),
    "lttng_legacy.declarations": (2, made(legacy), {}),
    "lttng_legacy.event": (1 << 10, made(legacy_event), {}),
    "perf.header": (50, perf(lambda: perf_file(PERF.sample(1), features={3: bytes(100)})), {}),
    "perf.events": (1, perf(lambda: perf_file(events=2)), {}),
    "perf.ids": (1, perf(lambda: perf_file(events=2)), {}),
    "perf.round": (100, perf(lambda: perf_file(b"".join(map(PERF.sample, range(9, 1, -1))))), {}),
    "perf.mappings": (1, perf(lambda: perf_file(perf_mappings())), {}),
    "perf.symbols": (10, perf(lambda: perf_file(PERF.sample(1)), kallsyms=__file__), {}),
    "perf.auxtrace": (4, perf(lambda: perf_file(perf_auxtrace())), {}),
    "perfetto.packet": (1 << 20, made(large_packet), {}),
    "perfetto.inflated": (100, of("perfetto_bomb", 1000), {}),
    "perfetto.tracks": (3, made(nested_tracks), {}),
    "perfetto.symbols": (1, made(kernel_symbols), {}),
    "perfetto.frames": (3, made(stack_of_frames), {}),
    "trace_cmd.section": (100, made(lambda: File().version_7("zlib")), {}),
    "trace_cmd.cpus": (1, file("trace_cmd/small.dat"), {}),
    "trace_cmd.options": (1, file("trace_cmd/small.dat"), {}),
    "trace_cmd.format-levels": (5, printed("(" * 9 + "REC->v" + ")" * 9), {}),
    "trace_cmd.format-nodes": (5, printed("REC->v" + " + REC->v" * 9), {}),
    "uftrace.text": (10, file("uftrace/rich"), {}),
    "uftrace.tasks": (
        1,
        made(
            lambda: uftrace(
                tids=[1234, 5, 6], tasks={1234: uftrace_files.calls(uftrace_files.Directory())}
            )
        ),
        {},
    ),
    "uftrace.ancestors": (3, made(ancestors), {}),
    "uftrace.replaced": (1, made(replaced), {}),
    "uftrace.event": (1 << 10, made(long_event), {}),
    "uftrace.layout": (3, of("uftrace_images", 900), {}),
    "uftrace.pattern-states": (5, values("^abcdefgh@arg1"), {}),
    "uftrace.pattern-repeats": (5, values("^a{9}@arg1"), {}),
    "uftrace.pattern-nesting": (3, values("^((((((a))))))@arg1"), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_limit_is_reached_and_named_and_may_be_raised(name):
    low, said, others = CASES[name]
    found = said({**others, name: low})
    option = re.search(rf"limits={{'{re.escape(name)}': '?(\w+)'?}}", found)
    assert option is not None, found
    assert parse_limit(name, option[1]) == min(2 * low, LIMITS[name].most)
    assert f"'{name}':" not in said({**others, name: LIMITS[name].default})


def nested_ctf2(levels):
    """The root's structure is a level, as in TSDL."""
    inner = U8
    for _ in range(levels - 1):
        member = {"name": "v", "field-class": inner}
        inner = {"type": "structure", "member-classes": [member]}
    return lambda: ctf(sequence(STREAM, event(v=inner)), stream=b"")


#: What is counted in an input of CASES, or in another: as many are allowed by a limit of as many.
EXACT = {
    "wrappers": 2,
    "zstd-window": 1 << 20,
    "members": 3,
    "classes": 3,
    "listed-files": 5,
    "folder-files": 5,
    "aix.template-depth": 10,
    "aix.template-calls": 3,
    "aix.template-nesting": 5,
    "aix.template-text": 27,
    "aix.template-file": len("# nothing at all\n"),
    "aix.report-classes": 5,
    "chrome.searched": 9,
    "gecko.profile": len(profile()),
    "gecko.objects": 6,
    "ctf.files": 2,
    "ctf.metadata": len(INPUTS["ctf_events"](9)["metadata"]),
    "ctf.nesting": 10,
    "ctf.fields": 9,
    # One is in the packets' header.
    "ctf.all-fields": 19,
    "ctf.aliases": 10,
    "folded.line": 9,
    "folded.comments": 3,
    "cpuprofile.profile": len(hits(2)),
    "cpuprofile.objects": 4,
    "cpuprofile.hits": 6,
    "pprof.profile": len(deep_profile(2)),
    "pprof.records": 9,
    "pprof.types": 3,
    # Two locations in a list, and a value in one.
    "pprof.sample": 7,
    "pprof.frames": 13,
    "fxt.suspects": 5,
    "simpleperf.file": len(simpleperf()),
    "simpleperf.records": len(simpleperf_messages.small()),
    "simpleperf.sample": max(map(len, simpleperf_messages.small()[2:6])),
    "speedscope.document": (FIXTURES / "speedscope/mixed.speedscope.json").stat().st_size,
    "ir.events": 338,
    "ir.symbols": 3,
    "ir.length": 5,
    "lttng_legacy.files": 4,
    # An id and a format of each of three.
    "lttng_legacy.declarations": 6,
    "perf.header": 100,
    "perf.events": 2,
    "perf.ids": 2,
    "perf.mappings": 3,
    "perf.auxtrace": 8,
    "perfetto.packet": 9 << 20,
    "perfetto.tracks": 7,
    "perfetto.symbols": 3,
    "perfetto.frames": 5,
    "trace_cmd.cpus": 2,
    "trace_cmd.options": 2,
    "uftrace.tasks": 3,
    "uftrace.ancestors": 7,
    "uftrace.replaced": 4,
    # Texts with their lengths, in multiples of 4, behind a record of 16 bytes.
    "uftrace.event": 16 + 20 * (65_500 + 4),
    "uftrace.pattern-repeats": 9,
    "uftrace.pattern-nesting": 6,
}


def test_what_is_counted_is_allowed_exactly():
    for name, count in EXACT.items():
        _, said, others = CASES[name]
        named = [
            f"'{name}':" in said({**others, name: most})
            for most in (count - 1, count, count + 1)
            if most <= LIMITS[name].most
        ]
        assert named == [True, False, False][: len(named)], name


@pytest.mark.parametrize("make", [nested_ctf2, lambda levels: lambda: ctf(nested_tsdl(levels))])
def test_levels_of_types_are_those_of_both_versions(make):
    said = made(make(9))
    assert "limits={'ctf.nesting': 16}" in said({"ctf.nesting": 8})
    assert "limits=" not in said({"ctf.nesting": 9})


def nested_tsdl(levels):
    return tsdl(b"struct { " * (levels - 1) + b"u8 v;" + b" } a;" * (levels - 1))


def providers(count):
    """Of an FXT file, each with a thread of its own and an event on it."""
    parts = [struct.pack("<Q", 0x0016547846040010)]
    for number in range(1, count + 1):
        parts.append(struct.pack("<QQ", 2 << 4 | 1 << 16 | number << 20 | 1 << 52, ord("p")))
        parts.append(struct.pack("<QQQ", 3 | 3 << 4 | 1 << 16, number, number))
        parts.append(struct.pack("<QQ", 4 | 2 << 4 | 1 << 24 | 1 << 32 | 1 << 48, number))
    return b"".join(parts)


@pytest.mark.parametrize(("count", "read"), [(4095, 4095), (4096, 4096), (4097, 4096)])
def test_fxt_has_4096_providers(count, read):
    with open_trace(providers(count)) as trace:
        assert sum(len(batch) for batch in trace.batches()) == read
        threads = {thread.tid for thread in trace.threads}
        assert len(threads) == read
        said = [str(warning) for warning in trace.warnings if "providers" in str(warning)]
        assert len(said) == count - read


def packets():
    files = INPUTS["ctf_holes"](32)
    packet = struct.pack("<III", 0xC1FC1FC1, 160, 160) + bytes(8)
    return packed({**files, "stream": (packet + b"\xff" * 16) * 20})


HOLES = [
    *(of(f"{name}_holes", 3000) for name in ("fxt", "perfetto", "uftrace", "aix")),
    made(packets),
]


@pytest.mark.parametrize("number", range(len(HOLES)))
def test_places_behind_damage_are_allowed_exactly(number):
    """Behind the last damage of these nothing follows, and CTF says of each where it is, not where it ends."""
    said = HOLES[number]
    count = said({}).count("go on") or 19
    if number == 1:  # Perfetto tells of the first of each kind
        count = 48
    found = ["limits={'holes'" in said({"holes": most}) for most in (count - 1, count, count + 1)]
    assert found == [True, False, False]


@pytest.mark.parametrize("said", HOLES)
def test_places_behind_damage_are_counted_in_every_format(said):
    assert "limits={'holes': 8}" in said({"holes": 4})
    assert "limits=" not in said({})


def test_annotations_that_are_nested_deeper_stay_bytes():
    data = perfetto_files.annotations()
    found = []
    for most in (1, 32):
        with open_trace(data, limits={"perfetto.nesting": most}) as trace:
            for batch in trace.batches():
                decode(batch)
            found.append([each.fields for each in trace.event_classes])
    assert found[0] != found[1]


def test_every_limit_is_tried():
    # The depth of folders in tests/storage/remote/test_remote.py, which needs fsspec.
    assert {*CASES, "holes", "perfetto.nesting", "folder-depth"} == set(LIMITS)


def test_limits_hold_where_a_trace_is_opened_and_read_and_nowhere_else():
    damaged = packed(INPUTS["fxt_holes"](3000))
    with open_trace(damaged, limits={"holes": 4}) as few, open_trace(damaged) as all_of_them:
        pass
    few_events, events = (
        sum(map(len, converter.read(damaged, limits=limits).batches()))
        for limits in ({"holes": 4}, None)
    )
    assert few_events < events
    with open_trace(damaged, limits={"holes": 4}) as few:
        batches = few.batches()
        with open_trace(damaged, limits={"holes": 1000}) as all_of_them:
            assert sum(map(len, batches)) == few_events
            assert sum(map(len, all_of_them.batches())) == events
    assert limit("holes") == LIMITS["holes"].default


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("unpacked", "64M", 64 << 20),
        ("unpacked", "2g", 2 << 30),
        ("unpacked", "1GiB", 1 << 30),
        ("unpacked", 5, 5),
        ("unpacked", "1T", 1 << 40),
        ("unpacked", "3k", 3 << 10),
        ("holes", "7", 7),
        ("holes", "1", 1),
        ("holes", str(1 << 62), 1 << 62),
        ("holes", str((1 << 62) + 1), "at least 1"),
        ("holes", "9" * 20, "a number"),
        ("holes", "7K", "a number"),
        ("holes", "0", "at least 1"),
        ("holes", "-1", "a number"),
        ("unpacked", "M", "a number of bytes"),
        ("ctf.nesting", "48", 48),
        ("ctf.nesting", "49", "1 to 48 levels"),
        ("hole", "5", "did you mean 'holes'"),
    ],
)
def test_limits_are_numbers_or_sizes(name, given, expected):
    if isinstance(expected, int):
        assert parse_limit(name, given) == expected
    else:
        with pytest.raises(ValueError, match=expected):
            parse_limit(name, given)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("unpacked", 0, "0 bytes"),
        ("unpacked", 1023, "1,023 bytes"),
        ("unpacked", 1024, "1 KiB"),
        ("unpacked", 1025, "1,025 bytes"),
        ("unpacked", 3 << 20, "3 MiB"),
        ("unpacked", 1 << 40, "1 TiB"),
        ("holes", 1024, "1,024 places"),
    ],
)
def test_limits_are_shown_as_they_may_be_given(name, value, text):
    assert shown(name, value) == text


@pytest.mark.parametrize(
    ("name", "value", "more"),
    [
        ("ctf.nesting", 48, None),
        ("ctf.nesting", 47, "48"),
        ("unpacked", 1023, "2046"),
        ("unpacked", 1 << 10, "'2K'"),
    ],
)
def test_messages_say_how_to_allow_more_where_that_is_possible(name, value, more):
    with limited({name: value}):
        said = allowed(name)
    assert said.startswith(f"at most {shown(name, value)}")
    assert (f"{{'{name}': {more}}}" in said) if more else (said == "at most 48 levels")


def table():
    rows = ["| limit | what it bounds | by default | at most |", "| --- | --- | ---: | ---: |"]
    for name, one in LIMITS.items():
        most = shown(name, one.most) if one.most < 1 << 62 else ""
        rows.append(f"| `{name}` | {one.unit} {one.guards} | {shown(name, one.default)} | {most} |")
    return "\n".join(rows)


def test_the_documents_have_the_table():
    """``TRACECONV_WRITE_LIMITS=1`` writes it anew."""
    path = ROOT / "docs" / "security.md"
    text = path.read_text()
    before, begin, rest = text.partition("<!-- limits -->\n")
    _, end, behind = rest.partition("<!-- end of limits -->")
    if os.environ.get("TRACECONV_WRITE_LIMITS"):
        path.write_text(f"{before}{begin}{table()}\n{end}{behind}")
        text = path.read_text()
    assert f"{begin}{table()}\n{end}" in text
    assert begin


def test_commands_take_limits_until_they_are_done(tmp_path, capsys):
    path = tmp_path / "damaged.fxt"
    path.write_bytes(packed(INPUTS["fxt_holes"](3000)))
    assert main(["check", str(path), "--limit", "holes=4"]) == 1
    assert "--limit holes=8" in "".join(capsys.readouterr())
    assert main(["check", str(path)]) == 1
    assert "--limit" not in "".join(capsys.readouterr())
    assert main(["info", "--limit", "help"]) == 0
    assert "ctf.metadata" in capsys.readouterr().out
    assert main(["info", str(path), "--limit", "hole=4"]) == 2
    assert "did you mean 'holes'" in capsys.readouterr().err


def test_limits_go_to_other_processes():
    with limited({"holes": 4}):
        share = pickle.loads(pickle.dumps(Share(source="in", path="out", target_format=None)))
    assert share.limits == {"holes": 4}


def test_what_is_written_is_within_the_limits_of_readers(tmp_path, monkeypatch):
    monkeypatch.setitem(LIMITS, "ir.unpacked", Limit(1000, "bytes", ""))
    source = FIXTURES / "trace_cmd" / "small.dat"
    converter.convert(source, tmp_path / "out.tcir")
    assert (
        converter.difference(converter.read(source), converter.read(tmp_path / "out.tcir")) is None
    )


@pytest.mark.parametrize("form", ["json", "tcir"])
def test_classes_are_counted_before_they_are_converted(form, tmp_path):
    """A class takes more memory than its declaration in an input."""
    source = tmp_path / f"a.{form}"
    with limited({"classes": 6}):
        converter.convert(classes(5), source)
        with open_trace(source) as trace:
            assert [len(batch) for batch in trace.batches()] == [5]
            count = len(trace.event_classes)
    for most in (count, count + 1):
        with open_trace(source, limits={"classes": most}) as trace:
            assert sum(map(len, trace.batches())) == 5
    with (
        pytest.raises(UnsupportedError) as error,
        open_trace(source, limits={"classes": count - 1}) as trace,
    ):
        list(trace.batches())
    assert f"at most {count - 1:,} classes (limits={{'classes': " in str(error.value)
    assert str(error.value).endswith(f"found {count:,}")


def test_what_comes_before_too_many_classes_is_read(tmp_path):
    trace = converter.read(classes(1))
    (batch,) = trace.batches()

    def batches():
        yield batch
        for _ in range(3):
            trace.add_class(trace.event_classes[0])
        yield batch

    trace.make_batches = batches
    reading._limit_classes(trace)
    with limited({"classes": 3}):
        assert [len(one) for one in trace.batches()] == [1]
    (warning,) = trace.warnings
    assert (warning.is_damage, warning.found) == (True, "4")
