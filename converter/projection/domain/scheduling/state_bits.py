"""The bits of `prev_state` in sched_switch: kernels before 4.14 have others, and the letters of a recording's own print
format decide where it has one.

Perfetto's importer decodes them by the kernel's release, as `bits_of_release` says; other programs by the print format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.distinct_values import distinct, map_distinct, values_of
from converter.ir.events import EventClass
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.tables import ComputedColumn
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition


class StateBits(NamedTuple):
    """The bits of states, as (bit, letter), and those of a task that was preempted while it could run (`R+`).

    The first of `preempted` is written, all are read.
    """

    letters: tuple[tuple[int, str], ...]
    preempted: tuple[int, ...]

    def read(self, number: int) -> frozenset[str]:
        """Return the letters of a number; `R` is none, `?` a bit without a meaning."""
        found = {letter for bit, letter in self.letters if number & bit}
        known = sum(bit for bit, _ in self.letters)
        if any(number & bit for bit in self.preempted):
            found.add("+")
        if number & 0xFFFF & ~known & ~sum(self.preempted):
            found.add("?")
        return frozenset(found)

    def text(self, number: int) -> str:
        """Return a state as tools print it: letters, `R` for none, `?` for a bit without a meaning."""
        found = self.read(number)
        letters = [letter for _, letter in self.letters if letter in found]
        if "?" in found:
            letters.append("?")
        return ("|".join(letters) or "R") + ("+" if "+" in found else "")

    def written(self, letters: frozenset[str]) -> tuple[int, bool]:
        """Return the number of letters, and whether it has all of them."""
        bits = {letter: bit for bit, letter in self.letters}
        bits["+"] = self.preempted[0]
        number, whole = 0, True
        for letter in letters - {"?"}:
            held = letter if letter in bits else _SIMILAR.get(letter, "")
            whole &= held == letter
            for one in held:
                number |= bits.get(one, 0)
        return number, whole


def _numbered(letters: str) -> tuple[tuple[int, str], ...]:
    return tuple((1 << at, letter) for at, letter in enumerate(letters))


#: Letters of other kernels: a dead task, a killable sleep, an idle one.
_SIMILAR: Final = {"x": "X", "I": "DN", "N": ""}
#: Until Linux 4.7, from 4.8, and from 4.14 (include/linux/sched.h, include/trace/events/sched.h). In 4.14 itself,
#: 0x1000 is a preempted task.
_UNTIL_4_7: Final = StateBits(_numbered("SDTtXZxKWPN"), (0x800,))
_UNTIL_4_13: Final = StateBits(_numbered("SDTtXZxKWPN"), (0x1000,))
SINCE_4_14: Final = StateBits(_numbered("SDTtXZPI"), (0x100, 0x1000))

_RELEASE: Final = re.compile(r"(\d{1,4})\.(\d{1,4})")
_LETTER: Final = re.compile(rb'\{\s*(0[xX][0-9a-fA-F]{1,8}|\d{1,9})\s*,\s*"([A-Za-z])"\s*\}')
_PREEMPTED: Final = re.compile(
    rb'prev_state\s*&\s*\(?\s*(0[xX][0-9a-fA-F]{1,8}|\d{1,9})\s*\)?\s*\?\s*"\+"'
)


@cache
def bits_of_release(release: str) -> StateBits | None:
    """Return the bits of a kernel's release (`uname -r`), None if it is not known."""
    found = _RELEASE.match(release)
    if found is None:
        return None
    version = int(found[1]), int(found[2])
    if version >= (4, 14):
        return SINCE_4_14
    return _UNTIL_4_13 if version >= (4, 8) else _UNTIL_4_7


@cache
def printed_bits(native: bytes) -> StateBits | None:
    """Return the bits that the print format of a recording's sched_switch names, None if it names none."""
    text = native.partition(b"\nprint fmt:")[2]
    letters = tuple(
        (int(number, 0), letter.decode())
        for number, letter in _LETTER.findall(text)
        if letter != b"R" and not _is_octal(number)
    )
    if not letters or b"prev_state" not in text:
        return None
    found = _PREEMPTED.search(text)
    highest = max(bit for bit, _ in letters)
    preempted = int(found[1], 0) if found and not _is_octal(found[1]) else 2 * highest
    return StateBits(letters, (preempted,))


def _is_octal(number: bytes) -> bool:
    return len(number) > 1 and number.isdigit() and number.startswith(b"0")


def source_bits(event_class: EventClass, projection: Projection) -> StateBits | None:
    """Return the bits of a source's switches: those that its format prints, else its kernel's; None if not known."""
    index = event_class.index_of(Role.PREV_STATE)
    if event_class.kind is not Kind.SCHED_SWITCH or index is None:
        return None
    held = event_class.fields[index].type
    if not isinstance(held, IntegerClass) or held.labels:
        return None
    release = str(projection.source.environment.get("kernel_release", ""))
    return printed_bits(event_class.native) or bits_of_release(release)


def converted_states(
    numbers: NDArray[Any], source: StateBits, target: StateBits
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return states in other bits, and which of them lack a letter that the target has no bit for."""
    written = target._replace(preempted=target.preempted[:1])
    values, inverse = distinct(numbers)
    results, lacks = [], []
    for value in values.tolist():
        letters = source.read(value)
        held, whole = value, True
        if letters - {"?"} != written.read(value):
            held, whole = written.written(letters)
        results.append(held)
        lacks.append(not whole)
    return np.array(results, np.int64)[inverse], np.array(lacks, np.bool_)[inverse]


def lose_states(
    code: str,
    partition: Partition,
    was: tuple[NDArray[Any], Callable[[int], str]],
    shown: tuple[NDArray[Any], Callable[[int], str]],
    rows: NDArray[np.bool_],
    projection: Projection,
) -> None:
    """Count the states at some rows that are shown as others, by what they were.

    `was` and `shown` are columns of numbers, and the text of each number.
    """
    at = np.flatnonzero(rows)
    if not len(at):
        return
    (before, number), (after, other) = (distinct(column[at]) for column, _ in (was, shown))
    pair = number * np.int32(len(after)) + other
    numbers_of: dict[tuple[str, str], list[int]] = {}
    for one in values_of(pair).tolist():
        texts = was[1](int(before[one // len(after)])), shown[1](int(after[one % len(after)]))
        numbers_of.setdefault(texts, []).append(one)
    is_one = np.zeros(len(before) * len(after), np.bool_)
    for (text, becomes), numbers in sorted(numbers_of.items()):
        is_one[:] = False
        is_one[numbers] = True
        these = at[is_one[pair]]
        state = f"{text} with other bits" if text == becomes else text
        first = int(these[0])
        projection.lose(code, partition, len(these), first_row=first, was=state, shown=becomes)


def report_unknown_kernel(partition: Partition, projection: Projection) -> None:
    """Count states that viewers show otherwise because they take a kernel of unknown release for one before 4.8."""
    source = projection.source
    index = partition.event_class.index_of(Role.PREV_STATE)
    if index is None or source.semantics.old_states:
        return
    held = partition.event_class.fields[index].type
    is_known = bits_of_release(str(source.environment.get("kernel_release", ""))) is not None
    if is_known or not isinstance(held, IntegerClass) or held.labels:
        return
    bits = source_bits(partition.event_class, projection) or SINCE_4_14
    numbers = np.asarray(partition.table.column(index))
    rows = map_distinct(numbers, lambda one: bits.text(one) != _UNTIL_4_7.text(one))
    was, shown = (numbers, bits.text), (numbers, _UNTIL_4_7.text)
    lose_states("state-shown-as", partition, was, shown, rows.astype(np.bool_), projection)


def with_state_bits(
    partition: Partition, projection: Projection, target: StateBits | None
) -> Partition:
    """Convert the states of switches to the target's bits; each keeps its letters where these have some."""
    source = source_bits(partition.event_class, projection)
    if source is None:
        return partition
    if target is None:
        if source.letters != SINCE_4_14.letters:
            projection.lose("state-bits-unknown", partition)
        return partition
    if (source.letters, source.preempted) == (target.letters, target.preempted[:1]):
        return partition
    index = partition.event_class.index_of(Role.PREV_STATE)
    assert index is not None
    field = partition.event_class.fields[index]
    assert isinstance(field.type, IntegerClass)
    dtype = field.type.dtype

    def states(partition: Partition, column: NDArray[Any]) -> NDArray[Any]:
        result, lacks = converted_states(column, source, target)
        changed = (result != column) & ~lacks
        projection.lose("state-bits-converted", partition, rows=changed)
        was, shown = (column, source.text), (result, target.text)
        lose_states("state-of-other-kernel", partition, was, shown, lacks, projection)
        return result.astype(dtype)

    columns = partition.lazy_columns()
    columns[index] = ComputedColumn(states, (partition.table.lazy(index),), partition)
    return partition.rewritten(partition.event_class, columns)
