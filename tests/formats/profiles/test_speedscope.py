"""Files of speedscope are read and written, and speedscope shows what they say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from support.viewers.speedscope import RELEASE, imported_all, needs_speedscope

import converter
from converter.errors import TraceError
from converter.formats.profiles.folded.capabilities import line_name
from converter.formats.profiles.merging import merged_by_time
from converter.formats.profiles.speedscope import SCHEMA, sniff
from converter.formats.profiles.speedscope.scan import Document, MalformedError
from converter.ir.kinds import Kind
from converter.testing import FormatConformance, read

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
FRAMES = [
    {"name": "main", "file": "a.c", "line": 3, "col": 7},
    {"name": "work"},
    {"name": "main", "file": "b.c"},
    {"name": "work"},
]
EVENTED = {
    "type": "evented",
    "name": "thread 1",
    "unit": "microseconds",
    "startValue": 0.5,
    "endValue": 20,
    "events": [
        {"type": "O", "frame": 0, "at": 0.5},
        {"type": "O", "frame": 1, "at": 1.234},
        {"type": "C", "frame": 1, "at": 3},
        {"type": "C", "frame": 0, "at": 20},
    ],
}
SAMPLED = {
    "type": "sampled",
    "name": "thread 2",
    "unit": "milliseconds",
    "startValue": 1,
    "endValue": 4.5,
    "samples": [[0, 1], [2], [], [0, 1]],
    "weights": [1, 0.5, 1, 1],
}


class TestSpeedscope(FormatConformance):
    format = "speedscope"


def document(*profiles, **members):
    return {
        "$schema": SCHEMA,
        "exporter": "speedscope@1.25.0",
        "name": "an example",
        "activeProfileIndex": 0,
        "profiles": list(profiles),
        "shared": {"frames": FRAMES},
        **members,
    }


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_document_survives(tmp_path):
    """With its frames in their order, columns, members of others, and the texts of times."""
    content = document(EVENTED, SAMPLED, activeProfileIndex=1, mine={"a": [1]})
    source = written(tmp_path / "a.json", content)
    assert len(converter.convert(source, tmp_path / "b.json", target_format="speedscope")) == 0
    found = json.loads((tmp_path / "b.json").read_text())
    # Of equal frames, the first is used.
    assert found == content


def test_profiles_of_events_are_slices(tmp_path):
    trace = read(written(tmp_path / "a", document(EVENTED)), "speedscope")
    (batch,) = trace.batches()
    assert batch.ts.tolist() == [500, 1234, 3000, 20_000]
    kinds = [trace.event_classes[one].kind for one in batch.class_id.tolist()]
    assert kinds == [Kind.SLICE_BEGIN, Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.SLICE_END]
    # The functions that are in a file say so.
    placed = batch.tables[int(batch.class_id[0])]
    texts = [trace.strings[int(placed.column(i)[0])] for i in (0, 1)]
    assert (texts, int(placed.column(2)[0])) == ([b"main", b"a.c"], 3)
    assert [thread.name for thread in trace.threads] == ["thread 1"]


def test_profiles_of_samples_are_samples_at_the_sum_of_their_weights(tmp_path):
    trace = read(written(tmp_path / "a", document(SAMPLED)), "speedscope")
    (batch,) = trace.batches()
    assert batch.ts.tolist() == [1_000_000, 2_000_000, 2_500_000, 3_500_000]
    (table,) = [table for table in batch.tables.values() if len(table)]
    frames, weights = table.column(0), table.column(1)
    assert weights.tolist() == [1_000_000, 500_000, 1_000_000, 1_000_000]
    assert frames.offsets.tolist() == [0, 2, 3, 3, 5]
    names = [trace.strings[one] for one in frames.values.members[0].tolist()]
    assert names == [b"work", b"main", b"main", b"work", b"main"]
    assert frames.values.members[4].tolist() == [0, 3, 0, 0, 3]


@pytest.mark.parametrize(
    ("text", "power", "value"),
    [
        ("0", 9, 0),
        ("1.5", 9, 1_500_000_000),
        ("-0.25", 3, -250),
        ("12345678.123456789", 9, 12345678123456789),
        ("1234567890123456789", 0, 1234567890123456789),
        ("9223372036854775807", 0, (1 << 63) - 1),
        ("1e3", 0, 1000),
        ("1.5E+2", 0, 150),
        ("25e-1", 0, 3),
        ("24e-1", 0, 2),
        ("1e-400", 9, 0),
        ("0e99999", 9, 0),
        ("0.30000000000000004", 6, 300_000),
        ("1" + "0" * 17 + ".0000", 0, 10**17),
    ],
)
def test_numbers_are_exact(text, power, value):
    at, _, found = Document(f"[{text}]".encode()).numbers(1, 2, power)
    assert (at, found.tolist()) == (-1, [value])


@pytest.mark.parametrize("text", ["9223372036854775808", "1e19", "x", "1.5.2", "", "-", "1e"])
def test_what_is_no_number_of_63_bits(text):
    with pytest.raises(MalformedError):
        Document(f"[{text},3]".encode()).numbers(1, 3, 0)


def test_numbers_before_something_else_come_first():
    numbers = Document(b"[1, 2 3]")
    at, _, found = numbers.numbers(1, 3, 0)
    assert (at, found.tolist()) == (5, [1, 2])
    with pytest.raises(MalformedError):
        numbers.numbers(at, 3, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"$schema": "x", ', "cut off or damaged here"),
        ('{"a": 1}', "profiles"),
        ('{"a": 1', "comma or brace"),
        ('{"profiles": [1]}', "object"),
        ('{"shared": {"frames": 5}}', "frames"),
        ('{"$schema": "x", "profiles": [{"events": [}]}', "damaged here"),
        (document({**EVENTED, "events": [{"type": "O", "frame": 4, "at": 1}]}), "event"),
        (document({**EVENTED, "events": [{"type": "X", "frame": 0, "at": 1}]}), "event"),
        (document({**EVENTED, "events": [{"type": "O", "frame": 0}]}), "event"),
        (document({**SAMPLED, "samples": [[4]]}), "frames"),
        (document({**SAMPLED, "samples": 5}), "damaged here"),
        (document(traceconv={"version": 1}), "tables"),
    ],
)
def test_damage_says_where(content, message, tmp_path):
    path = written(tmp_path / "a", content)
    with pytest.raises(TraceError, match=message) as found:
        for _ in read(path, "speedscope").batches():
            pass
    assert found.value.format == "speedscope"


def test_samples_without_a_weight_are_left_out_with_a_warning(tmp_path):
    path = written(tmp_path / "a", document({**SAMPLED, "weights": [1, 2]}))
    with converter.open_trace(path) as trace:
        assert sum(map(len, trace.batches())) == 2
        (warning,) = trace.warnings
        assert "weights" in str(warning)


def test_files_are_recognised(tmp_path):
    assert sniff(json.dumps(document()).encode())
    assert not sniff(b'{"traceEvents": []}')
    last = {**document(EVENTED), "$schema": None}
    del last["$schema"]
    long = {"pad": "x" * 5000, **last, "$schema": SCHEMA}
    with converter.open_trace(written(tmp_path / "a", long)) as trace:
        assert trace.format == "speedscope"


def test_a_file_without_the_schema_has_a_hint(tmp_path):
    content = {"shared": {"frames": FRAMES}, "profiles": [EVENTED]}
    path = written(tmp_path / "a", content)
    with pytest.raises(TraceError, match="-f speedscope"):
        converter.detect(path)
    assert sum(map(len, read(path, "speedscope").batches())) == 4


def test_a_part_has_slices_that_end(tmp_path):
    """speedscope refuses files in which they do not."""
    source = written(tmp_path / "a.json", document(EVENTED, SAMPLED))
    until = converter.Selection(since="+0.000001s", until="+0.000002s")
    converter.convert(source, tmp_path / "b.json", target_format="speedscope", selection=until)
    profile = json.loads((tmp_path / "b.json").read_text())["profiles"][0]
    assert Counter(one["type"] for one in profile["events"]) == {"O": 2, "C": 2}


def test_streams_are_merged_by_time():
    def stream(*parts):
        return iter([(np.array(ts), np.array(values)) for ts, values in parts])

    streams = [
        stream(([1, 2], [10, 11]), ([2, 2], [12, 13]), ([], []), ([2, 9], [14, 15])),
        stream(([], []), ([2, 3], [20, 21])),
        stream(),
    ]
    found = list(merged_by_time(streams))
    assert np.concatenate([ts for ts, _ in found]).tolist() == [1, 2, 2, 2, 2, 2, 3, 9]
    assert np.concatenate([one for _, one in found]).tolist() == [10, 11, 12, 13, 14, 20, 21, 15]


SHOWN = [
    "uftrace/rich",
    "chrome/nesting.json",
]


@needs_speedscope
def test_speedscope_opens_what_is_written(tmp_path):
    """All that is folded from it takes the time that speedscope shows of each function."""
    schema = json.loads((RELEASE / "file-format-schema.json").read_text())
    paths = []
    for number, source in enumerate(SHOWN):
        path = tmp_path / f"{number}.json"
        converter.convert(FIXTURES / source, path, target_format="speedscope")
        paths.append(path)
    for source, path, found in zip(SHOWN, paths, imported_all(paths), strict=True):
        assert found.error is None, source
        assert found.warnings == {}, source
        converter.convert(path, tmp_path / "sums", target_format="folded", force=True)
        shown: Counter[str] = Counter()
        for profile in found.profiles:
            for name, itself, _ in profile.frames:
                shown[line_name(str(name).encode(), innermost=True).decode()] += itself
        expected: Counter[str] = Counter()
        for line in (tmp_path / "sums").read_text().splitlines():
            stack, _, count = line.rpartition(" ")
            expected[stack.rpartition(";")[2]] += int(count)
        assert +shown == +expected, source
        jsonschema.validate(json.loads(path.read_text()), schema)


@needs_speedscope
def test_speedscope_shows_a_copy_as_its_original(tmp_path):
    source = written(tmp_path / "a.json", document(EVENTED, SAMPLED))
    converter.convert(source, tmp_path / "b.json", target_format="speedscope")
    before, after = imported_all([source, tmp_path / "b.json"])
    assert after == before
    assert [one.frames for one in after.profiles] == [one.frames for one in before.profiles]
    assert before.error is None
