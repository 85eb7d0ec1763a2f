"""What is written keeps to the clauses that readers hold it to: of the specifications, and of both Babeltraces."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from support.ctf.metadata_cases import ACCEPTED
from support.ctf.random_traces import random_trace

import converter
from converter.errors import UnsupportedError
from converter.formats.ctf.metadata.consistency import broken_clauses
from converter.formats.ctf.metadata.ctf2.printer import print_sequence
from converter.formats.ctf.metadata.field_classes import (
    Blob,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedFloat,
    FixedInteger,
    Location,
    Mapping,
    Member,
    Option,
    Range,
    Scope,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.metadata.other_version import metadata_in
from converter.formats.ctf.metadata.trace_class import (
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)
from converter.formats.ctf.metadata.tsdl.printer import print_tsdl

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures"
SCHEMA = Path(__file__).parents[4] / "schemas/ctf/metadata-2.schema.json"
SEEDS = range(12)
#: Babeltrace as it is installed (2.0 reads CTF 1.8 only), and 2.1 where there is one.
READERS = [one for one in ("babeltrace2", "babeltrace2-2.1") if shutil.which(one)]

# Clauses

U8 = FixedInteger(8, alignment=8)


def _time(role: FieldRole = FieldRole.TIMESTAMP) -> FixedInteger:
    return replace(U8, roles=frozenset({role}))


def _structure(**members: FieldDeclaration) -> Structure:
    return Structure(tuple(Member(name, held, f"_{name}") for name, held in members.items()))


def _trace(
    version: int, payload: Structure | None = None, *, context: Structure | None = None
) -> TraceClass:
    stream = StreamClass(0, events={0: EventRecordClass(0, "e", payload=payload)})
    stream.events[0].specific_context = context
    return TraceClass((1, 8) if version == 1 else (2, 0), streams={0: stream})


def _choice(where: Location) -> Variant:
    options = (Option("A", U8, (Range(0, 0),), "A"), Option("B", Text(), (Range(1, 1),), "B"))
    return Variant(where, options)


LABELLED = replace(U8, mappings=(Mapping("A", (Range(0, 0),)), Mapping("B", (Range(1, 1),))))


def _with_clock(version: int, **roots: Structure) -> TraceClass:
    trace = _trace(version)
    trace.clocks["c"] = ClockClass("c", id="c")
    trace.streams[0].clock = "c"
    for name, held in roots.items():
        setattr(trace.streams[0], name, held)
    return trace


def _overlapping(version: int) -> TraceClass:
    options = (Option("A", U8, (Range(0, 3),), "A"), Option("B", U8, (Range(3, 5),), "B"))
    chosen = Variant(Location(Scope.PAYLOAD, ("t",)), options)
    return _trace(version, _structure(t=LABELLED, v=chosen))


def _broken() -> dict[str, TraceClass]:
    several = _trace(1)
    several.streams[1] = StreamClass(1)
    records = _trace(2)
    records.streams[0].events[1] = EventRecordClass(1)
    late = TraceClass(version=(2, 0), streams={3: StreamClass(3)})
    uuid = _trace(2)
    blob = Blob(16, roles=frozenset({FieldRole.METADATA_UUID}))
    uuid.packet_header = _structure(uuid=blob)
    unclocked = _trace(2)
    unclocked.streams[0].event_header = _structure(t=_time())
    offset = _with_clock(1, packet_context=_structure(t=_time()))
    offset.clocks["c"].offset_cycles = -1
    inner = Location(Scope.PAYLOAD, ("v", "n"))
    ended = Variant(
        Location(Scope.PAYLOAD, ("t",)),
        (
            Option("A", _structure(n=U8), (Range(0, 0),), "A"),
            Option("B", _structure(n=U8), (Range(1, 1),), "B"),
        ),
    )
    own = Location(Scope.SPECIFIC_CONTEXT, ("t",))
    twice = Structure((Member("_a", U8, "_a"), Member("a", U8, "a")))
    return {
        "there is a data stream class": TraceClass((2, 0)),
        "of which of several stream classes": several,
        "of packets that say none has the id 0": late,
        "packets have the UUID": uuid,
        "less cycles than a second": offset,
        "a stream class with times": unclocked,
        "packets say the time of their beginning": _with_clock(
            1, event_header=_structure(t=_time())
        ),
        "a stream class with a default clock class": _with_clock(2),
        "records say of which of several": records,
        "integers have at most 64 bits": _trace(2, _structure(a=FixedBits(65))),
        "32 or 64 bits": _trace(1, _structure(a=FixedFloat(16))),
        "one option of a variant": _overlapping(1),
        "every option of a variant": _trace(
            1, _structure(v=Variant(Location(Scope.PAYLOAD, ("t",)), (Option("A", U8, ()),)))
        ),
        "bytes of a fixed length": _trace(2, _structure(a=Blob(0))),
        "by more than an underscore": _trace(1, twice),
        "in a structure around its variant": _trace(
            1, _structure(v=_choice(own)), context=_structure(t=LABELLED)
        ),
        "a record's own context": _trace(1, context=_structure(t=LABELLED, v=_choice(own))),
        "in a variant that ended": _trace(
            1, _structure(t=LABELLED, v=ended, a=Text(inner, element=U8))
        ),
    }


@pytest.mark.parametrize("clause", _broken())
def test_what_breaks_a_clause(clause: str) -> None:
    found = broken_clauses(_broken()[clause])
    assert any(clause in each for each in found), found


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_whole_traces_break_none(version: int, seed: int) -> None:
    trace, _ = random_trace(seed, version)
    assert broken_clauses(trace) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_traces_follow_the_schema(seed: int) -> None:
    """What the parser takes, the published schema takes."""
    trace, _ = random_trace(seed, 2)
    data = print_sequence(trace)
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_bytes()))
    for fragment in data.decode().split("\x1e")[1:]:
        validator.validate(json.loads(fragment))
    parse_metadata(data)


# What is written


def write_random(path: Path, seed: int, version: int) -> Path:
    """A trace drawn at random as a directory."""
    trace, files = random_trace(seed, version)
    path.mkdir()
    metadata = print_tsdl(trace).encode() if version == 1 else print_sequence(trace)
    (path / "metadata").write_bytes(metadata)
    for name, data in files.items():
        (path / name).write_bytes(data)
    return path


def printed(path: Path, reader: str) -> str:
    """What a Babeltrace prints of a trace."""
    command = [reader, "--clock-cycles", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{reader}: {result.stderr[-500:]}"
    return result.stdout


def _reads(reader: str, version: int) -> bool:
    return version == 1 or reader.endswith("2.1")


def clauses_of(path: Path) -> list[str]:
    """The clauses that the traces of a directory break."""
    return [
        clause
        for metadata in path.rglob("metadata")
        for clause in broken_clauses(parse_metadata(metadata.read_bytes()))
    ]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_both_versions_of_random_traces_are_opened(version: int, seed: int, tmp_path: Path) -> None:
    source = write_random(tmp_path / "source", seed, version)
    other = 3 - version
    names = {1: "ctf+1.8", 2: "ctf+2"}
    converter.convert(source, tmp_path / "there", target_format=names[other])
    converter.convert(tmp_path / "there", tmp_path / "back", target_format=names[version])
    counts = {
        sum(len(batch) for batch in converter.read(path).batches())
        for path in (source, tmp_path / "there", tmp_path / "back")
    }
    assert len(counts) == 1
    assert clauses_of(tmp_path / "there") == clauses_of(tmp_path / "back") == []
    for reader in READERS:
        if _reads(reader, other):
            assert len(printed(tmp_path / "there", reader).splitlines()) in counts
        if version == 1:
            # All that TSDL says is said in CTF 2, too.
            assert printed(tmp_path / "back", reader) == printed(source, reader)


@pytest.mark.parametrize("variant", ["1.8", "2"])
@pytest.mark.parametrize(
    "name", ["chrome/features.json", "ctf/ctf_small", "ctf/ctf2_small", "ctf/perf_ctf"]
)
def test_what_other_formats_become_breaks_no_clause(
    name: str, variant: str, tmp_path: Path
) -> None:
    converter.convert(FIXTURES / name, tmp_path / "out", target_format=f"ctf+{variant}")
    assert clauses_of(tmp_path / "out") == []


@pytest.mark.parametrize("name", ACCEPTED)
def test_metadata_of_the_other_version_break_none(name: str) -> None:
    try:
        again = parse_metadata(metadata_in(parse_metadata(ACCEPTED[name].encode()), 2))
    except UnsupportedError:
        return
    assert broken_clauses(again) == []


def test_times_without_a_clock_get_one_in_ctf_2(tmp_path: Path) -> None:
    """CTF 1.8 has times without a clock, CTF 2 does not."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "metadata").write_text(
        "/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8;"
        "trace { major = 1; minor = 8; byte_order = le; };"
        "stream { packet.context := struct { u8 timestamp_begin; };"
        " event.header := struct { u8 timestamp; }; };"
        "event { name = e; fields := struct { u8 x; }; };"
    )
    (source / "stream").write_bytes(b"\1\2\7\3\x08")
    converter.convert(source, tmp_path / "two", target_format="ctf+2")
    (clock,) = parse_metadata((tmp_path / "two" / "metadata").read_bytes()).clocks.values()
    assert (clock.id, clock.frequency, clock.unix_epoch) == ("default", 1_000_000_000, False)
    assert (tmp_path / "two" / "stream").read_bytes() == (source / "stream").read_bytes()


def test_of_labels_that_overlap_the_first_selects() -> None:
    two = parse_metadata(metadata_in(_overlapping(1), 2))
    payload = two.streams[0].events[0].payload
    assert payload is not None and isinstance(payload.members[1].type, Variant)
    spans = [option.ranges for option in payload.members[1].type.options]
    assert spans == [(Range(0, 3),), (Range(4, 5),)]
