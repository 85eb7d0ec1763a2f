"""Mutations of sources, of which ``python -m tests.mutants`` makes mutants."""

import ast
import os
import signal
import subprocess
import time

from support.mutants import runs
from support.mutants.mutations import kernel_mutations, mutations

SOURCE = '''\
"""A text with 1 < 2 and 3."""

LIMIT: int = 4  # é


def found(items: list[int] = [], flag=True):
    """Return 0 or 1."""
    if len(items) <= LIMIT and not flag:
        return -1
    assert items != 0
    return items[0] * 2 if items[0] is not None else f"{items[1]}"


class Shown:
    def __repr__(self):
        return 1 + 1
'''


def changes(source, found):
    return {(one.line, source[one.start : one.end], one.text) for one in found}


def test_numbers_comparisons_and_branches_are_changed():
    assert changes(SOURCE, mutations(SOURCE)) == {
        (3, "4", "5"),
        (6, "True", "False"),
        (8, "len(items) <= LIMIT and not flag", "False"),
        (8, "<=", "<"),
        (8, "and", "or"),
        (8, "not flag", "(flag)"),
        (9, "-1", "(1)"),
        (11, "0", "1"),
        (11, "*", "//"),
        (11, "2", "3"),
        (11, "is not", "is"),
    }


def test_each_mutant_is_a_module_of_as_many_lines():
    for one in mutations(SOURCE):
        mutant = one.applied(SOURCE)
        ast.parse(mutant)
        assert mutant != SOURCE
        assert mutant.count("\n") == SOURCE.count("\n")


KERNEL = '''\
"""Text 1 < 2."""

cdef int LIMIT = 1

cdef int _count(
    const int *items, Py_ssize_t size
) noexcept nogil:
    """0 or 1 < 2."""
    cdef Py_ssize_t i
    for i in range(size):
        if items[i] < 0 and size != 1:  # 0 < 1
            return i + 1
    return 0
'''


def test_kernels_are_changed_in_the_bodies_of_functions():
    assert changes(KERNEL, kernel_mutations(KERNEL)) == {
        (11, "<", "<="),
        (11, "0", "1"),
        (11, "and", "or"),
        (11, "!=", "=="),
        (11, "1", "0"),
        (12, "+", "-"),
        (12, "1", "0"),
        (13, "0", "1"),
    }


def test_a_run_that_waits_for_ever_is_ended(monkeypatch):
    monkeypatch.setattr(runs, "_IDLE", 0.1)
    assert runs.forked(lambda: time.sleep(60) or 0, 100) == 98


def test_the_processor_time_of_a_run_is_that_of_its_children_too():
    command = ["sh", "-c", "while :; do :; done & wait"]
    with subprocess.Popen(command, start_new_session=True) as shell:
        try:
            ends = time.monotonic() + 60
            while not runs._ticks_of(shell.pid) and time.monotonic() < ends:
                time.sleep(0.01)
            assert runs._ticks_of(shell.pid)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
