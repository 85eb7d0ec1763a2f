"""CPU profiles of V8: read as DevTools reads them, and written so that DevTools and speedscope open them."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.profiles.pprof_messages import Builder
from support.traces.small_traces import trace_of
from support.viewers.speedscope import imported_all, needs_speedscope

import converter
from converter.errors import TraceError, UnknownFormatError
from converter.fixtures import synthetic_trace
from converter.formats.profiles.cpuprofile import FORMAT
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.timeline_fields import FRAMES, FUNCTIONS, weight
from converter.testing import assert_what_fits_survives

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures/cpuprofile"


def frame(name: str, url: str = "", line: int = -1, column: int = -1) -> dict[str, Any]:
    return {
        "functionName": name,
        "scriptId": "7" if url else "0",
        "url": url,
        "lineNumber": line,
        "columnNumber": column,
    }


def small(**changed: Any) -> dict[str, Any]:
    """A profile as V8 writes it; None removes a member."""
    profile = {
        "nodes": [
            {"id": 1, "callFrame": frame("(root)"), "hitCount": 0, "children": [2, 3]},
            {"id": 2, "callFrame": frame("(program)"), "hitCount": 1},
            {"id": 3, "callFrame": frame("", "file:///a.js", 0, 5), "hitCount": 1, "children": [4]},
            {"id": 4, "callFrame": frame("inner", "file:///a.js", 9, 2), "hitCount": 2},
        ],
        "startTime": 1000,
        "endTime": 1100,
        "samples": [2, 3, 4, 4],
        "timeDeltas": [10, 20, 30, 5],
        **changed,
    }
    return {name: value for name, value in profile.items() if value is not None}


def opened(profile: Any) -> Any:
    data = profile if isinstance(profile, bytes) else json.dumps(profile).encode()
    return converter.open_trace(data, "cpuprofile")


def rows(profile: Any) -> list[tuple[int, list[str], int]]:
    """Time, functions and duration of each sample."""
    with opened(profile) as trace:
        found = []
        for event in trace.iter_events():
            names = [one["function"] for one in event.fields["frames"]]
            found.append((event.ts, names, event.fields["weight"]))
        return found


SMALL = [
    (1_010_000, ["(program)"], 20_000),
    (1_030_000, ["(anonymous)"], 30_000),
    (1_060_000, ["inner", "(anonymous)"], 5_000),
    (1_065_000, ["inner", "(anonymous)"], 35_000),
]


def test_samples_last_until_the_next_one() -> None:
    assert rows(small()) == SMALL
    with opened(small()) as trace:
        [*_, last] = trace.iter_events()
        assert last.fields["frames"][0] == {
            "function": "inner",
            "mapping": "",
            "rel_pc": 0,
            "source": "file:///a.js",
            "line": 10,
        }
        assert not trace.warnings


def test_nodes_may_name_their_parents() -> None:
    profile = small()
    for node, parent in zip(profile["nodes"], (None, 1, 1, 3), strict=True):
        node.pop("children", None)
        if parent:
            node["parent"] = parent
    profile["nodes"].reverse()
    assert rows(profile) == SMALL


def test_old_profiles_are_trees() -> None:
    """Of Chrome before 58: objects in each other, and times of their own."""
    inner = {**frame("inner", "file:///a.js", 10, 2), "id": 4, "hitCount": 2, "callUID": 9}
    outer = {**frame("", "file:///a.js", 1, 5), "id": 3, "hitCount": 1, "children": [inner]}
    program = {**frame("(program)"), "id": 2, "hitCount": 1, "children": []}
    head = {**frame("(root)"), "id": 1, "hitCount": 0, "children": [program, outer]}
    profile = {
        "head": head,
        "startTime": 0.001,
        "endTime": 0.0011,
        "samples": [2, 3, 4, 4],
        "timestamps": [1010, 1030, 1060, 1065],
    }
    assert rows(profile) == SMALL


def test_times_are_sorted() -> None:
    """Deltas are negative where V8 has taken samples in another order."""
    found = rows(small(timeDeltas=[10, 50, -30, 35]))
    assert [(ts, names[0], lasts) for ts, names, lasts in found] == [
        (1_010_000, "(program)", 20_000),
        (1_030_000, "inner", 30_000),
        (1_060_000, "(anonymous)", 5_000),
        (1_065_000, "inner", 35_000),
    ]


def test_fractions_of_microseconds_are_exact() -> None:
    data = json.dumps(small()).replace('"startTime": 1000', '"startTime": 1000.125')
    data = data.replace("[10, 20, 30, 5]", "[10.5, 0.25, 30, 5]")
    assert [ts for ts, *_ in rows(data.encode())] == [1_010_625, 1_010_875, 1_040_875, 1_045_875]


def test_profiles_without_samples_have_hits() -> None:
    profile = small(samples=None, timeDeltas=None)
    assert [(ts, names[:1]) for ts, names, _ in rows(profile)] == [
        (1_000_000, ["(program)"]),
        (1_025_000, ["(anonymous)"]),
        (1_050_000, ["inner"]),
        (1_075_000, ["inner"]),
    ]
    with opened(profile) as trace:
        assert "made up" in str(trace.warnings[0])


@pytest.mark.parametrize(
    ("changed", "left", "field"),
    [
        ({"samples": [2, 99, 4, None]}, [0, 2], "samples"),
        ({"samples": [2, 3, {}, 4]}, [0, 1, 3], "samples"),
        ({"timeDeltas": [10, 20]}, [0, 1], "samples"),
        ({"timeDeltas": [10, 20, 10**30, 1]}, None, "samples"),
        ({"nodes": [*small()["nodes"], 7, {"id": 2}]}, [0, 1, 2, 3], "nodes"),
    ],
)
def test_damage_costs_only_itself(
    changed: dict[str, Any], left: list[int] | None, field: str
) -> None:
    with opened(small(**changed)) as trace:
        found = [event.ts for event in trace.iter_events()]
        assert left is None or found == [SMALL[index][0] for index in left]
        assert [one.field for one in trace.warnings] == [field]


def test_samples_without_any_time_are_an_error() -> None:
    with pytest.raises(TraceError, match=r"without a node or a time: 4"):
        rows(small(timeDeltas=None))


def test_nodes_in_a_circle_are_left_out() -> None:
    profile = small()
    profile["nodes"] += [
        {"id": 5, "callFrame": frame("a"), "children": [6]},
        {"id": 6, "callFrame": frame("b"), "children": [5]},
    ]
    assert rows(profile) == SMALL
    with opened(profile) as trace:
        assert ": 2" in str(trace.warnings[0])


@pytest.mark.parametrize("name", ["startTime", "endTime"])
def test_an_end_that_is_no_time_is_said(name: str) -> None:
    for time, fields in ((None, []), (1, []), (2**63, [name]), ("x", [name])):
        with opened(small(**{name: time})) as trace:
            assert [one.field for one in trace.warnings] == fields


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"nodes": {}}', b"\xff", b"[" * 10**5])
def test_what_is_none_is_an_error(data: bytes) -> None:
    with pytest.raises(TraceError):
        opened(data).close()


@pytest.mark.parametrize(
    "name",
    ["nodes", "startTime", "endTime", "samples", "timeDeltas", "title", "$vscode"],
)
def test_profiles_are_recognised_whichever_member_is_first(name: str) -> None:
    profile = {name: small().get(name, "x"), **small(title="x")}
    for indent in (None, 2):
        with converter.open_trace(json.dumps(profile, indent=indent).encode()) as trace:
            assert trace.format == "cpuprofile"


@pytest.mark.parametrize(
    "text",
    [
        '{"traceEvents": [], "nodes": [{"callFrame": 1}]}',
        '{"samples": [{"ts": 1}], "traceEvents": []}',
        '{"nodes": [{"id": 1, "label": "a"}], "edges": []}',
        '{"head": {"callFrame": {"functionName": "a"}, "selfSize": 5}}',
        '[{"ph": "X", "callFrame": 1}]',
        '{"meta": {}, "nodes": [{"functionName": "a"}]}',
    ],
)
def test_other_files_are_none(text: str) -> None:
    assert not FORMAT.sniff(text.encode())


def test_profiles_of_memory_say_what_they_are() -> None:
    data = b'{"head":{"callFrame":{"functionName":"a"},"selfSize":5,"children":[]}}'
    with pytest.raises(UnknownFormatError, match="heap"):
        converter.open_trace(data)


# Writing


def written(trace: Any, path: Path, **options: Any) -> dict[str, Any]:
    converter.write(trace, path, **options)
    profile: dict[str, Any] = json.loads(path.read_text())
    nodes = {node["id"]: node for node in profile["nodes"]}
    # What DevTools, speedscope and editors rely on.
    assert profile["nodes"][0]["callFrame"]["functionName"] == "(root)"
    children = [child for node in nodes.values() for child in node.get("children", ())]
    assert sorted(children) == sorted(set(nodes) - {1})
    assert set(profile["samples"]) <= set(nodes)
    assert len(profile["samples"]) == len(profile["timeDeltas"])
    for id, node in nodes.items():
        assert node["hitCount"] == profile["samples"].count(id)
    return profile


def stacks(profile: dict[str, Any]) -> list[tuple[float, list[str]]]:
    """The time and the functions of each sample that was written, innermost first."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    outer = {child: id for id, node in nodes.items() for child in node.get("children", ())}
    found, now = [], profile["startTime"]
    for sample, delta in zip(profile["samples"], profile["timeDeltas"], strict=True):
        now += delta
        names = []
        node = sample
        while node != 1:
            names.append(nodes[node]["callFrame"]["functionName"])
            node = outer[node]
        found.append((now, names))
    return found


def test_a_profile_is_copied(tmp_path: Path) -> None:
    data = json.dumps(small(title="t"), indent=3).encode()
    with converter.open_trace(data) as trace:
        assert not converter.write(trace, tmp_path / "copy.cpuprofile")
    assert (tmp_path / "copy.cpuprofile").read_bytes() == data


def test_a_part_of_a_profile_has_gaps(tmp_path: Path) -> None:
    """What was sampled in between is not time of what is left."""
    with opened(small(title="t")) as trace:
        part = converter.select(trace, converter.Selection(where="weight != 30000"))
        profile = written(part, tmp_path / "part.cpuprofile")
    assert stacks(profile) == [
        (1010, ["(program)"]),
        (1030, ["(idle)"]),
        (1060, ["inner", ""]),
        (1065, ["inner", ""]),
    ]
    assert (profile["startTime"], profile["endTime"]) == (1010, 1100)
    assert profile["title"] == "t"
    frames = [node["callFrame"] for node in profile["nodes"]]
    # Scripts and columns, which the events do not have.
    assert small()["nodes"][3]["callFrame"] in frames


def test_samples_are_those_of_the_thread_with_the_most(tmp_path: Path) -> None:
    one = EventClass(Kind.SAMPLE, "cycles", fields=(FUNCTIONS,))
    trace = trace_of(
        [one],
        [
            (0, 1000, 0, 0, [[b"f", b"main"]]),
            (0, 1500, 1, 1, [[b"other"]]),
            (0, 2000, 0, 0, [[b"main"]]),
        ],
    )
    path = tmp_path / "thread.cpuprofile"
    profile = written(trace, path)
    assert stacks(profile) == [(1, ["f", "main"]), (2, ["main"])]
    report = converter.write(trace, path, force=True)
    assert {loss.code: loss.count for loss in report}["sample-of-other-thread"] == 1
    assert_what_fits_survives(trace, tmp_path / "again.cpuprofile", "cpuprofile")


def test_weights_in_nanoseconds_are_durations(tmp_path: Path) -> None:
    one = EventClass(Kind.SAMPLE, fields=(FUNCTIONS, weight("ns")))
    events = [(0, 1000, 0, 0, [[b"f"], 500]), (0, 9000, 0, 0, [[b"g"], 2000])]
    events += [(0, 9500, 0, 0, [[b"h"], 10])]
    profile = written(trace_of([one], events), tmp_path / "weights.cpuprofile")
    assert stacks(profile) == [
        (1, ["f"]),
        (1.5, ["(idle)"]),
        (9, ["g"]),
        (11, ["h"]),
        (pytest.approx(11.01), ["(idle)"]),
    ]


def test_slices_are_samples_where_they_begin_and_end(tmp_path: Path) -> None:
    begin = EventClass(Kind.SLICE_BEGIN, fields=(Field("name", StringClass(), Role.NAME),))
    end = EventClass(Kind.SLICE_END)
    trace = trace_of(
        [begin, end],
        [
            (0, 1000, -1, 0, [b"outer"]),
            (0, 2000, -1, 0, [b"inner"]),
            (0, 2000, -1, 0, [b"innermost"]),
            (1, 4000, -1, 0, []),
            (1, 4000, -1, 0, []),
            (1, 7000, -1, 0, []),
            (0, 9000, -1, 1, [b"of another thread"]),
        ],
    )
    profile = written(trace, tmp_path / "slices.cpuprofile")
    assert stacks(profile) == [
        (1, ["outer"]),
        (2, ["innermost", "inner", "outer"]),
        (4, ["outer"]),
        (7, ["(idle)"]),
        (9, ["(idle)"]),
    ]


def test_samples_without_times_are_laid_out_by_weight(tmp_path: Path) -> None:
    made = Builder().types(("samples", "count"), ("cpu", "nanoseconds"))
    for name, value in (("f", 5000), ("g", 7000)):
        made.sample([made.location(1, (made.function(name), 1))], [1, value])
    with converter.open_trace(made.bytes()) as trace:
        profile = written(trace, tmp_path / "laid.cpuprofile")
    assert stacks(profile) == [(0, ["f"]), (5, ["g"]), (12, ["(idle)"])]


@pytest.mark.parametrize("kinds", ["all", "timeline", "sched"])
def test_any_trace_becomes_a_profile(tmp_path: Path, kinds: str) -> None:
    trace = synthetic_trace(kinds, 200)
    written(trace, tmp_path / "any.cpuprofile")
    assert_what_fits_survives(trace, tmp_path / "again.cpuprofile", "cpuprofile")


def test_files_and_lines_survive(tmp_path: Path) -> None:
    names = ("function", "mapping", "rel_pc", "source", "line")
    found = [
        list(zip(names, (b"f", b"", 0, b"a.c", line), strict=True)) for line in (0, 1, 2**32 - 1)
    ]
    trace = trace_of([EventClass(Kind.SAMPLE, fields=(FRAMES,))], [(0, 1000, 0, 0, [found])])
    profile = written(trace, tmp_path / "lines.cpuprofile")
    lines = sorted(node["callFrame"]["lineNumber"] for node in profile["nodes"][1:])
    assert lines == [-1, 0, 2**32 - 2]
    assert_what_fits_survives(trace, tmp_path / "again.cpuprofile", "cpuprofile")


# Other programs


@needs_speedscope
def test_speedscope_shows_the_same_time(tmp_path: Path) -> None:
    """Of a profile, of one that was made of it by way of pprof, and of a trace of slices."""
    source = FIXTURES / "node.cpuprofile"
    paths = [source, tmp_path / "a.pprof", tmp_path / "b.cpuprofile"]
    for before, after in pairwise(paths):
        converter.convert(before, after)
    shown = list(imported_all(paths))
    assert [one.error for one in shown] == [None] * 3
    profile = json.loads(source.read_text())
    total = profile["endTime"] - profile["startTime"]
    assert shown[0].profiles[0].weight == total
    # Before the first sample, nothing is known.
    held = (total - profile["timeDeltas"][0]) * 1000
    assert shown[1].profiles[0].weight == pytest.approx(held)
    assert shown[2].profiles[0].weight == pytest.approx(held / 1000)
    assert {one.profiles[0].depth for one in shown} == {shown[0].profiles[0].depth}


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_what_node_writes_is_read(tmp_path: Path) -> None:
    script = tmp_path / "busy.js"
    script.write_text(
        "let s = 0; function busy() { for (let i = 0; i < 3e6; i++) s += i % 7 } busy()"
    )
    command = ["node", "--cpu-prof", "--cpu-prof-dir", str(tmp_path), str(script)]
    subprocess.run(command, check=True, timeout=60)
    [path] = tmp_path.glob("*.cpuprofile")
    profile = json.loads(path.read_text())
    with converter.open_trace(path) as trace:
        assert trace.format == "cpuprofile"
        assert not trace.warnings
        times = [event.ts for event in trace.iter_events()]
    assert len(times) == len(profile["samples"])
    assert times[-1] <= profile["endTime"] * 1000
