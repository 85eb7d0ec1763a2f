"""Threads are begun for work that takes longer than beginning them, and what is submitted is done either way."""

import threading
import time

import pytest

from converter.storage import workers
from converter.storage.workers import Workers


def test_little_work_is_done_by_who_asks(monkeypatch):
    monkeypatch.setattr(workers, "_WORTHWHILE", 10.0)
    with Workers(2) as pool:
        done = [pool.submit(threading.get_ident) for _ in range(10)]
        assert {each.result() for each in done} == {threading.get_ident()}


def test_more_work_is_done_by_threads(monkeypatch):
    monkeypatch.setattr(workers, "_WORTHWHILE", 0.0)
    with Workers(2, "named") as pool:
        names = {pool.submit(lambda: threading.current_thread().name).result() for _ in range(4)}
        assert names
        assert all(name.startswith("named") for name in names)


def test_what_it_takes_is_summed_up():
    with Workers(1) as pool:
        pool.submit(time.sleep, 2 * workers._WORTHWHILE)
        assert pool.submit(threading.get_ident).result() != threading.get_ident()


@pytest.mark.parametrize("limit", [0.0, 1e9])
def test_errors_are_raised_where_the_result_is_asked_for(monkeypatch, limit):
    monkeypatch.setattr(workers, "_WORTHWHILE", limit)
    with Workers(1) as pool:
        failed = pool.submit(int, "x")
        with pytest.raises(ValueError, match="invalid literal"):
            failed.result()
