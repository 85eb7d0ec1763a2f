"""Every format and variant to every other one: what fits survives exactly, and with `lossless` all of it does.

The sources are files of every format, of a synthetic trace with all kinds of events, and recordings. The table of
what formats keep is made here.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
import textwrap
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.samples import sampled

import converter
from converter.fixtures import synthetic_trace
from converter.fixtures.generation import fixture_name, variants
from converter.fixtures.kinds import GROUPS
from converter.fixtures.script import script
from converter.formats.descriptor import Format
from converter.ir.canonical import canonical, difference
from converter.ir.collect import collect
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.project import project
from converter.registry import FORMATS, format_named
from converter.storage.outputs import open_sink
from converter.testing import assert_same, assert_what_fits_survives, is_replayed, projected, read

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "roundtrip_fixtures"

#: Formats whose rows are the representation's own: what is held of one format's events is of all others'.
OF_ROWS = {"arrow", "parquet"}
#: All formats and variants, as sources and as targets.
NAMES = [
    f"{format.name}+{variant}" if variant else format.name
    for format, variant in variants()
    if format.name not in OF_ROWS
]
#: One variant of each format, as target for recordings.
USUAL = [
    next(name for name in NAMES if name.partition("+")[0] == format.name)
    for format in FORMATS
    if format.name not in OF_ROWS
]
#: Small files that were not written from a synthetic trace, by format.
RECORDED = {
    "aix": ["aix/every-form-64.aix", "aix/every-form-32.aix32"],
    "chrome": ["chrome/features.json", "chrome/nesting.json"],
    "ctf": ["ctf/ctf_lost", "ctf/perf_ctf"],
    "fxt": ["fxt/every-record-little.fxt", "fxt/every-record-big.fxt"],
    "gecko": ["gecko/samply.profile.json"],
    "perfetto": [
        "perfetto/kernel_typed.pftrace",
        "perfetto/legacy.pftrace",
        "perfetto/timeline.pftrace",
    ],
    "trace_cmd": ["trace_cmd/small.dat", "trace_cmd/scratch_v7_be64.dat"],
    "uftrace": ["uftrace/rich"],
}
#: Recordings whose files travel with the events.
WITH_FILES = {
    **{name: RECORDINGS / name for name in RECORDED["aix"]},
    "lttng_legacy/net-2.6": RECORDINGS / "lttng_legacy/net-2.6.tar.gz",
    "trace_cmd/v6": RECORDINGS / "trace_cmd/scratch_v6_min.dat",
    "trace_cmd/v7": RECORDINGS / "trace_cmd/scratch_v7_be32.dat",
}
#: Variants that hold what another one does.
HELD_AS = {
    "trace_cmd+v7_zlib": "trace_cmd+v7",
    "trace_cmd+v7_none": "trace_cmd+v7",
    "fxt+be": "fxt+large",
    "ctf+2": "ctf+1.8",
}
#: Events of the synthetic traces: a little more than a round of the script, so that there is each kind.
EVENTS = len(script(GROUPS["all"])) + 3
#: What lossless conversions are tested with: it does not depend on the kinds.
FEW_KINDS = "sched,typed,text"


def own_name(source: str) -> str:
    """The name of a source's format, with what its reader is told."""
    if "/" not in source:
        return source
    return "aix+32" if source.endswith("32") else source.partition("/")[0]


class Conversions:
    """Files that were converted, and what was read of them; each is made when first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self.source = cache(self._source)
        self.held = cache(self._held)
        self.form = cache(lambda *which: canonical(self.source(*which)))
        self.held_form = cache(lambda *which: canonical(self.held(*which)))
        self.converted = cache(self._converted)

    def new_path(self, name: str) -> Path:
        self._number += 1
        target, variant = format_named(name)
        return self._folder / f"{self._number}-{fixture_name(target, variant)}"

    def _source(self, name: str, kinds: str = "all") -> Trace:
        if "/" in name:
            return read(RECORDINGS / name, own_name(name))
        path = self.new_path(name)
        converter.write(synthetic_trace(kinds, EVENTS), path, name)
        return read(path, name)

    def _held(self, source: str, target: str) -> Trace:
        return collect(projected(self.source(source), target))

    def _converted(self, source: str, target: str) -> Path:
        trace, path = self.source(source), self.new_path(target)
        if is_replayed(trace, target):
            converter.write(trace, path, target)
            return path
        format, variant = format_named(target)
        with open_sink(
            path, directory=format.is_directory(variant), seekable=format.patches_output
        ) as sink:
            format.writer()(self.held(source, HELD_AS.get(target, target)), sink, variant)
        return path


@pytest.fixture(scope="module")
def conversions(tmp_path_factory: pytest.TempPathFactory) -> Conversions:
    return Conversions(tmp_path_factory.mktemp("matrix"))


def of_all_kinds() -> list[tuple[str, str]]:
    return [(source, target) for source in NAMES for target in NAMES]


def of_recordings() -> list[tuple[str, str]]:
    return [
        (source, target) for sources in RECORDED.values() for source in sources for target in USUAL
    ]


def of_rows() -> list[tuple[str, str]]:
    there = [("ir", name) for name in ("arrow", "arrow+stream", "parquet")]
    back = [("parquet", "fxt"), ("arrow", "perfetto"), ("parquet+dataset", "trace_cmd+v7")]
    recorded = [(sources[0], "parquet+dataset") for sources in RECORDED.values()]
    return there + back + recorded


PAIRS = sampled(of_all_kinds(), 18) + sampled(of_recordings(), 12) + of_rows()


@pytest.mark.parametrize(
    ("target", "kinds"),
    sampled(
        ((name, kinds) for name in NAMES for kinds in GROUPS if kinds not in ("all", "kernel")), 4
    ),
)
def test_each_kind_of_events_survives_as_projected(target: str, kinds: str, tmp_path: Path) -> None:
    assert_what_fits_survives(synthetic_trace(kinds, 60, seed=1), tmp_path / "out", target)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_fits_survives(source: str, target: str, conversions: Conversions) -> None:
    again = read(conversions.converted(source, target), target)
    trace = conversions.source(source)
    assert not again.warnings or trace.warnings
    if is_replayed(trace, target):
        assert_same(trace, again, conversions.form(source))
    else:
        which = source, HELD_AS.get(target, target)
        assert_same(conversions.held(*which), again, conversions.held_form(*which))


def contents(path: Path) -> dict[str, bytes]:
    """The files of a trace by name: of an archive, a directory, or one."""
    if path.suffixes[-2:] == [".tar", ".gz"]:
        with tarfile.open(path) as archive:
            return {
                one.name.rpartition("/")[2]: file.read()
                for one in archive.getmembers()
                if (file := archive.extractfile(one)) is not None
            }
    if path.is_dir():
        return {one.name: one.read_bytes() for one in path.iterdir()}
    return {"": path.read_bytes()}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (source, target)
        for source in WITH_FILES
        for target in USUAL
        # A version of trace.dat holds all that another does, so that no file travels in it.
        if not source.startswith("trace_cmd") or not target.startswith("trace_cmd")
    ],
)
def test_files_survive_lossless_there_and_back_byte_for_byte(
    source: str, target: str, conversions: Conversions
) -> None:
    path, own = WITH_FILES[source], own_name(source)
    there, back = conversions.new_path(target), conversions.new_path(own)
    with converter.open_trace(path, own) as trace:
        converter.write(trace, there, target, lossless=True, strict="all")
    with converter.open_trace(there) as trace:
        converter.write(trace, back, own)
    assert contents(back) == contents(path)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_all_survives_lossless_there_and_back(
    source: str, target: str, conversions: Conversions
) -> None:
    kinds = () if "/" in source else (FEW_KINDS,)
    trace, form = conversions.source(source, *kinds), conversions.form(source, *kinds)
    there = conversions.new_path(target)
    converter.write(trace, there, target, lossless=True)
    again = read(there, target)
    assert_same(trace, again, form)
    own = own_name(source)
    back = conversions.new_path(own)
    converter.write(again, back, own, lossless=True)
    assert_same(trace, read(back, own), form)
    for path in (there, back):
        # They would be hundreds.
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@settings(max_examples=6)
@given(
    chain=st.lists(st.sampled_from(NAMES), min_size=3, max_size=3),
    kinds=st.sampled_from(sorted(GROUPS)),
    seed=st.integers(0, 1 << 32),
)
def test_all_survives_chains_of_lossless_conversions(
    chain: list[str], kinds: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    conversions = Conversions(tmp_path_factory.mktemp("chain"))
    first = conversions.new_path(chain[0])
    converter.write(synthetic_trace(kinds, 30, seed), first, chain[0])
    trace = original = read(first, chain[0])
    for name in (*chain[1:], chain[0]):
        path = conversions.new_path(name)
        converter.write(trace, path, name, lossless=True)
        trace = read(path, name)
    assert difference(original, trace) is None


# What the formats' own tools say


def printed(*command: str) -> bytes:
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    return done.stdout


def check_by_trace_cmd(path: Path) -> None:
    text = printed("trace-cmd", "report", "-R", str(path))
    assert text
    assert b"UNKNOWN EVENT" not in text
    assert b"FAILED TO PARSE" not in text


def check_by_babeltrace(path: Path) -> None:
    printed("babeltrace2", str(path))


def check_by_uftrace(path: Path) -> None:
    printed("uftrace", "dump", "--no-pager", "-d", str(path))


def check_by_protobuf(path: Path) -> None:
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    packets = Trace.FromString(path.read_bytes()).packet
    assert packets
    assert not any(len(UnknownFieldSet(packet)) for packet in packets)


@cache
def chrome_schema() -> jsonschema.Draft202012Validator:
    schema = json.loads((ROOT / "schemas/chrome/trace_event.schema.json").read_bytes())
    return jsonschema.Draft202012Validator(schema)


def check_by_schema(path: Path) -> None:
    chrome_schema().validate(json.loads(path.read_bytes()))


#: The program that is needed, and what it is used for.
CHECKS: dict[str, tuple[str | None, Callable[[Path], None]]] = {
    "trace_cmd": ("trace-cmd", check_by_trace_cmd),
    "ctf+1.8": ("babeltrace2", check_by_babeltrace),
    "uftrace": ("uftrace", check_by_uftrace),
    "perfetto": (None, check_by_protobuf),
    "chrome": (None, check_by_schema),
}


@cache
def missing(program: str | None, target: str) -> str | None:
    """Why a tool cannot be asked."""
    if program is None:
        return None
    if shutil.which(program) is None:
        return f"{program} is not installed"
    if target == "trace_cmd+v7_zlib" and b"zlib" not in printed("trace-cmd", "list", "-c"):
        return "this trace-cmd was built without zlib"
    return None


def check_of(target: str) -> tuple[str | None, Callable[[Path], None]] | None:
    return CHECKS.get(target) or CHECKS.get(target.partition("+")[0])


#: A copy of a Chrome JSON file is the file, with what other programs put in it.
CHECKED = [
    pair
    for pair in PAIRS
    if check_of(pair[1]) and not (pair[0][:7] == "chrome/" and pair[1] == "chrome")
]


@pytest.mark.parametrize(("source", "target"), CHECKED)
def test_the_formats_own_tool_takes_it(source: str, target: str, conversions: Conversions) -> None:
    found = check_of(target)
    assert found is not None
    program, check = found
    if reason := missing(program, target):
        pytest.skip(reason)
    check(conversions.converted(source, target))


# The table of what formats keep

#: What the columns of the table are, by group of kinds.
COLUMNS = {
    "timeline": "Slices, counters, flows",
    "sched": "Scheduling",
    "interrupts": "Interrupts",
    "calls": "System calls, functions, work, signals",
    "power": "Frequency, idle",
    "tasks": "Processes",
    "typed": "Typed tracepoints",
    "text": "Log, markers",
    "objects": "Objects, samples, modules",
    "recording": "Lost events",
}
#: What events become that a format has in another way.
BECOMES = {
    Kind.SLICE_BEGIN: "slices",
    Kind.SLICE_END: "slices",
    Kind.SLICE_COMPLETE: "slices",
    Kind.INSTANT: "instants",
    Kind.COUNTER: "counters",
    Kind.ASYNC_BEGIN: "slices",
    Kind.ASYNC_END: "slices",
    Kind.MARK: "markers",
    Kind.TYPED: "tracepoints",
    Kind.LOG: "log",
    Kind.STATE: "states",
    Kind.SCHED_WAKEUP: "wakeups",
    Kind.SAMPLE: "samples",
}


def kinds_of(trace: Trace) -> Counter[Kind]:
    counts: Counter[Kind] = Counter()
    for batch in trace.batches():
        for number, table in batch.tables.items():
            counts[trace.event_classes[number].kind] += len(table)
            for column in range(table.width):
                table.column(column)
    return counts


def cell(format: Format, group: str) -> str:
    """What a format makes of the events of a group: their kinds and all of them, their kinds, or other ones."""
    trace = synthetic_trace(group, len(script(GROUPS[group])))
    before = kinds_of(trace)
    held, report = project(trace, format.capabilities(format.default_variant), format.name)
    after = kinds_of(held)
    if not after.total():
        return "missing"
    others = sorted({BECOMES[kind] for kind in after - before})
    if others:
        kept = ["kept"] if after & before else []
        return ", ".join([*kept, *others])
    return "kept" if any(loss.first_ts is not None for loss in report) else "whole"


def matrix_text() -> str:
    """Return the text between the marks of the table in docs/what_formats_keep.md."""
    recordings = sum(map(len, RECORDED.values()))
    counts = (
        f"Each of the {len(of_all_kinds())} ordered pairs of the {len(NAMES)} formats and variants is tested"
        f" with synthetic traces, and {recordings} small recordings with every format: what is read of what"
        " was written is what the format can hold, and with `--lossless` it is the source, there and back."
        " Without it, events become in a format:"
    )
    legend = (
        "*whole*: what they were, with every field; *kept*: what they were, but not with all that was said"
        " of them; *missing*: not there; else what they become instead, with their values. Sums by call stack"
        " are samples."
    )
    rows = [f"| | {' | '.join(COLUMNS.values())} |", f"| --- |{' --- |' * len(COLUMNS)}"]
    for format in FORMATS:
        cells = ("whole" if format.holds_all else cell(format, group) for group in COLUMNS)
        rows.append(f"| `{format.name}` | {' | '.join(cells)} |")
    return "\n".join([textwrap.fill(counts, 120), "", *rows, "", textwrap.fill(legend, 120)])


def test_the_table_of_what_formats_keep_is_what_they_hold() -> None:
    found = re.search(
        r"<!-- matrix:begin -->\n(.*)\n<!-- matrix:end -->",
        (ROOT / "docs" / "what_formats_keep.md").read_text(),
        re.DOTALL,
    )
    assert found is not None
    assert found[1] == matrix_text(), matrix_text()
