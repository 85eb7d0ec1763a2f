"""Names of addresses."""

import threading

import numpy as np
import pytest

from converter.ir.symbols import SymbolTable


@pytest.fixture
def symbols():
    return SymbolTable(lambda: (np.array([16, 32, 32, 64], np.uint64), [b"a", b"b", b"c", b"last"]))


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (0, None),
        (15, None),
        (16, (b"a", 0)),
        (31, (b"a", 15)),
        (32, (b"b", 0)),
        (63, (b"b", 31)),
        (64, (b"last", 0)),
        (65, None),
        (2**64 - 1, None),
    ],
)
def test_an_address_belongs_to_the_symbol_below_it_but_not_beyond_the_last(symbols, address, found):
    assert symbols.lookup(address) == found
    (name,) = symbols.names(np.array([address], np.uint64))
    assert name == (found and found[0])


@pytest.mark.parametrize(
    ("address", "found"),
    [(16, (b"a", 0)), (19, (b"a", 3)), (20, None), (31, None), (32, (b"b", 0)), (33, None)],
)
def test_an_empty_name_ends_the_symbol_before_it(address, found):
    starts = np.array([16, 20, 32, 33, 64], np.uint64)
    symbols = SymbolTable(lambda: (starts, [b"a", b"", b"b", b"", b"c"]))
    assert symbols.lookup(address) == found
    assert symbols.names(np.array([address], np.uint64)) == [found and found[0]]
    assert symbols.starts(starts).tolist() == [16, 32, 64]


def test_without_symbols_nothing_has_a_name():
    empty = SymbolTable(lambda: (np.zeros(0, np.uint64), []))
    assert len(empty) == 0
    assert empty.lookup(5) is None
    assert empty.names(np.array([5], np.uint64)) == [None]


def test_symbols_are_loaded_once_also_when_fetched_before():
    calls = []

    def load():
        calls.append(threading.current_thread())
        return np.array([16], np.uint64), [b"start"]

    table = SymbolTable(load)
    table.prefetch()
    table.prefetch()
    assert table.lookup(16) == (b"start", 0)
    table.prefetch()
    assert len(table) == 1
    assert len(calls) == 1
    assert calls[0] is not threading.main_thread()


def test_an_error_of_fetching_comes_up_where_symbols_are_needed():
    def load():
        raise ValueError("no symbols")

    table = SymbolTable(load)
    table.prefetch()
    for _ in range(2):
        with pytest.raises(ValueError, match="no symbols"):
            table.lookup(16)
