"""Template files: parsed, printed, updated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converter.errors import TraceError
from converter.formats.aix.report.lines import own_templates
from converter.formats.aix.trcfmt import (
    Entry,
    Environment,
    Level,
    digits_of,
    evaluate,
    parse,
    print_template,
)
from converter.limits import limited

EVERY_CONSTRUCT = r"""# comment
* another

010 1.0 L=APPL "user" O2.0 \n \
   "count =" U4 \n "time = " endtimer(0x010,0x010) starttimer(0x010,0x010)
011 1.4 A8.16 S2 SW B2.3 B0.19 X0 XW X16 D4 U8 o2 oW F4 F8 HB HT T4 E2 P8 \t\t $name%X8 $n%W3.5
012 2.10 L=INT G4.2 O1 R0 R3 W2 'single' `x X4 $D1%UW y` bare label=X4
013 1.0 HT & 0x07, 1 "a", 2 { X4 U2, 3 "b", \* { "c" } }, "text" 'd', \* bare
014 1.0 LOOP $count { X1 } LOOP 3 {X0} LOOP HB { A1 }
015 1.0 {{ $a }} {{ $b = ( 1 + X2 ) * ( $a - 0x10 / 2 ) }} $90F $a$b
016 1.0 BITFLAGS $HD, 1 "one" {"none"}, & F0 10 two, o17 "oct", 0x20 `x $HD`
F5F1 1.0 "CONTROL" {{ name(value) $value, 1 "ADD", \* { "?" $value%UW } }} op=name($D1)
"""


def test_printing_gives_an_equal_file():
    file = parse(EVERY_CONSTRUCT)
    assert file.warnings == ()
    assert sorted(digits_of(each) for each in file.templates) == [
        *(f"01{i}" for i in range(7)),
        "F5F1",
    ]
    assert parse(file.printed()) == file
    assert parse(file.printed()).printed() == file.printed()


def test_what_is_not_changed_is_kept_byte_for_byte():
    assert parse(EVERY_CONSTRUCT).text() == EVERY_CONSTRUCT
    odd = '\t\n# x \\\n900   1.0 \t "a" \\  \n  X4\r\n\x0b\nno template\n901 1.0'
    assert parse(odd).text() == odd
    assert parse(odd.encode() + b"\xff\xfe").text().encode("utf-8", "surrogateescape") == (
        odd.encode() + b"\xff\xfe"
    )


def test_a_printed_template_means_the_same():
    file = parse(EVERY_CONSTRUCT)
    again = parse("".join(print_template(each) for each in file.templates.values()))
    entry = Entry(bytes.fromhex("01180014 00000001") + bytes(range(1, 21)), 32)
    for id16 in file.templates:
        expected = evaluate(file, id16, entry, Environment())
        assert evaluate(again, id16, entry, Environment()) == expected


def test_the_head_of_a_template():
    file = parse('0x011 1.23 L=SVC "a"\nF5F1 2.0 "b"\n')
    first, second = file.templates.values()
    assert (first.id, first.version, first.level, first.label) == (0x0110, "1.23", Level.SVC, "a")
    assert (second.id, second.level, second.label) == (0xF5F1, Level.KERN, "b")


def test_updates():
    """trcupdate: a first line "* /etc/trcfmt", templates with + in front, and - to take one out."""
    base = parse('# head\n011 1.0 "old"\n\n012 1.0 "kept"\n013 1.0 "gone"\n# tail\n')
    update = parse('* /etc/trcfmt\n+ 011 1.1 "new"\n- 013\n+ F5F1 1.0 "added" \\\n "more"\n')
    assert update.warnings == ()
    done = base.updated(update)
    labels = {digits_of(each.id): each.label for each in done.templates.values()}
    assert labels == {"011": "new", "012": "kept", "F5F1": "added"}
    assert done.text() == (
        '# head\n011 1.1 "new"\n\n012 1.0 "kept"\nF5F1 1.0 "added" "more"\n# tail\n'
    )
    assert parse(update.printed()) == update


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('"a" X4 }', "an item, not a brace"),
        ('"open', 'a closing "'),
        ("`open", "a closing `"),
        ("LOOP X4", "'{'"),
        ("LOOP { X1 }", "how often to loop"),
        ("LOOP X1 { X1", "'}'"),
        ("X4, 1", "what a case prints"),
        ("X4, ", "a case"),
        ("X4, { X1 }", "the value of a case"),
        ("{{ 7 }}", "{{ $name = expression }}"),
        ("{{ $a = }}", "a number, a format code or a macro"),
        ("{{ $a = ( 1 }}", "')'"),
        ("BITFLAGS X4 1", "','"),
        ("BITFLAGS X4, zz", "a hexadecimal number"),
        ("$", "the name of a macro"),
        (r"\*", r"\n or \t"),
        ("X1, 1 " + "{ X1, 1 " * 40, "at most 24 levels of braces"),
        ("{{ $a = " + "(" * 40, "at most 24 levels of parentheses"),
    ],
)
def test_what_is_not_understood_is_kept_with_one_warning(body, expected):
    text = f'500 1.0 "label" {body}\n501 1.0 "fine"\n'
    file = parse(text)
    (warning,) = file.warnings
    assert (warning.field, warning.expected) == ("template 500", expected)
    assert warning.offset == 0
    assert file.text() == text
    assert parse(file.printed()) == file
    entry = Entry(bytes.fromhex("500A0005 00000007"), 32)
    made = evaluate(file, 0x5000, entry, Environment())
    assert made.text.startswith("label ") or made.text.startswith("label")
    assert made.text.endswith("500A0005 00000007")
    assert made.warning.field == "template 500"
    assert evaluate(file, 0x5010, entry, Environment()).text == "fine"


def test_lines_that_are_no_templates_are_kept_with_a_warning():
    text = 'nonsense here\n500 "no version"\n501 1.0 "a"\n'
    file = parse(text)
    assert [(each.offset, each.found) for each in file.warnings] == [
        (0, "nonsense here"),
        (14, '500 "no version"'),
    ]
    assert file.text() == text
    assert list(file.templates) == [0x5010]


def test_a_file_that_is_too_large_is_refused():
    expected = "expected templates of at most 10 bytes"
    with pytest.raises(TraceError, match=expected), limited({"aix.template-file": 10}):
        parse(b"# 10 bytes!\n")


def test_our_own_templates_are_understood():
    file = own_templates()
    assert file.warnings == ()
    assert parse(file.printed()) == file
    assert {0x1060, 0x1010, 0x1040, 0x0060, 0x0080} <= set(file.templates)
    for id16 in file.templates:
        for entry in (
            Entry(id16.to_bytes(2) + b"\0\0" + bytes(20), 32),
            Entry(b"\x80\0\0\x28" + id16.to_bytes(2) + b"\0\0" + bytes(40), 64),
        ):
            assert evaluate(file, id16, entry, Environment()).warning is None


TOKENS = r"""X4 XW X0 A8.16 A0.4 S1 B0.3 D4 U2 o2 F4 HB HT E2 T4 G4 O1 R0 W2 "a" 'b' `c$D1` word x=X2 , { } {{ }}
$a $90F $D1 $a%U4 $a%W1.3 LOOP BITFLAGS \* \n \t & 1 0x2 10 + * ( ) f(1) {{$a=1}} \ " ' ` # = o7 $ %"""
tokens = st.sampled_from([*TOKENS.split(), "\\\n"])


@given(st.lists(st.tuples(tokens, st.sampled_from(["", " "])), max_size=25), st.binary(max_size=40))
@settings(max_examples=100, deadline=None)
def test_any_text_is_parsed_printed_and_evaluated(parts, data):
    text = "900 1.0 " + "".join(token + space for token, space in parts) + "\n90F 1.0 $900\n"
    file = parse(text)
    assert file.text() == text
    assert parse(file.printed()) == file
    for env in (32, 64):
        evaluate(file, 0x9000, Entry(data, env), Environment())


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_at_all_is_kept(text):
    file = parse(text)
    assert file.text() == text
    assert parse(file.printed()) == file
