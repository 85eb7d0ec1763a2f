"""What metadata say that those of the other version do not: each is named, and nothing else is lost."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.ctf.ctf2_fragments import CLOCK, PREAMBLE, U8, Json, sequence
from support.ctf.files import Stream
from support.ctf.metadata_cases import ACCEPTED
from support.ctf.random_traces import random_trace

import converter
from converter.errors import StrictLossError, UnsupportedError
from converter.formats.ctf.metadata.field_classes import (
    Array,
    FieldDeclaration,
    FixedInteger,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.metadata.other_version import metadata_in
from converter.formats.ctf.metadata.trace_class import StreamClass, TraceClass
from converter.formats.ctf.writing.metadata_losses import count_encoded_otherwise, count_losses
from converter.projection.losses import Loss, LossClass, LossReport

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures"
#: Anything can be said under a name of one's own.
OWN: Json = {"attributes": {"my.org": {"colour": 3}}}
NAMES: Json = {"namespace": "my.org", "uid": "7"}


def _said(loss: Loss) -> str:
    parameters = dict(loss.parameters)
    if "attribute" in parameters:
        return f"{parameters['attribute']} of {parameters['owner']}"
    return str(parameters.get("declaration", loss.code))


def named(report: LossReport) -> dict[str, int]:
    """The losses of a report, those that are shown with a star."""
    stars = {LossClass.SHOWN: "*", LossClass.DETAIL: ""}
    return {f"{stars[loss.loss_class]}{_said(loss)}": loss.count for loss in report}


def ctf2(path: Path, element: Json, level: str = "info") -> Path:
    """A trace of CTF 2 that says all that there is to say besides its data."""
    path.mkdir()
    tracer = {"lttng.org,2009": {"log-level": level, "emf-uri": "http://m"}}
    payload = [{"name": "n", "field-class": {**element, **OWN}, **OWN}]
    fragments: list[Json] = [
        PREAMBLE,
        {"type": "trace-class", "name": "boards", **NAMES, **OWN},
        {**CLOCK, **NAMES, **OWN, "accuracy": 2, "origin": {"name": "boot", "uid": "b"}},
        {"type": "data-stream-class", "name": "cpu", **NAMES, **OWN},
        {
            "type": "event-record-class",
            "name": "e",
            **NAMES,
            "attributes": {**OWN["attributes"], **tracer},
            "payload-field-class": {"type": "structure", "member-classes": payload},
        },
    ]
    (path / "metadata").write_bytes(sequence(*fragments))
    (path / "stream").write_bytes(b"\5")
    return path


CLASSES = ("the trace", "a data stream class", "an event record class")
IN_CTF_2 = {
    **{f"{what} of {each}": 1 for what in ("namespace", "uid") for each in CLASSES},
    "name of the trace": 1,
    "name of a data stream class": 1,
    "attributes of a data stream class": 1,
    "attributes of an event record class": 1,
    "other attributes of fields and clocks": 4,
    "namespace of a clock": 1,
    "uid of a clock": 1,
    "origin of a clock": 1,
    "accuracy of a clock": 1,
}
TRACER = {
    "*log level of an event record class": 1,
    "*URI of the model of an event record class": 1,
}


def test_what_ctf_1_8_has_no_place_for(tmp_path: Path) -> None:
    source = ctf2(tmp_path / "source", {**U8, "alignment": 8})
    report = converter.convert(source, tmp_path / "out", target_format="ctf+1.8")
    assert named(report) == IN_CTF_2
    assert (tmp_path / "out/stream").read_bytes() == (source / "stream").read_bytes()
    assert not converter.convert(source, tmp_path / "copy", target_format="ctf", strict="all")
    converter.convert(source, tmp_path / "shown", target_format="ctf+1.8", strict="shown")
    with pytest.raises(StrictLossError, match="attribute"):
        converter.convert(source, tmp_path / "all", target_format="ctf+1.8", strict="all")


def test_a_log_level_that_nobody_knows_is_no_reason_to_encode_anew(tmp_path: Path) -> None:
    source = ctf2(tmp_path / "source", {**U8, "alignment": 8}, "loud")
    report = converter.convert(source, tmp_path / "out", target_format="ctf+1.8")
    assert named(report) == {**IN_CTF_2, "log level of an event record class": 1}
    assert (tmp_path / "out/stream").read_bytes() == (source / "stream").read_bytes()


@pytest.mark.parametrize("held", [5, ["a"], {"a": {}}, {"a": True}])
def test_attributes_that_are_none_of_tsdl(held: object) -> None:
    """Anybody can write under any name."""
    event = {"type": "event-record-class", "attributes": {"traceconv": held}}
    two = parse_metadata(sequence(PREAMBLE, {"type": "data-stream-class"}, event))
    one = parse_metadata(metadata_in(two, 1))
    report = LossReport()
    count_losses(two, one, report)
    assert named(report) == {"attributes of an event record class": 1}


def test_what_is_encoded_anew_keeps_no_class(tmp_path: Path) -> None:
    source = ctf2(tmp_path / "source", {"type": "variable-length-unsigned-integer"})
    report = converter.convert(source, tmp_path / "out", target_format="ctf+1.8")
    streams = {"ctf-stream-layout": 1}
    assert named(report) == {**IN_CTF_2, **TRACER, **streams}
    with pytest.raises(StrictLossError, match="URI of the model"):
        converter.convert(source, tmp_path / "all", target_format="ctf+1.8", strict="shown")


def test_a_changed_trace_keeps_no_class(tmp_path: Path) -> None:
    with converter.open_trace(FIXTURES / "ctf/ctf_small") as trace:
        changed = replace(trace, make_batches=partial(iter, list(trace.batches())))
        found = named(converter.write(changed, tmp_path / "out", "ctf"))
    assert found.pop("*log level of an event record class") > 9
    assert found == {
        "*ctf-text-length": 1,
        "UUID of the trace": 1,
        "ctf-stream-layout": 1,
        "uid of a clock": 1,
    }


def test_what_ctf_2_has_no_place_for(tmp_path: Path) -> None:
    stream = Stream(
        {
            "e": "integer { size = 64; map = clock.c.value; } at;"
            " string { encoding = ASCII; } s; integer { size = 8; encoding = UTF8; } c;"
            " enum : integer { size = 8; } { one, two } tag;"
            " variant <tag> { uint8_t one; uint8_t two; uint8_t three; } chosen;"
        }
    )
    source = stream.write(tmp_path / "source", stream.packet(stream.record(0, 1, bytes(12))))
    text = (source / "metadata").read_text()
    for block in ("clock", "trace", "stream"):
        text = text.replace(f"{block} {{", f"{block} {{ colour = 3;", 1)
    text = text.replace("event {", "event { colour = 3; loglevel = 99;")
    (source / "metadata").write_text(text)
    report = converter.convert(source, tmp_path / "out", target_format="ctf+2")
    assert named(report) == {
        "other attributes of fields and clocks": 3,
        "clock of an integer": 1,
        "encoding of an integer": 1,
        "log level of an event record class": 1,
        "unselected option of a variant": 1,
        "ctf-ascii": 1,
    }


@pytest.mark.parametrize("name", ["ctf_cyg", "ctf_lost", "ctf_small", "perf_ctf"])
def test_recordings_lose_nothing_that_is_shown(name: str, tmp_path: Path) -> None:
    report = converter.convert(FIXTURES / "ctf" / name, tmp_path / "two", target_format="ctf+2")
    assert not report.of_class(LossClass.SHOWN)
    assert not converter.convert(tmp_path / "two", tmp_path / "one", target_format="ctf+1.8")


# There and back


def _plain(declared: FieldDeclaration) -> FieldDeclaration:
    """A field class without what is only wording, or a loss that is named."""
    match declared:
        case FixedInteger():
            return replace(declared, clock="", encoding="")
        case Text(length):
            return Text(length)
        case Array(element, roles=roles):
            # The bytes of a UUID have no order.
            return replace(declared, element=FixedInteger(8) if roles else _plain(element))
        case Structure(members):
            held = tuple(one._replace(type=_plain(one.type), declared="") for one in members)
            return replace(declared, members=held)
        case Variant(selector, options):
            # What no value selects never occurs.
            return Variant(
                selector,
                tuple(
                    one._replace(type=_plain(one.type), declared="")
                    for one in options
                    if one.ranges
                ),
            )
        case _:
            return declared


def _classes(trace: TraceClass) -> TraceClass:
    """A trace without wording: how names are declared, byte orders that are each field's own, remarks."""

    def root(structure: Structure | None) -> Structure | None:
        held = None if structure is None else _plain(structure)
        assert held is None or isinstance(held, Structure)
        return held

    def stream(one: StreamClass) -> StreamClass:
        return replace(
            one,
            packet_context=root(one.packet_context),
            event_header=root(one.event_header),
            common_context=root(one.common_context),
            events={
                id: replace(
                    event,
                    specific_context=root(event.specific_context),
                    payload=root(event.payload),
                )
                for id, event in one.events.items()
            },
        )

    clocks = {
        name: replace(
            clock,
            offset_seconds=clock.offset_seconds + clock.offset_cycles // clock.frequency,
            offset_cycles=clock.offset_cycles % clock.frequency,
        )
        for name, clock in trace.clocks.items()
    }
    return replace(
        trace,
        byte_order="little",
        packet_header=root(trace.packet_header),
        clocks=clocks,
        streams={id: stream(one) for id, one in trace.streams.items()},
        remarks=[],
        other_attributes=0,
    )


def assert_comes_back(one: TraceClass) -> None:
    two = parse_metadata(metadata_in(one, 2))
    assert _classes(parse_metadata(metadata_in(two, 1))) == _classes(one)


@pytest.mark.parametrize("name", ACCEPTED)
def test_metadata_come_back_from_ctf_2(name: str) -> None:
    one = parse_metadata(ACCEPTED[name].encode())
    try:
        metadata_in(parse_metadata(metadata_in(one, 2)), 1)
    except UnsupportedError:
        pytest.skip("is encoded anew")
    assert_comes_back(one)


@pytest.mark.parametrize("seed", range(20))
def test_random_metadata_come_back_from_ctf_2(seed: int) -> None:
    assert_comes_back(random_trace(seed, 1)[0])


@pytest.mark.parametrize("name", ["ctf_cyg", "ctf_lost", "ctf_small", "perf_ctf"])
def test_metadata_of_recordings_come_back_from_ctf_2(name: str) -> None:
    for metadata in (FIXTURES / "ctf" / name).rglob("metadata"):
        assert_comes_back(parse_metadata(metadata.read_bytes()))


@pytest.mark.parametrize("fields", ["", "uint16_t bat;", "uint16_t bat; uint32_t cpu_id;"])
def test_fields_of_packets_alone_are_shown_as_before(fields: str) -> None:
    """They come first in the braces, and do so again, unless the CPU is among them."""
    stream = Stream({"e": ""}).metadata()
    lttng = re.search(r"packet\.context := struct \{.*?\};", stream, re.DOTALL)
    assert lttng is not None
    text = stream.replace(lttng[0], f"packet.context := struct {{ {fields} }};")
    report = LossReport()
    count_encoded_otherwise(parse_metadata(text.encode()), 1, report)
    counts = {loss.code: loss.count for loss in report}
    assert counts.get("ctf-packet-field", 0) == ("cpu_id" in fields)
