"""Texts become the records that they were printed from."""

import json

import numpy as np
import pytest
from support.trace_cmd.unpacked_fixtures import unpacked

from converter.formats.ftrace.event_format.syntax import (
    Location,
    event_format_text,
    parse_event_format,
)
from converter.formats.ftrace.lines.event_texts import inferred_program
from converter.formats.ftrace.lines.inverse import SYMBOL_BASE, SYMBOL_STEP, Inverses
from converter.formats.ftrace.lines.programs import (
    NotInvertibleError,
    ProgramMaker,
    Tables,
    tables,
)
from converter.formats.ftrace.lines.scan.line_scan import Lines
from converter.kernels.tables.strings import StringTable

FORMATS = "linux618_all_formats.txt.zst"
PRINTED = "linux618_printed_events.jsonl.zst"
#: One of this number of events is tried.
SAMPLED = 12


class Inverted:
    def __init__(self):
        self.symbols = StringTable()

    def record(self, program, text):
        """The record of a text, None where the program does not fit."""
        line = b"a-1 [000] d..2. 1.000000: e: " + text
        lines = Lines(line.count(b"\n") + 1, StringTable(), b"", ticks=False, of_report=False)
        lines.scan(line, 0)
        inverses = Inverses(self.symbols)
        first = np.array([0, 0, 0, 1], np.int32)
        inverses.load(tables([program]), first, np.zeros(1, np.int32))
        which = np.full(lines.count, -1, np.int32)
        start, size = np.zeros(lines.count, np.int64), np.zeros(lines.count, np.int64)
        rows = np.zeros(1, np.int64)
        records = bytes(inverses.run(line, lines, rows, (which, start, size)))
        return records[: size[0]] if which[0] == 0 else None


def formats():
    texts = unpacked(FORMATS).split(b"\nname: ")
    for number, text in enumerate(texts):
        yield parse_event_format(b"name: " + text if number else text, "any")


def value_of(record, field):
    data = record[field.offset : field.offset + field.size]
    if field.location is not Location.INLINE:
        word = int.from_bytes(data, "little")
        start = (word & 0xFFFF) + (field.offset + 4 if field.location is Location.REL_LOC else 0)
        data = record[start : start + (word >> 16)]
    return data.partition(b"\0")[0] if field.is_string else int.from_bytes(data, "little")


def test_records_come_back_from_what_trace_cmd_prints():
    """Of each field that a text says, unless it says less: true for any number but 0."""
    by_id = {format.id: format for format in formats()}
    inverted = Inverted()
    same = other = refused = 0
    for line in unpacked(PRINTED).splitlines()[::SAMPLED]:
        item = json.loads(line)
        try:
            program = ProgramMaker(by_id[item["id"]]).print_format()
        except NotInvertibleError:
            refused += 1
            continue
        text = item["text"].encode("utf-8", "surrogateescape")
        record, printed = inverted.record(program, text), bytes.fromhex(item["record"])
        if record is None:
            other += 1
            continue
        values = [
            (value_of(record, field), value_of(printed, field)) for field in program.format.fields
        ]
        differ = [
            one
            for one in values
            if one[0] != one[1] and not (isinstance(one[0], int) and one[0] >= SYMBOL_BASE)
        ]
        same += not differ
        other += bool(differ)
    assert same > 150
    assert other < 10
    assert refused < 35


def test_formats_survive_as_texts():
    for format in formats():
        again = parse_event_format(event_format_text(format), "any")
        assert again == format


def made(print_fmt, *fields):
    lines = "".join(
        f"\tfield:{declared};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
        for declared, offset, size, signed in fields
    )
    common = "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    text = f"name: e\nID: 1\nformat:\n{common}\n{lines}\nprint fmt: {print_fmt}\n"
    return ProgramMaker(parse_event_format(text.encode(), "any")).print_format()


A = ("s32 a", 8, 4, 1)
B = ("u64 b", 16, 8, 0)


@pytest.mark.parametrize(
    ("print_fmt", "fields", "text", "expected"),
    [
        ('"a=%d", REC->a', [A], "a=-2147483648", [0x80000000]),
        ('"a=%d", REC->a', [A], "a=4294967295", [0xFFFFFFFF]),
        ('"a=%d", REC->a', [A], "a=4294967296", None),
        ('"a=%d", REC->a', [A], "a=-2147483649", None),
        ('"b=%llu", REC->b', [B], "b=18446744073709551615", [2**64 - 1]),
        ('"b=%llu", REC->b', [B], "b=18446744073709551616", None),
        ('"b=%llu", REC->b', [B], "b=", None),
        ('"b=%llu", REC->b', [B], "b=1x", None),
        ('"b=%llx", REC->b', [B], "b=fF", [255]),
        ('"b=0x%llx", REC->b', [B], "b=0xff", [255]),
        ('"b=%p", REC->b', [("void *b", 16, 8, 0)], "b=(nil)", [0]),
        ('"%5d|%-5d|", REC->a, REC->b', [A, B], "   12|7    |", [12, 7]),
        (
            '"%d,%d", ((unsigned int) ((REC->a) >> 20)), ((unsigned int) ((REC->a) & ((1U << 20) - 1)))',
            [A],
            "254,3",
            [254 << 20 | 3],
        ),
        (
            '"%llu.%09u", REC->b / 1000000000UL, REC->b % 1000000000UL',
            [B],
            "310.048356682",
            [310048356682],
        ),
        (
            '"b=%s", __print_flags(REC->b, "|", {1, "A"}, {2, "AB"}, {4, "C"})',
            [B],
            "b=AB|C|0x10",
            [0x16],
        ),
        ('"b=%s", __print_flags(REC->b, "|", {1, "A"})', [B], "b=", [0]),
        (
            '"b=%s", __print_symbolic(REC->b, {0, "zero"}, {1, "zero one"})',
            [B],
            "b=zero one",
            [1],
        ),
        ('"b=%s", REC->b ? "yes" : "no"', [B], "b=yes", [1]),
        ('"b=%s", REC->b ? "yes" : "no"', [B], "b=maybe", None),
        (
            '"%s: %s", REC->a, REC->c',
            [("char a[16]", 8, 16, 0), ("char c[16]", 24, 16, 0)],
            "x y: z",
            [b"x y", b"z"],
        ),
        ('"%s", REC->a', [("char a[16]", 8, 16, 0)], "x" * 15, [b"x" * 15]),
        ('"%s", REC->a', [("char a[16]", 8, 16, 0)], "x" * 16, None),
        (
            # The text of a may have what follows it.
            '"a=%s b=%llu", __get_str(a), REC->b',
            [("__data_loc char[] a", 8, 4, 0), B],
            "a=one b=two b=3",
            [b"one b=two", 3],
        ),
        (
            # What the kernel computes says nothing of the record, but must not be lost.
            '"b=%llu (%llu)", REC->b, REC->b * 2',
            [B],
            "b=4 (8)",
            [4],
        ),
    ],
)
def test_values(print_fmt, fields, text, expected):
    program = made(print_fmt, *fields)
    record = Inverted().record(program, text.encode())
    found = None if record is None else [value_of(record, field) for field in program.format.fields]
    assert found == expected


@pytest.mark.parametrize(
    ("print_fmt", "fields"),
    [
        ('"%s%s", REC->a, REC->c', [("char a[16]", 8, 16, 0), ("char c[16]", 24, 16, 0)]),
        ('"%llu", REC->b / 1000', [B]),
        ('"%s", REC->b & 8 ? "shared" : "private"', [B]),
        ('"%pI4", REC->a', [("u8 a[4]", 8, 4, 0)]),
        ('"%d", REC->missing', [A]),
    ],
)
def test_texts_that_do_not_say_what_the_record_was(print_fmt, fields):
    with pytest.raises(NotInvertibleError):
        made(print_fmt, *fields)


def test_functions_have_addresses_by_their_names():
    inverted = Inverted()
    program = made('"f=%pS g=%ps", (void *)REC->b, (void *)REC->c', B, ("u64 c", 24, 8, 0))
    record = inverted.record(program, b"f=vfs_write+0x1c/0x450 [ext4] g=schedule")
    f, g = (value_of(record, field) for field in program.format.fields)
    names = [inverted.symbols[(address - SYMBOL_BASE) // SYMBOL_STEP] for address in (f, g)]
    assert names == [b"vfs_write", b"schedule"]
    assert (f - SYMBOL_BASE) % SYMBOL_STEP == 0x1C
    assert inverted.record(program, b"f=0xffffffff81234567 g=ffffffff81234568") is not None


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('fn="/dev/null" fl=0x241', {"fn": b"/dev/null", "fl": 0x241}),
        ("(55e05ad680f0) argc=2", {"__probe_ip": 0x55E05AD680F0, "argc": 2}),
        ("(ffffffff81123456)", {"__probe_ip": 0xFFFFFFFF81123456}),
        ("(vfs_read+0x0/0x10) done", {"__probe_ip": b"vfs_read+0x0/0x10", "text": b"done"}),
        (
            '(__x64_sys_openat+0x54/0xa0 <- do_sys_openat2) ret=3 c="s h"',
            {
                "__probe_func": b"__x64_sys_openat+0x54/0xa0",
                "__probe_ret_ip": b"do_sys_openat2",
                "ret": 3,
                "c": b"s h",
            },
        ),
        ("a=1, b=-2, c=x y (d=z)", {"a": 1, "b": 2**64 - 2, "c": b"x y", "d": b"z)"}),
        ("moved a=1 a=2", {"text": b"moved", "a": 1, "a_2": 2}),
        ("target_cpu=003 load=1.5", {"target_cpu": 3, "load": b"1.5"}),
    ],
)
def test_fields_are_inferred(text, fields):
    program = inferred_program("e", text.encode())
    record = Inverted().record(program, text.encode())
    assert {field.name: value_of(record, field) for field in program.format.fields} == fields


@pytest.mark.parametrize("text", ["", "hello", "a b c", "=1", "a = 1", "x\0=1"])
def test_texts_without_fields(text):
    assert inferred_program("e", text.encode()) is None


def test_programs_that_lead_out_of_their_tables_are_refused():
    good = tables([made('"a=%d", REC->a', A)])
    first, candidates = np.array([0, 0, 1], np.int32), np.zeros(1, np.int32)
    inverses = Inverses(StringTable())
    for column, value in ((0, 99), (2, 1 << 20), (3, 3), (4, 7)):
        steps = good.steps.copy()
        steps[1, column] = value
        with pytest.raises(ValueError, match="out of"):
            inverses.load(good._replace(steps=steps), first, candidates)
    with pytest.raises(ValueError, match="shapes"):
        inverses.load(
            Tables(good.programs, good.steps[:, :4].copy(), good.choices, b""), first, candidates
        )
    with pytest.raises(ValueError, match="out of"):
        inverses.load(good, first, np.array([1], np.int32))
