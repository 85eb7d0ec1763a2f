"""Format texts of markers, and what the published descriptions say of blocks and markers."""

from __future__ import annotations

import pytest

from converter.formats.lttng_legacy.layout import header_layout, versions
from converter.formats.lttng_legacy.mapping import meanings
from converter.formats.lttng_legacy.marker_formats import TypeSizes, parse_format
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass, StringClass, Style
from converter.ir.kinds import REQUIRED_ROLES, Kind

SIZES_32 = TypeSizes(4, 4, 4, 4, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a %d b %u", [("a", 32, True), ("b", 32, False)]),
        ("a %ld b %lu c %lld d %Lu", [("a", 32, True), ("b", 32, False), ("c", 64, True), ("d", 64, False)]),
        ("a %hd b %hhu c %zu d %td", [("a", 16, True), ("b", 8, False), ("c", 32, False), ("d", 32, True)]),
        ("a #2d%ld b #1u%lu c #8u%llu", [("a", 16, True), ("b", 8, False), ("c", 64, False)]),
        ("irqstate #1%d", [("irqstate", 8, True)]),
        ("ip 0x%lX n %-0d", [("ip", 32, False), ("n", 32, True)]),
        ("rw(A,B) %lX", [("rw(A,B)", 32, False)]),
        ("%d two %d %d", [("field 0", 32, True), ("two", 32, True), ("field 2", 32, True)]),
        ("some words then %d", [("then", 32, True)]),
        ("100%% of ## n %u", [("n", 32, False)]),
        ("a %4d b %d", [("b", 32, True)]),
        (" ", []), ("", []), ("MARK_NOARGS", []), ("a %", []), ("a %y b %d", [("b", 32, True)]),
        ("a #p%ld b %p", [("a", 32, False), ("b", 32, False)]),
    ],
)  # fmt: skip
def test_format_texts(text, expected):
    found = parse_format(text, SIZES_32)
    assert [(one.name, 8 * one.size, one.signed) for one in found] == expected


def test_parts_of_format_texts():
    fields = parse_format("a #n2u%hu b #b4u%u s %s p %p x #1x%c c %c o %lo", SIZES_32)
    assert [one.network for one in fields] == [True, *[False] * 6]
    assert [one.inline for one in fields] == [False, True, *[False] * 5]
    assert fields[2].field_class == StringClass()
    assert [one.style for one in fields[3:]] == [
        Style.POINTER, Style.HEXADECIMAL, Style.CHARACTER, Style.OCTAL,
    ]  # fmt: skip
    sizes = TypeSizes(4, 8, 8, 8, 0)
    assert [one.size for one in parse_format("a %p b %ld c %zu d #8u%u", sizes)] == [8, 8, 8, 8]
    # Version 1.0 took no notice of #8.
    assert [one.size for one in parse_format("a #8u%u b #8u%llu", sizes, ignores_eight=True)] == [
        4,
        8,
    ]


def test_no_format_has_more_fields_than_are_sensible():
    with pytest.raises(ValueError, match="more than 1024"):
        parse_format("%d" * 1025, SIZES_32)


def test_block_headers_are_as_large_as_the_tracers():
    sizes = {"1.0": 109, "1.0-document": 101, "2.1": 60, "2.2": 68, "2.5": 68}
    assert {name: header_layout(name).size for name in sizes} == sizes
    assert header_layout("1.0").offset("magic_number") == 40
    assert header_layout("1.0").offset("start_time_sec") == 93
    assert header_layout("2.5").offset("magic_number") == 16
    assert versions() == {"1.0", *(f"2.{minor}" for minor in range(7))}


@pytest.mark.parametrize("meaning", meanings(), ids=lambda one: f"{one.channel}.{one.name}")
def test_markers_of_the_schema(meaning):
    if not meaning.written:
        assert meaning.slice
        assert meaning.kind in (Kind.SLICE_BEGIN, Kind.SLICE_END)
        return
    roles = {field.role for field in meaning.fields}
    assert REQUIRED_ROLES.get(meaning.kind, frozenset()) <= roles
    names = {field.name for field in meaning.fields}
    assert meaning.roles.keys() <= names
    assert all(isinstance(field, Field) for field in meaning.fields)
    assert all(isinstance(field.type, IntegerClass | StringClass) for field in meaning.fields)
