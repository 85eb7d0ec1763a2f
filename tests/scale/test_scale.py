"""Traces that have much of one thing: a part of what ``python -m tests.scale`` tries."""

import os
import signal
import sys
from collections import Counter

import pytest
from scale import __main__ as command
from scale.checks import USUAL, check_law, check_program, drawn_case, programs_for
from scale.dimensions import DIMENSIONS
from scale.drawn import Dimension, Drawn, tokens_in
from scale.watched import reports
from support.samples import sampled

from converter.analysis.building.builder import TraceBuilder

#: The size at which tables of kernels are renewed first, and one after the next such.
GROWN, BEYOND = 128, 257
NAMES = list(DIMENSIONS)
#: One larger size of each dimension, in one format.
LARGE = 513


def targets_at(name, size):
    """Formats take turns: a trace is written in each at one of the sizes, a file in its own and in another."""
    number = NAMES.index(name)
    format = DIMENSIONS[name].format
    if size == LARGE:
        return [USUAL[number % len(USUAL)]]
    if not format:
        return USUAL[(size + number) % 2 :: 2]
    own = [one for one in USUAL if one.partition("+")[0] == format]
    return [*dict.fromkeys([*own, USUAL[(2 * number + (size == BEYOND)) % len(USUAL)]])]


def checked(name, size, tmp_path):
    dimension = DIMENSIONS[name]
    with drawn_case(dimension, dimension.within(size), tmp_path) as case:
        for target in targets_at(name, size):
            check_law(case, target)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *sampled([(name, (GROWN, BEYOND)[number % 2]) for number, name in enumerate(NAMES)], 8),
        ("tasks", BEYOND),
    ],
)
def test_tables_grow(name, size, tmp_path):
    checked(name, size, tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 16))
def test_much_of_one_thing(name, tmp_path):
    checked(name, LARGE, tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 16))
def test_nothing_of_it(name, tmp_path):
    with drawn_case(DIMENSIONS[name], DIMENSIONS[name].least, tmp_path) as case:
        check_law(case, USUAL[NAMES.index(name) % len(USUAL)])


def test_each_format_is_written_of_each_dimension_of_any_trace():
    for name in (name for name, one in DIMENSIONS.items() if not one.format):
        assert Counter(targets_at(name, GROWN) + targets_at(name, BEYOND)) == Counter(USUAL)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if 0 < (DIMENSIONS[name].limit or 0) < 2000]
)
def test_limits_are_where_they_are_said_to_be(name, tmp_path):
    dimension = DIMENSIONS[name]
    for size in (dimension.limit - 1, dimension.limit, dimension.limit + 1):
        folder = tmp_path / str(size)
        folder.mkdir()
        with drawn_case(dimension, size, folder):
            pass


@pytest.mark.parametrize("target", ["trace_cmd+v7", "ctf+1.8", "uftrace", "perfetto", "chrome"])
@pytest.mark.parametrize("name", ["tasks", "texts", "classes"])
def test_programs_read_as_many(name, target, tmp_path):
    programs = programs_for(target)
    if not programs:
        pytest.skip(f"no program that reads {target} is installed")
    with drawn_case(DIMENSIONS[name], GROWN, tmp_path) as case:
        path = check_law(case, target)
        for program in programs:
            check_program(case, target, path, program)


def test_sizes_are_around_powers_of_two_and_limits():
    dimension = Dimension("any", lambda _: Drawn({}), least=1, limit=300)
    assert [*dimension.sizes(9)] == [1, 2, 127, 128, 129, 255, 256, 257, 299, 300, 301]
    assert [dimension.within(size) for size in (0, 5, 300, 301, 999)] == [1, 5, 300, 301, 301]


def test_names_are_found_in_texts_and_bytes():
    form = {"events": ["zqa1_ zqb22_", {"bytes": "enFjM18="}], "threads": [[1, 2, "zqd4"]]}
    assert tokens_in(form) == {"zqa1_", "zqb22_", "zqc3_"}


def ended(_):
    os.kill(os.getpid(), signal.SIGSEGV)


def unread(_):
    return Drawn({"": b"nothing"}, frozenset(), 1)


def with_another_name(_):
    builder = TraceBuilder()
    builder.instant("name", 1, builder.thread(7))
    return Drawn(builder.trace(), frozenset({"zqa0_"}))


@pytest.mark.parametrize(
    ("draw", "format", "told"),
    [
        (ended, "", "the process ended by SIGSEGV"),
        (unread, "fxt", "UnknownFormatError"),
        (with_another_name, "", "1 names are missing"),
    ],
)
def test_findings_are_noticed(draw, format, told, capsys):
    tally = command.Tally()
    command.run_size(Dimension("made up", draw, format), 1, ["fxt"], False, tally)
    assert len(tally.findings) == 1
    assert told in tally.findings[0]
    assert tally.findings[0] in capsys.readouterr().out


def test_the_command_counts_cases(monkeypatch, capsys):
    arguments = ["tests.scale", "--dimension", "tasks", "--sizes", "3", "--format", "fxt+be"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--no-programs"])
    assert command.main() == 0
    assert "| tasks | 3 | 1 | 1 |" in capsys.readouterr().out


_STACK = "<error><kind>{}</kind><what>bad</what><stack>{}</stack></error>"
_FRAME = "<frame><obj>{}</obj><fn>f</fn></frame>"


def test_reports_of_valgrind_are_those_of_kernels():
    ours = _FRAME.format(command.ROOT / "converter/kernels/tables/tasks.so")
    theirs = _FRAME.format("/usr/lib/libpython.so")
    errors = [("InvalidRead", theirs + ours), ("InvalidRead", theirs), ("Leak_Lost", ours)]
    text = "".join(_STACK.format(kind, stack) for kind, stack in errors)
    found = [*reports(f"<valgrindoutput>{text}</valgrindoutput>".encode())]
    assert found == ["InvalidRead: bad: tasks.so f :"]
