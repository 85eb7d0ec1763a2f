"""Templates and entries that mean harm end with a warning, soon and in little memory."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aix.trcfmt_entries import generic32, report, words32

from converter.formats.aix.trcfmt import Entry, Environment, evaluate, parse
from converter.formats.aix.trcfmt.evaluator import USUAL_STEPS
from converter.formats.aix.trcfmt.output import MAX_FIELDS
from converter.limits import LIMITS


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("LOOP 99999999999 { R1 X1 }", "steps"),
        ("LOOP $L1 { }", "steps"),
        ('LOOP 60000 { "' + "x" * 200 + '" }', "too much text"),
        ("LOOP 60000 { A0.999999 }", "too much text"),
        ("$500", "10 levels"),
        ("$HD, 5 { $500 }", "10 levels"),
        ("G9999 X4", "beyond the end"),
        ("R5 X4", "before the start"),
        ("G3 B999.0", "beyond the end"),
        ("{{ $BASEPOINTER = 0 - 1 }} X4", "beyond the end"),
        ("{{ $a = 1 }} $a%S1 X4 W5 X4", "beyond the end"),
    ],
)
def test_templates_are_cut_off(body, message):
    started = time.process_time()
    made = report(body, words32(1, 2, 3, 4, hookdata=5))
    assert message in made.warning.message
    assert made.warning.field == "template 500"
    assert len(made.text) <= LIMITS["aix.template-text"].default
    assert time.process_time() - started < 5


def test_functions_that_call_themselves():
    assert "10 levels" in report("f(1)", more="501 1.0 {{ f(x) f($x) }}").warning.message


def test_a_missing_subroutine_or_function_gives_words_and_a_warning():
    for body in ('"a" $123', '"a" nothing(1)', '"a" nothing(1), 1 "x"'):
        made = report(body, words32(0xAB))
        assert made.text == "a 500A0005 000000AB"
        assert made.warning is not None


def test_only_so_many_values_have_names():
    made = report("G8 LOOP HB { X1 }", generic32(bytes(1000)))
    assert len(made.fields) == MAX_FIELDS
    assert made.warning is None


def test_texts_longer_than_the_entry_are_cut_to_what_is_there():
    assert report('W2 "|"S1"|"', generic32(b"\xffabc")).text == "|abc|"
    assert report('W2 "|"A200"|"', generic32(b"abc")).text == "|abc|"
    assert report('W2 {{ $n = 0x7fffffffffffffff }} "|"$n%S1"|"', generic32(b"abc")).text == "|abc|"


def test_a_long_chain_of_operators_is_no_recursion():
    made = report("{{ $a = " + " + ".join(["1"] * 5000) + " }} $a%U4")
    assert made.text == "5000"


def test_the_steps_of_all_entries_together_are_bounded():
    file = parse('500 1.0 LOOP 9000 { "a" }\n501 1.0 LOOP 400 { "a" }\n')
    texts = []
    for _ in range(300):
        made = evaluate(file, 0x5000, words32(), Environment())
        texts.append(len(made.text))
    assert texts[0] == texts[99] == 9000
    assert texts[-1] < USUAL_STEPS
    assert sum(texts) < 2_500_000
    assert "no more are left" in made.warning.message
    # What is usual goes on.
    assert evaluate(file, 0x5010, words32(), Environment()).warning is None


def test_macros_are_not_printed_in_octal():
    # Understood formats are X, D, U, B and W.
    assert report("{{ $v = 0x1234 }} $v%o4").text == report("{{ $v = 0x1234 }} $v%X2").text


@given(st.binary(max_size=64), st.sampled_from([32, 64]))
@settings(max_examples=80, deadline=None)
def test_any_entry_gives_a_report(data, env):
    file = parse(
        '500 1.0 "a" HT & 7, 0 { W2 S4 A8 LOOP HB { X1 } }, 1 { B2.3 D2 }, \\* { W1 XW F8 E4 T4 P4 }\n'
        "008 1.0 $D5 $L5 $HL $HD $TRACEID LOOP $HL { X0 }\n"
    )
    entry = Entry(data, env)
    for id16 in (0x5000, entry.id):
        evaluate(file, id16, entry, Environment())
