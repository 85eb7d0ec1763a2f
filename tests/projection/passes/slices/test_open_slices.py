"""Slices that are open: ends without names close what the same events one by one close."""

import numpy as np
import pytest

from converter.projection.passes.slices.open_slices import OpenSlices

BEGIN, END = 1, 2
#: Events of these classes begin slices, are nothing of them, end them.
STEPS = np.array([BEGIN, 0, END], np.int32)


class Pair:
    """The same events, one by one and by what stays open of them."""

    def __init__(self):
        self.one_by_one, self.by_rest = OpenSlices(), OpenSlices()

    def go_on(self, class_id, thread, track, name, order=None):
        """Go on with events, of which ends have no name."""
        step, places = STEPS[class_id], slice(None) if order is None else order
        names = np.where(step == BEGIN, name, 0).astype(np.int32)
        columns = (step, thread, track, names)
        found = self.one_by_one.match(*(column[places] for column in columns), by_name=False)
        assert not len(found)
        opened = self.by_rest.close_innermost(STEPS, class_id, thread, track, order)
        assert (step[opened] == BEGIN).all()
        begins = (column[opened] for column in columns)
        assert not len(self.by_rest.match(*begins, by_name=False))
        return opened

    def is_same(self, threads, tracks, names):
        """Whether ends of names that are open or not are found out alike, from the innermost outwards."""
        thread, track = (column.ravel().astype(np.int32) for column in np.meshgrid(threads, tracks))
        for name in names:
            step, name_of = (
                np.full(len(thread), END, np.int32),
                np.full(len(thread), name, np.int32),
            )
            found = [
                slices.match(step, thread, track, name_of, by_name=False).tolist()
                for slices in (self.one_by_one, self.by_rest)
            ]
            assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(20))
def test_what_stays_open_is_what_is_open_one_by_one(seed):
    random = np.random.default_rng(seed)
    pair = Pair()
    # As many ends as begins, more of them, fewer.
    weights = [(4, 1, 4), (2, 1, 5), (5, 1, 2)][seed % 3]
    lanes = 1 + seed % 4
    for _ in range(5):
        count = int(random.integers(0, 60))
        class_id = random.choice(3, count, p=np.array(weights) / sum(weights)).astype(np.int32)
        thread = random.integers(-1, lanes, count).astype(np.int32)
        track = random.integers(-1, lanes, count).astype(np.int32)
        name = random.integers(0, 9, count).astype(np.int32)
        order = random.permutation(count).astype(np.int64) if seed % 2 else None
        pair.go_on(class_id, thread, track, name, order)
        if random.random() < 0.3:
            pair.is_same(range(-1, lanes), range(-1, lanes), range(3))
    pair.is_same(range(-1, lanes), range(-1, lanes), random.integers(0, 9, 200).tolist())


def test_ends_close_what_was_open_before():
    pair = Pair()
    nowhere = np.full(6, -1, np.int32)
    begins, names = np.zeros(6, np.int32), np.arange(1, 7, dtype=np.int32)
    assert pair.go_on(begins, nowhere, nowhere, names).tolist() == [*range(6)]
    # Two more than begin here, then one that stays open.
    class_id = np.array([0, 2, 2, 2, 0, 1], np.int32)
    assert pair.go_on(class_id, nowhere, nowhere, names + 10).tolist() == [4]
    pair.is_same([-1], [-1], [15, 4, 9, 3, 2, 1, 1])


def test_columns_have_one_length():
    class_id = np.zeros(2, np.int32)
    for columns in (
        (class_id[:1], class_id, class_id, None),
        (class_id, class_id[:1], class_id, None),
        (class_id, class_id, class_id[:1], None),
        (class_id, class_id, class_id, np.zeros(1, np.int64)),
        (class_id, class_id, class_id, np.array([0, 2])),
    ):
        with pytest.raises(ValueError, match=r"length|outside"):
            OpenSlices().close_innermost(STEPS, *columns)
