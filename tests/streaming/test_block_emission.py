"""Parts of an output that several emitters make: each event is in it once, in order."""

from contextlib import closing

import pytest

from converter.streaming.block_emission import BlockEmission, parts_of


@pytest.mark.parametrize("emitters", [1, 3])
@pytest.mark.parametrize("further", [1, 5, 100])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 40])
def test_each_event_is_emitted_once(count, further, emitters):
    """What is emitted of a part may reach into the next ones, to a multiple of events."""

    def emit(emitter, part, rest):
        end = min(-(-part.stop // further) * further, count)
        return [list(range(part.start, end))], end

    with closing(BlockEmission([None] * emitters)) as emission:
        blocks = [*emission.blocks(emit, parts_of(range(count), 8))]
    assert [event for block in blocks for event in block] == list(range(count))


def test_a_part_that_was_started_on_another_state_is_emitted_again():
    states = iter([0, 1, 1])
    emitted = []

    def emit(emitter, part, rest):
        emitted.append((part.start, rest))
        return [[*part]], part.stop

    with closing(BlockEmission([None])) as emission:
        blocks = [*emission.blocks(emit, [range(8)], lambda: next(states))]
    assert emitted == [(0, False), (0, True)]
    assert blocks == [[*range(8)]]
