"""What uftrace shows of directories that are written from traces of other formats."""

from __future__ import annotations

import re
import shutil
from collections import Counter

import pytest
from support.traces.losses import line_of
from support.traces.strategies import batch_of, with_batches
from support.uftrace.files import FIXTURES, names
from support.uftrace.oracle import VERSIONS, check_commands, convert, needs_uftrace, uftrace

import converter
from converter.formats.uftrace.capabilities import capabilities
from converter.formats.uftrace.mapping import EXECUTING, FORKING, JUMPING, SETTING_JUMP
from converter.formats.uftrace.writing.writer import write
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BooleanClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.projection.project import project
from converter.storage.outputs import open_sink

pytestmark = needs_uftrace

NAME = Field("name", StringClass(), Role.NAME)
CATEGORY = Field("category", StringClass(), Role.CATEGORY)


@pytest.mark.parametrize(
    "name",
    [
        "trace_cmd",
        "fxt",
        "chrome",
        "perfetto",
    ],
)
def test_fixtures_of_other_formats_are_taken_by_all_commands(tmp_path, name):
    files = [path for path in sorted((FIXTURES / name).iterdir()) if path.is_file()]
    done = 0
    for number, file in enumerate(files):
        try:
            convert(file, tmp_path / str(number))
        except converter.TraceError:
            continue
        trace = converter.read(tmp_path / str(number))
        lost = any(one.kind is Kind.DISCARDED for one in trace.event_classes)
        check_commands(tmp_path / str(number), lost=lost)
        done += 1
        if done == 3:
            break
    assert done


def written(path, events, threads=None, **more):
    """A directory of events: (class, ts, thread, values)."""
    trace = Trace(
        "none",
        processes=[Process(7, "process"), Process(8, "child", 7), Process(9, "grandchild", 8)],
        threads=threads
        or [Thread(7, 0, "main"), Thread(70, 0, ""), Thread(8, 1, ""), Thread(9, 2, "")],
        **more,
    )
    rows = []
    for event_class, ts, thread, values in events:
        if event_class not in trace.event_classes:
            trace.event_classes.append(event_class)
        rows.append((trace.event_classes.index(event_class), ts, -1, thread, -1, values))
    trace = with_batches(trace, [batch_of(trace, rows)])
    projected, losses = project(trace, capabilities(""), "uftrace")
    with open_sink(path, directory=True) as sink:
        write(projected, sink, "")
    return list(losses)


def begin(*fields):
    return EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, *fields))


END = EventClass(Kind.SLICE_END)


def test_values_of_every_type_are_shown(tmp_path):
    fields = (
        Field("i8", IntegerClass(8, True)),
        Field("u16", IntegerClass(16)),
        Field("i32", IntegerClass(32, True)),
        Field("u64", IntegerClass(64)),
        Field("hex", IntegerClass(32, style=Style.HEXADECIMAL)),
        Field("pointer", IntegerClass(64, style=Style.POINTER)),
        Field("character", IntegerClass(8, True, Style.CHARACTER)),
        Field("f32", FloatClass(32)),
        Field("flag", BooleanClass()),
        Field("text", StringClass()),
        Field("f64", FloatClass(64)),
        Field("enum", IntegerClass(16, True, labels=(Label(1, 1, "one"),))),
    )
    values = (
        -5,
        65535,
        -(2**31),
        77,
        0xABC,
        0xDEADBEEF,
        ord("x"),
        1.5,
        True,
        b"a text",
        -0.25,
        1,
    )
    returned = EventClass(Kind.SLICE_END, fields=(Field("result", IntegerClass(32, True)),))
    losses = written(
        tmp_path / "data",
        [(begin(*fields), 10, 0, (b"f", b"", *values)), (returned, 20, 0, (-3,))],
    )
    assert losses == []
    (line,) = [line for line in uftrace(tmp_path / "data", "replay", "-f", "none") if " = " in line]
    assert line.split() == [
        "f(-5,",
        "65535,",
        "-2147483648,",
        "77,",
        "0xabc,",
        "0xdeadbeef,",
        "'x',",
        "1.500000,",
        "1,",
        '"a',
        'text",',
        "-0.250000,",
        "1)",
        "=",
        "-3;",
    ]
    check_commands(tmp_path / "data")


def test_functions_of_one_name_may_differ_in_their_values(tmp_path):
    number, text = Field("a", IntegerClass(32, True)), Field("a", StringClass())
    one = EventClass(Kind.SLICE_END, fields=(number,))
    other = EventClass(Kind.SLICE_END, fields=(text,))
    events = [
        (begin(number), 1, 0, (b"f", b"x", 1)),
        (begin(text), 2, 0, (b"f", b"x", b"inner")),
        (begin(), 3, 0, (b"f", b"x")),
        (one, 4, 0, (5,)),
        (other, 5, 0, (b"back",)),
        (END, 6, 0, ()),
        (begin(number), 7, 0, (b"f", b"x", 2)),
        (one, 8, 0, (6,)),
        (begin(number), 9, 0, (b"f", b"x", 3)),
        (other, 10, 0, (b"text",)),
    ]
    assert written(tmp_path / "data", events) == []
    shown = [
        line.strip()
        for line in uftrace(tmp_path / "data", "replay", "-f", "none")
        if "f(" in line or "}" in line
    ]
    assert shown == [
        "f(1) {",
        'f("inner") {',
        "f() = 5;",
        '} = "back"; /* f */',
        "} /* f */",
        "f(2) = 6;",
        'f(3) = "text";',
    ]
    (line,) = [line for line in uftrace(tmp_path / "data", "report") if line.endswith(" f")]
    assert line.split()[4] == "5"


def test_unbalanced_slices_stay_as_they_are(tmp_path):
    named = EventClass(Kind.SLICE_END, fields=(NAME, CATEGORY))
    events = [
        (END, 1, 0, ()),
        (named, 2, 0, (b"before", b"")),
        (begin(), 3, 0, (b"open", b"")),
        (begin(), 4, 0, (b"inner", b"")),
        (named, 5, 0, (b"", b"")),
        (named, 6, 0, (b"other", b"")),
        (begin(), 7, 0, (b"left", b"")),
    ]
    assert written(tmp_path / "data", events) == []
    shown = [
        re.sub(r".*\[(entry|exit ?)\] (.*)\([0-9a-f]+\) depth", r"\1 \2", line)
        for line in uftrace(tmp_path / "data", "dump")
        if "[entry]" in line or "[exit" in line
    ]
    assert shown == [
        "exit  (no function): 0",
        "exit  before: 0",
        "entry open: 0",
        "entry inner: 1",
        "exit  inner: 1",
        "exit  other: 0",
        "entry left: 0",
    ]
    check_commands(tmp_path / "data")


def test_stacks_deeper_than_the_bits_for_them(tmp_path):
    count = 2100
    events = [(begin(), i, 0, (b"f", b"")) for i in range(count)]
    events += [(END, count + i, 0, ()) for i in range(count)]
    assert written(tmp_path / "data", events) == []
    (line,) = [line for line in uftrace(tmp_path / "data", "report") if line.endswith(" f")]
    assert line.split()[-2] == str(count)
    addresses = Counter(
        re.findall(
            r"f\((4[0-9a-f]+)\)", "\n".join(uftrace(tmp_path / "data", "dump", "-D", "5000"))
        )
    )
    assert addresses == {"401000": 2 * count}


def test_names_of_tasks_and_their_tree(tmp_path):
    threads = [
        Thread(7, 0, "main"),
        Thread(70, 0, "worker"),
        Thread(8, 1, ""),
        Thread(9, 2, "last"),
        Thread(1 << 40, 2, "far"),
    ]
    events = [(begin(), 10 + i, i, (b"f", b"")) for i in range(len(threads))]
    events += [(END, 20 + i, i, ()) for i in range(len(threads))]
    assert written(tmp_path / "data", events, threads) == []
    tree = [line.split() for line in uftrace(tmp_path / "data", "info", "--task")[1:-1]]
    assert [(words[-4].strip("[]"), words[-3]) for words in tree] == [
        ("7", "main"),
        ("8", "child"),
        ("9", "last"),
        ("70", "worker"),
        ("10000000", "far"),
    ]


def test_events_that_are_no_functions(tmp_path):
    events = [
        (EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)), 11, 0, (b"ready: now", b"a:b")),
        (EventClass(Kind.INSTANT, fields=(NAME, Field("x", IntegerClass(32)))), 12, 0, (b"one", 5)),
        (EventClass(Kind.INSTANT, fields=(NAME, Field("x", StringClass()))), 13, 0, (b"two", b"v")),
        (
            EventClass(Kind.COUNTER, fields=(NAME, Field("v", IntegerClass(32), Role.VALUE))),
            14,
            -1,
            (b"load", 9),
        ),
        (
            EventClass(Kind.DISCARDED, fields=(Field("count", IntegerClass(48), Role.COUNT),)),
            15,
            1,
            (3,),
        ),
    ]
    written(tmp_path / "data", events)
    lines = uftrace(tmp_path / "data", "replay", "-f", "tid")
    shown = [re.sub(r".*\| +", "", line) for line in lines if "/*" in line]
    assert "/* a_b:ready:_now */" in shown
    assert "/* traceconv:instant (name=one x=5) */" in shown
    assert "/* traceconv:instant__2 (name=two x=v) */" in shown
    assert "/* traceconv:counter (name=load v=9) */" in shown
    assert any("LOST 3 records" in line for line in lines)
    check_commands(tmp_path / "data", lost=True)
    back = converter.read(tmp_path / "data")
    assert {(one.category, one.name) for one in back.event_classes if one.kind is Kind.TYPED} == {
        ("traceconv", "instant"),
        ("traceconv", "counter"),
    }


def test_texts_that_uftrace_cannot_print_are_cut(tmp_path):
    text = Field("t", StringClass())
    losses = written(
        tmp_path / "data",
        [(begin(text, text), 10, 0, (b"f", b"", b"\n" * 3000, b"x" * 600)), (END, 20, 0, ())],
    )
    assert [line_of(loss) for loss in losses] == [
        "text-cut-for-viewer event=slice begin field=t (2)"
    ]
    check_commands(tmp_path / "data")


def test_a_trace_without_events_is_a_directory_that_uftrace_takes(tmp_path):
    assert written(tmp_path / "data", []) == []
    check_commands(tmp_path / "data")
    assert not any(len(batch) for batch in converter.read(tmp_path / "data").batches())


MEANINGS = (*EXECUTING, *SETTING_JUMP, *JUMPING, *FORKING)


@pytest.mark.parametrize("values", [False, True])
def test_names_that_mean_something_to_uftrace_are_those_of_slices(tmp_path, values):
    number = Field("a", IntegerClass(32, True))
    inner = begin(number, Field("t", StringClass())) if values else begin()
    end = EventClass(Kind.SLICE_END, fields=(number,)) if values else END
    events = [(begin(), 10, 0, (b"main", b"")), (begin(), 11, 0, (b"outer", b""))]
    expected = ["main() {", "outer() {"]
    for at, name in enumerate(MEANINGS):
        ts = 20 + 10 * at
        given = (5, b"text") if values else ()
        events += [
            (inner, ts, 0, (name.encode(), b"", *given)),
            (end, ts + 1, 0, (7,) if values else ()),
            (begin(), ts + 2, 2, (b"child", b"")),
            (END, ts + 3, 2, ()),
            (begin(), ts + 4, 0, (b"after", b"")),
            (END, ts + 5, 0, ()),
        ]
        expected += [f'{name}(5, "text") = 7;' if values else f"{name}();", "child();", "after();"]
    events += [(END, 900, 0, ()), (END, 901, 0, ())]
    expected += ["} /* outer */", "} /* main */"]
    assert written(tmp_path / "data", events) == []
    for program in filter(shutil.which, VERSIONS):
        lines = uftrace(tmp_path / "data", "replay", "-f", "tid", program=program)
        shown = [
            line.partition("|")[2] for line in lines if "|" in line and "/* linux:" not in line
        ]
        assert [line.strip() for line in shown] == expected
        # A child process is in none of its parent's functions.
        assert {line for line in shown if "child" in line} == {" child();"}
        assert {len(line) - len(line.lstrip()) for line in shown if "after" in line} == {5}
    check_commands(tmp_path / "data")
    again = converter.read(tmp_path / "data")
    assert [name for name in names(again) if name != b"child"] == [
        b"main", b"outer", *(one for name in MEANINGS for one in (name.encode(), b"after"))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (" longjmp ", "longjmp ();"),
        ("longjmp\n", "longjmp ();"),
        ("longjmp\tx", "longjmp x();"),
        ("_Z7longjmpv", "_Z7longjmpv ();"),
        ("longjmps", "longjmps();"),
        ("_longjmp", "_longjmp();"),
        ("posix_spawn", "posix_spawn();"),
    ],
)
def test_names_that_are_like_those_that_mean_something(tmp_path, name, shown):
    events = [
        (begin(), 10, 0, (b"main", b"")),
        (begin(), 11, 0, (name.encode(), b"")),
        (END, 12, 0, ()),
    ]
    written(
        tmp_path / "data",
        [*events, (begin(), 13, 0, (b"f", b"")), (END, 14, 0, ()), (END, 15, 0, ())],
    )
    for program in filter(shutil.which, VERSIONS):
        lines = uftrace(tmp_path / "data", "replay", "-f", "none", program=program)
        assert [line.strip() for line in lines if "(" in line] == ["main() {", shown, "f();"]


def test_a_task_that_leaves_its_parents_functions_is_inside_of_them(tmp_path):
    named = EventClass(Kind.SLICE_END, fields=(NAME, CATEGORY))
    events = [
        (begin(), 10, 0, (b"main", b"")), (begin(), 11, 0, (b"fork", b"")), (END, 13, 0, ()),
        (named, 14, 2, (b"fork", b"")), (begin(), 15, 2, (b"child", b"")), (END, 16, 2, ()),
        (named, 17, 2, (b"main", b"")), (END, 19, 0, ()),
    ]  # fmt: skip
    assert written(tmp_path / "data", events) == []
    for program in filter(shutil.which, VERSIONS):
        lines = uftrace(tmp_path / "data", "replay", "-f", "none", program=program)
        assert [line for line in lines if "(" in line or "} /*" in line] == [
            "main() {", "  fork();", "  } /* fork */", "  child();", "} /* main */", "} /* main */",
        ]  # fmt: skip
    check_commands(tmp_path / "data")
