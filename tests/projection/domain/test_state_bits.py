"""The states of tasks keep their letters in the bits of another kernel."""

import numpy as np
import pytest

from converter.projection.domain.scheduling.state_bits import (
    SINCE_4_14,
    StateBits,
    bits_of_release,
    converted_states,
    printed_bits,
)

OLD = (
    b'print fmt: "%s%s", REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), "|", '
    b'{ 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, '
    b'{ 128, "K"}, { 256, "W" }, { 512, "P" }) : "R", REC->prev_state & 1024 ? "+" : ""'
)
LINUX_4_14 = (
    b'print fmt: "%s%s", (REC->prev_state & 255) ? __print_flags(REC->prev_state & 255, "|", '
    b'{ 0x01, "S" }, { 0x02, "D" }, { 0x04, "T" }, { 0x08, "t" }, { 0x10, "X" }, { 0x20, "Z" }, '
    b'{ 0x40, "P" }, { 0x80, "I" }) : "R", REC->prev_state & 0x1000 ? "+" : ""'
)
NEW = LINUX_4_14.replace(b"& 0x1000 ?", b"& ((((0x0000 | 0x0040) + 1) << 1)) ?")


def native(text):
    return b"name: sched_switch\nformat:\n\tfield:long prev_state;\n\n" + text


@pytest.mark.parametrize(
    ("release", "preempted"),
    [
        ("3.18.0", 0x800),
        ("4.7.10", 0x800),
        ("4.8.0", 0x1000),
        ("4.13.16", 0x1000),
        ("4.14.0-rc1", 0x100),
        ("6.12.1", 0x100),
    ],
)
def test_the_release_says_the_bits_as_the_importer_reads_them(release, preempted):
    assert bits_of_release(release).preempted[0] == preempted
    assert bits_of_release(release).read(1) == {"S"}


@pytest.mark.parametrize("release", ["", "unknown", "4", "x4.14"])
def test_an_unknown_release_says_nothing(release):
    assert bits_of_release(release) is None


@pytest.mark.parametrize(
    ("text", "preempted", "letters"),
    [(OLD, 1024, "SDTtZXxKWP"), (LINUX_4_14, 0x1000, "SDTtXZPI"), (NEW, 0x100, "SDTtXZPI")],
)
def test_a_print_format_says_the_bits(text, preempted, letters):
    found = printed_bits(native(text))
    assert found.preempted == (preempted,)
    assert found.letters == tuple((1 << i, letter) for i, letter in enumerate(letters))


@pytest.mark.parametrize(
    "text",
    [b"", b'print fmt: "%ld", REC->prev_state', b'print fmt: "%s", { 010, "S" } REC->prev_state'],
)
def test_a_format_without_letters_says_nothing(text):
    assert printed_bits(native(text)) is None


@pytest.mark.parametrize(
    ("source", "target", "number", "expected", "lacks"),
    [
        (LINUX_4_14, "4.14.62", 0x1000, 0x100, False),
        (LINUX_4_14, "4.14.62", 0x80, 0x80, False),
        (LINUX_4_14, "4.14.62", 0, 0, False),
        (OLD, "3.18.0", 16, 0x20, False),
        (OLD, "3.18.0", 32, 0x10, False),
        (OLD, "3.18.0", 1024, 0x800, False),
        (OLD, "3.18.0", 2 | 128, 2 | 128, False),
        (OLD, "4.9.0", 1024, 0x1000, False),
        (OLD, "6.1.0", 64, 0x10, True),
        (OLD, "6.1.0", 512, 0x40, False),
        (OLD, "6.1.0", 2 | 128, 2, True),
        (NEW, "4.9.0", 0x80, 0x402, True),
        (NEW, "6.1.0", 0x100, 0x100, False),
    ],
)
def test_states_keep_their_letters(source, target, number, expected, lacks):
    column = np.array([number, 1, number], np.int64)
    found, missing = converted_states(column, printed_bits(native(source)), bits_of_release(target))
    assert found.tolist() == [expected, 1, expected]
    assert missing.tolist() == [lacks, False, lacks]


def test_all_letters_that_both_have_survive():
    old = printed_bits(native(OLD))
    both = StateBits(tuple(x for x in old.letters if x[1] in "SDTtXZP"), old.preempted)
    for number in range(2048):
        if both.read(number) - {"?"} == old.read(number):
            (new,), _ = converted_states(np.array([number]), old, SINCE_4_14)
            assert SINCE_4_14.read(int(new)) == old.read(number)
