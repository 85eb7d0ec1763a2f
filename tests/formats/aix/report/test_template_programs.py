"""Reports whose templates are programs: the same as when the engine evaluates them for each event."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aix.drawn_templates import BODIES, CALLED
from support.aix.files import stream
from support.aix.trcfmt_entries import generic32, generic64, report, words32, words64
from support.aix.trcfmt_templates import EXPRESSED, KERNEL, MOVING, OTHERS
from support.command.reports import reported
from support.uftrace.files import FIXTURES

import converter
from converter.formats.aix.report import lines as report_lines
from converter.formats.aix.report.lines import print_report
from converter.formats.aix.report.template_locations import NotExpressedError
from converter.formats.aix.report.template_programs import TemplateProgram
from converter.formats.aix.report.template_state import template_text
from converter.formats.aix.trcfmt import Environment, evaluate, parse
from converter.kernels.batches.columns import HeldBuffers
from converter.kernels.tables.strings import StringTable
from converter.printing.code import Code
from converter.printing.printer import Printer

NATIVE = sorted((FIXTURES / "aix").glob("every*.aix*"))
ENTRIES = (
    words32(1, 2, 3, 4, 5),
    words64(1, 2, (1 << 64) - 1, 4, 5),
    generic64(bytes(range(60)), 1),
)


#: What a program prints that gives up.
GIVEN_UP = "given up"


def program_text(body, entry, *, more="", trace_env=64, edge=False):
    """What the program of template 500 prints of an entry."""
    code = Code(big_endian=True)
    file = parse(f"{more}\n500 1.0 {'L=0' if edge else ''} {body}\n")
    needed, add = template_text(file, file.templates[0x5000], entry, trace_env, b"")
    if len(entry.data) < needed:
        return GIVEN_UP
    code.literal(b"  ")
    code.constant(1)
    code.attempt(lambda: add(code), lambda: code.literal(GIVEN_UP.encode()))
    columns = {"pid": 7, "tid": -1, "cpu": 3}
    located = np.zeros(1, np.int64), np.array([len(entry.data)], np.uint32)
    bound = code.finish().bind(
        lambda name: np.array([columns[name]]), (HeldBuffers([entry.data]), *located)
    )
    return Printer(StringTable()).text(bound, 0, 0).decode().removeprefix("  ")


AROUND = Environment(pid=7, tid=-1, cpu=3)


@pytest.mark.parametrize("entry", ENTRIES, ids=["32", "64", "generic"])
@pytest.mark.parametrize("body", EXPRESSED + MOVING)
def test_programs_print_what_the_engine_does(body, entry):
    found = report(body, entry, AROUND)
    expected = GIVEN_UP if found.warning or found.text.endswith(" ") else found.text
    assert program_text(body, entry) == expected


@settings(max_examples=15)
@given(
    body=BODIES,
    data=st.binary(min_size=0, max_size=40),
    form=st.sampled_from([words32, words64, generic32, generic64]),
    edge=st.booleans(),
)
def test_programs_of_drawn_templates_print_what_the_engine_does(body, data, form, edge):
    if form in (words32, words64):
        entry = form(*data[:5], hookdata=int.from_bytes(data[5:7]))
    else:
        entry = form(data, int.from_bytes(data[:2]))
    try:
        found = program_text(body, entry, more=CALLED, edge=edge)
    except NotExpressedError:
        return
    file = parse(f"{CALLED}\n500 1.0 {'L=0' if edge else ''} {body}\n")
    expected = evaluate(file, 0x5000, entry, AROUND)
    if found != GIVEN_UP:
        assert expected.warning is None
        assert found == expected.text


@pytest.mark.parametrize("body", OTHERS)
def test_what_depends_on_what_came_before_is_left_to_the_engine(body):
    with pytest.raises(NotExpressedError):
        program_text(body, ENTRIES[0])


@pytest.mark.parametrize(
    "body",
    [
        "LOOP 2000 { }",
        "LOOP 40 { LOOP 40 { U1 R1 } }",
        "LOOP $D3 { }",
        "LOOP D1 { X1 } \\n W4 {{ $x = DW }}",
        "LOOP 30 { X4 }",
        "G9999 X1",
        "LOOP 9 { R8 } X1",
        "W3 A8",
        'LOOP 900 { A0.2000 "x" }',
        '"blank "',
    ],
)
def test_programs_give_up_where_the_engine_ends_or_says_more(body):
    entry = words64(1, 2, (1 << 64) - 1, 1 << 63)
    assert program_text(body, entry) == GIVEN_UP


def test_an_entry_that_ends_before_a_value_is_left_to_the_engine():
    code = Code(big_endian=True)
    file = parse("500 1.0 W2 XW\n")
    program = TemplateProgram(code, file, 8, False, 64, b"")
    program.add(file.templates[0x5000], 0x5000)
    assert program.needed == 24


def whole(path, templates, monkeypatch, *, programs):
    """The report of a trace, and how many lines the engine has made."""
    lines = []
    line = report_lines._Report.line
    with monkeypatch.context() as patch:
        patch.setattr(report_lines._Report, "line", lambda *given: lines.append(1) or line(*given))
        if not programs:

            def refuse(*_):
                raise NotExpressedError("refused")

            patch.setattr(report_lines._Report, "compiled", refuse)
        variant = "aix+32" if path.suffix == ".aix32" else None
        options = {} if templates is None else {"trcfmt": str(templates)}
        with converter.open_trace(path, variant, options) as trace:
            return reported(print_report, trace), len(lines), list(trace.warnings)


TEMPLATES = [
    None,
    *(
        "".join(f"{id} 1.0 L=INT {body}\n" for id in ("100", "101", "106", "11F", "200"))
        for body in ('"x="$D1 $EXECPATH', '"pri" $PRI', '"svc" $SVC', "$RELLINENO \\n $HD")
    ),
    '080 1.0 L=0 "default" $D1\n',
]


@pytest.mark.parametrize("path", [*NATIVE, None], ids=lambda path: path and path.name)
@pytest.mark.parametrize("templates", TEMPLATES)
def test_reports_are_the_same(path, templates, tmp_path, monkeypatch):
    kernel = path is None
    if path is None:
        path = tmp_path / "kernel.aix"
        path.write_bytes(stream("64", *KERNEL))
    if templates is not None:
        (tmp_path / "t").write_text(templates)
        templates = tmp_path / "t"
    found, by_engine, warnings = whole(path, templates, monkeypatch, programs=True)
    expected, all_of_them, others = whole(path, templates, monkeypatch, programs=False)
    assert found == expected
    assert [one.message for one in warnings] == [one.message for one in others]
    if templates is None and kernel:
        # Programs that are executed or forked, a time and a thread that are too wide, an entry that is too short.
        assert (by_engine, all_of_them) == (6, len(KERNEL))
