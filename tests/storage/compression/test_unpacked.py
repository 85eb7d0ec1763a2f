"""How much an input may become, counted over all that is unpacked of it."""

from converter.limits import limited
from converter.storage.compression.unpacked import Unpacked


def _room(most: int) -> Unpacked:
    with limited({"unpacked": most, "unpacked-ratio": 1}):
        return Unpacked(0)


def test_what_is_unpacked_again_is_counted_once() -> None:
    room = _room(100)
    assert room.take_all({1: 40, 2: 30})
    assert room.take_all({1: 40, 2: 30})
    assert room.take(1, 60)
    assert room.take_all({1: 60, 3: 10})
    assert not room.take(4, 1)


def test_nothing_is_taken_where_there_is_no_room_for_all() -> None:
    room = _room(100)
    assert not room.take_all({1: 60, 2: 60})
    assert room.take_all({1: 60, 3: 40})
