import ast
import pickle
import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import converter
from converter import errors
from converter.errors import (
    OutputError,
    RemarkError,
    SelectionError,
    StrictLossError,
    TraceError,
    TraceWarning,
    TruncatedError,
    UnknownFormatError,
    UnsupportedError,
    note,
)
from converter.limits import limited

FIELD = {
    "format": "trace_cmd",
    "offset": 0x1A4,
    "field": "options.BUFFER.page_size",
    "expected": "a power of two",
    "found": 3000,
}
LINE = "trace_cmd: offset 0x1a4: options.BUFFER.page_size: expected a power of two, found 3000"


@pytest.mark.parametrize("kind", [TraceError, TraceWarning])
@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (FIELD, LINE),
        (FIELD | {"path": "a.dat"}, f"a.dat: {LINE}"),
        ({"message": "no such thing", "path": "a"}, "a: no such thing"),
        ({"expected": "magic"}, "expected magic"),
        ({"found": b"\x00\x1b"}, r"found '\x00\x1b'"),
        ({"found": 0}, "found 0"),
        ({"offset": 0, "message": "bad", "found": "x"}, "offset 0x0: bad: found x"),
        ({"offset": -16}, "offset -0x10"),
        ({}, "unknown error"),
    ],
)
def test_the_line_is_built_from_what_is_present(kind, parts, line):
    assert str(kind(**parts)) == line


@pytest.mark.parametrize("kind", [TraceError, TraceWarning])
def test_the_detail_is_the_line_without_the_path(kind):
    assert kind(path="a.dat", **FIELD).detail == LINE


def test_the_message_can_be_positional():
    assert str(OutputError("disk full", path="x")) == "x: disk full"


@pytest.mark.parametrize(
    "text",
    ["two\nlines", "\x1b[31mred", "\u202eleft", "\udc80", "\0", "a\u2028b", "tab\t"],
)
def test_text_of_a_file_cannot_break_the_line_or_the_terminal(text):
    line = str(TraceError(text, path=text, field=text, expected=text, found=text))
    assert line.isprintable()
    line.encode("utf-8")


@given(st.one_of(st.text(), st.binary(), st.integers(), st.floats(), st.none()))
def test_any_value_found_gives_one_short_printable_line(found):
    line = str(TraceError("bad", found=found))
    assert line.isprintable()
    assert len(line) < 20 * errors._MAX_PART


@pytest.mark.parametrize(
    "found",
    [b"x" * 10**6, "x" * 10**6, 1 << 10**6, -(1 << 10**6)],
    ids=["bytes", "text", "positive", "negative"],
)
def test_huge_values_are_cut(found):
    assert len(str(TraceError(found=found))) < 400


@pytest.mark.parametrize(
    "kind",
    [
        OutputError,
        SelectionError,
        StrictLossError,
        TruncatedError,
        UnknownFormatError,
        UnsupportedError,
    ],
)
def test_all_are_of_one_family_and_survive_pickling(kind):
    error = kind("m", path="p", **FIELD)
    assert isinstance(error, TraceError)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert copy.offset == 0x1A4


def test_an_error_of_a_selection_points_at_the_place():
    error = SelectionError("a value is expected").pointing_at("a\x1b == && b", 6)
    assert error.pointer == "a\\x1b == && b\n" + " " * 9 + "^"
    assert SelectionError("no such time").pointer == ""


def test_outer_levels_add_what_they_know():
    inner = TraceError("bad", offset=4, field="size")
    outer = inner.within(base=0x100, field="header").within(format="fxt", path="t", field="record")
    assert outer is inner
    assert str(outer) == "t: fxt: offset 0x104: record.header.size: bad"


def test_outer_levels_do_not_overrule_inner_ones():
    error = TraceError("bad", format="ctf", path="metadata").within(format="x", path="dir", base=9)
    assert str(error) == "metadata: ctf: bad"


def test_errors_become_warnings_and_back():
    error = TruncatedError("m", path="p", **FIELD)
    warning = error.to_warning()
    assert str(warning) == str(error)
    assert warning == error.to_warning()
    assert str(warning.to_error()) == str(error)


def test_warnings_are_values():
    with pytest.raises(FrozenInstanceError):
        TraceWarning(message="a").message = "b"


def test_warnings_are_only_added_by_note():
    root = Path(converter.__file__).parent
    changed = re.compile(r"warnings(\.(append|extend|insert)\(| \+=)")
    found = [
        f"{path.relative_to(root)}: {line}"
        for path in sorted(root.rglob("*.py"))
        if path != Path(errors.__file__)
        for line in path.read_text().splitlines()
        if changed.search(line)
    ]
    assert found == []


def test_each_warning_says_whether_it_tells_of_damage():
    """What is no damage does not make an empty trace an error: each place that makes a warning decides."""
    root = Path(converter.__file__).parent
    undecided = []
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "TraceWarning":
                continue
            if not any(each.arg == "is_damage" for each in node.keywords):
                undecided.append(f"{path.relative_to(root)}:{node.lineno}")
    assert undecided == []


def test_a_remark_stays_one_as_an_error_and_as_a_warning():
    remark = RemarkError("times are rounded")
    assert not remark.to_warning().is_damage
    assert not remark.to_warning().to_error().to_warning().is_damage
    assert TraceError("cut").to_warning().to_error().to_warning().is_damage


def test_what_is_told_no_more_is_what_the_last_was():
    for is_damage in (False, True):
        warnings = []
        for offset in range(4):
            with limited({"warnings": 2}):
                note(warnings, TraceWarning(offset=offset, is_damage=is_damage))
        assert [one.is_damage for one in warnings] == [is_damage] * 3
